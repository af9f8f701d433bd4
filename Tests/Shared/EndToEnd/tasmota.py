"""config/machines/tasmota.txt without a device: an interpreter for the Tasmota rules that the file
uses.

It follows Tasmota's xdrv_10_rules.ino: rules run from top to bottom. A single command runs at once;
those of a Backlog run later, one after the other. < and > compare 32-bit floats. A subscription
also receives the topics below its own.
"""

import re
import struct
from collections import deque
from typing import Any

from kiosk import ROOT

FILE = ROOT / "config/machines/tasmota.txt"
RULE = re.compile(r"ON (\S+?#\S+?)(?:(=|<|>)(\S+))? DO (.+?) ENDON")
# Settings that the model ignores.
SETTINGS = {"calcres", "setoption0", "poweronstate", "pulsetime1", "restart"}

Published = list[tuple[str, str, bool]]


class Tasmota:
    """A device with the file installed. Its power may be cut between any two commands."""

    name, juice, quantity = "pump", "kiwi", 2

    def __init__(self) -> None:
        self.flash: dict[str, str] = {}
        self.rules: dict[str, str] = {}
        self.begun = 0
        #: Duration of each pour in seconds, and Mem1 in flash memory when the pump started.
        self.poured: list[tuple[int, str]] = []
        self._forget()
        text = re.sub(r"(?m)^#.*\n", "", FILE.read_text())
        for block in re.split(r"\n{2,}", text.strip()):
            self.command(" ".join(block.split("\n")))
            self.run()
        self.save()
        self.cut_power()

    def _forget(self) -> None:
        self.memory = dict(self.flash)
        self.variables: dict[str, str] = {}
        self.subscriptions: dict[str, tuple[str, str]] = {}
        self.queue: deque[str] = deque()
        self.published: Published = []
        self.timer = 0
        self.is_on = False

    def save(self) -> None:
        """Saves the memory to flash, as Tasmota does each second."""
        self.flash = dict(self.memory)

    # MARK: Commands

    def run(self, steps: int = -1) -> None:
        """Runs up to `steps` commands of the Backlog."""
        while self.queue and steps:
            self.command(self.queue.popleft())
            steps -= 1

    def command(self, line: str) -> None:
        name, _, value = line.strip().partition(" ")
        name = name.lower()
        if name in ("backlog", "backlog0"):
            self.queue += value.split(";")
        elif name == "event":
            event, _, data = value.partition("=")
            self.process({"Event": {event: data}})
        elif re.fullmatch(r"rule\d", name):
            self.rules[name] = value if value != "1" else self.rules[name]
        elif name.startswith("mem"):
            self.memory[name] = value
        elif name.startswith("var"):
            self.variables[name] = value
        elif name.startswith("mult"):
            variable = name.replace("mult", "var")
            self.variables[variable] = f"{float(self.variables[variable]) * float(value):.0f}"
        elif name == "savedata":
            self.save()
        elif name in ("publish", "publish2"):
            topic, _, payload = value.partition(" ")
            self.published.append((topic, payload, name == "publish2"))
        elif name == "unsubscribe":
            self.subscriptions.pop(value.upper(), None)
        elif name == "subscribe":
            event, topic, key = (each.strip() for each in value.split(","))
            self.subscriptions.pop(event.upper(), None)
            self.subscriptions[event.upper()] = (topic, key)
        elif name == "ruletimer1":
            self.timer = int(value)
        elif name == "power1":
            self.is_on = value == "ON"
            if self.is_on:
                self.begun += 1
                self.poured.append((self.timer, self.flash["mem1"]))
        else:
            assert name in SETTINGS, f"Tasmota has no command {name}"

    def fill(self, text: str) -> str:
        known = self.memory | self.variables
        return re.sub(r"%(mem\d|var\d)%", lambda gap: known.get(gap[1], ""), text)

    def process(self, event: dict[str, Any]) -> None:
        for rules in sorted(self.rules):
            for trigger, comparison, operand, command in RULE.findall(self.rules[rules]):
                value = event
                for level in trigger.split("#"):
                    members = {key.lower(): each for key, each in value.items()} \
                        if isinstance(value, dict) else {}
                    value = members.get(level.lower())
                if value is None:
                    continue
                operand = self.fill(operand)
                if comparison == "=" and str(value) != operand:
                    continue
                if comparison == "<" and not single(value) < single(operand):
                    continue
                if comparison == ">" and not single(value) > single(operand):
                    continue
                self.command(self.fill(command.replace("%value%", str(value))))

    # MARK: Events

    def cut_power(self) -> None:
        self._forget()
        self.process({"System": {"Init": 1}})
        self.connect()

    def connect(self) -> Published:
        self.process({"Mqtt": {"Connected": 1}})
        return self.take()

    def arrive(self, topic: str, message: dict[str, Any]) -> None:
        """Processes a message without running the Backlog."""
        for event, (subscribed, key) in list(self.subscriptions.items()):
            if (topic == subscribed or topic.startswith(f"{subscribed}/")) and key in message:
                self.process({"Event": {event: message[key]}})

    def take(self) -> Published:
        self.run()
        published, self.published = self.published, []
        return published

    def hear(self, topic: str, message: dict[str, Any]) -> Published:
        self.arrive(topic, message)
        return self.take()

    def finish(self) -> Published:
        assert self.timer
        self.timer = 0
        self.process({"Rules": {"Timer": 1}})
        return self.take()

    @property
    def topics(self) -> list[str]:
        """The topics to make and to cancel."""
        return [self.subscriptions[event][0] for event in ("MAKE", "CANCEL")]

    def close(self) -> None:
        pass


def single(number: Any) -> float:
    """Returns a 32-bit float, or 0 if the text is not a number, as CharToFloat does."""
    try:
        return struct.unpack("f", struct.pack("f", float(number)))[0]
    except ValueError:
        return 0.0
