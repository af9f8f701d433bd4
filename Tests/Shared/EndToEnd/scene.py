"""A kiosk at work: panels that count and panels that cannot, and somebody who audits it."""

import os
import time
from typing import Iterator

from arrivals import TIMEOUT, eventually
from auditor import Auditor
from client import Client
from kiosk import Kiosk
from load import BusyPanel
from mosquitto import Mosquitto

# How often each fault happens in a test.
FAULTS = int(os.environ.get("KIOSK_FAULTS", "1"))
PLENTY = 1_000_000_000
STOCK = {"initial": PLENTY, "capacity": PLENTY}


class Scene:
    def __init__(
        self, kiosk: Kiosk, broker: Mosquitto, version: str = "5", port: int | None = None,
        prefix: str = "p", since: int = 1,
    ) -> None:
        """`prefix`: of the panels' names; `since`: the number of the last entry before."""
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
        """Returns when every panel has heard so many more answers."""
        for panel in self.panels:
            panel.wait_for_answers(answers, within)

    def repetitions(self, count: int) -> Iterator[int]:
        """For one fault after another: yields, at work, from where on the log tells of the fault.

        Waits between them until the connection is older than the kiosk's delay of 2 s at most: then its
        next delay is the shortest again.
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
        """Waits until all is answered, has it judged, and tells the figures.

        `broker_lost`: "answers" that were on their way, or "presses" too; who has ids asks again.
        """
        for panel in self.panels:
            if broker_lost == "nothing":
                panel.finish()
            elif panel.has_ids:
                panel.insist()
            else:
                panel.stop()
        # What comes after them all is answered after them all.
        last = Client(self.broker.port, "kiosk/#")
        try:
            assert last.order("banana", panel="last")["status"] == "ready"
        finally:
            last.close()
        made = self.auditor.judge(self.panels, broker_lost)
        pressed = sum(panel.pressed for panel in self.panels)
        repeated = sum(panel.repeated for panel in self.panels)
        return f"{pressed} presses, {made} made, {repeated} answered again"
