"""Every failure of the disk, with a kiosk under load."""

import errno
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Iterator

import pytest

from arrivals import eventually
from client import BASE, Client
from conftest import MakeClient, MakeKiosk, MakeScene, Say
from displays import wait_for_truth
from faults import Faults
from kiosk import Kiosk, one_line
from scene import FAULTS, STOCK
from small_disk import SmallDisk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    disk.close()


def complaints(kiosk: Kiosk, since: int) -> list[str]:
    return [line for line in kiosk.log.since(since) if "Trying again until it works" in line]


def ledger_on(disk: SmallDisk) -> dict:
    return {"path": f"{disk.folder}/ledger.sqlite"}


# MARK: During operation


def test_a_full_disk_loses_nothing_once_there_is_room(
    broker, disk: SmallDisk, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say
) -> None:
    kiosk = make_kiosk(ledger=ledger_on(disk), stock=STOCK).start()
    scene = make_scene(kiosk, broker)
    for since in scene.repetitions(FAULTS):
        disk.fill()
        kiosk.wait_for_log("is full: free some space. Trying again", since)
        disk.make_room()
        kiosk.wait_for_log("the ledger works again", since)
        scene.work()
        assert len(complaints(kiosk, since)) == 1
    say(scene.end())


@pytest.mark.parametrize(
    ("call", "code"),
    [("sync", errno.EIO), ("write", errno.EIO), ("write", errno.EROFS), ("write", errno.ENOSPC)],
    ids=["fsync-EIO", "write-EIO", "write-EROFS", "write-ENOSPC"],
)
def test_a_call_that_fails_loses_nothing_once_it_works(
    broker, faults: Faults, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say, call: str,
    code: int,
) -> None:
    kiosk = make_kiosk(stock=STOCK).start(**faults.variables)
    scene = make_scene(kiosk, broker)
    for since in scene.repetitions(FAULTS):
        faults.fail(call, code)
        kiosk.wait_for_log("Trying again until it works", since)
        faults.end()
        kiosk.wait_for_log("the ledger works again", since)
        scene.work()
        assert len(complaints(kiosk, since)) == 1
    say(scene.end())


@pytest.mark.parametrize("call", ["sync", "write"])
def test_a_kiosk_killed_while_its_disk_fails_loses_nothing(
    broker, faults: Faults, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say, call: str
) -> None:
    kiosk = make_kiosk(stock=STOCK).start(**faults.variables)
    scene = make_scene(kiosk, broker)
    for _ in range(FAULTS):
        scene.work()
        since = len(kiosk.log)
        faults.fail(call, errno.EIO)
        kiosk.wait_for_log("Trying again until it works", since)
        kiosk.kill()
        faults.end()
        kiosk.start(**faults.variables)
    scene.work()
    say(scene.end())


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_what_waits_for_too_long_does_not_pour_when_the_disk_works_again(
    broker, faults: Faults, make_kiosk: MakeKiosk, make_client: MakeClient, version: str
) -> None:
    maximum_age = 4
    kiosk = make_kiosk(broker={"protocol": version}, orders={"max_age_seconds": maximum_age})
    kiosk.start(**faults.variables)
    panel = make_client("kiosk/#")
    assert panel.order("kiwi")["status"] == "ready"
    faults.fail("write", errno.ENOSPC)
    panel.publish(f"{BASE}/order/p1", "banana")
    kiosk.wait_for_log("is full: free some space. Trying again")
    panel.messages.first(lambda m: (m.topic, m.text) == (f"{BASE}/status", "offline"))
    end = time.monotonic() + maximum_age + 1
    # The wait itself is under test: no event marks its end.
    eventually(lambda: time.monotonic() > end, within=maximum_age + 5)
    since = len(kiosk.log)
    faults.end()
    kiosk.wait_for_log("the ledger works again", since)
    assert panel.order("mango")["status"] == "ready"
    made = [entry["juice"] for entry in kiosk.ledger() if entry["status"] == "ready"]
    assert made == ["kiwi", "mango"]
    wait_for_truth(kiosk, broker)


def test_a_second_kiosk_on_the_same_ledger_disturbs_nobody(
    broker, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say
) -> None:
    kiosk = make_kiosk(stock=STOCK).start()
    scene = make_scene(kiosk, broker)
    for _ in range(FAULTS):
        scene.work()
        second = kiosk.command("run")
        assert second.returncode == 75
        assert f"process {kiosk.process.pid}" in second.stderr.splitlines()[-1]
    assert kiosk.is_alive
    say(scene.end())


# MARK: At the start


def refused(kiosk: Kiosk, code: int) -> str:
    ended = kiosk.command("run")
    assert ended.returncode == code, ended.stderr
    told = [line for line in ended.stderr.splitlines() if line.startswith("juice-kiosk: ")]
    return one_line("\n".join(told))


def test_a_start_on_a_read_only_disk_says_so(
    broker, disk: SmallDisk, make_kiosk: MakeKiosk, panel: Client
) -> None:
    kiosk = make_kiosk(ledger=ledger_on(disk)).start()
    assert panel.order("kiwi")["status"] == "ready"
    kiosk.stop()
    disk.remount("ro")
    # The error is that of a service with ProtectSystem=strict, too.
    error = refused(kiosk, 78)
    assert "cannot be opened: Read-only file system" in error
    assert f"ReadWritePaths={disk.folder}" in error and "may write there" not in error
    disk.remount("rw")
    kiosk.start()
    assert panel.order("kiwi")["ticket"] == 2
    wait_for_truth(kiosk, broker)


def order(panel: Client, number: int) -> dict:
    return panel.order({"id": f"{number}", "juice": "banana"})


