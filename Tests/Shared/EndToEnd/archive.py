"""The shipped archive, and events of simulated kiosks."""

import json
import os
import signal
import subprocess
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from arrivals import TIMEOUT, Arrivals
from client import Client
from kiosk import ROOT, environment
from mosquitto import Mosquitto
from postgres import Postgres


def program() -> str:
    found = os.environ.get("ARCHIVE_PROGRAM")
    if not found:
        found = subprocess.run(
            [ROOT / "deploy/build", "juice-archive"], check=True, text=True,
            stdout=subprocess.PIPE,
        ).stdout.strip()
        os.environ["ARCHIVE_PROGRAM"] = found
    return os.path.abspath(found)


class Archive:
    def __init__(
        self, config: Path, broker: Mosquitto | None = None, database: Postgres | None = None,
        **settings: Any,
    ) -> None:
        """Without a broker and a database, the existing configuration file is used."""
        self.config = config
        self.log: Arrivals[str] = Arrivals()
        self.process: subprocess.Popen | None = None
        if broker and database:
            config.write_text(json.dumps({
                "archive": {"database": database.database} | settings,
                "broker": {"host": "127.0.0.1", "port": broker.port},
            }))

    def command(
        self, *arguments: str | Path, output: Any = subprocess.PIPE
    ) -> subprocess.CompletedProcess[str]:
        """`output`: the file that receives standard output, instead of a pipe."""
        return subprocess.run(
            [program(), *arguments, "--config", self.config], stdin=subprocess.DEVNULL, text=True,
            stdout=output, stderr=subprocess.PIPE, timeout=120, env=environment())

    def launch(self) -> "Archive":
        self.process = subprocess.Popen(
            [program(), "run", "--config", self.config], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())
        threading.Thread(target=self._read_log, args=[self.process.stderr], daemon=True).start()
        return self

    def start(self) -> "Archive":
        since = len(self.log)
        self.launch().wait_for_log("archiving", since)
        return self

    def _read_log(self, lines: Any) -> None:
        with lines:
            for line in lines:
                self.log.add(line.rstrip("\n"))

    def wait_for_log(self, text: str, since: int = 0, within: float = TIMEOUT) -> str:
        return self.log.first(lambda line: text in line, since, within)

    def wait(self) -> int:
        process, self.process = self.process, None
        return process.wait(TIMEOUT)

    def stop(self, sign: int = signal.SIGTERM) -> int:
        self.process.send_signal(sign)
        return self.wait()

    def kill(self) -> None:
        if self.process:
            self.stop(signal.SIGKILL)


def event(seq: int, status: str = "open", minute: float | None = None, **members: Any) -> dict[str, Any]:
    """Returns an event of a kiosk with one event per minute."""
    start = datetime(2026, 11, 1, tzinfo=timezone.utc)
    at = start + timedelta(minutes=seq if minute is None else minute)
    return {"seq": seq, "at": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "status": status} | members


def tell(client: Client, kiosk: str, *events: dict[str, Any] | str | bytes) -> None:
    """Publishes events. Returns when the broker has acknowledged them."""
    sent = [
        client.client.publish(
            f"kiosk/{kiosk}/events", json.dumps(each) if isinstance(each, dict) else each, 1)
        for each in events
    ]
    for each in sent:
        each.wait_for_publish(TIMEOUT)
