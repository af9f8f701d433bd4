"""MQTT 5 packets as bytes, and a connection that sends any bytes.

A regular client refuses to send what a hostile one sends.
"""

import itertools
import socket
import ssl
import struct
import threading
from dataclasses import dataclass
from typing import BinaryIO, Iterator

# Packet types (MQTT 5: 2.1.2).
CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = range(1, 8)
SUBSCRIBE, SUBACK, PINGREQ, PINGRESP, DISCONNECT = 8, 9, 12, 13, 14
# Maximum time in seconds to wait for the broker.
TIMEOUT = 20


def variable(number: int) -> bytes:
    """Encodes a variable byte integer (MQTT 5: 1.5.5)."""
    digits = b""
    while True:
        number, digit = divmod(number, 128)
        digits += bytes([digit | (128 if number else 0)])
        if not number:
            return digits


def text(value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("!H", len(value)) + value


def packet(kind: int, body: bytes, flags: int = 0) -> bytes:
    return bytes([kind << 4 | flags]) + variable(len(body)) + body


Properties = tuple[tuple[int, bytes], ...]


def packed(properties: Properties) -> bytes:
    body = b"".join(bytes([kind]) + value for kind, value in properties)
    return variable(len(body)) + body


@dataclass(frozen=True)
class Publish:
    """A message that an account publishes, or its will."""

    account: str
    topic: bytes
    payload: bytes = b""
    qos: int = 1
    retain: bool = False
    dup: bool = False
    properties: Properties = ()
    is_will: bool = False
    # Bytes to send instead of a valid packet.
    instead: bytes = b""

    @property
    def flags(self) -> int:
        return self.dup << 3 | self.qos << 1 | self.retain

    def encoded(self, packet_id: int) -> bytes:
        """Encodes a PUBLISH (MQTT 5: 3.3)."""
        number = struct.pack("!H", packet_id) if self.qos else b""
        body = text(self.topic) + number + packed(self.properties) + self.payload
        return packet(PUBLISH, body, self.flags)


class Closed(Exception):
    """The broker has closed the connection."""


class Connection:
    """An encrypted connection. All waiting has a deadline."""

    def __init__(
        self, port: int, ca: str, name: str, password: str, client_id: str = "",
        will: Publish | None = None,
    ) -> None:
        trust = ssl.create_default_context(cafile=ca)
        plain = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = trust.wrap_socket(plain, server_hostname="127.0.0.1")
        self._buffer = b""
        self._number = 0
        flags, left = 0b11000010, b""
        if will:
            flags |= 0b100 | will.qos << 3 | will.retain << 5
            left = packed(will.properties) + text(will.topic) + text(will.payload)
        body = text("MQTT") + bytes([5, flags, 0, 0, 0]) + text(client_id) + left
        self.send(packet(CONNECT, body + text(name) + text(password)))
        self.wait_for(CONNACK)

    def close(self) -> None:
        """Closes the socket without a DISCONNECT, so that the broker publishes the will."""
        self._socket.close()

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Closed from error

    def publish(self, message: Publish) -> None:
        """Publishes a message. Returns when the broker has accepted or refused it."""
        self._number = self._number % 65_535 + 1
        self.send(message.encoded(self._number))
        if message.qos == 0:
            self.send(packet(PINGREQ, b""))
            self.wait_for(PINGRESP)
        elif message.qos == 1:
            self.wait_for(PUBACK)
        elif self.wait_for(PUBREC)[2:3] < b"\x80":
            self.send(packet(PUBREL, struct.pack("!H", self._number), 0b10))
            self.wait_for(PUBCOMP)

    def subscribe(self, *filters: str) -> None:
        body = b"\0\1\0" + b"".join(text(each) + b"\1" for each in filters)
        self.send(packet(SUBSCRIBE, body, 0b10))
        self.wait_for(SUBACK)

    def retained(self, below: str) -> dict[str, bytes]:
        """Returns the retained messages by topic."""
        self.send(packet(SUBSCRIBE, b"\0\1\0" + text(below) + b"\0", 0b10) + packet(PINGREQ, b""))
        until_answered = itertools.takewhile(lambda each: each[0] >> 4 != PINGRESP, self.packets())
        return dict(published(*each) for each in until_answered if each[0] >> 4 == PUBLISH)

    def wait_for(self, kind: int) -> bytes:
        """Returns the body of the next packet of a type."""
        return next(body for first, body in self.packets() if first >> 4 == kind)

    def packets(self) -> Iterator[tuple[int, bytes]]:
        """Yields the first byte and the body of each packet, and acknowledges messages with QoS 1.
        """
        while True:
            first, body = self._take(1)[0], self._take(self._length())
            if first >> 4 == PUBLISH and first & 0b110:
                topic_end = 2 + struct.unpack("!H", body[:2])[0]
                self.send(packet(PUBACK, body[topic_end:topic_end + 2]))
            yield first, body

    def _length(self) -> int:
        length = shift = 0
        while True:
            digit = self._take(1)[0]
            length |= (digit & 127) << shift
            shift += 7
            if digit < 128:
                return length

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                data = self._socket.recv(65_536)
            except OSError as error:
                raise Closed from error
            if not data:
                raise Closed
            self._buffer += data
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def received(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields the first byte and the body of each packet until the end of the stream."""
    while first := stream.read(1):
        length = shift = 0
        while True:
            digit = stream.read(1)[0]
            length |= (digit & 127) << shift
            shift += 7
            if digit < 128:
                break
        yield first[0], stream.read(length)


class Server:
    """A broker of the tests: reads the packets of each client, and gives them to `take`."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for first, body in received(client.makefile("rb")):
                self.take(client, first, body)
        except (OSError, IndexError):
            pass
        finally:
            self.leave(client)
            client.close()

    def take(self, client: socket.socket, first: int, body: bytes) -> None:
        """Answers a packet. An OSError ends the connection."""

    def leave(self, client: socket.socket) -> None:
        """Forgets a client."""


def published(first: int, body: bytes) -> tuple[str, bytes]:
    """Returns topic and payload of a PUBLISH."""
    end = 2 + struct.unpack("!H", body[:2])[0]
    topic, rest = body[2:end].decode(), body[end + (2 if first & 0b110 else 0):]
    length = shift = count = 0
    while True:
        length |= (rest[count] & 127) << shift
        shift += 7
        count += 1
        if rest[count - 1] < 128:
            return topic, rest[count + length:]
