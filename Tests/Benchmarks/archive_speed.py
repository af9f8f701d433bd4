#!/usr/bin/env python3
"""How fast the archive takes events beside COPY, and how quick its views are.

Usage: Tests/Benchmarks/archive_speed.py [ROWS]
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))

from postgres import Postgres  # noqa: E402


def main() -> None:
    rows = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    built = subprocess.run(
        [ROOT / "deploy/build", "measure-archive"], check=True, text=True, stdout=subprocess.PIPE)
    # As for a server of its own, but every commit waits for the disk.
    database = Postgres("shared_buffers = 1GB\nmax_wal_size = 8GB").start()
    try:
        subprocess.run(
            [built.stdout.strip(), "--database", database.database, "--rows", rows], check=True)
    finally:
        database.close()


main()
