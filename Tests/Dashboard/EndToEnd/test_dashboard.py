"""The dashboard in a real Chromium, with a real broker and real kiosks."""

import base64
import json
import re
import signal
import sqlite3
import ssl
import subprocess
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from arrivals import TIMEOUT, eventually
from client import Client
from conftest import MakeBrowser, MakeClient, MakeDashboard, MakeKiosk
from dashboard import PASSWORDS, Browser, Dashboard
from kiosk import Kiosk
from mosquitto import Mosquitto
from path_proxy import PathProxy
from pouring import TerminalMachine
from web_client import SESSION, WebClient


EUROS = {"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 3}}}


def after(browser: Browser, fruit: str) -> str:
    return browser.text(f"[name='add.{fruit}'] ~ output")


def fits(phone: Browser, name: str) -> None:
    phone.photograph(name)
    assert phone.overflow() == 0


def test_a_week_of_food_safety_prints_on_one_page(
    browser: Browser, broker: Mosquitto, make_kiosk: MakeKiosk, confirmed_clock: dict[str, str], tmp_path: Path
) -> None:
    sensors = [
        {"name": "fridge", "topic": "t/fridge", "unit": "°C", "min": 0, "max": 7,
         "alarm_after_seconds": 10, "block_after_seconds": 10, "fruits": ["kiwi", "mango"]},
        {"name": "tank", "topic": "t/tank", "unit": "ml", "min": 500},
        {"name": "shelf", "topic": "t/shelf", "unit": "°C", "max": 25},
        {"name": "freezer", "topic": "t/freezer", "unit": "°C", "max": -15},
    ]
    machines = [{"name": "bar", "programs": {"clean": {"every_glasses": 1}}}]
    kiosk = make_kiosk(sensors=sensors, machines=machines).start()
    kiosk.stop()
    # A week of hours, with a warm afternoon.
    now = int(time.time()) // 3600 * 3600
    with sqlite3.connect(kiosk.folder / "ledger.sqlite") as ledger:
        def add(sensor: str, at: int, low: float, high: float, **more: Any) -> None:
            hour = datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            over = datetime.fromtimestamp(at + 3600, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            (seq, epoch), = ledger.execute("SELECT MAX(seq) + 1, MAX(epoch) FROM log")
            event = {"seq": seq, "epoch": epoch, "at": over, "status": "sensor_hour", "sensor": sensor,
                     "hour": hour, "low": low, "high": high, "measured": 3600} | more
            ledger.execute("INSERT INTO entry (seq, at, status, event) VALUES (?, ?, 'sensor_hour', ?)",
                           (seq, (at + 3600) * 1000, json.dumps(event)))

        for index in range(7 * 24 - 1):
            at = now - (7 * 24 - index) * 3600
            warm = 4.5 if 83 < index < 86 else 0
            fridge = 4 + index * 37 % 9 / 10 + warm
            add("fridge", at, fridge - 0.3, fridge + 0.2, unit="°C", min=0, max=7, outside=3600 if warm else 0)
            tank = 4000 - index * 18
            add("tank", at, tank - 18, tank, unit="ml", min=500, outside=0)
            add("shelf", at, 19, 21, unit="°C", max=25, outside=0)
            add("freezer", at, -19, -18, unit="°C", max=-15, outside=0)
    kiosk.start(**confirmed_clock)
    client = Client(broker.port, "kiosk/#")
    client.publish("t/fridge", "9.5")
    client.publish("t/tank", "990")
    client.restock({"id": "r1", "add": {"pineapple": 30, "kiwi": 5}})
    client.messages.first(lambda m: m.topic == "kiosk/k1/sensor/fridge" and m.json["state"] == "blocked")
    # A cleaning, and fruit that expires and is taken out.
    machine = TerminalMachine(kiosk).start("--seconds", "0.05")
    client.messages.first(lambda m: m.topic == "kiosk/k1/machine/bar" and m.json["state"] == "idle")
    client.order({"id": "o1", "juice": "banana"})
    client.messages.first(lambda m: m.topic == "kiosk/k1/events" and m.json["status"] == "program_done")
    client.restock_briefly({"add": {"banana": 6}}, ["banana"])
    client.messages.first(lambda m: m.topic == "kiosk/k1/events" and m.json["status"] == "expired")
    client.restock({"id": "r3", "remove_expired": {"banana": 6}, "reason": "spoiled"})
    for number in range(14):
        client.restock({"id": f"more{number}", "add": {"pineapple": 1}})
    machine.kill()
    client.close()
    browser.log_in(path="/kiosks/k1")
    browser.wait_for("Blocked by a sensor", "#sensor-decisions")
    browser.photograph("sensor")
    browser.type("#word-fridge", "the door was open all night")
    browser.send("#discard-fridge")
    browser.wait_for("Your decision is recorded.")
    browser.send("#sensors a")
    browser.wait_for("the door was open all night")
    browser.photograph("safety")
    assert len(browser.all("svg.plot")) == 4
    assert len(browser.all("svg.plot rect.outside")) in (2, 3, 4)
    paper = tmp_path / "safety.pdf"
    a4 = {"paperWidth": 8.27, "paperHeight": 11.69}
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", a4)
    paper.write_bytes(base64.b64decode(printed["data"]))
    text = subprocess.run(
        ["pdftotext", "-layout", paper, "-"], check=True, capture_output=True, text=True
    ).stdout
    assert text.count("\f") == 1
    for part in ("fridge", "tank", "minji", "Checked by", "Kiwi 15", "Mango 10", "Banana 6", "Banana +6 (best before",
                 "Banana -6 · expired", "taken out: spoiled", "bar: Clean: due (number of glasses)", "Clean: done"):
        assert part in text, part
    for screen in ("Log out", "CSV", "week before"):
        assert screen not in text, screen
    assert kiosk.command("ledger", "verify").returncode == 0


def test_log_in_and_see_two_kiosks(
    browser: Browser, kiosk: Kiosk, make_kiosk: MakeKiosk, panel: Client
) -> None:
    make_kiosk(kiosk={"id": "k2", "time_zone": "Asia/Seoul"}).start()
    browser.open("/kiosks/k1")
    browser.photograph("login")
    browser.type("[name=name]", "minji")
    browser.type("[name=password]", "wrong-password")
    browser.press("main button")
    browser.wait_for("The name or the password is wrong.")
    # The console rightly reports the refusal.
    assert "401" in browser.driver.get_log("browser")[0]["message"]

    browser.log_in(path="/kiosks/k1")
    assert browser.driver.current_url.endswith("/kiosks/k1")
    browser.open()
    browser.wait_for("k1", "#kiosks")
    eventually(lambda: browser.texts(".kiosk .name") == ["k1", "k2"])
    panel.order("strawberry_banana")
    browser.wait_for("out", "#k1-strawberry")
    browser.photograph("fleet")
    browser.type("[name=q]", "strawberry ban")
    browser.send(".filter button")
    assert browser.texts(".kiosk .name") == ["k1"]


def test_a_restock_while_customers_go_on_buying(
    browser: Browser, kiosk: Kiosk, panel: Client
) -> None:
    browser.log_in(path="/kiosks/k1")
    stop, sold = threading.Event(), []

    def buy() -> None:
        while not stop.is_set():
            sold.append(panel.order({"id": f"s{len(sold)}", "juice": "banana"})["status"])

    customers = threading.Thread(target=buy)
    customers.start()
    try:
        browser.type("[name='add.banana']", "60")
        for _ in range(3):
            browser.press("[aria-label='One Kiwi more']")
        browser.press("button[value=review]")
        browser.wait_for("Review", "h1")
        assert browser.texts(".review tbody tr")[1].split()[:1] == ["Kiwi"]
        already = len(sold)
        eventually(lambda: len(sold) > already + 3)
        browser.press("main .primary")
        browser.wait_for("Done.")
        already = len(sold)
        eventually(lambda: len(sold) > already + 3)
    finally:
        stop.set()
        customers.join()
    browser.photograph("restocked")

    kiosk.verify()
    ledger = kiosk.ledger()
    restocks = [entry for entry in ledger if entry["status"] == "restocked"]
    assert [entry["source"] for entry in restocks] == ["restock/minji"]
    assert restocks[0]["changes"] == {"banana": 60, "kiwi": 3}
    made = sum(entry["status"] == "ready" for entry in ledger)
    assert made == sold.count("ready") > 5
    assert kiosk.stock()["banana"] == 10 + 60 - 2 * made
    # The page and the ledger agree.
    browser.open("/kiosks/k1")
    browser.wait_for(str(kiosk.stock()["banana"]), "#fruit-banana .number b")
    browser.wait_for("Banana +60, Kiwi +3", "#history")
    browser.wait_for("minji", "#history")


def test_fill_all_takes_two_taps(browser: Browser, kiosk: Kiosk) -> None:
    browser.log_in(path="/kiosks/k1")
    browser.press("button[value=fill]")
    browser.wait_for("Review", "h1")
    browser.photograph("review")
    browser.press("main .primary")
    browser.wait_for("Done.")
    assert set(kiosk.stock().values()) == {100}
    # Back and reload show the kiosk's page, and send nothing.
    browser.press(".brand")
    browser.wait_for("k1", "#kiosks")
    browser.driver.back()
    eventually(lambda: browser.driver.current_url.endswith("/kiosks/k1"))
    browser.driver.refresh()
    browser.wait_for("Online", "#state")
    assert [entry["status"] for entry in kiosk.ledger()].count("restocked") == 1


def test_a_counted_number_never_overwrites_a_sale(
    browser: Browser, kiosk: Kiosk, panel: Client
) -> None:
    browser.log_in(path="/kiosks/k1")
    browser.press("form.restock summary")
    browser.type("[name='set.mango']", "30")
    browser.press("button[value=review]")
    browser.wait_for("Review", "h1")
    assert panel.order("mango")["status"] == "ready"
    browser.press("main .primary")
    browser.wait_for("The stock has changed since you looked.")
    browser.wait_for("Mango: 10 → 7")
    assert browser.text("main .primary") == "Set anyway"
    browser.photograph("conflict")
    assert kiosk.stock()["mango"] == 7
    # Confirms the same numbers for the current stock.
    browser.press("main .primary")
    browser.wait_for("Done.")
    assert kiosk.stock()["mango"] == 30


def test_a_kiosk_that_is_away(browser: Browser, kiosk: Kiosk) -> None:
    browser.log_in(path="/kiosks/k1")
    browser.wait_for("Online", "#state")
    kiosk.process.send_signal(19)  # SIGSTOP: online, but does not answer
    browser.press("button[value=fill]")
    browser.wait_for("Review", "h1")
    browser.press("main .primary")
    browser.wait_for("No answer yet.")
    assert browser.text("main .primary") == "Send again"
    assert browser.ask("return location.pathname") == "/kiosks/k1/restock"
    browser.photograph("no-answer")
    number = browser.one("[name=id]").get_attribute("value")
    kiosk.process.send_signal(18)
    browser.press("main .primary")
    browser.wait_for("Done.")
    restocks = [entry for entry in kiosk.ledger() if entry["status"] == "restocked"]
    assert [entry["id"] for entry in restocks] == [number]

    browser.open("/kiosks/k1")
    kiosk.stop()
    browser.wait_for("Offline", "#state")
    browser.open("/")
    browser.wait_for("Offline", "#kiosks")
    browser.photograph("offline")
    kiosk.start()
    browser.wait_for("Online", "#kiosks")


def test_pages_live(
    browser: Browser, kiosk: Kiosk, panel: Client, say
) -> None:
    browser.log_in(path="/kiosks/k1")
    browser.driver.execute_script("window.isTheSamePage = true")
    delays = []
    for _ in range(3):
        before = time.monotonic()
        result = panel.order("pineapple")
        browser.wait_for(str(result["stock"]["pineapple"]), "#fruit-pineapple .number b")
        browser.wait_for(str(result["ticket"]), "#orders")
        delays.append(time.monotonic() - before)
    browser.wait_for("p1", "#orders")
    assert browser.ask("return window.isTheSamePage")
    say(f"shown after {max(delays) * 1000:.0f} ms at most")
    # Live updates do not replace a field that is being edited.
    browser.type("[name='add.pineapple']", "4")
    panel.order("pineapple")
    eventually(lambda: after(browser, "pineapple") == "→ 6")


def test_charts_are_what_the_report_says(
    browser: Browser, kiosk: Kiosk, panel: Client
) -> None:
    for juice, quantity in [("banana", 2), ("kiwi", 1), ("mango", 1), ("mango", 9)]:
        panel.order({"juice": juice, "quantity": quantity})
    report = kiosk.command("report", "--json")
    assert report.returncode == 0, report.stderr
    sales = json.loads(report.stdout)
    sales = sales.get("sales", sales)
    hours = {f"{hour['hour']}:00": sum(hour["made"].values()) for hour in sales["hours"]}
    days = [sum(day["made"].values()) for day in sales["days"]]
    browser.log_in(path="/kiosks/k1")
    browser.wait_for("4 glasses made today", "#sales")
    assert browser.numbers("hours") == {hour: made for hour, made in hours.items() if made}
    assert list(browser.numbers("days").values()) == [made for made in days if made]
    browser.photograph("kiosk")


def test_the_virtual_panel_and_the_display(
    make_browser: MakeBrowser, browser: Browser, kiosk: Kiosk
) -> None:
    wall = make_browser().log_in("vera", "/kiosks/k1/display")
    browser.log_in(path="/kiosks/k1/panel")
    browser.wait_for("1 left", "#juice-strawberry_banana")
    browser.press("#juice-strawberry_banana")
    browser.wait_for("Strawberry banana juice is ready. Enjoy!", ".message")
    browser.wait_for("Ticket 1", ".message")
    browser.wait_for("sold out", "#juice-strawberry_banana")
    wall.wait_for("Strawberry banana juice", ".ready")
    assert wall.texts(".ready .ticket") == ["1"]
    browser.press("#juice-strawberry_banana")
    browser.wait_for("Not enough fruit. Update the stock?", ".message")
    browser.press("#juice-kiwi")
    browser.wait_for("Ticket 2", ".message")
    browser.photograph("panel")
    wall.wait_for("Kiwi juice", ".ready")
    assert wall.texts(".ready .ticket") == ["2", "1"]
    wall.photograph("display")
    orders = [entry for entry in kiosk.ledger() if entry.get("source") == "order/virtual"]
    assert [entry["status"] for entry in orders] == ["ready", "out_of_stock", "ready"]


# MARK: Machines


class Bar:
    """A machine that the test controls, and its kiosk."""

    def __init__(self, kiosk: Kiosk, client: Client) -> None:
        self.kiosk, self.client = kiosk, client
        self.job = 0
        self.tell("online")

    def tell(self, status: str) -> None:
        self.client.publish("kiosk/k1/machine/bar/status", status, retain=True)

    def next_job(self) -> int:
        """Waits for the next job and returns its number."""
        self.job = self.client.messages.first(
            lambda message: message.topic == "kiosk/k1/make/bar"
            and message.json["job"] > self.job
        ).json["job"]
        return self.job

    def say(self, status: str, **more: object) -> None:
        answer = {"job": self.job, "status": status} | more
        self.client.publish("kiosk/k1/made/bar", json.dumps(answer))


@pytest.fixture
def bar(make_kiosk: MakeKiosk, make_client) -> Bar:
    programs = {"clean": {"every_glasses": 500, "uses": {"mango": 1}}, "rinse": {"idle_hours": 2}}
    machine = {"name": "bar", "juices": ["kiwi", "mango"], "programs": programs}
    return Bar(make_kiosk(machines=[machine]).start(), make_client("kiosk/k1/#"))


def test_a_juice_is_made_before_all_eyes(make_browser: MakeBrowser, bar: Bar) -> None:
    wall = make_browser().log_in("vera", "/kiosks/k1/display")
    page = make_browser().log_in("vera", "/kiosks/k1")
    page.wait_for("waiting for orders", "#machines")
    browser = make_browser().log_in(path="/kiosks/k1/panel")
    browser.press("#juice-kiwi")
    browser.wait_for("Ticket 1", ".message")
    first = bar.next_job()
    browser.wait_for("You are next.", ".message")
    bar.say("started")
    browser.wait_for("It is being made now.", ".message")
    wall.wait_for("1", ".making .now")
    page.wait_for("making juice", "#machines")
    browser.press("#juice-mango")
    browser.wait_for("1 before you.", ".message")
    page.wait_for("1 waiting", "#machines")
    for shown, name in [(browser, "panel"), (wall, "display"), (page, "kiosk")]:
        shown.photograph(f"making-{name}")
    bar.say("done")
    assert bar.next_job() > first
    wall.wait_for("1", ".ready .ticket")
    bar.say("started")
    browser.wait_for("It is being made now.", ".message")
    bar.say("failed", reason="jam <b>", used={"mango": 1})
    browser.wait_for("Sorry, Mango juice could not be made. (jam <b>)", ".message")
    page.wait_for("not made: jam <b>", "#orders")
    # A juice that needs no machine is ready at once.
    browser.press("#juice-banana")
    browser.wait_for("Banana juice is ready. Enjoy!", ".message")
    wall.wait_for("3", ".ready .ticket")
    assert bar.kiosk.stock()["mango"] == 9


def test_a_machine_is_quicker_than_the_page(make_browser: MakeBrowser, bar: Bar) -> None:
    browser = make_browser().log_in(path="/kiosks/k1/panel")
    # Holds the answer back until the test releases it.
    browser.ask("""
        const ask = window.fetch;
        window.fetch = async (...request) => {
            const answer = await ask(...request);
            await new Promise((done) => { window.letItCome = done; });
            return answer;
        };
    """)
    browser.press("#juice-kiwi")
    bar.next_job()
    eventually(lambda: browser.ask("return !!window.letItCome"))
    bar.say("started")
    bar.say("done")
    # A later update is shown: the end of the order arrived before the answer.
    bar.tell("fault")
    browser.wait_for("machine out of order", "#juice-kiwi")
    browser.ask("window.letItCome()")
    browser.wait_for("Kiwi juice is ready. Enjoy!", ".message")


def test_a_person_decides_what_no_machine_knows(make_browser: MakeBrowser, bar: Bar) -> None:
    viewer = make_browser().log_in("vera", "/kiosks/k1")
    browser = make_browser().log_in(path="/kiosks/k1")
    for verdict, outcome in [("again", "made"), ("give_back", "returned"), ("poured", "made")]:
        bar.client.order({"id": verdict, "juice": "kiwi"}, "p7")
        job = bar.next_job()
        bar.say("started")
        bar.say("unknown")
        viewer.wait_for("Waiting for a person", "#decisions")
        assert viewer.all("main form, main [name=decision]") == []
        browser.press(f"#{verdict}-{job}")
        browser.wait_for(f"Job {job}:", ".notice.good")
        if verdict == "again":
            assert bar.next_job() > job
            bar.say("started")
            bar.say("done")
        eventually(lambda: bar.kiosk.ledger()[-1]["status"] == outcome)
        eventually(lambda: browser.text("#decisions") == "" == viewer.text("#decisions"))
    decisions = [entry for entry in bar.kiosk.ledger() if entry.get("source") == "job/minji"]
    assert [entry["status"] for entry in decisions] == ["again", "give_back", "poured"]
    assert bar.kiosk.stock()["kiwi"] == 10 - 3 - 3
    browser.wait_for("given back", "#history")
    bar.kiosk.verify()


def test_a_person_starts_a_cleaning(make_browser: MakeBrowser, bar: Bar) -> None:
    browser = make_browser().log_in(path="/kiosks/k1")
    browser.wait_for("in 500 glasses", "#machines")
    browser.press("#clean-bar")
    browser.wait_for("bar: Clean is requested.", ".notice.good")
    bar.next_job()
    bar.say("started")
    browser.wait_for("being cleaned", "#machines")
    assert browser.all("[name=program]") == []
    bar.say("done")
    browser.wait_for("last", "#machines")
    browser.wait_for("Clean: done", "#history")
    browser.photograph("machine-programs")
    [request] = [entry for entry in bar.kiosk.ledger() if entry["status"] == "program_requested"]
    assert (request["source"], request["changes"]) == ("program/minji", {"mango": -1})


def test_a_machine_that_is_down_shows(make_browser: MakeBrowser, bar: Bar) -> None:
    browser = make_browser().log_in()
    panel = make_browser().log_in(path="/kiosks/k1/panel")
    panel.wait_for("3 left", "#juice-kiwi")
    bar.tell("fault: no cups")
    browser.wait_for("bar: out of order", "#kiosks")
    browser.wait_for("Needs attention", "#count")
    browser.photograph("machine-down-fleet")
    panel.wait_for("machine out of order", "#juice-kiwi")
    panel.press("#juice-kiwi")
    panel.wait_for("The machine is out of order.", ".message")
    browser.open("/kiosks/k1")
    browser.wait_for("no cups", "#machines")
    bar.tell("online")
    browser.wait_for("waiting for orders", "#machines")
    panel.wait_for("3 left", "#juice-kiwi")


def test_machines_in_korean_on_a_small_dark_screen(make_browser: MakeBrowser, bar: Bar) -> None:
    phone = make_browser(language="ko-KR", width=360, is_dark=True)
    phone.log_in(path="/kiosks/k1/panel")
    for _ in range(2):
        phone.press("#juice-kiwi")
        phone.wait_for("번호", ".message")
        eventually(lambda: phone.all(".message[aria-busy]") == [])
    phone.wait_for("번호 2", ".message")
    bar.next_job()
    bar.say("started")
    phone.wait_for("앞에 1건이 있어요.", ".message")
    fits(phone, "phone-making-panel")
    phone.open("/kiosks/k1/display")
    phone.wait_for("만드는 중", ".making")
    fits(phone, "phone-making-display")
    bar.say("unknown")
    phone.open("/kiosks/k1")
    phone.wait_for("사람의 확인이 필요해요", "#decisions")
    fits(phone, "phone-decisions")
    phone.press("#decisions button")
    phone.wait_for("나감", ".notice.good")


def test_without_scripts_a_machine_is_no_mystery(make_browser: MakeBrowser, bar: Bar) -> None:
    plain = make_browser(has_scripts=False).log_in(path="/kiosks/k1/panel")
    plain.send("#juice-kiwi")
    assert eventually(lambda: plain.all(".message .steps"))
    job = bar.next_job()
    bar.say("started")
    bar.say("unknown")
    eventually(lambda: plain.open("/kiosks/k1").all(f"#poured-{job}"))
    plain.send(f"#poured-{job}")
    assert eventually(lambda: plain.all(".notice.good"))
    eventually(lambda: bar.kiosk.ledger()[-1]["status"] == "made")


def test_open_and_close(browser: Browser, kiosk: Kiosk, panel: Client) -> None:
    browser.log_in(path="/kiosks/k1")
    browser.press("#service button")
    browser.wait_for("The kiosk is closed.")
    browser.wait_for("Closed", "#state")
    assert panel.order("kiwi")["reason"] == "closed"
    browser.press("#service button")
    browser.wait_for("The kiosk is open.")
    assert panel.order("kiwi")["status"] == "ready"
    entries = [entry for entry in kiosk.ledger() if entry["status"] in ("open", "closed")]
    assert [entry["source"] for entry in entries] == ["service/minji"] * 2


def test_another_command_keeps_the_typed_numbers(browser: Browser, kiosk: Kiosk) -> None:
    browser.log_in(path="/kiosks/k1")
    browser.type("[name='add.kiwi']", "7")
    browser.press("form.restock summary")
    browser.type("[name='set.mango']", "4")
    browser.send("#service button")
    browser.wait_for("The kiosk is closed.")
    value = lambda name: browser.one(f"[name='{name}']").get_property("value")
    assert (value("add.kiwi"), value("set.mango"), value("add.banana")) == ("7", "4", "0")
    assert "→ 17" in browser.text(".restock")
    # Once, on that page.
    browser.open("/kiosks/k1")
    assert (value("add.kiwi"), value("set.mango")) == ("0", "")
    # For some minutes, for the same user, and only with a review.
    for user, age, kiwi in (("minji", 0, "7"), ("minji", 600_000, "0"), ("vera", 0, "0")):
        browser.ask("""
            const [user, age] = arguments;
            const typed = { user, at: Date.now() - age, fields: [["add.kiwi", "7"]] };
            const form = document.querySelector("form[data-restock]");
            sessionStorage.setItem(`typed:${form.action}`, JSON.stringify(typed));""", user, age)
        browser.open("/kiosks/k1?fruit=mango")
        assert value("add.kiwi") == kiwi
        assert len(browser.all("form[data-restock] [value=now]")) == (kiwi == "0")
    assert kiosk.ledger()[-1]["status"] == "closed"


def test_settings_are_changed_at_two_kiosks(
    make_browser: MakeBrowser, kiosk: Kiosk, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    make_kiosk(kiosk={"id": "k2"}, menu=EUROS, stock={"low": 7}).start()
    client = make_client("kiosk/+/order/p/result", "kiosk/+/service")
    browser = make_browser()
    browser.log_in(path="/kiosks/k1/settings")
    browser.wait_for("All values are those of the kiosk's file.")
    browser.type("[name=currency]", "EUR")
    browser.type("[name='price.kiwi']", "3,50")
    browser.type("[name='low.mango']", "9")
    browser.press("[name='disabled.banana']")
    browser.press(".settings summary")
    browser.press("[name='kiosk.k2']")
    browser.photograph("settings-filled")
    browser.send(".settings .primary")
    browser.wait_for("Saved (k1, k2): Banana juice not sold, Kiwi juice €3.50, Mango: low at 5 → 9")
    # The sentence has the focus.
    eventually(lambda: browser.focused("class") == "result")
    browser.wait_for("Differs from the file")
    for id in ("k1", "k2"):
        client.publish(f"kiosk/{id}/order/p", "kiwi")
        answer = client.messages.first(lambda m: m.topic == f"kiosk/{id}/order/p/result").json
        assert answer["amount"] == "3.50", answer
    # Hours, in which the kiosk is closed now.
    browser.press("[name=hours][value=own]")
    browser.ask("""
        const now = new Date();
        const day = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"][(now.getUTCDay() + 3) % 7];
        document.querySelector(`[name='from.${day}']`).value = "07:00";
        document.querySelector(`[name='to.${day}']`).value = "00:00";
    """)
    browser.send(".settings .primary")
    browser.wait_for("07:00–24:00", ".result")
    eventually(lambda: [m.text for m in client.messages if m.topic == "kiosk/k1/service"][-1] == "closed")
    browser.open("/kiosks/k1")
    browser.wait_for("Closed", "#state")
    browser.wait_for("Opening hours: ")
    # Somebody else has changed it meanwhile: nothing is overwritten.
    other = make_browser(language="ko-KR", width=390, is_dark=True)
    other.log_in(path="/kiosks/k1/settings")
    browser.open("/kiosks/k1/settings")
    browser.type("[name='low.kiwi']", "8")
    browser.send(".settings .primary")
    browser.wait_for("Kiwi: low at 5 → 8")
    other.type("[name='low.kiwi']", "6")
    other.send(".settings .primary")
    other.wait_for("아무것도 변경하지 않았어요")
    other.photograph("settings-conflict-phone-dark-korean")
    assert other.one("[name='low.kiwi']").get_attribute("value") == "6" and other.overflow() == 0
    other.send(".settings .primary")
    other.wait_for("키위: 부족 기준 8 → 6")
    # The file's values again, the hours included.
    browser.open("/kiosks/k1/settings")
    browser.send("button[value=drop]")
    browser.wait_for("Nothing was changed yet.", ".result")
    browser.photograph("settings-drop-question")
    browser.send(".result button[value=drop]")
    browser.wait_for("Saved", ".result")
    eventually(lambda: [m.text for m in client.messages if m.topic == "kiosk/k1/service"][-1] == "open")
    assert "instead of" not in kiosk.command("check").stdout


def test_on_a_phone_machines_and_orders_come_first(
    make_browser: MakeBrowser, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    client = make_client("kiosk/#")
    kiosk = make_kiosk(machines=[{"name": "bar", "juices": ["kiwi", "mango"]}]).start()
    client.publish("kiosk/k1/machine/bar/status", "online", retain=True)
    client.restock({"id": "r1", "add": {"kiwi": 3}})
    client.order("banana")
    tops = "return arguments[0].map(name => document.querySelector(name).getBoundingClientRect().top)"
    parts = ["#machines", "#orders", "#fruit-kiwi", "#sales", ".last .fold"]
    phone, laptop = make_browser(width=390), make_browser()
    for browser in (phone, laptop):
        browser.log_in(path="/kiosks/k1")
        browser.wait_for("bar", "#machines")
    order = phone.ask(tops, parts)
    assert order == sorted(order)
    assert not phone.one("#history").is_displayed() and laptop.one("#history").is_displayed()
    phone.photograph("phone-kiosk-order")
    assert phone.overflow() == 0
    phone.press(".last .fold summary")
    phone.wait_for("Kiwi +3", "#history")
    # Offline: grey, with the time, on the open page.
    color = "return getComputedStyle(document.querySelector(arguments[0])).color"
    soft = laptop.ask(color, ".muted")
    assert laptop.ask(color, "#fruit-kiwi .number") != soft and "As of" not in laptop.text()
    kiosk.stop()
    for part in ("#age", "#machines", "#sales"):
        laptop.wait_for("As of", part)
    assert {laptop.ask(color, part) for part in ("#fruit-kiwi .number", "#machines .chip", "#sales .figure b")} == {soft}
    laptop.photograph("kiosk-offline")


def test_korean_on_a_small_dark_screen(make_browser: MakeBrowser, kiosk: Kiosk) -> None:
    phone = make_browser(language="ko-KR", width=360, is_dark=True)
    phone.log_in()
    phone.wait_for("키오스크", "h1")
    fits(phone, "phone-fleet")
    phone.open("/kiosks/k1")
    phone.wait_for("딸기", "#fruit-strawberry")
    fits(phone, "phone-kiosk")
    phone.press("button[value=fill]")
    phone.wait_for("확인하기", "h1")
    fits(phone, "phone-review")
    phone.press("main .primary")
    phone.wait_for("완료!")
    phone.open("/kiosks/k1/panel")
    phone.press("#juice-mango_kiwi")
    phone.wait_for("번호 1", ".message")
    fits(phone, "phone-panel")
    # The language switch stays on the same page.
    phone.press("header [lang=en]")
    phone.wait_for("What would you like?")


def test_a_press_that_is_held_goes_on(browser: Browser, kiosk: Kiosk) -> None:
    browser.log_in(path="/kiosks/k1")
    button = browser.one("[aria-label='One Banana more']")
    ActionChains(browser.driver).click_and_hold(button).perform()
    field = browser.one("[name='add.banana']")
    eventually(lambda: int(field.get_attribute("value")) >= 10)
    ActionChains(browser.driver).release().perform()
    assert after(browser, "banana") == f"→ {10 + int(field.get_attribute('value'))}"
    # Also with the keyboard.
    mango = browser.one("[aria-label='One Mango less']")
    mango.send_keys(" ")
    mango.send_keys("\n")
    assert after(browser, "mango") == "→ 8"


def test_without_scripts_everything_works_by_hand(
    make_browser: MakeBrowser, kiosk: Kiosk
) -> None:
    plain = make_browser(has_scripts=False)
    plain.log_in(path="/kiosks/k1")
    plain.type("[name='add.kiwi']", "5")
    plain.send("button[value=review]")
    plain.send("main .primary")
    assert eventually(lambda: plain.all(".notice.good"))
    assert kiosk.stock()["kiwi"] == 15
    plain.open("/kiosks/k1/panel")
    plain.send("#juice-kiwi")
    assert eventually(lambda: plain.all(".message .ticket"))
    assert kiosk.stock()["kiwi"] == 12


def test_a_viewer_looks_and_changes_nothing(browser: Browser, kiosk: Kiosk) -> None:
    browser.log_in("vera", "/kiosks/k1")
    browser.wait_for("Strawberry", "#fruit-strawberry")
    assert browser.all("main form") == []
    browser.photograph("viewer")


def test_it_is_right_as_soon_as_it_has_started(
    kiosk: Kiosk, panel: Client, dashboard: Dashboard, browser: Browser, say
) -> None:
    panel.order("strawberry_banana")
    browser.log_in()
    browser.wait_for("out", "#k1-strawberry")
    dashboard.stop()
    browser.one(".disconnected:not([hidden])")
    before = time.monotonic()
    dashboard.start()
    # The session survives the restart, and the open page goes on.
    eventually(lambda: not browser.all(".disconnected:not([hidden])"))
    panel.order("kiwi")
    browser.wait_for("7", "#row-k1")
    say(f"started and shown after {time.monotonic() - before:.1f} s")
    # The open page of a session that has ended says so.
    dashboard.stop()
    for name in ("sessions.json", "sessions.json.good"):
        (dashboard.folder / "state" / name).unlink()
    dashboard.start()
    assert browser.one("#ended:not([hidden]) a").get_attribute("href").endswith("/")
    # After a login on another page, this one is current again.
    web_client = WebClient(dashboard.port).log_in("minji", PASSWORDS["minji"])
    browser.driver.add_cookie({"name": SESSION, "value": web_client.cookies[SESSION]})
    web_client.close()
    # It stays while a field has what the user has typed.
    browser.ask("""
        document.querySelector("main").insertAdjacentHTML("beforeend", "<input id=typed value=5>");
        document.getElementById("typed").value = "6";
        addEventListener("replaced", () => { window.isUpdated = true; });""")
    browser.ask("document.dispatchEvent(new Event('visibilitychange'))")
    eventually(lambda: browser.ask("return window.isUpdated"))
    assert browser.all("#ended:not([hidden])")
    browser.ask("document.getElementById('typed').value = '5'")
    browser.ask("document.dispatchEvent(new Event('visibilitychange'))")
    eventually(lambda: not browser.all("#ended:not([hidden])"))
    browser.wait_for("out", "#k1-strawberry")
    browser.leave()


def test_an_open_page_says_that_its_twelve_hours_are_over(
    kiosk: Kiosk, dashboard: Dashboard, browser: Browser
) -> None:
    browser.log_in()
    dashboard.stop()
    # A third of the time limit is left of the session, which is more than a start and a page take.
    began = datetime.now(timezone.utc) - timedelta(hours=12) + timedelta(seconds=TIMEOUT / 3)
    file = dashboard.folder / "state/sessions.json"
    state = json.loads(file.read_text())
    state["sessions"][0]["at"] = began.strftime("%Y-%m-%dT%H:%M:%SZ")
    file.write_text(json.dumps(state))
    dashboard.start()
    browser.open("/").wait_for("Strawberry")
    browser.one("#ended[hidden]")
    assert browser.one("#ended:not([hidden]) a").get_attribute("href").endswith("/")
    assert browser.all(".disconnected:not(#ended):not([hidden])") == []
    browser.leave()


def certificate(folder: Path) -> dict[str, str]:
    """Makes a new certificate for localhost in the same files."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2",
         "-subj", "/CN=localhost"], check=True, capture_output=True,
    )
    return {"certificate_file": str(folder / "cert.pem"), "key_file": str(folder / "key.pem")}


def test_encrypted(make_dashboard: MakeDashboard, make_browser: MakeBrowser, tmp_path, kiosk) -> None:
    secure = make_dashboard(tls=certificate(tmp_path))
    browser = make_browser(secure).log_in()
    browser.wait_for("k1", "#kiosks")
    assert {cookie["secure"] for cookie in browser.driver.get_cookies()} == {True}


def test_a_renewed_certificate_is_taken_without_a_restart(
    make_dashboard: MakeDashboard, make_browser: MakeBrowser, tmp_path: Path, kiosk: Kiosk
) -> None:
    secure = make_dashboard(tls=certificate(tmp_path))
    browser = make_browser(secure).log_in()
    browser.wait_for("k1", "#kiosks")

    def served() -> str:
        return ssl.get_server_certificate(("127.0.0.1", secure.port)).strip()

    def reload(answer: str) -> None:
        since = len(secure.log)
        secure.process.send_signal(signal.SIGHUP)
        secure.log.first(lambda line: answer in line, since)

    old = (tmp_path / "cert.pem").read_text().strip()
    assert served() == old
    certificate(tmp_path)
    new = (tmp_path / "cert.pem").read_text().strip()
    assert served() == old != new
    reload("the new configuration is taken")
    assert served() == new
    # A key of another certificate, and a key that needs a restart: nothing changes.
    key = (tmp_path / "key.pem").read_text()
    certificate(tmp_path)
    (tmp_path / "key.pem").write_text(key)
    reload("the new configuration is not taken")
    assert served() == new
    text = secure.config.read_text()
    secure.config.write_text(text.replace('"users_file": "users"', '"users_file": "others"'))
    reload("can change without a restart")
    # The user is still logged in.
    browser.open("/kiosks/k1")
    browser.wait_for("k1", "h1")


def test_output_that_cannot_be_written(dashboard: Dashboard) -> None:
    before = (dashboard.folder / "users").read_text()
    for command in (["list"], ["add", "minji", "--generate"]):
        with open("/dev/full", "w") as full:
            failed = dashboard.command("user", *command, output=full)
        assert failed.returncode == 74
        assert failed.stderr == (
            "juice-dashboard: standard output cannot be written: No space left on device\n")
    # Nobody has seen the new password, so the old one holds.
    assert (dashboard.folder / "users").read_text() == before


def test_a_wall_needs_no_login_and_recovers_by_itself(
    dashboard: Dashboard, browser: Browser, make_browser: MakeBrowser, kiosk: Kiosk, panel: Client
) -> None:
    browser.log_in(path="/kiosks/k1")
    path = browser.create_link("wall")
    wall = make_browser(width=1920, height=1080)
    wall.open(path)
    ticket = panel.order("kiwi")["ticket"]
    wall.wait_for(str(ticket), ".ready")
    size = "return parseFloat(getComputedStyle(document.querySelector(arguments[0])).fontSize)"
    name = wall.ask(size, ".card .name")
    assert name >= 56 and wall.ask(size, ".ready .ticket") > 2 * name
    assert wall.overflow() <= 0
    assert wall.ask("return document.querySelector('main').clientWidth") == 1920
    wall.photograph("wall")
    # Without the dashboard it shows no old ticket, and continues after a restart.
    dashboard.stop(signal.SIGKILL)
    # As after thirty seconds without an update.
    wall.ask("const now = performance.now.bind(performance); performance.now = () => now() + 31_000")
    wall.wait_for("Out of service at the moment.")
    assert "Kiwi juice" not in wall.text("main")
    wall.photograph("wall-out")
    dashboard.start()
    wall.wait_for("Kiwi juice", "#menu")
    kiosk.stop()
    wall.wait_for("Out of service at the moment.", "#menu")
    assert "Kiwi juice" not in wall.text("main")
    # The consoles rightly report that the dashboard was away.
    for each in (browser, wall):
        each.leave()


def test_the_history_says_why_a_kiosk_was_offline_and_who_restocked(
    browser: Browser, kiosk: Kiosk, panel: Client, dashboard: Dashboard
) -> None:
    panel.restock({"id": "r1", "add": {"kiwi": 30}})
    browser.log_in(path="/kiosks/k1/history")

    def shown(text: str) -> bool:
        browser.open("/kiosks/k1/history")
        return text in browser.text()

    eventually(lambda: shown("Kiwi +30"))
    assert "desk" in browser.text()
    kiosk.kill()
    eventually(lambda: shown("Offline"))
    kiosk.start()
    eventually(lambda: shown("its program started again at"))
    assert dashboard.stop() == 0
    dashboard.start()
    browser.open("/history?kind=outages")
    assert "its program started again at" in browser.text() and "Kiwi +30" not in browser.text()


def test_sales_are_compared_and_exported(
    browser: Browser, kiosk: Kiosk, panel: Client, dashboard: Dashboard
) -> None:
    for juice in ("kiwi", "banana", "strawberry"):
        panel.order(juice)
    browser.log_in(path="/kiosks/k1/sales")
    rows = [row.split("\t") for row in browser.texts("#juices tbody tr")]
    assert [row[:2] for row in rows] == [
        ["All", "2"], ["Banana juice", "1"], ["Kiwi juice", "1"], ["Strawberry juice", "0"]]
    assert rows[3][7] == "1"
    link = browser.one("a[href*='.csv']").get_attribute("href")
    viewer = WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"])
    csv = viewer.get(link.removeprefix(dashboard.url(""))).text
    assert csv.startswith("\ufeffday,hour,juice") and len(csv.splitlines()) == 4


def test_users_come_and_go(dashboard: Dashboard, browser: Browser, kiosk: Kiosk) -> None:
    listed = dashboard.command("user", "list").stdout.splitlines()
    assert listed == ["minji operator", "vera viewer"]
    assert json.loads(dashboard.command("user", "list", "--json").stdout) == {"users": [
        {"name": "minji", "role": "operator"}, {"name": "vera", "role": "viewer"}]}
    assert (dashboard.folder / "users").stat().st_mode & 0o777 == 0o600
    assert "strawberries" not in (dashboard.folder / "users").read_text()
    browser.log_in("vera")
    assert dashboard.command("user", "remove", "vera").returncode == 0
    browser.open("/kiosks/k1")
    browser.wait_for("Log in", "h1")
    assert dashboard.command("user", "remove", "vera").returncode == 65
    made = dashboard.command("user", "add", "jun", "--role", "operator", "--generate")
    assert re.fullmatch(r"(\w{4}-){3}\w{4}\n", made.stdout), made.stderr
    assert made.stderr == "jun: added, operator, sees all kiosks\n"
    # A new password changes nothing else.
    for command in ("add", "passwd"):
        reset = dashboard.command("user", command, "jun", stdin=f"long-enough-{command}\n")
        assert reset.returncode == 0 and reset.stdout == ""
        assert reset.stderr == "jun: new password, still operator, sees all kiosks\n"
    changed = dashboard.command("user", "role", "jun", "viewer", "--region", "Seoul")
    assert changed.stderr.splitlines() == [
        "warning: without an archive the region is not checked",
        "jun: viewer instead of operator, sees the region Seoul",
    ]
    assert "jun viewer Seoul" in dashboard.command("user", "list").stdout.splitlines()
    for command in (["passwd", "nobody"], ["role", "nobody", "viewer"]):
        missing = dashboard.command("user", *command, stdin="long-enough\n")
        assert missing.returncode == 65 and "there is no user nobody" in missing.stderr
    assert dashboard.command("user", "add", "jun", stdin="short\n").returncode == 65
    assert dashboard.command("user", "add", "a/b", stdin="long-enough\n").returncode == 64


def test_a_user_who_was_removed_stays_away_after_a_power_cut(
    dashboard: Dashboard, tmp_path: Path
) -> None:
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED, nobody may trace a process here")
    trace = tmp_path / "trace"
    calls = "trace=/^(rename|fsync)"
    tracer = ["strace", "-f", "-y", "-o", trace, "-e", calls]
    removed = dashboard.command("user", "remove", "vera", under=tracer)
    assert removed.returncode == 0, removed.stderr
    # The copy: the new file, its new name, and then the folder that contains the name. Then the same of the file.
    written = re.findall(r"^\d+ +(rename|fsync)\w*\((.*)\) += 0$", trace.read_text(), re.M)
    users = f"{dashboard.folder}/users"
    assert [call for call, _ in written] == ["fsync", "rename", "fsync"] * 2, written
    assert f"<{users}.good.new>" in written[0][1]
    assert f"<{users}.new>" in written[3][1] and f"<{dashboard.folder}>" in written[5][1]


@pytest.mark.parametrize("kind", ["kept", "stripped", "ingress"])
def test_below_the_path_of_a_proxy(
    make_dashboard: MakeDashboard, make_browser: MakeBrowser, kiosk: Kiosk, panel: Client, kind: str
) -> None:
    """Each link, form, redirect, cookie, live update and the service worker stay below the path."""
    is_ingress = kind == "ingress"
    path = "/api/hassio_ingress/token" if is_ingress else "/juice"
    dashboard = make_dashboard(behind_proxy=True, **({} if is_ingress else {"base_path": path}))
    proxy = PathProxy(dashboard.port, path, strips=kind != "kept", is_ingress=is_ingress)
    browser = make_browser(proxy)
    try:
        if is_ingress:
            browser.driver.get(f"http://127.0.0.1:{proxy.port}/")
            browser.driver.switch_to.frame(browser.one("iframe"))
            browser.type("[name=name]", "minji")
            browser.type("[name=password]", PASSWORDS["minji"])
            browser.press("main button")
        else:
            browser.log_in(path="/kiosks/k1?fruit=kiwi")
            assert browser.driver.current_url == proxy.url("/kiosks/k1?fruit=kiwi")
            assert {each["path"] for each in browser.driver.get_cookies()} == {path}
            browser.press(".brand")
        browser.wait_for("k1", "#kiosks")
        browser.press(".kiosk .name")
        browser.wait_for("Online", "#state")
        # The page is live: no other page is loaded.
        assert panel.order("kiwi")["status"] == "ready"
        browser.wait_for("7", "#fruit-kiwi .number b")
        browser.press("[aria-label='One Kiwi more']")
        browser.press("button[value=review]")
        browser.wait_for("Review", "h1")
        browser.press("main .primary")
        browser.wait_for("Done.")
        assert kiosk.stock()["kiwi"] == 8
        browser.press("a[hreflang=ko]")
        browser.wait_for("키오스크")
        browser.press("a[hreflang=en]")
        # A route, whose pages the service worker serves without a network.
        browser.press("a[href$='/routes']")
        browser.press("a[href$='/routes/new']")
        browser.press("form[method=post] button.primary")
        browser.wait_for("Route", "h1")
        browser.wait_for("without a network", "#offline-ready")
        scope = browser.driver.execute_async_script(
            "navigator.serviceWorker.ready.then(each => arguments[0](each.scope))"
        )
        assert scope == proxy.url("/routes")
        browser.press("a[data-stop]")
        browser.press("main form button.primary")
        browser.wait_for("Done", "main")
        browser.press("form[action$='/logout'] button")
        browser.wait_for("Log in", "h1")
        assert proxy.strays == []
    finally:
        browser.driver.get("about:blank")
        proxy.close()
