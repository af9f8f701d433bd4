"""Backup, restore and the move to another machine, with the shipped program."""

import errno
import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path


from auditor import judge_ledger, judge_panel
from client import retained
from conftest import MakeBroker, MakeKiosk, MakeScene, Say
from displays import wait_for_truth
from faults import Faults
from interrupted import interruptions
from kiosk import Kiosk, one_line, program
from load import BusyPanel
from mosquitto import Mosquitto
from scene import STOCK


def back_up(kiosk: Kiosk, name: str) -> Path:
    copy = kiosk.folder / name
    done = kiosk.command("ledger", "backup", str(copy))
    assert (done.returncode, done.stderr) == (0, "")
    return copy


def entries(kiosk: Kiosk, path: Path) -> list[dict]:
    exported = kiosk.command("ledger", "export", "--path", str(path), config=False)
    assert exported.returncode == 0, exported.stderr
    return [json.loads(line) for line in exported.stdout.splitlines()]


def press_at(kiosk: Kiosk, broker: Mosquitto) -> None:
    """Presses with panels that are new to the kiosk, and audits the results."""
    panels = [BusyPanel(broker.port, name, has_ids=name == "q0") for name in ("q0", "q1")]
    try:
        for panel in panels:
            panel.wait_for_answers(20)
        for panel in panels:
            panel.finish()
        kiosk.verify()
        judge_ledger(kiosk.ledger())
        for panel in panels:
            judge_panel(panel, kiosk.ledger(), "nothing")
        wait_for_truth(kiosk, broker)
    finally:
        for panel in panels:
            panel.close()


def test_a_backup_under_load_is_a_whole_ledger_and_becomes_a_kiosk(
    broker, make_broker: MakeBroker, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say
) -> None:
    kiosk = make_kiosk(stock=STOCK).start()
    scene = make_scene(kiosk, broker)
    copies = []
    for number in range(5):
        scene.work()
        copies.append(back_up(kiosk, f"copy{number}.sqlite"))
        scene.work()
    say(scene.end())
    whole = kiosk.ledger()
    for copy in copies:
        verified = kiosk.command("ledger", "verify", "--path", str(copy), config=False)
        assert verified.returncode == 0, verified.stderr
        found = entries(kiosk, copy)
        judge_ledger(found)
        assert found == whole[: len(found)] and len(found) > 1

    # A new machine, and a broker without any state.
    other = make_broker()
    second = make_kiosk(other, stock=STOCK)
    restored = second.command("ledger", "restore", str(copies[-1]))
    assert (restored.returncode, restored.stderr) == (0, "")
    assert f": {len(found)} entries" in restored.stdout
    second.start()
    press_at(second, other)
    assert second.ledger()[: len(found)] == found


def test_a_kiosk_moves_to_another_machine(kiosk: Kiosk, make_kiosk: MakeKiosk, broker, panel) -> None:
    """Follows the steps of the handbook; the broker runs on a third machine."""
    first = panel.order({"id": "a1", "juice": "banana"})
    panel.restock({"set": {"mango": 30}})
    assert kiosk.stop() == 0
    moved = back_up(kiosk, "moved.sqlite")
    new = make_kiosk()
    # The kiosk there has been started once, so its ledger has the entries of a new kiosk.
    other = new.start()
    assert len(other.ledger()) == 1
    other.stop()
    new.config.write_text(kiosk.config.read_text())
    assert new.command("check").returncode == 0
    restored = new.command("ledger", "restore", str(moved))
    assert (restored.returncode, restored.stderr) == (0, "")
    new.verify()
    assert new.ledger() == kiosk.ledger()
    new.start()
    wait_for_truth(new, broker)
    assert panel.order({"id": "a1", "juice": "banana"}) == first | {"duplicate": True}
    made = panel.order({"id": "a2", "juice": "mango"})
    assert (made["ticket"], made["stock"]["mango"], made["seq"]) == (2, 27, 4)


def test_a_restore_refuses_what_would_forget_entries(kiosk: Kiosk, panel) -> None:
    panel.order({"id": "a1", "juice": "banana"})
    copy = back_up(kiosk, "copy.sqlite")
    panel.order({"id": "a2", "juice": "kiwi"})
    running = kiosk.command("ledger", "restore", str(copy), "--replace")
    assert running.returncode == 75
    assert f"in use by process {kiosk.process.pid}" in one_line(running.stderr)
    kiosk.stop()
    refused = kiosk.command("ledger", "restore", str(copy))
    assert refused.returncode == 65
    assert "it has 1 entries after the backup" in one_line(refused.stderr)
    assert len(kiosk.ledger()) == 3

    replaced = kiosk.command("ledger", "restore", str(copy), "--replace")
    assert replaced.returncode == 0, replaced.stderr
    kept = kiosk.folder / "ledger.sqlite.replaced-1"
    assert str(kept.name) in replaced.stdout
    assert len(entries(kiosk, kept)) == 3
    kiosk.start()
    # The kiosk recognizes orders that are in the backup, and only those.
    assert panel.order({"id": "a1", "juice": "banana"})["duplicate"]
    assert "duplicate" not in panel.order({"id": "a2", "juice": "kiwi"})
    kiosk.verify()


