"""Each command of the program in normal use."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from contextlib import contextmanager
from typing import Iterator

import pytest

from arrivals import TIMEOUT, Arrivals
from client import BASE
from conftest import MakeKiosk
from kiosk import FRUITS, Kiosk, environment, one_line, program

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


@contextmanager
def watching(kiosk: Kiosk, *options: str) -> Iterator[Arrivals[str]]:
    """Yields the lines that `watch` prints."""
    shown: Arrivals[str] = Arrivals()
    watch = kiosk.spawn("watch", *options)
    read = threading.Thread(target=lambda: [shown.add(line) for line in watch.stdout])
    read.start()
    try:
        yield shown
    finally:
        watch.send_signal(signal.SIGINT)
        watch.wait(TIMEOUT)
        read.join()


@pytest.mark.parametrize("as_json", [False, True])
def test_watch(kiosk: Kiosk, panel, as_json: bool) -> None:
    with watching(kiosk, *["--json"] * as_json) as shown:
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
            shown.first("bar fault: no cups, 2 waiting, decision needed for ticket 4 (job 9)\n".__eq__)


def test_a_kiosk_is_called_by_its_name(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(
        kiosk={"name": {"en": "City hall", "ko": "시청"}, "place": "1 Main Street"}).start()
    assert "kiosk k1 (City hall, 1 Main Street), broker" in next(iter(kiosk.log))
    assert "City hall, 1 Main Street" in kiosk.command("check").stdout
    assert "City hall, 1 Main Street" in kiosk.command("report").stdout.splitlines()[0]
    with watching(kiosk) as shown:
        shown.first("City hall, 1 Main Street\n".__eq__)


def test_check(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(
        kiosk={"id": "shop", "language": "ko", "time_zone": "Asia/Seoul"},
        machines=[{"name": "bar"}, {"name": "arm", "juices": ["mango", "kiwi"]}],
        sensors=[{"name": "fridge", "topic": "zigbee/fridge", "value": "/temperature", "unit": "°C", "max": 7,
                  "fruits": ["kiwi"]}])
    good = kiosk.command("check", "--connect")
    assert (good.returncode, good.stderr) == (0, "")
    for word in ("kiosk/shop", "Asia/Seoul", "strawberry_banana", "machine bar: every juice",
                 "machine arm: kiwi, mango", "sensor  fridge: to 7 °C for kiwi on zigbee/fridge",
                 "The broker can be reached"):
        assert word in good.stdout


def test_check_as_json(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(
        kiosk={"name": {"en": "City hall"}}, machines=[{"name": "arm", "juices": ["mango", "kiwi"]}],
        panels=[{"name": "hall", "device": "tasmota", "topic": "stat/hall",
                 "buttons": {"1_single": "kiwi"}}])
    good = kiosk.command("check", "--json", "--connect")
    assert (good.returncode, good.stderr) == (0, "")
    found = json.loads(good.stdout)
    assert found["kiosk"] == BASE and found["name"]["en"] == "City hall"
    assert found["fruits"] == FRUITS
    assert [panel["name"] for panel in found["panels"]] == ["hall"]
    assert found["machines"] == [{"name": "arm", "juices": ["kiwi", "mango"]}]
    kiosk.config.write_text("broker:\n  prot: 1883\nkiosk: {id: 'a b'}\n")
    wrong = kiosk.command("check", "--json")
    assert (wrong.returncode, wrong.stderr) == (78, "")
    first, second = json.loads(wrong.stdout)["errors"]
    assert first["key"] == "broker.prot" and first["where"].endswith("kiosk.yaml:2:3")
    assert first["hint"] == "did you mean 'port'?"
    assert second["key"] == "kiosk.id"


def test_check_of_a_menu_as_json(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk()
    menu = kiosk.folder / "menu.yaml"
    menu.write_text("menu: {juices: {tea: {recipe: {leaf: 3}}}}")
    wrong = kiosk.command("check", "--menu", str(menu), "--json")
    assert (wrong.returncode, wrong.stderr) == (65, "")
    first = json.loads(wrong.stdout)["errors"][0]
    assert first["key"] == "menu.juices.tea.recipe.leaf" and first["where"] == f"{menu}:1:32"
    menu.write_bytes(b"\xff")
    wrong = kiosk.command("check", "--menu", str(menu), "--json")
    assert (wrong.returncode, wrong.stderr) == (65, "")
    assert "not UTF-8 text" in json.loads(wrong.stdout)["errors"][0]["what"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["restok"], "did you mean 'restock'?"),
        (["ledger", "verfy"], "did you mean 'verify'?"),
        (["pour"], "known here: run, check, doctor"),
    ],
    ids=["command", "subcommand", "none"],
)
def test_a_misspelled_command(make_kiosk: MakeKiosk, arguments: list[str], hint: str) -> None:
    wrong = make_kiosk().command(*arguments, config=False)
    assert (wrong.returncode, wrong.stdout) == (64, "")
    assert f"Error: There is no command '{arguments[-1]}'; {hint}" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["order", "melom"], "did you mean 'melon'?"),
        (["order", "strawbery"], "known here: melon"),
        (["restock", "melon=1", "mellon=2"], "did you mean 'melon'?"),
    ],
    ids=["juice", "none", "fruit"],
)
def test_a_misspelled_id(make_kiosk: MakeKiosk, arguments: list[str], hint: str) -> None:
    """The kiosk's menu counts, not that of the command."""
    kiosk = make_kiosk(menu={"base": "none", "fruits": {"melon": {}},
                             "juices": {"melon": {"recipe": {"melon": 1}}}}).start()
    variables = {"KIOSK_BROKER_PORT": json.loads(kiosk.config.read_text())["broker"]["port"]}
    wrong = kiosk.command(*arguments, config=False, KIOSK_KIOSK_ID="k1",
                          **{name: str(value) for name, value in variables.items()})
    assert wrong.returncode == 65
    assert one_line(wrong.stderr).endswith(f"; {hint}")


