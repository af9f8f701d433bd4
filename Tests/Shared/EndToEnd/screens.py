"""Simulated kiosks for the pages that customers see: menus of each size in each state, and the boxes of a page."""

import json
from datetime import datetime, timedelta, timezone

from client import Client
from dashboard import Browser, Dashboard, PASSWORDS
from fleet import at
from web_client import WebClient

COUNTS = (1, 4, 7, 12, 25)
STATES = (
    "all", "some", "down", "paying", "making", "ready", "sorry", "busy", "closed", "offline")

# The fruits of an owner, with the names of the built-in ones first.
FRUITS = {
    "strawberry": "딸기", "banana": "바나나", "pineapple": "파인애플", "kiwi": "키위", "mango": "망고",
    "orange": "오렌지", "apple": "사과", "carrot": "당근", "beetroot": "비트", "blueberry": "블루베리",
    "celery": "샐러리", "ginger": "생강", "lemon": "레몬", "watermelon": "수박", "grapefruit": "자몽",
}
# Names short and long, of one fruit and of several.
JUICES = [
    ("strawberry", "Strawberry juice", "딸기쥬스", {"strawberry": 16}),
    ("banana", "Banana juice", "바나나쥬스", {"banana": 2}),
    ("kiwi", "Kiwi juice", "키위쥬스", {"kiwi": 3}),
    ("pineapple", "Pineapple juice", "파인애플쥬스", {"pineapple": 2}),
    ("strawberry_banana", "Strawberry banana juice", "딸기바나나쥬스", {"strawberry": 10, "banana": 1}),
    ("mango", "Mango juice", "망고쥬스", {"mango": 3}),
    ("mango_kiwi", "Mango kiwi juice", "망고키위쥬스", {"mango": 2, "kiwi": 1}),
    ("orange", "Freshly squeezed orange juice", "갓 짠 오렌지쥬스", {"orange": 4}),
    ("abc", "ABC", "ABC", {"apple": 2, "beetroot": 1, "carrot": 3}),
    ("green", "Green morning with celery and ginger", "샐러리와 생강이 든 초록 아침", {"celery": 2, "apple": 2, "ginger": 1}),
    ("blueberry", "Blueberry", "블루베리", {"blueberry": 40, "banana": 1}),
    ("lemonade", "Lemonade", "레모네이드", {"lemon": 3}),
    ("watermelon", "Watermelon", "수박쥬스", {"watermelon": 1}),
    ("grapefruit", "Pink grapefruit", "자몽쥬스", {"grapefruit": 2}),
    ("tropical", "Tropical", "트로피칼", {"mango": 1, "pineapple": 1, "banana": 1, "orange": 1}),
    ("carrot", "Carrot orange", "당근오렌지", {"carrot": 3, "orange": 1}),
    ("kiwi_apple", "Kiwi apple", "키위사과", {"kiwi": 2, "apple": 1}),
    ("sunrise", "Sunrise", "해돋이", {"orange": 2, "strawberry": 4}),
    ("pina", "Piña colada without alcohol", "무알콜 피냐 콜라다", {"pineapple": 2, "banana": 1}),
    ("red", "Red", "빨강", {"strawberry": 8, "beetroot": 1, "grapefruit": 1}),
    ("ginger", "Ginger shot", "생강샷", {"ginger": 3, "lemon": 1}),
    ("forest", "Forest fruits", "숲속 과일", {"blueberry": 30, "strawberry": 6}),
    ("celery", "Celery", "샐러리쥬스", {"celery": 4}),
    ("mango_orange", "Mango orange", "망고오렌지", {"mango": 2, "orange": 1}),
    ("everything", "Everything", "몽땅", {fruit: 1 for fruit in FRUITS}),
]
NOTES = {
    "banana": {"note": {"en": "with milk if you like", "ko": "우유 추가 가능"}},
    "strawberry_banana": {"allergens": {"en": "Contains milk and traces of nuts", "ko": "우유, 견과류 미량 함유"}},
    "green": {"allergens": {"en": "Celery", "ko": "샐러리"}},
    "everything": {"allergens": {"en": "Celery", "ko": "샐러리"}, "note": {"en": "fifteen fruits", "ko": "과일 15가지"}},
}


