"""A minimal MQTT 5 broker with behaviour that mosquitto does not have."""

import socket
import threading

from packets import CONNACK, CONNECT, PUBACK, PUBLISH, SUBACK, SUBSCRIBE, packet, received


class OddBroker:
    """A broker with the CONNACK properties `greeting`, or with the login refusal `refusal`.

    With `old` it supports MQTT 3.1.1 only, and closes other connections.
    """

    def __init__(self, greeting: bytes = b"", refusal: int = 0, old: bool = False) -> None:
        self.greeting, self.refusal, self.old = greeting, refusal, old
        self.listeners: list[socket.socket] = []
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
        stream = client.makefile("rb")
        try:
            for kind, body in received(stream):
                self._take(client, kind, body)
        except (OSError, IndexError):
            pass
        finally:
            if client in self.listeners:
                self.listeners.remove(client)
            client.close()

    def _take(self, client: socket.socket, kind: int, body: bytes) -> None:
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
