"""A juice made by a machine is poured once, returned once, or needs a person's decision."""

import fcntl
import json
import os
import pty
import random
import signal
import struct
import subprocess
import termios
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from arrivals import TIMEOUT, eventually
from client import BASE
from conftest import MakeBroker, MakeKiosk, Say, factory
from kiosk import ROOT, Kiosk, environment, one_line, program
from pouring import Customers, Person, TerminalMachine, Watcher, judge, judge_answers

KILLS = int(os.environ.get("KIOSK_KILLS", "10"))
# Written from deploy/docs/machine-contract.md alone.
SMALL_MACHINE = ROOT / "Tests/Shared/EndToEnd/small_machine.py"
PROGRAMS = {
    "clean": {"every_glasses": 10, "uses": {"mango": 1}}, "rinse": {"uses": {"kiwi": 2}},
}
BAR = {"name": "bar", "start_seconds": 2, "finish_seconds": 60}


@pytest.fixture
def kiosk(make_kiosk: MakeKiosk) -> Kiosk:
    return make_kiosk(machines=[BAR]).start()


@pytest.fixture
def make_machine() -> Iterator[Callable[[Kiosk], TerminalMachine]]:
    yield from factory(TerminalMachine, TerminalMachine.kill)


@pytest.fixture
def bar(kiosk: Kiosk, make_machine: Callable[[Kiosk], TerminalMachine]) -> TerminalMachine:
    """Returns a machine that is not started yet."""
    return make_machine(kiosk)


@pytest.fixture
def watcher(broker) -> Iterator[Watcher]:
    watcher = Watcher(broker.port)
    yield watcher
    watcher.close()


def start(bar: TerminalMachine, watcher: Watcher, *options: str) -> None:
    """Starts the machine, and waits until the kiosk gives it orders."""
    bar.start(*options)
    watcher.wait_for_state("idle")


def order(watcher: Watcher, number: str, juice: str = "kiwi", **more: Any) -> dict:
    """Orders, and returns the first answer."""
    return watcher.order({"id": number, "juice": juice} | more)


def pours(machine: TerminalMachine) -> list[tuple[str, int, str | None]]:
    return [(line["pour"], line["job"], line.get("status")) for line in machine.pours()]


def statuses(kiosk: Kiosk) -> list[str]:
    return [entry["status"] for entry in kiosk.ledger()[1:]]


# MARK: Stages of an order


def test_an_order_is_accepted_made_and_ready(
    kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher
) -> None:
    assert order(watcher, "a0")["reason"] == "machine_down"
    start(bar, watcher, "--seconds", "0.2")
    accepted = order(watcher, "a1", quantity=2)
    assert (accepted["status"], accepted["place"], accepted["machine"]) == ("accepted", 1, "bar")
    assert accepted["used"] == {"kiwi": 6} and accepted["stock"]["kiwi"] == 4
    ready = watcher.result("a1", "ready")
    assert (ready["ticket"], ready["stock"]) == (accepted["ticket"], accepted["stock"])
    assert watcher.wait_for_state("idle")["ready"] == [accepted["ticket"]]
    assert statuses(kiosk) == ["rejected", "accepted", "made"]
    job = accepted["seq"]
    assert pours(bar) == [("begins", job, None), ("ends", job, "done")]
    assert int(bar.memory.read_text()) == job
    # The last answer is repeated.
    assert order(watcher, "a1", quantity=2) == ready | {"duplicate": True}
    assert bar.stop() == 0
    watcher.wait_for_state("offline")
    assert order(watcher, "a2")["reason"] == "machine_down"
    kiosk.verify()


def test_the_command_waits_for_the_machine(kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher) -> None:
    bar.start("--seconds", "0.2")
    eventually(lambda: kiosk.command("order", "kiwi").returncode == 0)
    made = kiosk.command("order", "kiwi", "--json")
    assert (made.returncode, '"ready"' in made.stdout) == (0, True)
    bar.stop()
    watcher.wait_for_state("offline")
    start(bar, watcher, "--manual")
    late = kiosk.command("order", "banana", "--id", "b1", "--timeout", "5")
    assert late.returncode == 75 and late.stdout.startswith("Banana juice is being made.")
    assert "; ticket " in late.stdout and ".;" not in late.stdout
    assert "repeat the command with --id b1" in one_line(late.stderr)


