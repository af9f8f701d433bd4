"""The archive stores each event of each kiosk once, even if processes are killed, and reports anomalies."""

import fcntl
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
import yaml

from archive import Archive, event, program as archive_program, tell
from arrivals import TIMEOUT, eventually
from client import Client
from conftest import MakeBroker, MakeClient, MakeKiosk, factory
from kiosk import ROOT, environment
from mosquitto import Mosquitto
from postgres import Postgres, program
from small_disk import SmallDisk

MakeArchive = Callable[..., Archive]


@pytest.fixture
def database(server: Postgres) -> Postgres:
    """A running and empty database."""
    if not server.process:
        server.start()
    server.query("DROP SCHEMA IF EXISTS juice CASCADE")
    return server


@pytest.fixture
def make_archive(
    tmp_path: Path, broker: Mosquitto, database: Postgres
) -> Iterator[MakeArchive]:
    number = itertools.count()
    yield from factory(
        lambda **settings: Archive(tmp_path / f"archive{next(number)}.yaml", broker, database, **settings),
        Archive.kill)


@pytest.fixture
def archive(make_archive: MakeArchive) -> Archive:
    return make_archive().start()


@pytest.fixture
def client(make_client: MakeClient) -> Client:
    return make_client()


def has(database: Postgres, sql: str, answer: str) -> None:
    eventually(lambda: database.try_query(sql) == answer)


def test_the_configuration_is_checked_with_the_database(
    database: Postgres, make_archive: MakeArchive, tmp_path: Path
) -> None:
    archive = make_archive()
    new = archive.command("check")
    assert new.returncode == 0 and "It has no archive yet" in new.stdout
    assert database.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'juice'") == "0"
    archive.start()
    assert "no archive yet" not in archive.command("check").stdout
    # The last one is a region of ICU, and not of PostgreSQL.
    for name, code in (("Asia/Seoul", 0), ("SystemV/PST8PDT", 78)):
        other = make_archive(time_zone=name).command("check")
        assert other.returncode == code, other.stderr
        assert code == 0 or "archive.time_zone" in other.stderr
    # Without a file.
    done = subprocess.run(
        [archive_program(), "fleet", "status"], capture_output=True, text=True,
        env=environment() | {"KIOSK_ARCHIVE_DATABASE": f"host={tmp_path} dbname=juice"})
    assert done.returncode == 69 and "\t" not in done.stderr and done.stderr.count("\n") == 1
    assert "there is no /etc/juice-archive/archive.yaml: give the archive's file with --config" in done.stderr


def test_the_state_of_the_archive_can_be_monitored(
    database: Postgres, make_archive: MakeArchive, make_client: Callable[..., Client]
) -> None:
    text = (ROOT / "deploy/monitoring/archive/queries.yaml").read_text()
    shipped = yaml.safe_load(text)["juice_archive"]
    # The exporter's role, with the rights that the file gives it.
    role = re.search(r"^#   createuser (\w+)$", text, re.M)[1]
    assert f"host=/run/postgresql user={role} dbname=juice" in text
    names = [name for metric in shipped["metrics"] for name in metric]

    def status() -> dict[str, float]:
        done = database.query(f"SET ROLE {role}; SELECT row_to_json(status) FROM ({shipped['query']}) status")
        return json.loads(done)

    archive = make_archive(gap_delay_seconds=86_400).start()
    database.query("; ".join([f"CREATE ROLE {role}", *re.findall("-c '(GRANT .*?)'", text)]))
    assert list(status()) == names
    sums_are_complete(database, 0)
    # Nothing has arrived: no figure says that all is well.
    assert status().pop("silent_seconds") > 0
    assert {**status(), "silent_seconds": 0} == dict.fromkeys(names, 0) | {
        "active": 1, "connected": 1, "behind_seconds": None}
    database.query("UPDATE juice.reception SET received = now() - interval '1 hour'")
    assert status()["silent_seconds"] >= 3600
    late, wrong = event(1), event(9)
    tell(make_client(), "k1", late, wrong, "{")
    sums_are_complete(database, 2)
    has(database, "SELECT count(*) FROM juice.quarantine", "1")
    database.query("UPDATE juice.gap SET since = since - interval '2 hours';"
                   " INSERT INTO juice.dirty_day (kiosk, day, since, due, error)"
                   " VALUES ('k1', '2026-01-01', now(), now() + interval '1 day', 'too long')")
    # The events are those of 1 November; `event` makes one for each minute. The archiver does not see the mark.
    found = json.loads(database.query(
        "BEGIN; INSERT INTO juice.dirty_day (kiosk, day, since, due)"
        " VALUES ('k2', '2026-01-01', now() - interval '1 hour', now() - interval '1 hour');"
        " SELECT row_to_json(status) FROM juice.archive_status status; ROLLBACK"))
    assert found["silent_seconds"] < 600 and found["behind_seconds"] > 0 and 3600 <= found["sums_behind_seconds"] < 4000
    assert (found["failed_days"], found["quarantined"], found["missing"]) == (1, 1, 7)
    # Another root than that of the kiosks.
    archive.stop()
    # The server notices the end of a connection later.
    eventually(lambda: (status()["active"], status()["connected"]) == (0, 0))
    database.query("UPDATE juice.reception SET received = now() - interval '1 hour'")
    make_archive(root="chain").start()
    tell(make_client(), "k1", event(2))
    eventually(lambda: status()["connected"] == 1)
    assert status()["silent_seconds"] >= 3600
    # An archiver that does nothing any more, and whose session the server still has.
    database.query("BEGIN; UPDATE juice.reception SET checked = now() - interval '2 minutes'; "
                   "DO $$ BEGIN ASSERT (SELECT active FROM juice.archive_status) = 0; END $$; ROLLBACK")


def test_an_archiver_without_a_broker_says_so(
    make_archive: MakeArchive, database: Postgres, broker: Mosquitto
) -> None:
    archive = make_archive().start()
    state = "SELECT active, connected FROM juice.archive_status"
    has(database, state, "1|1")
    broker.kill()
    archive.wait_for_log("waiting for it")
    has(database, state, "1|0")
    broker.start()
    has(database, state, "1|1")


# MARK: The schema

def session(database: Postgres, name: str, sql: str) -> subprocess.Popen:
    """A session that has run `sql` in a transaction, and keeps it open until it is killed."""
    process = subprocess.Popen(
        [program("psql"), "-X", "-q", "-o", "/dev/null", "-d", database.database], stdin=subprocess.PIPE, text=True)
    process.stdin.write(f"SET application_name = '{name}'; BEGIN; {sql};\n")
    process.stdin.flush()
    has(database, "SELECT count(*) FROM pg_stat_activity"
        f" WHERE application_name = '{name}' AND state = 'idle in transaction' AND query NOT LIKE 'BEGIN%'", "1")
    return process


