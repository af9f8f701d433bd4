"""No token, password or cookie is in the log, whatever a client does.

The places where one could be logged: errors of a page (`ErrorPage.swift`), of the HTTP server (a head, a
body or a chunk that is malformed or incomplete, a deadline), of a state file, of a receiver of
notifications, and the log of a level below `info`.
"""

import re
import select
import socket
import struct
from pathlib import Path
from typing import Iterator

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeClient
from dashboard import PASSWORDS, Dashboard
from mosquitto import Mosquitto
from receivers import Hook
from web_client import SESSION, WebClient

#: What follows the head of a form, by the name of the attack; each ends with the client closing its side.
BODIES = {
    "a length and one byte": ("Content-Length: 100", b"n"),
    "a length and no byte": ("Content-Length: 100", b""),
    "a chunk without its end": ("Transfer-Encoding: chunked", b"5\r\nname"),
    "a wrong chunk": ("Transfer-Encoding: chunked", b"zz\r\nname=x\r\n0\r\n\r\n"),
    "a huge chunk": ("Transfer-Encoding: chunked", b"7fffffffffffffff\r\nname"),
    "a length and chunks": ("Content-Length: 6\r\nTransfer-Encoding: chunked", b"zz\r\n"),
    "two lengths": ("Content-Length: 6\r\nContent-Length: 7", b"name=x"),
    "a length that is none": ("Content-Length: six", b"name=x"),
    "a longer body": ("Content-Length: 70000", b"name=" + b"x" * 69_995),
    "a head without its end": ("Content-Length", None),
    "a field that is none": ("\x01: x", b""),
}


class Place:
    """A dashboard with a password link, a link of a screen and a session."""

    def __init__(self, dashboard: Dashboard) -> None:
        self.dashboard = dashboard
        admin = WebClient(dashboard.port).log_in("nora", PASSWORDS["nora"])
        eventually(lambda: admin.get("/kiosks/k1").status == 200)
        csrf = admin.get("/account").csrf_token
        admin.post("/kiosks/k1/screens", csrf_token=csrf, screen="wall", do="create")
        self.wall = re.search(r"/wall/[\w-]{43}", admin.get("/kiosks/k1").text)[0]
        page = admin.ask("POST", "/users", {"csrf_token": csrf, "do": "reset", "user": "vera"}, Origin="http://x")
        self.password = re.search(r"/password/[\w-]{43}", page.text)[0]
        self.session, self.cookies = admin.session, dict(admin.cookies)
        self.secrets = [*admin.cookies.values(), csrf, self.wall.split("/")[-1], self.password.split("/")[-1],
                        *PASSWORDS.values()]
        self.forms = ["/login", "/logout", self.password, self.wall, "/users", "/account/password",
                      "/account/sessions", "/routes", "/kiosks/k1/screens", "/kiosks/k1/panel", "/kiosks/k1/restock",
                      "/kiosks/k1/service", "/kiosks/k1/settings", "/kiosks/k1/undo", "/kiosks/k1/job",
                      "/kiosks/k1/charge", "/kiosks/k1/sensor", "/kiosks/k1/program", "/kiosks/k1/remove",
                      f"/nothing{self.wall}", f"{self.password}/more", f"/login?token={self.wall}"]

    def send(self, path: str, fields: str, body: bytes | None, has_session: bool = True) -> socket.socket:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items()) if has_session else "a=b"
        connection = socket.create_connection(("127.0.0.1", self.dashboard.port), timeout=60)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nCookie: {cookies}\r\n{fields}"
        connection.sendall(head.encode("latin-1") + (b"" if body is None else b"\r\n\r\n" + body))
        return connection

    def check(self, since: int) -> list[str]:
        """Returns the new lines of the log, which have no secret."""
        lines = list(self.dashboard.log)[since:]
        for secret in self.secrets:
            assert not [line for line in lines if secret in line]
        return lines


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("secrets")
    broker = Mosquitto(folder / "broker").start()
    client = Client(broker.port)
    client.publish("kiosk/k1/status", "online", retain=True)
    (folder / "dashboard").mkdir()
    dashboard = Dashboard(folder / "dashboard", broker, {})
    dashboard.add_user("nora", "admin")
    try:
        yield Place(dashboard.start(KIOSK_LOG_LEVEL="trace"))
    finally:
        client.close()
        dashboard.kill()
        broker.kill()


@pytest.mark.parametrize("attack", BODIES)
@pytest.mark.parametrize("has_session", [True, False], ids=["session", "stranger"])
def test_an_incomplete_form_is_no_error_and_logs_no_token(place: Place, attack: str, has_session: bool) -> None:
    since = len(place.dashboard.log)
    fields, body = BODIES[attack]
    for path in place.forms:
        connection = place.send(path, fields, body, has_session)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
        assert not answer.startswith(b"HTTP/1.1 5"), (path, answer[:200])
        connection.close()
        # Likewise with a reset.
        connection = place.send(path, fields, body, has_session)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    WebClient(place.dashboard.port).get("/login")
    for line in place.check(since):
        assert " error " not in line and " warning " not in line, line


def test_the_deadline_of_a_slow_form_logs_no_token(place: Place) -> None:
    since = len(place.dashboard.log)
    connections = [place.send(path, "Content-Length: 100", b"n") for path in place.forms]
    connections += [place.send(path, "Transfer-Encoding: chunked", b"5\r\nna") for path in place.forms]
    for connection in connections:
        assert select.select([connection], [], [], 60)[0]
        assert not connection.recv(65_536).startswith(b"HTTP/1.1 5")
        connection.close()
    for line in place.check(since):
        assert " error " not in line and " warning " not in line, line


def test_ordinary_requests_log_no_token(place: Place) -> None:
    since = len(place.dashboard.log)
    client = WebClient(place.dashboard.port)
    client.cookies |= place.cookies
    for path in (place.wall, f"{place.wall}/live", place.password, f"{place.wall}/x", f"{place.password}%0a",
                 f"/x{place.wall}", f"/kiosks/{place.session}", f"/?{SESSION}={place.session}"):
        if not path.endswith("/live"):
            client.get(path)
            client.ask("PUT", path)
    stranger = WebClient(place.dashboard.port)
    stranger.try_password("nora", "x" + PASSWORDS["nora"])
    token = stranger.get(place.password).csrf_token
    stranger.post(place.password, csrf_token=token, new=PASSWORDS["vera"], again="x")
    for line in place.check(since):
        assert " error " not in line, line


def test_a_receiver_that_repeats_the_request_is_logged_without_its_secrets(
    tmp_path: Path, broker: Mosquitto, make_client: MakeClient
) -> None:
    """Servers answer `Cannot POST /the/path`."""
    hook = Hook(status=404).start()
    secret, token = "T0ABCDEF1/B0ABCDEF1/x8gF2hV5kQ1mN4pR7sT0", "tk_AgQdq7mVBoFD37zQ"
    hook.answer = f"Cannot POST /services/{secret} with Bearer {token}".encode()
    notify = {"link": "https://juice.example", "offline_minutes": 0, "quiet_seconds": 10, "post": [
        {"url": f"{hook.url}/services/{secret}"}]}
    dashboard = Dashboard(tmp_path, broker, {}, notify)
    try:
        told = dashboard.command("notify", "--test")
        assert told.returncode == 69 and "Cannot POST" in told.stdout, told
        assert not [part for part in secret.split("/") if part in told.stdout + told.stderr]
    finally:
        hook.stop()
        dashboard.kill()
