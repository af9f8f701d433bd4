"""Attacks on the dashboard over plain HTTP, without a well-behaved browser."""

import itertools
import json
import re
import resource
import secrets
import selectors
import socket
import time
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Callable, Iterator
from urllib.parse import quote

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeClient, Say, factory
from dashboard import PASSWORDS, Dashboard
from kiosk import Kiosk
from mosquitto import Mosquitto
from web_client import SESSION, Elements, EventStream, WebClient, request

MakeWebClient = Callable[..., WebClient]
Connect = Callable[[int, str], socket.socket]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path_factory.mktemp("attacks") / "broker").start()
    yield broker
    broker.kill()


@contextmanager
def running(folder: Path, broker: Mosquitto) -> Iterator[Dashboard]:
    dashboard = Dashboard(folder, broker, {})
    try:
        yield dashboard.start()
    finally:
        dashboard.kill()


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, broker: Mosquitto) -> Iterator[Dashboard]:
    """A dashboard for all tests that do not change its users."""
    with running(tmp_path_factory.mktemp("dashboard"), broker) as dashboard:
        yield dashboard


@pytest.fixture
def own_dashboard(tmp_path: Path, broker: Mosquitto) -> Iterator[Dashboard]:
    (tmp_path / "own").mkdir()
    with running(tmp_path / "own", broker) as dashboard:
        yield dashboard


@pytest.fixture(scope="module")
def logged_in(dashboard: Dashboard) -> dict[str, str]:
    """A session of each user, created once, because checking a password is slow on purpose."""
    return {
        name: WebClient(dashboard.port).log_in(name, PASSWORDS[name]).session
        for name in ("minji", "vera")
    }


@pytest.fixture
def make_web_client(dashboard: Dashboard, logged_in: dict[str, str]) -> Iterator[MakeWebClient]:
    """Makes clients, either without a session or logged in as a user."""
    def make(name: str | None = None) -> WebClient:
        web_client = WebClient(dashboard.port)
        if name:
            web_client.cookies[SESSION] = logged_in[name]
        return web_client

    yield from factory(make, WebClient.close)


def is_known(web_client: WebClient, kiosk: str = "k1") -> bool:
    return web_client.get(f"/kiosks/{kiosk}").status == 200


TOMORROW = datetime.now() + timedelta(days=1)
# Every form that changes something, with valid values.
FORMS = {
    "/kiosks/k1/review": {"do": "review", "add.kiwi": "1"},
    "/kiosks/k1/restock": {"id": "attack-1", "add.kiwi": "1"},
    "/kiosks/k1/service": {"id": "attack-2", "service": "closed"},
    "/kiosks/k1/panel": {"id": "attack-3", "juice": "kiwi"},
    "/kiosks/k1/job": {"id": "attack-4", "decision": "give_back.1"},
    "/kiosks/k1/charge": {"id": "attack-9", "decision": "refund.1795251600"},
    "/kiosks/k1/sensor": {"id": "attack-10", "decision": "release.fridge", "word.fridge": "x"},
    "/kiosks/k1/program": {"id": "attack-11", "program": "clean.bar"},
    "/kiosks/k1/remove": {"id": "attack-8", "reason": "spoiled", "remove.kiwi": "1"},
    "/routes": {
        "arrival": f"{TOMORROW:%Y-%m-%dT08:00}", "until": f"{TOMORROW + timedelta(days=1):%Y-%m-%dT08:00}",
        "margin": "0", "kiosk.k1": "1"
    },
    "/routes/r1/delete": {},
    "/kiosks/k1/undo": {"undo": "1"},
    "/kiosks/k1/settings": {"id": "attack-6", "replaces": "", "do": "save", "hours": "file", "low.kiwi": "9"},
    "/routes/r1/edit": {"name": "x"},
    "/routes/r1/kiosks/k1/skip": {"skip": "1"},
    "/routes/r1/kiosks/k1/correct": {"id": "attack-7", "brought.kiwi": "1"},
    "/routes/r1/kiosks/k1/remove": {"id": "attack-12", "expired": "kiwi.spoiled", "amount.kiwi": "1"},
    "/kiosks/k1/screens": {"screen": "tablet", "do": "create"},
    "/routes/r1/kiosks/k1": {"id": "attack-5", "brought.kiwi": "1"},
}


@pytest.fixture
def untouched(kiosk: Kiosk) -> Iterator[Kiosk]:
    """A kiosk whose ledger must contain only its first entry in the end."""
    yield kiosk
    assert [entry["status"] for entry in kiosk.ledger()] == ["opened"]


# MARK: Forms


