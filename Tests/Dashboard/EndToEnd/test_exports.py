"""Each table of the dashboard as CSV and as a workbook: the same rows, with typed cells."""

import csv
import io
import json
import re
from datetime import datetime
from pathlib import Path

import openpyxl

from arrivals import eventually
from client import Client
from conftest import MakeClient, MakeKiosk
from dashboard import PASSWORDS, Dashboard
from web_client import WebClient

# The columns of numbers in each table; the others are texts, or days and times by their names.
NUMBERS = {
    "hour", "glasses", "orders_out_of_stock", "sold", "min", "max", "minutes_outside", "minutes_measured",
    "now", "expected", "bring", "brought", "counted", "ledger", "missing", "take_out", "stop", "sum",
    "in_a_crate", "crates", "load", "charge", "ticket", "quantity", "amount",
}


def rows(web_client: WebClient, path: str) -> list[dict]:
    """Returns the rows of the workbook, after a comparison with the CSV file."""
    address, _, query = path.partition("?")
    text = web_client.get(f"{address}.csv?{query}")
    workbook = web_client.get(f"{address}.xlsx?{query}")
    assert text.status == workbook.status == 200, (path, workbook.text)
    assert workbook.headers["Content-Disposition"].endswith('.xlsx"')
    header, *lines = csv.reader(io.StringIO(text.text.removeprefix("\ufeff"), newline=""))
    sheet = openpyxl.load_workbook(io.BytesIO(workbook.body)).active
    head, *cells = sheet.iter_rows()
    assert [cell.value for cell in head] == header and head[0].font.bold, path
    assert sheet.freeze_panes == "A2" and sheet.auto_filter.ref, path
    assert len(cells) == len(lines), path
    for line, row in zip(lines, cells):
        for name, field, cell in zip(header, line, row, strict=True):
            where = (path, name, field, cell.value)
            if field == "":
                assert cell.value is None, where
            elif name in NUMBERS:
                assert cell.data_type == "n" and float(field) == cell.value, where
            elif cell.is_date:
                shown = f"{cell.value:%Y-%m-%d}" if name.endswith("day") else f"{cell.value:%Y-%m-%dT%H:%M:%S}"
                assert field.startswith(shown), where
            else:
                assert not name.endswith(("day", "_utc")) or "incomplete" in line, where
                # CSV has an apostrophe before a text that a spreadsheet would execute.
                assert field.removeprefix("'") == cell.value, where
    return [dict(zip(header, (cell.value for cell in row))) for row in cells]


def test_each_table_is_a_workbook(
    make_kiosk: MakeKiosk, make_client: MakeClient, dashboard: Dashboard
) -> None:
    make_kiosk(
        kiosk={"name": "=1+1"},
        payment={"devices": [{"name": "till"}], "pay_seconds": 300},
        menu={"base": "standard", "currency": "EUR", "juices": {"banana": {"price": 3.50}}},
    ).start()
    client = make_client("kiosk/#")
    client.publish("kiosk/k1/payment/till/status", "online", retain=True)
    for juice in ("kiwi", "mango"):
        client.order(juice)
    client.restock({"id": "r1", "add": {"kiwi": 30}})
    pay(client)
    assert dashboard.command("user", "role", "minji", "admin").returncode == 0
    web_client = WebClient(dashboard.port).log_in("minji", PASSWORDS["minji"])
    eventually(lambda: "+30" in web_client.get("/kiosks/k1/history.csv").text)

    sold = rows(web_client, "/kiosks/k1/sales")
    assert sorted((row["juice"], row["glasses"]) for row in sold) == [("banana", 1), ("kiwi", 1), ("mango", 1)]
    assert {type(row["day"]) for row in sold} == {datetime}
    assert [row["sold"] for row in sold if row["juice"] == "banana"] == [3.5]
    eventually(lambda: len(rows(web_client, "/sales")) == 3)
    assert {row["name"] for row in rows(web_client, "/sales")} == {"=1+1"}

    history = rows(web_client, "/kiosks/k1/history")
    assert [row["what"] for row in history if row["kind"] == "restocks"] == ["Kiwi +30"]
    assert len(rows(web_client, "/history?kind=restocks")) == 1
    rows(web_client, "/kiosks/k1/safety")

    charges = rows(web_client, "/kiosks/k1/charges")
    assert [row["status"] for row in charges if row["status"] != "awaiting_payment"] == ["captured", "held"]
    assert {row["last4"] for row in charges if row["status"] != "awaiting_payment"} == {"0034"}
    assert {row["amount"] for row in charges} == {3.5}

    done = rows(web_client, "/users/audit")
    assert {row["user"] for row in done} == {"minji", "desk"}
    assert {row["user"] for row in rows(web_client, "/users/audit?user=MIN")} == {"minji"}
    assert [row["kiosk"] for row in rows(web_client, "/users/audit?kiosk=k1")] == ["k1"]
    assert rows(web_client, "/users/audit?kiosk=k2") == []

    form = web_client.get("/routes/new")
    times = dict(re.findall(r'name="(arrival|until)" value="([^"]+)"', form.text))
    route = web_client.post(
        "/routes", csrf_token=form.csrf_token, margin="20", **times, **{"kiosk.k1": "1"})
    assert route.status == 303, route.text
    assert {row["name"] for row in rows(web_client, f"{route.place}/stops")} == {"=1+1"}
    rows(web_client, f"{route.place}/load")
    web_client.close()


def pay(client: Client) -> None:
    """Orders a juice with a price, and answers as the payment device."""
    client.order("banana")
    charge = client.messages.first(lambda message: message.topic == "kiosk/k1/charge/till").json["charge"]
    for status in ("waiting", "held", "captured"):
        answer = {"charge": charge, "status": status, "amount": 350, "currency": "EUR", "last4": "0034"}
        client.publish("kiosk/k1/paid/till", json.dumps(answer))
    client.messages.first(lambda message: message.topic == "kiosk/k1/events" and '"captured"' in message.text)


def test_a_workbook_that_cannot_be_written_is_an_answer(dashboard: Dashboard, tmp_path: Path) -> None:
    assert dashboard.stop() == 0
    dashboard.start(TMPDIR=str(tmp_path / "none"))
    web_client = WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"])
    answer = web_client.get("/history.xlsx")
    assert answer.status == 503 and f"cannot be written: {tmp_path}/none" in answer.text
    assert web_client.get("/history.csv").status == 200
    web_client.close()


def test_without_the_library_the_answer_says_what_to_install(dashboard: Dashboard, tmp_path: Path) -> None:
    assert dashboard.stop() == 0
    for name in ("libxlsxwriter.so.8", "libxlsxwriter.so.4", "libxlsxwriter.so"):
        (tmp_path / name).write_text("not a library")
    dashboard.start(LD_LIBRARY_PATH=str(tmp_path))
    web_client = WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"])
    answer = web_client.get("/history.xlsx")
    assert answer.status == 501 and "install libxlsxwriter4 or libxlsxwriter8" in answer.text
    assert web_client.get("/history.csv").status == 200
    web_client.close()
