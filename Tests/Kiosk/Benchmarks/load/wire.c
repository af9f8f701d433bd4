#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Packet types with their mandatory flags (MQTT 3.1.1, 2.2).
enum {
  connect_packet = 0x10,
  publish_packet = 0x30,
  publish_qos_1 = 0x32,
  puback_packet = 0x40,
  subscribe_packet = 0x82,
  suback_packet = 0x90,
  qos_flags = 0x06,
};

// Minimum size of a read, if as many bytes are available.
enum { most_at_once = 65536 };

void fail(const char *what) {
  fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void grow(uint8_t **bytes, size_t *room, size_t wanted) {
  if (wanted <= *room) return;
  *room = wanted * 2;
  *bytes = realloc(*bytes, *room);
  if (!*bytes) fail("memory");
}

// MARK: Sending

static void put(Connection *connection, const void *bytes, size_t count) {
  grow(&connection->out, &connection->out_room, connection->out_count + count);
  memcpy(connection->out + connection->out_count, bytes, count);
  connection->out_count += count;
}

static void put_number(Connection *connection, size_t number) {
  uint8_t bytes[] = {(uint8_t)(number >> 8), (uint8_t)number};
  put(connection, bytes, 2);
}

static void put_text(Connection *connection, const char *text) {
  put_number(connection, strlen(text));
  put(connection, text, strlen(text));
}

static void put_header(Connection *connection, uint8_t type, size_t length) {
  put(connection, &type, 1);
  do {
    uint8_t byte = (length & 127) | (length > 127 ? 128 : 0);
    put(connection, &byte, 1);
    length >>= 7;
  } while (length);
}

static void put_packet_id(Connection *connection) {
  if (++connection->packet == 0) connection->packet = 1;
  put_number(connection, connection->packet);
}

void wire_open(Connection *connection, int port, const char *client_id) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int yes = 1;
  connection->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->socket < 0 ||
      connect(connection->socket, (struct sockaddr *)&address, sizeof address) ||
      setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes)) {
    fail("connect");
  }
  put_header(connection, connect_packet, 10 + 2 + strlen(client_id));
  put_text(connection, "MQTT");
  // Version 3.1.1, a clean session, no keep-alive.
  put(connection, "\x04\x02\x00\x00", 4);
  put_text(connection, client_id);
}

void wire_subscribe(Connection *connection, const char *filter, uint8_t qos) {
  put_header(connection, subscribe_packet, 2 + 2 + strlen(filter) + 1);
  put_packet_id(connection);
  put_text(connection, filter);
  put(connection, &qos, 1);
}

void wire_publish(Connection *connection, const char *topic, const void *payload, size_t length) {
  put_header(connection, publish_qos_1, 2 + strlen(topic) + 2 + length);
  put_text(connection, topic);
  put_packet_id(connection);
  put(connection, payload, length);
}

void wire_flush(Connection *connection) {
  for (size_t done = 0; done < connection->out_count;) {
    ssize_t count = write(connection->socket, connection->out + done, connection->out_count - done);
    if (count <= 0) fail("write");
    done += (size_t)count;
  }
  connection->out_count = 0;
}

// MARK: Receiving

static void handle(
    Connection *connection, uint8_t type, const uint8_t *body, size_t length,
    const Handlers *handlers) {
  switch (type & 0xf0) {
  case publish_packet: {
    if (!(type & qos_flags)) break;
    size_t topic = 2 + (length < 2 ? 0 : (size_t)(body[0] << 8 | body[1]));
    if (topic + 2 > length) fail("a packet that is too short");
    put_header(connection, puback_packet, 2);
    put(connection, body + topic, 2);
    handlers->message((const char *)body + topic + 2, length - topic - 2);
    break;
  }
  case puback_packet: handlers->confirmed(); break;
  case suback_packet: handlers->subscribed(); break;
  default: break;
  }
}

int wire_receive(Connection *connection, int flags, const Handlers *handlers) {
  grow(&connection->in, &connection->in_room, connection->in_count + most_at_once);
  ssize_t count = recv(connection->socket, connection->in + connection->in_count,
                       connection->in_room - connection->in_count, flags);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count <= 0) fail("the broker has gone");
  handlers->arrived();
  connection->in_count += (size_t)count;
  size_t done = 0;
  for (;;) {
    size_t at = done + 1, length = 0;
    int shift = 0, is_whole = 0;
    while (at < connection->in_count && !is_whole) {
      uint8_t byte = connection->in[at++];
      length |= (size_t)(byte & 127) << shift;
      shift += 7;
      is_whole = byte < 128;
    }
    if (!is_whole || at + length > connection->in_count) break;
    handle(connection, connection->in[done], connection->in + at, length, handlers);
    done = at + length;
  }
  memmove(connection->in, connection->in + done, connection->in_count - done);
  connection->in_count -= done;
  return 1;
}