def test_a_form_without_its_csrf_token_does_nothing(
    untouched: Kiosk, make_web_client: MakeWebClient
) -> None:
    operator, other, stranger = make_web_client("minji"), make_web_client("vera"), make_web_client()
    eventually(lambda: is_known(operator))
    own = operator.get("/kiosks/k1").csrf_token
    forged = {
        "none": {}, "empty": {"csrf_token": ""}, "made up": {"csrf_token": secrets.token_urlsafe(32)},
        "another session's": {"csrf_token": other.get("/kiosks/k1").csrf_token},
        "a stranger's": {"csrf_token": stranger.get("/login").csrf_token},
        "cut": {"csrf_token": own[:-1]}, "longer": {"csrf_token": own + "A"},
        "not base64": {"csrf_token": "<script>"},
        "its session itself": {"csrf_token": operator.session},
    }
    for path, fields in FORMS.items():
        for what, csrf_token in forged.items():
            assert operator.post(path, **fields, **csrf_token).status == 403, (path, what)
        # A token in the query is not accepted, and neither is another method.
        assert operator.ask("POST", f"{path}?csrf_token={own}", fields).status == 403, path
        for method in ("GET", "PUT", "DELETE", "PATCH"):
            answer = operator.ask(method, path, fields | {"csrf_token": own})
            assert answer.status in (200, 404, 405), (path, method)
        # A csrf_token without its session.
        stranger.cookies.clear()
        refused = stranger.post(path, **fields, csrf_token=own)
        assert (refused.status, (refused.place or "").split("?")[0]) == (303, "/login"), path


def test_logging_in_and_out_take_a_csrf_token(make_web_client: MakeWebClient) -> None:
    stranger = make_web_client()
    stranger.get("/login")
    for csrf_token in ({}, {"csrf_token": "made-up"}, {"csrf_token": make_web_client("vera").get().csrf_token}):
        refused = stranger.post("/login", name="minji", password=PASSWORDS["minji"], **csrf_token)
        assert refused.status == 403
    operator = make_web_client("minji")
    assert operator.post("/logout").status == 403
    assert "minji" in operator.get().text


def test_a_form_that_is_huge_or_nonsense_is_refused(
    untouched: Kiosk, make_web_client: MakeWebClient
) -> None:
    operator = make_web_client("minji")
    eventually(lambda: is_known(operator))
    csrf_token = operator.get("/kiosks/k1").csrf_token
    for fields in (
        {"id": "x", "add.kiwi": "1" * 100_000}, {"id": "x", "add.kiwi": "9" * 30},
        {"id": "x", "add.kiwi": "-9223372036854775808"}, {"id": "x", "add.kiwi": "one"},
        {"id": "x", "add.<b>": "1"}, {"id": "no id", "add.kiwi": "1"}, {"add.kiwi": "1"},
        {"id": "x"}, {"id": "x", "set.kiwi": "1e3"},
    ):
        assert operator.post("/kiosks/k1/restock", csrf_token=csrf_token, **fields).status in (400, 413)
        operator.close()
    for service in ("", "Closed", "<b>"):
        answer = operator.post("/kiosks/k1/service", csrf_token=csrf_token, id="x", service=service)
        assert answer.status == 400
    for decision in ("", "poured", "poured.", "poured.1e3", "drunk.1", "poured.1.2", "poured.\n1",
                     "poured." + "9" * 30, "<b>.1"):
        answer = operator.post("/kiosks/k1/job", csrf_token=csrf_token, id="x", decision=decision)
        assert answer.status == 400, decision


def test_a_change_of_settings_that_is_nonsense_is_refused(
    untouched: Kiosk, make_web_client: MakeWebClient
) -> None:
    operator = make_web_client("minji")
    eventually(lambda: is_known(operator))
    csrf_token = operator.get("/kiosks/k1").csrf_token
    whole = {"id": "x", "replaces": "", "do": "save", "hours": "file", "was.hours": "file", "low.kiwi": "9"}
    for fields, status, text in (
        ({"id": "no id"}, 400, ""), ({"id": ""}, 400, ""), ({"kiosk.<b>": "1"}, 400, ""),
        # A kiosk that the page does not offer, such as one of another region.
        ({"kiosk.nowhere": "1"}, 400, ""), ({"kiosk.k1": "1"}, 400, ""),
        ({"low.kiwi": "-1"}, 200, "write whole numbers"), ({"low.kiwi": "9" * 30}, 200, "write whole numbers"),
        ({"low.kiwi": "101"}, 200, "above its capacity"), ({"low.kiwi": "1e3"}, 200, "write whole numbers"),
        ({"price.kiwi": "x", "currency": "EUR"}, 200, "is not an amount"), ({"price.kiwi": "3"}, 200, "currency"),
        ({"hours": "own"}, 200, "at least one day"), ({"hours": "own", "from.mon": "7", "to.mon": "8"}, 200, "both times"),
        ({"hours": "own", "from.mon": "07:00", "to.mon": ""}, 200, "both times"),
        ({"replaces": "s9"}, 200, "Nothing was changed"),
        ({"low.kiwi": "5", "was.low.kiwi": "5"}, 200, "nothing to change"),
    ):
        answer = operator.post("/kiosks/k1/settings", csrf_token=csrf_token, **(whole | fields))
        assert answer.status == status and text in answer.text, fields
    assert not (untouched.folder / "ledger.sqlite.settings").exists()


