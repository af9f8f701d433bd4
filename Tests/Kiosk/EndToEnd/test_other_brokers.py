"""Kills the kiosk, with brokers that number and mark redeliveries differently."""

import os
import random
import signal
from pathlib import Path
from typing import Iterator

import pytest

from auditor import judge_ledger, judge_panel
from client import BASE, Client
from conftest import MakeKiosk, Say
from displays import expected
from load import BusyPanel
from other_brokers import OtherBroker
from scene import STOCK

pytestmark = pytest.mark.skipif(
    "KIOSK_BROKERS" not in os.environ, reason="deploy/test --brokers runs it"
)

KILLS = int(os.environ.get("KIOSK_KILLS", "30"))


@pytest.fixture
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OtherBroker]:
    broker = OtherBroker(tmp_path / "broker", request.param)
    try:
        yield broker.start()
    finally:
        broker.kill()


@pytest.mark.parametrize(
    ("other", "version"), [("rabbitmq", "3.1.1"), ("ejabberd", "3.1.1"), ("ejabberd", "5")],
    indirect=["other"],
)
def test_no_order_is_lost_and_none_made_twice(
    other: OtherBroker, make_kiosk: MakeKiosk, tmp_path: Path, say: Say, version: str,
    chance: random.Random,
) -> None:
    password = tmp_path / "password"
    password.touch(0o600)
    password.write_text(other.login[1])
    kiosk = make_kiosk(
        other,
        broker={
            "protocol": version, "username": other.login[0], "password_file": str(password)
        },
        stock=STOCK,
    ).start()
    watcher = Client(other.port, f"{BASE}/events", protocol=version, login=other.login)
    panels = [
        # Without an id, a panel waits for its answer; deploy/docs/brokers.md gives the reason.
        BusyPanel(
            other.port, f"p{number}", has_ids=has_ids, protocol=version,
            window=16 if has_ids else 1, login=other.login,
        )
        for number, has_ids in enumerate([True, False] * 4)
    ]
    try:
        for _ in range(KILLS):
            # Sometimes the kiosk is killed before it is online.
            if chance.random() < 0.8:
                # A panel with ids: on ejabberd the others are served once in 65 orders.
                panels[chance.randrange(0, 8, 2)].wait_for_answers(chance.randrange(1, 60), 60)
            assert kiosk.stop(signal.SIGKILL) == -signal.SIGKILL
            kiosk.launch()
        for panel in panels:
            panel.finish(within=60)
    finally:
        for panel in panels:
            panel.close()

    kiosk.verify()
    ledger = kiosk.ledger()
    judge_ledger(ledger)
    for panel in panels:
        judge_panel(panel, ledger, broker_lost="nothing")
    pressed, repeated = sum(p.pressed for p in panels), sum(p.repeated for p in panels)
    say(f"{KILLS} kills, {pressed} orders, {repeated} answered again")

    last = len(ledger)
    watcher.messages.first(lambda message: message.json["seq"] == last)
    assert {message.json["seq"] for message in watcher.messages} >= set(range(2, last + 1))
    watcher.close()

    wanted = expected(kiosk)
    display = Client(other.port, *wanted, protocol=version, login=other.login)
    shows = lambda: {message.topic: message.text for message in display.messages} == wanted
    display.messages.until(shows)
    display.close()