def test_a_jam_gives_back_what_was_not_used(
    kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher
) -> None:
    start(bar, watcher, "--seconds", "0.1", "--fail-every", "1")
    order(watcher, "a1", "mango_kiwi", quantity=2)
    failed = watcher.result("a1", "failed")
    assert (failed["reason"], failed["message"]) == ("jam", "Sorry, Mango kiwi juice could not be made.")
    assert (failed["stock"]["mango"], failed["stock"]["kiwi"]) == (8, 9)
    assert bar.pours()[-1]["used"] == {"mango": 2, "kiwi": 1}
    kiosk.verify()


def test_three_failures_close_a_machine_and_a_success_opens_it(
    kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher
) -> None:
    start(bar, watcher, "--seconds", "0", "--fail-every", "1")
    for number in ("a1", "a2", "a3"):
        assert order(watcher, number, "banana")["status"] == "accepted"
        watcher.result(number, "failed")
    watcher.wait_for_state("failing")
    watcher.messages.first(lambda m: (m.topic, m.text) == (f"{BASE}/juice/banana", "0"))
    assert order(watcher, "a4", "banana")["reason"] == "machine_down"
    # After its restart the machine gets a single order.
    bar.stop()
    start(bar, watcher, "--seconds", "0", "--fail-every", "1")
    order(watcher, "a5", "banana")
    watcher.result("a5", "failed")
    watcher.wait_for_state("failing")
    bar.stop()
    start(bar, watcher, "--seconds", "0")
    order(watcher, "a6", "banana")
    watcher.result("a6", "ready")
    kiosk.verify()


# MARK: Power cuts


@pytest.mark.parametrize(
    ("decision", "status", "kiwi"),
    [(["poured"], "ready", 7), (["give-back", "--used", "kiwi=1"], "failed", 9), (["again"], "ready", 7)],
    ids=["poured", "give-back", "again"],
)
def test_a_power_cut_in_mid_pour_is_asked_and_never_poured_by_itself(
    kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher, decision: list[str], status: str, kiwi: int
) -> None:
    start(bar, watcher, "--seconds", "0.2", "--power-cut-at", "50")
    job = order(watcher, "a1")["seq"]
    assert bar.wait() == 79
    bar.start("--seconds", "0")
    [asked] = watcher.wait_for_jobs("needs_decision")
    assert asked["job"] == job and pours(bar) == [("begins", job, None)]
    # The other orders do not wait for the decision.
    order(watcher, "a2", "banana")
    watcher.result("a2", "ready")
    assert kiosk.command("job", str(job), *decision).returncode == 0
    assert watcher.result("a1", status)["stock"]["kiwi"] == kiwi
    begun = [number for pour, number, _ in pours(bar) if pour == "begins"]
    assert len(set(begun)) == len(begun) == (3 if decision == ["again"] else 2)
    twice = kiosk.command("job", str(job), "poured")
    assert twice.returncode == 65 and "no_decision_needed" in one_line(twice.stderr)
    kiosk.verify()


# MARK: Timeouts


def test_what_waits_too_long_is_given_back_and_what_was_begun_is_not(
    make_kiosk: MakeKiosk, make_machine: Callable[[Kiosk], TerminalMachine], watcher: Watcher
) -> None:
    # The kiosk sends two jobs at a time and the machine takes one: the second job is cancelled at
    # the machine, the third in the kiosk.
    kiosk = make_kiosk(
        machines=[BAR | {"at_once": 2, "start_seconds": 5}], orders={"max_age_seconds": 10}
    ).start()
    bar = make_machine(kiosk).start("--manual")
    watcher.wait_for_state("idle")
    begun, second, third = [order(watcher, number)["seq"] for number in ("a1", "a2", "a3")]
    for number in ("a2", "a3"):
        assert watcher.result(number, "failed")["reason"] == "waited_too_long"
    bar.log.first(f"job {second}: cancelled".__eq__)
    bar.type(str(begun))
    assert watcher.result("a1", "ready")["stock"]["kiwi"] == 7
    assert [number for _, number, _ in pours(bar)] == [begun, begun]
    assert third > second
    kiosk.verify()


