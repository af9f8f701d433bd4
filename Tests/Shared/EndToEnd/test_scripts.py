"""Scripts of the development fail when a part of them has failed."""

import re
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("call", ["units run", "units run || exit 1"])
@pytest.mark.parametrize("failed", [1, 2, 3])
def test_each_failed_run_of_unit_tests_is_a_failure(failed: int, call: str) -> None:
    """bash ignores `set -e` in a function left of `||`."""
    function = re.search(r"^units\(\) \{$.*?^\}$", (ROOT / "deploy/test").read_text(), re.MULTILINE | re.DOTALL)[0]
    script = f"set -euo pipefail\n{function}\nruns=0\nrun() {{ runs=$((runs + 1)); [ $runs != {failed} ]; }}\n{call}"
    assert subprocess.run(["bash", "-c", script]).returncode == 1
    assert subprocess.run(["bash", "-c", script.replace(f"!= {failed}", "!= 4")]).returncode == 0


@pytest.fixture
def mutants() -> ModuleType:
    loader = SourceFileLoader("mutants", str(ROOT / "Tests/Kiosk/mutants"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(("code", "output", "noticed"), [
    (0, "Test run with 1 test passed", None),
    (1, "Test moneyIsConserved() recorded an issue at A.swift:1:1", "`moneyIsConserved`"),
    (1, "Started\nerror: Exited with unexpected signal code 5", "signal code 5"),
])
def test_tests_that_crash_without_a_guard_have_noticed_it(
    mutants: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, output: str, noticed: str | None
) -> None:
    ends = lambda _, *command: subprocess.CompletedProcess(command, 0 if "build" in command else code, output)
    monkeypatch.setattr(mutants, "run", ends)
    found = mutants.unit_tests(tmp_path, ".*")
    assert noticed in found if noticed else found is None


def test_tests_that_never_end_without_a_guard_are_killed(
    mutants: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(mutants, "LIMIT", 0.1)
    ended = mutants.run(tmp_path, "sh", "-c", "sleep 600; true")
    assert ended.returncode != 0 and "no end" in ended.stdout
