"""The dashboard of a chain: pages from PostgreSQL, their access control, and the effects of a database that
is not reachable."""

import json
import os
import re
import select
import signal
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Iterator

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeBrowser, MakeClient, MakeDashboard
from dashboard import PASSWORDS, Dashboard
from made_up_chain import disturb, fill, load
from postgres import Postgres
from web_client import Elements, EventStream, WebClient

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
QUOTES = "\"' onmouseover=alert(3) x='"
LISTS = [
    "/chain", "/chain/kiosks", "/chain/rollouts", "/chain/sold-out", "/chain/missing", "/chain/conflicts",
    "/chain/shared-ids", "/chain/clocks", "/chain/quarantine",
    "/chain/over-quota", "/chain/unlisted", "/chain/own-menus", "/chain/sales", "/chain/history",
]
TECHNICAL = [
    "/chain/rollouts", "/chain/missing", "/chain/conflicts", "/chain/shared-ids", "/chain/quarantine",
    "/chain/over-quota", "/chain/unlisted", "/chain/own-menus",
]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """An archive with k0 to k119 in the north and s0 to s129 in the south, of each the first with problems, and
    one kiosk that is not listed."""
    database = Postgres().start()
    load(database, tmp_path_factory.mktemp("chain"), [
        f'k0,North,"{HOSTILE}","{QUOTES.replace(chr(34), chr(34) * 2)}"',
        *[f"k{number},North,Kiosk {number},Street {number}" for number in range(1, 120)],
        *[f"s{number},남쪽,가게 {number},{number}번지" for number in range(130)],
    ])
    fill(database)
    for kiosk in ("k0", "s0"):
        disturb(database, kiosk)
    database.query("""
        INSERT INTO juice.ledger VALUES ('stray', 1, 1, 9), ('gone', 1, 1, 1);
        INSERT INTO juice.former_kiosk VALUES ('gone');
        INSERT INTO juice.sales_day (day, kiosk, juice, glasses, orders, out_of_stock, rejected, failed)
          VALUES (current_date, 'stray', 'kiwi', 2147483647, 1, 0, 0, 0), (current_date, 'gone', 'kiwi', 3, 1, 0, 0, 0);
        INSERT INTO juice.kiosk_menu VALUES ('k4', 0, 'the file is <b>broken</b>', now()), ('stray', 0, NULL, now());
        INSERT INTO juice.over_quota (kiosk, quota, until, refused) VALUES
          ('k5', 'days', now() + interval '1 day', 77), ('k6', 'days', now() - interval '1 s', 7)
        """)
    database.query("""
        INSERT INTO juice.quarantine (digest, topic, payload, reason, times)
          SELECT md5(topic)::uuid, topic, '', 'its <b>time</b> is missing', 3
          FROM unnest('{kiosk/k3/events,kiosk/s3/menu/reported,nowhere/at/all}'::text[]) topic;
        INSERT INTO juice.rollout (version, menu, region, state, first, per_minute, max_failed, timeout)
          VALUES (1, '', NULL, 'stopped', 1, 60, 5, 300);
        INSERT INTO juice.rollout_kiosk (version, kiosk, position, sent, status, detail) VALUES
          (1, 'k1', 1, now(), 'taken', NULL), (1, 's1', 2, now(), 'refused', 'no <i>kiwi</i>'),
          (1, 'k2', 3, now() - interval '1 hour', NULL, NULL), (1, 's2', 4, now(), NULL, NULL), (1, 's4', 5, NULL, NULL, NULL)
        """)
    yield database
    database.close()


@pytest.fixture
def dashboard(make_dashboard: MakeDashboard, archive: Postgres) -> Dashboard:
    if not archive.process:
        archive.start()
    # The dashboard with its own users; nora sees only the north.
    dashboard = make_dashboard(archive={"database": archive.database, "timeout_seconds": 60})
    dashboard.add_user("nora", "operator", "--region", "North")
    # The technical pages are for administrators.
    dashboard.command("user", "role", "vera", "admin")
    return dashboard


@pytest.fixture
def viewer(dashboard: Dashboard) -> Iterator[WebClient]:
    web_client = WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"])
    yield web_client
    web_client.close()


@pytest.fixture
def north(dashboard: Dashboard) -> Iterator[WebClient]:
    web_client = WebClient(dashboard.port).log_in("nora", PASSWORDS["nora"])
    yield web_client
    web_client.close()


