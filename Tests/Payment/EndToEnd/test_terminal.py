"""juice-zvt between a terminal and the contract of payment devices."""

import itertools
import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from arrivals import eventually
from client import BASE
from daemon import ROOT, environment
from mosquitto import Mosquitto
from shop import (  # noqa: F401
    Device, MakeDevice, Shop, TerminalProcess, check_equal, make_device, program, shop, terminal,
)
from small_disk import SmallDisk
from terminal import SEEN_ON_CARD


@pytest.fixture
def start_device(make_device: MakeDevice, shop: Shop) -> MakeDevice:
    """Starts devices, and waits until the first one is online."""
    def start(**settings: object) -> Device:
        device = make_device(**settings)
        shop.status("online")
        return device

    return start


@pytest.fixture
def device(start_device: MakeDevice) -> Device:
    return start_device()


# Payments.


def test_a_reservation_is_booked_in_part_and_cancelled_once(
    device: Device, terminal: TerminalProcess, shop: Shop
):
    held = shop.held(17, amount=700, quantity=2)
    assert shop.answers(17)[0] == "waiting"
    assert (held["amount"], held["currency"], held["last4"]) == (700, "EUR", "8004")
    assert (held["card"], held["terminal"]) == ("girocard", "52523535")
    assert terminal.journal.open == {held["receipt"]: 700}

    captured = shop.ask("capture", 17, "captured", amount=350)
    assert captured["amount"] == 350
    assert terminal.journal.open == {} and list(terminal.journal.booked.values()) == [350]

    assert shop.ask("capture", 17, "captured", amount=350)["amount"] == 350
    assert list(terminal.journal.booked.values()) == [350]

    assert shop.ask("refund", 17, "refunded")["amount"] == 350
    shop.ask("refund", 17, "refunded")
    assert terminal.journal.booked == {}
    assert sum(line["kind"] == "cancel" for line in terminal.journal.lines) == 1
    check_equal(device, terminal)


@pytest.mark.parametrize("capture", ["partial_reversal", "book_total"])
def test_the_other_command_books_where_the_terminal_does_not_know_one(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop, capture: str
):
    terminal.behave(unknown=["0624" if capture == "book_total" else "0623"], lists=True)
    device = start_device(capture=capture, unknown_holds="ignore")
    shop.held(17, amount=700, quantity=2)
    assert shop.ask("capture", 17, "captured", amount=200)["amount"] == 200
    assert list(terminal.journal.booked.values()) == [200]
    check_equal(device, terminal)


def test_goods_first_books_when_made_and_nothing_when_not(
    device: Device, terminal: TerminalProcess, shop: Shop
):
    shop.held(17, ready_seconds=10)
    assert terminal.journal.booked == {}
    shop.ask("capture", 17, "captured", amount=350)
    assert list(terminal.journal.booked.values()) == [350]
    shop.held(18, ready_seconds=10)
    shop.ask("release", 18, "released")
    assert list(terminal.journal.booked.values()) == [350]
    assert {line["kind"] for line in terminal.journal.lines} == {"asking", "payment", "failed"}
    check_equal(device, terminal)


