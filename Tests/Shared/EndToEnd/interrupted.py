"""Kills a command before each of its relevant system calls, one after the other."""

import shutil
import signal
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from kiosk import environment

# arm64 has only the later ones.
RENAME = "?rename,?renameat,?renameat2"
# The calls that change the size or the name of a file, and those that make it durable.
CALLS = ["fsync", "fdatasync", "?link,?linkat", "?unlink,?unlinkat", RENAME, "ftruncate"]


def interruptions(folder: Path, line: list[str]) -> Iterator[str]:
    """Yields after each kill the name and the number of the call that was not made.

    Restores the initial contents of the folder before each run.
    """
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED, nobody may trace a process here")
    saved = folder.with_name(folder.name + "-saved")
    shutil.copytree(folder, saved)
    for call in CALLS:
        for number in range(1, 100):
            shutil.rmtree(folder)
            shutil.copytree(saved, folder)
            kill = f"inject={call}:signal=KILL:when={number}"
            ended = subprocess.run(
                ["strace", "-f", "-qq", "-o", "/dev/null", "-e", kill, *line],
                capture_output=True, env=environment(),
            )
            if ended.returncode == 0:
                break
            assert ended.returncode == -signal.SIGKILL, ended.stderr
            yield f"{call} {number}"
