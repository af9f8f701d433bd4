"""Made-up events of ten kiosks, of which a tenth is hostile in one member. Each valid event is stored and
counted once, and no event stops the others.

ARCHIVE_EVENTS is their number (default 5,000), ARCHIVE_SEED repeats a run."""

import json
import os
import random
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, Callable, Iterator
from zoneinfo import ZoneInfo

import pytest

from archive import Archive
from arrivals import TIMEOUT, eventually
from client import Client
from conftest import MakeBroker
from postgres import Postgres

KIOSKS = [f"k{number}" for number in range(10)]
ZONE = "America/New_York"
START = datetime(2026, 10, 20, tzinfo=timezone.utc)
FRUITS = ["banana", "kiwi", "mango"]
TEXTS = {"status": 64, "source": 320, "id": 128, "juice": 128, "reason": 1024, "machine": 128, "currency": 16}
WHOLES = ["seq", "epoch", "job", "ticket", "quantity", "place"]
#: Amounts that the archive can store only without a currency.
ODD_AMOUNTS = ['"' + "9" * 32 + '"', '"3.505"']
#: Times, and what they mean.
TIMES = {
    "2026-11-01 05:00:00+05:30": datetime(2026, 10, 31, 23, 30, tzinfo=timezone.utc),
    "2026-11-01t05:30:00.1239z": datetime(2026, 11, 1, 5, 30, 0, 123_000, timezone.utc),
    "2026-11-01T06:59:60Z": datetime(2026, 11, 1, 7, tzinfo=timezone.utc),
    "2099-12-31T23:59:59Z": datetime(2099, 12, 31, 23, 59, 59, tzinfo=timezone.utc),
    "9999-12-30T23:59:59.999Z": datetime(9999, 12, 30, 23, 59, 59, 999_000, timezone.utc),
    "1970-01-01T00:00:00Z": datetime(1970, 1, 1, tzinfo=timezone.utc),
    "0001-01-03T00:00:00Z": datetime(1, 1, 3, tzinfo=timezone.utc),
}


def noise(chance: random.Random, length: int) -> str:
    """Returns characters that do not compress."""
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=length))


