"""The one judge: what panels were told, against the ledger, against what every display shows."""

from collections import Counter

from client import BASE, Client
from displays import wait_for_truth
from kiosk import RECIPES, Kiosk
from load import BusyPanel
from mosquitto import Mosquitto


class Auditor:
    """Hears every event from the start, and judges from outside when all is quiet."""

    def __init__(self, kiosk: Kiosk, broker: Mosquitto) -> None:
        self.kiosk = kiosk
        self.broker = broker
        self.events = Client(broker.port, f"{BASE}/events")

    def close(self) -> None:
        self.events.close()

    def judge(self, panels: list[BusyPanel], broker_lost: str = "nothing") -> None:
        """Nothing lost that the broker had, nothing twice, nobody told what is not so.

        `broker_lost`: "answers" on their way when it ended, and events; or "presses" as well.
        """
        self.kiosk.verify()
        ledger = self.kiosk.ledger()
        self._judge_ledger(ledger)
        for panel in panels:
            self._judge_panel(panel, ledger, broker_lost)
        wait_for_truth(self.kiosk, self.broker)
        if broker_lost == "nothing":
            last = len(ledger)
            self.events.messages.first(lambda message: message.json["seq"] == last)
            heard = {message.json["seq"] for message in self.events.messages}
            assert heard >= set(range(2, last + 1)), "the events have a gap"

    def _judge_ledger(self, ledger: list[dict]) -> None:
        assert [entry["seq"] for entry in ledger] == list(range(1, len(ledger) + 1))
        tickets: Counter[str] = Counter()
        for entry in ledger:
            if entry["status"] == "ready":
                # Each day counts by itself, however the clock jumps between them.
                tickets[entry["at"][:10]] += 1
                assert entry["ticket"] == tickets[entry["at"][:10]], entry
        requests = Counter((entry.get("source"), entry["id"]) for entry in ledger if "id" in entry)
        assert not requests or max(requests.values()) == 1
        stock: Counter[str] = Counter()
        for entry in ledger:
            changes = entry.get("changes", {})
            if entry["status"] == "ready":
                recipe = RECIPES[entry["juice"]]
                assert changes == {f: -n * entry["quantity"] for f, n in recipe.items()}
            stock.update(changes)
            assert min(stock.values()) >= 0

    def _judge_panel(self, panel: BusyPanel, ledger: list[dict], broker_lost: str) -> None:
        assert panel.contradictions == [], panel.contradictions[0]
        own = [entry for entry in ledger if entry.get("source") == f"order/{panel.name}"]
        by_seq = {entry["seq"]: entry for entry in own}
        for answer in panel.answers.values():
            entry = by_seq[answer["seq"]]
            for member in ("status", "id", "ticket", "reason", "juice"):
                assert answer.get(member) == entry.get(member), (answer, entry)
        if panel.has_ids:
            assert {entry["id"] for entry in own} <= {f"{n}" for n in range(panel.pressed)}
            assert len(own) == len(panel.answers) == panel.pressed, panel.name
            return
        # Without an id a panel that was cut off sends a new order, not an old one again.
        least = 0 if broker_lost == "presses" else panel.pressed
        assert least <= len(own) <= panel.sent, f"{panel.name}: {len(own)} of {panel.pressed}"
        if broker_lost == "nothing":
            assert len(panel.answers) == len(own)
