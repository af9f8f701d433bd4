"""A TCP proxy on the loopback interface that simulates network failures."""

import selectors
import socket
import threading

from ports import free_port

PUBACK = 4


class Proxy:
    def __init__(self, target: int, address: str = "127.0.0.1") -> None:
        self.target = target
        self.port = free_port()
        # Type of packets from the broker to drop, or `None`.
        self.swallows: int | None = None
        # Whether to drop bytes to the broker, as a stalled network does.
        self.holds_back = False
        # Whether to close new connections immediately.
        self.is_down = False
        self.cuts = 0
        self._bytes_left: int | None = None
        self._others: dict[socket.socket, socket.socket] = {}
        self._from_broker: dict[socket.socket, bytes] = {}
        self._lock = threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((address, self.port))
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_over = True
        self._thread.join()
        self.cut()
        self._listener.close()

    def cut(self) -> None:
        """Closes all connections without an MQTT DISCONNECT."""
        with self._lock:
            self.cuts += 1
            while self._others:
                self._end(next(iter(self._others)))
            self._bytes_left = None

    def cut_after(self, count: int) -> None:
        """Closes all connections after `count` further bytes in either direction, mostly within a
        packet."""
        with self._lock:
            self._bytes_left = count

    def _run(self) -> None:
        while not self._is_over:
            for key, _ in self._selector.select(0.05):
                with self._lock:
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj in self._others:
                        self._pass_on(key.fileobj)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        if self.is_down:
            client.close()
            return
        try:
            broker = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        for one, other in ((client, broker), (broker, client)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._others[one] = other
            self._selector.register(one, selectors.EVENT_READ)
        self._from_broker[broker] = b""

    def _pass_on(self, source: socket.socket) -> None:
        target = self._others[source]
        try:
            data = source.recv(65_536)
            if not data:
                return self._end(source)
            if self.holds_back and source not in self._from_broker:
                return
            if source in self._from_broker and self.swallows is not None:
                data = self._sift(source, data)
            if self._bytes_left is not None:
                self._bytes_left -= len(data)
                if self._bytes_left <= 0:
                    target.sendall(data[: len(data) + self._bytes_left])
                    return self.cut()
            target.sendall(data)
        except OSError:
            self._end(source)

    def _end(self, one: socket.socket) -> None:
        """Closes both halves of one connection. A newer connection may already exist."""
        for each in (one, self._others[one]):
            self._selector.unregister(each)
            self._from_broker.pop(each, None)
            del self._others[each]
            each.close()

    def _sift(self, broker: socket.socket, data: bytes) -> bytes:
        """Returns complete packets, except dropped ones (a fixed header: MQTT 2.1)."""
        data, kept = self._from_broker[broker] + data, b""
        while (end := self._end_of_packet(data)) and end <= len(data):
            if data[0] >> 4 != self.swallows:
                kept += data[:end]
            data = data[end:]
        self._from_broker[broker] = data
        return kept

    @staticmethod
    def _end_of_packet(data: bytes) -> int | None:
        length = 0
        for index, byte in enumerate(data[1:5]):
            length |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return index + 2 + length
        return None
