"""The fifteen tasks of an operator's day, each from the list of kiosks, with the taps and keys that it takes.

The seconds are those of a practiced person by the keystroke-level model (Card, Moran, Newell 1980): 1.35 to
decide on a step, 1.3 to point and tap, 0.28 for each key. Reading is not counted.
"""

from datetime import timedelta
from typing import Callable

from arrivals import eventually
from conftest import MakeBrowser, MakeClient, MakeKiosk, Say
from dashboard import Browser, Dashboard
from fleet import MadeUp
from test_routes import NetworkLink, friday, order

MENU = {"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 3}}}


class Hand:
    """Uses a browser, and counts what a person would do with a hand."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.taps = self.keys = self.fields = 0

    def tap(self, selector: str) -> None:
        self.taps += 1
        self.browser.press(selector)

    def follow(self, selector: str) -> None:
        """Taps what leads to another page."""
        self.taps += 1
        self.browser.send(selector)

    def follow_text(self, text: str) -> None:
        """Follows the link with a text."""
        self.browser.ask(
            "[...document.querySelectorAll('main a')].find(link => link.innerText.trim() === arguments[0])"
            ".dataset.hand = 'here'", text)
        self.follow("[data-hand=here]")

    def type(self, selector: str, text: str) -> None:
        self.fields += 1
        self.keys += len(text)
        self.browser.type(selector, text)

    def choose(self, name: str, value: str) -> None:
        """Sets a field in which the browser offers a list or a calendar, by its keys."""
        self.fields += 1
        self.keys += len([sign for sign in value if sign.isalnum()])
        self.browser.ask("document.querySelector(`[name='${arguments[0]}']`).value = arguments[1]", name, value)

    @property
    def seconds(self) -> float:
        return 2.65 * (self.taps + self.fields) + 0.28 * self.keys


class Day:
    """The tasks that are done, each with its numbers."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.done: list[str] = []

    def task(self, browser: Browser, name: str, do: Callable[[Hand], None], path: str = "/") -> None:
        """Does a task, which begins on the list of kiosks or on the page that is open anyway."""
        if path:
            browser.open(path)
        hand = Hand(browser)
        do(hand)
        self.done.append(name)
        self.say(f"\n| {name} | {hand.taps} | {hand.fields} | {hand.seconds:.0f} |")


def test_the_fifteen_tasks_of_a_day(
    make_browser: MakeBrowser, make_client: MakeClient, make_kiosk: MakeKiosk, dashboard: Dashboard,
    say: Say,
) -> None:
    dashboard.add_user("nora", "admin")
    real = {
        id: make_kiosk(kiosk={"id": id, "name": name, "place": name}, menu=MENU, machines=machines).start()
        for id, name, machines in [
            ("k1", "Seoul Station", []), ("k2", "Town Hall", []),
            ("k3", "Old Harbour", [{"name": "bar", "juices": ["mango"]}])]
    }
    client = make_client("kiosk/#")
    others = [MadeUp(client, number + 20) for number in range(17)]
    for other in others:
        other.open()
    for id in real:
        order(client, id, "strawberry_banana")
    client.publish("kiosk/k3/machine/bar/status", "online", retain=True)
    bar = lambda state: client.messages.first(
        lambda message: message.topic == "kiosk/k3/machine/bar" and message.json["state"] == state)
    bar("idle")
    client.publish("kiosk/k3/machine/bar/status", "fault: no cups", retain=True)
    bar("fault")
    laptop = make_browser(width=1366).log_in("nora")
    network = NetworkLink(dashboard)
    phone = make_browser(network, width=390, height=780).log_in("nora")
    day = Day(say)
    eventually(lambda: len(laptop.all(".kiosk")) == 20)
    laptop.wait_for("out", "#k1-strawberry")

    def who_needs_me(hand: Hand) -> None:
        first = laptop.ask("return document.querySelector('.kiosk').id")
        assert first == "row-k3", "a machine that is down comes first"
        assert set(laptop.ask("return [...document.querySelectorAll('.kiosk')].slice(0, 3).map(row => row.id)")) == {
            "row-k1", "row-k2", "row-k3"}

    def restock(hand: Hand) -> None:
        hand.follow("#k1-strawberry")
        hand.follow("[value=now]")
        laptop.wait_for("Done.")
        assert real["k1"].stock()["strawberry"] == 100

    def plan_friday(hand: Hand) -> None:
        hand.follow("header a[href='/routes']")
        hand.follow("a[href='/routes/new']")
        hand.choose("arrival", f"{friday():%Y-%m-%dT%H:%M}")
        hand.choose("until", f"{friday() + timedelta(days=3):%Y-%m-%dT%H:%M}")
        hand.follow("form.plan button")
        hand.follow("form[action='/routes'] .primary")
        assert laptop.all("#stop-k2") and laptop.all("#stop-k3")

    def print_it(hand: Hand) -> None:
        laptop.ask("window.print = () => { document.body.dataset.printed = 'yes' }")
        hand.tap("[data-print]")
        assert laptop.ask("return document.body.dataset.printed") == "yes"

    def open_the_route(hand: Hand) -> None:
        hand.follow("header a[href='/routes']")
        hand.follow("main td a[href^='/routes/'], main th a[href^='/routes/']")

    def go_by_phone(hand: Hand) -> None:
        open_the_route(hand)
        phone.wait_for("This route opens without a network, too.", "#offline-ready")
        network.cut(phone)
        hand.follow("#stop-k2 a")
        hand.tap("form[data-fill] .primary")
        phone.wait_for("Saved on this phone", "#drive-on")
        network.restore(phone)
        eventually(lambda: real["k2"].stock()["kiwi"] == 100)

    def correct(hand: Hand) -> None:
        open_the_route(hand)
        hand.follow("#stop-k2 a")
        hand.follow("a[href='?correct=1']")
        hand.type("[name='brought.kiwi']", "80")
        hand.follow("form[action$='/correct'] .primary")
        phone.wait_for("Done, corrected.")
        assert real["k2"].stock()["kiwi"] == 90

    def add_a_kiosk(hand: Hand) -> None:
        open_the_route(hand)
        hand.follow("main a[href$='/edit']")
        hand.choose("add", "k1")
        hand.follow("main form .primary")
        assert phone.all("#stop-k1")

    def change_a_price(hand: Hand) -> None:
        hand.follow("#kiosk-k1")
        hand.follow("a[href='/kiosks/k1/settings']")
        hand.type("[name='price.kiwi']", "3.50")
        hand.follow(".settings .primary")
        laptop.wait_for("€3.50")
        client.publish("kiosk/k1/order/p9", "kiwi")
        answer = client.messages.first(lambda message: message.topic == "kiosk/k1/order/p9/result")
        assert answer.json["amount"] == "3.50"

    def months(hand: Hand) -> None:
        hand.follow("#kiosk-k1")
        hand.follow("a[href='/kiosks/k1/sales']")
        hand.follow_text("Last month")
        # The ledger of this day knows no month before.
        assert "nothing is compared" in laptop.text("#compared")
        laptop.wait_for("All", "#juices")

    def excel(hand: Hand) -> None:
        hand.follow("#kiosk-k1")
        hand.follow("a[href='/kiosks/k1/sales']")
        hand.taps += 1
        link = laptop.one("a[href*='.xlsx']").get_attribute("href")
        text = laptop.ask("return fetch(arguments[0]).then(answer => answer.text())", link)
        assert text.startswith("PK")

    def add_a_helper(hand: Hand) -> None:
        hand.follow("header a[href='/users']")
        hand.type("#add [name=user]", "jun")
        hand.follow("#add .primary")
        assert "/password/" in laptop.one("#link").get_attribute("value")

    def reset_a_password(hand: Hand) -> None:
        hand.follow("header a[href='/users']")
        hand.tap("#user-vera summary")
        hand.follow("#user-vera form:nth-of-type(2) button")
        assert "/password/" in laptop.one("#link").get_attribute("value")

    def why_offline(hand: Hand) -> None:
        real["k2"].kill()
        # The history looks at the kiosks once a second, and knows no shorter outage.
        eventually(lambda: "Offline" in laptop.open("/kiosks/k2/history").text())
        real["k2"].start()
        laptop.open("/")
        eventually(lambda: "Offline" not in laptop.text("#row-k2"))
        hand.follow("#kiosk-k2")
        hand.follow("a[href='/kiosks/k2/history']")
        eventually(lambda: "its program started again at" in laptop.open("/kiosks/k2/history").text())

    def who_restocked(hand: Hand) -> None:
        hand.follow("#kiosk-k1")
        hand.follow("a[href='/kiosks/k1/history']")
        hand.follow_text("Restocks")
        laptop.wait_for("Strawberry +")
        assert "nora" in laptop.text()

    def machine_failures(hand: Hand) -> None:
        hand.follow("header a[href='/history']")
        hand.follow_text("Machines")
        hand.follow_text("7 days")
        laptop.wait_for("no cups")

    day.task(laptop, "who needs me?", who_needs_me)
    day.task(laptop, "from sold out to restocked", restock)
    day.task(laptop, "plan Friday", plan_friday)
    day.task(laptop, "print the route", print_it, path="")
    day.task(phone, "a stop by phone, without a network", go_by_phone)
    day.task(phone, "a wrong count", correct)
    day.task(phone, "a kiosk that was not planned", add_a_kiosk)
    day.task(laptop, "change a price", change_a_price)
    day.task(laptop, "last month against the month before", months)
    day.task(laptop, "the same for Excel", excel)
    day.task(laptop, "add a helper", add_a_helper)
    day.task(laptop, "reset a password", reset_a_password)
    day.task(laptop, "why was it offline?", why_offline)
    day.task(laptop, "who restocked?", who_restocked)
    day.task(laptop, "machine failures of the week", machine_failures)
    assert len(day.done) == 15
    for message in phone.leave():
        assert "net::ERR_" in message
    network.proxy.close()
