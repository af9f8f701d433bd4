"""Compares the answers that panels received, the ledger, and the displayed state."""

from collections import Counter
from typing import Iterable, Iterator

from client import BASE, Client
from displays import wait_for_truth
from kiosk import RECIPES, Kiosk
from load import BusyPanel
from mosquitto import Mosquitto


class Auditor:
    """Receives every event from the start, and audits from outside when all orders are answered.

    `since`: number of the last entry before the auditor started; at least 1.
    """

    def __init__(self, kiosk: Kiosk, broker: Mosquitto, since: int = 1) -> None:
        self.kiosk = kiosk
        self.broker = broker
        self.since = since
        self.events = Client(broker.port, f"{BASE}/events")

    def close(self) -> None:
        self.events.close()

    def judge(self, panels: list[BusyPanel], broker_lost: str = "nothing") -> int:
        """Checks that no order is lost or repeated, and that no answer is false.

        Returns the number of juices made for the panels.

        `broker_lost`: "answers" if the broker lost answers and events in flight, "presses" if also
        presses.
        """
        self.kiosk.verify()
        own: dict[str | None, list[dict]] = {f"order/{panel.name}": [] for panel in panels}

        def sorted_out() -> Iterator[dict]:
            for entry in self.kiosk.entries():
                if entry.get("source") in own:
                    own[entry["source"]].append(entry)
                yield entry

        last = judge_ledger(sorted_out())
        for panel in panels:
            most = panel.pressed
            if panel.repeats:
                # The panel was disconnected, so the broker may have received presses twice. A
                # broker that restores an earlier save may also redeliver older ones.
                # lost presses may have gone back to others, and delivered them again.
                most = self.broker.presses(panel.name, with_repeats=broker_lost == "presses")
            judge_panel(panel, own[f"order/{panel.name}"], broker_lost, most)
        wait_for_truth(self.kiosk, self.broker)
        if broker_lost == "nothing":
            self.events.messages.first(lambda message: message.json["seq"] == last)
            heard = {message.json["seq"] for message in self.events.messages}
            assert heard >= set(range(self.since + 1, last + 1)), "the events have a gap"
        return sum(entry["status"] == "ready" for entries in own.values() for entry in entries)


def judge_ledger(ledger: Iterable[dict]) -> int:
    """Checks the entries. Returns the number of the last one."""
    number = 0
    tickets: Counter[str] = Counter()
    requests: Counter[tuple[str | None, str]] = Counter()
    stock: Counter[str] = Counter()
    for number, entry in enumerate(ledger, 1):
        assert entry["seq"] == number
        changes = entry.get("changes", {})
        if entry["status"] == "ready":
            # Tickets are counted per day, even if the clock jumps between days.
            tickets[entry["at"][:10]] += 1
            assert entry["ticket"] == tickets[entry["at"][:10]], entry
            recipe = RECIPES[entry["juice"]]
            assert changes == {f: -n * entry["quantity"] for f, n in recipe.items()}
        # A retained command arrives with each connection, and does not use up its id.
        if "id" in entry and entry.get("reason") != "retained":
            requests[entry.get("source"), entry["id"]] += 1
        stock.update(changes)
        assert min(stock.values()) >= 0
    assert not requests or max(requests.values()) == 1, requests.most_common(1)
    return number


def judge_panel(
    panel: BusyPanel, ledger: list[dict], broker_lost: str, most: int | None = None
) -> None:
    """Checks a panel. `most`: number of presses that the broker received, if it may exceed the
    orders."""
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
    # Without ids, a disconnected panel sends a new order instead of repeating the old one.
    least = 0 if broker_lost == "presses" else panel.pressed
    most = panel.pressed if most is None else most
    assert least <= len(own) <= most, f"{panel.name}: {len(own)} made of {least} to {most}"
    if broker_lost == "nothing":
        assert len(panel.answers) == len(own)
