"""Every exit code of the manual, with a message that contains the remedy."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from arrivals import TIMEOUT, Arrivals
from client import Client
from conftest import MakeKiosk
from kiosk import Kiosk, environment, one_line, program


def test_69_a_broker_that_does_not_answer(make_kiosk: MakeKiosk) -> None:
    """Some brokers without MQTT 5 do not answer its CONNECT."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        for protocol, hint in (("5", True), ("3.1.1", False)):
            kiosk = make_kiosk(broker={"port": server.getsockname()[1], "protocol": protocol})
            done = kiosk.command("check", "--connect", "--timeout", "1")
            assert done.returncode == 69 and "has not answered in time" in done.stderr
            assert ("set broker.protocol: 3.1.1" in done.stderr) == hint


@pytest.mark.parametrize(
    "arguments",
    [
        ["pour"], ["order"], ["order", "banana", "kiwi"], ["order", "ban ana"], ["restock"],
        ["order", "banana", "--quantity", "x"], ["restock", "kiwi"], ["restock", "kiwi=x"],
        ["restock", "kiwi=1", "kiwi=2"], ["order", "banana", "--as", "a/b"],
        ["restock", "kiwi=1", "--as", "+"],
        ["order", "banana", "--id", "a/b"], ["order", "banana", "--timeout", "0"],
        ["run", "--log-level", "loud"], ["ledger", "export", "--format", "pdf"],
        ["job", "1"], ["job", "one", "poured"], ["job", "1", "drunk"],
        ["job", "1", "again", "--used", "kiwi"], ["machine"], ["machine", "a/b", "--memory", "x"],
        ["machine", "bar", "--memory", "x", "--manual", "--fail-every", "2"],
        ["machine", "bar", "--memory", "x", "--power-cut-at", "101"],
    ],
    ids=" ".join,
)
def test_64_a_wrong_command_line(make_kiosk: MakeKiosk, arguments: list[str]) -> None:
    wrong = make_kiosk().command(*arguments, config=False)
    assert (wrong.returncode, wrong.stdout) == (64, "")
    assert wrong.stderr.startswith("Error: ")


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["order", "tea"], 65, "unknown_juice"),
        (["order", "banana", "--quantity", "11"], 65, "quantity_out_of_range"),
        (["restock", "durian=1"], 65, "unknown_fruit"),
        (["restock", "kiwi=101"], 65, "exceeds_capacity"),
        (["restock", "kiwi=-11"], 65, "below_zero"),
        (["order", "strawberry"], 75, "missing strawberry 6"),
        (["restock", "kiwi=1", "--expect", "kiwi=9"], 75, "conflict"),
    ],
)
def test_65_and_75_what_the_kiosk_rejects(
    kiosk: Kiosk, arguments: list[str], code: int, word: str
) -> None:
    rejected = kiosk.command(*arguments)
    assert (rejected.returncode, rejected.stdout) == (code, "")
    assert word in one_line(rejected.stderr)
    as_json = kiosk.command(*arguments, "--json")
    assert (as_json.returncode, as_json.stderr) == (code, "")
    assert json.loads(as_json.stdout)["status"] in ("rejected", "out_of_stock")


