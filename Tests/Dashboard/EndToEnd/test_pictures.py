"""The pictures of the documentation show the pages as they are. If a test fails, run deploy/docs/pictures."""

import json
import re
from contextlib import ExitStack
from pathlib import Path

from daemon import ROOT
from pages import pages
from pictures import LARGEST, Day, headings, label

IMAGES = ROOT / "deploy/docs/images"


def test_the_photographed_pages_have_the_same_headings(tmp_path: Path) -> None:
    with ExitStack() as stack:
        day = Day(tmp_path, stack, sold={9: 1, 1: 2})
        found = {label(name, size): headings(browser) for name, size, browser in day.pages()}
    assert found == json.loads((IMAGES / "headings.json").read_text())


def test_each_picture_is_small_and_is_shown_with_an_alternative_text() -> None:
    shown = {
        (page.parent / target).resolve(): text
        for page in pages() for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+\.png)\)", page.read_text())}
    assert shown.keys() == set(IMAGES.glob("*.png"))
    assert all(len(text.split()) >= 5 for text in shown.values())
    assert {file.stem for file in shown} == json.loads((IMAGES / "headings.json").read_text()).keys()
    assert all(file.stat().st_size < LARGEST for file in shown)
