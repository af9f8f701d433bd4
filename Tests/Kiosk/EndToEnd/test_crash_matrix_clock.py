"""A wall clock that changes while the kiosk runs must not affect any press."""

from datetime import datetime, timedelta, timezone

import pytest

from client import BASE, Client
from conftest import MakeClient, MakeKiosk, MakeScene, Say
from displays import wait_for_truth
from faults import Faults
from scene import STOCK


def hours(count: int) -> timedelta:
    return timedelta(hours=count)


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_orders_go_on_whatever_the_clock_says(
    broker, faults: Faults, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say, version: str
) -> None:
    kiosk = make_kiosk(broker={"protocol": version}, stock=STOCK).start(**faults.variables)
    scene = make_scene(kiosk, broker, version)
    for offset in (hours(-1), hours(0), hours(24), hours(0), hours(24)):
        scene.work()
        faults.set_clock(offset)
    scene.work()
    # The audited kiosk reads the ledger with the correct clock.
    say(f"5 times set, {scene.end()}")
    days = {entry["at"][:13] for entry in kiosk.ledger()}
    assert len(days) >= 3


@pytest.mark.parametrize("offset", [hours(-1), hours(24)], ids=["back", "ahead"])
def test_a_kiosk_that_starts_with_another_time_makes_nothing_twice(
    broker, faults: Faults, make_kiosk: MakeKiosk, make_scene: MakeScene, make_client: MakeClient,
    say: Say, offset: timedelta,
) -> None:
    kiosk = make_kiosk(stock=STOCK).start(**faults.variables)
    scene = make_scene(kiosk, broker)
    scene.work()
    kiosk.kill()
    late = make_client(f"{BASE}/order/late/result")
    late.publish(f"{BASE}/order/late", "banana")
    faults.set_clock(offset)
    kiosk.start(**faults.variables)
    # The length of the absence is unknown: queued orders are dropped, and nothing late is made.
    for panel in scene.panels:
        panel.ask_again()
    scene.panels[0].wait_for_answers(10)
    say(scene.end(broker_lost="presses"))
    assert "order/late" not in {entry.get("source") for entry in kiosk.ledger()}


def test_an_order_that_says_when_is_refused_while_the_clock_is_ahead(
    broker, faults: Faults, make_kiosk: MakeKiosk, panel: Client
) -> None:
    kiosk = make_kiosk().start(**faults.variables)

    def order(number: int) -> dict:
        sent_at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return panel.order({"id": f"{number}", "juice": "banana", "sent_at": sent_at})

    assert order(1)["status"] == "ready"
    faults.set_clock(hours(24))
    assert order(2)["reason"] == "stale"
    assert panel.order("banana")["status"] == "ready"
    faults.set_clock(hours(-1))
    assert order(3)["status"] == "ready"
    assert order(2)["reason"] == "stale", "an id keeps its answer"
    wait_for_truth(kiosk, broker)