def text(web_client: WebClient, path: str) -> str:
    """Returns the text of a page on one line, with a space after each cell."""
    answer = web_client.get(path)
    assert answer.status == 200, answer.text
    return " ".join(Elements(re.sub("(</t[hd]>|<dd>)", r"\1 ", answer.text)).text.split())


def test_the_record_of_food_safety_of_any_kiosk(
    viewer: WebClient, north: WebClient, archive: Postgres
) -> None:
    day = datetime.now(timezone.utc).date() - timedelta(days=20)
    before, after, end = (day + timedelta(days=days) for days in (-1, 1, 5))
    archive.query("""
        INSERT INTO juice.event (kiosk, epoch, seq, at, status, source, changes, more) VALUES
          ('k7', 9, 1, '{DAY}T11:00:05Z', 'sensor_hour', NULL, NULL, '{"sensor": "fridge", "unit": "°C",
            "max": 7.0, "hour": "{DAY}T10:00:00Z", "low": 3.5, "high": 8.25, "outside": 600, "measured": 3600}'),
          -- The kiosk was off for a night.
          ('k7', 9, 2, '{AFTER}T07:00:00Z', 'sensor_hour', NULL, NULL, '{"sensor": "fridge", "unit": "°C",
            "max": 7.0, "hour": "{DAY}T23:00:00Z", "low": 2.5, "high": 4, "outside": 0, "measured": 1800}'),
          ('k7', 9, 3, '{DAY}T11:30:00Z', 'sensor_discard', 'job/anna', '{"kiwi": -4}', '{"sensor": "fridge",
            "value": 9.5, "unit": "°C", "fruits": ["kiwi"], "word": "<warm>"}'),
          ('k7', 9, 4, '{DAY}T12:30:00Z', 'program_done', NULL, NULL, '{"program": "clean"}'),
          ('k7', 9, 5, '{DAY}T13:30:00Z', 'sensor_hour', NULL, NULL, '{"hour": 7}'),
          ('k7', 9, 6, '{DAY}T14:30:00Z', 'captured', NULL, NULL, '{}');
        UPDATE juice.event SET machine = 'bar', job = 7, source = 'machine/bar' WHERE kiosk = 'k7' AND seq = 4
        """.replace("{DAY}", str(day)).replace("{AFTER}", str(after)))
    assert "/chain/kiosks/k7/safety" in viewer.get("/chain/kiosks/k7").text
    page = text(north, f"/chain/kiosks/k7/safety?from={before}")
    assert f"Food safety of Kiosk 7 {before} – {end}" in page
    assert "fridge limit: at most 7 °C" in page and "2.50 8.25 10 1350" in page
    assert "anna fridge: discarded · 9.5 °C · kiwi · <warm>" in page and "bar: Clean" in page
    assert "Taken out or discarded: kiwi 4" in page and "has not sent" not in page
    history = text(viewer, "/chain/kiosks/k7/history?days=90&kind=safety")
    assert "fridge: discarded" in history and "bar: Clean" in history and "<warm>" in history
    assert "fridge: discarded" in text(viewer, "/chain/kiosks/k7/history?days=90")
    assert "fridge: discarded" not in text(viewer, "/chain/kiosks/k7/history?days=90&kind=machines")
    lines = viewer.get(f"/chain/kiosks/k7/safety.csv?from={before}").text.split("\r\n")
    assert lines[1] == f"{day},,readings,fridge,°C,2.5,8.25,10,90,,,,"
    assert [line.split(",")[10] for line in lines[2:-1]] == ["sensor_discard", "program_done"]
    assert "fridge" not in text(viewer, f"/chain/kiosks/k7/safety?from={end + timedelta(days=1)}")
    assert north.get("/chain/kiosks/s7/safety").status == 404
    assert north.get("/chain/kiosks/s7/safety.csv").status == 404