def test_a_viewer_changes_nothing(untouched: Kiosk, make_web_client: MakeWebClient) -> None:
    viewer, operator = make_web_client("vera"), make_web_client("minji")
    eventually(lambda: is_known(viewer))
    # A valid csrf_token of the user's own session: only the role is missing.
    csrf_token = viewer.get("/kiosks/k1").csrf_token
    for path, fields in FORMS.items():
        assert viewer.post(path, csrf_token=csrf_token, **fields).status == 403, path
    page = viewer.get("/kiosks/k1").text
    assert not any(f'action="{path}"' in page for path in FORMS)
    for path in ("/kiosks/k1/review", "/kiosks/k1/service"):
        assert f'action="{path}"' in operator.get("/kiosks/k1").text


def test_who_restocks_is_who_is_logged_in(kiosk: Kiosk, make_web_client: MakeWebClient) -> None:
    operator = make_web_client("minji")
    eventually(lambda: is_known(operator))
    done = operator.post(
        "/kiosks/k1/restock", csrf_token=operator.get("/kiosks/k1").csrf_token, id="r1",
        source="restock/boss", user="boss", name="boss", **{"add.kiwi": "1"},
    )
    assert done.status == 200
    assert [entry.get("source") for entry in kiosk.ledger()] == [None, "restock/minji"]


# MARK: Users

USER_FORMS = [
    ("/users", {"do": "add", "user": "eve", "role": "admin"}),
    ("/users", {"do": "role", "user": "vera", "role": "admin"}),
    ("/users", {"do": "reset", "user": "vera"}),
    ("/users", {"do": "remove", "user": "vera"}),
    ("/users", {"do": "end", "session": "x"}),
    ("/account/password", {"password": PASSWORDS["nora"], "new": "in-the-south", "again": "in-the-south"}),
    ("/account/sessions", {"session": "x"}),
]


@pytest.fixture
def users_dashboard(own_dashboard: Dashboard) -> Dashboard:
    """Has the administrator nora, too."""
    own_dashboard.add_user("nora", "admin")
    return own_dashboard


def test_users_change_by_forms_of_administrators_only(users_dashboard: Dashboard) -> None:
    folder = users_dashboard.folder
    admin, viewer, operator, stranger = (WebClient(users_dashboard.port) for _ in range(4))
    for client, name in ((admin, "nora"), (viewer, "vera"), (operator, "minji")):
        client.log_in(name, PASSWORDS[name])
    stranger.get("/login")
    before = (folder / "users").read_bytes()
    own = admin.get("/users").csrf_token
    for path, fields in USER_FORMS:
        for csrf_token in ({}, {"csrf_token": ""}, {"csrf_token": own[:-1]},
                           {"csrf_token": viewer.get("/account").csrf_token}):
            assert admin.post(path, **fields, **csrf_token).status == 403, (path, csrf_token)
        assert admin.ask("POST", f"{path}?csrf_token={own}", fields).status == 403
        for client in (viewer, operator):
            if path == "/users":
                token = client.get("/account").csrf_token
                assert client.post(path, csrf_token=token, **fields).status == 403, path
        token = stranger.get("/login").csrf_token
        answer = stranger.post(path, csrf_token=token, **fields)
        assert answer.status == 303 and answer.place.startswith("/login")
        assert (folder / "users").read_bytes() == before
    for client in (viewer, operator):
        for path in ("/users", "/users/audit"):
            assert client.get(path).status == 403
    # The same forms of an administrator are accepted.
    assert admin.post("/users", csrf_token=own, **USER_FORMS[0][1]).status == 200
    assert b"\neve admin " in b"\n" + (folder / "users").read_bytes()
    for fields in ({"do": "add", "user": "x" * 70_000, "role": "viewer"}, {"do": "add", "user": "x"},
                   {"do": "<b>", "user": "x"}, {"do": "role", "user": "vera", "role": "root"}):
        assert admin.post("/users", csrf_token=own, **fields).status in (400, 413), fields["do"]
        admin.close()


def test_a_password_link_is_good_once_and_for_nothing_else(users_dashboard: Dashboard) -> None:
    admin = WebClient(users_dashboard.port).log_in("nora", PASSWORDS["nora"])
    form = {"csrf_token": admin.get("/users").csrf_token, "do": "reset", "user": "vera"}
    page = admin.ask("POST", "/users", form, Origin="http://127.0.0.1").text
    link = re.search(r'value="http://127\.0\.0\.1(?::\d+)?(/password/[\w-]{43})"', page)[1]
    stored = (users_dashboard.folder / "state/password-links.json").read_text()
    assert link.split("/")[-1] not in stored
    # With a session that a thief knows.
    thief, victim = WebClient(users_dashboard.port), WebClient(users_dashboard.port)
    chosen = secrets.token_urlsafe(32)
    thief.cookies[SESSION] = victim.cookies[SESSION] = chosen
    new = {"new": "only-reading", "again": "only-reading"}
    assert thief.post(link, **new).status == 403
    assert "vera" not in thief.get("/").text
    done = victim.post(link, csrf_token=victim.get(link).csrf_token, **new)
    assert (done.status, done.place) == (303, "/")
    assert victim.session != chosen and "vera" in victim.get().text
    assert "vera" not in thief.get().text
    for place in (link, link[:-1], link + "A", "/password/", "/password/" + "A" * 43):
        assert thief.get(place).status in (404, 410)
        token = thief.get("/login").csrf_token
        assert thief.post(place, csrf_token=token, **new).status in (404, 410)
    assert WebClient(users_dashboard.port).try_password("vera", PASSWORDS["vera"]).status == 401
    WebClient(users_dashboard.port).log_in("vera", "only-reading")