def after_orders(kiosk: Kiosk, panel: Client, count: int) -> Path:
    for number in range(1, count + 1):
        assert order(panel, number)["ticket"] == number
    return kiosk.folder / "ledger.sqlite"


def crashed(kiosk: Kiosk, panel: Client, orders: int) -> Path:
    """Returns a ledger whose last entries are only in the write-ahead log, as after a power cut."""
    ledger = after_orders(kiosk, panel, orders)
    kiosk.kill()
    return ledger


def assert_it_goes_on(kiosk: Kiosk, panel: Client, orders: int) -> None:
    """Asserts that earlier orders are kept and that new ones are accepted."""
    kiosk.start()
    assert order(panel, orders)["ticket"] == orders
    assert order(panel, orders + 1)["ticket"] == orders + 1
    kiosk.verify()


@pytest.mark.parametrize("kind", ["short", "long"])
def test_a_write_torn_by_a_power_cut_is_passed_over(
    broker, make_kiosk: MakeKiosk, panel: Client, chance: random.Random, kind: str
) -> None:
    kiosk = make_kiosk(stock=STOCK).start()
    ledger = crashed(kiosk, panel, 50)
    with open(f"{ledger}-wal", "ab") as log:
        log.write(bytes(100) if kind == "short" else chance.randbytes(5000))
    assert_it_goes_on(kiosk, panel, 50)
    wait_for_truth(kiosk, broker)


@pytest.mark.parametrize("damage", ["truncated", "garbled"])
def test_a_log_that_the_disk_has_lost_leaves_a_whole_ledger(
    broker, make_kiosk: MakeKiosk, panel: Client, chance: random.Random, damage: str
) -> None:
    """A disk that loses synced data makes durability impossible. The rest must still be a valid
    ledger that the displays match."""
    kiosk = make_kiosk(stock=STOCK).start()
    ledger = crashed(kiosk, panel, 50)
    before = kiosk.ledger()
    log = Path(f"{ledger}-wal")
    size = log.stat().st_size
    with open(log, "r+b") as file:
        if damage == "truncated":
            file.truncate(size // 2)
        else:
            file.seek(size // 2)
            file.write(chance.randbytes(100))
    kiosk.start()
    left = kiosk.ledger()
    assert left == before[: len(left)] and 1 < len(left) < len(before)
    kiosk.verify()
    wait_for_truth(kiosk, broker)


@pytest.mark.parametrize("damage", ["truncated", "garbled", "emptied"])
def test_a_damaged_ledger_is_refused_and_a_backup_takes_its_place(
    broker, make_kiosk: MakeKiosk, panel: Client, chance: random.Random, damage: str
) -> None:
    kiosk = make_kiosk(stock=STOCK).start()
    ledger = after_orders(kiosk, panel, 50)
    backup = kiosk.folder / "backup.sqlite"
    assert kiosk.command("ledger", "backup", str(backup)).returncode == 0
    assert kiosk.stop() == 0
    size = ledger.stat().st_size
    with open(ledger, "r+b") as file:
        if damage == "truncated":
            file.truncate(size // 2)
        elif damage == "garbled":
            file.seek(4096)
            file.write(chance.randbytes(size - 4096))
        else:
            file.write(bytes(4096))
    told = refused(kiosk, 65)
    assert "is damaged" in told and "put a backup in its place" in told
    shutil.copy(backup, ledger)
    assert_it_goes_on(kiosk, panel, 50)
    wait_for_truth(kiosk, broker)


def test_what_a_killed_kiosk_wrote_is_synced_before_anything_is_answered(
    broker, make_kiosk: MakeKiosk, panel: Client, tmp_path: Path
) -> None:
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED, nobody may trace a process here")
    kiosk = make_kiosk().start()
    crashed(kiosk, panel, 1)
    trace = tmp_path / "trace"
    # -D makes the kiosk, not strace, the started process.
    calls = "trace=connect,fsync,fdatasync"
    kiosk.start("strace", "-D", "-f", "-y", "-qq", "-o", str(trace), "-e", calls)
    assert order(panel, 1)["ticket"] == 1
    kiosk.stop(signal.SIGKILL)
    lines = eventually(lambda: trace.read_text().splitlines())
    connect = next(n for n, line in enumerate(lines) if f"htons({broker.port})" in line)
    synced = [line for line in lines[:connect] if "ledger.sqlite-wal>) = 0" in line]
    assert synced, lines[:connect]


def test_a_ledger_that_was_removed_stops_the_sales_and_loses_nothing(
    kiosk: Kiosk, make_client: MakeClient
) -> None:
    ledger, copy = kiosk.folder / "ledger.sqlite", kiosk.folder / "ledger.sqlite.rescued-1"
    panel = make_client("kiosk/#")
    assert panel.order("kiwi")["ticket"] == 1
    since = len(kiosk.log)
    ledger.unlink()
    panel.publish(f"{BASE}/order/p1", '{"id":"later","juice":"kiwi"}')
    line = kiosk.wait_for_log("was removed or replaced while the kiosk runs", since)
    assert f"All its entries are in {copy}" in line
    panel.messages.first(lambda each: each.topic == f"{BASE}/status" and each.text == "offline")
    report = kiosk.command("doctor").stdout
    assert f"juice-kiosk ledger restore {copy}" in report
    kiosk.stop()
    started = kiosk.command("run")
    assert started.returncode == 65 and f"ledger restore {copy}" in started.stderr
    assert kiosk.command("ledger", "restore", copy).returncode == 0
    kiosk.start()
    again = panel.order({"id": "later", "juice": "kiwi"})
    assert (again["status"], again["ticket"], again["stock"]["kiwi"]) == ("ready", 2, 4)
    kiosk.verify()
