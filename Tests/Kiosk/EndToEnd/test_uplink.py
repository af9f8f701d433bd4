"""The uplink publishes each ledger entry to a second broker, despite any failure."""

import json
import random
import signal
import sqlite3
from contextlib import closing
from typing import Iterator

import pytest

from arrivals import TIMEOUT
from client import Client
from conftest import MakeKiosk
from kiosk import Kiosk
from mosquitto import Mosquitto
from ports import free_port
from proxy import PUBACK, Proxy

UP = "chain/k1"


class Archive:
    """A simulated archive: stores the entries, and requests missing ones."""

    def __init__(self, port: int) -> None:
        self.client = Client(port, "chain/#")
        self.asked = 0

    def entries(self) -> list[dict]:
        return [m.json for m in self.client.messages if m.topic == f"{UP}/events"]

    def numbers(self) -> set[tuple[int, int]]:
        return {(entry["epoch"], entry["seq"]) for entry in self.entries()}

    def wait_for(self, wanted: set[tuple[int, int]], within: float = TIMEOUT) -> None:
        have: set[tuple[int, int]] = set()
        position = 0

        def is_complete() -> bool:
            nonlocal position
            new = self.client.messages.since(position)
            position += len(new)
            for message in new:
                if message.topic == f"{UP}/events":
                    have.add((message.json["epoch"], message.json["seq"]))
            return wanted <= have

        self.client.messages.until(is_complete, within)

    def ask(self, epoch: int, first: int, last: int) -> dict:
        self.asked += 1
        request = {"id": f"r{self.asked}", "epoch": epoch, "from": first, "to": last}
        since = len(self.client.messages)
        is_answer = lambda m: (
            m.topic == f"{UP}/replay/test/result" and m.json.get("id") == request["id"]
        )
        # The archive repeats the request until it is answered.
        for _ in range(int(TIMEOUT)):
            self.client.publish(f"{UP}/replay/test", json.dumps(request))
            try:
                return self.client.messages.first(is_answer, since, within=1).json
            except TimeoutError:
                pass
        raise TimeoutError(f"no answer to {request}")


@pytest.fixture
def archive(upper: Mosquitto) -> Iterator[Archive]:
    archive = Archive(upper.port)
    yield archive
    archive.client.close()


def uplink(*ports: int, **more: object) -> dict:
    return {"addresses": [f"127.0.0.1:{port}" for port in ports], "root": "chain", **more}


def ledger(kiosk: Kiosk) -> set[tuple[int, int]]:
    return {(entry["epoch"], entry["seq"]) for entry in kiosk.ledger()}


def test_each_entry_goes_up(
    make_kiosk: MakeKiosk, panel: Client, upper: Mosquitto, archive: Archive
) -> None:
    kiosk = make_kiosk(uplink=uplink(upper.port)).start()
    for _ in range(5):
        panel.order("banana")
    archive.wait_for(ledger(kiosk))
    assert archive.entries() == kiosk.ledger()
    told = lambda topic: (lambda m: m.topic == f"{UP}/{topic}")
    assert archive.client.messages.first(told("status")).text == "online"
    assert archive.client.messages.first(told("health")).json["uptime"] >= 0
    since = len(archive.client.messages)
    assert kiosk.stop() == 0
    assert archive.client.messages.first(told("status"), since).text == "offline"
    # Confirmed entries are not published again.
    kiosk.start()
    panel.order("banana")
    archive.wait_for(ledger(kiosk))
    assert archive.entries() == kiosk.ledger()


def test_an_address_where_nobody_answers_is_passed_over(
    make_kiosk: MakeKiosk, upper: Mosquitto, archive: Archive
) -> None:
    kiosk = make_kiosk(uplink=uplink(free_port(), upper.port, free_port())).start()
    archive.wait_for(ledger(kiosk))


def test_a_kiosk_does_not_need_its_way_up(make_kiosk: MakeKiosk, panel: Client) -> None:
    kiosk = make_kiosk(uplink=uplink(free_port())).start()
    assert panel.order("banana")["status"] == "ready"
    kiosk.wait_for_log("the uplink is disconnected")
    assert kiosk.stop() == 0


def test_nothing_is_missing_after_kills_and_cuts(
    make_kiosk: MakeKiosk, panel: Client, upper: Mosquitto, archive: Archive, line: Proxy
) -> None:
    kiosk = make_kiosk(uplink=uplink(line.port, line.port)).start()
    chance = random.Random(19)
    for _ in range(12):
        for _ in range(chance.randrange(20)):
            panel.restock({"add": {"kiwi": chance.choice([-1, 1])}})
        what = chance.choice(["kiosk", "broker", "line", "packet"])
        if what == "kiosk":
            kiosk.stop(signal.SIGKILL)
            kiosk.start()
        elif what == "broker":
            upper.kill()
            upper.start()
            archive.client.wait_until_subscribed()
        elif what == "line":
            line.cut()
        else:
            line.cut_after(chance.randrange(2000))
    everything = ledger(kiosk)
    epoch, last = max(everything, key=lambda entry: entry[1])
    # Entries are published in order, so after the last one nothing more comes without a request.
    archive.wait_for({(epoch, last)})
    # A killed broker loses messages that it has acknowledged.
    if missing := sorted(seq for _, seq in everything - archive.numbers()):
        assert archive.ask(epoch, missing[0], missing[-1])["status"] == "replaying"
    archive.wait_for(everything)
    assert {entry["seq"]: entry for entry in archive.entries()} == {
        entry["seq"]: entry for entry in kiosk.ledger()
    }


