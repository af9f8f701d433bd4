"""The import rules between targets are checked, and the check can fail."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def check(sources: pathlib.Path) -> subprocess.CompletedProcess:
    command = [ROOT / "deploy/check-imports", sources]
    return subprocess.run(command, capture_output=True, text=True)


def test_our_own_sources_pass() -> None:
    assert check(ROOT / "Sources").returncode == 0


def test_a_folder_without_targets_is_no_success(tmp_path: pathlib.Path) -> None:
    assert check(tmp_path).returncode == 66
    # The project's own sources, wherever it is run.
    assert subprocess.run([ROOT / "deploy/check-imports"], cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("Shared/JuiceDomain", "import Fleet"),
        ("Shared/JuiceDomain", "import Foundation"),
        ("Shared/KioskProtocol", "internal import struct Ledger.Answer"),
        ("Kiosk/KioskDaemon", "import Fleet"),
        ("Kiosk/KioskDaemon", "package import CMosquitto"),
        ("Kiosk/KioskDaemon", "@testable import GRDB"),
        ("Kiosk/KioskCore", "package import Logging"),
        ("Kiosk/KioskCore", "import Yams"),
        ("Archive/Archive", "import DashboardWeb"),
        ("Payment/juice-zvt", "import KioskCore"),
        ("Kiosk/KioskDaemon", "import ZVT"),
        ("Payment/ZVT", "import Foundation"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: pathlib.Path, target: str, line: str) -> None:
    for folder in (ROOT / "Sources").glob("*/*"):
        (tmp_path / folder.relative_to(ROOT / "Sources")).mkdir(parents=True)
    (tmp_path / target / "File.swift").write_text(f"// A file.\n{line}\n")
    result = check(tmp_path)
    assert result.returncode == 1
    assert target in result.stderr
