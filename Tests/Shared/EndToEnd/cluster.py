"""Three RabbitMQ nodes and a PostgreSQL, started by deploy/cluster on free ports in a new folder.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterable

from arrivals import eventually
from kiosk import ROOT
from ports import free_port

PARTS = ("node1", "node2", "node3", "database")
SESSION = "mqtt-subscription-juice-archiveqos1"


class Cluster:
    def __init__(self, session_limit: int | None = None) -> None:
        # Not in pytest's folder, which the user `postgres` must not read.
        self.folder = Path(tempfile.mkdtemp(prefix="cluster-"))
        self.ports = [free_port() for _ in range(8)]
        (self.folder / "ports").write_text(" ".join(map(str, self.ports)) + "\n")
        self._environment = os.environ | {"CLUSTER_FOLDER": str(self.folder)}
        if session_limit:
            self._environment["CLUSTER_SESSION_LIMIT"] = str(session_limit)

    def run(self, *arguments: str | Path, within: float = 300) -> str:
        done = subprocess.run(
            [ROOT / "deploy/cluster", *arguments], env=self._environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=within)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def start(self, *parts: str) -> "Cluster":
        """Starts `node1`, `node2`, `node3` or `database`; without arguments, all that are not
        running."""
        self.run("up", *parts)
        return self

    def accounts(self, kiosks: Iterable[str]) -> None:
        """Creates the accounts of these kiosks, and removes all others."""
        file = self.folder / "kiosks.csv"
        file.write_text("id,region,name,place\n" + "".join(f"{kiosk},r1,,\n" for kiosk in kiosks))
        self.run("accounts", file)

    def kill(self, part: str) -> None:
        """Kills a part and waits for its child processes, which hold its shared memory."""
        file = self.folder / f"{part}.pid"
        if not file.exists():
            return
        pid = int(file.read_text())
        file.unlink()
        children = Path(f"/proc/{pid}/task/{pid}/children")
        family = [str(pid), *(children.read_text().split() if children.exists() else [])]
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        # PostgreSQL does not start while its previous process id is in use.
        for each in family:
            eventually(lambda: not Path(f"/proc/{each}").exists())

    def close(self) -> None:
        for part in (*PARTS, "epmd"):
            self.kill(part)
        shutil.rmtree(self.folder)

    def leader(self) -> str:
        """Returns the node that leads the archive's queue."""
        return self._session("leader").partition("@")[0]

    def waiting(self) -> int:
        """Returns the number of events queued for the archive."""
        return int(self._session("messages"))

    def hearing(self) -> int:
        """Returns the number of kiosks with a downward subscription."""
        return sum("-uplink-" in row["name"] for row in self._queues("name"))

    def _queues(self, *columns: str) -> list[dict[str, Any]]:
        # By default it gives up after a minute, in which each queue of a busy computer need not answer.
        listed = self.run("ctl", "list_queues", "--timeout", "240", *columns, "--formatter", "json")
        return json.loads(listed)

    def _session(self, column: str) -> str:
        for row in self._queues("name", column):
            if row["name"] == SESSION:
                return str(row[column])
        raise AssertionError("the archive has no queue")

    def pids(self, *parts: str) -> list[int]:
        """Returns the process ids of the parts that are running."""
        files = [self.folder / f"{part}.pid" for part in parts]
        return [int(file.read_text()) for file in files if file.exists()]

    def port(self, part: str) -> int:
        return self.ports[PARTS.index(part)]

    @property
    def protocol(self) -> str:
        """The version of MQTT for clients, which depends on that of RabbitMQ."""
        return re.search(r'protocol: "(.*)"', (self.folder / "archive.yaml").read_text())[1]

    @property
    def authority(self) -> Path:
        return self.folder / "ca.crt"

    def password_file(self, account: str) -> Path:
        """Returns the password file of `archive`, `operator`, `dashboard`, `postgres` or
        `kiosks/ID`."""
        return self.folder / "passwords" / account

    def uplink(self, kiosk: str, **more: Any) -> dict[str, Any]:
        """Returns the uplink section of a kiosk's configuration."""
        return {
            "addresses": [f"127.0.0.1:{self.port(node)}" for node in PARTS[:3]],
            "protocol": self.protocol,
            "username": kiosk, "password_file": str(self.password_file(f"kiosks/{kiosk}")),
            "tls": {"ca_file": str(self.authority)},
        } | more

    def database(self, user: str, name: str = "juice") -> str:
        return (
            f"host=127.0.0.1 port={self.port('database')} user={user} dbname={name} "
            f"sslmode=verify-full sslrootcert={self.authority}")

    def query(self, sql: str, user: str = "postgres") -> str:
        """Returns the output of psql: one line per row, columns separated by `|`."""
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.database(user)],
            input=sql, env=os.environ | {"PGPASSWORD": self.password_file(user).read_text().strip()},
            capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
