"""A real PostgreSQL on a Unix socket, with a folder of its own."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Sequence

from arrivals import eventually

# Debian has a folder for each version of PostgreSQL.
PROGRAMS = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: float(each.parent.name),
               default="")


def program(name: str) -> str:
    found = shutil.which(name, path=f"{PROGRAMS}:{os.environ['PATH']}")
    assert found, f"there is no {name}: deploy/install-dependencies test"
    return found


class Postgres:
    """A PostgreSQL whose user and database are both `postgres`."""

    def __init__(self, settings: str = "", under: Sequence[str] = ()) -> None:
        """`under`: a program that runs the server."""
        # Not in pytest's folder, which `postgres` must not read; also, a socket's path has at most
        # 107 bytes.
        self.folder = folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self.socket = folder / "socket"
        self.process: subprocess.Popen | None = None
        self.under = under
        # PostgreSQL refuses to run as root.
        self.user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        self.socket.mkdir()
        for each in (folder, self.socket):
            shutil.chown(each, self.user)
        self._run("initdb", "-D", folder / "data", "-A", "trust", "-U", "postgres", "-E", "UTF8",
                  "--locale=C", "--no-sync")
        with open(folder / "data/postgresql.conf", "a") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{self.socket}'\n{settings}\n")

    def _line(self, name: str, *arguments: str | Path) -> list[str | Path]:
        become = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups"]
        return [*(become if os.getuid() == 0 else []), program(name), *arguments]

    def _run(self, name: str, *arguments: str | Path) -> None:
        done = subprocess.run(
            self._line(name, *arguments), cwd="/", capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    @property
    def database(self) -> str:
        """The connection string."""
        return f"host={self.socket} user=postgres dbname=postgres"

    def start(self) -> "Postgres":
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.under, *self._line("postgres", "-D", self.folder / "data")], cwd="/", stdout=log, stderr=log)
        eventually(lambda: self.try_query("SELECT 1") == "1")
        return self

    def stop(self, sign: int = signal.SIGINT) -> None:
        """Stops the server, by default like `pg_ctl stop`: it disconnects its clients."""
        if self.process:
            self.process.send_signal(sign)
            self.process.wait(60)
            self.process = None

    def kill(self) -> None:
        """Kills the server, and waits for its child processes, which hold its shared memory."""
        if not self.process:
            return
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.stop(signal.SIGKILL)
        for child in children:
            eventually(lambda: not Path(f"/proc/{child}").exists())

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    def try_query(self, sql: str) -> str | None:
        done = subprocess.run(
            [program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.database, "-c", sql],
            capture_output=True, text=True, timeout=120)
        return done.stdout.strip() if done.returncode == 0 else None

    def query(self, sql: str) -> str:
        """Returns the output of psql: one line per row, columns separated by `|`."""
        done = subprocess.run(
            [program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.database],
            input=sql, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
