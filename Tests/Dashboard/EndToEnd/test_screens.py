"""The pages for customers in old browsers, without a script, and by their QR codes."""

import json
import subprocess
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeBrowser
from dashboard import Browser, Dashboard
from kiosk import Kiosk
from web_client import WebClient

OLDEST = "ecma2017"  # Safari 12, Chrome 61
#: Words of the standard library that came later than Safari 12 and Chrome 61.
LATER = {
    "replaceAll", "replaceChildren", "flatMap", "flat", "fromEntries", "allSettled", "at", "globalThis",
    "ResizeObserver", "AbortSignal", "AbortController", "matchAll", "structuredClone", "queueMicrotask",
    "toggleAttribute", "getAttributeNames", "requestSubmit",
}


def parse(script: str, option: str = "--silent") -> subprocess.CompletedProcess:
    return subprocess.run(["acorn", f"--{OLDEST}", option], input=script, text=True, capture_output=True)


def test_the_scripts_of_customers_are_old_enough(
    dashboard: Dashboard, browser: Browser, kiosk: Kiosk
) -> None:
    browser.log_in(path="/kiosks/k1")
    web_client = WebClient(dashboard.port)
    scripts: dict[str, str] = {}
    for screen in ("wall", "tablet"):
        browser.open(browser.create_link(screen))
        assert browser.all("script:not([src])") == []
        for script in browser.all("script"):
            asset = urlsplit(script.get_attribute("src")).path
            scripts[asset] = web_client.get(asset).text
        browser.open("/kiosks/k1")
    assert len(scripts) == 1
    for asset, script in scripts.items():
        done = parse(script)
        assert done.returncode == 0, f"{asset}: {done.stderr}"
        tokens = json.loads(parse(script, "--tokenize").stdout)
        words = {token["value"] for token in tokens if token["type"]["label"] == "name"}
        assert words & LATER == set()
        assert {"EventSource", "fetch", "querySelector"} <= words
    # The parser finds what is too new.
    for new in ("a?.b", "a ?? b", "try {} catch {}", "({...a})", "for await (const a of b) {}"):
        assert parse(new).returncode != 0, new


def test_without_a_script_a_wall_loads_itself_again(
    browser: Browser, make_browser: MakeBrowser, kiosk: Kiosk, panel: Client
) -> None:
    browser.log_in(path="/kiosks/k1")
    paths = {screen: browser.create_link(screen) for screen in ("wall", "tablet")}
    plain = make_browser(has_scripts=False, width=1920, height=1080)
    plain.open(paths["wall"])
    ticket = panel.order("kiwi")["ticket"]
    assert str(ticket) not in plain.texts(".ready .ticket")
    plain.wait_for(str(ticket), "#boxes")
    # The buttons of a tablet work without a script, too.
    plain.open(paths["tablet"])
    plain.send("#juice-kiwi")
    plain.wait_for("Kiwi juice is ready. Enjoy!", ".message")


def test_a_qr_code_is_the_link(
    dashboard: Dashboard, browser: Browser, kiosk: Kiosk, tmp_path: Path
) -> None:
    browser.log_in(path="/kiosks/k1")
    addresses = {dashboard.url(browser.create_link(screen)) for screen in ("wall", "tablet")}
    for number, code in enumerate(browser.all("svg.code")):
        code.screenshot(str(tmp_path / f"{number}.png"))
    read = subprocess.run(
        ["zbarimg", "--quiet", "--raw", *sorted(tmp_path.glob("*.png"))], capture_output=True, text=True, check=True)
    assert set(read.stdout.split()) == addresses
    assert len(addresses) == 2


def test_a_link_that_is_revoked_shows_nothing(
    browser: Browser, make_browser: MakeBrowser, kiosk: Kiosk
) -> None:
    browser.log_in(path="/kiosks/k1")
    tablet = make_browser(width=1024, height=768)
    tablet.open(browser.create_link("tablet"))
    tablet.wait_for("Kiwi juice", "#buttons")
    browser.send("form:has([value=tablet]) [value=revoke]")
    # The open page cannot order any more.
    tablet.press("#juice-kiwi")
    tablet.wait_for("Out of service at the moment.")
    assert not tablet.one("#juice-kiwi").is_displayed()
    assert [entry["status"] for entry in kiosk.ledger()] == ["opened"]
    # The console rightly reports the refused requests.
    tablet.leave()


