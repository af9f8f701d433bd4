"""Everything that can go wrong with machines, in any order: no juice twice, no fruit lost."""

import json
import os
import random
import time
from collections import Counter
from typing import Any


from arrivals import TIMEOUT, eventually
from client import BASE, Client
from conftest import MakeKiosk, Say
from kiosk import RECIPES, ROOT
from pouring import Customers, TerminalMachine, judge, judge_answers
from proxy import Proxy
from test_reload import write

SECONDS = float(os.environ.get("KIOSK_CHAOS_SECONDS", "15"))
INITIAL = 1_000_000
# The fruit of a failed juice is gone at one, and returns at the other.
PROGRAMS = {"clean": {"every_glasses": 10, "uses": {"mango": 2}}, "rinse": {"uses": {"kiwi": 3}}}
BAR = {"name": "bar", "programs": PROGRAMS, "at_once": 2, "start_seconds": 2, "finish_seconds": 60, "on_failure": "keep"}
TAP = {"name": "tap", "programs": PROGRAMS, "start_seconds": 2, "finish_seconds": 60}
OPTIONS = {
    "bar": ["--seconds", "0.1", "--fail-every", "7", "--at-once", "2"],
    "tap": ["--seconds", "0.1", "--fail-every", "5", "--wrong"],
}
# A kiosk without a machine of the list sells its juices only if another one makes them.
CONFIGURATIONS = [
    [BAR, TAP], [TAP, BAR], [BAR], [TAP], [BAR | {"enabled": False}, TAP], [BAR, TAP | {"enabled": False}], [],
]