def test_a_disk_without_hard_links(kiosk: Kiosk, faults: Faults, panel) -> None:
    """On FAT, the usual file system of a USB stick, link(2) gives EPERM."""
    faults.fail("link", errno.EPERM)
    copy = kiosk.folder / "ledger-copy.sqlite"
    backed_up = kiosk.command("ledger", "backup", str(copy), **faults.variables)
    assert (backed_up.returncode, backed_up.stderr) == (0, "")
    panel.order("banana")
    kiosk.stop()
    restored = kiosk.command("ledger", "restore", str(copy), "--replace", **faults.variables)
    assert restored.returncode == 0, restored.stderr
    kept = kiosk.folder / "ledger.sqlite.replaced-1"
    assert (len(kiosk.ledger()), len(entries(kiosk, kept))) == (1, 2)


def test_what_waits_at_the_broker_is_not_poured_into_a_restored_ledger(
    kiosk: Kiosk, broker, panel
) -> None:
    panel.order("banana")
    copy = back_up(kiosk, "copy.sqlite")
    panel.order({"id": "a2", "juice": "kiwi"})
    # The kiosk has read the next order and stops before its acknowledgement: the broker would
    # redeliver it.
    kiosk.process.send_signal(signal.SIGSTOP)
    panel.publish("kiosk/k1/order/p1", json.dumps({"id": "a3", "juice": "kiwi"}))
    kiosk.kill()
    assert kiosk.command("ledger", "restore", str(copy), "--replace").returncode == 0
    kiosk.start()
    assert panel.order({"id": "a4", "juice": "mango"})["ticket"] == 2
    assert [entry.get("id") for entry in kiosk.ledger()] == [None, None, "a4"]
    assert retained(broker.port)["kiosk/k1/stock/kiwi"] == "10"


def test_a_restore_that_is_killed_leaves_one_of_the_two(
    make_kiosk: MakeKiosk, panel, tmp_path: Path, say: Say
) -> None:
    kiosk = make_kiosk().start()
    panel.order("banana")
    copy = back_up(kiosk, "copy.sqlite").rename(tmp_path / "copy.sqlite")
    panel.order("kiwi")
    # With a write-ahead log that is not merged into the file.
    kiosk.kill()
    restore = ["ledger", "restore", str(copy), "--replace"]
    ledger = kiosk.folder / "ledger.sqlite"

    def count(file: Path) -> int:
        # Only reads, so that the next restore finds what the killed one has left.
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return database.execute("SELECT count(*) FROM entry").fetchone()[0]

    found = []
    for call in interruptions(kiosk.folder, [program(), *restore, "--config", str(kiosk.config)]):
        kiosk.verify()
        found.append(count(ledger))
        assert found[-1] in (2, 3), call
        for kept in kiosk.folder.glob("*.replaced-?"):
            assert count(kept) == 3, call
        assert kiosk.command(*restore).returncode == 0
        assert count(ledger) == 2
        assert not list(kiosk.folder.glob("*restoring*"))
    say(f"killed at {len(found)} calls")
    assert len(found) > 10 and set(found) == {2, 3}
    kiosk.start()
    assert panel.order("mango")["status"] == "ready"


def test_a_ledger_of_a_newer_program_is_refused(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk().start()
    copy = back_up(kiosk, "copy.sqlite")
    kiosk.stop()
    for path in (kiosk.folder / "ledger.sqlite", copy):
        with sqlite3.connect(path) as ledger:
            ledger.execute("INSERT INTO grdb_migrations VALUES ('99 of tomorrow')")
        ledger.close()
    commands = [["run"], ["report"], ["ledger", "verify"], ["ledger", "export"],
                ["ledger", "backup", "x"], ["ledger", "restore", str(copy), "--replace"]]
    for command in commands:
        refused = kiosk.command(*command)
        assert (refused.returncode, refused.stdout) == (65, ""), command
        last = refused.stderr.splitlines()[-1]
        assert "was written by a newer version of juice-kiosk: install that version" in last