def test_without_a_configuration_the_kiosk_is_named(make_kiosk: MakeKiosk, broker) -> None:
    variables = {"KIOSK_BROKER_PORT": str(broker.port)}
    kiosk = make_kiosk(kiosk={"name": {"en": "City hall"}, "place": "1 Main Street"}).start()
    ordered = kiosk.command("order", "kiwi", "--json", config=False, **variables)
    assert (ordered.returncode, json.loads(ordered.stdout)["status"]) == (0, "ready")
    assert one_line(ordered.stderr).endswith(
        f"kiosk k1 (City hall, 1 Main Street) at 127.0.0.1:{broker.port}")

    other = make_kiosk(kiosk={"id": "k2"}).start()
    for command in (["order", "kiwi"], ["restock", "kiwi=1"], ["close"]):
        refused = kiosk.command(*command, config=False, **variables)
        assert (refused.returncode, refused.stdout) == (78, "")
        assert "k1 (City hall, 1 Main Street), k2. Choose one" in one_line(refused.stderr)
    chosen = kiosk.command("close", config=False, KIOSK_KIOSK_ID="k2", **variables)
    assert (chosen.returncode, chosen.stderr) == (0, "")
    # A single one that is not the default.
    kiosk.stop()
    refused = kiosk.command("close", config=False, **variables)
    assert refused.returncode == 78 and ": k2. Choose one" in one_line(refused.stderr)
    assert [entry["status"] for entry in kiosk.ledger()] == ["opened", "ready"]
    other.verify()


class Terminal:
    """A command on a terminal of so many columns."""

    def __init__(self, columns: int, *arguments: str) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [program(), *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
            env=environment())
        os.close(theirs)
        self.shown: Arrivals[str] = Arrivals()
        self.reader = threading.Thread(target=self._read, args=[ours])
        self.reader.start()

    def _read(self, terminal: int) -> None:
        try:
            while piece := os.read(terminal, 1 << 16):
                self.shown.add(piece.decode())
        except OSError:
            pass  # Linux reports EIO at the end.
        os.close(terminal)

    @property
    def lines(self) -> list[str]:
        text = re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", "".join(self.shown))
        return text.replace("\r", "").splitlines()

    def stop(self, sign: int = signal.SIGINT) -> None:
        self.process.send_signal(sign)
        self.process.wait(TIMEOUT)
        self.reader.join()

    def wait(self) -> int:
        code = self.process.wait(TIMEOUT)
        self.reader.join()
        return code


