"""The program under test, and its externally visible state."""

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any, Iterator

from daemon import ROOT, Daemon, built, environment  # noqa: F401
from mosquitto import Mosquitto

# Duplicated on purpose, to detect an error in the program's own table.
RECIPES = {
    "strawberry": {"strawberry": 16},
    "banana": {"banana": 2},
    "kiwi": {"kiwi": 3},
    "pineapple": {"pineapple": 2},
    "strawberry_banana": {"strawberry": 10, "banana": 1},
    "mango": {"mango": 3},
    "mango_kiwi": {"mango": 2, "kiwi": 1},
}
FRUITS = ["strawberry", "banana", "pineapple", "kiwi", "mango"]

program = partial(built, "juice-kiosk")


def shipped() -> str:
    """Returns the path of the program as it is shipped, for limits of memory and time."""
    return os.environ.get("KIOSK_SHIPPED") or program()


def one_line(text: str) -> str:
    """Returns an error message, which must be one line that names the program."""
    lines = text.splitlines()
    assert len(lines) == 1 and lines[0].startswith("juice-kiosk: "), text
    return lines[0]


class Kiosk(Daemon):
    def __init__(self, folder: Path, broker: Mosquitto | None, settings: dict[str, Any]) -> None:
        super().__init__()
        self.folder = folder
        self.config = folder / "kiosk.yaml"
        #: The program, or `None` for the one under test.
        self.program: str | None = None
        self.spawned: subprocess.Popen | None = None
        self.configure(broker, settings)

    def configure(self, broker: Mosquitto | None, settings: dict[str, Any]) -> None:
        configuration: dict[str, Any] = {
            "broker": {"host": "127.0.0.1", "port": broker.port if broker else 1},
            "ledger": {"path": "ledger.sqlite"},
            "orders": {"max_per_second": 0},
        }
        for section, values in settings.items():
            is_list = isinstance(values, list)
            configuration[section] = values if is_list else configuration.get(section, {}) | values
        # JSON is valid YAML.
        self.config.write_text(json.dumps(configuration, indent=2, ensure_ascii=False))

    # MARK: Daemon

    def launch(self, *under: str | Path, **variables: str) -> None:
        """Starts the daemon. `under`: a program that runs it, such as a tracer."""
        self.execute(
            *under, self.program or program(), "run", "--config", self.config, variables=variables)

    def start(self, *under: str | Path, **variables: str) -> "Kiosk":
        since = len(self.log)
        self.launch(*under, **variables)
        self.wait_for_log(" online", since)
        return self

    def kill(self) -> None:
        super().kill()
        if self.spawned:
            self.spawned.kill()
            self.spawned.wait()

    # MARK: Commands

    def command(
        self, *arguments: str, config: bool = True, stdin: str = "", within: float = 120,
        output: Any = subprocess.PIPE, **variables: str,
    ) -> subprocess.CompletedProcess:
        """`output`: the file that receives standard output, instead of a pipe."""
        line = [self.program or program(), *arguments]
        if config:
            line += ["--config", str(self.config)]
        return subprocess.run(
            line, input=stdin, stdout=output, stderr=subprocess.PIPE, text=True, timeout=within,
            cwd=self.folder, env=environment(**variables),
        )

    def spawn(self, *arguments: str) -> subprocess.Popen:
        """Starts a command that keeps running, besides the kiosk's own process."""
        self.spawned = subprocess.Popen(
            [self.program or program(), *arguments, "--config", self.config], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )
        return self.spawned

    def ledger(self) -> list[dict]:
        return list(self.entries())

    def entries(self) -> Iterator[dict]:
        """Yields the ledger's entries one by one, because there may be a million."""
        line = [self.program or program(), "ledger", "export", "--config", self.config]
        with subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment()
        ) as exported:
            yield from map(json.loads, exported.stdout)
        assert exported.returncode == 0

    def verify(self, within: float = 120) -> None:
        verified = self.command("ledger", "verify", within=within)
        assert verified.returncode == 0, verified.stderr

    def stock(self) -> dict[str, int]:
        """Returns the stock as the sum of the ledger's entries."""
        stock: dict[str, int] = {}
        for entry in self.entries():
            for fruit, change in entry.get("changes", {}).items():
                stock[fruit] = stock.get(fruit, 0) + change
        return stock