class ShownKiosk:
    """A simulated kiosk with one state of its menu, its tickets and its machines."""

    def __init__(self, client: Client, count: int, state: str) -> None:
        self.client, self.count, self.state = client, count, state
        self.id = f"{state}-{count}"
        self.juices = JUICES[:count]
        self.fruits = {fruit: 500 for fruit in FRUITS}
        self.now = datetime.now(timezone.utc)
        self.seq = 10

    def say(self, topic: str, payload: str | dict, retain: bool = True) -> None:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        self.client.publish(f"kiosk/{self.id}/{topic}", text, retain=retain)

    def open(self) -> "ShownKiosk":
        won = self.count % 2 == 0
        self.say("menu", {
            "fruits": [
                {"id": fruit, "name": {"en": fruit.capitalize(), "ko": korean}, "capacity": 500, "low": 5}
                for fruit, korean in FRUITS.items()
            ],
            "juices": [
                {"id": juice, "name": {"en": english, "ko": korean}, "recipe": recipe,
                 "price": f"{4500 + 500 * (place % 4)}" if won else f"{3 + place % 4}.{place % 2}0",
                 "currency": "KRW" if won else "EUR", **NOTES.get(juice, {})}
                for place, (juice, english, korean, recipe) in enumerate(self.juices)
            ],
        })
        self.say("info", {
            "version": "1", "protocol": 1, "started_at": at(self.now),
            "name": {"en": "Juice at the station", "ko": "역 앞 주스"}, "language": "en",
            "notice": {"en": "Something wrong? +49 30 1234567 · Open 8:00 to 22:00", "ko": "문제가 있으면 02-123-4567 · 영업시간 8시–22시"},
        })
        self.say("service", "closed" if self.state == "closed" else "open")
        names = [juice for juice, *_ in self.juices]
        # One machine for the first juices, one for the others; both are needed for a ticket's machine.
        half = (self.count + 1) // 2
        machines = {"bar": names[:half], "press": names[half:]} if self.count > 1 else {"bar": names}
        self.jobs: dict[str, list] = {machine: [] for machine in machines}
        reports = {machine: {"state": "idle", "queue": 0, "juices": made, "jobs": [], "ready": []}
                   for machine, made in machines.items()}
        payment = {"state": "idle", "queue": 0}
        if self.state == "some" and self.count > 1:
            self.fruits |= {"banana": 0, "carrot": 0}
            if self.count > 4:
                self.say("sensor/fridge", {"state": "blocked", "unit": "°C", "value": 12.5, "fruits": ["mango"]})
        if self.state == "down":
            reports["bar"] |= {"state": "cleaning_due" if self.count == 7 else "fault", "reason": "jam"}
        if self.state in ("paying", "busy"):
            money = {"amount": 12500, "currency": "KRW"} if won else {"amount": 390, "currency": "EUR"}
            payment = {"state": "waiting", "ticket": 146, "pay_seconds": 300, "queue": 0} | money
        if self.state in ("making", "busy"):
            for number in range(9):
                machine = list(machines)[number % len(machines)]
                reports[machine]["jobs"].append({
                    "job": 100 + number, "ticket": 131 + number, "juice": names[number % self.count], "quantity": 1,
                    "state": "started" if number < len(machines) else "queued", "at": at(self.now)})
            if self.state == "making":
                reports["bar"]["jobs"][0]["waiting"] = "no cup"
        self.say("stock", {"seq": 9, "at": at(self.now), "fruits": self.fruits})
        for machine, report in reports.items():
            self.say(f"machine/{machine}", report)
        self.say("payment/till", payment)
        self.say("status", "offline" if self.state == "offline" else "online")
        self.tickets()
        return self

    def tickets(self) -> None:
        """Publishes the ends of orders, which are no retained messages."""
        names = [juice for juice, *_ in self.juices]
        made = {"ready": 7, "busy": 3, "paying": 2}.get(self.state, 0)
        for number in range(made):
            self.end(121 + number, names[number % self.count], "made")
        if self.state in ("sorry", "busy"):
            for number, step in enumerate(["released", "refunded"][:2 if self.state == "sorry" else 1]):
                job = self.end(118 + number, names[number % self.count], "failed", reason="jam")
                self.event(step, job=job, charge=900 + number, device="till", amount="3.50", currency="EUR")

    def end(self, ticket: int, juice: str, status: str, **members: str) -> int:
        job = self.seq
        self.event(status, job=job, ticket=ticket, juice=juice, quantity=1, machine="bar", **members)
        return job

    def event(self, status: str, **members: object) -> None:
        self.seq += 1
        event = {"seq": self.seq, "epoch": 1, "at": at(datetime.now(timezone.utc)), "status": status}
        self.say("events", event | members, retain=False)


def links(dashboard: Dashboard, kiosks: list[ShownKiosk], screen: str) -> dict[str, str]:
    """Creates the links to a screen of each kiosk, as an operator does, and returns their paths."""
    operator = WebClient(dashboard.port).log_in("minji", PASSWORDS["minji"])
    token = operator.get("/kiosks/all-1").csrf_token
    for kiosk in kiosks:
        answer = operator.post(f"/kiosks/{kiosk.id}/screens", csrf_token=token, screen=screen, do="create")
        assert answer.status == 303, answer.text
    stored = json.loads((dashboard.folder / "state/screens.json").read_text())["screens"]
    operator.close()
    return {link["kiosk"]: f"/{screen}/{link['token']}" for link in stored if link["screen"] == screen}