def test_a_cancellation_that_crosses_a_start_loses(
    make_kiosk: MakeKiosk, make_machine: Callable[[Kiosk], TerminalMachine], watcher: Watcher
) -> None:
    kiosk = make_kiosk(
        machines=[BAR | {"start_seconds": 1}], orders={"max_age_seconds": 2}
    ).start()
    bar = make_machine(kiosk).start("--seconds", "0")
    watcher.wait_for_state("idle")
    bar.process.send_signal(signal.SIGSTOP)
    order(watcher, "a1")
    watcher.wait_for_jobs("lost")
    bar.process.send_signal(signal.SIGCONT)
    watcher.result("a1", "ready")
    watcher.wait_for_state("idle")
    assert statuses(kiosk) == ["accepted", "made"]


# MARK: Manual decisions


def test_a_person_with_a_keyboard(kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher) -> None:
    start(bar, watcher, "--manual")
    bar.type()
    bar.log.first("no job is active".__eq__)
    bar.type("hello")
    bar.log.first(lambda line: line.startswith("Enter: done."))
    order(watcher, "a1")
    [job] = watcher.wait_for_jobs("started")
    hint = f"job {job['job']}, ticket 1: 1 kiwi, each of kiwi 3; press Enter when it is done"
    bar.log.first(hint.__eq__)
    bar.type(str(job["job"]))
    watcher.result("a1", "ready")
    watcher.wait_for_state("idle")
    order(watcher, "a2")
    [job] = watcher.wait_for_jobs("started")
    bar.type("99")
    bar.log.first("job 99 is not active".__eq__)
    for impossible in ("kiwi=4", "mango=1", "kiwi=-1"):
        since = len(bar.log)
        bar.type(f"failed jam {impossible}")
        bar.log.first(lambda line: "cannot have used" in line, since)
    bar.type(f"{job['job']} failed no cups kiwi=1")
    failed = watcher.result("a2", "failed")
    assert (failed["reason"], failed["stock"]["kiwi"]) == ("no cups", 6)
    bar.type("fault no cups")
    assert watcher.wait_for_state("fault")["reason"] == "no cups"
    assert order(watcher, "a3")["reason"] == "machine_down"
    bar.type("out kiwi")
    assert watcher.wait_for_state("idle")["out"] == ["kiwi"]
    assert order(watcher, "b1")["reason"] == "machine_down"
    banana = order(watcher, "b2", "banana")["seq"]
    watcher.wait_for_jobs("started")
    bar.type("waiting no cup")
    assert watcher.wait_for_state("waiting")["reason"] == "no cup"
    bar.type("started")
    watcher.wait_for_state("busy")
    bar.type(str(banana))
    watcher.result("b2", "ready")
    bar.type("online")
    watcher.messages.until(lambda: "out" not in watcher.report())
    order(watcher, "a4")
    watcher.wait_for_jobs("started")
    # The end of the input stops the machine; its active job has failed.
    bar.process.stdin.close()
    assert watcher.result("a4", "failed")["reason"] == "stopped"
    bar.log.first(lambda line: "standard input has ended" in line)
    assert bar.process.wait(TIMEOUT) == 69
    watcher.wait_for_state("offline")


def test_enter_twice_ends_one_job(kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher) -> None:
    start(bar, watcher, "--manual")
    for number in ("a1", "a2"):
        order(watcher, number)
    first, second = [job["job"] for job in watcher.wait_for_jobs("started", "queued")]

    def is_done() -> bool:
        bar.type()
        return ("ends", first, "done") in pours(bar)

    eventually(is_done)
    watcher.wait_for_jobs("started")
    bar.type()
    bar.log.first(lambda line: line.startswith(f"job {second} has just begun"))
    assert bar.stop() == 0
    assert pours(bar)[-1] == ("ends", second, "failed")