def test_the_record_of_food_safety_says_which_days_the_archive_may_lack(viewer: WebClient, archive: Postgres) -> None:
    """k20 has sent everything, k21 sends nothing since four days, the days of k22 are deleted, k23 and k24 have a
    gap, the first ledger of k25 does not begin with entry 1."""
    today = datetime.now(timezone.utc).date()

    def lacking(kiosk: str) -> list[str]:
        page = text(viewer, f"/chain/kiosks/{kiosk}/safety")
        days = re.findall(r"Not whole: ([^.]*)\.", page)
        assert f"Taken out or discarded: {'unknown' if days else 'nothing'} " in page
        lines = viewer.get(f"/chain/kiosks/{kiosk}/safety.csv").text.split("\r\n")
        assert len(lines) - 2 == (len(days[0].split(", ")) if days else 0)
        return days[0].split(", ") if days else []

    def days(*ages: int) -> list[str]:
        return [f"{day:%b} {day.day}" for day in (today - timedelta(days=age) for age in ages)]

    noon = f"timestamptz '{today} 12:00Z' - interval"
    try:
        archive.query(f"""
            UPDATE juice.ledger SET latest = {noon} '4 days' WHERE kiosk IN ('k21', 'k26');
            INSERT INTO juice.closed_day VALUES ('k22', '{today - timedelta(days=5)}');
            INSERT INTO juice.event (kiosk, epoch, seq, at, status) VALUES
              ('k23', 7, 1, {noon} '5 days', 'open'), ('k23', 7, 9, {noon} '3 days', 'open'),
              ('k24', 7, 9, {noon} '3 days', 'open');
            INSERT INTO juice.gap VALUES ('k23', 7, 2, 8, now(), now()), ('k24', 7, 10, 20, now(), now());
            INSERT INTO juice.ledger (kiosk, epoch, low, high, first, began, latest)
              VALUES ('k24', 8, 1, 1, 1, {noon} '2 days', now());
            UPDATE juice.ledger SET low = 5, first = 5, began = {noon} '4 days' WHERE kiosk = 'k25'""")
        expected = {"k20": (), "k21": (4, 3, 2, 1, 0), "k22": (5,), "k23": (5, 4, 3), "k24": (3, 2), "k25": (6, 5, 4)}
        assert {kiosk: lacking(kiosk) for kiosk in expected} == {
            kiosk: days(*ages) for kiosk, ages in expected.items()}
        # A kiosk that is online and has nothing to report lacks nothing.
        archive.query("UPDATE juice.reception SET is_connected = true, checked = now(), since = now() - interval '2 hours'")
        assert lacking("k26") == []
        archive.query("UPDATE juice.presence SET since = now() WHERE kiosk = 'k26'")
        assert lacking("k26") == days(4, 3, 2, 1, 0)
    finally:
        archive.query("""
            DELETE FROM juice.closed_day; DELETE FROM juice.event WHERE kiosk IN ('k23', 'k24');
            DELETE FROM juice.gap WHERE kiosk IN ('k23', 'k24'); DELETE FROM juice.ledger WHERE kiosk = 'k24' AND epoch = 8;
            UPDATE juice.ledger SET low = 1, first = 1, began = now() - interval '20 minutes', latest = now()
              WHERE kiosk IN ('k21', 'k25', 'k26');
            UPDATE juice.presence SET since = now() - interval '3 hours' WHERE kiosk = 'k26';
            UPDATE juice.reception SET is_connected = false""")


def test_regions_and_their_kiosks_are_compared(viewer: WebClient) -> None:
    page = text(viewer, "/chain")
    # 7 days, 7 juices: two glasses this week and one the week before.
    assert "North 120 3 40 €280.00 11760 +100% €41,160.00 +100% 5880 −50%" in page
    assert "남쪽 130 2 40 €280.00 12740 +100%" in page and "no region 1 0 3 0 0" in page
    assert ("Kiosks 251 Made today 83 Offline 5 Sold out 25 Gaps 2 Conflicts 2 Shared ids 2 Clocks 2 Quarantine 3"
            " Over quota 1 Not listed 1 Own menus 1" in page)
    assert "The archive receives nothing" in page
    page = text(viewer, "/chain/unlisted")
    assert "1 in all" in page and "stray" in page and "gone" not in page
    assert "Kiosk 5 k5 Street 5 North different days in an hour 77" in text(viewer, "/chain/over-quota")
    assert "Kiosk 4 k4 Street 4 North the file is <b>broken</b>" in text(viewer, "/chain/own-menus")
    assert viewer.get("/chain/kiosks/stray").status == 404
    # Nothing was sold before, so there is no comparison.
    assert "North 120 3 40 €280.00 17640 €61,740.00 17640 남쪽" in text(viewer, "/chain?days=28")
    page = text(viewer, "/chain/kiosks?q=%EA%B0%80%EA%B2%8C%207")
    assert "11 kiosks" in page and "가게 7 s7 7번지 남쪽 online 0 98 +100% €343.00 +100% 49 −50%" in page
    assert "가게 0 s0 0번지 남쪽 online 40 €280.00 98 +100%" in text(viewer, "/chain/kiosks?q=s0")
    page = text(viewer, "/chain/kiosks/s0")
    assert "All 40 €280.00 98 +100% €343.00 +100% 49 −50%" in page and "kiwi 40 14 +100%" in page


