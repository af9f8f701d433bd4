"""The pictures of the pages: a kiosk with a machine, a card terminal and a thermometer, after a day of sales.

Usage: pictures.py FOLDER; deploy/docs/pictures runs it. test_pictures.py compares the headings of the pages
with those that were written beside the pictures.
"""

import base64
import json
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Iterator
from urllib.parse import urlsplit

from arrivals import eventually
from client import Client
from daemon import Daemon
from dashboard import Browser, Dashboard
from faults import Faults
from fleet import twenty
from kiosk import Kiosk, program
from mosquitto import Mosquitto

SIZES = {"laptop": (1280, 800), "phone": (390, 844), "wall": (1280, 720), "tablet": (800, 1000)}
# Pixels of the highest picture, and bytes of the largest.
HIGHEST, LARGEST = 1_100, 150_000
# Glasses sold in each hour, by the number of hours ago.
DAY = {10: 3, 9: 5, 8: 4, 7: 2, 6: 6, 5: 8, 4: 5, 3: 3, 2: 6, 1: 4}
PRICES = {"kiwi": 3.5, "strawberry_banana": 4.2, "mango": 3.9, "banana": 3.2, "mango_kiwi": 4.4, "pineapple": 3.9,
          "strawberry": 4.5}


class Day:
    """A kiosk at eight in the evening of its time zone: it has sold for ten hours, and four customers wait."""

    def __init__(self, folder: Path, stack: ExitStack, sold: dict[int, int] = DAY) -> None:
        self.stack, self.faults = stack, Faults(folder)
        stack.callback(Browser.quit_idle)
        self.variables = self.faults.variables | {"CLOCK_STATE": "0"}
        broker = Mosquitto(folder / "broker").start()
        stack.callback(broker.stop)
        for name in ("kiosk", "dashboard"):
            (folder / name).mkdir()
        # Also that of the other kiosks, because a visit is planned for one time zone.
        ahead = (20 - datetime.now(timezone.utc).hour + 11) % 24 - 11
        time_zone = f"Etc/GMT{-ahead:+d}" if ahead else "UTC"
        self.kiosk = Kiosk(folder / "kiosk", broker, {
            "kiosk": {"name": {"en": "Town hall", "ko": "구청"}, "place": "1 Main Street",
                      "time_zone": time_zone},
            "machines": [{"name": "bar", "finish_seconds": 600, "programs": {"clean": {"every_hours": 24}}}],
            "sensors": [{"name": "fridge", "topic": "fridge", "unit": "°C", "max": 7, "fruits": ["kiwi", "mango"]}],
            "payment": {"devices": [{"name": "terminal"}], "pay_seconds": 300},
            "stock": {"initial": 120, "capacity": 200, "low": 15},
            "menu": {"base": "standard", "currency": "EUR",
                     "juices": {juice: {"price": price} for juice, price in PRICES.items()}},
        })
        stack.callback(self.kiosk.kill)
        self.client = Client(broker.port, "kiosk/k1/#")
        stack.callback(self.client.close)
        for before, glasses in sold.items():
            self.sell(before, glasses)
        self.faults.set_clock(timedelta())
        twenty(self.client, time_zone)
        self.dashboard = Dashboard(folder / "dashboard", broker, {}).start()
        stack.callback(self.dashboard.kill)
        assert self.dashboard.command("user", "role", "minji", "admin").returncode == 0
        self.wait_for_customers()

    # MARK: The kiosk

    def device(self, kind: str, name: str, *options: str) -> Daemon:
        one = Daemon()
        one.execute(program(), kind, name, *options, "--config", self.kiosk.config, stdin=subprocess.PIPE)
        self.stack.callback(one.kill)
        self.until(f"{kind}/{name}", lambda report: report["state"] == "idle")
        return one

    def until(self, topic: str, holds: Callable[[Any], bool], since: int = 0) -> None:
        """Waits until the latest message of a topic is as expected."""
        def latest() -> bool:
            texts = [message for message in self.client.messages.since(since) if message.topic == f"kiosk/k1/{topic}"]
            return bool(texts) and holds(texts[-1].json)

        self.client.messages.until(latest)

    def order(self, juice: str, end: str, terminal: Daemon | None = None) -> None:
        """Orders, pays at this terminal, and waits for this state of the order."""
        since = len(self.client.messages)
        first = self.client.order(juice)
        assert first["status"] == "awaiting_payment", first
        if terminal:
            self.until("payment/terminal", lambda report: report["state"] == "waiting", since)
            terminal.process.stdin.write("\n")
            terminal.process.stdin.flush()
        self.client.messages.first(
            lambda message: message.topic.endswith("/result") and message.json["status"] == end
            and message.json.get("ticket") == first["ticket"], since)

    def sell(self, before: int, glasses: int) -> None:
        """Sells some hours ago. The kiosk is restarted for each hour, because it would correct the times of a clock
        that changes while it runs."""
        self.faults.set_clock(timedelta(hours=-before))
        self.kiosk.start(**self.variables)
        devices = {"machine/bar": self.device("machine", "bar", "--seconds", "0.1"),
                   "payment/terminal": self.device("payment", "terminal", "--pay-after", "0")}
        self.client.publish("fridge", f"{3.2 + before % 4 * 0.7:.1f}")
        for number in range(glasses):
            self.order(list(PRICES)[(before + number) % 6], "ready")
        if before in (9, 5):
            self.client.restock({"id": f"r{before}", "add": {"kiwi": 12, "mango": 12}})
        for topic, device in devices.items():
            device.stop()
            self.until(topic, lambda report: report["state"] != "idle")
        self.kiosk.stop()

    def wait_for_customers(self) -> None:
        """Leaves customers who pay, whose juice is made, and whose juice is ready; one juice is sold out."""
        self.kiosk.start(**self.variables)
        self.client.publish("fridge", "4.1")
        bar, terminal = self.device("machine", "bar", "--seconds", "0.1"), self.device("payment", "terminal")
        for juice in ("kiwi", "mango_kiwi"):
            self.order(juice, "ready", terminal)
        bar.stop()
        self.until("machine/bar", lambda report: report["state"] != "idle")
        self.device("machine", "bar", "--seconds", "500")
        self.order("strawberry_banana", "accepted", terminal)
        self.order("mango", "awaiting_payment")
        self.client.restock({"id": "last", "set": {"strawberry": 6, "banana": 11}})

    # MARK: The pages

    def pages(self) -> Iterator[tuple[str, str, Browser]]:
        """Yields the name of each picture, its size, and the browser that shows the page."""
        for size in SIZES:
            browser = Browser(self.dashboard, width=SIZES[size][0], height=SIZES[size][1])
            try:
                browser.log_in()
                yield from ((name, size, browser) for name in self.tour(size, browser))
            finally:
                browser.close()

    def tour(self, size: str, browser: Browser) -> Iterator[str]:
        if size in ("wall", "tablet"):
            browser.open("/kiosks/k1")
            browser.open(browser.create_link(size) + "?language=en")
            browser.one(".pay .ticket" if size == "wall" else "#juice-kiwi")
            yield size
            if size == "tablet":
                browser.press("#juice-kiwi")
                browser.one(".message .notice")
                yield "pay"
            return
        eventually(lambda: len(browser.all(".kiosk")) == 21)
        yield "list"
        browser.open("/kiosks/k1")
        browser.one("#payments")
        yield "kiosk"
        browser.open("/kiosks/k1?fruit=strawberry")
        browser.send("button[value=fill]")
        yield "restock"
        browser.open("/kiosks/k1/sales")
        browser.send("nav.periods a, main nav a")
        yield "sales"
        browser.open("/kiosks/k1/safety")
        browser.one("svg.plot")
        yield "record"
        browser.open("/routes/new")
        browser.one("[name='kiosk.k1']")
        browser.ask("""
            for (const box of document.querySelectorAll("[name^='kiosk.'][type=checkbox]")) {
                box.checked = ["kiosk.k1", "kiosk.k06", "kiosk.k08"].includes(box.name);
            }""")
        browser.send("form[action='/routes'] .primary")
        if size == "phone":
            browser.open(f"{urlsplit(browser.driver.current_url).path}/kiosks/k1")
        yield "route"


