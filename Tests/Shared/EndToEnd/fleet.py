"""Simulates the published messages of twenty kiosks."""

import json
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from client import Client
from kiosk import FRUITS, RECIPES

CAPACITY, LOW = 100, 15
KOREAN = {"strawberry": "딸기", "banana": "바나나", "pineapple": "파인애플", "kiwi": "키위", "mango": "망고"}
PLACES = [
    ("Gangnam Station", "강남역", "Exit 11, beside the lockers"),
    ("Seoul Forest", "서울숲", "Gate 2"),
    ("Hongdae Playground", "홍대 놀이터", "Wausan-ro 21-gil"),
    ("City Hall", "시청", "Lobby"),
    ("Yeouido Office Park Tower Two", "여의도 오피스파크 2동", "Floor 3, kitchen"),
    ("Jamsil Stadium", "잠실경기장", "Block C"),
    ("Airport", "공항", "Terminal 1, gate 24"),
    ("University Library", "대학교 도서관", "Basement"),
    ("Bus Terminal", "고속터미널", "Platform 7"),
    ("Museum", "박물관", "Café"),
    ("Central Hospital", "중앙병원", "Building B"),
    ("Swimming Pool", "수영장", "Entrance"),
    ("Palace Gate", "궁 정문", ""),
    ("Fish Market", "수산시장", "Hall 4"),
    ("Film Centre", "영화관", "Floor 9"),
    ("North Tower", "남산타워", "Viewing deck"),
    ("Zoo", "동물원", "Beside the bears"),
    ("Harbour", "항구", "Pier 3"),
    ("School Yard", "학교 운동장", ""),
    ("Depot", "물류창고", "For trying out"),
]


def at(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class MadeUp:
    """A simulated kiosk. All its messages are retained except events."""

    def __init__(self, client: Client, number: int, time_zone: str = "UTC") -> None:
        self.client, self.id, self.time_zone = client, f"k{number + 1:02}", time_zone
        self.number, self.now = number, datetime.now(timezone.utc)
        #: Between full and nearly half, different for each kiosk.
        self.stock = {
            fruit: CAPACITY - (number * 7 + place * 13) % 55 for place, fruit in enumerate(FRUITS)
        }

    def say(self, topic: str, payload: str | dict, retain: bool = True) -> None:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        self.client.publish(f"kiosk/{self.id}/{topic}", text, retain=retain)

    def open(self) -> "MadeUp":
        english, korean, place = PLACES[self.number % len(PLACES)]
        names = lambda name: {"en": name.replace("_", " ").capitalize(), "ko": KOREAN.get(name, name)}
        self.say("menu", {
            "fruits": [
                {"id": fruit, "name": names(fruit), "capacity": CAPACITY, "low": LOW, "crate": 12}
                for fruit in FRUITS
            ],
            "juices": [
                {"id": juice, "name": names(juice), "recipe": recipe}
                for juice, recipe in RECIPES.items()
            ],
        })
        self.say("info", {
            "version": "1", "protocol": 1, "started_at": at(self.now - timedelta(days=2)),
            "name": {"en": english, "ko": korean}, "place": place,
        })
        self.say("service", "open")
        self.sell(40 + self.number * 3 % 17, usual=38.5 + self.number)
        self.hold(**self.stock)
        self.feel()
        self.say("status", "online")
        return self

    def hold(self, **stock: int) -> None:
        """Publishes stock, alerts and forecast."""
        self.stock |= stock
        self.say("stock", {"seq": 9, "at": at(self.now), "fruits": self.stock})
        for fruit, held in self.stock.items():
            self.say(f"alert/{fruit}", "out" if held == 0 else "low" if held <= LOW else "ok")
        pace = 1 + self.number % 5
        self.say("forecast", {"at": at(self.now), "fruits": {
            fruit: {
                "stock": held, "per_hour": pace,
                "empty_at": at(self.now + timedelta(hours=held / pace)),
                "use": [float(pace * 6)] * 28,
            }
            for fruit, held in self.stock.items()
        }})

    def sell(self, glasses: int, usual: float) -> None:
        tally = {"out_of_stock": {}, "rejected": {}, "unnamed": 0}
        today = self.now.astimezone(ZoneInfo(self.time_zone)).date()
        self.say("sales", {
            "at": at(self.now), "time_zone": self.time_zone, "today": today.isoformat(), "usual": usual,
            "hours": [
                {"hour": 9, "made": {"kiwi": glasses // 2}, **tally},
                {"hour": 10, "made": {"mango": glasses - glasses // 2}, **tally},
            ],
            "days": [
                {"day": (today - timedelta(days=ago)).isoformat(),
                 "made": {"kiwi": 30 + ago * self.number % 23}, **tally}
                for ago in range(29, 0, -1)
            ],
        })

    def feel(self, ahead: timedelta = timedelta(), disk_free: int = 20_000_000_000) -> None:
        """Publishes health, with the current time plus an offset."""
        self.say("health", {
            "at": at(datetime.now(timezone.utc) + ahead), "ledger": 4096, "disk_free": disk_free,
        })

    def order(self, seq: int, juice: str, missing: dict[str, int]) -> None:
        """Publishes an order that was out of stock."""
        self.say("events", {
            "seq": seq, "at": at(self.now), "source": "order/panel1", "status": "out_of_stock",
            "juice": juice, "quantity": 1, "missing": missing,
        }, retain=False)


def twenty(client: Client, time_zone: str = "UTC") -> list[MadeUp]:
    """Returns a typical morning: two kiosks are offline, some have alerts or low stock, most are
    fine."""
    kiosks = [MadeUp(client, number, time_zone).open() for number in range(20)]
    kiosks[3].say("status", "offline")
    kiosks[5].hold(strawberry=0, mango=9)
    kiosks[6].hold(kiwi=12)
    kiosks[7].hold(banana=0)
    kiosks[8].say("machine/bar", {"state": "fault", "reason": "no cups", "queue": 0, "juices": []})
    kiosks[9].say("service", "closed")
    kiosks[10].feel(ahead=timedelta(minutes=7))
    kiosks[11].feel(disk_free=9_000_000)
    kiosks[12].feel(disk_free=120_000_000)
    kiosks[14].hold(pineapple=3, kiwi=15)
    kiosks[19].say("status", "offline")
    return kiosks
