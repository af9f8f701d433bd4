"""Measures the dashboard with a large fleet: a thousand kiosks with five orders a second each.

Each kiosk is simulated by its messages to a real mosquitto at QoS 1: for each order an event, the
stock report and the fruit's own number, and every two seconds sales and forecast. Meanwhile pages
with live updates are open, and requests for the fleet page follow each other. Prints the
measurements; fails if the 99th percentile of the fleet page exceeds the limit.

    Tests/Shared/EndToEnd/fleet_load.py [--kiosks 1000] [--rate 5] [--seconds 60] [--limit 100]
"""

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

from dashboard import PASSWORDS, Dashboard
from flood import Publisher
from kiosk import FRUITS, RECIPES
from mosquitto import Mosquitto
from meter import percentile
from web_client import EventStream, WebClient


class Simulated:
    """The published messages of a kiosk."""

    def __init__(self, number: int, publisher: Publisher) -> None:
        self.base, self.publisher = f"kiosk/shop{number:04}", publisher
        self.stock = {fruit: 1000 for fruit in FRUITS}
        self.juices = list(RECIPES)
        self.seq, self.made = number, {juice: 0 for juice in RECIPES}
        names = lambda name: {"en": name, "ko": name}
        self.say("menu", {
            "fruits": [{"id": f, "name": names(f), "capacity": 1000, "low": 50} for f in FRUITS],
            "juices": [{"id": j, "name": names(j), "recipe": r} for j, r in RECIPES.items()],
        })
        for fruit in FRUITS:
            publisher.publish(f"{self.base}/alert/{fruit}", b"ok", True)
        publisher.publish(f"{self.base}/service", b"open", True)
        self.tell()
        publisher.publish(f"{self.base}/status", b"online", True)

    def say(self, topic: str, payload: dict, retain: bool = True) -> None:
        self.publisher.publish(
            f"{self.base}/{topic}", json.dumps(payload, separators=(",", ":")).encode(), retain)

    def order(self, now: str) -> None:
        juice = self.juices[self.seq % len(self.juices)]
        self.seq += 1
        self.made[juice] += 1
        changes = {}
        for fruit, amount in RECIPES[juice].items():
            if self.stock[fruit] < amount:
                self.stock[fruit] = 1000
            self.stock[fruit] -= amount
            changes[fruit] = -amount
            self.publisher.publish(f"{self.base}/stock/{fruit}", b"%d" % self.stock[fruit], True)
        self.say("events", {
            "seq": self.seq, "at": now, "source": "order/p1", "status": "ready",
            "ticket": self.seq, "juice": juice, "quantity": 1, "changes": changes,
        }, False)
        self.say("stock", {"seq": self.seq, "at": now, "fruits": self.stock})

    def tell(self, now: str = "2026-11-21T00:00:00Z") -> None:
        tally = {"made": self.made, "out_of_stock": {}, "rejected": {}, "unnamed": 0}
        days = [{"day": f"2026-11-{day:02}", **tally} for day in range(1, 22)]
        hours = [{"hour": hour, **tally} for hour in range(9, 21)]
        self.say("sales", {
            "at": now, "time_zone": "Asia/Seoul", "today": "2026-11-21", "usual": 40.5,
            "hours": hours, "days": days,
        })
        self.say("forecast", {"at": now, "fruits": {
            fruit: {"stock": held, "per_hour": 2.4, "empty_at": "2026-11-22T10:00:00Z"}
            for fruit, held in self.stock.items()
        }})


class Fleet:
    """Runs all kiosks, and spreads their orders over each second."""

    STEPS = 20

    def __init__(self, port: int, count: int, rate: float) -> None:
        self.publishers = [Publisher(port, f"load{number}") for number in range(8)]
        self.kiosks = [
            Simulated(number, self.publishers[number % len(self.publishers)])
            for number in range(count)
        ]
        self.flush()
        self.rate, self.orders, self.late = rate, 0, 0.0
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def flush(self) -> None:
        for publisher in self.publishers:
            publisher.flush()

    @property
    def unconfirmed(self) -> int:
        return sum(publisher.sent - publisher.confirmed for publisher in self.publishers)

    def _run(self) -> None:
        began, step, due = time.monotonic(), 0, 0.0
        while not self.ends.is_set():
            due += len(self.kiosks) * self.rate / self.STEPS
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            while self.orders < due:
                self.kiosks[self.orders % len(self.kiosks)].order(now)
                self.orders += 1
            # Sales and forecast every two seconds.
            for kiosk in self.kiosks[step % (2 * self.STEPS)::2 * self.STEPS]:
                kiosk.tell(now)
            self.flush()
            step += 1
            rest = began + step / self.STEPS - time.monotonic()
            self.late = max(self.late, -rest)
            self.ends.wait(max(rest, 0))