def test_pages_say_how_far_the_sums_are(viewer: WebClient, archive: Postgres) -> None:
    def sales(first: int, last: int) -> str:
        today = datetime.now(timezone.utc).date()
        return f"/chain/sales?from={today - timedelta(days=first)}&to={today - timedelta(days=last)}"

    pages = ("/chain", "/chain/kiosks", "/chain/kiosks/k1", sales(6, 0))
    try:
        archive.query("UPDATE juice.reception SET received = now()")
        archive.query("INSERT INTO juice.dirty_day (kiosk, day, since, due)"
                      " VALUES ('k1', current_date, '2026-03-04 05:06Z', '2026-03-04 05:06Z')")
        for path in pages:
            assert "Summed up to Mar 4 " in (page := text(viewer, path)) and "cannot be computed" not in page
        assert "Not all sales from after 2026-03-03 are here, so nothing is compared" in page
        archive.query("UPDATE juice.dirty_day SET error = 'too long'")
        for path in pages:
            assert "The sums of 1 days of kiosks cannot be computed" in (page := text(viewer, path))
            assert "Summed up to " in page and "Summed up to Mar 4 " not in page
        # The archive receives nothing, so today's sales may be missing, but not earlier ones.
        assert "The archive receives nothing" in page and "so nothing is compared" in page
        assert "compared with" in text(viewer, sales(7, 1))
    finally:
        archive.query("DELETE FROM juice.dirty_day")


def test_no_kiosk_changes_the_sums_of_others(viewer: WebClient, archive: Postgres) -> None:
    """k119 has taken each possible currency, and sold thousands of juices."""
    today = datetime.now(timezone.utc).date()
    path = f"/chain/sales?from={today - timedelta(days=7)}&to={today - timedelta(days=1)}"
    try:
        archive.query("""
            INSERT INTO juice.takings_day SELECT current_date - 1, 'k119', chr(a) || chr(b) || chr(c), 900000
              FROM generate_series(65, 90) a, generate_series(65, 90) b, generate_series(65, 90) c ON CONFLICT DO NOTHING;
            INSERT INTO juice.sales_day (day, kiosk, juice, glasses, orders, out_of_stock, rejected, failed)
              SELECT current_date - 1, 'k119', 'a' || number, 0, 1, 0, 0, 0 FROM generate_series(1, 3000) number""")
        page = text(viewer, "/chain")
        assert "€41,160.00 +100%" in page and "€44,590.00 +100%" in page
        for page in (page, text(viewer, "/chain/kiosks/k119")):
            assert "900,000.00" in page and "ZZZ" not in page
        page = text(viewer, path)
        assert "All 24500 +100% (12250) " in page and "€85,750.00 +100% (" in page and "(€42,875.00) " in page
        assert "kiwi 3500 +100% (1750)" in page
    finally:
        archive.query("""
            DELETE FROM juice.takings_day WHERE currency <> 'EUR'; DELETE FROM juice.sales_day WHERE juice ~ '^a[0-9]+$'""")


def test_hours_are_compared_only_if_their_entries_are_there(viewer: WebClient, archive: Postgres) -> None:
    path = "/chain/sales?kiosk=k0"
    try:
        assert "By hour of the day" in text(viewer, path)
        # The hour of such an entry is unknown.
        archive.query("INSERT INTO juice.misdated SELECT 'k0', 7, seq, now() FROM generate_series(1, 20) seq")
        assert "By hour of the day" not in text(viewer, path)
        archive.query("DELETE FROM juice.misdated; INSERT INTO juice.closed_day VALUES ('k0', current_date - 50)")
        assert "By hour of the day" not in text(viewer, path)
        archive.query("UPDATE juice.closed_day SET day = current_date - 60")
        assert "By hour of the day" in text(viewer, path)
    finally:
        archive.query("DELETE FROM juice.misdated; DELETE FROM juice.closed_day")


def test_sales_of_no_kiosk_and_of_no_day(viewer: WebClient, north: WebClient) -> None:
    for path in ("/chain/sales", "/chain/sales.csv"):
        assert viewer.get(f"{path}?kiosk=nowhere").status == north.get(f"{path}?kiosk=s1").status == 404
        assert north.get(f"{path}?kiosk=k1").status == 200
    assert "1970-01-01" not in text(viewer, "/chain/sales?from=2020-01-01&to=2020-01-07")
    reversed_days = "from=2020-01-07&to=2020-01-01"
    assert "The first day is after the last one" in text(viewer, f"/chain/sales?{reversed_days}")
    for file in ("csv", "xlsx"):
        answer = viewer.get(f"/chain/sales.{file}?{reversed_days}")
        assert answer.status == 400 and "The first day is after the last one" in answer.text


