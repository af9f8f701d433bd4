"""Juices made by a machine: the machine in the terminal, customers, and an audit of its pour log.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Collection

from arrivals import TIMEOUT
from client import BASE, Client
from daemon import Daemon
from kiosk import RECIPES, Kiosk, program

FINAL = {"ready", "failed", "rejected", "out_of_stock"}
Amounts = dict[str, int]


class TerminalMachine(Daemon):
    """Runs `juice-kiosk machine`, and reads its output and its pour log."""

    def __init__(self, kiosk: Kiosk, name: str = "bar") -> None:
        super().__init__()
        self.kiosk = kiosk
        self.name = name
        self.pour_log = kiosk.folder / f"pours-{name}"
        self.memory = kiosk.folder / f"machine-{name}.last"
        #: The program, or `juice-kiosk machine` if there is none.
        self.script: Path | None = None
        #: The configuration, or that of the kiosk if there is none.
        self.config: Path | None = None
        #: Number of lines in the pour log at the latest start.
        self.lines_before = 0

    def launch(self, *options: str) -> "TerminalMachine":
        self.lines_before = len(self.pours())
        self.execute(
            *([sys.executable, self.script] if self.script else [program(), "machine"]), self.name,
            "--pour-log", self.pour_log, "--config", self.config or self.kiosk.config, *options,
            stdin=subprocess.PIPE)
        return self

    def start(self, *options: str) -> "TerminalMachine":
        since = len(self.log)
        self.launch(*options)
        self.wait_for_log(" its last job was ", since)
        return self

    def type(self, line: str = "") -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, within: float = TIMEOUT) -> int:
        stdin = self.process.stdin
        code = super().wait(within)
        stdin.close()
        return code

    def pours(self) -> list[dict]:
        """Returns the lines of the pour log."""
        if not self.pour_log.exists():
            return []
        return [json.loads(line) for line in self.pour_log.read_text().splitlines()]


class Watcher(Client):
    """Receives all messages of the kiosk."""

    def __init__(self, port: int) -> None:
        super().__init__(port, "kiosk/#")

    def report(self, machine: str = "bar") -> dict:
        """Returns the latest report of a machine."""
        told = [m for m in self.messages if m.topic == f"{BASE}/machine/{machine}"]
        return told[-1].json if told else {"jobs": []}

    def wait_for_state(self, state: str, machine: str = "bar") -> dict:
        self.messages.until(lambda: self.report(machine).get("state") == state)
        return self.report(machine)

    def wait_for_jobs(self, *states: str) -> list[dict]:
        """Waits until the machine's active and queued jobs have these states."""
        jobs = lambda: self.report()["jobs"]
        self.messages.until(lambda: [job["state"] for job in jobs()] == list(states))
        return jobs()

    def results(self, number: str) -> list[dict]:
        heard = [m.json for m in self.messages if m.topic.endswith("/result")]
        return [result for result in heard if result.get("id") == number]

    def result(self, number: str, *statuses: str) -> dict:
        """Waits until an order with this id has a result with one of these statuses."""
        found = lambda: [r for r in self.results(number) if r["status"] in statuses]
        return self.messages.until(found)[-1]


