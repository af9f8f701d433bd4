"""RabbitMQ and ejabberd from Debian's packages, on free ports of the loopback interface."""

import os
import signal
import subprocess
from pathlib import Path

from arrivals import TIMEOUT, eventually
from ports import free_port, is_listening

START = Path(__file__).resolve().parents[1] / "other-broker"


class OtherBroker:
    # The default accounts, which permit logins from the same computer.
    logins = {"rabbitmq": ("guest", "guest"), "ejabberd": ("guest@localhost", "guest")}

    def __init__(self, folder: Path, make: str) -> None:
        self.folder = folder
        self.make = make
        self.login = self.logins[make]
        self.port = free_port()
        self._line = [START, make, folder, *(str(p) for p in (self.port, free_port(), free_port()))]
        self.process: subprocess.Popen | None = None
        folder.mkdir()

    def start(self) -> "OtherBroker":
        with open(self.folder / "output", "ab") as output:
            self.process = subprocess.Popen(self._line, stdout=output, stderr=output)
        ready = self.folder / "ready"
        eventually(lambda: is_listening(self.port) and ready.exists(), within=90)
        return self

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait(TIMEOUT)
            self.process = None
        mapper = self.folder / "epmd.pid"
        if mapper.exists():
            os.kill(int(mapper.read_text()), signal.SIGKILL)
            mapper.unlink()