def test_what_a_user_sends_is_text(users_dashboard: Dashboard) -> None:
    admin = WebClient(users_dashboard.port).log_in("nora", PASSWORDS["nora"])
    for evil in EVIL:
        visible = "".join(evil.split("\n"))
        if visible.isascii():
            # The name of the browser, which the list of sessions shows.
            WebClient(users_dashboard.port).try_password(
                "vera", PASSWORDS["vera"], **{"User-Agent": visible})
        said = quote(evil, safe="")
        for path in (
            f"/users?user={said}&role={said}&region={said}", f"/users/audit?days={said}&page={said}",
            f"/history?kind={said}&days={said}", f"/kiosks/k1/sales?from={said}&to={said}",
            f"/password/{said}", f"/account?{said}",
        ):
            answer = admin.get(path)
            check_headers(answer)
            check_page(answer.text)
        token = admin.get("/users").csrf_token
        for fields in ({"user": evil}, {"user": "vera", "do": "reset"}, {"user": "vera", "region": evil}):
            form = {"csrf_token": token, "do": "add", "role": "viewer"} | fields
            answer = admin.ask(
                "POST", "/users", form, **({"Origin": f"https://{visible}"} if visible.isascii() else {}))
            check_page(answer.text)


# MARK: Sessions


def test_a_session_that_somebody_else_has_chosen_is_nobodys(make_web_client: MakeWebClient) -> None:
    other = make_web_client().log_in("vera", PASSWORDS["vera"]).session
    for chosen in (secrets.token_urlsafe(32), "x" * 5000, other):
        victim, thief = make_web_client(), make_web_client()
        victim.cookies[SESSION] = thief.cookies[SESSION] = chosen
        before = thief.get().text
        victim.log_in("minji", PASSWORDS["minji"])
        assert victim.session != chosen and "minji" in victim.get().text
        assert "minji" not in before and "minji" not in thief.get().text


def test_a_session_ends_when_its_user_says_so(own_dashboard: Dashboard) -> None:
    operator = WebClient(own_dashboard.port).log_in("minji", PASSWORDS["minji"])
    thief = WebClient(own_dashboard.port)
    thief.cookies[SESSION] = operator.session
    assert "minji" in thief.get().text
    assert operator.post("/logout", csrf_token=operator.get().csrf_token).status == 303
    assert "minji" not in thief.get().text
    # A removed user is logged out at once.
    operator.log_in("minji", PASSWORDS["minji"])
    assert "minji" in operator.get().text
    assert own_dashboard.command("user", "remove", "minji").returncode == 0
    assert "minji" not in operator.get().text


def test_a_cookie_is_kept_from_scripts_and_other_sites(make_web_client: MakeWebClient) -> None:
    stranger = make_web_client()
    answers = [stranger.get("/login"), stranger.try_password("vera", PASSWORDS["vera"])]
    for cookie in [cookie for answer in answers for cookie in answer.headers.get_all("Set-Cookie")]:
        assert re.search(r"; *HttpOnly", cookie) and re.search(r"; *SameSite=(Lax|Strict)", cookie)
    assert re.search(r"Max-Age=\d+", cookie)


# MARK: Passwords


def test_a_thousand_wrong_passwords(own_dashboard: Dashboard, say: Say) -> None:
    operator = WebClient(own_dashboard.port).log_in("minji", PASSWORDS["minji"])
    attacker = WebClient(own_dashboard.port, address="127.0.0.2")
    form = {"csrf_token": attacker.get("/login").csrf_token, "name": "minji"}
    began = time.monotonic()
    statuses = []
    for number in range(1000):
        # A forged X-Forwarded-For header has no effect.
        answer = attacker.ask(
            "POST", "/login", form | {"password": f"guess{number}"},
            **{"X-Forwarded-For": f"10.0.{number // 250}.{number % 250}"},
        )
        statuses.append(answer.status)
        if number % 100 == 0:
            assert "minji" in operator.get().text
    took = time.monotonic() - began
    tried = statuses.count(401)
    say(f"{tried} of 1,000 tried, in {took:.1f} s")
    assert set(statuses) == {401, 429}
    # One more attempt is allowed after each minute.
    assert 10 <= tried <= 10 + took / 60 + 1
    assert statuses[:10] == [401] * 10
    assert int(answer.headers["Retry-After"]) <= 61
    # The right password is rejected, too, so the answer does not reveal it.
    assert attacker.try_password("minji", PASSWORDS["minji"]).status == 429
    assert "minji" in operator.get().text
    # The user whose password was guessed can still log in from another browser, and in a known
    # browser even from the address of the guesses.
    WebClient(own_dashboard.port).log_in("minji", PASSWORDS["minji"])
    known = WebClient(own_dashboard.port, address="127.0.0.2")
    known.cookies = operator.cookies
    assert known.post("/logout", csrf_token=known.get().csrf_token).status == 303
    known.log_in("minji", PASSWORDS["minji"])


