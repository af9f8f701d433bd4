"""Measures the boxes of the pages for customers: each size of the menu, in each state, on each screen, in each
language. With KIOSK_SHEETS it stores sheets of pictures, for people."""

import base64
import os
from pathlib import Path

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeBrowser, MakeClient
from dashboard import Browser, Dashboard
from screens import COUNTS, STATES, ShownKiosk, faults, links

WALLS = ((1280, 720), (1920, 1080), (3840, 2160), (1080, 1920))
TABLETS = ((1024, 768), (768, 1024), (390, 844))
SHEETS = os.environ.get("KIOSK_SHEETS")
IS_DARK = {"en": bool(os.environ.get("KIOSK_DARK")), "ko": not os.environ.get("KIOSK_DARK")}


@pytest.fixture
def kiosks(make_client: MakeClient, dashboard: Dashboard) -> list[ShownKiosk]:
    client = make_client()
    return [ShownKiosk(client, count, state).open() for state in STATES for count in COUNTS]


class Sheet:
    """The pictures of one screen, in pages of fifteen."""

    def __init__(self, name: str, width: int, height: int) -> None:
        self.name, self.width, self.height = name, width, height
        self.scale = 620 / width if width > height else 380 / width
        self.pictures: list[tuple[str, str]] = []

    def add(self, browser: Browser, label: str) -> None:
        clip = {"x": 0, "y": 0, "width": self.width, "height": self.height, "scale": self.scale}
        picture = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
        self.pictures.append((label, picture["data"]))

    def store(self, browser: Browser, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        browser.driver.get("about:blank")
        for first in range(0, len(self.pictures), 15):
            images = "".join(
                f"<figure style='margin:3px'><figcaption>{label}</figcaption>"
                f"<img src='data:image/png;base64,{data}'></figure>"
                for label, data in self.pictures[first:first + 15])
            width = 3 * 626 if self.width > self.height else 5 * 386
            style = f"display:flex;flex-wrap:wrap;align-content:flex-start;background:#888;margin:0;font:14px sans-serif;width:{width}px"
            browser.ask("document.body.innerHTML = arguments[0]; document.body.style = arguments[1]", images, style)
            browser.ask("return Promise.all([...document.images].map(image => image.decode()))")
            height = browser.ask("return document.body.lastChild.getBoundingClientRect().bottom")
            data = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {
                "captureBeyondViewport": True,
                "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})["data"]
            name = f"{self.name}-{self.width}x{self.height}-{first // 15}.png"
            (Path(folder) / name).write_bytes(base64.b64decode(data))


@pytest.mark.parametrize("language", IS_DARK)
@pytest.mark.parametrize("screen, sizes", [("wall", WALLS), ("tablet", TABLETS)])
def test_everything_fits_each_screen(
    make_browser: MakeBrowser, dashboard: Dashboard, kiosks: list[ShownKiosk], screen: str,
    sizes: tuple[tuple[int, int], ...], language: str,
) -> None:
    paths = links(dashboard, kiosks, screen)
    browser = make_browser(is_dark=IS_DARK[language])
    found: list[str] = []
    sheets = {size: Sheet(f"{screen}-{language}", *size) for size in sizes}
    for kiosk in kiosks:
        browser.open(f"{paths[kiosk.id]}?language={language}")
        is_empty = kiosk.state == "offline" or kiosk.state == "down" and kiosk.count == 1
        eventually(lambda: is_empty or browser.all(".card, .juice"))
        if not SHEETS:
            # Boxes have the same size, and Chromium need not paint them.
            browser.ask("document.documentElement.style.visibility = 'hidden'")
        for width, height in sizes:
            browser.width = width
            browser.resize(height)
            # Two frames: the script has set the sizes of the text.
            browser.driver.execute_async_script(
                "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
            found += [f"{kiosk.id} {width}x{height}: {fault}" for fault in faults(browser)]
            if SHEETS:
                sheets[width, height].add(browser, kiosk.id)
    if SHEETS:
        for sheet in sheets.values():
            sheet.store(browser, SHEETS)
    assert found == [], f"{len(found)}\n" + "\n".join(found)
