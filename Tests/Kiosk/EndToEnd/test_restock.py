"""Restocks change several fruits in one step, with displays and events."""

import json
from datetime import datetime, timedelta, timezone

from client import BASE, Client, soon
from conftest import MakeClient, MakeKiosk
from displays import moment, wait_for_truth
from faults import Faults
from kiosk import FRUITS, RECIPES


def test_fruit_is_added_set_and_taken_away(kiosk, broker, panel) -> None:
    added = panel.restock({"id": "r1", "add": {"strawberry": 20, "kiwi": -3}, "set": {"mango": 30}})
    stock = {"strawberry": 30, "banana": 10, "pineapple": 10, "kiwi": 7, "mango": 30}
    assert added == {"id": "r1", "status": "applied", "stock": stock, "seq": 2}
    shown = wait_for_truth(kiosk, broker)
    assert shown[f"{BASE}/juice/strawberry"] == "1"
    # `set` applies before `add`.
    assert panel.restock({"set": {"kiwi": 50}, "add": {"kiwi": -1}})["stock"]["kiwi"] == 49
    # -0 is 0.
    assert panel.restock('{"add":{"kiwi":-0}}')["stock"]["kiwi"] == 49


def test_the_same_restock_again_is_applied_once(kiosk, panel) -> None:
    restock = {"id": "r1", "add": {"banana": 5}}
    first = panel.restock(restock)
    assert panel.restock(restock) == first | {"duplicate": True}
    assert kiosk.stock()["banana"] == 15


def test_a_restock_that_is_expected_is_applied(kiosk, panel) -> None:
    panel.order("banana")
    applied = panel.restock({"id": "r1", "set": {"banana": 100}, "expect": {"banana": 8}})
    assert (applied["status"], applied["stock"]["banana"]) == ("applied", 100)


def test_a_date_on_the_command_line_is_the_end_of_a_day_or_the_error_has_the_form(
    make_kiosk: MakeKiosk, confirmed_clock: dict[str, str]
) -> None:
    kiosk = make_kiosk(kiosk={"time_zone": "Asia/Seoul"}).start(**confirmed_clock)
    day = datetime.now(timezone(timedelta(hours=9))).date() + timedelta(days=2)
    restocked = kiosk.command("restock", "kiwi=+1", "--best-before", f"kiwi={day}")
    assert (restocked.returncode, restocked.stderr) == (0, "")
    assert kiosk.ledger()[-1]["batches"][0]["expires"] == f"{day}T15:00:00Z"
    forecast = json.loads(kiosk.command("report", "--json").stdout)["forecast"]
    assert forecast["fruits"]["kiwi"]["expires"] == [{"at": f"{day}T15:00:00Z", "amount": 1}]
    for wrong in ("kiwi=05.12.2026", "kiwi=2026-12-05T18:00", "kiwi"):
        refused = kiosk.command("restock", "kiwi=+1", "--best-before", wrong)
        assert refused.returncode == 64 and "2026-12-05" in refused.stderr.splitlines()[0]


def test_fruit_that_expires_is_not_sold_and_is_taken_out_once(
    make_kiosk: MakeKiosk, panel: Client, confirmed_clock: dict[str, str]
) -> None:
    kiosk = make_kiosk().start(**confirmed_clock)
    restocked, expires = panel.restock_briefly({"set": {"kiwi": 0}, "add": {"mango": 5}}, ["mango"], 3)
    panel.messages.first(lambda m: m.topic == f"{BASE}/freshness/mango" and m.text == expires)
    assert panel.restock({"id": "p", "add": {"kiwi": 1}, "best_before": {"kiwi": soon(-1)}})[
        "reason"] == "expired"
    is_expired = lambda m: m.topic == f"{BASE}/events" and m.json["status"] == "expired"
    event = panel.messages.first(is_expired).json
    assert moment(event["at"]) >= moment(expires) - timedelta(milliseconds=1)
    assert event["changes"] == {"mango": -5}
    assert event["batches"] == [{"fruit": "mango", "batch": restocked["seq"], "amount": -5}]
    missing = panel.order({"juice": "mango", "quantity": 4})
    assert (missing["status"], missing["missing"]) == ("out_of_stock", {"mango": 2})
    panel.messages.first(lambda m: m.topic == f"{BASE}/freshness/mango" and m.text == "none")
    panel.messages.first(lambda m: m.topic == f"{BASE}/stock" and m.json.get("expired") == {"mango": 5})

    remove = ["remove", "mango=5", "--expired", "--reason", "spoiled"]
    removed = kiosk.command(*remove)
    assert (removed.returncode, removed.stderr) == (0, "")
    assert kiosk.command(*remove).returncode == 75, "another person has done it"
    shown = lambda m: m.topic == f"{BASE}/stock" and m.json["seq"] > event["seq"] + 1
    assert "expired" not in panel.messages.first(shown).json
    printed = kiosk.command("report", "--haccp")
    assert (printed.returncode, printed.stderr) == (0, "")
    lines = printed.stdout.splitlines()
    for text in [
        f"restocked  kiwi -10, mango 5 best before {expires[:10]} {expires[11:16]}", "expired  mango -5",
        "removed  spoiled, expired: mango 5",
    ]:
        assert any(line.endswith(text) for line in lines), (text, lines)
    assert lines[-1] == "Discarded: mango 5"
    exported = kiosk.command("ledger", "export", "--format", "csv").stdout.splitlines()
    assert [line.split('"')[1] for line in exported if ",removed," in line] == ["spoiled, expired: mango 5"]
    kiosk.verify()


