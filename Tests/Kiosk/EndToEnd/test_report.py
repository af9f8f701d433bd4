"""Sales and forecast: published, and printed from the ledger while the kiosk runs."""

import json
import os
import pty
import re
import signal
import subprocess
import unicodedata
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from arrivals import TIMEOUT
from client import BASE, Client
from conftest import MakeKiosk
from kiosk import Kiosk, environment, program
from mosquitto import Mosquitto


def sold(sales: dict) -> tuple:
    """Returns a report without its timestamps."""
    return sales["today"], sales["time_zone"], sales["hours"], sales["days"]


def report(kiosk: Kiosk) -> dict:
    printed = kiosk.command("report", "--json")
    assert (printed.returncode, printed.stderr) == (0, "")
    return json.loads(printed.stdout)


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def test_what_is_published_is_what_report_prints(kiosk: Kiosk, panel: Client) -> None:
    panel.order({"juice": "kiwi", "quantity": 2})
    panel.order("mango_kiwi")
    for juice in ["strawberry", "tea", "{}"]:
        panel.order(juice)
    panel.restock({"add": {"kiwi": 5}})
    since_then = lambda m: m.topic == f"{BASE}/forecast" and m.json["fruits"]["kiwi"]["stock"] == 8
    forecast = panel.messages.first(since_then).json
    sales = [m.json for m in panel.messages if m.topic == f"{BASE}/sales"][-1]
    tally = {
        "made": {"kiwi": 2, "mango_kiwi": 1}, "out_of_stock": {"strawberry": 1}, "rejected": {},
        "unnamed": 1,
    }
    # Midnight may fall between two orders, but a test run is shorter than an hour.
    assert sales["days"] == [{"day": sales["today"], **tally}]
    assert [hour | {"hour": 0} for hour in sales["hours"]] == [{"hour": 0, **tally}]
    assert forecast["fruits"]["mango"] == {"stock": 8}
    printed = report(kiosk)
    assert sold(printed["sales"]) == sold(sales)
    assert printed["forecast"]["fruits"] == forecast["fruits"]


def test_what_a_sensor_blocks_is_decided_and_recorded(
    broker: Mosquitto, make_kiosk: MakeKiosk
) -> None:
    sensor = {
        "name": "fridge", "topic": "zigbee/fridge", "value": "/temperature", "unit": "°C", "max": 7,
        "alarm_after_seconds": 10, "block_after_seconds": 12, "fruits": ["kiwi"],
    }
    kiosk = make_kiosk(kiosk={"time_zone": "Asia/Seoul"}, sensors=[sensor]).start()
    panel = Client(broker.port, "kiosk/#")
    panel.publish("zigbee/fridge", '{"temperature":9.5}')
    panel.messages.first(lambda m: m.topic == f"{BASE}/sensor/fridge" and m.json["state"] == "blocked")
    assert panel.order("kiwi")["reason"] == "blocked"
    kiosk.kill()
    kiosk.start()
    assert panel.order({"id": "m", "juice": "mango_kiwi"})["reason"] == "blocked"
    assert panel.order({"id": "b", "juice": "banana"})["status"] == "ready"
    decided = kiosk.command("sensor", "fridge", "discard", "9.5 °C, the door was open")
    assert (decided.returncode, decided.stderr) == (0, "")
    again = kiosk.command("sensor", "fridge", "discard", "again")
    assert again.returncode == 65
    panel.publish("zigbee/fridge", '{"temperature":4}')
    panel.messages.first(lambda m: m.topic == f"{BASE}/sensor/fridge" and m.json["state"] == "ok")
    printed = kiosk.command("report", "--haccp")
    assert (printed.returncode, printed.stderr) == (0, "")
    lines = printed.stdout.splitlines()
    assert "fridge, °C, limits to 7" in lines
    # The six days before the kiosk are not days without a reading.
    assert any(line.startswith("The ledger begins on ") for line in lines)
    assert not any(line.endswith(" 1440") for line in lines)
    # A line has the local time of the kiosk; the table has the local day and the time in UTC.
    entry = next(entry for entry in kiosk.ledger() if entry.get("changes") == {"kiwi": -10})
    at = datetime.fromisoformat(entry["at"]).astimezone(ZoneInfo("Asia/Seoul"))
    assert (f"{at:%Y-%m-%d %H:%M}  command line  discarded  sensor fridge, 9.5 °C, kiwi, "
            "9.5 °C, the door was open, kiwi -10") in lines
    assert lines[-1] == "Discarded: kiwi 10"
    csv = kiosk.command("report", "--haccp", "--csv").stdout.splitlines()
    assert csv[0].startswith("local_day,time_utc,kind,name,unit,min,max")
    steps = [line.split(",") for line in csv if "sensor_" in line]
    assert [step[10] for step in steps] == [
        "sensor_alarm", "sensor_blocked", "sensor_discard", "sensor_ok"]
    assert steps[2][:2] == [f"{at:%Y-%m-%d}", entry["at"]]
    assert kiosk.command("report", "--haccp", "--from", "2026-13-01").returncode == 64
    assert kiosk.command("ledger", "verify").returncode == 0
    panel.close()


