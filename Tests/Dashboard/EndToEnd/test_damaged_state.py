"""The dashboard with every state file damaged at once, by each kind of damage."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeClient
from dashboard import PASSWORDS, Dashboard
from mosquitto import Mosquitto
from web_client import WebClient

#: The kinds of damage. `pipe` stands for what cannot be read: root can read every file.
KINDS = ["empty", "zeros", "half", "garbage", "folder", "link", "nowhere", "pipe", "missing"]
NOTIFY = {"link": "https://juice.example", "post": [{"url": "http://127.0.0.1:9/"}]}


def damage(file: Path, kind: str) -> None:
    content = file.read_bytes()
    file.unlink()
    match kind:
        case "folder": file.mkdir()
        case "link": file.symlink_to("/etc/passwd")
        case "nowhere": file.symlink_to(f"{file}-elsewhere")
        case "missing": return
        case "pipe": os.mkfifo(file, 0o600)
        case _:
            file.touch(0o600)
            file.write_bytes({"zeros": bytes(len(content)), "half": content[: len(content) // 2],
                              "garbage": b"\xff{]\n"}.get(kind, b""))


def state_files(dashboard: Dashboard) -> list[Path]:
    state = dashboard.folder / "state"
    found = [dashboard.folder / "users", *state.glob("*.json"), *state.glob("history/*.jsonl")]
    assert {file.name.split(".")[0] for file in found[:-1]} == {
        "users", "password-links", "screens", "sessions", "alerts", "history-state"}, found
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_pages_stay_up_and_the_way_back_is_said(
    tmp_path: Path, broker: Mosquitto, make_client: MakeClient, kind: str
) -> None:
    client: Client = make_client()
    client.publish("kiosk/k1/status", "online", retain=True)
    dashboard = Dashboard(tmp_path, broker, {}, NOTIFY)
    dashboard.add_user("nora", "admin")
    try:
        dashboard.start()
        admin = WebClient(dashboard.port).log_in("nora", PASSWORDS["nora"])
        eventually(lambda: admin.get("/kiosks/k1").status == 200)
        token = admin.get("/account").csrf_token
        assert admin.post("/kiosks/k1/screens", csrf_token=token, screen="wall", do="create").status == 303
        assert admin.post("/users", csrf_token=token, do="reset", user="vera").status == 200
        wall = re.search(r"/wall/[\w-]{43}", admin.get("/kiosks/k1").text)[0]
        assert dashboard.stop() == 0
        assert dashboard.command("doctor").stdout.startswith("ok: ")
        files = state_files(dashboard)
        for file in files:
            damage(file, kind)

        dashboard.start()
        visitor = WebClient(dashboard.port)
        assert visitor.get(wall).status == 200
        assert "No user can log in: the file of users is damaged." in visitor.get("/login").text
        assert "No user can log in" in visitor.try_password("nora", PASSWORDS["nora"]).text
        health = visitor.get("/health")
        assert (health.status, health.text) == (503, '{"broker":true,"files":false}')
        # Log and doctor name the file of users and the command. The dashboard has replaced other files.
        logged = dashboard.wait_for_log("no user can log in: ")
        found = dashboard.command("doctor")
        assert found.returncode == 65 and f"{dashboard.folder}/users" in found.stdout, found
        restore = re.search(r"to restore its last good copy: ((?:mv .* && )?cp -p .*)$", found.stdout, re.M)[1]
        assert restore in logged
        assert not [line for line in dashboard.log if "failed login" in line]
        # No change replaces the copy, which has all users.
        copy = (dashboard.folder / "users.good").read_bytes()
        for change in (["remove", "vera"], ["passwd", "vera", "--generate"], ["role", "vera", "admin"],
                       ["add", "eve", "--generate"]):
            refused = dashboard.command("user", *change)
            assert refused.returncode and restore in refused.stderr, refused
        assert (dashboard.folder / "users.good").read_bytes() == copy
        subprocess.run(restore, shell=True, check=True)
        admin = WebClient(dashboard.port).log_in("nora", PASSWORDS["nora"])
        for path in ("/", "/routes", "/history", "/users", "/users/audit"):
            assert admin.get(path).status == 200, path
        dashboard.wait_for_log("users: can be read again")
        # The next change of the links replaces their files, too.
        token = admin.get("/account").csrf_token
        assert admin.post("/kiosks/k1/screens", csrf_token=token, screen="wall", do="replace").status == 303
        assert admin.post("/users", csrf_token=token, do="reset", user="vera").status == 200
        assert visitor.get(wall).status == 404
        found = dashboard.command("doctor").stdout
        # A line of the records that is damaged stays, and hides no other.
        assert found.startswith(f"error: line 1 of {files[-1]}" if kind == "garbage" else "ok: "), found
        # A damaged file that is not a whole record is kept.
        for file in files[1:-1]:
            assert os.path.lexists(f"{file}.damaged-1") != (kind == "missing"), file
    finally:
        dashboard.kill()


def test_without_users_the_login_says_so(tmp_path: Path, broker: Mosquitto) -> None:
    dashboard = Dashboard(tmp_path, broker, {})
    try:
        for name in ("minji", "vera"):
            assert dashboard.command("user", "remove", name).returncode == 0
        dashboard.start()
        assert "no user can log in" in dashboard.command("doctor").stdout
        visitor = WebClient(dashboard.port)
        assert "No user can log in: there is no user." in visitor.get("/login").text
        dashboard.add_user("nora", "admin")
        visitor.log_in("nora", PASSWORDS["nora"])
    finally:
        dashboard.kill()
