"""A simulated systemd that receives the notifications of a service."""

import socket
import threading

from arrivals import TIMEOUT, Arrivals, eventually

WATCHDOG_SECONDS = 2


class Manager:
    """Receives the messages of sd_notify(3); each line is an item."""

    def __init__(self, address: str) -> None:
        self.heard: Arrivals[str] = Arrivals()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0"))
        self.variables = {
            "NOTIFY_SOCKET": address, "WATCHDOG_USEC": str(WATCHDOG_SECONDS * 1_000_000)
        }
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while datagram := self.socket.recv(65536):
            for line in datagram.decode().split("\n"):
                self.heard.add(line)

    def wait_for(self, text: str, since: int = 0) -> str:
        return self.heard.first(lambda line: text in line, since)

    def wait_for_life(self, within: float = TIMEOUT) -> None:
        """Waits for another signal of the watchdog."""
        self.heard.first(lambda line: line == "WATCHDOG=1", len(self.heard), within)

    def wait_for_silence(self) -> None:
        """Waits until the service is silent for as long as a service manager permits."""
        def is_silent() -> bool:
            try:
                self.wait_for_life(WATCHDOG_SECONDS)
                return False
            except TimeoutError:
                return True

        eventually(is_silent)