def drain(page: EventStream, bytes_read: list[int]) -> None:
    try:
        while part := page.socket.recv(65536):
            bytes_read[0] += len(part)
    except OSError:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("kiosks", 1000), ("rate", 5), ("seconds", 60), ("limit", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = Mosquitto(Path(folder) / "broker").start()
        home = Path(folder) / "dashboard"
        home.mkdir()
        dashboard = Dashboard(home, broker, {})
        fleet = Fleet(broker.port, options.kiosks, options.rate)
        try:
            dashboard.start()
            sys.exit(measure(dashboard, fleet, options))
        finally:
            fleet.ends.set()
            dashboard.kill()
            broker.kill()


def measure(dashboard: Dashboard, fleet: Fleet, options: argparse.Namespace) -> bool:
    web_client = WebClient(dashboard.port).log_in("minji", PASSWORDS["minji"])
    began = time.monotonic()
    known = lambda: re.search(r"<b>(\d+)</b>", web_client.get("/").text)
    while f"shop{options.kiosks - 1:04}" not in web_client.get(f"/?q=shop{options.kiosks - 1:04}").text:
        assert time.monotonic() - began < 60, known()
    print(f"{options.kiosks} kiosks known {time.monotonic() - began:.1f} s after logging in; "
          f"memory {dashboard.memory():.0f} MB")
    pages = [EventStream(web_client, path) for path in ["/live"] * 5 + ["/kiosks/shop0007/live"] * 5]
    read = [0]
    for page in pages:
        threading.Thread(target=drain, args=[page, read], daemon=True).start()
    fleet.thread.start()
    took: dict[str, list[float]] = {"/": [], "/?q=shop09": [], "/kiosks/shop0007": []}
    cpu = dashboard.processor_seconds
    used, began = cpu(), time.monotonic()
    while time.monotonic() - began < options.seconds:
        for path, times in took.items():
            asked = time.perf_counter()
            answer = web_client.get(path)
            times.append((time.perf_counter() - asked) * 1000)
            assert answer.status == 200
            time.sleep(0.05)  # The pace of a viewer, not a throughput test.
    lasted = time.monotonic() - began
    fleet.ends.set()
    fleet.thread.join()
    print(f"{fleet.orders / lasted:.0f} orders a second, "
          f"{sum(p.sent for p in fleet.publishers) / lasted:.0f} messages a second, "
          f"at most {fleet.late * 1000:.0f} ms late, {fleet.unconfirmed} unconfirmed at the end")
    for path, times in took.items():
        print(f"{path:20} {len(times)} requests: p50 {percentile(times, 0.5):.1f}, "
              f"p99 {percentile(times, 0.99):.1f}, at most {max(times):.1f} ms")
    print(f"10 live pages: {read[0] / lasted / 1000:.0f} kB a second; "
          f"dashboard: {(cpu() - used) / lasted * 100:.0f} % of a core, "
          f"memory {dashboard.memory():.0f} MB, at most {dashboard.memory('VmHWM'):.0f} MB")
    # In the end the page must show the kiosk's last message.
    last = fleet.kiosks[7]
    wanted = f'data-stock="{last.stock["kiwi"]}"'
    began = time.monotonic()
    while wanted not in web_client.get("/kiosks/shop0007").text:
        if time.monotonic() - began > 10:
            print(f"still behind after 10 s: {wanted} is not shown")
            return True
    print(f"up to date {time.monotonic() - began:.2f} s after the last message")
    return percentile(took["/"], 0.99) > options.limit


if __name__ == "__main__":
    main()