class Office(Client):
    """Receives the machines' reports and the answers to decisions; two people decide."""

    def __init__(self, port: int, chance: random.Random) -> None:
        self.reports: dict[str, dict] = {}
        self.answers: dict[str, dict] = {}
        self.chance = chance
        self.decisions: Counter[str] = Counter()
        self.count = 0
        super().__init__(port, f"{BASE}/machine/+", f"{BASE}/job/+/result")

    def received(self, message: Any) -> None:
        name = message.topic.removeprefix(f"{BASE}/machine/")
        told = json.loads(message.payload or "{}")
        if name != message.topic:
            self.reports[name] = told
        else:
            self.answers[told["id"]] = told
        super().received(message)

    def decide(self, machines: list[TerminalMachine]) -> None:
        """Decides, by the pour log, about each job that needs it, unless the machine may still be
        pouring."""
        for machine in machines:
            report = self.reports.get(machine.name, {})
            programs = [program | {"attempt": program["job"]} for program in report.get("programs", [])
                        if "job" in program]
            jobs = [job for job in report.get("jobs", []) + programs
                    if job["state"] == "needs_decision"]
            log = machine.pours() if jobs else []
            for job in jobs:
                lines = [line for line in log if line["job"] == job["attempt"]]
                if len(lines) == 1 and lines[0] not in log[: machine.lines_before]:
                    continue
                self._decide(job, lines)

    def _decide(self, job: dict, lines: list[dict]) -> None:
        end = lines[-1] if len(lines) == 2 else {}
        if "juice" in job:
            whole = {fruit: n * job["quantity"] for fruit, n in RECIPES[job["juice"]].items()}
        else:
            whole = PROGRAMS[job["program"]]["uses"]
        used = end.get("used", whole if lines else dict.fromkeys(whole, 0))
        says: list[dict[str, Any]] = []
        for _ in range(2):
            if end.get("status") == "done":
                says.append({"decision": "poured"})
            else:
                says.append({"decision": self.chance.choice(["again", "give_back"]), "used": used})
        if self.chance.random() < 0.3:
            wrong = self.chance.choice([{"durian": 1}, {"kiwi": 99}, {fruit: -1 for fruit in whole}])
            says.insert(self.chance.randrange(3), {"decision": "give_back", "used": wrong, "is_wrong": True})
        asked = {}
        for said in says:
            self.count += 1
            asked[f"d{self.count}"] = {"job": job["attempt"]} | said
        self._ask(asked)
        applied = [number for number in asked if self.answers[number]["status"] == "applied"]
        assert len(applied) <= 1, [self.answers[number] for number in applied]
        for number, said in asked.items():
            answer = self.answers[number]
            assert not said.get("is_wrong") or answer["status"] == "rejected", (said, answer)
            assert answer["status"] == "applied" or answer["reason"] in (
                "no_decision_needed", "malformed", "unknown_fruit", "stale", "conflict"), answer
            kind = "wrong used" if said.get("is_wrong") else said["decision"]
            self.decisions[kind if answer["status"] == "applied" else f"{kind}: {answer['reason']}"] += 1

    def _ask(self, asked: dict[str, dict]) -> None:
        """Publishes at the same time, and again until each is answered: a killed broker loses
        messages."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            for place, (number, said) in enumerate(asked.items()):
                payload = {name: value for name, value in said.items() if name != "is_wrong"}
                self.client.publish(f"{BASE}/job/person{place}", json.dumps(payload | {"id": number}), 1)
            try:
                return self.messages.until(lambda: all(number in self.answers for number in asked), 2)
            except TimeoutError:
                continue
        raise TimeoutError(f"nobody has answered {asked}")


def test_whatever_happens_the_fruit_is_exact(
    broker, proxy: Proxy, make_kiosk: MakeKiosk, say: Say, chance: random.Random
) -> None:
    kiosk = make_kiosk(
        broker={"port": proxy.port}, machines=[BAR, TAP], orders={"max_age_seconds": 4},
        stock={"initial": INITIAL, "capacity": 2 * INITIAL},
    )
    # The machines stay the same while the kiosk's configuration changes.
    fixed = kiosk.folder / "machines.yaml"
    fixed.write_text(kiosk.config.read_text())
    kiosk.start()
    bar, tap = machines = [TerminalMachine(kiosk, name) for name in OPTIONS]
    tap.script = ROOT / "Tests/Shared/EndToEnd/small_machine.py"
    office = Office(broker.port, chance)
    panels = [Customers(broker.port, f"p{number}") for number in range(3)]
    is_over = lambda report: report.get("jobs") == [] and not any(
        "job" in program for program in report.get("programs", []))
    decide = lambda: office.decide(machines)
    done: Counter[str] = Counter()
    log_before = 0

    def launch(machine: TerminalMachine) -> None:
        machine.launch(*OPTIONS[machine.name])

    def kill(*victims: str) -> None:
        nonlocal log_before
        for victim in victims:
            {"kiosk": kiosk, "broker": broker, "bar": bar, "tap": tap}[victim].kill()
            done[f"{victim} killed"] += 1
        for victim in chance.sample(victims, len(victims)):
            if victim == "kiosk":
                log_before = len(kiosk.log)
                kiosk.launch()
            elif victim == "broker":
                broker.start()
            else:
                launch(bar if victim == "bar" else tap)
        if "broker" in victims:
            for client in [office, *panels]:
                client.wait_until_subscribed()

    def reload(configuration: list[dict]) -> None:
        write(kiosk, machines=configuration)
        # Before that, a SIGHUP ends the process.
        kiosk.wait_for_log(" online", log_before)
        kiosk.process.send_signal(1)
        done["reloads"] += 1

    try:
        for machine in machines:
            machine.config = fixed
            launch(machine)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            chance.choice(panels).wait_for_ends(chance.randrange(6), decide)
            request = {"id": f"r{sum(done.values())}", "machine": chance.choice(["bar", "tap"]),
                       "program": chance.choice(["clean", "rinse"])}
            office.client.publish(f"{BASE}/program/desk", json.dumps(request), 1)
            match chance.choices(["kill", "stop", "cut", "cut within", "reload"], [3, 2, 3, 3, 5])[0]:
                case "kill":
                    kill(*chance.sample(["kiosk", "broker", "bar", "tap"], chance.choice([1, 1, 1, 2, 3, 4])))
                case "stop":
                    # It reports `stopped` without the fruit that is gone.
                    bar.stop()
                    done["bar stopped"] += 1
                    launch(bar)
                case "cut":
                    proxy.cut()
                    done["cuts"] += 1
                case "cut within":
                    proxy.cut_after(chance.randrange(3000))
                    done["cuts"] += 1
                case "reload":
                    reload(chance.choice(CONFIGURATIONS))
            decide()
        # A cut in the middle of a reload refuses it.
        write(kiosk, machines=[BAR, TAP])
        kill("kiosk", "bar", "tap")
        for panel in panels:
            panel.stop()
        for panel in panels:
            panel.wait_for_ends(len(panel.orders) - len(panel.ends), decide)

        def is_all_over() -> bool:
            # A program that was interrupted at the end waits for a person.
            decide()
            return all(is_over(office.reports[machine.name]) for machine in machines)

        eventually(is_all_over)
        log = bar.pours() + tap.pours()
        ends = judge(kiosk, log, INITIAL, keeps={"bar"})
        judge_answers(kiosk, panels)
    finally:
        for machine in machines:
            machine.kill()
        for client in [office, *panels]:
            client.close()
    pressed = sum(len(panel.orders) for panel in panels)
    begun = sum(line["pour"] == "begins" for line in log)
    say(f"{dict(done)}, {pressed} orders, {begun} pours, {dict(ends)}, people: {dict(office.decisions)}")
