"""config/machines/esphome.yaml without an ESP32: its lambdas, compiled with stand-ins for ESPHome.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from kiosk import ROOT

FILE = ROOT / "config/machines/esphome.yaml"


class Loader(yaml.SafeLoader):
    """Reads the value of !lambda and !secret as text."""


Loader.add_multi_constructor("!", lambda loader, tag, node: loader.construct_scalar(node))


class ESPHome:
    """A flashed device. Each start is a new process; the flash memory is a file."""

    name, juice, quantity = "bar", "mango_kiwi", 2

    def __init__(self, folder: Path) -> None:
        text = FILE.read_text()
        for key, value in yaml.load(text, Loader)["substitutions"].items():
            text = text.replace(f"${{{key}}}", value)
        self.yaml = yaml.load(text, Loader)
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
        scripts = {script["id"]: script["then"] for script in self.yaml["script"]}
        sensors = {sensor["id"]: sensor for sensor in self.yaml["binary_sensor"]}
        make, cancel = (each["then"][0]["lambda"] for each in self.yaml["mqtt"]["on_json_message"])
        lambdas = {
            "void on_boot()": self.yaml["esphome"]["on_boot"]["then"][0]["lambda"],
            "void on_make(JsonObjectConst x)": make,
            "void on_cancel(JsonObjectConst x)": cancel,
            "void on_end()": scripts["pour"][1]["lambda"],
            "void on_stop(std::string reason)": scripts["stop"][1]["lambda"],
            "void on_forget()": sensors["boot"]["on_click"]["then"][0]["lambda"],
            "std::string status()": scripts["tell_status"][0]["mqtt.publish"]["payload"],
        }
        source = Path(__file__).with_suffix(".cpp").read_text()
        source = source.replace("\nGLOBALS\n", "\n".join(
            f"static {each['type']} {each['id']}{each.get('initial_value', '')};"
            for each in self.yaml["globals"]))
        return source.replace("\nLAMBDAS\n", "\n".join(
            f"{head} {{\n{body}\n}}" for head, body in lambdas.items()))

    @property
    def topics(self) -> list[str]:
        """The topics to make and to cancel."""
        return [each["topic"] for each in self.yaml["mqtt"]["on_json_message"]]

    @property
    def status_topic(self) -> str:
        scripts = {script["id"]: script["then"] for script in self.yaml["script"]}
        return scripts["tell_status"][0]["mqtt.publish"]["topic"]

    # MARK: Events

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.program, self.flash], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def cut_power(self) -> None:
        self.process.kill()
        self.process.communicate()
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
                continue
            _, topic, _, retain, payload = answer.split(" ", 4)
            published.append((topic, payload, retain == "1"))
        return published

    def hear(self, topic: str, message: dict[str, Any]) -> list[tuple[str, str, bool]]:
        kind = "make" if topic == self.topics[0] else "cancel"
        numbers = {"job": message["job"]}
        if kind == "make":
            numbers |= {"quantity": message["quantity"], **message["recipe"]}
        return self.tell(" ".join([kind, *(f"{name} {each}" for name, each in numbers.items())]))

    def finish(self) -> list[tuple[str, str, bool]]:
        return self.tell("end")

    def connect(self) -> list[tuple[str, str, bool]]:
        return [(self.status_topic, payload, retain)
                for _, payload, retain in self.tell("status")]

    @property
    def begun(self) -> int:
        return len(self.poured)
