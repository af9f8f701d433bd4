"""A disk that a test can fill."""

import errno
import subprocess
from pathlib import Path

import pytest


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder],
            capture_output=True, text=True,
        )
        if mounted.returncode != 0:
            pytest.skip(f"NOT TESTED, only root may mount a small disk: {mounted.stderr.strip()}")

    def fill(self) -> None:
        with open(self.folder / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError as error:
                assert error.errno == errno.ENOSPC

    def make_room(self) -> None:
        (self.folder / "filler").unlink()

    def remount(self, access: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{access}", self.folder], check=True)

    def close(self) -> None:
        subprocess.run(["umount", "-l", self.folder], check=True)
