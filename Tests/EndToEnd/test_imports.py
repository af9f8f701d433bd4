"""The arrows between the targets are checked, and the check can fail."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(sources: pathlib.Path) -> subprocess.CompletedProcess:
    command = [ROOT / "deploy/check-imports", sources]
    return subprocess.run(command, capture_output=True, text=True)


def test_our_own_sources_pass() -> None:
    assert check(ROOT / "Sources").returncode == 0


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("JuiceDomain", "import KioskMessages"),
        ("JuiceDomain", "import Foundation"),
        ("KioskController", "import MosquittoBroker"),
        ("KioskController", "package import CMosquitto"),
        ("KioskController", "@testable import GRDB"),
        ("KioskMessages", "internal import struct Ledger.Answer"),
        ("KioskCore", "import GRDB"),
        ("KioskCore", "package import Logging"),
        ("Ledger", "import MessageBroker"),
        ("Ledger", "import KioskController"),
        ("Ledger", "import CoreMetrics"),
        ("Newcomer", "import JuiceDomain"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: pathlib.Path, target: str, line: str) -> None:
    (tmp_path / target).mkdir()
    (tmp_path / target / "File.swift").write_text(f"// A file.\n{line}\n")
    result = check(tmp_path)
    assert result.returncode == 1
    assert target in result.stderr