def open_buttons(browser: Browser, make_browser: MakeBrowser, page: str) -> Browser:
    """Opens a page with the buttons of the menu, on a device whose clock is wrong."""
    browser.log_in(path="/kiosks/k1")
    path = browser.create_link("tablet") if page == "tablet" else "/kiosks/k1/panel"
    device = make_browser(width=1024, height=768)
    clock = {"source": "const now = Date.now; Date.now = () => now() - 86_400_000"}
    device.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", clock)
    if page == "tablet":
        device.open(path)
    else:
        device.log_in(path=path)
    device.wait_for("Kiwi juice", "#buttons")
    return device


@pytest.mark.parametrize("page", ["tablet", "panel"])
def test_a_press_without_an_answer_is_not_sent_again_by_itself(
    browser: Browser, make_browser: MakeBrowser, kiosk: Kiosk, page: str
) -> None:
    device = open_buttons(browser, make_browser, page)
    # The first press arrives, and its answer is lost.
    device.ask("""
        const send = window.fetch;
        [window.isTheSamePage, window.isSent, window.forms] = [true, false, []];
        window.fetch = (address, options = {}) => {
          if (options.method !== "POST") return send(address, options);
          window.forms.push(String(options.body));
          if (![1, 4].includes(window.forms.length)) return send(address, options);
          send(address, { ...options, signal: undefined }).then(() => { window.isSent = true; });
          return new Promise((_, reject) => { window.loseTheAnswer = reject; });
        };""")
    device.press("#juice-kiwi")
    eventually(lambda: device.ask("return window.isSent"))
    device.ask("window.loseTheAnswer(new TypeError())")
    device.wait_for("No answer yet. Your juice may still be made", ".message")
    # The customer presses again: both presses are one order.
    device.press("#juice-kiwi")
    device.wait_for("Ticket 1", ".message")
    assert device.ask("return window.isTheSamePage")
    forms = [parse_qs(form) for form in device.ask("return window.forms")]
    assert len(forms) == 2 and forms[0]["id"] == forms[1]["id"]
    # The time of a press is by the clock of the server.
    for form in forms:
        assert abs(time.time() - int(form["at"][0]) / 1000) < 600
    assert [entry["status"] for entry in kiosk.ledger()] == ["opened", "ready"]
    # The next press is another order.
    device.press("#juice-kiwi")
    device.wait_for("Ticket 2", ".message")
    # After a press without an answer, another juice is another order, for example of the next customer.
    device.ask("window.isSent = false")
    device.press("#juice-kiwi")
    eventually(lambda: device.ask("return window.isSent"))
    device.ask("window.loseTheAnswer(new TypeError())")
    device.wait_for("No answer yet. Your juice may still be made", ".message")
    device.press("#juice-mango")
    device.wait_for("Ticket 4", ".message")
    assert [entry["juice"] for entry in kiosk.ledger() if entry["status"] == "ready"] == ["kiwi"] * 3 + ["mango"]


@pytest.mark.parametrize("page", ["tablet", "panel"])
def test_a_press_waits_ten_seconds_at_most(
    browser: Browser, make_browser: MakeBrowser, kiosk: Kiosk, page: str
) -> None:
    device = open_buttons(browser, make_browser, page)
    # A network that has stalled, and ten seconds that are short.
    device.ask("""
        const [send, later] = [window.fetch, window.setTimeout];
        window.setTimeout = (act, time, ...more) => later(act, time === 10000 ? 1 : time, ...more);
        window.fetch = (address, options) => new Promise((_, reject) => {
          if (options.signal) options.signal.addEventListener("abort", reject);
          [window.fetch, window.setTimeout] = [send, later];
        });""")
    device.press("#juice-kiwi")
    device.wait_for("No answer yet. Your juice may still be made", ".message")
    assert [entry["status"] for entry in kiosk.ledger()] == ["opened"]
    device.press("#juice-kiwi")
    device.wait_for("Ticket 1", ".message")