# Returns what does not fit, as texts. `isWall`: nothing may be below the edge of the screen.
MEASURE = """
const isWall = document.body.classList.contains("wall"), found = [];
const [width, height] = [innerWidth, innerHeight];
const name = (element) => `${element.tagName.toLowerCase()}.${element.className.baseVal ?? element.className}`
    + ` "${element.textContent.trim().slice(0, 30)}"`;
const shown = (element) => element.getClientRects().length > 0 && !element.closest(".hidden");
const within = (inner, outer, slack) => inner.left >= outer.left - slack && inner.right <= outer.right + slack
    && inner.top >= outer.top - slack && inner.bottom <= outer.bottom + slack;
const size = (rect) => `${Math.round(rect.left)},${Math.round(rect.top)} ${Math.round(rect.width)}x${Math.round(rect.height)}`;
const bottom = isWall ? height : document.documentElement.scrollHeight;
const screen = {left: 0, top: 0, right: width, bottom};
if (document.documentElement.scrollWidth > width) found.push(`wider than the screen: ${document.documentElement.scrollWidth}`);
if (isWall && document.documentElement.scrollHeight > height) found.push(`higher: ${document.documentElement.scrollHeight}`);
const frames = ".card, .box, .juice, .notice, .cannot, #words, h1";
for (const element of document.querySelectorAll(`main *`)) {
    if (!shown(element) || element.closest("svg") && element.tagName != "svg") continue;
    const rect = element.getBoundingClientRect();
    if (!within(rect, screen, 1)) found.push(`beside the edge: ${name(element)} ${size(rect)}`);
}
const texts = [];
const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.textContent.trim() || !shown(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
        const frame = element.closest(frames) ?? document.body;
        if (!within(rect, frame.getBoundingClientRect(), 1.5)) {
            found.push(`cut off: ${name(element)} ${size(rect)} in ${name(frame)} ${size(frame.getBoundingClientRect())}`);
        }
        texts.push([element, rect]);
    }
    const least = isWall ? Math.max(10, Math.min(height, width) / 72) : 13;
    const font = parseFloat(getComputedStyle(element).fontSize);
    if (font < least) found.push(`text of ${font} pixels: ${name(element)}`);
}
for (let one = 0; one < texts.length; one++) for (let two = one + 1; two < texts.length; two++) {
    const [a, b] = [texts[one][1], texts[two][1]];
    const [overlap, up] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
    if (overlap > 2 && up > 0.3 * Math.min(a.height, b.height)) {
        found.push(`on each other: ${name(texts[one][0])} and ${name(texts[two][0])}`);
    }
}
const boxes = [...document.querySelectorAll(".card, .box, .juice, .cannot")].filter(shown);
for (let one = 0; one < boxes.length; one++) for (let two = one + 1; two < boxes.length; two++) {
    const [a, b] = [boxes[one].getBoundingClientRect(), boxes[two].getBoundingClientRect()];
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) {
        found.push(`boxes on each other: ${name(boxes[one])} and ${name(boxes[two])}`);
    }
}
const drawn = (selector) => [...document.querySelectorAll(selector)].filter(shown).map((picture) => {
    const rect = picture.getBoundingClientRect();
    return Math.min(rect.height, rect.width * 1.25);
});
const fonts = (selector) => [...document.querySelectorAll(selector)].filter(shown)
    .map((element) => parseFloat(getComputedStyle(element).fontSize));
const sold = drawn(".card .glass, .juice:not(.gone) .glass"), unsold = drawn(".one .glass, .gone .glass");
if (sold.some((size) => size < 40)) found.push(`a picture of ${Math.min(...sold)} pixels`);
if (unsold.length && sold.length && Math.max(...unsold) >= Math.min(...sold)) {
    found.push(`what is sold is not larger: ${Math.min(...sold)}, ${Math.max(...unsold)}`);
}
const names = [...fonts(".words:not(.long) .name")];
if (isWall && Math.min(...names) < Math.max(...fonts(".one"))) {
    found.push(`the name of what is sold is not larger: ${Math.min(...names)}, ${Math.max(...fonts(".one"))}`);
}
// The names of a row have one size and one line.
const rows = {};
for (const label of [...document.querySelectorAll(".card .name")].filter(shown)) {
    const row = Math.round(label.closest(".card").getBoundingClientRect().top);
    const [font, top] = [getComputedStyle(label).fontSize, label.getBoundingClientRect().top];
    const first = rows[row] = rows[row] ?? {font, top};
    if (first.font !== font || Math.abs(first.top - top) > 1.5) {
        found.push(`${name(label)} of ${font} at ${top} beside one of ${first.font} at ${first.top}`);
    }
}
// What can be sold uses the screen.
const lowest = Math.max(...[...document.querySelectorAll(".card, .juice, .box")].filter(shown)
    .map((card) => card.getBoundingClientRect().bottom));
if (sold.length && lowest < height * 0.7) found.push(`empty below ${lowest}`);
return found;
"""


def faults(browser: Browser) -> list[str]:
    return browser.ask(MEASURE)
