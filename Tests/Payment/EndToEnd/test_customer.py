"""A customer with a tablet, a card and a machine: from the touch to *ready*, and what is said about the money."""

from arrivals import eventually
from conftest import MakeBrowser, MakeKiosk
from pouring import TerminalMachine
from shop import Device, MakeDevice, TerminalProcess, make_device, terminal  # noqa: F401


def test_an_order_of_a_tablet_is_paid_and_made(
    make_kiosk: MakeKiosk, make_device: MakeDevice, terminal: TerminalProcess,  # noqa: F811
    make_browser: MakeBrowser,
) -> None:
    device: Device = make_device()
    eventually(device.journal.exists)
    kiosk = make_kiosk(
        payment={"devices": [{"name": device.name}]},
        machines=[{"name": "bar"}],
        menu={"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 3.50}, "mango": {"price": 4}}},
        stock={"initial": 100, "capacity": 100},
    ).start()
    machine = TerminalMachine(kiosk).start("--manual")
    operator = make_browser().log_in(path="/kiosks/k1")
    tablet, wall = make_browser(width=1024, height=768), make_browser(width=1920, height=1080)
    tablet.open(operator.create_link("tablet"))
    wall.open(operator.create_link("wall"))
    seen = tablet.all("a, [href='/'], [name=csrf_token]")
    assert seen == [], "the tablet leads nowhere else"

    def entries() -> list[tuple[str, str | None]]:
        kinds = ("awaiting_payment", "held", "made", "failed", "returned", "captured", "released")
        return [(entry["status"], entry.get("reason")) for entry in kiosk.ledger() if entry["status"] in kinds]

    def begun(ticket: int) -> str:
        """Waits until the machine has begun, and returns the number of its job."""
        line = machine.log.first(lambda line: f", ticket {ticket}: " in line and "press Enter" in line)
        return line.removeprefix("job ").split(",")[0]

    def read(customer: str, on_wall: str | None = None) -> None:
        tablet.wait_for(customer, ".message")
        if on_wall:
            wall.wait_for(on_wall, "#boxes")

    try:
        # The customer has no card at hand, and then wants another juice.
        terminal.behave(customer="silent")
        tablet.wait_for("€4.00", "#juice-mango")
        tablet.press("#juice-mango")
        read("€4.00 at the terminal, please.", "Pay at the terminal")
        assert wall.text(".pay .ticket") == "1" and wall.text(".pay .amount") == "€4.00"
        for screen in (wall, tablet):
            eventually(lambda: "0:00" < screen.text("[data-left]") <= "0:45")
        tablet.photograph("tablet-pay")
        wall.photograph("wall-pay")
        terminal.behave(customer="present")
        tablet.press("#juice-kiwi")
        tablet.wait_for("Ticket 2", ".message")
        job = begun(2)
        read("It is being made now.", "Being made")
        assert wall.texts(".making .now b") == ["2"]
        tablet.photograph("tablet-making")
        machine.type(job)
        read("Kiwi juice is ready. Enjoy!", "Ready")
        assert wall.texts(".ready .ticket") == ["2"]
        eventually(lambda: list(terminal.journal.booked.values()) == [350] and terminal.journal.open == {})
        tablet.photograph("tablet-ready")
        wall.photograph("wall-ready")
        assert entries() == [
            ("awaiting_payment", None), ("returned", "replaced"), ("awaiting_payment", None), ("held", None),
            ("made", None), ("captured", None)]

        # The machine fails: the money is released, and everybody reads it.
        tablet.press("#juice-kiwi")
        tablet.wait_for("Ticket 3", ".message")
        machine.type(f"{begun(3)} failed jam")
        text = "You pay nothing: the money is released."
        read(f"Sorry, Kiwi juice could not be made. {text}")
        assert wall.texts(".sorry .ticket") == ["3"]
        assert list(terminal.journal.booked.values()) == [350] and terminal.journal.open == {}
        assert entries()[-2:] == [("failed", "jam"), ("released", None)]
        tablet.photograph("tablet-sorry")
        wall.photograph("wall-sorry")

        # The terminal declines the card.
        terminal.behave(customer="decline")
        tablet.press("#juice-kiwi")
        read("The payment was declined. Nothing was charged.")
        wall.wait_for("The payment was declined. Nothing was charged.", "#boxes")
        assert entries()[-1] == ("returned", "declined")
        kiosk.verify()
    finally:
        machine.kill()
