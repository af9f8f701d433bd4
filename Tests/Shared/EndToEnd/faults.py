"""A machine that fails around the kiosk: its disk, and its clock."""

import shutil
import subprocess
from datetime import timedelta
from pathlib import Path


class Faults:
    """What fails for the processes that are started with its `variables`, and for no others."""

    def __init__(self, folder: Path) -> None:
        self._disk, self._clock = folder / "faults", folder / "clock"
        library = folder / "faults.so"
        compiler = shutil.which("cc") or shutil.which("clang")
        source = Path(__file__).with_suffix(".c")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        self.variables = {
            "LD_PRELOAD": str(library), "FAULTS": str(self._disk), "CLOCK": str(self._clock)
        }

    def fail(self, call: str, code: int) -> None:
        """`call`: write or sync; fails on the ledger's files from now on."""
        self._say(self._disk, f"{call} {code}")

    def hang(self, call: str) -> None:
        self.fail(call, 0)

    def end(self) -> None:
        self._disk.unlink()

    def set_clock(self, offset: timedelta) -> None:
        self._say(self._clock, f"{int(offset.total_seconds())}")

    @staticmethod
    def _say(file: Path, order: str) -> None:
        # In one step: the kiosk must not read half of it.
        draft = file.with_suffix(".new")
        draft.write_text(order + "\n")
        draft.rename(file)
