"""Each command of the program in normal use."""

import json
import re
import signal
import threading

import pytest

from arrivals import TIMEOUT, Arrivals
from client import BASE
from conftest import MakeKiosk
from kiosk import FRUITS, Kiosk, one_line

COMMANDS = [
    "run", "check", "doctor", "order", "restock", "job", "open", "close", "watch", "report", "ledger",
    "machine", "demo",
]


def test_help_and_version(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk()
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", kiosk.command("--version", config=False).stdout)
    manual = kiosk.command("--help", config=False)
    assert manual.returncode == 0
    for word in COMMANDS + ["EXIT STATUS", "--config", "KIOSK_BROKER_HOST"]:
        assert word in manual.stdout
    for command in COMMANDS:
        page = kiosk.command(command, "--help", config=False)
        assert (page.returncode, page.stderr) == (0, "")
        assert page.stdout.startswith("OVERVIEW: ")
    completion = kiosk.command("--generate-completion-script", "bash", config=False)
    assert "restock" in completion.stdout


def test_order(kiosk: Kiosk) -> None:
    made = kiosk.command("order", "kiwi", "--quantity", "2")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith("Kiwi juice is ready. Enjoy!; ticket 1; stock ")
    for expected in ({}, {"duplicate": True}):
        again = kiosk.command("order", "mango", "--id", "m1", "--as", "till", "--json")
        result = json.loads(again.stdout)
        assert (again.returncode, result["id"], result["ticket"]) == (0, "m1", 2)
        assert expected.items() <= result.items()
    assert [entry["source"] for entry in kiosk.ledger()[1:]] == ["order/terminal", "order/till"]


def test_restock(kiosk: Kiosk) -> None:
    done = kiosk.command("restock", "strawberry=+20", "kiwi=-1", "mango=30", "--expect", "kiwi=10")
    assert done.returncode == 0 and done.stdout.startswith("done; stock ")
    assert kiosk.stock() == {
        "strawberry": 30, "banana": 10, "pineapple": 10, "kiwi": 9, "mango": 30,
    }
    result = json.loads(kiosk.command("restock", "kiwi=5", "--json").stdout)
    assert (result["status"], result["stock"]["kiwi"]) == ("applied", 5)


def test_close_and_open(kiosk: Kiosk) -> None:
    assert kiosk.command("close").stdout == "done\n"
    closed = kiosk.command("order", "kiwi")
    assert (closed.returncode, closed.stdout) == (75, "")
    assert "closed" in one_line(closed.stderr)
    assert json.loads(kiosk.command("open", "--json").stdout)["service"] == "open"
    assert kiosk.command("order", "kiwi").returncode == 0


@pytest.mark.parametrize("as_json", [False, True])
def test_watch(kiosk: Kiosk, panel, as_json: bool) -> None:
    shown: Arrivals[str] = Arrivals()
    watch = kiosk.spawn("watch", *["--json"] * as_json)
    read = threading.Thread(target=lambda: [shown.add(line) for line in watch.stdout])
    read.start()
    try:
        shown.first(lambda line: "status" in line and "online" in line)
        panel.order("strawberry_banana")
        if as_json:
            shown.first(
                lambda line: json.loads(line)
                == {"topic": f"{BASE}/stock/strawberry", "payload": "0"}
            )
        else:
            for line in ("strawberry 0", "strawberry alert out", "banana 9"):
                shown.first((line + "\n").__eq__)
            report = {"state": "fault", "reason": "no cups", "queue": 2, "ready": [], "jobs": [{
                "job": 9, "ticket": 4, "juice": "kiwi", "quantity": 1, "state": "needs_decision",
                "at": "2026-11-21T09:00:00Z",
            }]}
            panel.publish(f"{BASE}/machine/bar", json.dumps(report))
            shown.first("bar fault: no cups, 2 waiting, ask somebody about 4\n".__eq__)
    finally:
        watch.send_signal(signal.SIGINT)
        watch.wait(TIMEOUT)
        read.join()


def test_a_kiosk_is_called_by_its_name(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(
        kiosk={"name": {"en": "City hall", "ko": "시청"}, "place": "1 Main Street"}).start()
    assert "kiosk k1 (City hall, 1 Main Street), broker" in next(iter(kiosk.log))
    assert "City hall, 1 Main Street" in kiosk.command("check").stdout
    assert "City hall, 1 Main Street" in kiosk.command("report").stdout.splitlines()[0]
    shown: Arrivals[str] = Arrivals()
    watch = kiosk.spawn("watch")
    read = threading.Thread(target=lambda: [shown.add(line) for line in watch.stdout])
    read.start()
    try:
        shown.first("City hall, 1 Main Street\n".__eq__)
    finally:
        watch.send_signal(signal.SIGINT)
        watch.wait(TIMEOUT)
        read.join()


def test_check(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(
        kiosk={"id": "shop", "language": "ko", "time_zone": "Asia/Seoul"},
        machines=[{"name": "bar"}, {"name": "arm", "juices": ["mango", "kiwi"]}])
    good = kiosk.command("check", "--connect")
    assert (good.returncode, good.stderr) == (0, "")
    for word in ("kiosk/shop", "Asia/Seoul", "strawberry_banana", "machine bar: every juice",
                 "machine arm: kiwi, mango", "The broker can be reached"):
        assert word in good.stdout


def test_ledger(kiosk: Kiosk, panel) -> None:
    panel.order({"id": "a1", "juice": "strawberry_banana"})
    panel.order("strawberry")
    panel.restock({"add": {"kiwi": 1, "mango": -1}})
    panel.order("tea")
    lines = kiosk.command("ledger", "export").stdout.splitlines()
    assert [json.loads(line)["status"] for line in lines] == [
        "opened", "ready", "out_of_stock", "restocked", "rejected",
    ]
    table = kiosk.command("ledger", "export", "--format", "csv").stdout.splitlines()
    assert table[0] == (
        "seq,at,source,id,status,juice,quantity,ticket,reason,missing,changes,machine,job,"
        "amount,currency,epoch"
    )
    assert {line.rpartition(",")[2] for line in table[1:]} == {str(json.loads(lines[0])["epoch"])}
    rows = [line.rpartition(",")[0].removesuffix(",,,,").split(",") for line in table[1:]]
    assert [row[:1] + row[2:] for row in rows] == [
        ["1", "", "", "opened", "", "", "", "", "",
         "; ".join(f"{fruit} 10" for fruit in sorted(FRUITS))],
        ["2", "order/p1", "a1", "ready", "strawberry_banana", "1", "1", "", "",
         "banana -1; strawberry -10"],
        ["3", "order/p1", "", "out_of_stock", "strawberry", "1", "", "", "strawberry 16", ""],
        ["4", "restock/desk", "", "restocked", "", "", "", "", "", "kiwi 1; mango -1"],
        ["5", "order/p1", "", "rejected", "tea", "1", "", "unknown_juice", "", ""],
    ]
    verified = kiosk.command("ledger", "verify")
    assert verified.returncode == 0 and "5 entries" in verified.stdout

    copy = kiosk.folder / "copy.sqlite"
    assert kiosk.command("ledger", "backup", str(copy)).returncode == 0
    exported = kiosk.command("ledger", "export", "--path", str(copy), config=False)
    assert exported.stdout.splitlines() == lines
    assert kiosk.command("ledger", "backup", str(copy)).returncode != 0


def test_demo(make_kiosk: MakeKiosk) -> None:
    presses = "5\nstrawberry_banana\n\ntea\nrestock\n5\nquit\n"
    demo = make_kiosk().command("demo", config=False, stdin=presses)
    assert demo.returncode == 0
    assert [line[9:] for line in demo.stderr.splitlines()] == [
        "warning order/demo: rejected, unknown_juice"
    ]
    answers = [line[2:] for line in demo.stdout.splitlines() if line.startswith("> ")]
    assert [answer.split(";")[0] for answer in answers] == [
        "Strawberry banana juice is ready. Enjoy!",
        "Not enough fruit. Update the stock?",
        "rejected (unknown_juice)",
        "done",
        "Strawberry banana juice is ready. Enjoy!",
    ]
    korean = make_kiosk().command("demo", "--korean", config=False, stdin="banana\n")
    assert "바나나쥬스 나왔습니다! 맛있게 드세요!" in korean.stdout


def test_variables_override_the_file(make_kiosk: MakeKiosk, broker) -> None:
    kiosk = make_kiosk(broker={"host": "nowhere.invalid", "port": 1})
    variables = {"KIOSK_BROKER_HOST": "127.0.0.1", "KIOSK_BROKER_PORT": str(broker.port)}
    kiosk.launch(**variables, KIOSK_LOG_LEVEL="debug", KIOSK_KIOSK_LANGUAGE="ko")
    kiosk.wait_for_log(" online")
    assert "바나나쥬스" in kiosk.command("order", "banana", **variables).stdout
    kiosk.kill()
    kiosk.launch(**variables, KIOSK_LOG_LEVEL="error")
    assert kiosk.command("order", "banana", **variables).returncode == 0
    since = len(kiosk.log)
    assert kiosk.stop() == 0
    assert kiosk.log.since(since) == []
