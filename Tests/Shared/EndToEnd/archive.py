"""The shipped archive, and events of simulated kiosks."""

import json
import subprocess
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

from arrivals import TIMEOUT
from client import Client
from daemon import Daemon, built, environment
from mosquitto import Mosquitto
from postgres import Postgres


program = partial(built, "juice-archive")


class Archive(Daemon):
    def __init__(
        self, config: Path, broker: Mosquitto | None = None, database: Postgres | None = None,
        **settings: Any,
    ) -> None:
        """Without a broker and a database, the existing configuration file is used."""
        super().__init__()
        self.config = config
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
        self.execute(program(), "run", "--config", self.config)
        return self

    def start(self) -> "Archive":
        since = len(self.log)
        self.launch().wait_for_log("archiving", since)
        return self


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