def test_it_is_the_same_after_a_crash(kiosk: Kiosk, panel: Client) -> None:
    panel.order("banana")
    kiosk.kill()
    before = report(kiosk)["sales"]
    since = len(panel.messages)
    kiosk.start()
    again = panel.messages.first(lambda m: m.topic == f"{BASE}/sales", since).json
    assert sold(again) == sold(before)


def test_the_table_stands_straight_in_korean(make_kiosk, panel: Client) -> None:
    kiosk = make_kiosk(kiosk={"language": "ko", "time_zone": "Asia/Seoul"}).start()
    for juice in ["strawberry_banana", "strawberry_banana", "banana", "tea"]:
        panel.order(juice)
    text = kiosk.command("report").stdout
    lines = text.splitlines()
    assert lines[0].startswith(f"{BASE}  2") and lines[0].endswith("  Asia/Seoul")
    # The line of a juice with its counts, and the same for a fruit.
    counted = [line for line in lines if re.search(r"[쥬(].* \d+ +\d+ +\d+$", line)]
    assert [line.split()[0] for line in counted] == ["바나나쥬스", "딸바쥬스", "(not"]
    assert [line.split()[-3:] for line in counted] == [
        ["1", "0", "0"], ["1", "1", "0"], ["0", "0", "1"],
    ]
    assert len({columns(line) for line in counted}) == 1
    stock = [line for line in lines if "unknown: less than an hour" in line]
    assert [line.split()[:2] for line in stock] == [
        ["바나나", "7"], ["파인애플", "10"], ["키위", "10"], ["망고", "10"],
    ]
    assert len({columns(line[: line.index("unknown")]) for line in stock}) == 1
    assert "█" * 40 in text and "\x1b" not in text


def test_colour_is_for_terminals(kiosk: Kiosk, panel: Client) -> None:
    panel.order("banana")
    ours, theirs = pty.openpty()
    shown = subprocess.Popen(
        [program(), "report", "--config", kiosk.config], stdout=theirs, env=environment()
    )
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:  # The other end is closed.
        pass
    os.close(ours)
    assert shown.wait(TIMEOUT) == 0
    assert "\x1b[32m█" in text.decode()


def test_csv(kiosk: Kiosk, panel: Client) -> None:
    for juice in ["kiwi", "strawberry", "tea"]:
        panel.order(juice)
    kiosk.command("close")
    panel.order("kiwi")
    lines = kiosk.command("report", "--csv").stdout.splitlines()
    today = lines[1].split(",")[0]
    assert lines == [
        "day,juice,made,out_of_stock,rejected,sold,currency",
        f"{today},kiwi,1,0,1,,", f"{today},strawberry,0,1,0,,", f"{today},,0,0,1,,",
    ]
    excel = kiosk.command("report", "--csv", "--excel").stdout.splitlines()
    assert [excel[0], *[line for line in excel[1:] if line]] == ["\ufeffsep=,", *lines]
    exported = kiosk.command("ledger", "export", "--format", "csv", "--excel").stdout.splitlines()
    # Excel rounds a number of sixteen digits.
    epoch = json.loads(kiosk.command("ledger", "export").stdout.splitlines()[0])["epoch"]
    last = [line for line in exported if line][-1].split(",")[15]
    assert last == (f'"=""{epoch}"""' if epoch >= 10**15 else str(epoch))
    for command in (["report", "--excel"], ["ledger", "export", "--excel"]):
        assert kiosk.command(*command).returncode == 64