def test_65_a_ledger_that_does_not_add_up(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk().start()
    kiosk.stop()
    with sqlite3.connect(kiosk.folder / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE stock SET quantity = quantity + 1 WHERE fruit = 'kiwi'")
    ledger.close()
    for command in (["ledger", "verify"], ["run"]):
        refused = kiosk.command(*command)
        assert refused.returncode == 65
        assert "kiwi is 11, but its entries add up to 10" in refused.stderr.splitlines()[-1]


def test_65_a_file_that_is_no_ledger(make_kiosk: MakeKiosk, tmp_path: Path) -> None:
    kiosk = make_kiosk()
    (kiosk.folder / "ledger.sqlite").write_text("strawberries\n" * 1000)
    for command in (["ledger", "verify"], ["run"]):
        refused = kiosk.command(*command)
        assert refused.returncode == 65
        assert "put a backup in its place" in refused.stderr.splitlines()[-1]


def test_69_no_broker_there(make_kiosk: MakeKiosk, broker) -> None:
    kiosk = make_kiosk()
    broker.stop()
    for command in (["order", "banana"], ["restock", "kiwi=1"], ["close"], ["check", "--connect"]):
        failed = kiosk.command(*command)
        assert failed.returncode == 69
        assert f"127.0.0.1:{broker.port}" in one_line(failed.stderr)


@pytest.mark.parametrize("path", ["nowhere/ledger.sqlite", "/"])
def test_78_no_place_for_the_ledger(make_kiosk: MakeKiosk, path: str) -> None:
    kiosk = make_kiosk(ledger={"path": path})
    for command in (["run"], ["ledger", "verify"], ["ledger", "export"]):
        failed = kiosk.command(*command)
        assert failed.returncode == 78
        assert f"{path} cannot be opened" in failed.stderr.splitlines()[-1]


def reject_output(kiosk: Kiosk, *arguments: str, config: bool = True) -> str:
    """Returns the error of a command whose output the disk cannot take."""
    with open("/dev/full", "w") as full:
        failed = kiosk.command(*arguments, output=full, config=config)
    assert failed.returncode == 74, failed
    assert failed.stderr.endswith("standard output cannot be written: No space left on device\n")
    return failed.stderr


@pytest.mark.parametrize(
    ("arguments", "stock"),
    [
        (["order", "kiwi"], {"kiwi": 7}),
        (["order", "kiwi", "--json"], {"kiwi": 7}),
        (["restock", "kiwi=+5"], {"kiwi": 15}),
        (["close"], {}),
        (["open", "--json"], {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_74_the_error_says_that_it_was_carried_out(
    kiosk: Kiosk, arguments: list[str], stock: dict[str, int]
) -> None:
    error = reject_output(kiosk, *arguments)
    assert one_line(error).startswith("juice-kiosk: the kiosk has carried this out: ")
    assert kiosk.stock().items() >= stock.items()


def test_74_the_error_says_what_the_kiosk_answered(kiosk: Kiosk) -> None:
    error = reject_output(kiosk, "order", "tea", "--json")
    assert "the kiosk has answered: rejected (unknown_juice)" in one_line(error)


def test_74_a_backup_is_there_though_nobody_was_told(kiosk: Kiosk) -> None:
    error = reject_output(kiosk, "ledger", "backup", "copy.sqlite")
    assert "the ledger is saved to copy.sqlite, but standard output" in one_line(error)
    assert kiosk.command("ledger", "verify", "--path", "copy.sqlite").returncode == 0
    error = reject_output(kiosk, "ledger", "restore", "copy.sqlite", "--path", "new.sqlite")
    assert "new.sqlite is restored, but standard output" in one_line(error)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"], ["doctor"], ["doctor", "--json"], ["report"], ["report", "--json"],
        ["report", "--csv"], ["watch"], ["watch", "--json"], ["ledger", "verify"],
        ["ledger", "export"], ["ledger", "export", "--format", "csv"],
        ["machine", "bar", "--memory", "bar.last"],
    ],
    ids=" ".join,
)
def test_74_output_that_cannot_be_written(kiosk: Kiosk, arguments: list[str]) -> None:
    one_line(reject_output(kiosk, *arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"], ["--version"], ["ledger"], ["order", "--help"],
        ["--generate-completion-script", "bash"], ["demo"],
    ],
    ids=" ".join,
)
def test_74_a_manual_that_cannot_be_written(make_kiosk: MakeKiosk, arguments: list[str]) -> None:
    one_line(reject_output(make_kiosk(), *arguments, config=False))


@pytest.mark.parametrize("is_ignored", [False, True])
def test_74_a_pipe_that_nobody_reads(kiosk: Kiosk, is_ignored: bool) -> None:
    read, write = os.pipe()
    os.close(read)
    action = signal.SIG_IGN if is_ignored else signal.SIG_DFL
    order = subprocess.run(
        [program(), "order", "kiwi", "--config", kiosk.config], stdout=write, stderr=subprocess.PIPE,
        text=True, timeout=TIMEOUT, env=environment(), restore_signals=False,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, action))
    os.close(write)
    assert order.returncode == 74
    error = one_line(order.stderr)
    assert "carried this out" in error and "Broken pipe" in error
    assert kiosk.stock()["kiwi"] == 7


def test_74_a_closed_standard_output(kiosk: Kiosk) -> None:
    order = subprocess.run(
        [program(), "order", "kiwi", "--config", kiosk.config], stderr=subprocess.PIPE, text=True,
        timeout=TIMEOUT, env=environment(), preexec_fn=lambda: os.close(1))
    assert order.returncode == 74
    assert "Bad file descriptor" in one_line(order.stderr)
    kiosk.verify()


def test_74_the_reader_of_watch_leaves(kiosk: Kiosk, panel: Client) -> None:
    watch = kiosk.spawn("watch", "--json")
    errors: Arrivals[str] = Arrivals()
    read = threading.Thread(target=lambda: [errors.add(line) for line in watch.stderr])
    read.start()
    watch.stdout.readline()
    watch.stdout.close()
    panel.order("kiwi")
    assert watch.wait(TIMEOUT) == 74
    read.join()
    assert one_line("".join(errors)).endswith("standard output cannot be written: Broken pipe")


def test_75_no_kiosk_there(make_kiosk: MakeKiosk) -> None:
    unanswered = make_kiosk().command("order", "banana", "--timeout", "1")
    assert unanswered.returncode == 75
    assert "has not answered" in one_line(unanswered.stderr)


@pytest.mark.parametrize(
    ("yaml", "complaint"),
    [
        ("broker:\n  prot: 1883\n", "kiosk.yaml:2:3: broker.prot: there is no such key; did you"),
        ("broker:\n  port: many\n", "kiosk.yaml:2:3: broker.port: "),
        ("orders: {max_quantity: 0}\n", "kiosk.yaml:1:10: orders.max_quantity: "),
        ("menu: {juices: {tea: {recipe: {leaf: 1}}}}", "kiosk.yaml:1:32: menu.juices.tea.recipe"),
        ("stock: {low: 5}\nstock: {low: 6}\n", "kiosk.yaml:1:1: 'stock' is given twice"),
        ("broker: [\n", "kiosk.yaml:2:"),
        ("kiosk: {time_zone: Mars/Olympus}\n", "kiosk.yaml:1:9: kiosk.time_zone: "),
    ],
)
def test_78_a_wrong_configuration_is_named_by_file_and_line(
    make_kiosk: MakeKiosk, yaml: str, complaint: str
) -> None:
    kiosk = make_kiosk()
    kiosk.config.write_text(yaml)
    for command in (["check"], ["run"], ["order", "banana"]):
        wrong = kiosk.command(*command)
        assert (wrong.returncode, wrong.stdout) == (78, "")
        assert complaint in one_line(wrong.stderr)


def test_78_every_mistake_at_once(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk()
    kiosk.config.write_text("kiosk: {id: 'a b'}\nbrokers: {}\n")
    wrong = kiosk.command("check", KIOSK_BROKER_PROT="1", KIOSK_STOCK_LOW="few")
    assert wrong.returncode == 78
    places = ["kiosk.yaml:1:", "kiosk.yaml:2:", "KIOSK_BROKER_PROT: ", "KIOSK_STOCK_LOW: "]
    assert all(place in wrong.stderr for place in places), wrong.stderr
    assert len(wrong.stderr.splitlines()) == 4
    for text in ("loud", ""):
        assert kiosk.command("run", KIOSK_LOG_LEVEL=text).returncode == 78
    kiosk.config.unlink()
    assert "there is no such file" in one_line(kiosk.command("check").stderr)
