// MQTT 3.1.1 on bare sockets, no more of it than panels and displays need.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int socket;
  uint16_t packet;
  // What has come and is not a whole packet yet, and what has not gone yet.
  uint8_t *in, *out;
  size_t in_count, in_room, out_count, out_room;
} Connection;

// What comes. The payload is not terminated.
typedef struct {
  // Something has been read, and is about to be handled.
  void (*arrived)(void);
  void (*message)(const char *payload, size_t length);
  void (*confirmed)(void);
  void (*subscribed)(void);
} Handlers;

// Connects and queues a CONNECT. Whatever fails, here and below, ends the process.
void wire_open(Connection *connection, int port, const char *client_id);
void wire_subscribe(Connection *connection, const char *filter, uint8_t qos);
// Queues a message with QoS 1.
void wire_publish(Connection *connection, const char *topic, const void *payload, size_t length);
// Sends what is queued.
void wire_flush(Connection *connection);
// Handles all that is there, and queues an acknowledgement for each message with QoS 1; those with
// QoS 0 are dropped. With MSG_DONTWAIT it does not wait. Returns whether there was something.
int wire_receive(Connection *connection, int flags, const Handlers *handlers);

_Noreturn void fail(const char *what);
