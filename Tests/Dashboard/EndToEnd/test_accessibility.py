"""Checks the accessibility of every page of the dashboard, in English and Korean, on a laptop and on a phone, of
which one is light and one dark: each two of these together, because no color depends on the size of a screen and the
language at once. The screenshots in KIOSK_SCREENSHOTS are for people."""

import json
import re
from urllib.parse import urlsplit

import pytest

from accessibility import findings, script
from arrivals import eventually
from client import Client, soon
from conftest import MakeBrowser, MakeClient, MakeKiosk
from dashboard import Browser
from fleet import twenty

LANGUAGES = {"en": "en-US", "ko": "ko-KR"}
SCREENS = {"laptop": (1366, 768), "phone": (360, 780)}
DARK = {"en": "phone", "ko": "laptop"}


class Look:
    """Takes screenshots of each page, and collects the violations."""

    def __init__(self, browser: Browser, language: str) -> None:
        self.browser, self.language = browser, language
        self.found: list[str] = []

    def at(self, name: str) -> None:
        """Checks a page on each screen, and leaves it on the laptop."""
        for screen in reversed(SCREENS):
            self.browser.width, height = SCREENS[screen]
            self.browser.resize(height)
            theme = "dark" if screen == DARK[self.language] else "light"
            self.browser.set_theme(theme)
            place = f"{name}-{screen}-{theme}-{self.language}"
            self.browser.photograph(f"look-{place}")
            if wider := self.browser.overflow():
                self.found.append(f"{place}: {wider} pixels wider than the screen")
            self.found += [f"{place}: {finding}" for finding in findings(self.browser)]


@pytest.fixture(autouse=True)
def axe() -> None:
    if script() is None:
        pytest.skip("axe-core cannot be downloaded from PyPI here")


@pytest.fixture
def client(make_client: MakeClient) -> Client:
    return make_client("kiosk/#")


@pytest.fixture
def kiosks(make_kiosk: MakeKiosk, client: Client, confirmed_clock: dict[str, str]) -> None:
    """A running kiosk with everything that its pages can show, and twenty simulated ones."""
    make_kiosk(
        kiosk={"name": {"en": "Town hall", "ko": "구청"}, "place": "1 Main Street", "region": "Mitte"},
        machines=[
            {"name": "bar", "juices": ["kiwi", "mango"]},
            {"name": "press", "juices": [], "programs": {
                "clean": {"every_hours": 24, "automatic": False, "finish_seconds": 1}, "rinse": {}, "prime": {}}},
            {"name": "tap", "juices": [], "programs": {"prime": {}}},
        ],
        sensors=[{"name": "fridge", "topic": "t", "unit": "°C", "max": 7, "fruits": ["pineapple"],
                  "alarm_after_seconds": 10, "block_after_seconds": 10}],
        payment={"devices": [{"name": "till"}], "pay_seconds": 300},
        menu={"base": "standard", "currency": "EUR", "juices": {"banana": {"price": 3.50}}},
    ).start(**confirmed_clock)
    client.publish("kiosk/k1/payment/till/status", "online", retain=True)
    for juice in ("strawberry_banana", "strawberry", "pineapple"):
        client.order(juice)
    client.publish("kiosk/k1/machine/bar/status", "online", retain=True)
    client.order("kiwi")
    job = client.messages.first(lambda message: message.topic == "kiosk/k1/make/bar").json["job"]
    for status in ("started", "unknown"):
        client.publish("kiosk/k1/made/bar", json.dumps({"job": job, "status": status}))
    client.order("mango")
    client.restock({"id": "r1", "add": {"pineapple": 30}})
    # Fruit that expires soon, and expired fruit.
    added = {"add": {"strawberry": 7, "banana": 20}, "best_before": {"banana": soon(3 * 3600)}}
    client.restock_briefly(added, ["strawberry"])
    # A charge for a person, and an end of day that differs.
    pay(client, "held", "unknown")
    client.publish("kiosk/k1/payment/till/total", json.dumps(
        {"total": 1, "at": "2026-11-25T22:00:00Z", "currency": "EUR", "captured": 350, "refunded": 0, "count": 1}))
    client.publish("t", "9")
    client.messages.first(
        lambda message: message.topic == "kiosk/k1/sensor/fridge" and message.json["state"] == "blocked")
    # Sensors in each other state. The kiosk has none of them, so it leaves them as they are.
    for name, state in (("cellar", "ok"), ("freezer", "alarm"), ("level", "outside")):
        report = {"state": state, "value": 4.5, "unit": "°C", "min": 0, "max": 7, "silent": name == "level"}
        client.publish(f"kiosk/k1/sensor/{name}", json.dumps(report), retain=True)
    # A program that a person must decide about, and one that runs.
    begin(client, "press", "clean", "started")
    client.messages.first(
        lambda message: message.topic == "kiosk/k1/machine/press" and "needs_decision" in message.text)
    begin(client, "tap", "prime", "started")
    twenty(client)
    client.messages.first(
        lambda message: message.topic == "kiosk/k1/stock" and "expired" in message.json)


def begin(client: Client, machine: str, program: str, *statuses: str) -> None:
    """Starts a program, and answers as the machine."""
    client.publish(f"kiosk/k1/machine/{machine}/status", "online", retain=True)
    client.publish(
        "kiosk/k1/program/desk", json.dumps({"id": machine, "machine": machine, "program": program}))
    job = client.messages.first(lambda message: message.topic == f"kiosk/k1/make/{machine}").json["job"]
    for status in statuses:
        client.publish(f"kiosk/k1/made/{machine}", json.dumps({"job": job, "status": status}))