class Customers(Client):
    """A panel with a constant number of orders in flight, each until the juice is made or has
    failed."""

    def __init__(self, port: int, name: str, window: int = 4) -> None:
        self.name = name
        self.orders: dict[str, str] = {}
        self.accepted: dict[str, dict] = {}
        self.ends: dict[str, dict] = {}
        self.contradictions: list[tuple[dict, dict]] = []
        self.window = window
        self.changed = threading.Condition()
        self.is_over = False
        self.chance = random.Random(name)
        super().__init__(port, f"{BASE}/order/{name}/result", name=f"customers-{name}")
        self.thread = threading.Thread(target=self._press, daemon=True)
        self.thread.start()

    def _press(self) -> None:
        while True:
            with self.changed:
                has_room = lambda: self.is_over or len(self.orders) < len(self.ends) + self.window
                self.changed.wait_for(has_room)
                if self.is_over:
                    return
                number = f"{self.name}-{len(self.orders)}"
                self.orders[number] = self.chance.choice(list(RECIPES))
                is_down = any(end.get("reason") in ("machine_down", "payment_down") for end in
                              list(self.ends.values())[-1:])
                if is_down:
                    # While no machine or payment device is working, a slower pace suffices.
                    self.changed.wait(0.1)
            self._send(number)

    def _send(self, number: str) -> None:
        order = json.dumps({"id": number, "juice": self.orders[number]})
        self.client.publish(f"{BASE}/order/{self.name}", order, 1)

    def received(self, message: Any) -> None:
        result = json.loads(message.payload)
        number = result["id"]
        with self.changed:
            known = self.ends if result["status"] in FINAL else self.accepted
            before = known.setdefault(number, result)
            if before | {"duplicate": True} != result | {"duplicate": True}:
                self.contradictions.append((before, result))
            self.changed.notify_all()

    def wait_for_ends(self, more: int, meanwhile: Callable[[], None]) -> None:
        """Waits for further finished orders. Repeats orders that the broker has lost."""
        wanted = len(self.ends) + more
        deadline = time.monotonic() + TIMEOUT
        while True:
            with self.changed:
                if self.changed.wait_for(lambda: len(self.ends) >= wanted, 0.5):
                    return
            assert time.monotonic() < deadline, self.name
            self.ask_again()
            meanwhile()

    def stop(self) -> None:
        with self.changed:
            self.is_over = True
            self.changed.notify_all()
        self.thread.join()

    def ask_again(self) -> bool:
        """Sends unfinished orders again. Returns whether there were any."""
        with self.changed:
            open_ones = [number for number in self.orders if number not in self.ends]
        for number in open_ones:
            self._send(number)
        return bool(open_ones)


class Person:
    """Decides, by the pour log, about jobs in the state `needs_decision`."""

    def __init__(
        self, machine: TerminalMachine, watcher: Watcher, unmade: Callable[[], str]
    ) -> None:
        """`unmade`: returns the decision for a juice that was not poured completely."""
        self.machine = machine
        self.watcher = watcher
        self.unmade = unmade
        self.decisions: Counter[str] = Counter()
        self.count = 0

    def decide(self, within: float = TIMEOUT) -> None:
        """Decides about each undecided job, unless the machine may still be pouring it."""
        log = self.machine.pours()
        for job in self.watcher.report()["jobs"]:
            if job["state"] != "needs_decision":
                continue
            lines = [line for line in log if line["job"] == job["attempt"]]
            if len(lines) == 1 and lines[0] not in log[: self.machine.lines_before]:
                continue
            decision: dict[str, Any] = {"job": job["attempt"]}
            end = lines[-1] if len(lines) == 2 else {}
            if end.get("status") == "done":
                decision |= {"decision": "poured"}
            else:
                # The fruit of an interrupted pour is thrown away.
                used = {fruit: n * job["quantity"] for fruit, n in RECIPES[job["juice"]].items()}
                decision |= {
                    "decision": self.unmade(),
                    "used": end.get("used", used if lines else dict.fromkeys(used, 0)),
                }
            self._say(decision, within)

    def _say(self, decision: dict, within: float) -> None:
        self.count += 1
        number = f"d{self.count}"
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            self.watcher.publish(f"{BASE}/job/person", json.dumps(decision | {"id": number}))
            try:
                self.watcher.messages.until(lambda: self.watcher.results(number), 2)
                self.decisions[decision["decision"]] += 1
                return
            except TimeoutError:
                # A killed broker has lost the message; its id makes a repetition safe.
                continue
        raise TimeoutError(f"nobody has heard {decision}")


