"""Exports and imports, the archive, and ledgers of earlier versions, with the program as it is shipped."""

import gzip
import json
import sqlite3
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from arrivals import eventually
from auditor import judge_ledger
from client import retained
from conftest import MakeBroker, MakeKiosk, MakeScene, Say
from displays import wait_for_truth
from interrupted import interruptions
from kiosk import FRUITS, ROOT, Kiosk, one_line, program
from scene import STOCK

FORMATS = ["jsonl", "csv"]


def export(kiosk: Kiosk, form: str = "jsonl") -> str:
    exported = kiosk.command("ledger", "export", "--full", "--format", form)
    assert (exported.returncode, exported.stderr) == (0, "")
    return exported.stdout


@pytest.mark.parametrize("form", FORMATS)
def test_an_exported_ledger_is_imported_and_goes_on(
    broker, make_broker: MakeBroker, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say,
    tmp_path: Path, panel, form: str,
) -> None:
    kiosk = make_kiosk(stock=STOCK).start()
    scene = make_scene(kiosk, broker)
    scene.work()
    say(scene.end())
    first = panel.order({"id": "a1", "juice": "kiwi"}, "주문, \"1\"")
    panel.service("closed")
    kiosk.stop()
    file = tmp_path / f"export.{form}"
    file.write_bytes(export(kiosk, form).encode())

    other = make_broker()
    second = make_kiosk(other, stock=STOCK)
    imported = second.command("ledger", "import", str(file))
    assert (imported.returncode, imported.stderr) == (0, "")
    assert f"Imported {len(kiosk.ledger())} entries" in imported.stdout
    assert second.ledger() == kiosk.ledger()
    for again in FORMATS:
        assert export(second, again) == export(kiosk, again)
    refused = second.command("ledger", "import", str(file))
    assert refused.returncode == 65
    assert f"has {len(kiosk.ledger())} entries" in one_line(refused.stderr)

    # With its first broker: what panels were told once they are told again.
    second.configure(broker, {"stock": STOCK})
    second.start()
    again = panel.order({"id": "a1", "juice": "kiwi"}, "주문, \"1\"")
    assert again == first | {"duplicate": True}
    assert panel.order("kiwi")["reason"] == "closed"
    second.verify()
    wait_for_truth(second, broker)


def test_a_wrong_export_is_refused_with_line_and_field(
    make_kiosk: MakeKiosk, tmp_path: Path, panel
) -> None:
    kiosk = make_kiosk().start()
    panel.order({"id": "a1", "juice": "kiwi"})
    running = kiosk.command("ledger", "import", "x")
    assert running.returncode == 75
    kiosk.stop()
    other = make_kiosk()
    file = tmp_path / "export"
    good = export(kiosk)
    number = next(n for n, line in enumerate(good.splitlines(), 1) if '"ready"' in line)
    wrong = [
        (good.replace('"kiwi":-3', '"kiwi":-13'), f"{number}: changes: the stock of kiwi would be -3"),
        (good.replace('"seq":2,', '"seq":7,'), f"{number}: seq: it is 7, but 2 is the next entry"),
        (good[:-40], ": not valid JSON"),
        (good.rsplit("\n", 2)[0] + "\n", "it ends early"),
        (kiosk.command("ledger", "export").stdout, "1: record: it is missing"),
        ("", "it ends early"),
    ]
    for text, words in wrong:
        file.write_text(text)
        refused = other.command("ledger", "import", str(file))
        assert (refused.returncode, refused.stdout) == (65, "")
        told = one_line(refused.stderr)
        assert words in told and f"{file}:" in told and "Nothing has been imported" in told
        assert not list(other.folder.glob("ledger.sqlite*"))[1:], "only the lock"
    missing = other.command("ledger", "import", "nowhere.jsonl")
    assert missing.returncode == 65 and "nowhere.jsonl" in one_line(missing.stderr)


# MARK: The archive

LONG_AGO = datetime(2026, 1, 1, tzinfo=timezone.utc)
OLD = 400


