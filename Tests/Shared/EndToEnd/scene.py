"""A kiosk under load: panels with and without ids, and an auditor."""

import os
import time
from typing import Iterator

from arrivals import TIMEOUT, eventually
from auditor import Auditor
from client import Client
from kiosk import Kiosk
from load import BusyPanel
from mosquitto import Mosquitto

# Number of repetitions of each fault.
FAULTS = int(os.environ.get("KIOSK_FAULTS", "1"))
PLENTY = 1_000_000_000
STOCK = {"initial": PLENTY, "capacity": PLENTY}


class Scene:
    def __init__(
        self, kiosk: Kiosk, broker: Mosquitto, version: str = "5", port: int | None = None,
        prefix: str = "p", since: int = 1,
    ) -> None:
        """`prefix`: of the panels' names; `since`: number of the last entry before the scene."""
        self.kiosk = kiosk
        self.broker = broker
        self.auditor = Auditor(kiosk, broker, since)
        self.panels = [
            BusyPanel(
                port or broker.port, f"{prefix}{number}", has_ids=number % 2 == 0, protocol=version
            )
            for number in range(4)
        ]

    def close(self) -> None:
        for panel in self.panels:
            panel.close()
        self.auditor.close()

    def work(self, answers: int = 10, within: float = TIMEOUT) -> None:
        """Returns when each panel has received this number of further answers."""
        for panel in self.panels:
            panel.wait_for_answers(answers, within)

    def repetitions(self, count: int) -> Iterator[int]:
        """Yields once for each fault, under load, the index of the log from which the fault's lines
        follow.

        Between faults, waits until the connection is older than the kiosk's maximum delay of 2 s,
        so that the next delay is the shortest again.
        """
        for number in range(count):
            if number:
                self.kiosk.wait_for_log(" online", since)
                end = time.monotonic() + 2.2
                eventually(lambda: time.monotonic() > end)
            self.work()
            since = len(self.kiosk.log)
            yield since

    def end(self, broker_lost: str = "nothing") -> str:
        """Waits until all orders are answered, audits them, and returns the figures.

        `broker_lost`: "answers" if the broker lost answers in flight, "presses" if also presses;
        panels with ids then repeat their orders.
        """
        for panel in self.panels:
            if broker_lost == "nothing":
                panel.finish()
            elif panel.has_ids:
                panel.insist()
            else:
                panel.stop()
        # This order is processed after all others.
        last = Client(self.broker.port, "kiosk/#")
        try:
            assert last.order("banana", panel="last")["status"] == "ready"
        finally:
            last.close()
        made = self.auditor.judge(self.panels, broker_lost)
        pressed = sum(panel.pressed for panel in self.panels)
        repeated = sum(panel.repeated for panel in self.panels)
        return f"{pressed} presses, {made} made, {repeated} answered again"