def test_a_thousand_names_from_one_address(own_dashboard: Dashboard) -> None:
    attacker = WebClient(own_dashboard.port)
    form = {"csrf_token": attacker.get("/login").csrf_token, "password": "guess"}
    statuses = [
        attacker.ask("POST", "/login", form | {"name": f"user{number}"}).status
        for number in range(1000)
    ]
    assert statuses[:30] == [401] * 30 and set(statuses[40:]) == {429}


# MARK: Markup

EVIL = [
    "<x-evil>", "\"><x-evil onclick='x'>", "'><x-evil>", "</title></script><x-evil>",
    "<!--", "<script>alert(1)</script>", "&lt;x-evil&gt;", "\n\ndata: <x-evil>\n\n",
    "\u2028<x-evil>", "javascript:alert(1)", "${alert(1)}", "<svg/onload=alert(1)>",
]


# The only links to other sites.
MAPS = ("https://www.google.com/maps/search/?api=1&query=", "https://map.kakao.com/link/search/")


def check_page(html: str) -> Elements:
    """Checks that the page contains no element and no script that the dashboard has not written."""
    found = Elements(html)
    assert "x-evil" not in found.tags
    assert not [name for name in found.attributes if name.startswith("on") or name == "style"]
    for name in ("href", "src", "action"):
        for value in found.attributes.get(name, set()):
            if value.startswith(MAPS):
                assert re.fullmatch(r"[A-Za-z0-9%._/?=&:-]+", value), value
                continue
            assert value.startswith(("/", "#", "?correct")) and not value.startswith("//"), value
    assert html.count("<script") == html.count("<script src=\"/")
    return found


def check_headers(answer: Any) -> None:
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy
    assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def hostile_kiosk(client: Client, name: str, evil: str) -> None:
    """A kiosk, or an attacker with its account, that publishes every text the protocol permits."""
    def tell(topic: str, payload: Any, retain: bool = True) -> None:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        client.publish(f"kiosk/{name}/{topic}", text, retain)

    now = "2026-11-21T09:00:00Z"
    names = {"en": f"{evil} en", "ko": f"{evil} ko"}
    tell("menu", {
        "fruits": [{"id": "kiwi", "name": names, "capacity": 9}],
        "juices": [{"id": "kiwi", "name": names, "recipe": {"kiwi": 3}}],
    })
    tell("stock", {"seq": 1, "at": now, "fruits": {"kiwi": 5, "mango": 2}})
    tell("settings", {
        "id": "s1", "by": evil, "at": now, "unused": [evil], "prices": {}, "disabled": ["kiwi"],
        "file": {"fruits": [{"id": "kiwi", "name": names, "capacity": 9}],
                 "juices": [{"id": "kiwi", "name": names, "recipe": {"kiwi": 3}}]},
    })
    tell("alert/kiwi", "low")
    tell("service", "open")
    tell("sales", {
        "at": now, "time_zone": evil, "today": "2026-11-21", "usual": 5, "days": [],
        "hours": [{"hour": 9, "made": {"kiwi": 3}}],
    })
    tell("forecast", {"at": now, "fruits": {"kiwi": {"stock": 5, "per_hour": 1, "empty_at": now}}})
    tell("info", {
        "version": evil, "protocol": 1, "started_at": now, "name": names, "place": f"{evil} place",
    })
    tell("machine/bar", {
        "state": "fault", "reason": evil, "queue": 1, "ready": [7, evil], "jobs": [
            {"job": 100 + number, "ticket": number, "juice": "kiwi", "quantity": 1,
             "state": state, "at": now}
            for number, state in enumerate(("queued", "started", "needs_decision", evil))
        ] + [{"job": evil}, evil],
    })
    tell("status", "online")
    ended = {"job": 90, "ticket": 8, "juice": "kiwi", "quantity": 1, "machine": "bar"}
    for seq, entry in enumerate([
        {"status": "ready", "ticket": 7, "juice": "kiwi", "quantity": 1, "changes": {"kiwi": -3}},
        {"status": "rejected", "reason": "closed", "juice": "kiwi", "quantity": 1},
        {"status": "restocked", "changes": {"kiwi": 3}},
        {"status": "failed", "reason": evil} | ended,
        {"status": "returned", "reason": evil} | ended | {"job": 91},
    ]):
        kind = "restock" if entry["status"] == "restocked" else "order"
        panel = evil.replace("/", "|")
        tell("events", {"seq": seq + 1, "at": now, "source": f"{kind}/{panel}"} | entry, False)