def test_a_sum_that_is_too_large_is_shown_as_unknown(viewer: WebClient, archive: Postgres) -> None:
    path = "/chain/sales?from=2026-03-04&to=2026-03-04"
    try:
        archive.query("""
            INSERT INTO juice.takings_day SELECT '2026-03-04', 'k1', currency, amount
              FROM (VALUES ('CHF', 7.00), ('USD', 1e18)) sold (currency, amount);
            INSERT INTO juice.charge_day (day, kiosk, charge, at, device, currency, asked, sold, held, captured, released,
                refunded, cash, written_off)
              VALUES ('2026-03-04', 'k1', 1, '2026-03-04', 'till', 'USD', 0, 1e18, 0, 5, 0, 0, 0, 0)""")
        page = text(viewer, path)
        assert "7.00 CHF– (0.00 CHF) 0" in page
        assert "USD – $5.00 $0.00 – $0.00" in page
    finally:
        archive.query("DELETE FROM juice.takings_day WHERE currency <> 'EUR'; DELETE FROM juice.charge_day")


def test_each_quota_has_its_name(viewer: WebClient, archive: Postgres) -> None:
    try:
        for quota, name in (
            ("entries", "entries in an hour"),
            ("bytes", "bytes in an hour"),
            ("ledgers", "ledgers"),
            ("gaps", "gaps"),
        ):
            archive.query(f"UPDATE juice.over_quota SET quota = '{quota}' WHERE kiosk = 'k5'")
            assert f"Street 5 North {name} 77" in text(viewer, "/chain/over-quota")
    finally:
        archive.query("UPDATE juice.over_quota SET quota = 'days' WHERE kiosk = 'k5'")


def test_the_page_of_a_kiosk_says_how_many_gaps_it_does_not_show(viewer: WebClient, archive: Postgres) -> None:
    try:
        for count in (100, 150):
            archive.query(f"""
                INSERT INTO juice.gap SELECT 'k31', 7, 2 * seq, 2 * seq, now(), now()
                FROM generate_series(1, {count}) seq ON CONFLICT DO NOTHING""")
            page = text(viewer, "/chain/kiosks/k31")
            assert "Gaps" in page and ("The first 100 of 150" in page) == (count == 150)
    finally:
        archive.query("DELETE FROM juice.gap WHERE kiosk = 'k31'")


def test_menus_and_unreadable_messages_are_shown(viewer: WebClient, north: WebClient) -> None:
    page = text(viewer, "/chain/rollouts")
    assert re.search(r"1 stopped: too many failed \S+ .*1 1 1 1 1 Where", page.replace(" , ", " ")), page
    assert "Kiosk 2 k2 Street 2 North silent" in page and "가게 1 s1 1번지 남쪽 no <i>kiwi</i>" in page
    page = text(viewer, "/chain/quarantine")
    assert "3 in all" in page and "nowhere/at/all: its <b>time</b> is missing 3" in page
    assert "가게 3 s3 3번지 남쪽 kiosk/s3/menu/reported: its" in page
    assert "kiosk/k3/events: its" in text(viewer, "/chain/kiosks/k3")
    assert "kiosk/k3/events: its" not in text(north, "/chain/kiosks/k3")


def test_a_history_that_is_cut_says_so_though_its_kiosk_is_offline(
    viewer: WebClient, archive: Postgres, make_client: MakeClient
) -> None:
    make_client().publish("kiosk/k30/status", "offline", retain=True)
    eventually(lambda: viewer.get("/kiosks/k30").status == 200)
    try:
        archive.query("""
            UPDATE juice.presence SET is_online = false, since = now() WHERE kiosk = 'k30';
            INSERT INTO juice.event (kiosk, epoch, seq, at, status, source, changes)
              SELECT 'k30', 7, seq, now() - interval '1 day', 'restocked', 'restock/van', '{"kiwi": 1}'
              FROM generate_series(1, 5000) seq""")
        assert "There is more than this page reads" in text(viewer, "/chain/kiosks/k30/history?days=90")
        archive.query("DELETE FROM juice.event WHERE kiosk = 'k30' AND seq > 10")
        assert "There is more" not in text(viewer, "/chain/kiosks/k30/history?days=90")
    finally:
        archive.query("""
            UPDATE juice.presence SET is_online = true, since = now() - interval '3 hours' WHERE kiosk = 'k30';
            DELETE FROM juice.event WHERE kiosk = 'k30'""")


