"""Injects faults of the disk and of the clock around the kiosk."""

import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path


class Faults:
    """Injects faults into the processes that are started with `variables`, and into no others."""

    def __init__(self, folder: Path) -> None:
        self._disk, self._clock = folder / "faults", folder / "clock"
        library = folder / "faults.so"
        # CC is set if the kiosk runs on another processor than the tests.
        compiler = os.environ.get("CC") or shutil.which("cc") or "clang"
        source = Path(__file__).with_suffix(".c")
        subprocess.run(
            [*compiler.split(), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        self.variables = {
            "LD_PRELOAD": str(library), "FAULTS": str(self._disk), "CLOCK": str(self._clock)
        }

    def fail(self, call: str, code: int) -> None:
        """Makes `call` (write, sync or link) fail on the ledger's files."""
        self._say(self._disk, f"{call} {code}")

    def hang(self, call: str) -> None:
        self.fail(call, 0)

    def end(self) -> None:
        self._disk.unlink()

    def set_clock(self, offset: timedelta) -> None:
        self._say(self._clock, f"{int(offset.total_seconds())}")

    @staticmethod
    def _say(file: Path, order: str) -> None:
        # Atomically: the kiosk must not read half of the file.
        draft = file.with_suffix(".new")
        draft.write_text(order + "\n")
        draft.rename(file)
