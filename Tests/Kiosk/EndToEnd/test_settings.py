"""A change of the settings by an operator, and opening hours."""

import json
import signal
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from arrivals import eventually
from client import Client, retained
from conftest import MakeKiosk
from faults import Faults
from interrupted import RENAME
from kiosk import Kiosk
from mosquitto import Mosquitto
from test_reload import reload, write

MENU = {"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 3.00}}}
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


@pytest.fixture
def kiosk(make_kiosk: MakeKiosk) -> Kiosk:
    button = {"name": "hall", "device": "generic", "topic": "hall", "buttons": {"press": "mango"}}
    return make_kiosk(menu=MENU, panels=[button], stock={"initial": 30}).start()


def change(panel: Client, id: str, replaces: str | None = None, **values: Any) -> dict:
    return panel.ask("settings/minji", {"id": id, "replaces": replaces} | values).json


def report(panel: Client, since: int = 0) -> dict:
    return panel.messages.first(lambda m: m.topic == "kiosk/k1/settings", since).json


def price(panel: Client) -> str:
    return panel.order("kiwi")["amount"]


def file(kiosk: Kiosk) -> Path:
    return kiosk.folder / "ledger.sqlite.settings"


def test_an_operator_changes_the_settings_without_a_pause(kiosk: Kiosk, panel: Client) -> None:
    done = change(
        panel, "s1", currency="EUR", prices={"kiwi": "3.50"}, capacity={"kiwi": 50}, low={"kiwi": 30},
        disabled=["mango"],
    )
    assert done == {"id": "s1", "status": "applied"}
    assert price(panel) == "3.50"
    assert panel.order("mango")["reason"] == "unknown_juice"
    assert panel.ask("restock/minji", {"id": "r", "add": {"kiwi": 90}}).json["reason"] == "exceeds_capacity"
    panel.messages.first(lambda m: m.topic == "kiosk/k1/alert/kiwi" and m.text == "low")
    told = report(panel)
    assert (told["id"], told["by"], told["prices"], told["disabled"]) == ("s1", "minji", {"kiwi": "3.50"}, ["mango"])
    assert {juice["id"]: juice.get("price") for juice in told["file"]["juices"]}["kiwi"] == "3.00"
    # The same command again changes nothing.
    assert change(panel, "s1", low={"kiwi": 1}) == {"id": "s1", "status": "applied", "duplicate": True}
    # What differs from the file, and who has changed it.
    checked = kiosk.command("check").stdout
    assert "by minji at 20" in checked and "price of kiwi 3.50 EUR instead of 3.00 EUR" in checked
    assert json.loads(kiosk.command("check", "--json").stdout)["changed"][-1] == "low mark of kiwi 30 instead of 5"
    findings = json.loads(kiosk.command("doctor", "--json").stdout)["findings"]
    assert [f["severity"] for f in findings if f["where"] == "the change of the settings"] == ["note"]
    assert file(kiosk).stat().st_mode & 0o777 == 0o600

    # It survives a restart, and a new file.
    assert kiosk.stop() == 0
    kiosk.start()
    assert price(panel) == "3.50"
    write(kiosk, menu=MENU | {"juices": {"kiwi": {"price": 2.00}, "mango": {"price": 4.00}}})
    reload(kiosk)
    assert price(panel) == "3.50"

    # Dropped: the values of the file again.
    since = len(panel.messages)
    assert change(panel, "s2", "s1")["status"] == "applied"
    kiosk.wait_for_log("minji has changed the settings: no longer: price of kiwi 3.50 EUR instead of 2.00 EUR, ")
    assert price(panel) == "2.00" and panel.order("mango")["status"] == "ready"
    assert report(panel, since)["id"] == "s2" and "prices" not in report(panel, since)
    assert "instead of" not in kiosk.command("check").stdout
    # Without the file and its copy there is no report any more.
    file(kiosk).unlink()
    file(kiosk).with_name(file(kiosk).name + ".good").unlink()
    reload(kiosk)
    panel.messages.first(lambda m: m.topic == "kiosk/k1/settings" and not m.payload, since)
    kiosk.verify()


@pytest.mark.parametrize(
    "values, reason, detail",
    [
        ({"currency": "EUR", "prices": {"tea": "1"}}, "unknown_juice", "there is no tea on the menu"),
        ({"currency": "KRW", "prices": {"kiwi": "3000"}}, "malformed", "the price of kiwi is not in EUR"),
        ({"low": {"kiwi": 101}}, "malformed", "above its capacity of 100"),
        ({"capacity": {"fig": 1}}, "unknown_fruit", "fig is not a fruit"),
        ({"disabled": ["strawberry", "banana", "kiwi", "pineapple", "strawberry_banana", "mango", "mango_kiwi"]},
         "malformed", "at least one juice"),
        ({"hours": {"mon": "7-22"}}, "malformed", "hours has a day"),
        ({"juices": [{"id": "fig", "name": {"en": "Fig"}, "recipe": {"fig": 1}}]}, "unknown_fruit", "takes fig"),
        ({"juices": [{"id": "kiwi", "name": {"en": "Kiwi"}, "recipe": {"kiwi": 0}}]}, "malformed", "juices.kiwi.recipe.kiwi must"),
        ({"fruits": [{"id": "kiwi", "name": {"en": "Kiwi"}}]}, "malformed", "a fruit of the kiosk's file"),
        ({"replaces": "s9"}, "conflict", "the settings have changed"),
        ({"id": "s1", "sent_at": "2020-01-01T00:00:00Z"}, "stale", "the limit is"),
    ],
)
def test_a_change_that_does_not_fit_changes_nothing(
    kiosk: Kiosk, panel: Client, values: dict, reason: str, detail: str
) -> None:
    # One valid value does not help.
    answer = panel.ask("settings/minji", {"id": "s1", "low": {"mango": 9}} | values).json
    assert (answer["status"], answer["reason"]) == ("rejected", reason) and detail in answer["detail"]
    assert not file(kiosk).exists() and price(panel) == "3.00"
    assert panel.ask("settings/minji", {"id": "s1", "low": {"mango": 9}} | values).json["reason"] == reason
    # The next valid one is taken.
    assert change(panel, "s2", low={"kiwi": 9})["status"] == "applied"
    # Each reason has one line a minute.
    told = [line for line in kiosk.log if "settings/minji" in line and "rejected" in line]
    assert len(told) == 1 and reason in told[0]


def test_an_id_belongs_to_its_sender(kiosk: Kiosk, panel: Client) -> None:
    assert change(panel, "s1", low={"kiwi": 9})["status"] == "applied"
    for replaces in [None, "s1"]:
        other = {"id": "s1", "replaces": replaces, "low": {"kiwi": 1}}
        answer = panel.ask("settings/ben", other).json
        assert (answer["status"], answer["reason"]) == ("rejected", "conflict")
        assert "another sender has the same id" in answer["detail"]
    assert change(panel, "s1")["duplicate"]


def test_operators_cannot_fill_the_ledger_with_fruits(kiosk: Kiosk, panel: Client) -> None:
    def fruits(first: int) -> list[dict]:
        return [{"id": f"f{n}", "name": {"en": "x"}} for n in range(first, first + 99)]

    last = None
    for first in range(0, 990, 99):
        assert change(panel, f"s{first}", last, fruits=fruits(first))["status"] == "applied"
        last = f"s{first}"
    answer = change(panel, "more", last, fruits=fruits(990))
    assert answer["reason"] == "conflict" and "more than 1000" in answer["detail"]
    # Former fruits may come back, and go.
    assert change(panel, "former", last, fruits=fruits(0))["status"] == "applied"
    assert change(panel, "none", "former")["status"] == "applied"
    # At most one line a minute.
    assert sum("has changed the settings" in line for line in kiosk.log) < 12
    kiosk.verify()


ORANGE = {
    "fruits": [{"id": "orange", "name": {"en": "Orange", "ko": "오렌지"}, "color": "#ff922b"}],
    "juices": [{"id": "orange", "name": {"en": "Orange juice", "ko": "오렌지쥬스"}, "recipe": {"orange": 3}}],
    "currency": "EUR", "prices": {"orange": "4.00"}, "capacity": {"orange": 30},
}


def test_an_operator_adds_a_fruit_and_a_juice(kiosk: Kiosk, panel: Client) -> None:
    assert change(panel, "s1", **ORANGE) == {"id": "s1", "status": "applied"}
    menu = panel.messages.first(lambda m: m.topic == "kiosk/k1/menu" and b"orange" in m.payload).json
    fruit = menu["fruits"][-1]
    assert (fruit["id"], fruit["capacity"], fruit["low"], fruit["color"]) == ("orange", 30, 5, "#ff922b")
    # Nobody has put fruit in.
    assert panel.order("orange")["status"] == "out_of_stock"
    assert panel.ask("restock/minji", {"id": "r1", "add": {"orange": 31}}).json["reason"] == "exceeds_capacity"
    assert panel.ask("restock/minji", {"id": "r2", "add": {"orange": 20}}).json["status"] == "applied"
    sold = panel.order("orange")
    assert (sold["status"], sold["amount"]) == ("ready", "4.00")
    assert "recipe of orange orange 3 instead of none" in kiosk.command("check").stdout

    # It survives a crash.
    kiosk.stop(signal.SIGKILL)
    kiosk.start()
    assert panel.order("orange")["status"] == "ready"

    # Back to the file's menu: the juice is gone, its fruit is not lost.
    assert change(panel, "s2", "s1")["status"] == "applied"
    assert panel.order("orange")["reason"] == "unknown_juice"
    assert panel.ask("restock/minji", {"id": "r3", "add": {"orange": 1}}).json["reason"] == "unknown_fruit"
    kiosk.verify()
    assert change(panel, "s3", "s2", **ORANGE)["status"] == "applied"
    assert panel.order("orange")["status"] == "ready"
    assert panel.ask("restock/minji", {"id": "r4", "set": {"orange": 11}, "expect": {"orange": 11}}).json["status"] == "applied"
    kiosk.verify()

    # A juice of the file gets another recipe, and the file gets the fruit.
    mango = {"id": "mango", "name": {"en": "Mango"}, "recipe": {"mango": 1, "orange": 1}}
    values = ORANGE | {"juices": [*ORANGE["juices"], mango]}
    assert change(panel, "s4", "s3", **values)["status"] == "applied"
    assert panel.order("mango")["used"] == {"mango": 1, "orange": 1}
    since = len(panel.messages)
    write(kiosk, menu=MENU | {"fruits": {"orange": "Orange"}})
    reload(kiosk)
    assert report(panel, since)["unused"] == ["orange is a fruit of the kiosk's file already"]
    assert panel.order("orange")["used"] == {"orange": 3}
    kiosk.verify()


def test_an_open_order_of_a_juice_that_is_gone_ends_as_it_was_ordered(make_kiosk: MakeKiosk, panel: Client) -> None:
    kiosk = make_kiosk(menu=MENU, machines=[{"name": "bar"}], stock={"initial": 30}).start()
    assert change(panel, "s1", **ORANGE)["status"] == "applied"
    assert panel.ask("restock/minji", {"id": "r1", "add": {"orange": 20}}).json["status"] == "applied"
    panel.publish("kiosk/k1/machine/bar/status", "online", retain=True)
    panel.messages.first(lambda m: m.topic == "kiosk/k1/machine/bar" and m.json["state"] == "idle")
    accepted = panel.ask("order/p1", {"id": "o1", "juice": "orange"}).json
    assert (accepted["status"], accepted["amount"]) == ("accepted", "4.00")
    assert change(panel, "s2", "s1")["status"] == "applied"
    since = len(panel.messages)
    for status in ("started", "failed"):
        panel.publish("kiosk/k1/made/bar", json.dumps({"job": accepted["seq"], "status": status}))
    panel.messages.first(lambda m: m.topic.endswith("order/p1/result") and m.json["status"] == "failed", since)
    # Its fruit is back, although the menu does not have it.
    assert change(panel, "s3", "s2", **ORANGE)["status"] == "applied"
    assert panel.ask("restock/minji", {"id": "r2", "set": {"orange": 20}, "expect": {"orange": 20}}).json["status"] == "applied"
    kiosk.verify()


def test_a_retained_change_is_not_made(kiosk: Kiosk, panel: Client) -> None:
    panel.publish("kiosk/k1/settings/minji", json.dumps({"id": "s1", "low": {"kiwi": 9}}), retain=True)
    panel.messages.first(lambda m: m.topic.endswith("settings/minji/result") and m.json["reason"] == "retained")
    assert not file(kiosk).exists()


def test_what_a_new_file_does_not_have_is_left_out_and_told(kiosk: Kiosk, panel: Client) -> None:
    assert change(panel, "s1", currency="EUR", prices={"kiwi": "3.50", "mango": "4"})["status"] == "applied"
    since = len(panel.messages)
    write(kiosk, panels=[], menu={"currency": "EUR", "fruits": {"kiwi": "Kiwi"}, "juices": {"kiwi": {"recipe": {"kiwi": 3}}}})
    reload(kiosk)
    assert price(panel) == "3.50"
    assert report(panel, since)["unused"] == ["there is no mango on the menu"]
    findings = json.loads(kiosk.command("doctor", "--json").stdout)["findings"]
    assert [f["severity"] for f in findings if f["where"] == "the change of the settings"] == ["warning"]


BROKEN = {"empty": b"", "truncated": b'{"id":"s1","by"', "not text": b"\xff\0", "too large": b" " * 100_000,
          "a folder": None, "invalid": b'{"id":"s1","by":"a","at":"2026-01-01T00:00:00Z","low":{"kiwi":-1}}'}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_kiosk_starts_without_a_broken_change(kiosk: Kiosk, panel: Client, content: bytes | None) -> None:
    assert kiosk.stop() == 0
    file(kiosk).mkdir() if content is None else file(kiosk).write_bytes(content)
    kiosk.start()
    assert price(panel) == "3.00"
    kiosk.wait_for_log("the change of the settings cannot be used")
    checked = kiosk.command("check")
    assert checked.returncode == 78 and str(file(kiosk)) in checked.stderr
    findings = json.loads(kiosk.command("doctor", "--json").stdout)["findings"]
    assert [f["severity"] for f in findings if f["where"] == "the change of the settings"] == ["error"]
    assert change(panel, "s2", low={"kiwi": 9})["status"] == "applied"
    kept = file(kiosk).with_name(file(kiosk).name + ".damaged-1")
    assert kept.is_dir() if content is None else kept.read_bytes() == content
    # A running kiosk keeps the change whose file and copy are broken.
    copy = file(kiosk).with_name(file(kiosk).name + ".good")
    good = copy.read_bytes()
    for each in (file(kiosk), copy):
        each.write_bytes(b"{")
    since = len(panel.messages)
    reload(kiosk)
    assert report(panel, since)["low"] == {"kiwi": 9}
    # With its last good copy a broken file has no effect, also at a start.
    copy.write_bytes(good)
    assert kiosk.stop() == 0
    since = len(panel.messages)
    kiosk.start()
    kiosk.wait_for_log("its last good copy is used; to restore it: mv ")
    assert report(panel, since)["low"] == {"kiwi": 9}
    findings = json.loads(kiosk.command("doctor", "--json").stdout)["findings"]
    assert [f["severity"] for f in findings if f["where"] == "a file beside the ledger"] == ["warning"]


def test_a_change_that_was_not_recorded_does_not_apply_after_a_restart(kiosk: Kiosk, panel: Client) -> None:
    # The copy can be written, but not the file, as on a disk that is full after the copy.
    obstacle = file(kiosk).with_name(file(kiosk).name + ".new") / "x"
    obstacle.mkdir(parents=True)
    assert change(panel, "s1", currency="EUR", prices={"kiwi": "9.00"})["reason"] == "not_recorded"
    kiosk.stop()
    kiosk.start()
    assert price(panel) == "3.00"
    obstacle.rmdir()
    obstacle.parent.rmdir()
    assert change(panel, "s2", currency="EUR", prices={"kiwi": "3.50"})["status"] == "applied"
    obstacle.mkdir(parents=True)
    assert change(panel, "s3", "s2", currency="EUR", prices={"kiwi": "9.00"})["reason"] == "not_recorded"
    file(kiosk).unlink()
    kiosk.stop()
    kiosk.start()
    assert price(panel) == "3.50"
    kiosk.verify()


@pytest.mark.parametrize("call", ["openat", "fsync", RENAME, None])
def test_a_kiosk_killed_while_it_stores_a_change_has_the_old_or_the_new_one(
    kiosk: Kiosk, panel: Client, broker: Mosquitto, call: str | None
) -> None:
    """`call`: the kiosk is killed before this call on the new file; `None`: after the last one."""
    if call and subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED, nobody may trace a process here")
    values = {"currency": "EUR", "prices": {"kiwi": "1.00"}, "low": {"kiwi": 1}}
    assert change(panel, "s1", **values)["status"] == "applied"
    kiosk.stop()
    new = f"{file(kiosk)}.new"
    kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", new, "-e", f"inject={call}:signal=KILL"]
    kiosk.start(*(kill if call else []))
    command = {"id": "s2", "replaces": "s1", "currency": "EUR", "prices": {"kiwi": "2.00"}, "low": {"kiwi": 2}}
    panel.publish("kiosk/k1/settings/minji", json.dumps(command))
    if call:
        assert kiosk.process.wait(60) == -signal.SIGKILL
        kiosk.process = None
    else:
        eventually(lambda: json.loads(file(kiosk).read_bytes())["id"] == "s2")
        kiosk.stop(signal.SIGKILL)
    assert json.loads(file(kiosk).read_bytes())["id"] == ("s1" if call else "s2")
    kiosk.start()
    # The price and the low mark belong together; the broker may deliver the command again.
    assert panel.ask("settings/minji", command).json["status"] == "applied"
    assert price(panel) == "2.00"
    told = json.loads(retained(broker.port)["kiosk/k1/settings"])
    assert (told["id"], told["prices"], told["low"]) == ("s2", {"kiwi": "2.00"}, {"kiwi": 2})
    kiosk.verify()


def test_a_kiosk_keeps_its_hours(make_kiosk: MakeKiosk, panel: Client) -> None:
    """The kiosk opens and closes without a command; the state, the page and the answer agree."""
    now = datetime.now(timezone.utc)
    # Open on the other days only.
    others = {day: "00:00-24:00" for day in DAYS}
    for day in (now - timedelta(days=1), now, now + timedelta(days=1)):
        others.pop(DAYS[day.weekday()], None)
    kiosk = make_kiosk(hours=others).start()
    panel.messages.first(lambda m: m.topic == "kiosk/k1/service" and m.text == "closed")
    answer = panel.order("kiwi")
    assert (answer["reason"], answer["detail"]) == ("closed", "it is outside the opening hours")
    # A command does not overrule the hours, and the ledger has only what people have done.
    assert panel.ask("service/minji", {"id": "o", "service": "open"}).json["status"] == "applied"
    assert panel.order("kiwi")["reason"] == "closed"
    assert report(panel)["file"]["hours"] == others
    since = len(panel.messages)
    assert change(panel, "s1", hours={day: "00:00-24:00" for day in DAYS})["status"] == "applied"
    panel.messages.first(lambda m: m.topic == "kiosk/k1/service" and m.text == "open", since)
    assert panel.order("kiwi")["status"] == "ready"
    assert "hours mon 00:00-24:00" in kiosk.command("check").stdout
    assert [e["status"] for e in kiosk.ledger() if e.get("source") == "service/minji"] == ["open"]


def test_without_a_command_the_state_follows_the_clock(
    make_kiosk: MakeKiosk, faults: Faults, panel: Client
) -> None:
    """Opens at a full minute, whatever the time of day is: the clock is set to two seconds before it."""
    start = (datetime.now(timezone.utc) + timedelta(hours=2)).replace(second=0, microsecond=0)
    hours = f"{start:%H:%M}-{start + timedelta(hours=2):%H:%M}"
    make_kiosk(hours=dict.fromkeys(DAYS, hours)).start(**faults.variables)
    panel.messages.first(lambda m: m.topic == "kiosk/k1/service" and m.text == "closed")
    faults.set_clock(start - timedelta(seconds=2) - datetime.now(timezone.utc))
    panel.messages.first(lambda m: m.topic == "kiosk/k1/service" and m.text == "open")
    assert panel.order("kiwi")["status"] == "ready"
