"""A simulated systemd that receives the notifications of a service."""

import socket
import threading

from arrivals import Arrivals

# Watchdog timeout in seconds.
TIMEOUT = 2


class Manager:
    """Receives the messages of sd_notify(3); each line is an item."""

    def __init__(self, address: str) -> None:
        self.heard: Arrivals[str] = Arrivals()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0"))
        self.variables = {
            "NOTIFY_SOCKET": address, "WATCHDOG_USEC": str(TIMEOUT * 1_000_000)
        }
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while datagram := self.socket.recv(65536):
            for line in datagram.decode().split("\n"):
                self.heard.add(line)

    def wait_for(self, text: str, since: int = 0, within: float = 60) -> str:
        return self.heard.first(lambda line: text in line, since, within)

    def lives(self, since: int, within: float = TIMEOUT) -> bool:
        try:
            self.heard.first(lambda line: line == "WATCHDOG=1", since, within)
            return True
        except TimeoutError:
            return False