def test_what_a_kiosk_says_is_text(make_web_client: MakeWebClient, make_client: MakeClient) -> None:
    client = make_client()
    operator = make_web_client("minji")
    for number, evil in enumerate(EVIL):
        name = f"evil{number}"
        hostile_kiosk(client, name, evil)
        kiosk = f"/kiosks/{name}"
        eventually(lambda: 'class="feed"' in operator.get(kiosk).text)
        shown = " ".join(evil.split())
        for path in ("/", kiosk, f"{kiosk}/panel", f"{kiosk}/display"):
            answer = operator.get(path)
            assert answer.status == 200
            check_headers(answer)
            page = check_page(answer.text)
            assert path.endswith("display") or shown in " ".join(page.text.split()) or path == "/", (path, evil)
            live = EventStream(operator, path.rstrip("/") + "/live")
            live.read_until(b"\n\n", live.received.index(b"\r\n\r\n") + 4)
            # Decodes the event as a browser does.
            head, _, body = live.received.partition(b"\r\n\r\n")
            live.close()
            for event in body.decode().split("\n\n"):
                data = [line[6:] for line in event.splitlines() if line.startswith("data: ")]
                check_page("\n".join(data))
        page = check_page(operator.get(f"{kiosk}/settings").text)
        assert shown in " ".join(page.text.split()), evil
        # Other tests search the list for such texts.
        client.publish(f"kiosk/{name}/status", "", True)
        eventually(lambda: not is_known(operator, name))


def test_what_a_kiosk_answers_is_text(make_web_client: MakeWebClient, make_client: MakeClient) -> None:
    evil = "\"><x-evil onclick='x'>"
    operator = make_web_client("minji")
    kiosk = make_client("kiosk/k9/order/+", "kiosk/k9/restock/+", "kiosk/k9/job/+", "kiosk/k9/settings/+")
    hostile_kiosk(kiosk, "k9", "x")
    eventually(lambda: is_known(operator, "k9"))
    kiosk.client.on_message = lambda client, data, message: client.publish(
        f"{message.topic}/result", json.dumps({
            "id": json.loads(message.payload)["id"], "status": "rejected", "reason": "conflict",
            "detail": evil, "message": evil, "juice": evil, "stock": {"kiwi": 4},
        }), 1)
    csrf_token = operator.get("/kiosks/k9").csrf_token
    for path, fields in (
        ("panel", {"juice": "kiwi"}), ("restock", {"set.kiwi": "4", "expect.kiwi": "5"}),
        ("job", {"decision": "poured.102"}),
        ("settings", {"replaces": "s1", "do": "save", "capacity.kiwi": "8", "disabled.kiwi": "1"}),
    ):
        answer = operator.post(f"/kiosks/k9/{path}", csrf_token=csrf_token, id="a1", **fields)
        assert answer.status == 200
        check_page(answer.text)


@pytest.mark.parametrize("name", ["<x-evil>", "a b", "..", "%3Cx-evil%3E", "x" * 65])
def test_a_kiosk_that_cannot_be_one_is_not_shown(
    make_web_client: MakeWebClient, make_client: MakeClient, name: str
) -> None:
    client = make_client()
    viewer = make_web_client("vera")
    client.publish(f"kiosk/{name}/status", "online", True)
    client.publish("kiosk/after/status", "online", True)
    eventually(lambda: is_known(viewer, "after"))
    page = check_page(viewer.get("/").text)
    assert "after" in page.text and name not in page.text


def test_what_a_link_says_is_text(make_web_client: MakeWebClient) -> None:
    viewer, stranger = make_web_client("vera"), make_web_client()
    for said, path in itertools.product(
        [quote(evil, safe="") for evil in EVIL],
        ["/?q={}", "/?page={}", "/kiosks/{}", "/{}", "/language/{}", "/language/ko?to={}", "/login?to={}"],
    ):
        for web_client in (viewer, stranger):
            answer = web_client.get(path.format(said))
            check_headers(answer)
            check_page(answer.text)
            if answer.place:
                assert answer.place.startswith("/") and not answer.place.startswith("//")


@pytest.mark.parametrize("place", [
    "//evil.example", "/\\evil.example", "https://evil.example", "/%2f/evil.example",
    "/\r\nSet-Cookie: x=y", "javascript:alert(1)", "%2F%2Fevil.example", "/\t/evil.example",
])
def test_nobody_is_sent_elsewhere(make_web_client: MakeWebClient, place: str) -> None:
    answer = make_web_client().get(f"/language/ko?to={quote(place, safe='')}")
    assert answer.status == 303 and re.fullmatch(r"/([^/\\].*)?", answer.place)
    assert "x" not in answer.cookies


def test_who_logs_in_is_not_sent_elsewhere(make_web_client: MakeWebClient) -> None:
    stranger = make_web_client()
    form = {"name": "minji", "password": PASSWORDS["minji"], "to": "//evil.example"}
    answer = stranger.post("/login", csrf_token=stranger.get("/login").csrf_token, **form)
    assert (answer.status, answer.place) == (303, "/")


# MARK: Numbers


