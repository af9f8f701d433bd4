"""config/machines/esphome.yaml without an ESP32: its lambdas, compiled with stand-ins for ESPHome.

The actions around the lambdas (scripts, and those of binary sensors) are interpreted here.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Iterator

import yaml

from kiosk import ROOT

FILE = ROOT / "config/machines/esphome.yaml"


class Loader(yaml.SafeLoader):
    """Reads the value of !lambda and !secret as text."""


Loader.add_multi_constructor("!", lambda loader, tag, node: loader.construct_scalar(node))


class ESPHome:
    """A flashed device. Each start is a new process; the flash memory is a file."""

    name, juice, quantity = "bar", "mango_kiwi", 2

    def __init__(self, folder: Path, **substitutions: str) -> None:
        text = FILE.read_text()
        for key, value in (yaml.load(text, Loader)["substitutions"] | substitutions).items():
            text = text.replace(f"${{{key}}}", value)
        self.yaml = yaml.load(text, Loader)
        self.scripts = {script["id"]: script["then"] for script in self.yaml["script"]}
        self.sensors = {sensor["id"]: sensor for sensor in self.yaml["binary_sensor"]}
        self.states = dict.fromkeys(self.sensors, False)
        #: The lambdas of actions, which the compiled program knows by their index.
        self.lambdas = list(dict.fromkeys(
            [*lambdas(self.scripts), *lambdas(self.sensors["no_cup"]["on_press"])]))
        #: The running script, which has stopped at a delay or a condition.
        self.running: Iterator[str] | None = None
        #: The pumps that are on, and all that were switched on.
        self.pumps: set[int] = set()
        self.pumped: list[int] = []
        self.program, self.flash = folder / "device", folder / "flash"
        (folder / "device.cpp").write_text(self._source())
        compiler = shutil.which("c++") or shutil.which("clang++")
        subprocess.run(
            [compiler, "-std=c++17", "-Wall", "-Wno-unused", f"-I{FILE.parent}", "-o", self.program,
             folder / "device.cpp"], check=True)
        self.process: subprocess.Popen | None = None
        #: For each pour, the pumps' durations and the flash memory's value at the start.
        self.poured: list[tuple[int, list[int]]] = []
        self.start()

    # MARK: File

    def _source(self) -> str:
        scripts, sensors = self.scripts, self.sensors
        make, cancel = (each["then"][0]["lambda"] for each in self.yaml["mqtt"]["on_json_message"])
        bodies = {
            "void on_boot()": self.yaml["esphome"]["on_boot"]["then"][0]["lambda"],
            "void on_make(JsonObjectConst x)": make,
            "void on_cancel(JsonObjectConst x)": cancel,
            "void on_forget()": sensors["boot"]["on_click"]["then"][0]["lambda"],
            "std::string status()": scripts["tell_status"][0]["mqtt.publish"]["payload"],
        }
        source = Path(__file__).with_suffix(".cpp").read_text()
        source = source.replace("\nGLOBALS\n", "\n".join(
            f"static {each['type']} {each['id']}{each.get('initial_value', '')};"
            for each in self.yaml["globals"]))
        bodies |= {
            f"auto step_{number}(int iteration, std::string reason)": body
            for number, body in enumerate(self.lambdas)}
        source = source.replace("\nSTEPS\n", "\n".join(
            f"case {number}: report([&] {{ return step_{number}(iteration, reason); }}); break;"
            for number in range(len(self.lambdas))))
        return source.replace("\nLAMBDAS\n", "\n".join(
            f"{head} {{\n{body}\n}}" for head, body in bodies.items()))

    @property
    def topics(self) -> list[str]:
        """The topics to make and to cancel."""
        return [each["topic"] for each in self.yaml["mqtt"]["on_json_message"]]

    @property
    def status_topic(self) -> str:
        return self.scripts["tell_status"][0]["mqtt.publish"]["topic"]

    # MARK: Events

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.program, self.flash], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def cut_power(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.running, self.pumps = None, set()
        self.start()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def tell(self, line: str) -> list[tuple[str, str, bool]]:
        """Sends an event. Returns the published messages: topic, payload, whether retained."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        published = []
        while (answer := self.process.stdout.readline().rstrip("\n")) != ".":
            if pouring := re.fullmatch(r"pour (\d+) (.*)", answer):
                self.poured.append((int(pouring[1]), [int(each) for each in pouring[2].split()]))
                self.running = self._run(self.scripts["pour"], published)
                continue
            if pump := re.fullmatch(r"pump (\d) ([01])", answer):
                number = int(pump[1])
                (self.pumps.add if pump[2] == "1" else self.pumps.discard)(number)
                self.pumped += [number] * int(pump[2])
                continue
            if answer.startswith("value "):
                self.value = int(answer.removeprefix("value "))
                continue
            _, topic, _, retain, payload = answer.split(" ", 4)
            published.append((topic, payload, retain == "1"))
        return published

    def hear(self, topic: str, message: dict[str, Any]) -> list[tuple[str, str, bool]]:
        kind = "make" if topic == self.topics[0] else "cancel"
        numbers = {"job": message["job"]}
        if kind == "make":
            numbers |= {"quantity": message["quantity"], **message["recipe"]}
        line = " ".join([kind, *(f"{name} {each}" for name, each in numbers.items())])
        before = self.running
        published = self.tell(line)
        if self.running is not before:
            self._go_on(published)
        return published

    def finish(self) -> list[tuple[str, str, bool]]:
        """Lets time pass until the script ends, or waits for an input."""
        published: list[tuple[str, str, bool]] = []
        while self._go_on(published) == "delay":
            pass
        return published

    def set(self, sensor: str, state: bool) -> list[tuple[str, str, bool]]:
        """Changes the state of an input, after its debounce time."""
        self.states[sensor] = state
        published = self.tell(f"{sensor} is {int(state)}")
        actions = self.sensors[sensor].get("on_press" if state else "on_release", [])
        assert list(self._run(actions, published)) == []
        if self.running:
            self._go_on(published)
        return published

    # MARK: Actions

    def _go_on(self, published: list[tuple[str, str, bool]]) -> str | None:
        """Runs the script until it stops. Returns the kind of action that it has stopped at."""
        if self.running is None:
            return None
        self.published = published
        stopped = next(self.running, None)
        if stopped is None:
            self.running = None
        return stopped

    def _run(
        self, actions: list[dict], published: list[tuple[str, str, bool]], iteration: int = 0,
        reason: str = "",
    ) -> Iterator[str]:
        self.published = published
        for action in actions:
            [(name, value)] = action.items()
            if name == "lambda":
                self._step(value, iteration, reason)
            elif name == "delay":
                assert self._step(value, iteration) > 0
                yield "delay"
            elif name == "repeat":
                for number in range(value["count"]):
                    yield from self._run(value["then"], self.published, number)
            elif name == "while":
                while self._holds(value["condition"], iteration):
                    yield from self._run(value["then"], self.published, iteration)
            elif name == "if":
                if self._holds(value["condition"], iteration):
                    yield from self._run(value["then"], self.published, iteration)
            elif name == "wait_until":
                while not self._holds(value["condition"], iteration):
                    yield "wait_until"
            elif name == "script.stop":
                self.running = None
            elif name == "script.execute":
                script = value if isinstance(value, dict) else {"id": value}
                yield from self._run(
                    self.scripts[script["id"]], self.published, reason=script.get("reason", ""))
            elif name == "mqtt.publish":
                self.published += [
                    (value["topic"], payload, retain)
                    for _, payload, retain in self.tell("status")]
            else:
                raise NotImplementedError(name)

    def _step(self, body: str, iteration: int, reason: str = "") -> int:
        self.value = 0
        number = self.lambdas.index(body)
        self.published += self.tell(f"step {number} {iteration} {reason}")
        return self.value

    def _holds(self, condition: dict, iteration: int) -> bool:
        [(name, value)] = condition.items()
        if name == "lambda":
            return bool(self._step(value, iteration))
        return self.states[value] == (name == "binary_sensor.is_on")

    def connect(self) -> list[tuple[str, str, bool]]:
        return [(self.status_topic, payload, retain)
                for _, payload, retain in self.tell("status")]

    @property
    def begun(self) -> int:
        return len(self.poured)


def lambdas(actions: Any) -> Iterator[str]:
    """Returns the lambdas in actions: those that ESPHome marks, and delays."""
    if isinstance(actions, dict):
        for name, value in actions.items():
            if name in ("lambda", "delay") and isinstance(value, str):
                yield value
            else:
                yield from lambdas(value)
    elif isinstance(actions, list):
        for each in actions:
            yield from lambdas(each)