def written(old: int = OLD, new: int = 10_000) -> str:
    """A ledger with so many entries of half a year ago, and so many of now: the export of it."""
    stock = {fruit: 1_000_000 for fruit in FRUITS}
    lines: list[dict] = [{"record": "ledger", "version": 1, "after": 0}]
    lines.append({"record": "kiosk", "service": "open", "confirmed": old + new})
    now = datetime.now(timezone.utc) - timedelta(hours=1)
    for seq in range(1, old + new + 1):
        at = LONG_AGO + timedelta(minutes=seq) if seq <= old else now + timedelta(milliseconds=seq)
        entry = {"record": "entry", "seq": seq, "at": at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"}
        if seq == 1:
            entry |= {"status": "opened", "changes": stock.copy()}
        else:
            stock["kiwi"] -= 3
            day = (at - datetime(1970, 1, 1, tzinfo=timezone.utc)).days
            result = {"id": f"{seq}", "status": "ready", "ticket": seq, "juice": "kiwi", "seq": seq}
            entry |= {
                "source": "order/p1", "id": f"{seq}", "status": "ready", "juice": "kiwi",
                "quantity": 1, "day": day, "ticket": seq, "changes": {"kiwi": -3},
                "topic": "kiosk/k1/order/p1/result", "answer": json.dumps(result),
            }
        lines.append(entry)
    lines.append({"record": "end", "seq": old + new, "stock": stock})
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def old_kiosk(make_kiosk: MakeKiosk, tmp_path: Path) -> Kiosk:
    """A kiosk that has been at work for half a year."""
    kiosk = make_kiosk(stock=STOCK)
    file = tmp_path / "written.jsonl.gz"
    file.write_bytes(gzip.compress(written().encode()))
    imported = kiosk.command("ledger", "import", str(file))
    assert (imported.returncode, imported.stderr) == (0, "")
    return kiosk


def archive(kiosk: Kiosk, folder: Path, older_than: str = "90d") -> subprocess.CompletedProcess:
    return kiosk.command("ledger", "archive", "--older-than", older_than, str(folder))


def test_old_entries_move_into_an_archive_that_is_proved(
    old_kiosk: Kiosk, broker, panel, tmp_path: Path
) -> None:
    kiosk, folder = old_kiosk, tmp_path / "archive"
    folder.mkdir()
    whole = kiosk.ledger()
    kiosk.start()
    refused = archive(kiosk, folder)
    assert refused.returncode == 75 and "in use by process" in one_line(refused.stderr)
    assert panel.order({"id": "new", "juice": "mango"})["status"] == "ready"
    kiosk.stop()
    size = (kiosk.folder / "ledger.sqlite").stat().st_size

    for _ in range(2):
        done = archive(kiosk, folder)
        assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing is old enough" in done.stdout
    files = list(folder.iterdir())
    assert len(files) == 1
    records = [json.loads(line) for line in gzip.open(files[0], "rt")]
    moved = [record for record in records if record["record"] == "entry"]
    assert [entry["seq"] for entry in moved] == list(range(1, OLD + 1))
    assert (kiosk.folder / "ledger.sqlite").stat().st_size < size
    left = kiosk.ledger()
    assert left[:-1] == whole[OLD:] and left[-1]["id"] == "new"

    kiosk.start()
    # The last 10,000 ids are known, and tickets go on.
    assert panel.order({"id": f"{OLD + 500}", "juice": "kiwi"})["duplicate"]
    ticket = panel.order("kiwi")["ticket"]
    assert panel.order({"id": "later", "juice": "mango"})["ticket"] == ticket + 1
    end = json.loads(export(kiosk).splitlines()[-1])
    assert end["seq"] == len(whole) + 3
    eventually(lambda: all(
        retained(broker.port)[f"kiosk/k1/stock/{fruit}"] == f"{end['stock'][fruit]}"
        for fruit in FRUITS
    ))
    assert json.loads(kiosk.command("report", "--json").stdout)["sales"]
    seen = kiosk.command("ledger", "verify", "--archive", str(folder))
    assert seen.returncode == 0, seen.stderr
    total = len(whole) + 3
    assert f"{total} entries, {OLD} of them in 1 files of the archive, and" in seen.stdout
    assert "not looked at" in kiosk.command("ledger", "verify").stdout
    # The judge reads on from the archive.
    judge_ledger_from(moved[-1]["seq"], kiosk.ledger())

    files[0].write_bytes(files[0].read_bytes()[:-20])
    damaged = kiosk.command("ledger", "verify", "--archive", str(folder))
    assert damaged.returncode == 65 and files[0].name in one_line(damaged.stderr)


def judge_ledger_from(seq: int, ledger: list[dict]) -> None:
    assert [entry["seq"] for entry in ledger] == list(range(seq + 1, seq + 1 + len(ledger)))


def test_an_archive_that_is_cut_off_loses_nothing_and_counts_nothing_twice(
    old_kiosk: Kiosk, say: Say
) -> None:
    kiosk, folder = old_kiosk, old_kiosk.folder / "archive"
    folder.mkdir()
    whole = len(kiosk.ledger())
    line = [program(), "ledger", "archive", "--older-than", "90d", str(folder), "--config",
            str(kiosk.config)]

    def moved() -> int:
        verified = kiosk.command("ledger", "verify", "--archive", str(folder))
        assert verified.returncode == 0, verified.stderr
        assert f": {whole} entries" in verified.stdout
        return whole - len(kiosk.ledger())

    found = set()
    count = 0
    for call in interruptions(kiosk.folder, line):
        count += 1
        found.add(moved())
        # What is left to do is done the next time.
        assert archive(kiosk, folder).returncode == 0, call
        assert moved() == OLD, call
        assert [file.name for file in folder.iterdir()] == ["entries-000000000001.jsonl.gz"]
    say(f"killed at {count} calls")
    assert found == {0, OLD} and count > 5


@pytest.mark.parametrize("age", ["31d", "90", "d", "-90d", "soon"])
def test_an_age_that_makes_no_sense_is_a_wrong_command_line(
    make_kiosk: MakeKiosk, age: str
) -> None:
    wrong = make_kiosk().command("ledger", "archive", f"--older-than={age}", ".", config=False)
    assert (wrong.returncode, wrong.stdout) == (64, "")


# MARK: Earlier versions


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_ledger_of_an_earlier_version_is_read_and_goes_on(
    make_kiosk: MakeKiosk, broker, panel, version: int
) -> None:
    kiosk = make_kiosk()
    path = kiosk.folder / "ledger.sqlite"
    dump = (ROOT / f"Tests/LedgerTests/Version{version}.sql").read_text()
    with sqlite3.connect(path) as ledger:
        ledger.executescript(dump)
    ledger.close()
    before = path.read_bytes()
    # While the program of that version may be running: a reader changes nothing.
    kiosk.verify()
    old = kiosk.ledger()
    judge_ledger(old)
    assert path.read_bytes() == before

    kiosk.start()
    again = panel.order({"id": "a1", "juice": "strawberry_banana"}, "panel1")
    assert (again["duplicate"], again["ticket"], again["seq"]) == (True, 1, 2)
    assert panel.order({"id": "b1", "juice": "mango"}, "panel1")["seq"] == len(old) + 1
    assert kiosk.ledger()[:-1] == old
    kiosk.verify()
    wait_for_truth(kiosk, broker)