def test_a_change_of_the_schema_may_outlast_the_timeout(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    """ARCHIVE_SLOW is the duration of the first CREATE INDEX of each attempt; the timeout is 2 s."""
    slow = int(os.environ.get("ARCHIVE_SLOW", 5))
    database.query(f"""
        CREATE FUNCTION public.slow() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
            IF clock_timestamp() < now() + interval '{slow} s' THEN PERFORM pg_sleep({slow}); END IF;
        END $$;
        CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION public.slow()""")
    try:
        archive = make_archive(timeout_seconds=2).launch()
        archive.wait_for_log("archiving", within=60 + 2 * slow)
        archive.wait_for_log("the schema is changed to version 1 of")
        archive.wait_for_log("a change of the schema has run for 5 s")
        assert not archive.log.count(lambda line: "has not answered" in line)
    finally:
        database.query("DROP EVENT TRIGGER slow; DROP FUNCTION public.slow")
    tell(client, "k1", event(1))
    sums_are_complete(database, 1)


def test_a_change_of_the_schema_waits_for_a_backup_and_says_so(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    """Of a real pg_dump, which cannot write any further and keeps its locks."""
    archive = make_archive(timeout_seconds=2).start()
    archive.stop()
    # As before an update to a release with one more migration, which changes a table.
    database.query("""
        DROP VIEW juice.batch, juice.waste;
        DELETE FROM juice.migration WHERE number = (SELECT max(number) FROM juice.migration);
        CREATE FUNCTION public.change() RETURNS event_trigger LANGUAGE plpgsql AS
            $$ BEGIN LOCK TABLE juice.event IN ACCESS EXCLUSIVE MODE; END $$;
        CREATE EVENT TRIGGER change ON ddl_command_start WHEN TAG IN ('CREATE VIEW')
            EXECUTE FUNCTION public.change()""")
    backup = subprocess.Popen([program("pg_dump"), "-d", database.database], stdout=subprocess.PIPE)
    fcntl.fcntl(backup.stdout, fcntl.F_SETPIPE_SZ, 4096)
    try:
        has(database, "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE granted"
            " AND relation = 'juice.event'::regclass AND application_name = 'pg_dump'", "1")
        archive.launch().wait_for_log("it waits for pg_dump")
        # For the alerts: an archiver is active and migrates.
        assert database.query("SELECT active, migrating, connected FROM juice.archive_status") == "1|1|0"
        # It ends at once, and leaves no session with the lock behind.
        assert archive.stop() == 0
        has(database, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", "0")
        since = len(archive.log)
        archive.launch().wait_for_log("it waits for pg_dump", since)
        # The backup goes on, to its end.
        assert b"CREATE TABLE juice.event" in backup.communicate(timeout=TIMEOUT)[0]
        assert backup.returncode == 0
        archive.wait_for_log("archiving", since)
    finally:
        backup.kill()
        backup.communicate()
        database.query("DROP EVENT TRIGGER change; DROP FUNCTION public.change")
    tell(client, "k1", event(1))
    sums_are_complete(database, 1)
    assert database.query("SELECT migrating FROM juice.archive_status") == "0"


def test_an_index_is_created_while_entries_are_archived(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    archive = make_archive(timeout_seconds=2).start()
    archive.stop()
    database.query("DROP INDEX juice.event_rare")
    # The key of the lock of IndexBuilder: an earlier archiver's session has not ended yet.
    earlier = session(database, "earlier", f"SELECT pg_advisory_lock({0x6A75_6963_0004})")
    reader = session(database, "report", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; TABLE juice.part")
    try:
        archive.start()
        eventually(lambda: sum("another session creates it" in line for line in archive.log) >= 3)
        earlier.kill()
        earlier.wait(TIMEOUT)
        has(database, "SELECT indexes_missing FROM juice.archive_status", "2")
        tell(client, "k1", event(1))
        sums_are_complete(database, 1)
        archive.wait_for_log("the creation of an index has run for 5 s; it waits for report")
    finally:
        for other in (earlier, reader):
            other.kill()
            other.wait(TIMEOUT)
    archive.wait_for_log("the index event_1_event_rare exists")
    assert database.query("SELECT indexes_missing FROM juice.archive_status") == "0"
    plan = database.query("SET enable_seqscan = off; EXPLAIN SELECT * FROM juice.waste; EXPLAIN SELECT * FROM juice.program")
    assert plan.count("event_1_event_rare") == 2, plan


def test_a_database_with_another_encoding_is_refused(
    make_archive: MakeArchive, database: Postgres
) -> None:
    database.query("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    try:
        archive = make_archive()
        archive.config.write_text(archive.config.read_text().replace("dbname=postgres", "dbname=latin"))
        for command in ("check", "run"):
            done = archive.command(command)
            assert done.returncode == 78, done.stderr
            assert "createdb -E UTF8 -T template0 -O juice-archive juice" in done.stderr
    finally:
        database.query("DROP DATABASE latin")


def sums_are_complete(database: Postgres, events: int) -> None:
    """Waits until this number of entries is stored and summed up."""
    has(database, "SELECT (SELECT count(*) FROM juice.event), days FROM juice.summed_up", f"{events}|0")


def test_an_event_is_a_row(archive: Archive, database: Postgres, client: Client) -> None:
    tell(
        client, "k1",
        event(1, "opened", changes={"kiwi": 10}),
        event(2, "ready", source="order/p1", id="a1", ticket=1, juice="kiwi", quantity=2, amount="7.50",
              currency="EUR",
              changes={"kiwi": -6}, cup="\\N\t'\n비"),
        event(1, "opened", epoch=5),
    )
    has(database, "SELECT count(*) FROM juice.event", "3")
    row = database.query(
        "SELECT kiosk, epoch, seq, at AT TIME ZONE 'UTC', status, source, id, juice, quantity, ticket,"
        " amount, currency, changes->'kiwi', more->>'cup' = E'\\\\N\\t''\\n비' FROM juice.event WHERE seq = 2")
    assert row == "k1|0|2|2026-11-01 00:02:00|ready|order/p1|a1|kiwi|2|1|7.50|EUR|-6|t"
    assert archive.stop() == 0
    assert archive.wait_for_log("stopped")


#: Members beyond those of the page of the protocol, which has an example of most outcomes.
ORDER = {"source": "order/p1", "id": "a1", "juice": "kiwi", "quantity": 1, "ticket": 7}
CHARGE = {"charge": 20, "device": "till", "amount": "7.00", "currency": "EUR"}
RECEIPT = {"payment": {"receipt": "0012", "trace": "7", "terminal": "T1", "card": "girocard", "last4": "1234"}}
SENSOR = {"sensor": "fridge", "value": -0.25, "unit": "°C", "fruits": ["kiwi"], "machines": ["bar"]}
PROGRAM = {"machine": "bar", "program": "clean"}
OTHERS: dict[str, dict[str, Any]] = {
    "awaiting_payment": ORDER | CHARGE, "held": ORDER | CHARGE | RECEIPT | {"job": 3, "machine": "bar", "place": 2},
    "captured": CHARGE | RECEIPT | {"job": 3}, "released": CHARGE, "refunded": CHARGE | RECEIPT,
    "capture": {"source": "charge/anna"} | CHARGE, "release": {"source": "charge/anna", "charge": 3},
    "refund": {"source": "charge/anna"} | CHARGE, "kept": {"source": "charge/anna", "charge": 3},
    "paid_back": {"source": "charge/anna"} | CHARGE, "written_off": {"source": "charge/anna"} | CHARGE,
    "total": {"device": "till", "difference": -350, "day_total": {
        "total": 7, "at": "2026-11-01T15:59:00Z", "currency": "EUR", "captured": 700, "refunded": 350, "count": 2}},
    "program_due": PROGRAM | {"reason": "hours"}, "program_requested": PROGRAM | {"job": 9, "source": "program/anna"},
    "program_done": PROGRAM | {"job": 9, "changes": {"kiwi": -2}}, "program_failed": PROGRAM | {"job": 9, "reason": "jam"},
    "sensor_alarm": SENSOR, "sensor_blocked": SENSOR, "sensor_silent": {"sensor": "fridge"}, "sensor_ok": SENSOR,
    "sensor_gap": SENSOR | {"gap": 36_000, "in_doubt": True, "outside": 36_000},
    "sensor_hour": {"sensor": "fridge", "unit": "°C", "hour": "2026-11-01T10:00:00Z", "min": None, "max": 7.0,
                    "low": 3.5, "high": 8.25, "outside": 600, "measured": 3600},
    "sensor_discard": SENSOR | {"word": "warm", "changes": {"kiwi": -4}, "source": "sensor/anna"},
    "sensor_release": SENSOR | {"word": "비 \\\"\t"}, "levitated": {"new": [{"a": None}, 1.50, "\\N"], "place": 0},
    "rejected": {"source": "order/p1", "reason": "quantity_out_of_range", "quantity": -5_000_000_000},
}


def test_an_entry_comes_back_as_it_was_sent(archive: Archive, database: Postgres, client: Client) -> None:
    """Of each outcome, also of one that this release does not know."""
    page = (ROOT / "deploy/docs/protocol.md").read_text()
    examples = [each for block in re.findall(r"```json\n(.*?)```", page, re.S)
                for each in re.split(r"\n(?=\{)", block.strip()) if '"epoch"' in each and '"seq"' in each]
    sent = [each for each in map(json.loads, examples) if "status" in each and "at" in each and "used" not in each]
    sent += [{"seq": 1, "epoch": 7, "at": "2026-11-01T00:00:00.120Z", "status": status, **members}
             for status, members in OTHERS.items()]
    # A kiosk without epochs, at a full second.
    sent.append({"seq": 1, "at": "2026-11-01T00:00:00Z", "status": "open"})
    source = "".join(file.read_text() for file in (ROOT / "Sources/Shared/KioskProtocol").rglob("LedgerEntry*.swift"))
    cases = re.search(r"enum Status: String.*?\n  }", source, re.S)[0]
    statuses = {value or name for names in re.findall(r"case (.*)", cases) for name, value in
                re.findall(r'(\w+)(?: = "(\w+)")?', names)}
    assert len(statuses) > 30 and {each["status"] for each in sent} == statuses | {"levitated"}
    sent = [each | {"seq": number} for number, each in enumerate(sent, 1)]
    tell(client, "k1", *sent)
    has(database, "SELECT count(*) FROM juice.event", f"{len(sent)}")
    rows = database.query("SELECT juice.payload(event) FROM juice.event ORDER BY seq").splitlines()
    for each, row in zip(sent, rows, strict=True):
        assert json.loads(row) == each
    # The same entries again are no conflict.
    tell(client, "k1", *sent)
    tell(client, "k1", event(99))
    has(database, "SELECT count(*) FROM juice.event", f"{len(sent) + 1}")
    assert database.query("SELECT count(*) FROM juice.conflict") == "0"


def test_a_repeat_is_nothing_and_a_contradiction_is_told(
    archive: Archive, database: Postgres, client: Client
) -> None:
    tell(client, "k1", event(1), event(2, juice="kiwi"), event(2, juice="kiwi"))
    has(database, "SELECT count(*) FROM juice.event", "2")
    tell(client, "k1", event(2, juice="kiwi"), event(2, juice="mango"), event(2, juice="mango"), event(3))
    tell(client, "k2", event(1))
    has(database, "SELECT count(*) FROM juice.event", "4")
    assert database.query("SELECT kiosk, epoch, seq, juice FROM juice.conflict") == "k1|0|2|mango"
    assert database.query("SELECT juice FROM juice.event WHERE kiosk = 'k1' AND seq = 2") == "kiwi"
    archive.wait_for_log("k1 sent different entries with numbers that are already stored")


def test_rows_that_somebody_else_has_put_there_stay(
    archive: Archive, database: Postgres, client: Client
) -> None:
    database.query("INSERT INTO juice.event (kiosk, epoch, seq, at, status)"
                   " VALUES ('k1', 0, 2, '2026-11-01T00:02:00Z', 'open'),"
                   " ('k1', 0, 3, '2026-11-01T00:03:00Z', 'closed')")
    tell(client, "k1", event(1), event(2), event(3), event(4))
    has(database, "SELECT string_agg(status, ' ' ORDER BY seq) FROM juice.event", "open open closed open")
    has(database, "SELECT seq, status FROM juice.conflict", "3|open")
    assert database.query("SELECT low, high FROM juice.ledger") == "1|4"


def test_what_cannot_be_read_stops_nothing(archive: Archive, database: Postgres, client: Client) -> None:
    odd: list[str | bytes] = [
        b"\xff\xfe\x00", "{", '{"seq":1}', '{"seq":1,"at":"2026-11-01T00:00:00Z","status":"a\\u0000b"}',
        "x" * 200_000,
    ]
    tell(client, "k1", *odd, *odd, event(1))
    has(database, "SELECT count(*) FROM juice.event", "1")
    assert database.query("SELECT count(*), sum(times), max(length(payload)) FROM juice.quarantine") == "5|10|4096"
    reason = database.query("SELECT topic, reason FROM juice.quarantine WHERE payload LIKE '%b\"}'")
    assert reason == "kiosk/k1/events|'status' contains U+0000, which PostgreSQL cannot store"
    archive.wait_for_log("a message on kiosk/k1/events cannot be archived")


def test_an_order_with_a_bad_quantity_leaves_no_gap(archive: Archive, database: Postgres, client: Client) -> None:
    order = {"source": "order/p1", "juice": "kiwi"}
    tell(client, "k1", event(1), event(2, "rejected", **order, quantity=-1, reason="quantity_out_of_range"), event(3))
    has(database, "SELECT count(*) FROM juice.event", "3")
    assert database.query("SELECT quantity IS NULL, more FROM juice.event WHERE seq = 2") == 't|{"quantity": -1}'
    for table in ("gap", "quarantine"):
        assert database.query(f"SELECT count(*) FROM juice.{table}") == "0", table


def test_gaps_are_found_and_closed(archive: Archive, database: Postgres, client: Client) -> None:
    gaps = "SELECT string_agg(epoch || ':' || first || '-' || last, ' ' ORDER BY epoch, first) FROM juice.missing"
    tell(client, "k1", event(3), event(4), event(9), event(20, epoch=7), event(22, epoch=7))
    # The entries before 20 may belong to an earlier ledger, but not to a known one.
    has(database, gaps, "0:1-2 0:5-8 7:10-19 7:21-21")
    since = database.query("SELECT since FROM juice.gap WHERE last = 8")
    tell(client, "k1", event(6))
    has(database, gaps, "0:1-2 0:5-5 0:7-8 7:10-19 7:21-21")
    assert database.query("SELECT count(*) FROM juice.gap WHERE since = '" + since + "'") >= "2"
    tell(client, "k1", event(8), event(5), event(7), event(1), event(2), event(21, epoch=7))
    has(database, gaps, "7:10-19")
    assert database.query("SELECT low, high FROM juice.ledger ORDER BY epoch") == "1|9\n1|22"


def test_what_an_earlier_ledger_has_is_not_missing(
    archive: Archive, database: Postgres, client: Client
) -> None:
    missing = "SELECT epoch || ':' || first || '-' || last FROM juice.missing ORDER BY 1"
    tell(client, "k1", event(8, epoch=100))
    has(database, missing, "100:1-7")
    # Sent again; the entries from the backup with their original epoch.
    tell(client, "k1", *[event(seq, epoch=500) for seq in range(1, 6)])
    has(database, missing, "100:6-7")
    tell(client, "k1", event(6, epoch=100), event(7, epoch=100))
    has(database, missing, "")


def test_a_schema_of_a_later_program_is_left_alone(archive: Archive, database: Postgres) -> None:
    assert archive.stop() == 0
    database.query("INSERT INTO juice.migration (number) VALUES (99)")
    archive.launch()
    assert archive.wait() == 78
    assert "the archive's schema has version 99" in list(archive.log)[-1]
    assert archive.command("fleet", "abort").returncode == 78
    assert database.query("SELECT max(number) FROM juice.migration") == "99"
    # Of one version later, an operator can still look at a rollout and end it.
    last = database.query("DELETE FROM juice.migration WHERE number = 99;"
                          "INSERT INTO juice.migration SELECT max(number) + 1 FROM juice.migration RETURNING number")
    assert archive.command("fleet", "list").returncode == 0
    assert archive.command("kiosks", "list").returncode == 0
    assert "there is no roll-out" in archive.command("fleet", "abort").stderr
    assert archive.command("fleet", "resume").returncode == 78
    # No command migrates.
    database.query(f"DELETE FROM juice.migration WHERE number >= {int(last) - 1}")
    assert "restart 'juice-archive run'" in archive.command("fleet", "list").stderr
    assert database.query("SELECT max(number) FROM juice.migration") == f"{int(last) - 2}"


def test_the_views_add_up(make_archive: MakeArchive, database: Postgres, client: Client) -> None:
    make_archive(time_zone="Asia/Seoul").start()
    order = {"source": "order/p1", "juice": "kiwi", "quantity": 1}
    job = {"machine": "bar", "ticket": 3} | order
    events = [
        event(1, "opened", changes={"kiwi": 9, "mango": 9}),
        event(2, "ready", **order, ticket=1, amount="3.50", currency="EUR", changes={"kiwi": -3}),
        # 15:10 in UTC is the next day in Seoul.
        event(3, "ready", 910, **order | {"quantity": 2}, ticket=2, amount="7.00", currency="EUR", changes={"kiwi": -6}),
        event(4, "out_of_stock", 912, **order, missing={"kiwi": 3}),
        event(5, "out_of_stock", 940, **order, missing={"kiwi": 3}),
        event(6, "rejected", 941, source="restock/desk", reason="conflict"),
        event(7, "rejected", 941, source="order/p1", juice="tea", quantity=1, reason="unknown_juice"),
        event(8, "restocked", 972, source="restock/desk", changes={"kiwi": 30, "mango": -1}),
        event(9, "accepted", 980, **job, place=1, changes={"kiwi": -3}),
        event(10, "made", 980.5, **job, job=9, amount="3.50", currency="USD"),
        event(11, "accepted", 981, **job, place=1, changes={"kiwi": -3}),
        event(12, "failed", 982, **job, job=11, reason="jam", changes={"kiwi": 3}),
        event(13, "made", 983, **job, job=99),
        event(14, "out_of_stock", 990, **order, missing={"mango": 3}),
    ]
    late = events.pop(8)
    tell(client, "k1", *events)
    sums_are_complete(database, 13)
    # A juice whose order has not arrived counts as made, with an unknown time.
    assert database.query("SELECT made, unknown FROM juice.time_to_cup") == "2|2"
    assert database.query("SELECT sum(used) FROM juice.fruit_used WHERE fruit = 'kiwi'") == "9"
    tell(client, "k1", late, late)
    sums_are_complete(database, 14)
    assert database.query("SELECT made, unknown, average FROM juice.time_to_cup") == "2|1|30"

    def view(columns: str, name: str) -> list[str]:
        return database.query(f"SELECT {columns} FROM juice.{name} ORDER BY 1, 2").splitlines()

    assert view("day, juice, glasses, orders, out_of_stock, rejected, failed", "sales") == [
        "2026-11-01|kiwi|1|1|0|0|0", "2026-11-02|kiwi|4|3|3|0|1", "2026-11-02|tea|0|0|0|1|0"]
    assert view("day, currency, amount", "sold") == [
        "2026-11-01|EUR|3.50", "2026-11-02|EUR|7.00", "2026-11-02|USD|3.50"]
    assert view("day, fruit, used, restocked", "fruit_used") == [
        "2026-11-01|kiwi|3|0", "2026-11-02|kiwi|9|30", "2026-11-02|mango|0|-1"]
    assert view("fruit, hours, until IS NULL", "sold_out WHERE until IS NOT NULL") == [
        "kiwi|1.00000000000000000000|f"]
    tell(client, "k2", event(1, "program_due", machine="bar", program="clean", reason="hours"))
    eventually(lambda: view("machine, program, status, reason", "program") == ["bar|clean|program_due|hours"])
    hour = {"sensor": "fridge", "unit": "°C", "max": 7.0, "hour": "2026-11-01T10:00:00Z", "low": 3.5, "high": 8.25,
            "outside": 600, "measured": 3600}
    discard = {"source": "job/anna", "sensor": "fridge", "value": 9.5, "unit": "°C", "fruits": ["kiwi"],
               "word": "warm", "changes": {"kiwi": -4}}
    # Something that is no hour, longer than an entry of an index may be, stops nothing.
    tell(client, "k2", event(2, "sensor_hour", 660, **hour), event(3, "sensor_hour", hour="9 " * 5000, low=[1]),
         event(4, "sensor_discard", **discard))
    columns = "hour, sensor, unit, min, max, low, high, outside_seconds, measured_seconds"
    eventually(lambda: view(columns, "sensor_hour WHERE sensor IS NOT NULL") == [
        "2026-11-01T10:00:00Z|fridge|°C||7.0|3.5|8.25|600|3600"])
    eventually(lambda: view("sensor, status, source, value, unit, fruits, machines, word, changes", "sensor") == [
        'fridge|sensor_discard|job/anna|9.5|°C|["kiwi"]||warm|{"kiwi": -4}'])
    # Batches that are no objects stop nothing.
    tell(client, "k3",
         event(1, "restocked", source="restock/desk", changes={"kiwi": 12}, batches=[
             {"fruit": "kiwi", "batch": 1, "amount": 12, "expires": "2026-12-01T09:00:00Z"}]),
         event(2, "ready", 1, **order, changes={"kiwi": -3}, batches=[{"fruit": "kiwi", "batch": 1, "amount": -3}]),
         event(3, "expired", 2, changes={"kiwi": -9}, batches=[{"fruit": "kiwi", "batch": 1, "amount": -9}]),
         event(4, "removed", 3, source="restock/desk", reason="damaged", changes={"mango": -2}, expired={"kiwi": 9},
               amount="3.60", currency="EUR"),
         event(5, "restocked", 4, batches={"fruit": [7]}), event(6, "restocked", 5, batches=["kiwi", 7, None]))
    eventually(lambda: view("seq, status, fruit, batch, amount, expires", "batch WHERE fruit <> '[7]'") == [
        "1|restocked|kiwi|1|12|2026-12-01T09:00:00Z", "2|ready|kiwi|1|-3|", "3|expired|kiwi|1|-9|"])
    assert view("kiosk, reason, source, changes, expired, cost, currency", "waste") == [
        'k2|spoiled|job/anna|{"kiwi": -4}|||', 'k3|damaged|restock/desk|{"mango": -2}|{"kiwi": 9}|3.60|EUR']
    # As on the kiosk, what is discarded is no use.
    eventually(lambda: view("fruit, used, restocked", "fruit_used WHERE kiosk = 'k2'") == ["kiwi|0|-4"])
    assert view("fruit, taken", "time_to_restock") == ["kiwi|01:00:00"]
    assert view("fruit, until IS NULL", "sold_out WHERE fruit = 'mango'") == ["mango|t"]
    lasting = "kiosk, fruit, since FROM juice.sold_out"
    assert view("kiosk, fruit", "sold_out_now") == ["k1|mango"]
    assert database.query(f"SELECT {lasting} WHERE until IS NULL EXCEPT SELECT {lasting}_now") == ""
    # After a backup was restored.
    tell(client, "k1", event(14, "restocked", 1020, epoch=3, changes={"mango": 5}))
    has(database, "SELECT until - since FROM juice.sold_out WHERE fruit = 'mango'", "00:30:00")
    assert view("kiosk, fruit", "sold_out_now") == []


def test_payments_add_up_in_whatever_order_they_arrive(
    make_archive: MakeArchive, database: Postgres, make_client: Callable[..., Client], chance: random.Random
) -> None:
    make_archive(time_zone="Asia/Seoul").start()
    order = {"juice": "kiwi", "quantity": 1, "ticket": 1}
    price = {"amount": "3.50", "currency": "EUR"}

    def asked(seq: int, minute: float, charge: int, panel: str = "p1", **more: Any) -> dict[str, Any]:
        return event(seq, "awaiting_payment", minute, source=f"order/{panel}", charge=charge, device="till",
                     **order | price | more)

    def step(seq: int, status: str, minute: float, charge: int, job: int, **more: Any) -> dict[str, Any]:
        return event(seq, status, minute, charge=charge, device="till", job=job, **order | price | more)

    paid = {"receipt": "0012", "trace": "7", "terminal": "T1", "card": "girocard", "last4": "1234"}
    events = [
        event(1, "opened", changes={"kiwi": 90}),
        # 15:00 in UTC is midnight in Seoul: asked before, made and captured after it, and refunded.
        asked(2, 899, 100),
        step(3, "held", 899.5, 100, 2, machine="bar", place=1),
        event(4, "made", 901, job=2, machine="bar", **order | price),
        step(5, "captured", 901.1, 100, 2, payment=paid),
        step(6, "refunded", 930, 100, 2, payment=paid),
        # Declined; held, and a person must decide; half of it made.
        asked(7, 940, 101),
        event(8, "returned", 941, job=7, reason="declined", **order),
        asked(9, 942, 102, "p2"),
        step(10, "held", 943, 102, 9, reason="odd"),
        asked(11, 950, 103, quantity=2, amount="7.00"),
        step(12, "held", 951, 103, 11, quantity=2, amount="7.00", machine="bar", place=1),
        event(13, "failed", 952, job=11, machine="bar", reason="jam", **order | price),
        step(14, "captured", 953, 103, 11, quantity=2),
        # A hold that the ledger does not have, and one that was given back.
        event(15, "held", 954, charge=50, device="till", reason="no order", **price),
        event(16, "released", 955, charge=50, device="till", **price),
        event(17, "total", 960, device="till", difference=-350, day_total={
            "total": 7, "at": "2026-11-01T15:59:00Z", "currency": "EUR", "captured": 700, "refunded": 350, "count": 2}),
        event(18, "total", 961, device="till", difference="x", day_total=7),
        # A free juice of the same kiosk is no charge.
        event(19, "accepted", 970, machine="bar", place=1, source="order/staff", **order | price),
        event(20, "made", 971, job=19, machine="bar", **order | price),
        # Paid before midnight, and made after it: that day has no step of the charge.
        asked(21, 899.2, 104),
        step(22, "held", 899.3, 104, 21, machine="bar", place=1),
        step(23, "captured", 899.4, 104, 21),
        event(24, "made", 900.5, job=21, machine="bar", **order | price),
    ]
    chance.shuffle(events)
    client = make_client()
    for entry in events:
        tell(client, "k1", entry)
    sums_are_complete(database, len(events))

    def view(columns: str, name: str) -> list[str]:
        return database.query(f"SELECT {columns} FROM juice.{name} ORDER BY 1, 2").splitlines()

    assert view("charge, day, panel, quantity, asked, sold, captured, released, refunded, held", "charges") == [
        "50|2026-11-02|||0|0|0|3.50|0|0",
        "100|2026-11-01|p1|1|3.50|3.50|3.50|0|3.50|0",
        "101|2026-11-02|p1|1|3.50|0|0|0|0|0",
        "102|2026-11-02|p2|1|3.50|0|0|0|0|3.50",
        "103|2026-11-02|p1|2|7.00|3.50|3.50|0|0|0",
        "104|2026-11-01|p1|1|3.50|3.50|3.50|0|0|0"]
    assert view("receipt, trace, terminal, card, last4", "charges WHERE charge = 100") == ["0012|7|T1|girocard|1234"]
    assert view("day, panel, charges, sold, taken, given_back, written_off, open", "payments") == [
        "2026-11-01|p1|2|7.00|7.00|3.50|3.50|0",
        "2026-11-02|p1|2|3.50|3.50|0|0.00|0",
        "2026-11-02|p2|1|0|0|0|0|0",
        "2026-11-02||1|0|0|0|0|0"]
    assert view("day, sold, taken, given_back, written_off, open", "money") == [
        "2026-11-01|7.00|7.00|3.50|3.50|0", "2026-11-02|7.00|3.50|0|3.50|0"]
    assert view("device, currency, captured, refunded, count, difference", "payment_totals") == [
        "till|EUR|700|350|2|-350", "till|||||"]
    assert view("day, amount", "sold") == ["2026-11-02|14.00"]
    # The order of a paid juice is the entry that asks for the payment.
    assert database.query("SELECT made, unknown FROM juice.time_to_cup") == "3|0"


def test_stockouts_are_right_in_whatever_order_they_are_told(
    archive: Archive, database: Postgres, client: Client
) -> None:
    chance = random.Random(19)
    restocks = {seq: chance.random() < 0.3 for seq in range(1, 81)}
    expected, since = [], None
    for seq, is_restock in restocks.items():
        if is_restock and since:
            expected.append(f"{since}|{seq}")
        since = None if is_restock else since or seq
    expected += [f"{since}|"] if since else []
    seqs = list(restocks)
    chance.shuffle(seqs)
    minute = "extract(epoch FROM {} - '2026-11-01')::int / 60"
    for start in range(0, len(seqs), 20):
        tell(client, "k1", *[
            event(seq, "restocked", changes={"kiwi": 5}) if restocks[seq]
            else event(seq, "out_of_stock", juice="kiwi", quantity=1, missing={"kiwi": 3})
            for seq in seqs[start:start + 20]])
        sums_are_complete(database, start + 20)
    assert database.query(
        f"SELECT {minute.format('since')}, {minute.format('until')} FROM juice.sold_out ORDER BY 1"
    ).splitlines() == expected


def test_two_kiosks_with_one_id_are_seen(archive: Archive, database: Postgres, client: Client) -> None:

    def sold(minute: int, seq: int, epoch: int) -> dict[str, Any]:
        return event(seq, epoch=epoch) | {"at": f"2026-11-01T10:{minute:02}:00Z"}

    # k1 restored its ledger at 10:05, and the end of the old one arrives late. k2 stands for two
    # kiosks.
    tell(client, "k1", sold(1, 1, 7), sold(5, 3, 3), sold(6, 4, 3), sold(4, 2, 7))
    tell(client, "k2", sold(1, 1, 7), sold(5, 1, 3), sold(6, 2, 3), sold(7, 2, 7))
    tell(client, "k3", sold(1, 1, 7))
    has(database, "SELECT count(*) FROM juice.event", "9")
    assert database.query(
        "SELECT kiosk, epoch, other, to_char(latest, 'MI') FROM juice.shared_id") == "k2|3|7|06"


def test_a_clock_that_is_ahead_is_seen(archive: Archive, database: Postgres, client: Client) -> None:
    tell(client, "k1", event(1) | {"at": "2101-01-01T00:00:00Z"})
    tell(client, "k2", event(1) | {"at": "2001-01-01T00:00:00Z"})
    has(database, "SELECT count(*) FROM juice.ledger", "2")
    assert database.query("SELECT kiosk FROM juice.clock_ahead") == "k1"


# MARK: Sums

def test_a_day_that_cannot_be_summed_stops_no_other(
    archive: Archive, database: Postgres, client: Client
) -> None:
    database.query("ALTER TABLE juice.sales_day ADD CHECK (kiosk <> 'k2' OR day <> '2026-11-02')")
    sold = {"source": "order/p1", "juice": "kiwi", "quantity": 2}
    for kiosk in ("k1", "k2", "k3"):
        tell(client, kiosk, *[event(seq, "ready", minute, **sold) for seq, minute in ((1, 1), (2, 2000), (3, 4000))])
    sums_are_complete(database, 9)
    assert database.query("SELECT failed FROM juice.summed_up") == "1"
    assert database.query("SELECT kiosk, sum(glasses) FROM juice.sales GROUP BY 1 ORDER BY 1") == "k1|6\nk2|4\nk3|6"
    assert database.query("SELECT kiosk, day, attempts, error LIKE '%23514%' FROM juice.sums_behind") == (
        "k2|2026-11-02|1|t")
    assert database.query("SELECT count(*) FROM juice.quarantine") == "0"
    # It is tried again when it is due.
    database.query("ALTER TABLE juice.sales_day DROP CONSTRAINT sales_day_check;"
                   "UPDATE juice.dirty_day SET due = now()")
    has(database, "SELECT days + failed FROM juice.summed_up", "0")
    assert database.query("SELECT sum(glasses) FROM juice.sales WHERE kiosk = 'k2'") == "6"


def test_events_do_not_wait_for_sums(archive: Archive, database: Postgres, client: Client) -> None:
    blocker = subprocess.Popen(
        [program("psql"), "-X", "-q", "-d", database.database, "-c",
         "SET application_name = 'blocker'; BEGIN; LOCK TABLE juice.sales_day; SELECT pg_sleep(1000)"])
    try:
        has(database, "SELECT count(*) FROM pg_locks WHERE relation = 'juice.sales_day'::regclass AND granted", "1")
        for seq in range(1, 4):
            tell(client, "k1", event(seq, "ready", juice="kiwi", quantity=1))
            has(database, "SELECT count(*) FROM juice.event", f"{seq}")
            # The computation waits for the lock.
            has(database, "SELECT count(*) FROM pg_locks WHERE relation = 'juice.sales_day'::regclass AND NOT granted",
                "1")
            # It has sent this statement alone, so that the server's timeout comes before the client's.
            waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            assert database.query(f"SELECT query LIKE 'WITH %', query LIKE '%;%' {waiting}") == "t|f"
    finally:
        database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'blocker'")
        blocker.wait(TIMEOUT)
    sums_are_complete(database, 3)
    assert database.query("SELECT sum(glasses) FROM juice.sales") == "3"


def test_an_order_that_arrives_days_later_gives_its_cup_a_time(
    archive: Archive, database: Postgres, client: Client
) -> None:
    job = {"machine": "bar", "juice": "kiwi", "quantity": 1}
    tell(client, "k1", event(1), event(3, "made", 5000, job=2, **job))
    sums_are_complete(database, 2)
    assert database.query("SELECT day, made, unknown FROM juice.time_to_cup") == "2026-11-04|1|1"
    tell(client, "k1", event(2, "accepted", 10, place=1, **job))
    has(database, "SELECT day, made, unknown, average FROM juice.time_to_cup", "2026-11-04|1|0|299400")
    assert database.query("SELECT count(*) FROM juice.cup_waiting") == "0"


def test_an_order_that_arrives_days_later_is_paid_for_a_juice_made_in_part(
    archive: Archive, database: Postgres, client: Client
) -> None:
    order = {"juice": "kiwi", "quantity": 2, "ticket": 1, "currency": "EUR"}
    tell(client, "k1", event(1), event(3, "failed", 5000, job=2, machine="bar", reason="jam", amount="3.50", **order))
    sums_are_complete(database, 2)
    assert database.query("SELECT day, job FROM juice.cup_waiting") == "2026-11-04|2"
    tell(client, "k1", event(2, "awaiting_payment", 10, source="order/p1", charge=7, device="till", amount="7.00",
                             **order))
    has(database, "SELECT day, asked, sold FROM juice.charge_day ORDER BY 1", "2026-11-01|7.00|0\n2026-11-04|0|3.50")
    assert database.query("SELECT count(*) FROM juice.cup_waiting") == "0"


def test_a_clock_that_is_wrong_does_not_last(archive: Archive, database: Postgres, client: Client) -> None:
    """Restocks and stockouts are ordered by their numbers. Times that cannot be are replaced and marked."""
    out, full = {"juice": "kiwi", "missing": {"kiwi": 3}}, {"changes": {"kiwi": 9}}
    at = "2099-01-01T00:00:00Z"
    tell(client, "ahead", event(1, "opened", **full), event(2, "out_of_stock", **out) | {"at": at},
         event(3, "restocked", 60, **full))
    tell(client, "behind", event(1, "opened", **full), event(2, "out_of_stock", **out),
         event(3, "restocked", **full) | {"at": "1970-01-01T00:00:00Z"}, event(4, "out_of_stock", 100, **out))
    tell(client, "still-ahead", event(1, "out_of_stock", **out) | {"at": at})
    sums_are_complete(database, 8)
    # An impossible time is replaced by that of the arrival, and this by the time of the next entry.
    assert database.query("SELECT kiosk, round(hours::numeric, 2), is_bounded FROM juice.sold_out"
                          " WHERE until IS NOT NULL ORDER BY 1") == "ahead|0.00|t\nbehind|1.63|t"
    assert database.query("SELECT kiosk, since <= now(), is_bounded FROM juice.sold_out_now ORDER BY 1") == (
        "behind|t|f\nstill-ahead|t|f")
    assert database.query("SELECT kiosk FROM juice.wrong_clock ORDER BY 1") == "ahead\nbehind\nstill-ahead"
    assert database.query("SELECT hours >= 0 AND hours < 1 FROM juice.sold_out WHERE kiosk = 'still-ahead'") == "t"


def test_a_kiosk_over_its_quota_delays_nobody(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    """k0 sends entries of 4,000 days (the limit is 2,000), k1 of 3,000 ledgers (100)."""
    archive = make_archive(gap_delay_seconds=86_400).start()
    days = [event(seq, "ready", -1440 * (seq % 2000), juice="kiwi", quantity=1) for seq in range(1, 2001)]
    tell(client, "k0", *days)
    tell(client, "k1", *[event(1, epoch=epoch) for epoch in range(1, 3001)])
    for number in range(2, 6):
        tell(client, f"k{number}", event(1, "ready", juice="kiwi", quantity=1))
    # Their sums do not wait for the days of k0, of which at most two are computed in a second.
    has(database, "SELECT count(*) FROM juice.sales WHERE kiosk <> 'k0'", "4")
    assert int(database.query("SELECT count(*) FROM juice.dirty_day WHERE kiosk = 'k0'")) > 1000
    assert database.query("SELECT count(*) FROM juice.ledger WHERE kiosk = 'k1'") == "100"
    assert database.query("SELECT quota, refused FROM juice.over_quota WHERE kiosk = 'k1'") == "ledgers|2900"
    archive.wait_for_log("k1 is over its quota")
    # 2,000 days are no excess; one more is.
    assert database.query("SELECT count(*) FROM juice.over_quota WHERE kiosk = 'k0'") == "0"
    tell(client, "k0", event(2001, "ready", -1440 * 2100))
    has(database, "SELECT quota, refused, until > now() + interval '50 minutes' FROM juice.over_quota"
        " WHERE kiosk = 'k0'", "days|1|t")
    tell(client, "k0", event(2002, "ready", 1), *[event(1, epoch=epoch) for epoch in range(2, 152)])
    tell(client, "k2", event(2, "ready", juice="kiwi", quantity=1))
    has(database, "SELECT count(*) FROM juice.event WHERE kiosk = 'k2'", "2")
    assert database.query("SELECT high FROM juice.ledger WHERE kiosk = 'k0'") == "2000"
    # Each refused entry counts once, also if it exceeds two quotas.
    has(database, "SELECT refused FROM juice.over_quota WHERE kiosk = 'k0'", "152")
    assert database.query("SELECT over_quota FROM juice.archive_status") == "2"


def test_a_day_that_takes_too_long_is_computed_alone(
    archive: Archive, database: Postgres, client: Client
) -> None:
    database.query("""
        CREATE FUNCTION juice.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.kiosk = 'k1' THEN PERFORM pg_sleep(60); END IF; RETURN NEW;
        END $$;
        CREATE TRIGGER slow BEFORE INSERT ON juice.sales_day FOR EACH ROW EXECUTE FUNCTION juice.slow()""")
    for kiosk in ("k1", "k2", "k3"):
        tell(client, kiosk, event(1, "ready", juice="kiwi", quantity=1))
    has(database, "SELECT string_agg(kiosk, ' ' ORDER BY kiosk) FROM juice.sales", "k2 k3")
    has(database, "SELECT kiosk, attempts, error LIKE '%57014%' FROM juice.sums_behind", "k1|1|t")


def documented_queries() -> list[str]:
    """Returns each statement of SQL in the chain's pages and in the actions of its alerts."""
    pages = "\n".join(file.read_text() for file in sorted((ROOT / "deploy/docs").glob("chain*.md")))
    queries = re.findall(r"^(?:\\copy \()?(SELECT .*?)(?:\) TO .*|;)$", pages, re.M)
    queries += [" ".join(each.split()) for each in re.findall(r"`((?:SELECT|DELETE) [^`]*)`", pages)]
    for rule in yaml.safe_load((ROOT / "deploy/monitoring/archive/alerts.yaml").read_text())["groups"][0]["rules"]:
        queries += re.findall(r"^(SELECT .*?) shows", rule["annotations"]["action"])
    queries.append(yaml.safe_load(
        (ROOT / "deploy/monitoring/archive/queries.yaml").read_text())["juice_archive"]["query"])
    assert len(queries) == 14, queries
    return queries


def test_what_is_not_listed_counts_nowhere(
    archive: Archive, database: Postgres, client: Client, tmp_path: Path
) -> None:
    """Nor does an impossible time stop a query: each one of the page of the chain is run."""
    def load(*kiosks: str) -> None:
        file = tmp_path / "kiosks.csv"
        file.write_text("id,region,name,place\n" + "".join(f"{kiosk},north,,\n" for kiosk in kiosks))
        assert archive.command("kiosks", "load", file).returncode == 0

    load("k1", "k2")
    sold = {"source": "order/p1", "juice": "kiwi", "quantity": 1, "amount": "3.50", "currency": "EUR"}
    huge = {**sold, "quantity": 2_147_483_647, "missing": {"kiwi": 3}, "changes": {"kiwi": 3}, "charge": 7,
            "device": "till", "machine": "bar", "difference": 7, "day_total": {"captured": 7}, "sensor": "fridge",
            "batches": [{"fruit": "kiwi"}], "job": 1}
    statuses = ["ready", "out_of_stock", "made", "awaiting_payment", "held", "total", "removed", "sensor_hour",
                "sensor_alarm", "program_due", "failed"]
    tell(client, "stray", *[event(seq, status, **huge) for seq, status in enumerate(statuses, 1)],
         event(90, "ready", **huge) | {"at": "2101-01-01T00:00:00Z"}, event(1, epoch=3), event(2, epoch=7))
    far = ["9999-12-30T23:59:59.999Z", "2099-06-01T00:00:00Z", "1970-01-01T00:00:00Z", "0001-01-02T00:00:00Z"]
    tell(client, "k1", *[event(seq, "ready", **sold) | {"at": at} for seq, at in enumerate(far, 1)],
         event(5, "ready", **sold), event(6) | {"at": "9999-12-31T00:00:00Z"})
    sums_are_complete(database, len(statuses) + 3 + 5)
    has(database, "SELECT reason FROM juice.quarantine", "'at' is not a valid time")
    # An entry with an impossible time counts for the day of its arrival.
    today = "(now() AT TIME ZONE 'UTC')::date"
    assert database.query(f"SELECT kiosk, glasses, day >= {today} - 1 FROM juice.sales ORDER BY day") == (
        "k1|1|f\nk1|4|t")
    assert database.query("SELECT sum(amount) FROM juice.sold") == "17.50"
    assert database.query("SELECT count(*) FROM juice.wrong_clock") == "4"
    # No view has rows of a kiosk that is not listed, except for the one that is for them.
    views = database.query(
        "SELECT table_name FROM information_schema.columns JOIN information_schema.views USING (table_schema, table_name)"
        " WHERE table_schema = 'juice' AND column_name = 'kiosk' ORDER BY 1").split()
    assert len(views) > 20
    for view in views:
        count = database.query(f"SELECT count(*) FROM juice.{view} WHERE kiosk = 'stray'")
        assert count == ("1" if view == "unlisted" else "0"), view
    assert database.query("SELECT kiosk, ledgers FROM juice.unlisted") == "stray|3"
    assert database.query("SELECT unlisted FROM juice.archive_status") == "1"
    for query in documented_queries():
        for zone in ("Asia/Seoul", "America/New_York"):
            found = database.query(f"SET TimeZone = '{zone}'; " + query.replace("current_date - 30", "date '0001-01-01'"))
            # The queries of alerts are about what is wrong: kiosks that are not listed, unreadable messages.
            assert "stray" not in found or "juice.unlisted" in query, query
            assert "21474" not in found and "10000-" not in found and "BC" not in found, query
    # What a kiosk has sold counts after it was removed.
    load("k2")
    assert database.query("SELECT sum(glasses) FROM juice.sales") == "5"
    assert database.query("SELECT kiosk FROM juice.unlisted") == "stray"
    load("k1", "k2")
    assert database.query("SELECT count(*) FROM juice.former_kiosk") == "0"


def test_one_topic_does_not_displace_others_in_quarantine(
    archive: Archive, database: Postgres, client: Client
) -> None:
    tell(client, "k2", "{")
    tell(client, "k1", *[f"{{{number}" for number in range(150)])
    has(database, "SELECT topic, count(*) FROM juice.quarantine GROUP BY 1 ORDER BY 1",
        "kiosk/k1/events|100\nkiosk/k2/events|1")


def test_partitions_begin_every_month(make_archive: MakeArchive, database: Postgres, client: Client) -> None:
    """Also without keep_days: who sets it after years gets the space of the old entries at once."""
    archive = make_archive().start()
    tell(client, "k1", event(1))
    sums_are_complete(database, 1)
    archive.stop()
    database.query("UPDATE juice.part SET began = began - interval '31 days'")
    archive.start()
    has(database, "SELECT string_agg(number::text, ' ') FROM juice.part", "1 2")
    archive.stop()
    database.query("UPDATE juice.part SET ended = ended - interval '401 days' WHERE number = 1")
    make_archive(keep_days=400).start().wait_for_log("entries older than archive.keep_days are deleted")
    assert database.query("SELECT count(*) FROM juice.event") == "0"


def test_another_time_zone_counts_no_glass_twice(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    sold = {"source": "order/p1", "juice": "kiwi"}
    archive = make_archive().start()
    tell(client, "k1", *[event(seq, "ready", (seq * 12 + 6) * 60, **sold, quantity=seq) for seq in range(1, 5)])
    sums_are_complete(database, 4)
    days = "SELECT string_agg(extract(day FROM day) || ' ' || glasses, ', ' ORDER BY day) FROM juice.sales"
    assert database.query(days) == "1 1, 2 5, 3 4"
    for zone, expected in (("Asia/Seoul", "2 3, 3 7"), ("America/Los_Angeles", "1 3, 2 7"), ("UTC", "1 1, 2 5, 3 4")):
        archive.stop()
        archive = make_archive(time_zone=zone).start()
        has(database, days, expected)
        has(database, "SELECT count(*) FROM juice.dirty_day", "0")


def test_many_ledgers_of_a_kiosk_are_an_alert_and_no_load(
    archive: Archive, database: Postgres, client: Client
) -> None:
    """Each of the 100 ledgers of a kiosk, the most that it may have, begins with the same entry at the same time."""
    at = {"at": "2026-11-01T00:00:00Z"}
    out, full = {"juice": "kiwi", "missing": {"kiwi": 3}}, {"changes": {"kiwi": 9}}
    for kiosk in range(20):
        tell(client, f"k{kiosk}", *[
            event(3, *("restocked", 3) if epoch % 2 else ("out_of_stock", 3), epoch=epoch,
                  **full if epoch % 2 else out) | at
            for epoch in range(1, 101)])
    tell(client, "other", event(1, epoch=1))
    sums_are_complete(database, 2001)
    # They may have arrived around midnight.
    database.query("UPDATE juice.ledger SET since = '2026-11-01'")
    assert database.query("SELECT count(*), max(ledgers) FROM juice.many_ledgers") == "20|100"
    for view in ("missing", "shared_id", "sold_out"):
        plan = json.loads(database.query(f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM juice.{view}"))
        assert rows_of(plan[0]["Plan"]) < 20 * 2001, view


def rows_of(plan: dict[str, Any]) -> int:
    """Returns the number of rows that all steps of a query plan return or discard."""
    rows = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Join Filter", 0)
    return rows * plan["Actual Loops"] + sum(map(rows_of, plan.get("Plans", [])))


def test_old_entries_are_deleted_and_their_sums_stay(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    archive = make_archive(keep_days=10).start()
    sold = {"source": "order/p1", "juice": "kiwi", "quantity": 2}
    old = [event(seq, "ready", **sold) for seq in range(1, 51)]
    tell(client, "k1", *old[:20], *old[30:])
    tell(client, "k2", event(1, "ready", **sold))
    sums_are_complete(database, 41)
    # A day passes: new entries are stored in another partition.
    archive.stop()
    database.query("UPDATE juice.part SET began = now() - interval '2 days'")
    archive.start()
    has(database, "SELECT count(*) FROM juice.part", "2")
    tell(client, "k1", event(51, "ready", 3000, **sold))
    sums_are_complete(database, 42)
    # The sums of k2 lack an entry while the partition is deleted.
    archive.stop()
    database.query("UPDATE juice.part SET ended = now() - interval '11 days' WHERE number = 1;"
                   "INSERT INTO juice.dirty_day (kiosk, day, due) VALUES ('k2', '2026-11-01', now() + interval '1 day');"
                   "INSERT INTO juice.charge_day (day, kiosk, charge, at, device, asked, sold, held, captured, released,"
                   " refunded, cash, written_off, ticket, last4) SELECT '2026-11-01', kiosk, 7, now(), 'till', 1, 1, 1, 1,"
                   " 0, 0, 0, 0, 5, '1234' FROM unnest('{k1,k2}'::text[]) kiosk")
    archive.start().wait_for_log("entries older than archive.keep_days are deleted")
    assert database.query("SELECT number FROM juice.part") == "2"
    assert database.query("SELECT kiosk, seq FROM juice.event ORDER BY 1, 2") == "k1|51\nk2|1"
    assert database.query("SELECT kiosk, day FROM juice.closed_day") == "k1|2026-11-01"
    assert database.query("SELECT kiosk, sold, ticket, last4 FROM juice.charges ORDER BY 1") == "k1|1||\nk2|1|5|1234"
    # The kiosk sends all entries again, and some that were missing.
    tell(client, "k1", *old, event(52, "ready", 3001, **sold))
    tell(client, "k2", event(2, "ready", **sold))
    has(database, "SELECT count(*) FROM juice.event", "14")
    database.query("UPDATE juice.dirty_day SET due = now()")
    sums_are_complete(database, 14)
    assert database.query("SELECT string_agg(kiosk || seq, ' ' ORDER BY kiosk, seq) FROM juice.event") == " ".join(
        [f"k1{seq}" for seq in [*range(21, 31), 51, 52]] + ["k21", "k22"])
    assert database.query("SELECT kiosk, day, glasses FROM juice.sales ORDER BY 1, 2") == (
        "k1|2026-11-01|80\nk1|2026-11-03|4\nk2|2026-11-01|4")
    for table in ("gap", "conflict", "quarantine"):
        assert database.query(f"SELECT count(*) FROM juice.{table}") == "0", table


def test_a_job_of_a_deleted_day_waits_for_no_order(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    archive = make_archive(keep_days=10).start()
    tell(client, "k1", event(1), event(3, "made", 60, job=2, machine="bar", juice="kiwi", quantity=1))
    sums_are_complete(database, 2)
    assert database.query("SELECT job FROM juice.cup_waiting") == "2"
    archive.stop()
    database.query("UPDATE juice.part SET began = now() - interval '2 days'")
    archive.start()
    has(database, "SELECT count(*) FROM juice.part", "2")
    assert database.query("SELECT job FROM juice.cup_waiting") == "2"
    archive.stop()
    database.query("UPDATE juice.part SET ended = now() - interval '11 days' WHERE number = 1")
    archive.start().wait_for_log("entries older than archive.keep_days are deleted")
    assert database.query("SELECT count(*) FROM juice.cup_waiting") == "0"
    assert database.query("SELECT made, unknown FROM juice.time_to_cup") == "1|1"


def test_the_newest_fruits_of_a_kiosk_outlast_their_partition(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    archive = make_archive(keep_days=10).start()
    full = {"changes": {"kiwi": 1}}
    tell(client, "k1", *[event(seq, "opened", **full) for seq in range(1, 131)])
    tell(client, "k2", event(1, "opened", **full), event(2))
    sums_are_complete(database, 132)
    archive.stop()
    database.query("UPDATE juice.part SET began = now() - interval '2 days'")
    archive.start()
    has(database, "SELECT count(*) FROM juice.part", "2")
    tell(client, "k1", *[event(seq, "opened", **full) for seq in range(131, 141)])
    sums_are_complete(database, 142)
    archive.stop()
    database.query("UPDATE juice.part SET ended = now() - interval '11 days' WHERE number = 1")
    archive.start().wait_for_log("entries older than archive.keep_days are deleted")
    assert database.query("SELECT kiosk, count(*), min(seq) FROM juice.event GROUP BY 1 ORDER BY 1") == (
        "k1|100|41\nk2|1|1")


def test_an_archiver_that_deletes_a_partition_ends_at_once(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    archive = make_archive(keep_days=10).start()
    tell(client, "k1", event(1))
    sums_are_complete(database, 1)
    archive.stop()
    database.query("""
        CREATE FUNCTION juice.sleep() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN PERFORM pg_sleep(1000); RETURN NULL; END';
        CREATE TRIGGER sleep BEFORE INSERT ON juice.closed_day EXECUTE FUNCTION juice.sleep();
        UPDATE juice.part SET ended = now() - interval '11 days'""")
    sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    archive.start()
    try:
        has(database, f"SELECT count(*) {sleeping}", "1")
        assert archive.stop() == 0
    finally:
        database.query(f"SELECT pg_terminate_backend(pid) {sleeping}")


def test_conflicts_of_a_key_are_limited(archive: Archive, database: Postgres, client: Client) -> None:
    tell(client, "k1", event(1), event(2))
    for start in (0, 8):
        tell(client, "k1", *[event(1, juice=f"j{number}") for number in range(start, start + 8)])
    tell(client, "k1", event(2, juice="kiwi"), event(3))
    has(database, "SELECT count(*) FROM juice.event", "3")
    assert database.query("SELECT seq, count(*) FROM juice.conflict GROUP BY 1 ORDER BY 1") == "1|10\n2|1"


def test_conflicts_of_a_kiosk_are_limited_and_deleted(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    archive = make_archive().start()
    database.query("INSERT INTO juice.conflict (kiosk, epoch, seq, at, status, digest, detected)"
                   " SELECT 'k1', 5, n, now(), 'open', md5(n::text)::uuid, now() - interval '11 days'"
                   " FROM generate_series(1, 9999) n")
    for kiosk in ("k1", "k2"):
        tell(client, kiosk, event(1), event(2))
        tell(client, kiosk, event(1, juice="kiwi"), event(2, juice="kiwi"), event(3))
    has(database, "SELECT count(*) FROM juice.event", "6")
    count = "SELECT kiosk, count(*) FROM juice.conflict GROUP BY 1 ORDER BY 1"
    assert database.query(count) == "k1|10000\nk2|2"
    archive.stop()
    make_archive(keep_days=10).start()
    has(database, count, "k1|1\nk2|2")


# MARK: Replays

GAPS = "SELECT string_agg(epoch || ':' || first || '-' || last, ' ' ORDER BY epoch, first) FROM juice.gap"


def ask(client: Client, since: int = 0) -> dict[str, Any]:
    """Returns the next replay request of the archive to k1, after the first `since` messages."""
    return client.messages.first(lambda m: m.topic == "kiosk/k1/replay/juice-archive", since).json


def answer(client: Client, question: dict[str, Any], status: str, **members: Any) -> None:
    epoch = {} if status == "rejected" else {"epoch": question["epoch"]}
    client.publish("kiosk/k1/replay/juice-archive/result",
                   json.dumps({"id": question["id"], "status": status} | epoch | members))


def test_a_kiosk_says_where_its_ledgers_begin(
    make_archive: MakeArchive, database: Postgres, make_client: MakeClient
) -> None:
    """Three ledgers, of which the archive has received only the end of the last one."""
    make_archive(gap_delay_seconds=1).start()
    client = make_client("kiosk/k1/replay/juice-archive")
    tell(client, "k1", event(20, epoch=7))
    question = ask(client)
    assert (question["epoch"], question["from"], question["to"]) == (7, 1, 20)
    since = len(client.messages)
    answer(client, question, "replaying", **{"from": 18, "to": 20}, before=9)
    has(database, GAPS, "7:18-19 9:1-17")
    tell(client, "k1", event(18, epoch=7), event(19, epoch=7), event(20, epoch=7))
    answer(client, question, "done", **{"from": 18, "to": 20})
    question = client.messages.first(lambda m: m.json["epoch"] == 9, since).json
    answer(client, question, "replaying", **{"from": 5, "to": 17}, before=3)
    tell(client, "k1", *[event(seq, epoch=9) for seq in range(5, 18)])
    answer(client, question, "done", **{"from": 5, "to": 17})
    question = client.messages.first(lambda m: m.json["epoch"] == 3, since).json
    tell(client, "k1", *[event(seq, epoch=3) for seq in range(1, 5)])
    answer(client, question, "done", **{"from": 1, "to": 4})
    has(database, GAPS, "")
    assert database.query("SELECT epoch, low, high FROM juice.ledger ORDER BY 1") == "3|1|4\n7|18|20\n9|5|17"


def test_a_kiosk_names_no_more_ledgers_than_its_quota(
    make_archive: MakeArchive, database: Postgres, make_client: MakeClient
) -> None:
    """k1 has 100 ledgers, the most that it may have. It names an unknown one, and one of the 100."""
    make_archive(gap_delay_seconds=1).start()
    client = make_client("kiosk/k1/replay/juice-archive")
    tell(client, "k1", *[event(1, epoch=epoch) for epoch in range(1, 99)], event(20, epoch=200), event(20, epoch=300))
    question = ask(client)
    since = len(client.messages)
    part = {"from": 18, "to": 20}
    answer(client, question, "replaying", **part, before=150)
    answer(client, question, "done", **part)
    other = 500 - question["epoch"]
    question = client.messages.first(lambda m: m.json["epoch"] == other, since).json
    answer(client, question, "replaying", **part, before=98)
    has(database, GAPS, "98:2-17 200:18-19 300:18-19")
    assert database.query("SELECT count(*), max(high) FILTER (WHERE epoch = 98) FROM juice.ledger") == "100|17"


def test_a_lost_tail_is_asked_for(
    make_archive: MakeArchive, database: Postgres, make_client: MakeClient
) -> None:
    """The kiosk sells nothing more, and reports in `health` the last entry that the broker has confirmed."""
    make_archive(gap_delay_seconds=1).start()
    client = make_client("kiosk/k1/replay/juice-archive")
    tell(client, "k1", event(1, epoch=7), event(2, epoch=7))
    client.client.publish("kiosk/k1/health", '{"uptime":1,"seq":2,"epoch":7}', 1, True).wait_for_publish(TIMEOUT)
    client.client.publish("kiosk/k1/health", '{"uptime":2,"seq":5,"epoch":7}', 1, True).wait_for_publish(TIMEOUT)
    has(database, GAPS, "7:3-5")
    question = ask(client)
    assert (question["epoch"], question["from"], question["to"]) == (7, 3, 6)
    answer(client, question, "replaying", **{"from": 3, "to": 5})
    tell(client, "k1", *[event(seq, epoch=7) for seq in (3, 4, 5)])
    answer(client, question, "done", **{"from": 3, "to": 5})
    has(database, GAPS, "")
    assert database.query("SELECT low, high FROM juice.ledger") == "1|5"
    # A kiosk of which nothing has arrived.
    client.client.publish("kiosk/k2/health", '{"seq":5,"epoch":9}', 1, True).wait_for_publish(TIMEOUT)
    has(database, "SELECT kiosk, first, last FROM juice.missing", "k2|1|5")


def test_a_lost_tail_that_grows_is_one_gap(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    make_archive(gap_delay_seconds=86_400).start()
    tell(client, "k1", event(1, epoch=7), event(2, epoch=7))
    for seq in range(3, 8):
        payload = json.dumps({"uptime": seq, "seq": seq, "epoch": 7})
        client.client.publish("kiosk/k1/health", payload, 1, True).wait_for_publish(TIMEOUT)
        has(database, GAPS, f"7:3-{seq}")
    since = database.query("SELECT since, due FROM juice.gap")
    tell(client, "k1", event(10, epoch=7))
    has(database, GAPS, "7:3-9")
    assert database.query("SELECT since, due FROM juice.gap") == since
    tell(client, "k1", event(3, epoch=7), event(6, epoch=7), event(12, epoch=7))
    has(database, GAPS, "7:4-5 7:7-9 7:11-11")


def add_gaps(database: Postgres, count: int) -> None:
    """Adds an earlier ledger of k1, of which each second entry is missing."""
    database.query(f"INSERT INTO juice.ledger (kiosk, epoch, low, high) VALUES ('k1', 5, 1, {3 * count});"
                   "INSERT INTO juice.gap SELECT 'k1', 5, 2 * n, 2 * n, now(), now() + interval '1 day'"
                   f" FROM generate_series(1, {count}) n")


def test_the_gaps_of_a_kiosk_are_limited(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    """k1 has 10,000 gaps, the most that it may have. Of the entries that open further ones, one is stored in
    gap_delay_seconds."""
    make_archive(gap_delay_seconds=86_400).start()
    tell(client, "k1", event(1), event(2))
    has(database, "SELECT count(*) FROM juice.event", "2")
    add_gaps(database, 9_999)
    seqs = "SELECT string_agg(kiosk || ':' || seq, ' ' ORDER BY kiosk, seq) FROM juice.event"
    tell(client, "k1", event(4))
    has(database, seqs, "k1:1 k1:2 k1:4")
    tell(client, "k1", event(6))
    has(database, seqs, "k1:1 k1:2 k1:4 k1:6")
    tell(client, "k1", event(8))
    client.client.publish("kiosk/k1/health", '{"seq":9,"epoch":0}', 1, True).wait_for_publish(TIMEOUT)
    tell(client, "k2", event(9))
    has(database, seqs, "k1:1 k1:2 k1:4 k1:6 k2:9")
    assert database.query("SELECT kiosk, quota, refused FROM juice.over_quota") == "k1|gaps|1"
    assert database.query("SELECT kiosk, count(*) FROM juice.gap GROUP BY 1 ORDER BY 1") == "k1|10001\nk2|1"
    # The next entry and missing ones are stored, and then there is room for a gap.
    tell(client, "k1", event(7), event(5), event(3))
    has(database, seqs, "k1:1 k1:2 k1:3 k1:4 k1:5 k1:6 k1:7 k2:9")
    tell(client, "k1", event(9))
    has(database, GAPS + " WHERE kiosk = 'k1' AND epoch = 0", "0:8-8")


def test_a_kiosk_with_too_many_gaps_loses_nothing_for_good(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    """k1 has 10,000 gaps that nobody fills, and loses every second entry."""
    make_archive(gap_delay_seconds=1).start()
    tell(client, "k1", event(1))
    has(database, "SELECT count(*) FROM juice.event", "1")
    add_gaps(database, 10_000)
    tell(client, "k1", *[event(seq) for seq in range(3, 9, 2)])

    def arrives() -> bool:
        tell(client, "k1", event(9))
        return database.query("SELECT high FROM juice.ledger WHERE kiosk = 'k1' AND epoch = 0") == "9"

    eventually(arrives)
    assert database.query("""
        SELECT count(*) FROM generate_series(1, 9) seq
        WHERE NOT EXISTS (SELECT FROM juice.event WHERE event.kiosk = 'k1' AND event.seq = seq.seq)
          AND NOT EXISTS (SELECT FROM juice.gap WHERE kiosk = 'k1' AND epoch = 0 AND seq.seq BETWEEN first AND last)
        """) == "0"


def test_a_kiosk_has_at_most_20_000_gaps(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    make_archive(gap_delay_seconds=86_400).start()
    tell(client, "k1", event(1))
    has(database, "SELECT count(*) FROM juice.event", "1")
    add_gaps(database, 20_000)
    seqs = "SELECT string_agg(kiosk || ':' || seq, ' ' ORDER BY kiosk, seq) FROM juice.event"
    tell(client, "k1", event(3))
    tell(client, "k2", event(1))
    has(database, seqs, "k1:1 k2:1")
    database.query("DELETE FROM juice.gap WHERE epoch = 5 AND last = 2")
    tell(client, "k1", event(3))
    has(database, seqs, "k1:1 k1:3 k2:1")


def test_gaps_make_no_room_for_more_ledgers(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    """k1 has 10,000 gaps, so that nothing of its new ledgers is stored; then these begin with their first entry."""
    make_archive(gap_delay_seconds=86_400).start()
    tell(client, "k1", event(1))
    has(database, "SELECT count(*) FROM juice.event", "1")
    add_gaps(database, 10_000)
    for part in range(1, 4):
        tell(client, "k1", *[event(5, epoch=100 * part + number) for number in range(90)])
        tell(client, "k2", event(part))
        has(database, "SELECT high FROM juice.ledger WHERE kiosk = 'k2'", f"{part}")
    tell(client, "k1", *[event(1, epoch=100 * part + number) for part in range(1, 4) for number in range(90)])
    tell(client, "k2", event(4))
    has(database, "SELECT high FROM juice.ledger WHERE kiosk = 'k2'", "4")
    assert database.query("SELECT count(*) FROM juice.ledger WHERE kiosk = 'k1'") == "100"


def test_the_gap_of_an_earlier_ledger_is_within_the_limit(
    make_archive: MakeArchive, database: Postgres, make_client: MakeClient
) -> None:
    """k1 has 10,000 gaps, and answers that it has entries of a ledger that the archive does not know."""
    make_archive(gap_delay_seconds=1).start()
    client = make_client("kiosk/k1/replay/juice-archive")
    add_gaps(database, 9_999)
    tell(client, "k1", event(20, epoch=7))
    part = {"from": 18, "to": 20}
    question = ask(client)
    since = len(client.messages)
    answer(client, question, "replaying", **part, before=9)
    answer(client, question, "done", **part)
    has(database, "SELECT first, last, requests FROM juice.gap WHERE epoch = 7", "1|19|1")
    assert database.query("SELECT count(*), max(epoch) FROM juice.gap") == "10000|7"
    assert database.query("SELECT max(epoch) FROM juice.ledger") == "7"
    # Once there is place for the gap, the next answer counts.
    database.query("DELETE FROM juice.gap WHERE epoch = 5 AND last = 2")
    question = client.messages.first(lambda m: m.json["epoch"] == 7, since).json
    answer(client, question, "replaying", **part, before=9)
    has(database, GAPS + " WHERE epoch > 5", "7:18-19 9:1-17")


def test_what_no_kiosk_has_is_not_asked_for_for_ever(
    make_archive: MakeArchive, database: Postgres, make_client: MakeClient
) -> None:
    make_archive(gap_delay_seconds=1).start()
    client = make_client("kiosk/k1/replay/juice-archive")
    tell(client, "k1", event(1), event(9))
    question = ask(client)
    answer(client, question, "replaying", **{"from": 2, "to": 9})
    tell(client, "k1", event(2), event(3), event(6), "{", event(8))
    answer(client, question, "done", **{"from": 2, "to": 9})
    has(database, "SELECT string_agg(first || '-' || last || ' ' || requests || ' ' || answer, ', ' ORDER BY first)"
        " FROM juice.missing", "4-5 1 the kiosk has replayed all entries that it has, "
        "7-7 1 the kiosk has replayed all entries that it has")
    # The ledgers are requested one at a time.
    since = len(client.messages)
    question = ask(client, since)
    answer(client, question, "rejected", reason="out_of_range", detail="it has others")
    has(database, "SELECT answer, due > now() + interval '23 hours' FROM juice.gap WHERE last ="
        f" {question['to'] - 1}", "out_of_range: it has others|t")


def test_an_answer_postpones_only_what_was_asked_for(
    make_archive: MakeArchive, database: Postgres, make_client: MakeClient
) -> None:
    make_archive(gap_delay_seconds=1).start()
    client = make_client("kiosk/k1/replay/juice-archive")
    tell(client, "k1", event(1), event(9), event(20))
    question = ask(client)
    answer(client, question, "done", **{"from": 1, "to": 1_000_000})
    has(database, "SELECT first, last, requests FROM juice.gap WHERE requests > 0",
        f"{question['from']}|{question['to'] - 1}|1")


def test_what_was_lost_on_the_way_comes_back_by_itself(
    make_archive: MakeArchive, database: Postgres, broker: Mosquitto, make_broker: MakeBroker,
    make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    """The session of the archive, with all queued messages, is deleted."""
    archive = make_archive(gap_delay_seconds=1).start()
    beside = make_broker()
    kiosk = make_kiosk(beside, uplink={"addresses": [f"127.0.0.1:{broker.port}"]}).start()
    panel = make_client("kiosk/k1/#", port=beside.port)
    listener = make_client("kiosk/k1/events")
    panel.order("banana")
    has(database, "SELECT count(*) FROM juice.event", f"{len(kiosk.ledger())}")
    assert archive.stop() == 0
    for _ in range(20):
        panel.restock({"add": {"kiwi": 1}})
    last = kiosk.ledger()[-1]["seq"]
    listener.messages.first(lambda m: m.json["seq"] == last)
    # A client with the same identifier and a clean session deletes the existing session.
    Client(broker.port, name="juice-archive").close()
    archive.start()
    panel.order("banana")
    has(database, "SELECT count(*) FROM juice.event", f"{len(kiosk.ledger())}")
    told = {(entry["epoch"], entry["seq"], entry["at"]) for entry in kiosk.ledger()}
    rows = database.query("SELECT epoch, seq, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
                          " FROM juice.event").splitlines()
    assert {tuple(row.split("|")) for row in rows} == {(str(epoch), str(seq), at) for epoch, seq, at in told}
    assert database.query("SELECT count(*) FROM juice.gap") == "0"


# MARK: Killed processes

class Chain:
    """Kiosks that send events continuously. In the end, each event must be stored once."""

    def __init__(
        self, client: Client, database: Postgres, chance: random.Random, kiosks: int = 20
    ) -> None:
        self.client = client
        self.chance = chance
        self.database = database
        self.last = {f"k{number}": 0 for number in range(kiosks)}

    @property
    def archived(self) -> int:
        return int(self.database.try_query("SELECT count(*) FROM juice.event") or 0)

    def tell(self, count: int) -> None:
        """Sends events out of order and some of them twice, as after a reconnect."""
        self.before = self.archived
        for kiosk in self.last:
            seqs = list(range(self.last[kiosk] + 1, self.last[kiosk] + count + 1))
            self.last[kiosk] = seqs[-1]
            seqs += self.chance.sample(seqs, 3)
            self.chance.shuffle(seqs)
            for seq in seqs:
                self.client.client.publish(f"kiosk/{kiosk}/events", self.payload(kiosk, seq), 1)

    @staticmethod
    def payload(kiosk: str, seq: int) -> str:
        return (f'{{"seq":{seq},"at":"2026-11-01T00:00:00Z","status":"ready","source":"order/p1",'
                f'"juice":"kiwi","quantity":1,"ticket":{seq},"changes":{{"kiwi":-3}}}}')

    def arrives(self) -> None:
        """Waits until at least some of the latest events are in the table."""
        eventually(lambda: self.archived > self.before)

    def end(self) -> None:
        told = sum(self.last.values())
        eventually(lambda: self.database.try_query("SELECT count(*) FROM juice.event") == f"{told}")
        complete = self.database.query(
            "SELECT kiosk, count(*), min(seq), max(seq), sum(ticket) FROM juice.event GROUP BY 1 ORDER BY 1")
        assert complete.splitlines() == [
            f"{kiosk}|{last}|1|{last}|{last * (last + 1) // 2}" for kiosk, last in sorted(self.last.items())]
        sums_are_complete(self.database, told)
        assert self.database.query("SELECT sum(glasses), sum(orders) FROM juice.sales") == f"{told}|{told}"
        assert self.database.query("SELECT sum(used) FROM juice.fruit_used") == f"{3 * told}"
        for table in ("gap", "conflict", "quarantine"):
            assert self.database.query(f"SELECT count(*) FROM juice.{table}") == "0"


@pytest.fixture
def chain(make_client: MakeClient, database: Postgres, chance: random.Random) -> Chain:
    return Chain(make_client(), database, chance)


def test_an_archiver_is_killed_and_another_takes_over(
    make_archive: MakeArchive, database: Postgres, chain: Chain
) -> None:
    active, waiting = make_archive(batch=200).start(), make_archive(batch=200).launch()
    waiting.wait_for_log("another archiver is active")
    for _ in range(4):
        since = len(waiting.log)
        chain.tell(60)
        chain.arrives()
        active.stop(signal.SIGKILL)
        chain.tell(20)
        waiting.wait_for_log("archiving", since)
        active, waiting = waiting, active
        since = len(waiting.log)
        waiting.launch().wait_for_log("another archiver is active", since)
    chain.end()


def test_an_archiver_without_its_broker_leaves_the_lock_to_another(
    make_archive: MakeArchive, make_broker: MakeBroker, database: Postgres, tmp_path: Path
) -> None:
    own = make_broker()
    active = Archive(tmp_path / "own.yaml", own, database).start()
    try:
        waiting = make_archive().launch()
        waiting.wait_for_log("another archiver is active")
        own.kill()
        # It waits for a minute first.
        active.wait_for_log("another archiver may take over", within=180)
        waiting.wait_for_log("archiving")
    finally:
        active.kill()


def test_the_database_is_killed(make_archive: MakeArchive, database: Postgres, chain: Chain) -> None:
    archive = make_archive(batch=200).start()
    for _ in range(2):
        since = len(archive.log)
        chain.tell(60)
        chain.arrives()
        database.kill()
        archive.wait_for_log("Trying again until it works", since)
        chain.tell(20)
        database.start()
        archive.wait_for_log("archiving", since)
    chain.end()


@pytest.fixture
def small_disk(database: Postgres) -> Iterator[SmallDisk]:
    """A small disk for the archive's tables, but not for the files that PostgreSQL itself needs."""
    disk = SmallDisk(database.folder / "disk")
    try:
        shutil.chown(disk.folder, database.user)
        disk.folder.chmod(0o700)
        database.query(f"CREATE TABLESPACE small LOCATION '{disk.folder}';"
                       "ALTER ROLE postgres SET default_tablespace = small")
        yield disk
        database.query("ALTER ROLE postgres RESET default_tablespace; DROP SCHEMA IF EXISTS juice CASCADE;")
        database.query("DROP TABLESPACE small")
    finally:
        disk.close()


def test_a_full_disk_is_waited_for(
    small_disk: SmallDisk, archive: Archive, database: Postgres, chain: Chain
) -> None:
    chain.tell(20)
    chain.arrives()
    small_disk.fill()
    since = len(archive.log)
    chain.tell(200)
    archive.wait_for_log("the disk of the database is full", since)
    # It retries repeatedly without logging it again.
    failed = "could not extend file"
    log = database.folder / "log"
    tries = log.read_text().count(failed)
    eventually(lambda: log.read_text().count(failed) >= tries + 2)
    told = ["the disk of the database is full" in line for line in archive.log.since(since)]
    # A small batch may have found room in between.
    assert not any(told[at] and told[at + 1] for at in range(len(told) - 1))
    small_disk.make_room()
    archive.wait_for_log("archiving again", since)
    chain.end()
    archive.stop()


def test_the_broker_restarts(
    make_archive: MakeArchive, database: Postgres, broker: Mosquitto, chain: Chain
) -> None:
    archive = make_archive(batch=200).start()
    chain.tell(30)
    chain.arrives()
    since = len(archive.log)
    broker.stop()
    archive.wait_for_log("waiting for it", since)
    broker.start()
    archive.wait_for_log("archiving", since)
    chain.client.wait_until_subscribed()
    chain.tell(30)
    chain.end()


def test_a_lock_that_is_lost_ends_the_term(archive: Archive, database: Postgres, chain: Chain) -> None:
    since = len(archive.log)
    lock = "FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
    first = database.query(f"SELECT pid {lock}")
    database.query(f"SELECT pg_terminate_backend(pid) {lock}")
    archive.wait_for_log("Trying again until it works", since)
    archive.wait_for_log("archiving", since)
    assert database.query(f"SELECT pid {lock}") not in ("", first)
    chain.tell(10)
    chain.end()


def test_what_the_database_cannot_take_is_set_aside_alone(
    archive: Archive, database: Postgres, client: Client
) -> None:
    """Another program has made the schema stricter than the archive expects."""
    database.query("ALTER TABLE juice.event ADD CHECK (quantity < 100)")
    tell(client, "k1", *[event(seq, quantity=100 if seq == 5 else 1) for seq in range(1, 9)])
    has(database, "SELECT count(*) FROM juice.event", "7")
    assert database.query("SELECT reason FROM juice.quarantine").startswith("the database reported 23514")
    assert database.query("SELECT first, last FROM juice.gap") == "5|5"
    assert archive.stop() == 0


def test_who_is_online_is_noted_and_since_when(
    make_archive: MakeArchive, database: Postgres, client: Client
) -> None:
    for kiosk, status in (("k1", "online"), ("k2", "offline")):
        client.client.publish(f"kiosk/{kiosk}/status", status, 1, True).wait_for_publish(TIMEOUT)
    make_archive().start()
    presence = "SELECT string_agg(kiosk || ' ' || is_online, ', ' ORDER BY kiosk) FROM juice.presence"
    has(database, presence, "k1 true, k2 false")
    since = database.query("SELECT since FROM juice.presence WHERE kiosk = 'k1'")
    for status in ("online", "online", "broken"):
        client.client.publish("kiosk/k1/status", status, 1, True).wait_for_publish(TIMEOUT)
    client.client.publish("kiosk/k2/status", "online", 1, True).wait_for_publish(TIMEOUT)
    has(database, presence, "k1 true, k2 true")
    has(database, "SELECT reason FROM juice.quarantine", "its status is neither online nor offline")
    assert database.query("SELECT since FROM juice.presence WHERE kiosk = 'k1'") == since
    client.client.publish("kiosk/k1/status", "offline", 1, True).wait_for_publish(TIMEOUT)
    has(database, presence, "k1 false, k2 true")


def test_the_list_of_kiosks_is_taken_over_whole_or_not_at_all(
    make_archive: MakeArchive, database: Postgres, tmp_path: Path
) -> None:
    archive = make_archive()
    file = tmp_path / "kiosks.csv"
    done = archive.command("kiosks", "list")
    assert (done.returncode, done.stderr) == (
        69, "juice-archive: the database has no archive yet: start 'juice-archive run' once\n")
    archive.start().stop()
    file.write_bytes('\ufeffid,region,name,place\r\nk2,서울,"Juice, ""big\"\"",역 앞\r\nk1,north,,\r\n'.encode())
    done = archive.command("kiosks", "load", file)
    assert (done.returncode, done.stdout) == (0, "2 kiosks: 2 new, 0 changed, 0 removed\n"), done.stderr
    done = archive.command("kiosks", "list")
    listed = 'id,region,name,place\nk1,north,,\nk2,서울,"Juice, ""big""",역 앞\n'
    assert (done.returncode, done.stdout) == (0, listed), done.stderr
    file.write_text("id,region,name,place\nk1,south,,\nk3,south,,\nk 4,south,,\nk1,south,,\n")
    done = archive.command("kiosks", "load", file)
    assert done.returncode == 65
    assert done.stderr.endswith(
        f"{file}:4:1: id: is not 1 to 64 of A-Z a-z 0-9 _ -\n{file}:5:1: id: k1 is already in line 2\n")
    assert archive.command("kiosks", "list").stdout == listed
    file.write_text("id,region,name,place\nk1,south,,\nk3,south,,\n")
    with open("/dev/full", "w") as full:
        unprinted = archive.command("kiosks", "load", file, output=full)
        assert (unprinted.returncode, unprinted.stderr) == (
            74, "juice-archive: the list is loaded, but standard output cannot be written: "
            "No space left on device\n")
        assert archive.command("kiosks", "list", output=full).returncode == 74
    assert archive.command("kiosks", "load", file).stdout == "2 kiosks: 0 new, 0 changed, 0 removed\n"
    database.stop()
    done = archive.command("kiosks", "list")
    assert (done.returncode, done.stdout) == (69, "")
