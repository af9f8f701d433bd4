"""A minimal MQTT 5 broker with behaviour that mosquitto does not have."""

import socket

from packets import CONNACK, CONNECT, PUBACK, PUBLISH, SUBACK, SUBSCRIBE, Server, packet


class OddBroker(Server):
    """A broker with the CONNACK properties `greeting`, or with the login refusal `refusal`.

    With `old` it supports MQTT 3.1.1 only, and closes other connections.
    """

    def __init__(self, greeting: bytes = b"", refusal: int = 0, old: bool = False) -> None:
        self.greeting, self.refusal, self.old = greeting, refusal, old
        self.listeners: list[socket.socket] = []
        super().__init__()

    def leave(self, client: socket.socket) -> None:
        if client in self.listeners:
            self.listeners.remove(client)

    def take(self, client: socket.socket, kind: int, body: bytes) -> None:
        nothing = b"" if self.old else b"\0"
        if kind >> 4 == CONNECT and self.old:
            if body[6] != 4:
                raise OSError("not MQTT 3.1.1")
            client.sendall(packet(CONNACK, b"\0\0"))
        elif kind >> 4 == CONNECT:
            properties = bytes([len(self.greeting)]) + self.greeting
            client.sendall(packet(CONNACK, bytes([0, self.refusal]) + properties))
        elif kind >> 4 == SUBSCRIBE:
            filters, rest = 0, body[2 + len(nothing):]
            while rest:
                filters, rest = filters + 1, rest[2 + int.from_bytes(rest[:2], "big") + 1:]
            client.sendall(packet(SUBACK, body[:2] + nothing + b"\1" * filters))
            self.listeners.append(client)
        elif kind >> 4 == PUBLISH:
            length = int.from_bytes(body[:2], "big")
            identifier, text = body[2 + length:4 + length], body[4 + length + len(nothing):]
            for listener in self.listeners:
                listener.sendall(packet(PUBLISH, body[:2 + length] + nothing + text))
            client.sendall(packet(PUBACK, identifier + nothing))
