"""The first commands of a new user: deploy/run, its output, and the whole README."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Iterator
from urllib.parse import urlsplit

import pytest

import dashboard
from arrivals import TIMEOUT, eventually
from client import retained
from daemon import Daemon
from web_client import WebClient
from kiosk import ROOT, environment, program
from mosquitto import Mosquitto
from readme import blocks


# One after the other: two of them would find the same ports free.
pytestmark = pytest.mark.xdist_group("deploy/run")


class Command(Daemon):
    """A command line of a shell, as if each had its own terminal."""

    def __init__(self, line: str, folder: Path) -> None:
        super().__init__()
        self.execute("bash", "-c", "exec " + line, cwd=folder, start_new_session=True)


class Copy:
    """The project as in a fresh clone, with the program already built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kiosk: Command | None = None
        kept = shutil.ignore_patterns(".git", ".build", ".kiosk", "__pycache__")
        shutil.copytree(ROOT, folder, ignore=kept, symlinks=True)
        release = folder / ".build/release"
        release.mkdir(parents=True)
        (release / "juice-kiosk").symlink_to(program())
        (release / "juice-dashboard").symlink_to(dashboard.program())
        (folder / "deploy/build").write_text(f"#!/bin/sh\necho {release}/${{1:-juice-kiosk}}\n")

    def run(self, *options: str) -> int:
        """Starts deploy/run. Returns the port of its broker."""
        self.kiosk = Command(" ".join(["deploy/run", *options]), self.folder)
        self.kiosk.log.first(lambda line: "Ctrl-C stops it" in line)
        return int(re.search(r"port: (\d+)", (self.folder / ".kiosk/kiosk.yaml").read_text())[1])

    def processes(self) -> list[str]:
        """Returns its processes that are still running, in any session."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                folder = os.readlink(entry / "cwd")
            except OSError:
                continue
            if command and folder == str(self.folder):
                found.append(f"{entry.name} {command}")
        return found

    def stop(self, sign: int | None = None, within: float = TIMEOUT) -> int:
        """Stops with this signal or, by default, like Ctrl-C, which all foreground processes
        receive."""
        if sign is None:
            os.killpg(self.kiosk.process.pid, signal.SIGINT)
        else:
            self.kiosk.process.send_signal(sign)
        return self.kiosk.wait(within)

    def sweep(self) -> None:
        for process in self.processes():
            os.kill(int(process.split()[0]), signal.SIGKILL)


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    copy = Copy(tmp_path / "juice-kiosk")
    yield copy
    copy.sweep()


@pytest.mark.parametrize("sign", [None, signal.SIGINT, signal.SIGTERM])
def test_what_deploy_run_prints_works(copy: Copy, sign: int | None) -> None:
    port = copy.run()
    guide = [line.strip() for line in copy.kiosk.log]
    told = {line[:17].strip(): line[17:].strip() for line in guide if line[17:].strip()}

    def start(name: str) -> Command:
        return Command(told[name], copy.folder)

    heard, watch = start("see the answer"), start("watch the stock")
    try:
        watch.log.first("strawberry 10".__eq__)
        # mosquitto_sub does not report its subscription, so press until it receives a message.
        eventually(lambda: start("press a button").wait() == 0 and len(heard.log))
        watch.log.first("strawberry 0".__eq__)
        assert json.loads(heard.log.since(0)[0])["juice"] == "strawberry_banana"
        heard.log.first(lambda line: '"ready"' in line)
        copy.kiosk.log.first(lambda line: re.fullmatch(r"job \d+: done", line))
    finally:
        heard.kill()
        watch.kill()
    restock = start("restock")
    assert restock.wait() == 0
    restock.log.first(lambda line: line.startswith("done; "))
    eventually(lambda: retained(port)["kiosk/k1/stock/strawberry"] == "20")

    assert copy.stop(sign) == 0
    eventually(lambda: copy.processes() == [])
    assert any("stopped" in line for line in copy.kiosk.log)


def test_deploy_run_opens_the_dashboard(copy: Copy) -> None:
    copy.run()
    guide = [line.strip() for line in copy.kiosk.log]
    told = {line[:17].strip(): line[17:].strip() for line in guide if line[17:].strip()}
    web_client = WebClient(urlsplit(told["the dashboard"]).port)
    web_client.log_in(told["log in as"], told["with"])
    eventually(lambda: "/kiosks/k1" in web_client.get().text)
    web_client.close()
    assert copy.stop() == 0
    eventually(lambda: copy.processes() == [])


def test_deploy_run_does_without_the_dashboard(copy: Copy) -> None:
    copy.run("--no-dashboard")
    assert not any("dashboard" in line for line in copy.kiosk.log)
    assert copy.stop() == 0


def test_deploy_run_finds_a_configuration_in_the_folder_of_the_caller(
    copy: Copy, broker: Mosquitto, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(
        f"broker: {{host: 127.0.0.1, port: {broker.port}}}\nledger: {{path: mine.sqlite}}\n")
    kiosk = Command("juice-kiosk/deploy/run --config mine.yaml", tmp_path)
    kiosk.wait_for_log(" online")
    assert kiosk.stop() == 0


def test_deploy_run_keeps_its_ledger_and_runs_once_per_folder(copy: Copy) -> None:
    order = ["order", "strawberry_banana", "--config", ".kiosk/kiosk.yaml"]
    codes = []
    for _ in range(2):
        copy.run()
        second = Command("deploy/run", copy.folder)
        assert second.wait() == 75
        assert second.log.first(bool) == "A kiosk runs in .kiosk already."
        done = subprocess.run([program(), *order], cwd=copy.folder, env=environment())
        codes.append(done.returncode)
        assert copy.stop() == 0
        eventually(lambda: copy.processes() == [])
    assert codes == [0, 75]


def test_the_readme(copy: Copy, tmp_path: Path) -> None:
    found = blocks(ROOT / "README.md")
    windows = [window for block in found for window in block.windows]
    assert windows[0] == "deploy/run" and sum(bool(block.script) for block in found) >= 2
    variables: dict[str, str] = {}
    terminals: list[Command] = []
    for block in found:
        for window in block.windows:
            name, *options = window.split()
            if name == "deploy/run":
                if copy.kiosk and copy.kiosk.process:
                    assert copy.stop() == 0
                # Port 1883 may be in use: the commands of mosquitto get this kiosk's port.
                port = copy.run(*options)
                for command in ("mosquitto_pub", "mosquitto_sub", "mosquitto_rr"):
                    (tmp_path / command).write_text(f"-p {port}\n")
                variables = {"XDG_CONFIG_HOME": str(tmp_path)}
            else:
                terminals.append(Command(window, copy.folder))
                eventually(lambda: retained(port).get("kiosk/k1/payment/terminal/status") == "online")
        if not block.script:
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.script], cwd=copy.folder, text=True,
            capture_output=True, timeout=120, env=environment(**variables),
        )
        where = f"README.md:{block.line}:\n{block.script}\n"
        assert done.returncode == 0, where + done.stdout + done.stderr
        assert block.printed(done.stdout), f"{where}printed\n{done.stdout}not\n{block.output}"
    for terminal in terminals:
        assert terminal.stop() == 0
    assert copy.stop() == 0
    eventually(lambda: copy.processes() == [])
