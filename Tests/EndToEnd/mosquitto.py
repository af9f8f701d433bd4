"""A real mosquitto on a free port of the loopback interface, with a folder of its own."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from arrivals import eventually

PROGRAM = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Mosquitto:
    def __init__(
        self, folder: Path, persistence: bool = True, users: dict[str, str] | None = None,
        settings: str = "",
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen | None = None
        folder.mkdir()
        lines = [
            f"listener {self.port} 127.0.0.1",
            f"allow_anonymous {'false' if users else 'true'}",
            # A mosquitto that root starts would become somebody who may not read here.
            f"user {pwd.getpwuid(os.getuid()).pw_name}",
            f"persistence {'true' if persistence else 'false'}",
            f"persistence_location {folder}/",
            "max_queued_messages 10000",
            "max_inflight_messages 1024",
            "set_tcp_nodelay true",
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
            self.process = subprocess.Popen(
                [PROGRAM, "-c", self.folder / "mosquitto.conf"], stdout=log, stderr=log
            )
        eventually(lambda: is_listening(self.port))
        return self

    def stop(self, sign: int = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(sign)
            self.process.wait(10)
            self.process = None

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
