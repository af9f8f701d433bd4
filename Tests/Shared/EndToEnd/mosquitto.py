"""A real mosquitto on a free port of the loopback interface, with a folder of its own."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import uuid
from pathlib import Path
from typing import Iterator

from arrivals import TIMEOUT, eventually
from client import BASE, Client
from ports import free_port, is_listening

PROGRAM = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")


class Mosquitto:
    def __init__(
        self, folder: Path, persistence: bool = True, users: dict[str, str] | None = None,
        settings: str = "", counts: bool = False,
    ) -> None:
        """`counts`: logs received packets, for `presses`."""
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen | None = None
        self.counts = counts
        folder.mkdir()
        lines = [
            f"listener {self.port} 127.0.0.1",
            f"allow_anonymous {'false' if users else 'true'}",
            # Otherwise a mosquitto started by root would switch to a user who may not read this
            # folder.
            f"user {pwd.getpwuid(os.getuid()).pw_name}",
            f"persistence {'true' if persistence else 'false'}",
            f"persistence_location {folder}/",
            "max_queued_messages 10000",
            "max_inflight_messages 1024",
            "set_tcp_nodelay true",
            "max_packet_size 1048576",
            "log_type all" if counts else "",
            settings,
        ]
        if users:
            passwords = folder / "passwords"
            passwords.touch(mode=0o600)
            for name, password in users.items():
                subprocess.run(["mosquitto_passwd", "-b", passwords, name, password], check=True)
            lines.append(f"password_file {passwords}")
        (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n")

    def start(self) -> "Mosquitto":
        with open(self.folder / "log", "ab") as log:
            if self.counts:
                # Without the kiosk's packets, and without first deliveries.
                noise = r" Sending (PUBACK|PUBLISH to \S+ \(d0)| Received (PUBACK|PUBLISH from juice-)"
                self.sieve = subprocess.Popen(
                    ["grep", "--line-buffered", "-v", "-E", noise], stdin=subprocess.PIPE, stdout=log
                )
            with self.sieve.stdin if self.counts else log as output:
                self.process = subprocess.Popen(
                    [PROGRAM, "-c", self.folder / "mosquitto.conf"], stdout=output, stderr=output
                )
        eventually(lambda: is_listening(self.port))
        return self

    def stop(self, sign: int = signal.SIGTERM) -> None:
        if self.process:
            eventually(lambda: self._ends_by(sign))
            self.process = None
            if self.counts:
                self.sieve.wait(TIMEOUT)

    def _ends_by(self, sign: int) -> bool:
        """Sends a signal. A broker that has just started may lose it, so the caller repeats it."""
        self.process.send_signal(sign)
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    @staticmethod
    def checks_response_topics() -> bool:
        """Whether it disconnects a client with a response topic that no topic can be, instead of relaying it."""
        about = subprocess.run([PROGRAM, "-h"], capture_output=True, text=True).stdout
        return "version 2.0.11" not in about

    def presses(self, panel: str, with_repeats: bool) -> int:
        assert self.counts
        return presses(self.port, self.folder / "log", panel, with_repeats)


def presses(port: int, log: Path, panel: str, with_repeats: bool) -> int:
    """Returns the number of presses that a broker has received from a panel, including repetitions.

    `log`: the broker's log of all packets. `with_repeats`: also counts redeliveries by the broker.
    """
    last = f"last-{uuid.uuid4()}"
    Client(port, name=last).close()

    def lines() -> Iterator[str]:
        with open(log) as file:
            yield from file

    # The log is sequential: it is complete up to this client's connection.
    eventually(lambda: any(f" as {last} " in line for line in lines()))
    had = re.compile(rf"Received PUBLISH from .*'{BASE}/order/{panel}'")
    repeated = re.compile(rf"Sending PUBLISH to .* \(d1.*'{BASE}/order/{panel}'")
    counted = [had, repeated] if with_repeats else [had]
    return sum(any(each.search(line) for each in counted) for line in lines())
