"""Every command of the program, and every exit code of its manual."""

import json
import re
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from arrivals import Arrivals, eventually
from client import BASE
from conftest import MakeBroker, MakeKiosk
from kiosk import FRUITS, Kiosk, environment, program

COMMANDS = ["run", "check", "order", "restock", "open", "close", "watch", "ledger", "demo"]


def one_line(text: str) -> str:
    """The complaint, which is one line and says who complains."""
    lines = text.splitlines()
    assert len(lines) == 1 and lines[0].startswith("juice-kiosk: "), text
    return lines[0]


# MARK: What works


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
    watch = subprocess.Popen(
        [program(), "watch", "--config", kiosk.config] + ["--json"] * as_json,
        stdout=subprocess.PIPE, text=True, env=environment(),
    )
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
    finally:
        watch.send_signal(signal.SIGINT)
        watch.wait()
        read.join()


def test_check(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(kiosk={"id": "shop", "language": "ko", "time_zone": "Asia/Seoul"})
    good = kiosk.command("check", "--connect")
    assert (good.returncode, good.stderr) == (0, "")
    for word in ("kiosk/shop", "Asia/Seoul", "strawberry_banana", "The broker can be reached"):
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
    assert table[0] == "seq,at,source,id,status,juice,quantity,ticket,reason,missing,changes"
    rows = [line.split(",") for line in table[1:]]
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


# MARK: What does not


@pytest.mark.parametrize(
    "arguments",
    [
        ["pour"], ["order"], ["order", "banana", "kiwi"], ["order", "ban ana"], ["restock"],
        ["order", "banana", "--quantity", "x"], ["restock", "kiwi"], ["restock", "kiwi=x"],
        ["restock", "kiwi=1", "kiwi=2"], ["order", "banana", "--as", "a/b"],
        ["restock", "kiwi=1", "--as", "+"],
        ["order", "banana", "--id", "a/b"], ["order", "banana", "--timeout", "0"],
        ["run", "--log-level", "loud"], ["ledger", "export", "--format", "pdf"],
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


def test_78_a_password_that_others_can_read(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(broker={"username": "controller", "password_file": "password"})
    password = kiosk.folder / "password"
    password.write_text("secret\n")
    password.chmod(0o644)
    for command in (["run"], ["order", "banana"]):
        refused = kiosk.command(*command)
        assert refused.returncode == 78
        line = refused.stderr.splitlines()[-1]
        assert "chmod 600" in line and "secret" not in refused.stderr


# MARK: Who may come in


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_login(make_broker: MakeBroker, make_kiosk: MakeKiosk, version: str) -> None:
    broker = make_broker(users={"controller": "right"})
    account = {"protocol": version, "username": "controller", "password_file": "password"}
    kiosk = make_kiosk(broker, broker=account)
    password = kiosk.folder / "password"
    password.touch(mode=0o600)
    password.write_text("wrong\n")

    refused = kiosk.command("order", "banana")
    assert refused.returncode == 69
    assert "refused the login" in one_line(refused.stderr)
    kiosk.launch()
    kiosk.wait_for_log("refused the login")
    # It tries again, and says no more about it.
    eventually(lambda: (broker.folder / "log").read_text().count("not authorised") >= 4, within=30)
    assert kiosk.is_alive
    assert sum("refused" in line for line in kiosk.log) == 1
    kiosk.stop()

    password.write_text("right\n")
    kiosk.start()
    assert kiosk.command("order", "banana").returncode == 0


def test_a_subscription_that_the_broker_refuses(
    make_broker: MakeBroker, make_kiosk: MakeKiosk
) -> None:
    plugins = list(Path("/usr/lib").glob("*/mosquitto_dynamic_security.so"))
    rules = {
        "defaultACLAccess": {"publishClientSend": True, "publishClientReceive": True,
                             "subscribe": False, "unsubscribe": True},
        "roles": [{"rolename": "panel", "acls": [
            {"acltype": "subscribePattern", "topic": "kiosk/k1/order/+", "allow": True}]}],
        "groups": [{"groupname": "all", "roles": [{"rolename": "panel"}]}],
        "anonymousGroup": "all",
    }
    broker = make_broker(settings="# rules")
    broker.stop()
    (broker.folder / "rules.json").write_text(json.dumps(rules))
    with open(broker.folder / "mosquitto.conf", "a") as configuration:
        configuration.write(f"plugin {plugins[0]}\n")
        configuration.write(f"plugin_opt_config_file {broker.folder}/rules.json\n")
    broker.start()
    kiosk = make_kiosk(broker)
    kiosk.launch()
    told = kiosk.wait_for_log("refused the subscription")
    assert "kiosk/k1/restock/+" in told
    assert kiosk.is_alive
    assert kiosk.stop() == 0
