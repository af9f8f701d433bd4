"""The program that connects a card terminal."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def program() -> str:
    found = os.environ.get("ZVT_PROGRAM")
    if not found:
        found = subprocess.run(
            [ROOT / "deploy/build", "juice-zvt"], check=True, text=True, stdout=subprocess.PIPE
        ).stdout.strip()
        os.environ["ZVT_PROGRAM"] = found
    return os.path.abspath(found)
