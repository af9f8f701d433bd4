"""An HTTP client for the dashboard that can also send what no browser sends."""

import http.client
import re
import socket
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urlencode

from arrivals import TIMEOUT

CSRF_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')
SESSION = "juice_session"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def place(self) -> str | None:
        """The target of a redirect."""
        return self.headers["Location"]

    @property
    def csrf_token(self) -> str:
        """The CSRF token of the page's form."""
        return CSRF_TOKEN.search(self.text)[1]

    @property
    def cookies(self) -> dict[str, str]:
        set_cookies = self.headers.get_all("Set-Cookie") or []
        return dict(line.split(";")[0].split("=", 1) for line in set_cookies)


class WebClient:
    """Stores cookies, and does not follow redirects."""

    def __init__(self, port: int, address: str = "127.0.0.1", **headers: str) -> None:
        """`address`: the client's address; on Linux, any of 127.0.0.0/8."""
        self.port = port
        self.cookies: dict[str, str] = {}
        self.headers = headers
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=TIMEOUT, source_address=(address, 0)
        )

    def close(self) -> None:
        self.connection.close()

    def ask(
        self, method: str, path: str, form: dict[str, str] | None = None, **headers: str
    ) -> Answer:
        body = None if form is None else urlencode(form)
        sent = {"Accept-Language": "en"} | self.headers | headers
        if body is not None:
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            self.connection.request(method, path, body, sent)
            response = self.connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError):
            # The server may close a persistent connection at any time (RFC 9112, 9.3.1).
            self.connection.close()
            self.connection.request(method, path, body, sent)
            response = self.connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        self.cookies |= answer.cookies
        return answer

    def get(self, path: str = "/", **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, **form: str) -> Answer:
        return self.ask("POST", path, form)

    def try_password(self, name: str, password: str, **headers: str) -> Answer:
        form = {"csrf_token": self.get("/login").csrf_token, "name": name, "password": password}
        return self.ask("POST", "/login", form, **headers)

    def log_in(self, name: str, password: str) -> "WebClient":
        answer = self.try_password(name, password)
        assert (answer.status, answer.place) == (303, "/"), answer.text
        return self

    @property
    def session(self) -> str:
        return self.cookies[SESSION]


class EventStream:
    """The live updates of a page: an open connection."""

    def __init__(self, web_client: WebClient, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", web_client.port), timeout=TIMEOUT)
        self.socket.sendall(request(web_client, path))
        self.received = b""
        self.read_until(b"\r\n\r\n")
        self.status = int(self.received.split()[1])

    def read_until(self, text: bytes, since: int = 0) -> None:
        while text not in self.received[since:]:
            part = self.socket.recv(65536)
            assert part, f"closed before {text!r}"
            self.received += part

    def close(self) -> None:
        self.socket.close()


def request(web_client: WebClient, path: str) -> bytes:
    cookies = "; ".join(f"{name}={value}" for name, value in web_client.cookies.items())
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Cookie: {cookies}", "", ""]
    return "\r\n".join(lines).encode()


class Elements(HTMLParser):
    """Parses HTML: the elements with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attributes:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data