def test_a_hundred_are_on_a_page(viewer: WebClient) -> None:
    shown: list[str] = []
    for page in (1, 2, 3):
        answer = viewer.get(f"/chain/kiosks?page={page}")
        shown += sorted(each for each in Elements(answer.text).attributes["id"] if each.startswith("row-"))
        assert len(shown) == min(100 * page, 251)
    assert len(set(shown)) == 251
    assert viewer.get("/chain/kiosks?page=99999999999999999999").status == 200
    assert 'aria-current="page">3<' in viewer.get("/chain/kiosks?page=999").text


def test_what_somebody_has_to_see_to_is_told(viewer: WebClient) -> None:
    page = text(viewer, "/chain/sold-out")
    assert "25 in all" in page and "가게 0 s0 0번지 남쪽 kiwi" in page
    # Just after midnight, two hours ago was yesterday, and the page includes the day.
    assert re.search(r"kiwi (\w+ \d+ )?\S+ 2 h", page)
    assert "11–15" in text(viewer, "/chain/missing")
    assert "가게 0 s0 0번지 남쪽 7 3 1" in text(viewer, "/chain/conflicts")
    assert "가게 0 s0 0번지 남쪽 7, 8" in text(viewer, "/chain/shared-ids")
    # A date and a time of day, as on other pages.
    assert re.search(r"400 days \d{4}-\d\d-\d\d \d\d:\d\d ", text(viewer, "/chain/clocks"))
    page = text(viewer, "/chain/kiosks/k0")
    for word in ("Sold out", "Gaps", "Conflicts", "Shared ids", "Clocks", "kiwi × 2", "7 EUR p1", "as of"):
        assert word in page, word


def test_what_a_kiosk_is_called_is_no_markup(viewer: WebClient) -> None:
    for path in [*LISTS[1:], "/chain/kiosks/k0", "/chain/kiosks?q=%3Cscript%3E", "/chain/kiosks?region=%22%3E%3Cimg"]:
        answer = viewer.get(path)
        page = Elements(answer.text)
        assert "img" not in page.tags or page.attributes.get("onerror") is None, path
        assert not {"onerror", "onmouseover"} & page.attributes.keys(), path
        assert "alert" not in "".join(page.attributes.get("src", [])), path
        assert "<script>alert" not in answer.text, path
    assert HOSTILE in text(viewer, "/chain/kiosks/k0")
    for odd in ("'; DROP TABLE juice.kiosk; --", "%00", "$1", "\\"):
        assert viewer.get(f"/chain/kiosks?q={odd.replace(' ', '%20')}").status == 200
    assert "251 kiosks" in text(viewer, "/chain/kiosks")


def test_no_page_shows_what_is_not_listed_or_fails_at_an_impossible_time(viewer: WebClient, archive: Postgres) -> None:
    times = ["9999-12-30T23:59:59.999Z", "2099-06-01T00:00:00Z", "1970-01-01T00:00:00Z", "0001-01-02T00:00:00Z"]
    for kiosk in ("k9", "stray"):
        for epoch, status in enumerate(("restocked", "closed", "sensor_alarm", "program_done", "failed"), 900):
            archive.query("; ".join(
                "INSERT INTO juice.event (kiosk, epoch, seq, at, status, source, juice, quantity, changes, more)"
                f" VALUES ('{kiosk}', {epoch}, {seq}, '{at}', '{status}', 'restock/{kiosk}-van', 'kiwi', 2147483647,"
                """ '{"kiwi": 7}', '{"sensor": "fridge", "hour": "9999-12-31T23:00:00Z", "program": "clean"}');"""
                f" INSERT INTO juice.misdated VALUES ('{kiosk}', {epoch}, {seq}, now())"
                for seq, at in enumerate(times, 1)))
    try:
        own = [f"/chain/kiosks/k9{page}" for page in ("", "/history", "/history.csv", "/history?days=90", "/safety", "/safety.csv")]
        for path in [*LISTS, *own, "/chain/history?days=90", "/chain/history.csv"]:
            answer = viewer.get(path)
            assert answer.status == 200, path
            assert "stray-van" not in answer.text and "10000-" not in answer.text and "21474" not in answer.text, path
            if "/history" in path:
                # Such an entry counts for the day of its arrival, and does not stay at the top for ever.
                assert "9999-" not in answer.text and "2099-" not in answer.text, path
                assert "k9-van" in answer.text, path
    finally:
        archive.query("DELETE FROM juice.event WHERE epoch >= 900; DELETE FROM juice.misdated")


