// MQTT 3.1.1 on sockets, limited to what panels and displays need.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int socket;
  uint16_t packet;
  // Received bytes of an incomplete packet, and bytes that are not sent yet.
  uint8_t *in, *out;
  size_t in_count, in_room, out_count, out_room;
} Connection;

// A received message. The payload is not terminated.
typedef struct {
  // Called after bytes were read and before they are processed.
  void (*arrived)(void);
  void (*message)(const char *payload, size_t length);
  void (*confirmed)(void);
  void (*subscribed)(void);
} Handlers;

// Connects and queues a CONNECT. Any failure, here and below, ends the process.
void wire_open(Connection *connection, int port, const char *client_id);
void wire_subscribe(Connection *connection, const char *filter, uint8_t qos);
// Queues a message with QoS 1.
void wire_publish(Connection *connection, const char *topic, const void *payload, size_t length);
// Sends the queued bytes.
void wire_flush(Connection *connection);
// Processes all available packets, and queues an acknowledgement for each message with QoS 1; drops
// those with QoS 0. Does not block with MSG_DONTWAIT. Returns whether there was any.
int wire_receive(Connection *connection, int flags, const Handlers *handlers);

_Noreturn void fail(const char *what);