def test_lines_break_between_words(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(
        stock={"low": 3}, panels=[
            {"name": f"panel{number}", "device": "tasmota", "topic": f"stat/hall/upstairs{number}",
             "buttons": {"1_single": "kiwi", "1_double": "mango"}} for number in range(3)])
    for command in ("check", "doctor"):
        plain = kiosk.command(command).stdout
        assert max(map(len, plain.splitlines())) > 60
        terminal = Terminal(60, command, "--config", str(kiosk.config))
        terminal.wait()
        # A path may be longer than a line; it stays whole, after its label.
        assert all(len(line) <= 60 or len(line.split()) <= 2 for line in terminal.lines), terminal.lines
        # The clock goes on.
        words = lambda text: re.sub(r"\d", "0", text).split()
        assert words(" ".join(terminal.lines)) == words(plain)
    kiosk.config.write_text(json.dumps({"menu": {"juices": {"tea": {"recipe": {"leaf": 1}}}}}))
    wrong = Terminal(60, "check", "--config", str(kiosk.config))
    assert wrong.wait() == 78
    assert all(len(line) <= 60 or " " not in line for line in wrong.lines), wrong.lines


def test_learn_breaks_between_words(make_kiosk: MakeKiosk, panel) -> None:
    kiosk = make_kiosk()
    terminal = Terminal(60, "learn", "--config", str(kiosk.config))
    terminal.shown.until(lambda: any("Press the button" in line for line in terminal.lines))
    topic = "zigbee2mqtt/the button beside the door of the big hall upstairs"
    panel.publish(topic, json.dumps({"action": "single", "linkquality": 80}))
    assert terminal.wait() == 0
    comment = [line for line in terminal.lines if line.startswith("# ")]
    assert len(comment) > 1 and all(len(line) <= 60 for line in comment)


@pytest.mark.parametrize("columns", [34, 80])
def test_watch_fits_the_terminal(make_kiosk: MakeKiosk, columns: int) -> None:
    kiosk = make_kiosk(
        kiosk={"name": {"en": "City hall"}, "place": "1 Main Street, beside the station"},
        stock={"initial": {"kiwi": 90}}).start()
    terminal = Terminal(columns, "watch", "--config", str(kiosk.config))
    try:
        terminal.shown.until(lambda: any("strawberry_banana" in line or "Mango kiwi" in line
                                         for line in terminal.lines))
        terminal.shown.until(lambda: any(line.startswith("  Kiwi  ") and "█" in line
                                         for line in terminal.lines))
        terminal.shown.until(lambda: any(line.startswith("  1 of 7 juices not for sale")
                                         for line in terminal.lines))
    finally:
        terminal.stop()
    assert all(len(line) <= columns for line in terminal.lines), terminal.lines
    assert max(map(len, terminal.lines)) > columns - 14


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
        "amount,currency,epoch,charge,device,receipt,trace,terminal,card,last4,program"
    )
    # Nothing is paid.
    table = [line.removesuffix(",,,,,,,,") for line in table]
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


def test_an_export_shows_what_a_terminal_would_hide(kiosk: Kiosk, panel) -> None:
    name = "p\u202e1\u200b"
    panel.ask(f"order/{name}", "kiwi", f"{BASE}/order/{name}/result")
    lines = kiosk.command("ledger", "export").stdout
    assert "order/p\\u202e1\\u200b" in lines and json.loads(lines.splitlines()[1])["source"] == f"order/{name}"
    for arguments in (["--format", "csv"], ["--format", "csv", "--excel"]):
        assert ",order/p1," in kiosk.command("ledger", "export", *arguments).stdout


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
    korean = make_kiosk().command("demo", "--korean", config=False, stdin="banana\n키위쥬스\nMango Juice\n")
    for name in "바나나쥬스", "키위쥬스", "망고쥬스":
        assert f"{name} 나왔습니다! 맛있게 드세요!" in korean.stdout


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
