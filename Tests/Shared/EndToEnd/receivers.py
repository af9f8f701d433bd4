"""Receivers of alerts: a real SMTP server and an HTTP server on the loopback interface."""

import email.policy
import json
import ssl
import subprocess
import threading
from dataclasses import dataclass, field
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from arrivals import Arrivals
from ports import free_port

ACCOUNT = ("kiosks@juice.example", "correct horse battery")
TOKEN = "tk_0123456789"


class Authority:
    """A test certificate authority, with a certificate for 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.file = folder / "ca.crt"
        self._folder = folder
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        self._run("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2",
                  "-subj", "/CN=authority")
        self._run("req", *curve, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        self._run("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
                  "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.crt")

    def secret(self, text: str) -> str:
        """Returns the name of a new file that only its owner can read."""
        file = self._folder / f"secret-{len(list(self._folder.iterdir()))}"
        file.touch(0o600)
        file.write_text(text + "\n")
        return str(file)

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            ["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)

    @property
    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / "server.crt", self._folder / "server.key")
        return context


class Mail:
    def __init__(self, envelope: Envelope, helo: str) -> None:
        self.helo = helo
        assert isinstance(envelope.content, bytes)
        self.recipients = envelope.rcpt_tos
        self.raw = envelope.content
        parsed = email.message_from_bytes(self.raw, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        self.head = parsed
        self.subject = str(parsed["Subject"])
        self.id = str(parsed["Message-ID"])
        self.text = parsed.get_content().replace("\r\n", "\n")

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


class Mailbox:
    """A mail server with one account, which accepts mail to any address.

    `mode`: the encryption, as in the dashboard's configuration.
    """

    def __init__(self, authority: Authority, mode: str = "starttls") -> None:
        self.authority = authority
        self.port = free_port()
        self.mails: Arrivals[Mail] = Arrivals()
        #: Called after a mail has arrived and before the server answers.
        self.before_answer: Callable[[], None] = lambda: None
        #: The answer to a mail if the server is to refuse it.
        self.refusal = ""
        options: dict[str, Any] = {}
        if mode == "starttls":
            options = {"tls_context": authority.context, "require_starttls": True}
        if mode != "none":
            options |= {"authenticator": self._authenticate, "auth_required": True}
        if mode == "implicit":
            # aiosmtpd does not detect that the connection is already encrypted.
            options |= {"auth_require_tls": False}
        self.controller = Controller(
            self, hostname="127.0.0.1", port=self.port,
            ssl_context=authority.context if mode == "implicit" else None, **options)

    def start(self) -> "Mailbox":
        self.controller.start()
        return self

    def stop(self) -> None:
        self.controller.stop(no_assert=True)

    def _authenticate(self, server: SMTP, session: Session, *rest: Any) -> AuthResult:
        login = rest[-1]
        isKnown = isinstance(login, LoginPassword) and (
            (login.login.decode(), login.password.decode()) == ACCOUNT)
        return AuthResult(success=isKnown, handled=False)

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address.startswith("nobody@"):
            return "550 5.1.1 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.refusal:
            return self.refusal
        self.mails.add(Mail(envelope, str(session.host_name)))
        self.before_answer()
        return "250 taken"


@dataclass
class Posted:
    path: str
    headers: dict[str, str]
    body: str

    @property
    def text(self) -> str:
        return json.loads(self.body)["text"] if self.body.startswith("{") else self.body


@dataclass
class Hook:
    """An HTTP server that stores posted bodies; uses TLS if it has an authority."""

    authority: Authority | None = None
    posts: Arrivals[Posted] = field(default_factory=Arrivals)
    attempts: Arrivals[str] = field(default_factory=Arrivals)
    status: int = 200
    answer: bytes = b"ok"
    #: While set, the server does not answer.
    is_stuck: threading.Event = field(default_factory=threading.Event)

    def start(self) -> "Hook":
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                hook.attempts.add(self.path)
                while hook.is_stuck.is_set():
                    if self.connection.recv(1) == b"":
                        return
                if hook.status == 200:
                    hook.posts.add(Posted(self.path, dict(self.headers), body))
                self.send_response(hook.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(hook.answer)))
                self.end_headers()
                try:
                    self.wfile.write(hook.answer)
                except OSError:
                    pass

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
        self.server.daemon_threads = True
        if self.authority:
            self.server.socket = self.authority.context.wrap_socket(
                self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    @property
    def url(self) -> str:
        scheme = "https" if self.authority else "http"
        return f"{scheme}://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.is_stuck.clear()
        self.server.shutdown()
        self.server.server_close()