def hostile(chance: random.Random) -> tuple[str, str, bool]:
    """Returns a member, a hostile value as JSON, and whether the archive can store it."""
    member = chance.choice([*TEXTS, *WHOLES, "at", "amount", "changes", "missing", "unknown"])
    if member in TEXTS:
        limit = TEXTS[member]
        bad = [f'"{noise(chance, limit + 1)}"', f'"{noise(chance, 5000)}"', '"a\\u0000b"', '"\udcff\udcfe"', '"\\ud800"',
               "12", "null", "{}", '"a\nb"', '"' + "비" * (limit // 3 + 1) + '"']
        good = ['"GBP"', '"XXX"'] if member == "currency" else [
            f'"{noise(chance, limit)}"', '"\u202e비\\n\\t"', '"\\\\N"', '"\\"\';--"', '""', '"\\u0001"']
    elif member in WHOLES:
        bad = ["-1", "1.5", "1e3", "1e400", "12345678901234567890", '"7"', "null", "01", "NaN", "9223372036854775808"]
        good = {"seq": [], "epoch": ["0", "9223372036854775807"], "job": ["9007199254740992"]}.get(
            member, ["0", "2147483647"])
        if member == "quantity":
            # As the entry of a rejected order.
            bad, good = bad[1:], [*good, "-1", "2147483648"]
    elif member == "at":
        bad = ['"0000-06-01T00:00:00Z"', '"0001-01-01T00:00:00Z"', '"9999-12-31T00:00:00Z"', '"2026-02-30T00:00:00Z"', '"yesterday"', "5", '"2026-11-01"', "null",
               '"2026-11-01T25:00:00Z"', '"10000-01-01T00:00:00Z"', '"2026-11-01T00:00:00.' + "0" * 60 + 'Z"']
        good = [f'"{time}"' for time in TIMES]
    elif member == "amount":
        bad = ["3.5", '"-1"', '"1e5"', '".5"', '"NaN"', '"3."', '"' + "9" * 33 + '"', "null"]
        good = ['"0"', *ODD_AMOUNTS, '"0000.10"']
    elif member in ("changes", "missing"):
        many = ",".join(f'"f{number}":1' for number in range(1001))
        bad = ["[]", '{"ki wi":1}', '{"kiwi":1.5}', '{"kiwi":1000000001}', '{"":1}', '{"kiwi":1,"kiwi":1}', f"{{{many}}}"]
        good = ['{"kiwi":-1000000000}', "{}", '{"k\\u0069wi":2}', f"{{{many.split(',', 1)[1]}}}", '{ "mango" : 0 }']
    else:
        bad = ["[" * 32 + "]" * 32, "1e400", "1e-500", f'"{noise(chance, 17_000)}"', '{"a":"\\u0000"}', "1." + "0" * 400,
               f'"{noise(chance, 140_000)}"', '"\udcff"', "tru", "{" + f'"a":1,"a":2' + "}"]
        good = ["12345678901234567890123", "-1.50e10", '{"a":[1e-300,"\\\\u0000"]}', f'"{noise(chance, 16_000)}"']
    is_good = bool(good) and chance.random() < 0.3
    return member, chance.choice(good if is_good else bad), is_good


class MadeUp:
    """Events in the order of their publication, and those that the archive must have."""

    def __init__(self, count: int, chance: random.Random) -> None:
        self.chance = chance
        self.sent: list[tuple[str, bytes]] = []
        self.valid: dict[tuple[str, int, int], dict[str, Any]] = {}
        self.refused = 0
        self.conflicts: set[tuple[str, int, int]] = set()
        self.last = {kiosk: (7, 0) for kiosk in KIOSKS}
        self.jobs: dict[str, list[int]] = {kiosk: [] for kiosk in KIOSKS}
        waiting: list[tuple[str, bytes, dict[str, str]]] = []
        for number in range(count):
            kiosk = chance.choice(KIOSKS)
            waiting.append(self.event(kiosk, START + number * timedelta(days=30) / count))
            # Events arrive out of order, up to several hundred later, and some twice.
            if len(waiting) > 500 or number == count - 1:
                chance.shuffle(waiting)
                sent = waiting if number == count - 1 else waiting[:250]
                waiting = [] if number == count - 1 else waiting[250:]
                for each in sent:
                    self.send(*each)

    def send(self, kiosk: str, payload: bytes, members: dict[str, str] | None) -> None:
        self.sent.append((kiosk, payload))
        if members is None:
            self.refused += 1
            return
        row = json.loads(payload, parse_float=Decimal)
        row["at"] = self.time(row["at"])
        key = (kiosk, row.get("epoch", 0), row["seq"])
        if self.valid.setdefault(key, row) != row:
            self.conflicts.add(key)
        if self.chance.random() < 0.02:
            self.sent.append((kiosk, payload))
        if self.chance.random() < 0.01:
            self.sent.append((kiosk, payload.replace(b'"status":', b'"added":true,"status":')))
            self.conflicts.add(key)

    @staticmethod
    def time(text: str) -> datetime:
        return TIMES.get(text) or datetime.fromisoformat(text)

    def event(self, kiosk: str, at: datetime) -> tuple[str, bytes, dict[str, str] | None]:
        chance = self.chance
        epoch, seq = self.last[kiosk]
        if chance.random() < 0.001:
            # A backup was restored; its last entries are lost and their numbers used again.
            epoch, seq = chance.randrange(1 << 53), max(0, seq - chance.randrange(20))
            self.jobs[kiosk] = []
        seq += 1
        self.last[kiosk] = (epoch, seq)
        members = {"seq": str(seq), "epoch": str(epoch), "at": f'"{at.strftime("%Y-%m-%dT%H:%M:%S")}Z"'} | self.content(
            kiosk, seq)
        if chance.random() < 0.1:
            member, value, is_good = hostile(chance)
            members[member] = value
            if not is_good or member == "amount" and value in ODD_AMOUNTS and "currency" in members:
                text = "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"
                return kiosk, text.encode(errors="surrogateescape"), None
        text = "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"
        return kiosk, text.encode(), members

    def content(self, kiosk: str, seq: int) -> dict[str, str]:
        chance = self.chance
        fruit = chance.choice(FRUITS)
        order = {"source": '"order/p1"', "juice": f'"{fruit}"', "quantity": str(chance.randrange(1, 4))}
        paid = {"amount": f'"{chance.randrange(1000) / 100:.2f}"', "currency": chance.choice(['"EUR"', '"USD"'])}
        changes = {"changes": f'{{"{fruit}":-{chance.randrange(1, 9)}}}'}
        jobs = self.jobs[kiosk]
        match chance.randrange(12):
            case 0:
                amounts = ",".join(f'"{each}":{chance.randrange(-3, 40)}' for each in FRUITS)
                return {"status": chance.choice(['"restocked"', '"opened"']), "changes": f"{{{amounts}}}"}
            case 1:
                return {"status": '"out_of_stock"', "missing": f'{{"{fruit}":{chance.randrange(1, 9)}}}'} | order
            case 2:
                return {"status": '"rejected"', "reason": '"closed"'} | order | {
                    "source": chance.choice(['"order/p1"', '"restock/desk"'])}
            case 3 | 4 | 5:
                jobs.append(seq)
                return {"status": '"accepted"', "machine": '"bar"', "place": "1"} | order | changes
            case 6 | 7 | 8 if jobs:
                job = jobs.pop(chance.randrange(len(jobs)))
                status = chance.choice(["made", "made", "made", "failed", "returned"])
                return {"status": f'"{status}"', "machine": chance.choice(['"bar"', '"tap"']), "job": str(job)} | order | paid
            case 9:
                return {"status": chance.choice(['"open"', '"closed"', '"poured"', '"levitated"'])}
            case _:
                return {"status": '"ready"', "ticket": str(seq)} | order | paid | changes


class Sums:
    """The sums of events, computed without the archive."""

    def __init__(
        self, valid: dict[tuple[str, int, int], dict[str, Any]], arrived: dict[tuple[str, int, int], datetime]
    ) -> None:
        """`arrived`: the entries that count for the day of their arrival, because their time is impossible."""
        valid = {key: {**row, "at": arrived.get(key, row["at"])} for key, row in valid.items()}
        self.sales: dict[tuple, list[int]] = defaultdict(lambda: [0] * 5)
        self.takings: dict[tuple, Decimal] = defaultdict(Decimal)
        self.fruits: dict[tuple, list[int]] = defaultdict(lambda: [0, 0])
        self.cups: dict[tuple, list[float]] = defaultdict(lambda: [0, 0, 0.0, 0.0])
        zone = ZoneInfo(ZONE)
        turns: dict[str, list[tuple]] = defaultdict(list)
        days: dict[tuple, list[int]] = defaultdict(list)
        for (kiosk, epoch, seq), row in sorted(valid.items(), key=lambda item: item[0]):
            days[kiosk, epoch, row["at"].astimezone(zone).date()].append(seq)
        runs = {(*group[:2], seq): (group[2], seq - number) for group, seqs in days.items()
                for number, seq in enumerate(seqs)}
        for (kiosk, epoch, seq), row in valid.items():
            day, status = f"{row['at'].astimezone(zone).date():%Y-%m-%d}".zfill(10), row["status"]
            counted = {"ready": 1, "made": 1, "out_of_stock": 2, "failed": 4, "returned": 4}.get(status)
            if status == "rejected" and row.get("source", "").startswith("order/"):
                counted = 3
            if counted:
                sums = self.sales[kiosk, day, row.get("juice", "")]
                sums[counted] += 1
                quantity = row.get("quantity", 0)
                sums[0] += quantity if counted == 1 and 0 <= quantity < 1 << 31 else 0
            # The amount of a failed order is that of the glasses that were made.
            if status in ("ready", "made", "failed") and "amount" in row and "currency" in row:
                self.takings[kiosk, day, row["currency"]] += Decimal(row["amount"])
            for fruit, amount in row.get("changes", {}).items() if status != "opened" else ():
                is_restock = status == "restocked"
                self.fruits[kiosk, day, fruit][is_restock] += amount if is_restock else -amount
            if status == "made":
                job = kiosk, epoch, row.get("job", seq)
                order = valid.get(job) if job[2] < seq and not {job, (kiosk, epoch, seq)} & arrived.keys() else None
                taken = (row["at"] - order["at"]).total_seconds() if order and order["status"] in (
                    "accepted", "awaiting_payment") else -1
                cup = self.cups[kiosk, day, row.get("machine", "")]
                cup[0] += 1
                cup[1] += taken < 0
                cup[2] += max(taken, 0)
                cup[3] = max(cup[3], taken)
            if status == "out_of_stock":
                turns[kiosk] += [(epoch, seq, row["at"], fruit, True) for fruit in row.get("missing", {})]
            if status in ("restocked", "opened"):
                turns[kiosk] += [(epoch, seq, row["at"], fruit, False)
                                 for fruit, amount in row.get("changes", {}).items() if amount > 0]
        now = datetime.now(timezone.utc)
        self.stockouts = {
            (kiosk, *stockout) for kiosk, each in turns.items() for stockout in self.periods(kiosk, each, runs, now)}

    @staticmethod
    def periods(kiosk: str, turns: list[tuple], runs: dict[tuple, tuple], now: datetime) -> Iterator[tuple]:
        """Of several turns alike, of one day and with successive numbers, the archive keeps the first one."""
        kept, last = [], {}
        for epoch, seq, at, fruit, is_out in sorted(turns, key=lambda turn: turn[:2]):
            group = (epoch, fruit, runs[kiosk, epoch, seq])
            if last.get(group) is not is_out:
                kept.append((epoch, seq, at, fruit, is_out))
            last[group] = is_out
        entries = sorted({turn[:3] for turn in kept})
        began, times = {}, {}
        for index, (epoch, seq, at) in enumerate(entries):
            began.setdefault(epoch, at)
            around = [entries[place][2] for place in (index - 1, index, index + 1)
                      if 0 <= place < len(entries) and entries[place][0] == epoch]
            times[epoch, seq] = sorted(around)[1] if len(around) == 3 else at
        for fruit in {turn[3] for turn in kept}:
            since = None
            own = [turn for turn in kept if turn[3] == fruit]
            for epoch, seq, told, _, is_out in sorted(own, key=lambda turn: (began[turn[0]], *turn[:2])):
                at = times[epoch, seq]
                if is_out and since is None:
                    since = at
                elif not is_out and since is not None:
                    until = at
                    if until < since:
                        since, until = (until, until) if since > now else (since, since)
                    yield fruit, min(since, now), min(until, now)
                    since = None
            if since is not None:
                yield fruit, min(since, now), None


def test_each_valid_event_counts_once_whatever_others_say(
    tmp_path: Path, server: Postgres, make_broker: MakeBroker, make_client: Callable[..., Client]
) -> None:
    seed = int(os.environ.get("ARCHIVE_SEED", random.randrange(1 << 32)))
    print(f"ARCHIVE_SEED={seed}")
    made_up = MadeUp(int(os.environ.get("ARCHIVE_EVENTS", 5_000)), random.Random(seed))
    # The events are published faster than they are stored.
    broker = make_broker(settings="max_queued_messages 0")
    archive = Archive(tmp_path / "archive.yaml", broker, server, time_zone=ZONE, gap_delay_seconds=86_400).start()
    try:
        client = make_client(port=broker.port)
        for start in range(0, len(made_up.sent), 10_000):
            sent = [client.client.publish(f"kiosk/{kiosk}/events", payload, 1)
                    for kiosk, payload in made_up.sent[start:start + 10_000]]
            sent[-1].wait_for_publish(TIMEOUT)
        stored = f"{len(made_up.valid)}|{made_up.refused}|0"
        question = ("SELECT (SELECT count(*) FROM juice.event), (SELECT coalesce(sum(times), 0) FROM juice.quarantine),"
                    " (SELECT days + failed FROM juice.summed_up)")
        try:
            eventually(lambda: server.try_query(question) == stored)
        except TimeoutError:
            assert server.query(question) == stored
        compare(server, made_up)
    finally:
        archive.kill()


def compare(database: Postgres, made_up: MadeUp) -> None:
    def rows(columns: str, table: str) -> list[list[str]]:
        return [line.split("|") for line in database.query(
            f"SELECT {columns} FROM juice.{table}").splitlines()]

    # A JSON text has no separator of psql in it that a kiosk could send.
    stored: dict[tuple, dict[str, Any]] = {}
    for line in database.query("SELECT row_to_json(event) FROM juice.event").splitlines():
        row = {name: value for name, value in json.loads(line, parse_float=Decimal).items() if value is not None}
        row |= row.pop("more", {})
        del row["part"]
        stored[row.pop("kiosk"), row["epoch"], row["seq"]] = row
    assert stored.keys() == made_up.valid.keys()
    for key, row in made_up.valid.items():
        told = {"epoch": 0} | row
        if "amount" in told:
            told["amount"] = Decimal(told["amount"])
            stored[key]["amount"] = Decimal(stored[key]["amount"])
        stored[key]["at"] = datetime.fromisoformat(stored[key]["at"])
        assert stored[key] == told, key
    assert {(kiosk, int(epoch), int(seq)) for kiosk, epoch, seq in rows("DISTINCT kiosk, epoch, seq", "conflict")} == (
        made_up.conflicts)

    def time(milliseconds: str) -> datetime | None:
        start = datetime(1970, 1, 1, tzinfo=timezone.utc)
        return start + timedelta(milliseconds=int(milliseconds)) if milliseconds else None

    arrived = {(kiosk, int(epoch), int(seq)): time(at) for kiosk, epoch, seq, at in rows(
        "kiosk, epoch, seq, (extract(epoch FROM arrived) * 1000)::bigint", "misdated")}
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    assert arrived.keys() == {
        key for key, row in made_up.valid.items() if not datetime(2020, 1, 1, tzinfo=timezone.utc) <= row["at"] <= tomorrow}
    with localcontext(prec=60):
        sums = Sums(made_up.valid, arrived)
    # The names of juices and others are any text.
    assert {tuple(json.loads(line)[:3]): json.loads(line)[3:] for line in database.query(
        "SELECT json_build_array(kiosk, day, juice, glasses, orders, out_of_stock, rejected, failed) FROM juice.sales"
    ).splitlines()} == sums.sales
    assert {tuple(json.loads(line)[:3]): Decimal(json.loads(line)[3]) for line in database.query(
        "SELECT json_build_array(kiosk, day, currency, amount::text) FROM juice.sold").splitlines()} == sums.takings
    assert {(kiosk, day, fruit): [int(used), int(restocked)] for kiosk, day, fruit, used, restocked in rows(
        "kiosk, day, fruit, used, restocked", "fruit_used")} == sums.fruits
    cups = {tuple(json.loads(line)[:3]): json.loads(line)[3:] for line in database.query(
        "SELECT json_build_array(kiosk, day, machine, made, unknown, coalesce(average * (made - unknown), 0),"
        " coalesce(slowest, 0)) FROM juice.time_to_cup").splitlines()}
    assert cups == {key: pytest.approx(cup) for key, cup in sums.cups.items()}

    recently = datetime.now(timezone.utc) - timedelta(minutes=10)

    def known(kiosk: str, fruit: str, since: datetime, until: datetime | None) -> tuple:
        """A time in the future is replaced by the time of the query."""
        return kiosk, fruit, min(since, recently), until and min(until, recently)

    assert {known(kiosk, fruit, time(since), time(until)) for kiosk, fruit, since, until in rows(
        "kiosk, fruit, (extract(epoch FROM since) * 1000)::bigint, (extract(epoch FROM until) * 1000)::bigint",
        "sold_out")} == {known(*each) for each in sums.stockouts}
    assert {(kiosk, fruit) for kiosk, fruit in rows("kiosk, fruit", "sold_out_now")} == {
        each[:2] for each in sums.stockouts if each[3] is None}
    assert database.query("SELECT count(*) FROM juice.sold_out WHERE hours < 0") == "0"