def test_numbers_that_no_kiosk_has_do_no_harm(
    dashboard: Dashboard, make_web_client: MakeWebClient, make_client: MakeClient
) -> None:
    client = make_client()
    operator = make_web_client("minji")
    (low, high, now) = (-(2**63), 2**63 - 1, "2026-11-21T09:00:00Z")
    for number, value in enumerate([low, high, 10**15, -(10**15), 10**9, 0]):
        name = f"n{number}"
        hostile_kiosk(client, name, "x")
        kiwi = {"kiwi": value}
        for topic, payload in {
            "stock": {"seq": value, "at": now, "fruits": kiwi},
            "menu": {
                "fruits": [{"id": "kiwi", "name": {"en": "K"}, "capacity": value, "low": value}],
                "juices": [{"id": "kiwi", "name": {"en": "K"}, "recipe": {"kiwi": 1}}],
            },
            "sales": {
                "at": "9999-12-31T23:59:59Z", "time_zone": "Asia/Seoul", "today": "0000-01-01",
                "usual": float(value) * 1e200, "hours": [{"hour": 9, "made": {"kiwi": 10**9}}] * 99,
                "days": [{"day": "9999-12-31", "made": {"kiwi": 10**9}}] * 99,
            },
            "forecast": {"at": now, "fruits": {
                "kiwi": {"stock": value, "per_hour": 1e300, "empty_at": "9999-12-31T23:59:59Z"},
            }},
        }.items():
            client.publish(f"kiosk/{name}/{topic}", json.dumps(payload), True)
        job = {"job": value, "ticket": value, "juice": "kiwi", "quantity": value, "at": now}
        client.publish(f"kiosk/{name}/machine/bar", json.dumps({
            "state": "busy", "queue": value, "ready": [value] * 99, "jobs": [
                job | {"state": state} for state in ("queued", "started", "needs_decision") * 33
            ],
        }), True)
        ended = {"seq": value, "at": now, "status": "made", "machine": "bar"}
        client.publish(f"kiosk/{name}/events", json.dumps(ended | job | {"at": now}))
        entry = {"seq": value, "at": now, "source": "restock/x", "status": "restocked"}
        client.publish(f"kiosk/{name}/events", json.dumps(entry | {"changes": kiwi}))
        eventually(lambda: is_known(operator, name))
        csrf_token = operator.get(f"/kiosks/{name}").csrf_token
        for path in ("/", f"/kiosks/{name}", f"/kiosks/{name}/panel", f"/kiosks/{name}/display",
                     f"/kiosks/{name}/settings"):
            assert operator.get(path).status == 200, path
        for fields in (
            {"do": "fill"}, {"do": "review", "add.kiwi": "1000000000"},
            {"do": "review", "add.kiwi": "-1000000000"}, {"do": "review", "set.kiwi": "7"},
        ):
            answer = operator.post(f"/kiosks/{name}/review", csrf_token=csrf_token, **fields)
            assert answer.status == 200, fields
    assert dashboard.process.poll() is None


# MARK: Stalled connections

# Time limit of a request in seconds. An incomplete request that follows another one has the same
# limit.
DEADLINE = 15
HEAD = b"POST /login HTTP/1.1\r\nHost: k\r\nContent-Length: 60000\r\n"


def test_whoever_drips_is_cut(dashboard: Dashboard, make_web_client: MakeWebClient, say: Say) -> None:
    viewer = make_web_client("vera")
    beginnings = {
        "says nothing": (b"", b""), "a head": (HEAD, b"x"), "a body": (HEAD + b"\r\n", b"x"),
        "a body of pieces": (
            HEAD.replace(b"Content-Length: 60000", b"Transfer-Encoding: chunked") + b"\r\n",
            b"1\r\nx\r\n",
        ),
        "a body of nobody": (HEAD.replace(b"/login", b"/nowhere") + b"\r\n", b"x"),
        "another after one": (request(viewer, "/") + HEAD + b"\r\n", b"x"),
    }
    open_for = {}
    connections = {}
    began = time.monotonic()
    for what, (beginning, drip) in beginnings.items():
        connection = socket.create_connection(("127.0.0.1", dashboard.port))
        connection.sendall(beginning)
        connection.setblocking(False)
        connections[connection] = (what, drip)
    # Pages are served while all these connections are open.
    assert viewer.get("/").status == 200
    assert not any(is_cut(connection) for connection in connections)
    while connections:
        assert time.monotonic() - began < 8 * DEADLINE, [what for what, _ in connections.values()]
        assert viewer.get("/").status == 200
        for connection, (what, drip) in list(connections.items()):
            if is_cut(connection, drip):
                open_for[what] = time.monotonic() - began
                del connections[connection]
                connection.close()
        time.sleep(0.25)
    say(", ".join(f"{what}: {took:.0f} s" for what, took in open_for.items()))
    # No connection is closed before its deadline.
    assert min(open_for.values()) > DEADLINE - 5


def is_cut(connection: socket.socket, drip: bytes = b"") -> bool:
    """Returns whether the server has closed a non-blocking connection, after sending `drip`."""
    try:
        connection.send(drip)
        while connection.recv(65536):
            pass
        return True
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


# MARK: Many connections

