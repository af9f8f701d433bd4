"""What tablet, wall and panel say about the money of an order, beside the ledger and the terminal: the list in
payment.md."""

import json
from typing import Any, Callable, Iterator

import pytest

from arrivals import eventually
from client import Client, Message
from conftest import MakeBrowser, MakeClient, MakeKiosk, factory
from daemon import ROOT
from dashboard import Browser
from kiosk import Kiosk
from mosquitto import Mosquitto
from pouring import TerminalMachine
from shop import NAME, Device, MakeDevice, TerminalProcess, make_device, terminal  # noqa: F401

PAGE = " ".join((ROOT / "deploy/docs/payment.md").read_text().split())


class Till(Client):
    """A payment device that answers each charge at once; `juice-zvt` never captures before the juice is made, and
    itself releases another amount."""

    name = NAME

    def __init__(self, port: int, answer: str, more: int = 0) -> None:
        self.answer, self.more, self.last = answer, more, "none"
        super().__init__(port, f"kiosk/k1/charge/{NAME}/#")
        self.publish(f"kiosk/k1/payment/{NAME}/status", "online", retain=True)

    def received(self, message: Any) -> None:
        asked, action = json.loads(message.payload), message.topic.split("/")[4:]
        if action == ["open"]:
            return self.say({"status": "open", "epoch": asked["epoch"]})
        ends = {"release": "released", "refund": "refunded"}
        if action == []:
            self.last, self.amount = self.answer, asked["amount"] + self.more
        elif action[0] in ends:
            self.last = ends[action[0]]
        self.say({"charge": asked["charge"], "status": self.last, "amount": self.amount, "currency": "EUR"})

    def say(self, answer: dict) -> None:
        self.client.publish(f"kiosk/k1/paid/{NAME}", json.dumps(answer), 1)


class Counter:
    """A kiosk with a machine, a payment device, a tablet and a wall."""

    def __init__(
        self, kiosk: Kiosk, machine: TerminalMachine, device: Device | Till, terminal: TerminalProcess,  # noqa: F811
        client: Client, tablet: Browser, wall: Browser,
    ) -> None:
        self.kiosk, self.machine, self.device, self.terminal = kiosk, machine, device, terminal
        self.client, self.tablet, self.wall = client, tablet, wall

    def press(self, **behaviour: Any) -> None:
        """Presses the button of kiwi juice at the tablet, with this behaviour of the terminal."""
        self.terminal.behave(**behaviour)
        self.tablet.wait_for("€3.50", "#juice-kiwi")
        self.tablet.press("#juice-kiwi")

    def begun(self) -> str:
        """Waits until the machine has begun, and returns the number of its job."""
        line = self.machine.log.first(lambda line: ", ticket 1: " in line and "press Enter" in line)
        return line.removeprefix("job ").split(",")[0]

    def fail(self) -> None:
        self.machine.type(f"{self.begun()} failed jam")

    def result(self, status: str, panel: str = "tablet") -> Message:
        return self.client.messages.first(
            lambda message: message.topic == f"kiosk/k1/order/{panel}/result" and message.json["status"] == status)

    def entries(self) -> list[str]:
        """The ledger's entries of the order and its charge, from the latest, with the reason of its end."""
        return [
            f"`{entry['status']}`, `{entry['reason']}`" if entry["status"] == "returned" else f"`{entry['status']}`"
            for entry in reversed(self.kiosk.ledger()) if "job" in entry or "charge" in entry]

    def receipt(self) -> str:
        """The device's last result."""
        if isinstance(self.device, Till):
            return self.device.last
        last = self.terminal.journal.last
        return last["kind"] if last else "none"

    def says(self, entry: str, text: str, on_wall: str, receipt: str) -> None:
        """Waits for what everybody says, and looks it up in the page."""
        eventually(lambda: self.entries()[:1] == [entry])
        self.tablet.wait_for(text, ".message")
        self.wall.wait_for(text if on_wall == "the same" else on_wall.strip("*"), "#boxes")
        eventually(lambda: self.receipt() == receipt)
        wall = "" if on_wall == "the same" else f"; wall: {on_wall}"
        assert f"- {entry} ({receipt}): *{text}*{wall} " in PAGE
        name = "-".join(word.strip("`,") for word in entry.split())
        self.tablet.photograph(f"money-{name}-tablet")
        self.wall.photograph(f"money-{name}-wall")


MakeCounter = Callable[..., Counter]
MakeTill = Callable[..., Till]


@pytest.fixture
def make_till(broker: Mosquitto) -> Iterator[MakeTill]:
    yield from factory(lambda *arguments, **options: Till(broker.port, *arguments, **options), Till.close)