def label(name: str, size: str) -> str:
    return name if name == size else f"{name}-{size}"


def headings(browser: Browser) -> list[str]:
    """Returns the headings of a page, without numbers and names of days and months."""
    texts = browser.ask("return [...document.querySelectorAll('h1, h2, h3')].map(each => each.innerText)")
    day = re.compile(r"\b((Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b")
    month = re.compile(r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b(?= N)")
    return [month.sub("MONTH", day.sub("DAY", re.sub(r"\d+", "N", text))) for text in texts]


def photograph(browser: Browser, size: str, file: Path) -> None:
    """Takes a picture of the page from its top, in few colours."""
    width, height = SIZES[size]
    whole = browser.ask("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": min(max(whole, height), HIGHEST), "scale": 1}
    taken = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    file.write_bytes(subprocess.run(
        ["pngquant", "--speed", "1", "--strip", "64", "-"], input=base64.b64decode(taken["data"]),
        stdout=subprocess.PIPE, check=True).stdout)
    assert file.stat().st_size < LARGEST, f"{file} has {file.stat().st_size} bytes"


def main() -> None:
    images = Path(sys.argv[1])
    images.mkdir(exist_ok=True)
    seen: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for name, size, browser in Day(Path(folder), stack).pages():
            photograph(browser, size, images / f"{label(name, size)}.png")
            seen[label(name, size)] = headings(browser)
    (images / "headings.json").write_text(json.dumps(seen, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