# Maximum number of connections per address, of all connections, and of live pages among them: of
# one session, of one user, of all.
LIMIT_OF_ONE, LIMIT, LIVE_OF_SESSION, LIVE_OF_USER, LIVE = 100, 1000, 25, 250, 500
CROWD = 10_000


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connects from an address of its own. A failed test leaves no connection open: paho, which later tests use, takes
    only the first 1,024 files of a process."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CROWD + 2000:
        pytest.skip(f"only {hard} files may be open at once here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def connected(port: int, address: str) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), 30, source_address=(address, 0))

    yield from factory(connected, socket.socket.close)


def test_a_flood_of_connections(connect: Connect, own_dashboard: Dashboard, say: Say) -> None:
    # Of its own, because it logs the address of one flood a minute.
    port = own_dashboard.port
    operator = WebClient(port).log_in("minji", PASSWORDS["minji"])
    assert operator.get("/").status == 200
    flood = [connect(port, "127.0.0.2") for _ in range(2000)]
    # Other addresses are still served, on new connections, too.
    for _ in range(20):
        operator.close()
        assert operator.get("/").status == 200
    eventually(lambda: sum(is_open(connection) for connection in flood) <= LIMIT_OF_ONE)
    own_dashboard.log.first(lambda line: "127.0.0.2 has 100 connections" in line)
    for connection in flood:
        connection.close()
    # From many addresses they use up all connections, until they are closed as idle.
    for number in range(LIMIT + 200):
        connect(port, f"127.0.1.{number // 90}")
    asked = time.monotonic()
    fresh = WebClient(port)
    fresh.connection.timeout = 4 * DEADLINE
    assert fresh.get("/login").status == 200
    say(f"a web_client waited for {time.monotonic() - asked:.0f} s")


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def test_ten_thousand_listeners(
    connect: Connect, kiosk: Kiosk, dashboard: Dashboard, make_web_client: MakeWebClient, panel: Client, say: Say
) -> None:
    operator = make_web_client("minji")
    eventually(lambda: is_known(operator))
    first = EventStream(operator, "/kiosks/k1/live")
    attacker = make_web_client("vera")
    crowd = Crowd(connect, attacker, "/live")
    for number in range(6):
        crowd.add(LIMIT_OF_ONE, f"127.0.2.{number}")
    assert crowd.count(200) == LIVE_OF_SESSION
    assert crowd.count(503) == 6 * LIMIT_OF_ONE - LIVE_OF_SESSION
    crowd.add(CROWD - 6 * LIMIT_OF_ONE, "127.0.2.6")
    say(f"{crowd.count(200)} of {CROWD:,} were let in, {crowd.count(0):,} not even heard")
    assert crowd.count(200) == LIVE_OF_SESSION
    # Further sessions take the viewer's places, and leave those of others.
    sessions = [crowd]
    while len(sessions) <= LIVE_OF_USER // LIVE_OF_SESSION:
        client = WebClient(dashboard.port)
        client.log_in("vera", PASSWORDS["vera"])
        sessions.append(Crowd(connect, client, "/live"))
        client.close()
        sessions[-1].add(LIVE_OF_SESSION, f"127.0.3.{len(sessions)}")
    assert sum(each.count(200) for each in sessions) == LIVE_OF_USER < LIVE
    assert sessions[-1].count(503) == LIVE_OF_SESSION
    second = EventStream(operator, "/live")
    assert second.status == 200
    # Existing live pages continue, and other pages are served.
    since = len(first.received)
    panel.order("kiwi")
    first.read_until(b"data: ", since)
    for _ in range(20):
        assert operator.get("/").status == 200
    memory = dashboard.memory()
    say(f"memory {memory:.0f} MB")
    assert memory < 500
    for each in sessions:
        each.close()
    second.close()
    # After they are closed, there is room again.
    def is_let_in() -> bool:
        one = Crowd(connect, attacker, "/live")
        one.add(1, "127.0.0.1")
        return one.count(200) == 1

    eventually(is_let_in)
    first.close()


class Crowd:
    """Many connections that all send the same request and stay open."""

    def __init__(self, connect: Connect, web_client: WebClient, path: str) -> None:
        self.connect = connect
        self.port = web_client.port
        self.text = request(web_client, path)
        # 0: closed without an answer.
        self.statuses: dict[socket.socket, int] = {}

    def add(self, count: int, address: str) -> None:
        # Batches that fit into the system's connection backlog.
        for start in range(0, count, 200):
            self._add(min(200, count - start), address)

    def _add(self, count: int, address: str) -> None:
        waiting = selectors.DefaultSelector()
        for _ in range(count):
            connection = self.connect(self.port, address)
            self.statuses[connection] = 0
            try:
                connection.sendall(self.text)
            except ConnectionError:
                continue
            waiting.register(connection, selectors.EVENT_READ)
        deadline = time.monotonic() + 60
        while waiting.get_map():
            assert time.monotonic() < deadline, "no answer"
            for key, _ in waiting.select(1):
                try:
                    part = key.fileobj.recv(64)
                except ConnectionError:
                    part = b""
                self.statuses[key.fileobj] = int(part.split()[1]) if part else 0
                waiting.unregister(key.fileobj)

    def count(self, status: int) -> int:
        return list(self.statuses.values()).count(status)

    def close(self) -> None:
        for connection in self.statuses:
            connection.close()