def test_a_machine_survives_what_it_cannot_read(
    kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher
) -> None:
    start(bar, watcher, "--seconds", "0")
    job = '{"job":%s,"ticket":1,"juice":"kiwi","quantity":%s,"recipe":{"kiwi":3}}'
    for payload in ["", "{}", "kiwi", "[" * 5_000, b"\xff\xfe", job % (2, 0), job % (2, 10**9),
                    job % (10**30, 1), job % ('"2"', 1), '{"job":2}\x1b[2J\u202e']:
        since = len(bar.log)
        watcher.publish(f"{BASE}/make/bar", payload)
        told = bar.log.first(lambda line: f"ignored {BASE}/make/bar" in line, since)
        assert not {"\x1b", "\u202e"} & set(told)
    watcher.publish(f"{BASE}/make/bar/cancel", "cancel")
    bar.log.first(lambda line: f"ignored {BASE}/make/bar/cancel" in line)
    watcher.publish(f"{BASE}/make/bar", job % (2, 1), retain=True)
    watcher.messages.first(lambda m: m.topic == f"{BASE}/made/bar" and m.json["status"] == "done")
    bar.stop()
    # A retained message is not an order.
    watcher.publish(f"{BASE}/make/bar", job % (3, 1), retain=True)
    bar.start("--seconds", "0")
    bar.log.first(lambda line: line.endswith("it is a retained message"))
    assert [number for _, number, _ in pours(bar)] == [2, 2]
    watcher.publish(f"{BASE}/made/bar/result", '{"status":"rejected","reason":"malformed"}')
    bar.log.first("the kiosk answers: rejected (malformed)".__eq__)


def test_a_machine_that_cannot_begin_says_why(kiosk: Kiosk, bar: TerminalMachine) -> None:
    bar.start()
    second = kiosk.command("machine", "bar")
    assert second.returncode == 75 and "runs already" in one_line(second.stderr)
    unknown = kiosk.command("machine", "blender")
    assert unknown.returncode == 78 and "it has bar" in one_line(unknown.stderr)
    bar.stop()
    copy = bar.memory.with_name(bar.memory.name + ".good")
    for garbage in ("apples\n", "", "\n", "-1\n", "1.5\n"):
        bar.memory.write_text(garbage)
        copy.write_text(garbage)
        damaged = kiosk.command("machine", "bar")
        assert damaged.returncode == 65, garbage
        assert "write the number of the machine's last job" in one_line(damaged.stderr)
    nowhere = kiosk.command("machine", "bar", "--memory", "nowhere/last")
    assert nowhere.returncode == 78 and "nowhere" in one_line(nowhere.stderr)
    bar.memory.unlink()
    bar.memory.symlink_to(kiosk.config)
    assert kiosk.command("machine", "bar").returncode == 78


def test_progress_bars_on_a_terminal(kiosk: Kiosk, watcher: Watcher) -> None:
    ours, theirs = pty.openpty()
    set_width(theirs, 80)
    machine = subprocess.Popen(
        [program(), "machine", "bar", "--seconds", "3", "--config", kiosk.config],
        stdin=theirs, stdout=theirs, env=environment(),
    )
    try:
        watcher.wait_for_state("idle")
        order(watcher, "a1")
        shown = ""
        while "░" not in shown:
            shown += os.read(ours, 1 << 16).decode(errors="ignore")
        # The terminal shows the bar in two rows now.
        set_width(theirs, 45)
        narrow = b""
        while b"job 2: done" not in narrow:
            narrow += os.read(ours, 1 << 16)
    finally:
        machine.terminate()
        machine.wait(TIMEOUT)
        os.close(theirs)
    os.close(ours)
    text = narrow.decode(errors="ignore")
    assert "█" in shown + text
    *_, first, later = text.partition("\x1b[2F\x1b[J")
    assert first and "\x1b[2F" not in later and "\x1b[1F\x1b[J" in later
    assert all(len(line) <= 45 for line in later.replace("\x1b[1F\x1b[J", "").splitlines()[:-1])


