"""The compiled programs of the benchmark, and their paths."""

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[2] / ".build/benchmarks"

LOAD = FOLDER / "load"
ECHO = FOLDER / "echo"
GO_MAKER = FOLDER / "maker"
SLOW_DISK = FOLDER / "faults.so"
STAMPS = FOLDER / "stamps.so"


def build(with_go: bool) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    _compile(LOAD, HERE / "load/load.c", HERE / "load/wire.c")
    _compile(ECHO, HERE / "contenders/echo.c", "-lmosquitto", "-lsqlite3")
    _compile(SLOW_DISK, HERE.parents[1] / "Shared/EndToEnd/faults.c", "-shared", "-fPIC", "-ldl")
    _compile(STAMPS, HERE / "stamps.c", "-shared", "-fPIC", "-ldl")
    if with_go:
        # With Debian's packages instead of downloaded modules.
        subprocess.run(
            ["go", "build", "-o", GO_MAKER, HERE / "contenders/maker.go"], check=True,
            env=os.environ | {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode"},
        )


def _compile(program: Path, *sources_and_options: Path | str) -> None:
    compiler = shutil.which("cc") or shutil.which("clang")
    subprocess.run(
        [compiler, "-O2", "-Wall", "-Wextra", "-o", program, *sources_and_options], check=True
    )