def test_a_user_of_a_region_sees_nothing_of_another(
    north: WebClient, viewer: WebClient, make_client: MakeClient, archive: Postgres
) -> None:
    client: Client = make_client()
    for kiosk in ("k1", "s1"):
        client.publish(f"kiosk/{kiosk}/status", "online", retain=True)
    # Both have sent events, so the archive contains them.
    eventually(lambda: north.get("/kiosks/k1").status == 200)
    for path in {*LISTS, "/chain/history.csv"} - set(TECHNICAL):
        for query in ("", "?page=2", "?region=%EB%82%A8%EC%AA%BD", "?q=s1", "?q=%EA%B0%80%EA%B2%8C", "?region="):
            page = text(north, path + query)
            assert "가게" not in page and "s0" not in page and "s1" not in page, path + query
            assert "stray" not in page and "no region" not in page.replace("Region: no region", ""), path + query
            if "region=" not in query:
                assert "남쪽" not in page, path + query
    assert "North 120 3" in text(north, "/chain") and "Made today 40" in text(north, "/chain")
    assert {north.get(path).status for path in TECHNICAL} == {403}
    # The list of what is urgent has only the kiosks of the region, and the tabs only what is about kiosks.
    eventually(lambda: 'id="row-k1"' in north.get("/").text)
    assert 'id="row-s1"' not in north.get("/").text and 'id="row-s1"' in viewer.get("/").text
    updates = EventStream(north, "/live")
    updates.read_until(b'id="row-k1"')
    assert b"row-s1" not in updates.received
    updates.close()
    tabs = text(north, "/chain")
    assert "Sold out" in tabs and "Quarantine" not in tabs and "Quarantine" in text(viewer, "/chain")
    for path in (
        "/chain/kiosks/s0", "/chain/kiosks/stray", "/kiosks/s1", "/kiosks/s1/live", "/kiosks/s1/panel",
        "/kiosks/s1/display", "/chain/kiosks/s0?region=North", "//kiosks/s1",
        "/kiosks/%731", "/Kiosks/s1",
    ):
        assert north.get(path).status == 404, path
    csrf_token = north.get("/kiosks/k1").csrf_token
    for path in ("/kiosks/s1/restock", "/kiosks/s1/service", "/kiosks/s1/job", "/kiosks/s1/panel"):
        assert north.post(path, csrf_token=csrf_token, id="r1", service="closed").status == 404, path
    # A kiosk's own region precedes that of the list, also while the database is away.
    info = {"version": "1", "protocol": 1, "started_at": "2026-11-21T09:00:00Z"}
    client.publish("kiosk/s1/info", json.dumps(info | {"region": "North"}), retain=True)
    eventually(lambda: north.get("/kiosks/s1").status == 200)
    client.publish("kiosk/s1/info", json.dumps(info | {"region": "East"}), retain=True)
    eventually(lambda: north.get("/kiosks/s1").status == 404)
    # A kiosk that moves to another region is hidden at once.
    archive.query("UPDATE juice.kiosk SET region = '남쪽' WHERE kiosk = 'k1'")
    assert {north.get(path).status for path in ("/kiosks/k1", "/chain/kiosks/k1")} == {404}
    archive.query("UPDATE juice.kiosk SET region = 'North' WHERE kiosk = 'k1'")


def test_a_mistyped_region_is_named_by_the_command_and_refused_by_the_page(
    dashboard: Dashboard, viewer: WebClient
) -> None:
    # The command does not know the regions that only kiosks publish.
    added = dashboard.command(
        "user", "add", "jin", "--region", "North", "--region", "Nroth", stdin="strawberries and kiwis\n")
    assert added.returncode == 0 and added.stderr.count("warning: ") == 1, added.stderr
    assert "warning: the archive lists no kiosk in the region Nroth; it has: North" in added.stderr
    assert "jin viewer North, Nroth" in dashboard.command("user", "list").stdout
    assert dashboard.command("user", "remove", "jin").returncode == 0
    admin = WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"])
    page = admin.get("/users")
    assert 'value="North"' in page.text
    refused = admin.post(
        "/users", csrf_token=page.csrf_token, do="add", user="jun", role="viewer", **{"region.0": "Nroth"})
    assert "There is no kiosk in the region Nroth" in refused.text
    added = admin.post(
        "/users", csrf_token=page.csrf_token, do="add", user="jun", role="viewer",
        **{"region.0": "North", "region.1": "남쪽"})
    assert "/password/" in added.text
    admin.close()


