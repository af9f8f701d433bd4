"""A real Home Assistant on a free port of the loopback interface, with its account of the secured
broker. Its storage is prepared, so that it needs no manual setup."""

import base64
import hashlib
import hmac
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from arrivals import eventually
from secured_broker import SecuredBroker
from ports import free_port

# Home Assistant starts within seconds; a machine may be slow.
TIMEOUT = 60.0
OWNER, SESSION, KEY = "0" * 32, "1" * 32, "2" * 64
BEGINNING = "2026-01-01T00:00:00+00:00"


def token() -> str:
    """Returns a long-lived access token: a JWT (RFC 7519)."""

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    claims = {"iss": SESSION, "iat": int(time.time()) - 60, "exp": int(time.time()) + 86_400}
    signed = ".".join(
        part(json.dumps(each).encode()) for each in [{"alg": "HS256", "typ": "JWT"}, claims]
    )
    return f"{signed}.{part(hmac.digest(KEY.encode(), signed.encode(), hashlib.sha256))}"


def forms() -> list[str]:
    """Returns the values of home_assistant.form that this version supports."""
    program = os.environ.get("KIOSK_HOME_ASSISTANT")
    known = ["components"]
    if program:
        version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
        if [int(part) for part in version.stdout.split(".")[:2]] >= [2024, 11]:
            known.append("device")
    return known


class HomeAssistant:
    def __init__(self, folder: Path, secured_broker: SecuredBroker, account: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.token = token()
        self.process: subprocess.Popen | None = None
        (folder / ".storage").mkdir(parents=True)
        (folder / "configuration.yaml").write_text(
            "homeassistant: {name: Home, time_zone: UTC}\n"
            f"http: {{server_host: 127.0.0.1, server_port: {self.port}}}\n"
            "api:\nfrontend:\nlogger: {default: info}\n"
        )
        self._store("onboarding", 4, {
            "done": ["user", "core_config", "analytics", "integration"],
        })
        self._store("auth", 1, {
            "users": [{
                "id": OWNER, "group_ids": ["system-admin"], "is_owner": True, "is_active": True,
                "name": "Owner", "system_generated": False, "local_only": False,
            }],
            "groups": [{"id": "system-admin", "name": "Administrators"}],
            "credentials": [],
            "refresh_tokens": [{
                "id": SESSION, "user_id": OWNER, "client_id": None, "client_name": "tests",
                "client_icon": None, "token_type": "long_lived_access_token",
                "created_at": BEGINNING, "access_token_expiration": 315_360_000.0,
                "token": "3" * 128, "jwt_key": KEY, "last_used_at": None, "last_used_ip": None,
                "expire_at": None, "credential_id": None, "version": "2024.3.3",
            }],
        })
        self._store("core.config_entries", 1, {"entries": [{
            "entry_id": "4" * 32, "version": 1, "minor_version": 1, "domain": "mqtt",
            "title": "the kiosk's broker", "options": {}, "source": "user", "unique_id": None,
            "pref_disable_new_entities": False, "pref_disable_polling": False,
            "disabled_by": None,
            "data": {
                "broker": "localhost", "port": secured_broker.port, "protocol": "5", "username": account,
                "password": secured_broker.password(account), "certificate": secured_broker.ca.read_text(),
                "discovery": True,
            },
        }]})

    def _store(self, key: str, version: int, data: dict) -> None:
        content = {"version": version, "minor_version": 1, "key": key, "data": data}
        (self.folder / ".storage" / key).write_text(json.dumps(content))

    # MARK: Program

    def start(self) -> "HomeAssistant":
        with open(self.folder / "output", "ab") as output:
            self.process = subprocess.Popen(
                [os.environ["KIOSK_HOME_ASSISTANT"], "--config", self.folder, "--skip-pip"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )
        self.until(lambda: self.ask("/api/config")["state"] == "RUNNING")
        return self

    def stop(self) -> None:
        if self.process:
            process, self.process = self.process, None
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(TIMEOUT)
            finally:
                process.kill()
                process.wait()

    def complaints(self) -> list[str]:
        """Returns logged warnings and errors, except those about its own installation and threads.
        """
        # Each start renames the previous log.
        logs = sorted(self.folder.glob("home-assistant.log*"))
        lines = [line for log in logs for line in log.read_text().splitlines()]
        complaint = r"\S+ \S+ (WARNING|ERROR|CRITICAL) [^[]*\[homeassistant\.(?!bootstrap|util)"
        return [line for line in lines if re.match(complaint, line)]

    # MARK: Use

    def ask(self, path: str, body: dict | None = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            content = response.read().decode()
            is_json = response.headers.get_content_type() == "application/json"
            return json.loads(content) if is_json else content

    def call(self, service: str, entity: str, **data: Any) -> None:
        domain, name = service.split(".")
        self.ask(f"/api/services/{domain}/{name}", {"entity_id": entity} | data)

    def render(self, template: str) -> str:
        return self.ask("/api/template", {"template": template})

    def states(self) -> dict[str, dict]:
        """Returns the states of the kiosk's entities by entity id."""
        return {
            state["entity_id"]: state for state in self.ask("/api/states")
            if ".kiosk_k1_" in state["entity_id"]
        }

    def until(self, holds: Any) -> Any:
        """Polls a condition while Home Assistant is running."""

        def answer() -> Any:
            assert self.process and self.process.poll() is None, "Home Assistant has ended"
            try:
                return holds()
            except (urllib.error.URLError, ConnectionError):
                return None

        return eventually(answer, TIMEOUT)

    def wait_for(self, entity: str, state: str) -> dict:
        def shown() -> dict | None:
            found = self.states().get(entity)
            return found if found and found["state"] == state else None

        return self.until(shown)
