"""A separate Debian with a running systemd, like the computer of a kiosk owner."""

import ctypes
import json
import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest

from arrivals import eventually
from kiosk import ROOT
from mosquitto import presses

needs_packages = pytest.mark.skipif(
    "KIOSK_PACKAGES" not in os.environ, reason="deploy/test --package runs it"
)
CLONE_NEWNET = 0x40000000


class Machine:
    """A container in a network namespace of its own, so that it cannot disturb anything else.

    The network exists even while the machine is off, so that its clients observe a power cut as
    panels in a shop do.
    """

    def __init__(self, folder: Path, *layers: Path) -> None:
        """`layers`: read-only folders below its disk, the first one on top."""
        self.root, self.changes = folder / "root", folder / "changes"
        for path in (self.root, self.changes, folder / "work"):
            path.mkdir()
        below = ":".join(map(str, layers))
        options = f"lowerdir={below},upperdir={self.changes},workdir={folder / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "-o", options, "kiosk", self.root], check=True)
        self._network = folder / "network"
        self._network.touch()
        up = ["ip", "link", "set", "lo", "up"]
        subprocess.run(["unshare", f"--net={self._network}", *up], check=True)
        self.process: subprocess.Popen | None = None
        self._boots = 0
        self.leader = 0

    def boot(self) -> "Machine":
        self._boots += 1
        with open(self.root.parent / f"console{self._boots}", "wb") as console:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "--directory", self.root, "--boot", "--quiet",
                 "--register=no", "--keep-unit", "--link-journal=no",
                 f"--network-namespace-path={self._network}",
                 # Unique, because another machine may be running.
                 f"--machine=kiosk-{os.getpid()}"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console,
            )
        self.leader = eventually(self._find_leader)
        # 'degraded' is acceptable: a container has no hardware to set up.
        eventually(
            lambda: self.run("systemctl", "is-system-running").stdout.strip()
            in ("running", "degraded"),
        )
        return self

    def _find_leader(self) -> int:
        """Returns the outer process id of the machine's systemd."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for child in map(int, children.split()):
            try:
                if Path(f"/proc/{child}/comm").read_text() == "systemd\n":
                    return child
            except FileNotFoundError:
                pass  # A process of the setup that has already ended.
        return 0

    @contextmanager
    def network(self) -> Iterator[None]:
        """Moves this thread, and the threads that it starts, into the machine's network."""
        with open("/proc/thread-self/ns/net") as before, open(self._network) as network:
            enter(network.fileno())
            try:
                yield
            finally:
                enter(before.fileno())

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            ["nsenter", f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net", "--pid",
             "--cgroup", "--root", "env", "-i", "-C", "/",
             "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
             "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *command],
            input=stdin, capture_output=True, text=True, timeout=120,
        )

    def shell(self, script: str, code: int = 0) -> str:
        done = self.run("bash", "-euo", "pipefail", "-c", script)
        assert done.returncode == code, f"{script}\n{done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def property(self, name: str, unit: str = "juice-kiosk") -> str:
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).stdout.strip()

    def cut_power(self) -> None:
        """Kills all its processes at once, without a shutdown."""
        os.kill(self.leader, signal.SIGKILL)
        self.process.wait(30)
        self.process = None

    def shut_down(self) -> None:
        self.run("systemctl", "poweroff")
        self.process.wait(60)
        self.process = None

    def close(self) -> None:
        if self.process:
            self.cut_power()
        subprocess.run(["umount", self.root, self._network], check=True)


def enter(network: int) -> None:
    """Calls setns(2), which Python provides from 3.12 on."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(network, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class InstalledBroker:
    """The machine's mosquitto, as the auditor needs it."""

    port = 1883

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        (machine.root / "etc/mosquitto/conf.d/log.conf").write_text("log_type all\n")
        machine.shell("systemctl restart mosquitto")

    def presses(self, panel: str, with_repeats: bool) -> int:
        log = self.machine.root / "var/log/mosquitto/mosquitto.log"
        return presses(self.port, log, panel, with_repeats)


class InstalledKiosk:
    """The machine's kiosk, as the auditor needs it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def entries(self) -> Iterator[dict]:
        yield from map(json.loads, self.machine.shell("juice-kiosk ledger export").splitlines())

    def verify(self) -> None:
        self.machine.shell("juice-kiosk ledger verify")


def wait_until_open(machine: Machine) -> None:
    eventually(lambda: machine.property("StatusText") == "Open: orders are taken.", within=90)


def check_installed(machine: Machine, unit: str, missed: str, *manual: str) -> None:
    """Checks manual, completion, unit and rights of a service, and that the hardening forbids nothing that it
    needs: its log has no line like `missed`."""
    page = machine.shell(f"apt-get install -y man-db >/dev/null; man {unit} | cat")
    assert all(words in page for words in manual), page
    machine.shell(f"bash -c 'source /usr/share/bash-completion/completions/{unit}'")
    machine.shell(f"systemd-analyze verify /lib/systemd/system/{unit}.service")
    rights = f"grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/$(pidof {unit})/status"
    assert machine.shell(rights).split() == [
        "CapEff:", "0000000000000000", "NoNewPrivs:", "1", "Seccomp:", "2"]
    assert machine.shell(f"journalctl -q -u {unit} --grep '{missed}' || true") == ""


def check_purged(machine: Machine, package: str) -> None:
    machine.shell(f"apt-get purge -y {package}")
    # Logs and cached manual pages do not belong to the package.
    kept = "-not -path '/var/log/*' -not -path '/var/cache/man/*'"
    assert machine.shell(f"find /etc /usr /var /lib /opt -name '*juice*' {kept}") == ""


def packages() -> list[Path]:
    """Returns the packages that deploy/package has built."""
    return sorted(Path(os.environ["KIOSK_PACKAGES"]).glob("*.deb"))


def later(program: str, folder: Path, version: str) -> Path:
    """Returns the same package with a higher version."""
    package = next(file for file in packages() if file.name.startswith(f"{program}_"))
    tree, result = folder / "tree", folder / f"{program}_{version}.deb"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    lines = control.read_text().splitlines(keepends=True)
    control.write_text("".join(
        f"Version: {version}\n" if line.startswith("Version: ") else line for line in lines
    ))
    subprocess.run(["dpkg-deb", "-Znone", "-b", tree, result], check=True, capture_output=True)
    return result


def unpack_debian(folder: Path) -> Path:
    """Unpacks a clean Debian, of the release KIOSK_DEBIAN (12 or 13), as a layer."""
    release = os.environ.get("KIOSK_DEBIAN", "12")
    archive = subprocess.run(
        [ROOT / "deploy/install-clean-root", release], check=True, text=True, stdout=subprocess.PIPE
    ).stdout.strip()
    subprocess.run(["tar", "-C", folder, "-xf", archive], check=True)
    return folder