def judge(
    kiosk: Kiosk, log: list[dict], initial: int = 10, keeps: Collection[str] = ()
) -> Counter[str]:
    """Checks the ledger against the pour log: no pour is repeated or lost, and all fruit is
    accounted for.

    `initial`: initial stock of each fruit; `keeps`: machines with `on_failure: keep`. Returns the
    number of orders by result.
    """
    kiosk.verify()
    begun: Counter[int] = Counter()
    ended: dict[int, dict] = {}
    for line in log:
        if line["pour"] == "begins":
            begun[line["job"]] += 1
        else:
            assert line["job"] not in ended and begun[line["job"]] == 1, line
            ended[line["job"]] = line
    assert not begun or max(begun.values()) == 1, begun.most_common(1)

    ledger = kiosk.ledger()
    orders = {entry["seq"]: entry for entry in ledger
              if entry["status"] in ("accepted", "program_requested")}
    numbers = {seq: [seq] for seq in orders}
    ends: dict[int, dict] = {}
    gone: Counter[str] = Counter()
    # The fruit that a person reported as lost, by the number of the attempt.
    thrown: dict[int, Amounts] = {}
    stock: Counter[str] = Counter()
    for entry in ledger:
        stock.update(entry.get("changes", {}))
        job = entry.get("job")
        if entry["status"] == "again":
            thrown[numbers[job][-1]] = negative(entry.get("changes", {}))
            numbers[job].append(entry["seq"])
        elif entry["status"] in ("made", "failed", "returned", "program_done", "program_failed"):
            assert job not in ends, f"{job} ended twice"
            ends[job] = entry
    assert set(ends) == set(orders), set(orders) - set(ends)
    assert set(begun) <= {number for each in numbers.values() for number in each}

    for seq, order in orders.items():
        recipe = negative(order.get("changes", {}))
        if "juice" in order:
            assert recipe == {f: n * order["quantity"] for f, n in RECIPES[order["juice"]].items()}
        *earlier, last = numbers[seq]
        for number in earlier:
            assert ended.get(number, {}).get("status") != "done", f"{seq} was poured already"
            gone.update(thrown[number])
        end, pour = ends[seq], ended.get(last, {})
        back = end.get("changes", {})
        if end["status"] in ("made", "program_done"):
            assert pour.get("status") == "done", (end, pour)
            assert not back
            gone.update(recipe)
            continue
        used = subtract(recipe, back)
        gone.update(used)
        if end["reason"] == "unknown":
            # A program that was interrupted, maybe between its end and the answer.
            assert "juice" not in order and not back
            continue
        assert pour.get("status") != "done", (end, pour)
        if end["status"] == "failed" or end["reason"] in ("jam", "stopped"):
            assert (pour["status"], pour["reason"]) == ("failed", end["reason"]), (end, pour)
            assert used == pour.get("used", recipe if order["machine"] in keeps else {}), (end, pour)
        elif end["reason"] in ("waited_too_long", "cleaning"):
            assert last not in begun and not used
        else:
            assert end["reason"] == "given_back"
            assert used == ((pour.get("used") or recipe) if last in begun else {})
    assert stock == Counter({fruit: initial - gone[fruit] for fruit in stock})
    check_alone(log, {seq for seq, order in orders.items() if "juice" not in order}, numbers)
    return Counter(f"{end['status']} {end.get('reason', '')}".strip() for end in ends.values())


def check_alone(log: list[dict], programs: set[int], numbers: dict[int, list[int]]) -> None:
    """Checks that nothing begins while a program runs, nor a program while something runs."""
    alone = {number for seq in programs for number in numbers[seq]}
    # A power cut ends a job without a line.
    ended = {line["job"] for line in log if line["pour"] == "ends"}
    active: set[int] = set()
    for line in log:
        if line["pour"] == "ends":
            active.remove(line["job"])
        elif line["job"] in ended:
            active.add(line["job"])
            assert len(active) == 1 or not alone & active, (line, active)


def judge_answers(kiosk: Kiosk, panels: list[Customers]) -> None:
    """Checks that each order has a final answer, which matches the ledger."""
    by_seq = {entry["seq"]: entry for entry in kiosk.entries()}
    orders = {seq: entry for seq, entry in by_seq.items() if entry["status"] == "accepted"}
    heard = 0
    for panel in panels:
        assert panel.contradictions == [], panel.contradictions[0]
        assert set(panel.ends) == set(panel.orders)
        for number, told in panel.ends.items():
            entry = by_seq[told["seq"]]
            assert (entry["id"], entry["juice"]) == (number, panel.orders[number])
            assert entry["status"] == {"ready": "made"}.get(told["status"], entry["status"])
            if "job" in entry:
                heard += 1
                assert told["ticket"] == orders[entry["job"]]["ticket"]
                assert told["status"] == ("ready" if entry["status"] == "made" else "failed")
        for number, told in panel.accepted.items():
            assert orders[told["seq"]]["id"] == number
    assert heard == len(orders)


def negative(amounts: Amounts) -> Amounts:
    return {fruit: -amount for fruit, amount in amounts.items() if amount}


def subtract(amounts: Amounts, less: Amounts) -> Amounts:
    rest = {fruit: amount - less.get(fruit, 0) for fruit, amount in amounts.items()}
    return {fruit: amount for fruit, amount in rest.items() if amount}
