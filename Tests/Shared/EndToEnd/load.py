"""Panels that press without pause."""

import json
import threading
import time
from typing import Any

from arrivals import TIMEOUT
from client import BASE, Client
from kiosk import RECIPES

WINDOW = 16
JUICES = list(RECIPES)


class BusyPanel(Client):
    """Keeps enough orders in flight that the kiosk is never idle.

    A panel without ids sends the same bytes with every press.
    """

    def __init__(
        self, port: int, name: str, has_ids: bool, protocol: str = "5", window: int = WINDOW,
        login: tuple[str, str] | None = None,
    ) -> None:
        self.name = name
        self.has_ids = has_ids
        self.pressed = 0
        # Number of PUBLISH packets sent again after a lost connection.
        self.repeats = 0
        self.accepted = 0
        # The results by id or, without ids, by the ledger's number.
        self.answers: dict[Any, dict] = {}
        self.repeated = 0
        self.given_up = 0
        self.contradictions: list[tuple[dict, dict]] = []
        self._window = threading.Semaphore(window)
        self._changed = threading.Condition()
        self._is_over = False
        super().__init__(
            port, f"{BASE}/order/{name}/result", protocol=protocol, name=f"panel-{name}",
            login=login,
        )
        self.client.on_publish = self._was_accepted
        self.client.on_log = self._logged
        self._thread = threading.Thread(target=self._press, daemon=True)
        self._thread.start()

    def _press(self) -> None:
        while self._window.acquire() and not self._is_over:
            number = self.pressed
            self.pressed += 1
            self._send(number)

    def _send(self, number: int) -> None:
        order = "banana"
        if self.has_ids:
            order = json.dumps({"id": f"{number}", "juice": JUICES[number % len(JUICES)]})
        self.client.publish(f"{BASE}/order/{self.name}", order, 1)

    def _logged(self, client: Any, data: Any, level: int, line: str) -> None:
        if line.startswith("Sending PUBLISH (d1"):
            self.repeats += 1

    def _was_accepted(self, *_: Any) -> None:
        with self._changed:
            self.accepted += 1
            self._changed.notify_all()

    def received(self, message: Any) -> None:
        result = json.loads(message.payload)
        with self._changed:
            key = result["id"] if self.has_ids else result["seq"]
            if key in self.answers:
                self.repeated += 1
                if self.answers[key] | {"duplicate": True} != result | {"duplicate": True}:
                    self.contradictions.append((self.answers[key], result))
            else:
                self.answers[key] = result
                if self.pressed < len(self.answers) + self.given_up:
                    # An abandoned order is answered after all, and another one has replaced it.
                    self.given_up -= 1
                else:
                    self._window.release()
            self._changed.notify_all()

    def wait_for_answers(self, more: int, within: float = TIMEOUT) -> None:
        with self._changed:
            wanted = len(self.answers) + more
            assert self._changed.wait_for(lambda: len(self.answers) >= wanted, within), self.name

    def stop(self) -> None:
        """Stops pressing. Returns when the broker has acknowledged all orders."""
        self._stop_pressing()
        with self._changed:
            assert self._changed.wait_for(lambda: self.accepted >= self.pressed, 30), self.name

    def end(self) -> None:
        """Stops pressing and disconnects, without waiting for answers."""
        self._stop_pressing()
        self.close()

    def _stop_pressing(self) -> None:
        self._is_over = True
        self._window.release()
        self._thread.join()

    def ask_again(self) -> None:
        """Sends unanswered orders again while the panel continues; without ids, abandons them."""
        if not self.has_ids:
            given_up = self.pressed - len(self.answers) - self.given_up
            self.given_up += given_up
            for _ in range(given_up):
                self._window.release()
            return
        for number in [n for n in range(self.pressed) if f"{n}" not in self.answers]:
            self._send(number)

    def insist(self, within: float = TIMEOUT) -> None:
        """Stops pressing. Sends unanswered orders again until all are answered."""
        self._stop_pressing()
        deadline = time.monotonic() + within
        while missing := [n for n in range(self.pressed) if f"{n}" not in self.answers]:
            assert time.monotonic() < deadline, f"{self.name}: {len(missing)} not answered"
            for number in missing:
                self._send(number)
            with self._changed:
                self._changed.wait_for(lambda: len(self.answers) == self.pressed, 1)

    def finish(self, within: float = TIMEOUT) -> None:
        """Stops pressing. Returns when all orders are answered."""
        self._stop_pressing()
        is_done = lambda: self.accepted == self.pressed == len(self.answers)
        with self._changed:
            assert self._changed.wait_for(is_done, within), (
                f"{self.name}: {self.pressed} pressed, {self.accepted} accepted by the broker, "
                f"{len(self.answers)} answered"
            )