@pytest.fixture
def make_counter(
    make_kiosk: MakeKiosk, make_device: MakeDevice, terminal: TerminalProcess,  # noqa: F811
    make_client: MakeClient, make_browser: MakeBrowser,
) -> Any:
    machines: list[TerminalMachine] = []

    def make(pay_seconds: int = 45, device: Till | None = None, **settings: Any) -> Counter:
        if not device:
            device = make_device(**settings)
            eventually(device.journal.exists)
        kiosk = make_kiosk(
            payment={"devices": [{"name": device.name}], "pay_seconds": pay_seconds, "free_panels": ["staff"]},
            machines=[{"name": "bar"}],
            menu={"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 3.50}}},
            stock={"initial": 100, "capacity": 100},
        ).start()
        machines.append(TerminalMachine(kiosk).start("--manual"))
        client = make_client("kiosk/#")
        operator = make_browser().log_in(path="/kiosks/k1")
        tablet, wall = make_browser(width=1024, height=768), make_browser(width=1920, height=1080)
        tablet.open(operator.create_link("tablet"))
        wall.open(operator.create_link("wall"))
        return Counter(kiosk, machines[-1], device, terminal, client, tablet, wall)

    yield make
    for machine in machines:
        machine.kill()


def test_made(make_counter: MakeCounter) -> None:
    counter = make_counter()
    counter.press()
    counter.machine.type(counter.begun())
    counter.says("`captured`", "Kiwi juice is ready. Enjoy!", "*Ready*", "book")
    assert counter.result("ready").json["message"] == "Kiwi juice is ready. Enjoy!"
    counter.kiosk.verify()


def test_declined(make_counter: MakeCounter) -> None:
    counter = make_counter()
    counter.press(customer="decline", decline=0x71)
    text = "The payment was declined: not enough credit. Nothing was charged."
    counter.says("`returned`, `declined`", text, "the same", "none")
    assert counter.result("failed").json["message"] == text
    counter.kiosk.verify()


def test_not_paid(make_counter: MakeCounter) -> None:
    counter = make_counter(pay_seconds=5)
    counter.press(customer="silent")
    counter.tablet.wait_for("€3.50 at the terminal, please.", ".message")
    counter.device.kill()
    text = "The order was not paid. Nothing was charged."
    counter.says("`returned`, `not_paid`", text, "*The card terminal is out of order.*", "none")
    assert counter.result("failed").json["message"] == text
    counter.kiosk.verify()


def test_released(make_counter: MakeCounter) -> None:
    counter = make_counter()
    # The terminal cannot release at first.
    counter.press(release="error")
    counter.fail()
    text = "You pay nothing: the money is being released."
    counter.says("`failed`", text, "the same", "hold")
    assert counter.result("failed").json["message"] == f"Sorry, Kiwi juice could not be made. {text}"
    counter.terminal.behave(release="ok")
    counter.says("`released`", "You pay nothing: the money is released.", "the same", "release")
    counter.kiosk.verify()


def test_another_amount_is_given_back_by_the_kiosk(make_counter: MakeCounter, make_till: MakeTill) -> None:
    counter = make_counter(device=make_till("held", more=50))
    counter.press()
    text = "The terminal has failed. Your money is given back."
    counter.says("`released`", text, "*You pay nothing: the money is released.*", "released")
    assert counter.result("failed").json["message"] == text
    assert "`returned`, `wrong_amount`" in counter.entries()
    counter.kiosk.verify()


def test_refunded(make_counter: MakeCounter, make_till: MakeTill) -> None:
    counter = make_counter(device=make_till("captured"))
    counter.press()
    counter.fail()
    text = "Please ask us about your money."
    counter.says("`failed`", text, "the same", "captured")
    assert counter.result("failed").json["message"] == f"Sorry, Kiwi juice could not be made. {text}"
    charge = next(entry["charge"] for entry in counter.kiosk.ledger() if "charge" in entry)
    assert counter.kiosk.command("charge", str(charge), "refund").returncode == 0
    counter.says("`refunded`", "You pay nothing: the money is refunded.", "the same", "refunded")
    counter.kiosk.verify()


def test_unknown(make_counter: MakeCounter) -> None:
    counter = make_counter(repeat_receipt=False)
    # The terminal holds the amount, and never says so.
    counter.press(hold="silent_held", repeats=False, lists=False, unknown=["0623"])
    text = "The terminal has failed. Please ask us before you pay again."
    counter.says("`returned`, `payment_unknown`", text, "*Please ask us about your money.*", "hold")
    assert counter.result("failed").json["message"] == text
    counter.kiosk.verify()


def test_a_free_order_that_fails_says_nothing_of_money(make_counter: MakeCounter) -> None:
    counter = make_counter()
    counter.client.publish("kiosk/k1/order/staff", '{"id":"s1","juice":"kiwi"}')
    counter.fail()
    text = "Sorry, Kiwi juice could not be made."
    assert counter.result("failed", "staff").json["message"] == text
    eventually(lambda: counter.wall.texts(".sorry span") == [text])
    assert counter.receipt() == "none"
    counter.kiosk.verify()
