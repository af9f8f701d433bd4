"""A command that is killed at every moment that matters: one call of the kernel after the other."""

import shutil
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from kiosk import environment

# What gives a file its size or its name, and what makes that last.
CALLS = ["fsync", "fdatasync", "link", "unlink", "rename", "ftruncate"]


def interruptions(folder: Path, line: list[str]) -> Iterator[str]:
    """Yields after each end, by the name and the number of the call that it did not live to make.

    All that is in the folder begins as it was, each time.
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
            yield f"{call} {number}"