def test_a_broker_that_confirms_nothing_is_left(
    make_kiosk: MakeKiosk, panel: Client, upper: Mosquitto, archive: Archive, line: Proxy
) -> None:
    kiosk = make_kiosk(uplink=uplink(line.port)).start()
    archive.wait_for(ledger(kiosk))
    line.swallows = PUBACK
    panel.order("banana")
    kiosk.wait_for_log("the broker does not acknowledge messages")
    line.swallows = None
    panel.order("banana")
    archive.wait_for(ledger(kiosk))


def fill(kiosk: Kiosk, count: int) -> None:
    """Adds entries to the ledger that have not been published."""
    with closing(sqlite3.connect(kiosk.folder / "ledger.sqlite")) as database, database:
        database.execute(
            """
            WITH RECURSIVE more (seq) AS (
              SELECT MAX(seq) + 1 FROM entry UNION ALL SELECT seq + 1 FROM more LIMIT ?)
            INSERT INTO entry (seq, at, status, event)
            SELECT seq, 1795251600000 + seq, 'open', json_object('seq', seq, 'epoch', epoch,
              'at', strftime('%Y-%m-%dT%H:%M:%fZ', (1795251600000 + seq) / 1000.0, 'unixepoch'), 'status', 'open')
            FROM more, kiosk
            """,
            [count],
        )


def test_after_a_month_away_everything_goes_up(
    make_kiosk: MakeKiosk, panel: Client, upper: Mosquitto, archive: Archive
) -> None:
    settings = uplink(upper.port, entries_per_second=10_000)
    kiosk = make_kiosk(uplink=settings).start()
    archive.wait_for(ledger(kiosk))
    assert kiosk.stop() == 0
    fill(kiosk, 30_000)
    kiosk.start()
    assert panel.order("banana")["status"] == "ready"
    archive.wait_for(ledger(kiosk), within=180)
    # Each entry once, in order.
    numbers = [entry["seq"] for entry in archive.entries()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 30_000


def test_a_ledger_put_back_is_of_another_epoch(
    make_kiosk: MakeKiosk, panel: Client, upper: Mosquitto, archive: Archive
) -> None:
    kiosk = make_kiosk(uplink=uplink(upper.port)).start()
    panel.order("banana")
    assert kiosk.command("ledger", "backup", "backup.sqlite").returncode == 0
    panel.order("kiwi")
    archive.wait_for(ledger(kiosk))
    before = {(entry["epoch"], entry["seq"]): entry for entry in kiosk.ledger()}
    assert kiosk.stop() == 0
    restored = kiosk.command("ledger", "restore", "--replace", "backup.sqlite")
    assert restored.returncode == 0, restored.stderr
    kiosk.start()
    panel.order("mango")
    after = {(entry["epoch"], entry["seq"]): entry for entry in kiosk.ledger()}
    archive.wait_for(set(after))
    heard: dict[tuple[int, int], dict] = {}
    for entry in archive.entries():
        # Two entries with the same epoch and number must never differ.
        assert heard.setdefault((entry["epoch"], entry["seq"]), entry) == entry
    assert heard == before | after
    assert len({epoch for epoch, _ in heard}) == 2
    # The entries of the backup keep their epoch, so nothing is counted twice.
    assert len(heard) == len(before) + 1


def test_an_archive_gets_again_what_it_asks_for(
    make_kiosk: MakeKiosk, panel: Client, upper: Mosquitto, archive: Archive
) -> None:
    kiosk = make_kiosk(uplink=uplink(upper.port, entries_per_second=10_000)).start()
    archive.wait_for(ledger(kiosk))
    assert kiosk.stop() == 0
    fill(kiosk, 12_000)
    kiosk.start()
    archive.wait_for(ledger(kiosk), within=120)
    epoch = kiosk.ledger()[0]["epoch"]
    since = len(archive.client.messages)
    # More entries than one request covers.
    answer = archive.ask(epoch, 1001, 20_000)
    assert answer == {
        "id": "r1", "status": "replaying", "epoch": epoch, "from": 1001, "to": 11_000,
    }
    # Orders do not wait for the replay, and new entries come first.
    assert panel.order("banana")["status"] == "ready"
    archive.client.messages.first(
        lambda m: m.topic.endswith("/result") and m.json["status"] == "done", since, within=120
    )
    again = [
        message.json["seq"] for message in archive.client.messages.since(since)
        if message.topic == f"{UP}/events"
    ]
    newest = max(again)
    assert [seq for seq in again if seq < newest] == list(range(1001, 11_001))
    assert archive.ask(epoch + 1, 1, 2)["reason"] == "unknown_epoch"
    assert archive.ask(epoch, 900_000, 900_001)["reason"] == "out_of_range"