def test_prices(make_kiosk: MakeKiosk, broker: Mosquitto, panel: Client) -> None:
    """Each amount uses the price at the time of the sale; two currencies have two sums."""
    def menu(currency: str, **prices: float) -> dict:
        juices = {juice: {"price": price} for juice, price in prices.items()}
        return {"base": "standard", "currency": currency, "juices": juices}

    kiosk = make_kiosk(menu=menu("EUR", kiwi=3.5, mango=4.2), stock={"initial": 20}).start()
    assert kiosk.command("order", "kiwi").stdout.startswith("Kiwi juice is ready. Enjoy!; 3.50 EUR; ")
    sold = panel.order({"id": "a1", "juice": "kiwi", "quantity": 2})
    assert (sold["amount"], sold["currency"]) == ("7.00", "EUR")
    assert "amount" not in panel.order("banana")
    assert panel.order("mango")["amount"] == "4.20"
    kiosk.configure(broker, {"menu": menu("KRW", kiwi=3500)})
    kiosk.process.send_signal(signal.SIGHUP)
    panel.messages.first(lambda m: m.topic == f"{BASE}/menu" and "KRW" in m.text)
    again = panel.order({"id": "a1", "juice": "kiwi", "quantity": 2})
    assert again == sold | {"duplicate": True}
    assert panel.order("kiwi")["currency"] == "KRW"
    takings = {"EUR": {"kiwi": "10.50", "mango": "4.20"}, "KRW": {"kiwi": "3500"}}
    panel.messages.first(
        lambda m: m.topic == f"{BASE}/sales"
        and [day.get("sold") for day in m.json["days"]] == [takings])
    assert report(kiosk)["sales"]["days"][-1]["sold"] == takings
    text = kiosk.command("report").stdout
    assert "Sold" in text and "14.70 EUR, 3500 KRW" in text
    # Amounts end in the same column.
    ends = {line.index(amount) + len(amount) for line in text.splitlines()
            for amount in ("10.50 EUR", " 4.20 EUR") if " juice " in line and amount in line}
    assert len(ends) == 1
    lines = [line.split(",", 1)[1] for line in kiosk.command("report", "--csv").stdout.splitlines()]
    assert lines[1:] == [
        "banana,1,0,0,,", "kiwi,4,0,0,10.50,EUR", "kiwi,0,0,0,3500,KRW", "mango,1,0,0,4.20,EUR"]
    exported = kiosk.command("ledger", "export", "--format", "csv").stdout.splitlines()
    assert [line.split(",")[13:15] for line in exported[2:]] == [
        ["3.50", "EUR"], ["7.00", "EUR"], ["", ""], ["4.20", "EUR"], ["3500", "KRW"],
    ]
    assert kiosk.command("ledger", "verify").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [["--days", "0"], ["--days", "31"], ["--json", "--csv"]],
)
def test_what_cannot_be_is_refused(make_kiosk, arguments: list[str]) -> None:
    assert make_kiosk().command("report", *arguments).returncode == 64


def test_days_that_are_left_out(kiosk: Kiosk, panel: Client) -> None:
    panel.order("kiwi")
    shown = json.loads(kiosk.command("report", "--json", "--days", "1").stdout)["sales"]
    assert [day["day"] for day in shown["days"]] == [shown["today"]]


def test_without_a_ledger_it_says_so(make_kiosk) -> None:
    refused = make_kiosk().command("report")
    assert refused.returncode == 78 and "ledger" in refused.stderr