def test_a_date_waits_until_a_person_confirms_the_clock(
    make_kiosk: MakeKiosk, panel: Client, faults: Faults
) -> None:
    """A kiosk without machines, payment and sensors, on a computer whose clock nothing confirms."""
    kiosk = make_kiosk().start(**faults.variables, CLOCK_STATE="5")
    panel.restock({"id": "r", "add": {"mango": 5}, "best_before": {"mango": soon(3600)}})
    shown = panel.messages.first(lambda m: m.topic == f"{BASE}/sensor/clock").json
    assert (shown["state"], shown["fruits"]) == ("blocked", ["mango"])
    assert panel.order("mango")["reason"] == "blocked"
    assert panel.order("kiwi")["status"] == "ready"
    kiosk.kill()
    kiosk.start(**faults.variables, CLOCK_STATE="5")
    assert panel.order({"id": "m", "juice": "mango"})["reason"] == "blocked"
    released = kiosk.command("sensor", "clock", "release", "my watch shows the same")
    assert (released.returncode, released.stderr) == (0, "")
    assert panel.order({"id": "n", "juice": "mango"})["status"] == "ready"
    kiosk.verify()


def test_displays_are_right_after_each_change_and_events_without_a_gap(
    kiosk, broker, panel
) -> None:
    fresh = wait_for_truth(kiosk, broker)
    assert fresh[f"{BASE}/juice/banana"] == "5"
    changes = [
        lambda: panel.order("strawberry_banana"),
        lambda: panel.order("strawberry"),
        lambda: panel.order({"juice": "mango_kiwi", "quantity": 3}),
        lambda: panel.restock({"set": {"strawberry": 5, "banana": 0, "kiwi": 100}}),
        lambda: panel.order("tea"),
        lambda: panel.service("closed"),
        lambda: panel.restock({"add": {"strawberry": 95, "banana": 50, "mango": -4}}),
        lambda: panel.service("open"),
    ]
    for change in changes:
        change()
        wait_for_truth(kiosk, broker)

    ledger = kiosk.ledger()
    assert [entry["seq"] for entry in ledger] == list(range(1, len(changes) + 2))
    is_last = lambda m: m.topic == f"{BASE}/events" and m.json["seq"] == len(ledger)
    panel.messages.first(is_last)
    events = {m.json["seq"]: m.json for m in panel.messages if m.topic == f"{BASE}/events"}
    assert [events.get(entry["seq"], entry) for entry in ledger] == ledger
    assert set(range(2, len(ledger) + 1)) <= set(events)


def test_the_whole_stock_the_menu_and_the_info_are_there(kiosk, broker, panel) -> None:
    result = panel.order("pineapple")
    is_stock = lambda m: m.topic == f"{BASE}/stock" and m.json["seq"] == result["seq"]
    assert panel.messages.first(is_stock).json["fruits"] == result["stock"]
    panel.messages.first(lambda m: m.topic == f"{BASE}/menu")
    last = {message.topic: message for message in panel.messages}
    menu = last[f"{BASE}/menu"].json
    assert [fruit["id"] for fruit in menu["fruits"]] == FRUITS
    assert {juice["id"]: juice["recipe"] for juice in menu["juices"]} == RECIPES
    assert all((fruit["capacity"], fruit["low"]) == (100, 5) for fruit in menu["fruits"])
    assert {"en": "Kiwi juice", "ko": "키위쥬스"} in [juice["name"] for juice in menu["juices"]]
    assert last[f"{BASE}/info"].json["protocol"] == 1
    assert last[f"{BASE}/health"].json["queue"] >= 0


def test_a_juice_taken_off_the_menu_leaves_no_topic_behind(
    broker, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    orange = {
        "base": "standard", "fruits": {"orange": "Orange"},
        "juices": {"orange": {"en": "Orange juice", "recipe": {"orange": 3}}},
    }
    kiosk = make_kiosk(menu=orange).start()
    panel = make_client("kiosk/#")
    assert panel.order("orange")["stock"]["orange"] == 7
    kiosk.stop()
    kiosk.configure(broker, {})
    since = len(panel.messages)
    kiosk.start()
    for topic in ("stock/orange", "juice/orange", "alert/orange"):
        cleared = panel.messages.first(lambda m: m.topic == f"{BASE}/{topic}", since)
        assert cleared.payload == b""
    assert panel.order("orange")["reason"] == "unknown_juice"
