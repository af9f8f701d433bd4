"""Scripts of the development fail when a part of them has failed."""

import re
import subprocess
from pathlib import Path

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