def test_without_an_archive_a_user_of_regions_sees_their_kiosks(
    make_dashboard: MakeDashboard, make_client: MakeClient
) -> None:
    dashboard, client = make_dashboard(), make_client()
    dashboard.add_user("nora", "viewer", "--region", "North", "--region", "남쪽 2")
    assert "nora viewer North, 남쪽 2" in dashboard.command("user", "list").stdout.splitlines()
    info = {"version": "1", "protocol": 1, "started_at": "2026-11-21T09:00:00Z"}
    for kiosk, region in (("n1", "North"), ("s1", "남쪽 2"), ("e1", "East"), ("x1", None)):
        client.publish(f"kiosk/{kiosk}/info", json.dumps(info | ({"region": region} if region else {})), retain=True)
        client.publish(f"kiosk/{kiosk}/status", "online", retain=True)
    web_client = WebClient(dashboard.port).log_in("nora", PASSWORDS["nora"])
    eventually(lambda: 'id="row-n1"' in (page := web_client.get("/").text) and 'id="row-s1"' in page)
    updates = EventStream(web_client, "/live")
    updates.read_until(b'id="row-s1"')
    for text in (web_client.get("/").text, updates.received.decode()):
        assert 'id="row-e1"' not in text and 'id="row-x1"' not in text
    updates.close()
    assert {web_client.get(f"/kiosks/{kiosk}").status for kiosk in ("n1", "s1")} == {200}
    assert {web_client.get(f"/kiosks/{kiosk}").status for kiosk in ("e1", "x1")} == {404}
    other = WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"])
    assert other.get("/chain").status == 404 and "/chain" not in other.get("/").text


def test_a_database_that_hangs_or_is_gone_holds_up_no_other_page(
    viewer: WebClient, north: WebClient, archive: Postgres, dashboard: Dashboard, make_client: MakeClient
) -> None:
    assert viewer.get("/chain").status == 200
    # Only the archive has the region of this kiosk.
    make_client().publish("kiosk/k1/status", "online", retain=True)
    eventually(lambda: viewer.get("/kiosks/k1").status == 200)
    # All processes of PostgreSQL are stopped: it neither answers queries nor accepts connections.
    children = Path(f"/proc/{archive.process.pid}/task/{archive.process.pid}/children").read_text().split()
    processes = [archive.process.pid, *map(int, children)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    waiting = [WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"]) for _ in range(6)]
    try:
        for each in waiting:
            cookies = "; ".join(f"{name}={value}" for name, value in each.cookies.items())
            each.connection.request("GET", "/chain", headers={"Cookie": cookies})
        # More requests than most machines have threads that serve pages.
        assert viewer.get("/").status == 200
        assert select.select([each.connection.sock for each in waiting], [], [], 0)[0] == []
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
    assert [each.connection.getresponse().status for each in waiting] == [200] * 6
    archive.kill()
    answer = viewer.get("/chain/kiosks")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert "its database is not reachable" in answer.text
    # Only a page of a kiosk whose region is unknown fails.
    assert north.get("/kiosks/k1").status == 503
    assert (page := north.get("/")).status == 200 and 'id="row-k1"' not in page.text
    assert viewer.get("/").status == 200
    # The page of users has no choice of the archive's regions, and a user without one sees all kiosks.
    admin = WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"])
    page = admin.get("/users")
    assert "The archive does not answer" in page.text
    assert 'value="North"' not in page.text.split('id="add"')[1]
    new = {"do": "add", "user": "hana", "role": "driver"}
    refused = admin.post("/users", csrf_token=page.csrf_token, **new)
    assert "nothing was changed" in refused.text and 'value="hana"' in refused.text
    archive.start()
    assert "/password/" not in admin.post(
        "/users", csrf_token=page.csrf_token, **new, **{"region.0": "Nroth"}).text
    assert "/password/" in admin.post(
        "/users", csrf_token=page.csrf_token, **new, **{"region.0": "North"}).text
    admin.close()
    assert viewer.get("/chain").status == 200


@pytest.mark.parametrize("language, is_dark", [("en-US", False), ("ko-KR", True)])
@pytest.mark.parametrize("width", [1366, 360])
def test_the_pages_fit_their_screens(
    make_browser: MakeBrowser, dashboard: Dashboard, width: int, language: str, is_dark: bool
) -> None:
    browser = make_browser(width=width, language=language, is_dark=is_dark).log_in("vera")
    for path in [*LISTS, "/chain/kiosks/k1", "/chain/kiosks/k0"]:
        browser.open(path)
        assert browser.overflow() == 0, path
        browser.photograph(f"chain{path.removeprefix('/chain')}-{width}-{language[:2]}")
