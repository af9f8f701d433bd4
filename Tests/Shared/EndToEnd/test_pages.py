"""All names in the documentation exist, and the check finds a missing command, test, file or key.
"""

from pathlib import Path

import pytest

from kiosk import ROOT
from pages import complaints, pages


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
