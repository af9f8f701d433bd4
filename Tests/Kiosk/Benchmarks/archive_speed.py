#!/usr/bin/env python3
"""Measures how fast the archive stores events compared with COPY, and how fast its views are.

Usage: Tests/Kiosk/Benchmarks/archive_speed.py [--rows N] [--kiosks N] [--days N]
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests/Shared/EndToEnd"))

from postgres import Postgres  # noqa: E402


def main() -> None:
    built = subprocess.run(
        [ROOT / "deploy/build", "measure-archive"], check=True, text=True, stdout=subprocess.PIPE)
    # Settings of a dedicated server; every commit is still synced to the disk.
    database = Postgres("shared_buffers = 1GB\nmax_wal_size = 8GB").start()
    try:
        subprocess.run(
            [built.stdout.strip(), "--database", database.database, *sys.argv[1:]], check=True)
    finally:
        database.close()


main()
