"""All names in the documentation exist, and the check finds a missing command, test, file or key.
"""

import os
import subprocess
from pathlib import Path

import pytest

from kiosk import ROOT
from pages import LINK, PROGRAMS, complaints, pages

# Each process would collect all tests, and read the help of each program.
pytestmark = pytest.mark.xdist_group("pages")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path) -> None:
    assert list(complaints(page, page.read_text())) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[a page](nowhere.md)", "there is no nowhere.md"),
        ("[a section](README.md#nowhere)", "README.md has no section #nowhere"),
        ("see deploy/nothing for it", "there is no deploy/nothing"),
        ("`Tests/Kiosk/EndToEnd/test_nothing.py`", "there is no Tests/Kiosk/EndToEnd/test_nothing.py"),
        ("`nothing.py`", "there is no file nothing.py"),
        ("`deploy/test --nothing`", "deploy/test has no option --nothing"),
        ("```text\nA=1 deploy/bench --nothing\n```", "deploy/bench has no option --nothing"),
        ("`juice-kiosk learn --nothing`", "juice-kiosk learn has no option --nothing"),
        ("`juice-kiosk ledger burn`", "ledger has no command burn"),
        ("```sh\ncd x && juice-dashboard user burn\n```", "user has no command burn"),
        ("```console\n$ juice-kiosk nothing\n```", "juice-kiosk has no command nothing"),
        ("`--nothing`", "nothing has the option --nothing"),
        ("`test_orders.py::test_nothing`", "there is no test test_orders.py::test_nothing"),
        ("`swift test --filter NothingTests`", "there is no test NothingTests"),
        ("`-k killed-4`", "no test is chosen by -k killed-4"),
        ('`-k "killed-5 and not killed"`', "no test is chosen by -k killed-5 and not killed"),
        ("`nothingIsCalledThis`", "nothing is called nothingIsCalledThis"),
        ("`orders.nothing`", "there is no key orders.nothing"),
        ("KIOSK_NOTHING=1", "nothing reads KIOSK_NOTHING"),
    ],
)
def test_what_is_not_there_is_found(text: str, complaint: str) -> None:
    assert list(complaints(ROOT / "page.md", text + "\n")) == [complaint]


@pytest.mark.parametrize(
    "text",
    [
        "[a section](deploy/docs/operations.md#diagnostics)", "`auditor.py`", "`.build/x.py`",
        "`deploy/test --simulate 100000 --seed 7`", "`juice-kiosk ledger export --format csv`",
        "`systemctl restart juice-kiosk --no-block`", "`-k full_disk`", "`orders.max_age_seconds`",
        "`swift test --filter SessionTests`",
        "`test_crashes.py::test_no_order_is_lost_and_none_made_twice`", "`KIOSK_BROKER_HOST`",
        "```sh\nrunuser -u juice-kiosk -- juice-kiosk ledger verify\n```",
    ],
)
def test_what_is_there_is_no_complaint(text: str) -> None:
    assert list(complaints(ROOT / "page.md", text + "\n")) == []


def test_the_page_of_commands_is_new(tmp_path: Path) -> None:
    """If it fails, run deploy/docs/commands."""
    programs = {f"{name.partition('-')[2].upper()}_PROGRAM": path() for name, path in PROGRAMS.items()}
    subprocess.run([ROOT / "deploy/docs/commands", tmp_path / "page"], check=True, env=os.environ | programs)
    assert (tmp_path / "page").read_text() == (ROOT / "deploy/docs/commands.md").read_text()


def test_each_page_is_in_the_list_and_two_clicks_from_the_readme() -> None:
    def linked(page: Path) -> set[Path]:
        targets = [target for target, _ in LINK.findall(page.read_text()) if target.endswith(".md")]
        return {(page.parent / target).resolve() for target in targets}

    every = set((ROOT / "deploy/docs").glob("*.md"))
    index = ROOT / "deploy/docs/README.md"
    assert every - {index} <= linked(index)
    first = linked(ROOT / "README.md")
    assert index in first
    assert every <= first.union(*map(linked, first))


def test_each_remedy_of_the_table_of_symptoms_has_a_symptom_and_few_have_no_link() -> None:
    page = (ROOT / "deploy/docs/what-can-go-wrong.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] != "symptom"]
    assert len(rows) >= 50 and all(len(row) == 3 for row in rows)
    # Three remedies are a command or a key.
    assert sum("](" not in row[2] for row in rows) <= 3