def pay(client: Client, *statuses: str) -> None:
    """Orders a juice with a price, and answers as the payment device."""
    seen = len(client.messages)
    client.order("banana")
    charge = client.messages.first(
        lambda message: message.topic == "kiosk/k1/charge/till", since=seen).json["charge"]
    for status in ("waiting", *statuses):
        answer = {"charge": charge, "status": status, "amount": 350, "currency": "EUR", "receipt": "0012",
                  "card": "girocard", "last4": "1234"}
        client.publish("kiosk/k1/paid/till", json.dumps(answer))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_checker_finds_nothing_on_any_page(
    make_browser: MakeBrowser, kiosks: None, client: Client, language: str
) -> None:
    width, height = SCREENS["laptop"]
    browser = make_browser(width=width, height=height, language=LANGUAGES[language])
    look = Look(browser, language)
    done = browser.dashboard.command("user", "role", "minji", "admin")
    assert done.returncode == 0, done.stderr
    browser.open()
    look.at("login")
    browser.log_in()
    eventually(lambda: len(browser.all(".kiosk")) == 21)
    # One that can be refunded, and one that waits for its customer.
    pay(client, "held", "captured")
    pay(client)
    look.at("list")
    browser.open("/routes/new")
    look.at("plan")
    if not browser.one("[name='kiosk.k1']").is_selected():
        browser.press("[name='kiosk.k1']")
    browser.send("form[action='/routes'] .primary")
    path = urlsplit(browser.driver.current_url).path
    look.at("route")
    browser.open(f"{path}/edit")
    look.at("route-edit")
    browser.open(f"{path}/kiosks/k1")
    look.at("stop")
    browser.open("/routes")
    look.at("routes")
    browser.open("/kiosks/k1?fruit=strawberry")
    browser.one("#decisions button")
    browser.one("#charge-decisions button")
    browser.press("form.restock summary")
    browser.one("#sensor-decisions button")
    browser.one("#expired button")
    browser.press("details:has(form[action='/kiosks/k1/remove']) summary")
    look.at("kiosk")
    browser.open("/kiosks/k1/safety")
    browser.one("svg.plot")
    look.at("safety")
    browser.open("/kiosks/k1?fruit=strawberry")
    browser.send("#payments .what a")
    look.at("refund")
    browser.open("/kiosks/k1?fruit=strawberry")
    browser.send("button[value=fill]")
    look.at("review")
    browser.open("/kiosks/k1/panel")
    browser.press("#juice-strawberry")
    browser.one(".message a")
    look.at("panel")
    browser.open("/kiosks/k1/settings")
    browser.type("[name='low.kiwi']", "9")
    browser.press(".settings summary")
    browser.send(".settings .primary")
    browser.one(".result")
    look.at("settings")
    browser.open("/kiosks/k1/menu?juice=kiwi")
    browser.type("[name='amount.kiwi']", "2")
    browser.send("button[value=preview]")
    browser.one("iframe")
    browser.send(".settings .primary")
    browser.one(".menu button")
    browser.press(".more summary")
    look.at("menu")
    browser.open("/kiosks/k1/display")
    browser.one(".pay .ticket")
    look.at("display")
    browser.open("/kiosks/k1")
    for screen, part in (("wall", ".pay .ticket"), ("tablet", "#juice-banana")):
        path = browser.create_link(screen)
        browser.one("svg.code")
        if screen == "tablet":
            look.at("screens")
        browser.open(f"{path}?language={language}")
        browser.one(part)
        if screen == "tablet":
            browser.press(part)
            browser.one(".message .notice")
        look.at(screen)
        browser.open("/kiosks/k1")
    for path, name in (
        ("/history?days=90", "history"), ("/kiosks/k1/history", "history-of-one"),
        ("/sales", "sales-of-all"), ("/kiosks/k1/sales", "sales"), ("/account", "account"), ("/account/messages", "messages"), ("/users/messages", "sent"),
    ):
        browser.open(path)
        look.at(name)
    browser.open("/users")
    browser.press("#user-vera summary")
    look.at("users")
    browser.type("#add [name=user]", "nora")
    browser.send("#add button")
    look.at("invited")
    browser.open("/users/audit")
    look.at("audit")
    browser.open("/users")
    browser.press("#user-nora summary")
    browser.send("#user-nora button[name=role]")
    look.at("changed")
    browser.open("/nowhere")
    look.at("error")
    assert look.found == [], "\n".join(look.found)
    # The console rightly reports the missing page.
    browser.driver.get_log("browser")


def test_the_checker_sees_what_is_wrong(make_browser: MakeBrowser) -> None:
    browser = make_browser().open()
    browser.ask("""
        document.documentElement.removeAttribute("lang");
        const field = document.querySelector("[name=name]");
        field.closest("label").replaceWith(field);
        document.querySelector("main button").style.color = "#0b7e5f";
        const twin = document.createElement("h4");
        twin.id = "main";
        document.querySelector("main").append(twin);
    """)
    rules = {re.match(r"[\w-]+", finding)[0] for finding in findings(browser)}
    assert {"html-has-lang", "label", "color-contrast", "empty-heading"} <= rules
