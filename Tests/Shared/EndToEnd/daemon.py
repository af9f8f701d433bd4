"""A program under test that keeps running, and its log."""

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from arrivals import TIMEOUT, Arrivals

ROOT = Path(__file__).resolve().parents[3]


def built(product: str) -> str:
    """Returns the path of a program, such as that of `juice-kiosk`; KIOSK_PROGRAM, and likewise for the
    others, names one that is built already."""
    variable = product.partition("-")[2].upper() + "_PROGRAM"
    if variable not in os.environ:
        os.environ[variable] = subprocess.run(
            [ROOT / "deploy/build", product], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    return os.path.abspath(os.environ[variable])


def environment(**changes: str) -> dict[str, str]:
    """Returns the environment without KIOSK_ variables, because the programs reject unknown settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KIOSK_")}
    return kept | changes


class Daemon:
    def __init__(self) -> None:
        self.log: Arrivals[str] = Arrivals()
        self.process: subprocess.Popen | None = None

    def execute(self, *line: Any, variables: dict[str, str] = {}, **options: Any) -> None:
        """Starts a command line, whose output becomes the log."""
        self.process = subprocess.Popen(
            line, **{"stdin": subprocess.DEVNULL} | options, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=environment(**variables))
        self._reader = threading.Thread(target=self._read, args=[self.process.stdout], daemon=True)
        self._reader.start()

    def _read(self, lines: Any) -> None:
        with lines:
            for line in lines:
                self.log.add(line.rstrip("\n"))

    @property
    def output(self) -> str:
        """The log as a text; complete if the program has ended."""
        if self.process is None:
            self._reader.join()
        return "\n".join(self.log)

    def wait_for_log(self, text: str, since: int = 0, within: float = TIMEOUT) -> str:
        return self.log.first(lambda line: text in line, since, within)

    def wait(self, within: float = TIMEOUT) -> int:
        """Returns the exit code. A program that does not end in time is killed."""
        process, self.process = self.process, None
        try:
            return process.wait(within)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def stop(self, sign: int = signal.SIGTERM, within: float = TIMEOUT) -> int:
        self.process.send_signal(sign)
        return self.wait(within)

    def kill(self) -> None:
        if self.process:
            self.stop(signal.SIGKILL)

    def memory(self, kind: str = "VmRSS") -> float:
        """Returns the current (VmRSS) or the peak (VmHWM) memory in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{kind}:")[1].split()[0]) / 1000

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None
