"""The page that follows one order names functions that are there, each called by the one above it."""

import re
from typing import Iterator

import pytest

from kiosk import ROOT
from swift_calls import bodies, calls

PAGE = ROOT / "deploy/docs/one-order.md"
STEP = re.compile(r"^( *)- `(\w+\.\w+)`")
BODIES = bodies(ROOT / "Sources")


def complaints(text: str) -> Iterator[str]:
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        step = STEP.match(line)
        if not step:
            continue
        depth, name = len(step[1]), step[2]
        if name not in BODIES:
            yield f"there is no {name}"
            continue
        while above and above[-1][0] >= depth:
            above.pop()
        if above and not calls(BODIES, above[-1][1], name):
            yield f"{above[-1][1]} does not call {name}"
        above.append((depth, name))


def test_the_page_is_the_way() -> None:
    text = PAGE.read_text()
    assert list(complaints(text)) == []
    assert len(re.findall(STEP.pattern, text, re.MULTILINE)) > 20
    assert len(text.splitlines()) <= 60


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- `Kiosk.nothing`", "there is no Kiosk.nothing"),
        ("- `Kiosk.decide`\n  - `Kiosk.adopt`", "Kiosk.decide does not call Kiosk.adopt"),
    ],
)
def test_another_way_is_found(text: str, complaint: str) -> None:
    assert list(complaints(text)) == [complaint]
