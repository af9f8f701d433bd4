"""Measures the time from an order to "pay now" on a display, beside an order that need not be paid.

Usage: payment.py [ORDERS]     (500 of each kind, in turns, one at a time; KIOSK_PROGRAM is measured)

The payment device answers at once. Both times end at a display: at the retained
`payment/<device>` with the state `waiting`, and at the retained stock.
"""

import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Tests/Shared/EndToEnd")]

from client import BASE, Client  # noqa: E402
from kiosk import Kiosk  # noqa: E402
from mosquitto import Mosquitto  # noqa: E402

ANSWERS = {"": "waiting", "capture": "captured"}


class Device(Client):
    """Answers everything at once; the customer pays when `pay` is called."""

    def __init__(self, port: int) -> None:
        super().__init__(port, f"{BASE}/charge/terminal", f"{BASE}/charge/terminal/+")
        self.publish(f"{BASE}/payment/terminal/status", "online", retain=True)

    def received(self, message) -> None:
        asked = json.loads(message.payload)
        if "epoch" in asked:
            self.client.publish(
                f"{BASE}/paid/terminal", json.dumps({"status": "open", "epoch": asked["epoch"]}), 1)
            return
        self.charge = asked["charge"]
        self.answer(ANSWERS["".join(message.topic.split("/")[4:])])

    def pay(self) -> None:
        self.answer("held")

    def answer(self, status: str) -> None:
        answer = {"charge": self.charge, "status": status, "amount": 350, "currency": "EUR"}
        self.client.publish(f"{BASE}/paid/terminal", json.dumps(answer), 1)


class Display(Client):
    """Notes when a state was shown."""

    def __init__(self, port: int, topic: str, state: str | None = None) -> None:
        self.state, self.at, self.shown = state, 0.0, threading.Semaphore(0)
        super().__init__(port, f"{BASE}/{topic}")

    def received(self, message) -> None:
        now = time.perf_counter()
        if json.loads(message.payload).get("state") == self.state:
            self.at = now
            self.shown.release()

    def wait(self) -> float:
        if not self.shown.acquire(timeout=30):
            raise TimeoutError("nothing was shown")
        return self.at


def main(orders: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        broker = Mosquitto(Path(folder) / "broker").start()
        kiosk = Kiosk(
            Path(folder), broker,
            {
                "payment": {"devices": [{"name": "terminal"}], "free_panels": ["staff"]},
                "menu": {"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 3.50}}},
                "stock": {"initial": 1_000_000, "capacity": 1_000_000},
            },
        )
        clients: list[Client] = []
        try:
            kiosk.start()
            displays = [
                Display(broker.port, "stock"), Display(broker.port, "payment/terminal", "waiting"),
                Display(broker.port, "payment/terminal", "idle"),
            ]
            stock, waiting, idle = displays
            panel = Client(broker.port)
            device = Device(broker.port)
            clients = [*displays, panel, device]
            idle.wait()
            stock.wait()
            times: dict[str, list[float]] = {"staff": [], "p1": []}
            for _ in range(orders):
                for name, display in (("staff", stock), ("p1", waiting)):
                    begin = time.perf_counter()
                    panel.publish(f"{BASE}/order/{name}", "kiwi")
                    times[name].append(display.wait() - begin)
                device.pay()
                # The next order begins when everything of this one is over.
                idle.wait()
                stock.wait()
        finally:
            for client in clients:
                client.close()
            kiosk.kill()
            broker.kill()
    for name, text in (("staff", "without payment, to the stock"), ("p1", "to pay now")):
        p50 = statistics.median(times[name]) * 1e6
        p99 = statistics.quantiles(times[name], n=100)[98] * 1e6
        print(f"{text}: p50 {p50:.0f} µs, p99 {p99:.0f} µs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