def test_the_kiosk_learns_that_the_terminal_waited_no_longer(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    device = start_device(asks=3, mode="goods_first")
    shop.held(17, ready_seconds=5)
    released = shop.answer(17, "released")
    assert released["reason"] == "the terminal waited no longer"
    shop.ask("capture", 17, "released", amount=350)
    assert terminal.journal.booked == {}
    check_equal(device, terminal)


def test_a_machine_that_is_slower_than_the_terminal_waits_is_not_started(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    device = start_device(asks=3, mode="goods_first")
    shop.charge(17, ready_seconds=6)
    declined = shop.answer(17, "declined")
    assert declined["reason"] == "the machine is slower than the terminal waits"
    assert terminal.journal.last is None
    check_equal(device, terminal)


def test_a_terminal_that_asks_at_once_waits_for_the_machine(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    terminal.behave(poll_seconds=0, counts=True)
    device = start_device(asks=10, mode="goods_first")
    shop.held(17, ready_seconds=19)
    eventually(lambda: sum(line["kind"] == "question" for line in terminal.journal.lines) >= 3)
    assert shop.ask("capture", 17, "captured", amount=350)["amount"] == 350
    assert list(terminal.journal.booked.values()) == [350]
    check_equal(device, terminal)


def test_a_part_is_booked_where_the_terminal_can_and_else_nothing(
    make_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    device = make_device(mode="goods_first")
    shop.status("online")
    shop.held(17, amount=700, quantity=2)
    assert shop.ask("capture", 17, "released", amount=350)["reason"] == "the terminal cannot book a part"
    device.stop()
    device = make_device(mode="goods_first", book_in_part=True)
    shop.held(18, amount=700, quantity=2)
    assert shop.ask("capture", 18, "captured", amount=350)["amount"] == 350
    assert list(terminal.journal.booked.values()) == [350]
    check_equal(device, terminal)


def test_a_decline_has_a_reason(device: Device, terminal: TerminalProcess, shop: Shop):
    reasons = {
        0x05: "declined", 0x71: "not enough credit", 0xC5: "card not accepted", 0x41: "PIN needed", 0x93: "error 93",
        0xA1: "terminal has no connection",
    }
    for charge, (code, ready) in enumerate(itertools.product(reasons, [0, 10]), 17):
        terminal.behave(customer="decline", decline=code)
        shop.send_until_answered(charge, ready_seconds=ready)
        assert shop.answer(charge, "declined")["reason"] == reasons[code], (hex(code), ready)
        assert terminal.journal.open == terminal.journal.booked == {}


def test_a_release_ends_the_prompt(device: Device, terminal: TerminalProcess, shop: Shop):
    terminal.behave(customer="silent")
    shop.send_until_answered(17)
    shop.ask("release", 17, "released")
    terminal.behave(customer="present")
    shop.held(18)
    check_equal(device, terminal)


def test_a_repeated_release_is_answered_while_the_prompt_cannot_be_ended(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    terminal.behave(customer="silent", aborts=False)
    start_device(abort=False)
    shop.send_until_answered(17)
    shop.send("release", 17)
    shop.ask("release", 17, "waiting")


def test_a_prompt_ends_after_pay_seconds(device: Device, terminal: TerminalProcess, shop: Shop):
    terminal.behave(customer="silent")
    shop.send_until_answered(17, pay_seconds=5)
    assert shop.answer(17, "declined")["reason"] == "timeout"


def test_a_release_that_meets_the_card_gives_the_hold_back(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    terminal.behave(card_seconds=0.4, aborts=False)
    device = start_device(abort=False)
    shop.send_until_answered(17)
    shop.ask("release", 17, "released")
    assert [line["kind"] for line in terminal.journal.lines] == ["hold", "release"]
    assert "held" not in shop.answers(17)
    check_equal(device, terminal)


# Repeated, unknown and false messages.


def test_a_repeated_charge_is_asked_for_once(device: Device, terminal: TerminalProcess, shop: Shop):
    shop.held(17)
    shop.ask("charge", 17, "held")
    shop.ask("charge", 17, "unknown", amount=360)
    assert len(terminal.journal.lines) == 1


def test_numbers_that_the_device_never_began(device: Device, terminal: TerminalProcess, shop: Shop):
    shop.held(17)
    for kind, values in {
        "charge": {}, "capture": {"amount": 350}, "release": {}, "refund": {}, "state": {},
    }.items():
        shop.ask(kind, 12, "unknown", **values)
    shop.ask("state", 40, "unknown")
    shop.ask("release", 30, "released")
    shop.ask("charge", 30, "released")
    shop.ask("capture", 31, "unknown", amount=350)
    shop.ask("charge", 31, "unknown")
    # What was asked about only may still begin.
    shop.held(40)
    assert [line["kind"] for line in terminal.journal.lines] == ["hold", "hold"]


def test_another_currency_is_declined(device: Device, terminal: TerminalProcess, shop: Shop):
    shop.charge(17, currency="CHF")
    assert shop.answer(17, "declined")["reason"] == "wrong currency"


def test_a_hold_of_another_amount_is_given_back(
    device: Device, terminal: TerminalProcess, shop: Shop
):
    terminal.behave(amount_off=10)
    for charge, ready in [(17, 0), (18, 10)]:
        shop.send_until_answered(charge, ready_seconds=ready)
        assert shop.answer(charge, "released")["reason"] == "wrong amount"
    assert terminal.journal.open == terminal.journal.booked == {}


def test_messages_that_cannot_be_read_change_nothing(
    device: Device, terminal: TerminalProcess, shop: Shop
):
    for payload in [
        b"", b"[]", b'{"charge":0,"amount":1,"currency":"EUR"}', b'{"charge":9007199254740992}',
        b'{"charge":17,"amount":0,"currency":"EUR"}', b'{"charge":17,"amount":1000000000000}',
        b'{"charge":17,"amount":350}', b'{"charge":17,"charge":18}', b"\xff", b"{" * 5000,
    ]:
        for kind in ["", "/capture", "/release", "/refund", "/state"]:
            shop.client.publish(shop.topic + kind, payload)
    shop.held(40)
    assert len(terminal.journal.lines) == 1


def test_a_retained_charge_is_not_begun(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    request = {"charge": 99, "amount": 350, "currency": "EUR"}
    shop.client.publish(shop.topic, json.dumps(request), retain=True)
    device = start_device()
    device.wait_for_log("ignored a message")
    shop.held(17)
    assert len(terminal.journal.lines) == 1


# What a terminal answers, and what it has done.


def test_a_capture_that_was_booked_although_the_answer_was_an_error(
    device: Device, terminal: TerminalProcess, shop: Shop
):
    for charge, how in [(17, "error_booked"), (18, "silent_booked")]:
        for ready in [0, 10]:
            number = charge * 100 + ready
            terminal.behave(capture=how)
            shop.held(number, ready_seconds=ready)
            shop.send("capture", number, amount=350)
            shop.answer(number, "captured")
            terminal.behave(capture="ok")
    assert list(terminal.journal.booked.values()) == [350] * 4
    check_equal(device, terminal)


def test_a_capture_that_was_not_booked_is_held(
    device: Device, terminal: TerminalProcess, shop: Shop
):
    shop.held(17)
    for how in ["error", "silent"]:
        terminal.behave(capture=how)
        assert shop.ask("capture", 17, "held", amount=350)["reason"]
    terminal.behave(capture="ok")
    shop.ask("capture", 17, "captured", amount=350)
    assert list(terminal.journal.booked.values()) == [350]
    check_equal(device, terminal)


@pytest.mark.parametrize("how", ["error_held", "silent_held"])
def test_a_hold_that_exists_although_the_answer_was_none(
    device: Device, terminal: TerminalProcess, shop: Shop, how: str
):
    terminal.behave(hold=how)
    held = shop.held(17)
    assert terminal.journal.open == {held["receipt"]: 350}
    check_equal(device, terminal)


def test_a_terminal_that_does_not_say_leaves_it_unknown(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    terminal.behave(repeats=False, capture="silent_booked")
    device = start_device(repeat_receipt=False)
    shop.held(17)
    shop.ask("capture", 17, "unknown", amount=350)
    shop.ask("state", 17, "unknown")
    shop.ask("capture", 17, "unknown", amount=350)
    assert list(terminal.journal.booked.values()) == [350]
    check_equal(device, terminal)


def test_a_refund_whose_answer_was_lost(device: Device, terminal: TerminalProcess, shop: Shop):
    shop.held(17)
    shop.send("capture", 17, amount=350)
    shop.answer(17, "captured")
    terminal.behave(refund="silent_refunded")
    shop.send("refund", 17)
    shop.answer(17, "refunded")
    assert sum(line["kind"] == "cancel" for line in terminal.journal.lines) == 1
    check_equal(device, terminal)


def test_two_refunds_of_which_the_first_answer_was_lost(
    device: Device, terminal: TerminalProcess, shop: Shop
):
    for charge in [17, 18]:
        shop.held(charge)
        shop.ask("capture", charge, "captured", amount=350)
    terminal.behave(refund="silent_refunded")
    for charge in [17, 18]:
        shop.send("refund", charge)
    for charge in [17, 18]:
        shop.answer(charge, "refunded")
    assert sum(line["kind"] == "cancel" for line in terminal.journal.lines) == 2
    check_equal(device, terminal)


@pytest.mark.parametrize("lists", [True, False])
def test_several_holds_with_and_without_a_list(
    device: Device, terminal: TerminalProcess, shop: Shop, lists: bool
):
    terminal.behave(lists=lists)
    for charge in [17, 18, 19]:
        shop.held(charge)
    device.kill()
    device.start()
    eventually(lambda: shop.answers(18).count("held") > 1)
    terminal.behave(hold="silent_held")
    shop.held(20)
    terminal.behave(hold="ok", capture="error_booked")
    shop.ask("capture", 18, "captured", amount=350)
    terminal.behave(capture="ok")
    for charge in [17, 19, 20]:
        shop.ask("release", charge, "released")
    assert terminal.journal.open == {}
    check_equal(device, terminal)


# Odd terminals.


@pytest.mark.parametrize(
    "behaviour",
    [{"whole": False}, {"noise": True}, {"container": False, "lists": False},
     {"unknown": ["06e0"]}, {"unknown": ["0620"], "repeats": False}],
    ids=str,
)
@pytest.mark.parametrize("ready", [0, 10])
def test_odd_terminals(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop, behaviour: dict, ready: int
):
    terminal.behave(**behaviour)
    device = start_device()
    shop.held(17, ready_seconds=ready)
    shop.ask("capture", 17, "captured", amount=350)
    shop.held(18, ready_seconds=ready)
    shop.ask("release", 18, "released")
    device.stop()
    check_equal(device, terminal)
    # No card number is in a file or a message.
    texts = [device.journal.read_text(), device.output]
    texts += [message.text for message in shop.messages]
    for text in texts:
        assert not any(secret in text for secret in SEEN_ON_CARD)


def test_a_terminal_without_reservations_waits_for_the_goods(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    terminal.behave(unknown=["0622", "0623", "0625"])
    device = start_device()
    shop.held(17)
    shop.ask("capture", 17, "captured", amount=350)
    check_equal(device, terminal)


def test_half_a_packet_and_then_silence(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    terminal.behave(half=True)
    device = start_device(acknowledge_seconds=1)
    held = shop.held(17)
    assert terminal.journal.open == {held["receipt"]: 350}
    check_equal(device, terminal)


@pytest.mark.parametrize(["state", "text"], [(0xCC, "no paper"), (0xDF, "out of order")])
def test_a_terminal_in_fault_begins_nothing(
    make_device: MakeDevice, terminal: TerminalProcess, shop: Shop, state: int, text: str
):
    terminal.behave(state=state)
    make_device(enquiry_seconds=5)
    shop.status(f"fault: {text}")
    shop.charge(17)
    terminal.behave(state=0)
    shop.status("online")
    assert shop.answers(17) == []
    shop.held(17)


# Terminals, journals and disks that are replaced, lost or full.


def test_holds_of_no_charge_are_a_fault(
    make_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    device = make_device()
    shop.status("online")
    held = shop.held(17)
    device.kill()
    assert "of no charge" not in device.command("doctor").stdout
    # The journal cannot be read, so nobody knows whether the amount belongs to a charge.
    device.journal.write_text("{\n" + device.journal.read_text())
    found = device.command("doctor")
    assert found.returncode == 65 and "of no charge" not in found.stdout, found.stdout
    # The journal is lost.
    device.journal.unlink()
    assert "holds 1 amount(s) of no charge" in device.command("doctor").stdout
    settings = json.loads(device.configuration.read_text())
    settings["terminal"]["unknown_holds"] = "ignore"
    device.configuration.write_text(json.dumps(settings))
    assert "of no charge" not in device.command("doctor").stdout
    device = make_device()
    shop.status(f"fault: unknown hold, receipt {held['receipt']}")
    shop.ask("release", 17, "unknown")
    shop.charge(18)
    shop.ask("state", 17, "unknown")
    assert shop.answers(18) == []
    assert terminal.journal.open == {held["receipt"]: 350}
    device.stop()
    device.wait_for_log("receipt")

    # A terminal that cannot release now is not asked at once again.
    terminal.behave(release="error")
    since = len(shop.messages)
    device = make_device(unknown_holds="release")
    device.wait_for_log("cannot release the unknown hold")
    shop.status(f"fault: unknown hold, receipt {held['receipt']}", since=since)
    shop.ask("state", 17, "unknown")
    log = "\n".join(device.log)
    assert log.count("cannot release") == 1 and "released the unknown hold" not in log, log
    device.stop()
    terminal.behave(release="ok")
    make_device(unknown_holds="release")
    eventually(lambda: terminal.journal.open == {})
    eventually(lambda: shop.last_status == "online")
    shop.held(19)


def test_another_terminal(start_device: MakeDevice, terminal: TerminalProcess, shop: Shop):
    device = start_device()
    shop.held(16)
    shop.ask("capture", 16, "captured", amount=350)
    shop.held(17)
    shop.held(18)
    terminal.behave(capture="silent")
    shop.send("capture", 17, amount=350)
    eventually(lambda: device.records[17]["state"] == "capturing")
    device.kill()
    terminal.kill()
    terminal.path.rename(terminal.path.with_suffix(".old"))
    terminal.behave(terminal="11112222", capture="ok")
    terminal.start()
    device.start()
    for charge in [17, 18]:
        assert shop.answer(charge, "unknown")["reason"] == "another terminal is connected"
    refused = shop.ask("refund", 16, "captured")
    assert refused["reason"] == "another terminal is connected"
    shop.held(19)


@pytest.mark.parametrize("room", [0, 10], ids=lambda room: f"{room} bytes left")
def test_a_full_or_read_only_disk_stops_before_the_prompt(
    tmp_path: Path, broker: Mosquitto, terminal: TerminalProcess, shop: Shop, room: int
):
    disk = SmallDisk(tmp_path / "disk")

    def fill() -> None:
        disk.fill()
        # The last block of the journal has room, too.
        with open(device.journal, "ab") as journal:
            journal.write(b"\n" * ((-device.journal.stat().st_size - room) % 4096))

    device = Device(tmp_path, broker, terminal, journal=disk.folder / "journal")
    try:
        device.start()
        shop.status("online")
        shop.held(17)
        fill()
        since = shop.send("capture", 17, amount=350)
        shop.status("fault: journal cannot be written", since=since)
        device.wait_for_log("No space left on device")
        shop.charge(18)
        assert shop.answers(18) == [] and len(terminal.journal.lines) == 1
        disk.make_room()
        shop.status("online", since=since)
        # A file system with an error is read-only after the next start.
        device.kill()
        disk.remount("ro")
        since = len(shop.messages)
        device.start()
        shop.status("fault: journal cannot be written", since=since)
        shop.charge(18)
        disk.remount("rw")
        shop.status("online", since=since)
        assert shop.answers(18) == [] and len(terminal.journal.lines) == 1
        shop.ask("capture", 17, "captured", amount=350)
        check_equal(device, terminal)
    finally:
        device.kill()
        disk.close()


def test_a_damaged_journal_is_not_used(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    device = start_device()
    shop.held(17)
    assert device.stop() == 0
    whole = device.journal.read_text()
    # A line that a power cut has cut off was never acted upon.
    device.journal.write_text(whole + '{"charge":18,"sta')
    device.start()
    shop.held(18)
    assert device.stop() == 0
    device.journal.write_text("{}\n" + whole)
    device.start()
    assert device.process.wait(60) == 65
    device.wait_for_log("line 1 of")


def test_a_long_journal_is_shortened_at_the_start(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    device = start_device()
    shop.held(17)
    assert device.stop() == 0
    with open(device.journal, "ab") as journal:
        journal.write(b"\n" * 9_000_000)
    before = len(device.log)
    device.start()
    shop.held(18)
    assert device.journal.stat().st_size < 10_000
    # A terminal accepts one connection, and ends it for a second one.
    log = "\n".join(list(device.log)[before:])
    assert log.count("connected to the terminal") == 1 and "was lost" not in log, log
    shop.ask("capture", 17, "captured", amount=350)


def test_one_journal_has_one_program(start_device: MakeDevice, shop: Shop):
    device = start_device()
    shop.status("online")
    assert device.command("run").returncode == 75
    found = device.command("doctor")
    assert "the device runs" in found.stdout and "last charge" in found.stdout


@pytest.mark.parametrize("topic", ["status", "total"])
def test_cleared_topics_are_published_again(
    topic: str, device: Device, terminal: TerminalProcess, shop: Shop
):
    shop.status("online")
    if topic == "total":
        device.kill()
        # The end of a day that was published before.
        with device.journal.open("a") as journal:
            total = {"total": 3, "at": "2026-11-25T22:00:00Z", "currency": "EUR", "captured": 0, "refunded": 0, "count": 0}
            journal.write(json.dumps({"day": total}) + "\n")
        device.start()
    name = f"{BASE}/payment/terminal/{topic}"
    published = lambda since: shop.client.messages.first(
        lambda message: message.topic == name and bool(message.payload), since=since)
    before = published(0).text if topic == "total" else "online"
    for text in ["", "fault: made up" if topic == "status" else "{}"]:
        since = len(shop.messages)
        shop.client.publish(name, text, retain=True)
        shop.client.messages.first(
            lambda message: message.topic == name and message.text == before, since=since)


def test_two_programs_at_one_terminal_are_noticed(
    make_device: MakeDevice, terminal: TerminalProcess, broker: Mosquitto, shop: Shop
):
    first = make_device()
    shop.status("online")
    make_device(name="other")
    first.wait_for_log("does another program use this terminal?")


# The broker and the end of day.


def test_the_broker_is_away_between_held_and_captured(
    device: Device, terminal: TerminalProcess, broker: Mosquitto, shop: Shop
):
    shop.held(17)
    broker.stop()
    broker.start()
    shop.client.wait_until_subscribed()
    shop.status("online", since=len(shop.messages) - 1)
    shop.ask("capture", 17, "captured", amount=350)
    check_equal(device, terminal)


def begin(path: Path, days: int) -> None:
    """Writes an empty journal that was begun this number of days from now."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + days * 86_400))
    path.write_text(json.dumps({"at": at, "last": 0, "captured": 0, "refunded": 0, "count": 0}) + "\n")


def test_an_end_of_day_is_published_with_the_terminals_sum(
    start_device: MakeDevice, terminal: TerminalProcess, shop: Shop
):
    device = start_device(end_of_day="23:30")
    for charge in [17, 18, 19]:
        shop.held(charge)
        shop.send("capture", charge, amount=350)
        shop.answer(charge, "captured")
    shop.send("refund", 18)
    shop.answer(18, "refunded")
    shop.held(20)
    device.kill()
    # As if it were a day later, with one charge open.
    lines = device.journal.read_text().splitlines()
    begin(device.journal, -2)
    with open(device.journal, "a") as journal:
        journal.write("\n".join(lines[1:]) + "\n")
    device.start()
    shop.answer(20, "held", since=len(shop.messages))
    assert not any(line["kind"] == "day" for line in terminal.journal.lines)
    shop.send("release", 20)
    total = shop.client.messages.first(
        lambda message: message.topic == f"{BASE}/payment/terminal/total"
    ).json
    assert (total["total"], total["captured"], total["refunded"], total["count"]) == (1, 1050, 350, 3)
    assert (total["terminal_net"], total["currency"]) == (700, "EUR")
    # Only one, although the program starts again.
    device.kill()
    device.start()
    shop.held(21)
    assert sum(line["kind"] == "day" for line in terminal.journal.lines) == 1


def test_a_clock_that_was_set_back_ends_no_day(
    start_device: MakeDevice, tmp_path: Path, terminal: TerminalProcess, shop: Shop
):
    begin(tmp_path / "terminal.journal", 400)
    start_device(end_of_day="00:00", time_zone="UTC")
    shop.held(17)
    shop.send("capture", 17, amount=350)
    shop.answer(17, "captured")
    assert [line["kind"] for line in terminal.journal.lines] == ["hold", "book"]


# Commands.


def test_check_and_doctor(
    tmp_path: Path, broker: Mosquitto, terminal: TerminalProcess
):
    device = Device(tmp_path, broker, terminal, end_of_day="23:30")
    good = device.command("check")
    assert good.returncode == 0 and "The configuration is good." in good.stdout
    found = device.command("doctor")
    assert found.returncode == 0, found.stdout
    assert "id 52523535, GER-APP-v2.0.9" in found.stdout
    begin(device.journal, -1)
    assert device.command("doctor").returncode == 0
    with open(device.journal, "a") as journal:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        total = {"total": 1, "at": at, "currency": "EUR", "captured": 350, "refunded": 0, "count": 1}
        journal.write(json.dumps({"day": total}) + "\n")
    found = device.command("doctor")
    assert found.returncode == 0, found.stdout
    assert f"note day: end of day 1: {at}, not compared" in " ".join(found.stdout.split())
    begin(device.journal, -2)
    found = device.command("doctor")
    assert found.returncode == 1 and "no end of day yet" in found.stdout, found.stdout
    terminal.behave(state=0xDF)
    assert device.command("doctor").returncode == 69
    terminal.kill()
    assert "cannot be reached" in device.command("doctor").stdout
    settings = json.loads(device.configuration.read_text())
    del settings["device"]["end_of_day"]
    device.configuration.write_text(json.dumps(settings))
    advice = " ".join(device.command("doctor").stdout.split())
    assert "fix: set it, and disable the one of the terminal itself" in advice


@pytest.mark.parametrize("habit", ["asks at once", "gives up", "keeps the amount", "declines"])
def test_the_doctor_tries_the_pace(habit: str, make_device: MakeDevice, terminal: TerminalProcess):
    terminal.behave(poll_seconds=0, counts=True, patience={"gives up": 1}.get(habit, 60),
                    keeps=habit == "keeps the amount", completes=True,
                    customer="decline" if habit == "declines" else "present")
    device = make_device(asks=3, ask_seconds=1)
    device.kill()
    seen = device.command("doctor", "--pace")
    text = " ".join(seen.stdout.split())
    expected = {
        "asks at once": "ok pace: 127.0.0.1:%d: asks 3 times, and waits 3 s",
        "gives up": "warning pace: 127.0.0.1:%d: asks 1 times, and waits",
        "keeps the amount": "error pace: 127.0.0.1:%d: asks 3 times, and waits 3 s for the goods; it keeps",
        "declines": "warning pace: 127.0.0.1:%d: no question came: declined",
    }[habit] % terminal.port
    assert expected in text, text
    assert "chosen by mode auto: goods first for one glass with ready_seconds below 3" in text
    assert bool(terminal.journal.booked) == (habit == "keeps the amount") and not terminal.journal.open


def test_the_example_has_every_key_and_every_default(
    tmp_path: Path, broker: Mosquitto, terminal: TerminalProcess
):
    device = Device(tmp_path, broker, terminal)
    example = (ROOT / "config/zvt.yaml").read_text()
    every = re.sub(r"^( *)#(?=\w+:)", r"\1", example, flags=re.M)
    # Either host and port or addresses.
    every = re.sub(r"^ *addresses:.*\n", "", every, flags=re.M)
    device.configuration.write_text(every)
    found = device.command("check")
    # The password file of the example does not exist.
    assert "there is no such key" not in found.stderr and "must be" not in found.stderr, found.stderr
    device.configuration.write_text(example)
    assert device.command("check").returncode == 0
    known = set(re.findall(r"KIOSK_(?:DEVICE|TERMINAL)_\w+", subprocess.run(
        [program(), "check", "--config", device.configuration], capture_output=True, text=True,
        env=environment(KIOSK_X="1"),
    ).stderr))
    named = {
        f"KIOSK_{section}_{key}".upper()
        for section, keys in re.findall(r"^(device|terminal):\n((?: .*\n|\n)*)", every, re.M)
        for key in re.findall(r"^  (\w+):", keys, re.M)
    }
    assert named == known


@pytest.mark.parametrize(
    ["key", "value", "problem"],
    [("password", 12, "must be six digits"), ("end_of_day", "25:00", "is no time of day"),
     ("mode", "cash", "must be auto or goods_first or reservation"), ("currency", "XXX", "number"),
     ("hots", "a", "there is no such key")],
)
def test_errors_of_the_configuration(
    tmp_path: Path, broker: Mosquitto, terminal: TerminalProcess, key: str, value: object, problem: str
):
    device = Device(tmp_path, broker, terminal, **{key: value})
    found = device.command("check")
    assert found.returncode == 78 and problem in found.stderr


def test_an_end_of_day_needs_a_time_zone(
    tmp_path: Path, broker: Mosquitto, terminal: TerminalProcess, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    device = Device(tmp_path, broker, terminal, end_of_day="23:30")
    found = device.command("check")
    assert found.returncode == 78 and "TZ is no name of a time zone" in found.stderr
    assert Device(tmp_path, broker, terminal).command("check").returncode == 0
    monkeypatch.setenv("TZ", ":/usr/share/zoneinfo/Asia/Seoul")
    assert "23:30, Asia/Seoul" in Device(tmp_path, broker, terminal, end_of_day="23:30").command("check").stdout