def set_width(terminal: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


# MARK: Programs


def test_a_program_is_started_by_a_person_and_by_a_count_and_is_repeated_after_a_power_cut(
    make_kiosk: MakeKiosk, make_machine: Callable[[Kiosk], TerminalMachine], watcher: Watcher
) -> None:
    programs = {"rinse": {}, "clean": {"every_glasses": 2, "uses": {"mango": 1}, "grace_minutes": 0}}
    kiosk = make_kiosk(machines=[BAR | {"programs": programs}]).start()
    bar = make_machine(kiosk)
    start(bar, watcher, "--seconds", "0.2", "--power-cut-at", "50")
    rinse = lambda: kiosk.command("program", "bar", "rinse", "--json")
    state = lambda number: watcher.report()["programs"][number]
    assert rinse().returncode == 0
    assert bar.wait() == 79
    bar.start("--seconds", "0.2")
    # Nobody is asked, and a person starts it again.
    watcher.messages.until(lambda: statuses(kiosk)[-1] == "program_failed")
    assert rinse().returncode == 0
    watcher.messages.until(lambda: "last" in state(1))
    order(watcher, "a1", quantity=2)
    watcher.messages.until(lambda: "last" in state(0))
    assert statuses(kiosk) == [
        "program_requested", "program_failed", "program_requested", "program_done",
        "accepted", "made", "program_due", "program_requested", "program_done"]
    assert [line.get("program") for line in bar.pours()] == ["rinse"] * 3 + [None] * 2 + ["clean"] * 2
    assert kiosk.command("program", "bar", "prime").returncode == 65
    record = kiosk.command("report", "--haccp").stdout
    assert "kiosk  bar: Clean: due (number of glasses)" in record and "bar: Rinse: done" in record
    # A cleaning that is overdue closes the machine, and says what is missing for it.
    kiosk.command("restock", "mango=0")
    order(watcher, "a2", "banana", quantity=2)
    watcher.wait_for_state("cleaning_due")
    assert state(0)["missing"] == {"mango": 1}
    rejected = order(watcher, "a3")
    assert (rejected["reason"], rejected["message"]) == (
        "cleaning_due", "The machine must be cleaned first. Please try again later.")
    assert "'uses'" in kiosk.command("doctor").stdout
    kiosk.command("restock", "mango=1")
    watcher.wait_for_state("idle")
    assert order(watcher, "a4")["status"] == "accepted"
    watcher.result("a4", "ready")
    judge_programs = [entry for entry in kiosk.ledger() if entry.get("machine") == "bar"]
    assert len({entry["seq"] for entry in judge_programs}) == len(judge_programs)
    kiosk.verify()


def test_a_person_runs_a_program_with_the_keyboard(
    make_kiosk: MakeKiosk, make_machine: Callable[[Kiosk], TerminalMachine], watcher: Watcher
) -> None:
    kiosk = make_kiosk(machines=[BAR | {"programs": {"clean": {}}}]).start()
    bar = make_machine(kiosk)
    start(bar, watcher, "--manual")
    for line, status in [("failed no water", "program_failed"), ("done", "program_done")]:
        assert kiosk.command("program", "bar", "clean").returncode == 0
        watcher.wait_for_state("cleaning")
        bar.type("waiting cleaner")
        watcher.wait_for_state("waiting")
        bar.type(line)
        watcher.wait_for_state("idle")
        assert statuses(kiosk)[-1] == status


# MARK: Restarts


@pytest.mark.parametrize("step", ["queued", "begun", "ended"])
# Two of them end in `test_whatever_is_killed_nothing_is_poured_twice_and_nothing_is_lost`, at random moments.
@pytest.mark.parametrize(
    "ends", [("kiosk",), ("broker",), ("machine",), ("kiosk", "broker", "machine")], ids="+".join)
def test_whoever_ends_at_whatever_step_comes_back(
    broker, kiosk: Kiosk, bar: TerminalMachine, watcher: Watcher, ends: tuple[str, ...], step: str
) -> None:
    """Two orders: one that the machine has started, and one that is queued in the kiosk."""
    start(bar, watcher, "--manual")
    if step == "queued":
        # The machine does not receive them.
        bar.process.send_signal(signal.SIGSTOP)
    first, _ = [order(watcher, number)["seq"] for number in ("a1", "a2")]
    if step == "queued":
        watcher.wait_for_jobs("sent", "queued")
    else:
        watcher.wait_for_jobs("started", "queued")
    if step == "ended" and "kiosk" in ends:
        kiosk.kill()
    if step == "ended" and "broker" in ends:
        broker.kill()
    if step == "ended":
        bar.type(str(first))
        eventually(lambda: ("ends", first, "done") in pours(bar))
    since = len(kiosk.log)
    for end, killed in {"kiosk": kiosk, "broker": broker, "machine": bar}.items():
        if end in ends and killed.process:
            killed.kill()
    if "broker" in ends:
        broker.start()
    if "kiosk" in ends:
        kiosk.start()
    elif "broker" in ends:
        kiosk.wait_for_log(" online", since)
    if "machine" in ends:
        bar.start("--manual")
    else:
        bar.process.send_signal(signal.SIGCONT)
    watcher.wait_until_subscribed()

    person = Person(bar, watcher, unmade=lambda: "again")

    def are_ready() -> bool:
        begun = [line["job"] for line in bar.pours()[bar.lines_before:] if line["pour"] == "begins"]
        for job in begun:
            if ("ends", job, "done") not in pours(bar):
                bar.type(str(job))
                eventually(lambda: ("ends", job, "done") in pours(bar))
        person.decide()
        return [order(watcher, number)["status"] for number in ("a1", "a2")] == ["ready"] * 2

    eventually(are_ready)
    assert judge(kiosk, bar.pours()) == {"made": 2}
    assert person.count <= ("machine" in ends)


# MARK: Kills


@pytest.mark.parametrize(
    ("version", "script"), [("5", None), ("3.1.1", None), ("5", SMALL_MACHINE)],
    ids=["5", "3.1.1", "the machine of the page"],
)
def test_whatever_is_killed_nothing_is_poured_twice_and_nothing_is_lost(
    make_broker: MakeBroker, make_kiosk: MakeKiosk,
    make_machine: Callable[[Kiosk], TerminalMachine], say: Say, version: str, script: Path | None,
    chance: random.Random,
) -> None:
    initial = 1_000_000
    broker = make_broker()
    kiosk = make_kiosk(
        broker, broker={"protocol": version}, machines=[BAR | {"at_once": 1 if script else 2, "programs": PROGRAMS}],
        stock={"initial": initial, "capacity": 2 * initial},
    ).start()
    bar = make_machine(kiosk)
    bar.script = script
    options = ["--seconds", "0.1", "--fail-every", "7"] + ([] if script else ["--at-once", "2"])
    bar.start(*options)
    watcher = Watcher(broker.port)
    panels = [Customers(broker.port, f"p{number}") for number in range(3)]
    person = Person(bar, watcher, unmade=lambda: chance.choice(["again", "give_back"]))
    kills = {"kiosk": 0, "broker": 0, "machine": 0}
    try:
        while sum(kills.values()) < KILLS:
            panels[chance.randrange(3)].wait_for_ends(chance.randrange(4), person.decide)
            request = {"id": f"r{sum(kills.values())}", "machine": "bar", "program": "rinse"}
            watcher.publish(f"{BASE}/program/desk", json.dumps(request))
            victims = chance.sample(list(kills), chance.choice([1, 1, 1, 2, 3]))
            for victim in victims:
                kills[victim] += 1
                {"kiosk": kiosk, "broker": broker, "machine": bar}[victim].kill()
            chance.shuffle(victims)
            for victim in victims:
                if victim == "kiosk":
                    kiosk.launch()
                elif victim == "broker":
                    broker.start()
                else:
                    bar.launch(*options)
            if "broker" in victims:
                for client in [watcher, *panels]:
                    client.wait_until_subscribed()
            person.decide()
        for panel in panels:
            panel.stop()
        for panel in panels:
            panel.wait_for_ends(len(panel.orders) - len(panel.ends), person.decide)
        are_over = lambda report: report["jobs"] == [] and not any(
            "job" in program for program in report["programs"])
        watcher.messages.until(lambda: are_over(watcher.report()))
        ends = judge(kiosk, bar.pours(), initial)
        judge_answers(kiosk, panels)
    finally:
        for client in [watcher, *panels]:
            client.close()
    pressed = sum(len(panel.orders) for panel in panels)
    begun = sum(line["pour"] == "begins" for line in bar.pours())
    say(f"{kills}, {pressed} orders, {begun} pours, {dict(ends)}, a person: {dict(person.decisions)}")
