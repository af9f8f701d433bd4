"""Notifications by mail and by HTTP: each one is delivered once, even if processes or networks fail."""

import json
import os
import re
import signal
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import handbook
from arrivals import TIMEOUT, eventually
from client import Client
from conftest import MakeClient, MakeDashboard, MakeKiosk, factory, folders
from dashboard import PASSWORDS, Dashboard
from kiosk import ROOT
from mosquitto import Mosquitto
from ports import free_port
from receivers import ACCOUNT, TOKEN, Authority, Hook, Mailbox
from web_client import WebClient

LINK = "https://juice.example/kiosks"
#: The quiet period in seconds; the default is sixty.
QUIET = 1
#: A URL at which no server listens.
NOBODY = [{"url": "http://127.0.0.1:9/"}]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture
def make_mailbox(authority: Authority) -> Iterator[Callable[..., Mailbox]]:
    yield from factory(partial(Mailbox, authority), Mailbox.stop, Mailbox.start)


@pytest.fixture
def mailbox(make_mailbox: Callable[..., Mailbox]) -> Mailbox:
    return make_mailbox()


@pytest.fixture
def make_hook(authority: Authority) -> Iterator[Callable[..., Hook]]:
    def make(is_encrypted: bool = True) -> Hook:
        return Hook(authority if is_encrypted else None)

    yield from factory(make, Hook.stop, Hook.start)


@pytest.fixture
def hook(make_hook: Callable[..., Hook]) -> Hook:
    return make_hook()


@pytest.fixture
def make_dashboard(tmp_path: Path, broker: Mosquitto) -> Iterator[MakeDashboard]:
    """Makes dashboards that are configured, but not started. `post` is one webhook or more; the other settings are
    those of `notify`."""
    folder = folders(tmp_path, "dashboard")
    notify = {"link": "https://juice.example", "offline_minutes": 0, "quiet_seconds": QUIET}
    yield from factory(
        lambda **settings: Dashboard(next(folder), broker, {}, notify | settings), Dashboard.kill)


def by_mail(box: Mailbox, **changes: Any) -> dict[str, Any]:
    return {
        "host": "127.0.0.1", "port": box.port, "ca_file": str(box.authority.file),
        "from": "kiosks@juice.example", "to": ["minji@example.com"], "username": ACCOUNT[0],
        "password_file": box.authority.secret(ACCOUNT[1]),
    } | changes


def by_post(hook: Hook, **changes: Any) -> dict[str, Any]:
    trust = {"ca_file": str(hook.authority.file)} if hook.authority else {}
    return {"url": f"{hook.url}/kiosks"} | trust | changes


def configure(dashboard: Dashboard, **settings: Any) -> None:
    """Replaces the notification settings."""
    configured = json.loads(dashboard.config.read_text())
    kept = {key: each for key, each in configured["notify"].items() if key not in ("email", "post")}
    dashboard.config.write_text(json.dumps(configured | {"notify": kept | settings}))


class Fleet:
    """Simulated kiosks, which publish on their topics."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def tell(self, topic: str, payload: str | dict[str, Any]) -> None:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        self.client.publish(f"kiosk/{topic}", text, retain=True)

    def online(self, *kiosks: str) -> None:
        for kiosk in kiosks:
            self.tell(f"{kiosk}/status", "online")


@pytest.fixture
def fleet(make_client: MakeClient) -> Fleet:
    fleet = Fleet(make_client())
    fleet.online("k1")
    return fleet


def lines(texts: list[str]) -> list[str]:
    """Returns the reported alerts in their order."""
    return [
        re.sub(r", (for|after) [^,]*$", "", line) for text in texts for line in text.splitlines()
        if line and not line.startswith(("http", "This message is"))
    ]


def by_all(hook: Hook) -> list[str]:
    return lines([post.text for post in hook.posts])


def test_each_trouble_is_told_once_and_once_that_it_is_over(
    make_dashboard: MakeDashboard, mailbox: Mailbox, hook: Hook, authority: Authority, fleet: Fleet,
    make_kiosk: MakeKiosk, make_client: MakeClient,
) -> None:
    fleet.online("k2")
    fleet.tell("k2/info", {
        "version": "1", "started_at": "2026-11-21T09:00:00Z", "name": {"ko": "강남역"}})
    make_dashboard(
        email=by_mail(mailbox, to=["minji@example.com", "jun@example.com"]),
        post=[
            by_post(hook, token_file=authority.secret(TOKEN)),
            {"url_file": authority.secret(f"{hook.url}/hidden"), "format": "json",
             "ca_file": str(authority.file)},
        ],
    ).start()

    def told(kiosk: str, expected: str) -> None:
        """Checks that each receiver got this notification, and no other one since the last check."""
        since = len(told_lines)
        told_lines.append(expected)
        for address in ("minji@example.com", "jun@example.com"):
            mails = lambda: [mail for mail in mailbox.mails if mail.recipients == [address]]
            eventually(lambda: len(lines([mail.text for mail in mails()])) > since)
            assert lines([mail.text for mail in mails()]) == told_lines
            mail = mails()[-1]
            assert mail.subject == expected and f"{LINK}/{kiosk}" in mail.text
            # A strict server rejects a name without a domain.
            assert "." in mail.helo
            assert mail.head["To"] == address and mail.id.endswith("@juice.example>")
        for path in ("/kiosks", "/hidden"):
            posts = lambda: [post for post in hook.posts if post.path == path]
            eventually(lambda: len(lines([post.text for post in posts()])) > since)
            assert lines([post.text for post in posts()]) == told_lines
            assert f"{LINK}/{kiosk}" in posts()[-1].text
            token = posts()[-1].headers.get("Authorization")
            assert token == (f"Bearer {TOKEN}" if path == "/kiosks" else None)

    told_lines: list[str] = []
    # A real kiosk, until its last kiwi.
    kiosk = make_kiosk(kiosk={"name": "Town hall"}, stock={"initial": 16}).start()
    panel = make_client("kiosk/k1/#")
    assert panel.restock({"id": "r1", "set": {"kiwi": 3}})["status"] == "applied"
    assert panel.order("kiwi")["status"] == "ready"
    told(
        "k1?fruit=kiwi", "Town hall: Kiwi is out (not for sale: Kiwi juice, Mango kiwi juice)")
    assert panel.restock({"id": "r2", "set": {"kiwi": 90}})["status"] == "applied"
    told("k1", "Town hall: Kiwi is back in stock")
    kiosk.stop(signal.SIGKILL)
    told("k1", "Town hall: offline")
    kiosk.start()
    told("k1", "Town hall: online again")
    machine = {"state": "fault", "reason": "no cups", "queue": 0, "jobs": [], "ready": []}
    fleet.tell("k2/machine/bar", machine)
    told("k2", "강남역: machine bar: out of order (no cups)")
    asked = {"job": 7, "ticket": 3, "juice": "kiwi", "quantity": 1, "state": "needs_decision",
             "at": "2026-11-21T09:00:00Z"}
    fleet.tell("k2/machine/bar", machine | {"jobs": [asked]})
    told("k2", "강남역: ticket 3 needs a decision")
    fleet.tell("k2/machine/bar", machine)
    told("k2", "강남역: ticket 3 is decided")
    fleet.tell("k2/machine/bar", machine | {"state": "idle"})
    told("k2", "강남역: machine bar works again")


def test_a_user_gets_only_the_chosen_messages(
    make_dashboard: MakeDashboard, mailbox: Mailbox, fleet: Fleet
) -> None:
    fleet.online("k2")
    dashboard = make_dashboard(email=by_mail(mailbox)).start()
    vera = WebClient(dashboard.port).log_in("vera", PASSWORDS["vera"])
    chosen = {"kind.offline": "1", "kiosks": "some", "kiosk.k2": "1"}
    saved = vera.post(
        "/account/messages", csrf_token=vera.get("/account/messages").csrf_token, do="save",
        address="vera@example.com", **chosen)
    assert "Saved" in saved.text
    for kiosk in ("k1", "k2"):
        fleet.tell(f"{kiosk}/status", "offline")
    mail = mailbox.mails.first(lambda mail: mail.recipients == ["vera@example.com"])
    assert lines([mail.text]) == ["k2: offline"]
    eventually(lambda: "k2: offline" in vera.get("/account/messages").text)
    assert "k1: offline" not in vera.get("/account/messages").text
    # The receiver has the message; the disk follows within milliseconds.
    state = dashboard.folder / "state/alerts-vera.json"
    eventually(lambda: not json.loads(state.read_text())["messages"])
    # A restarted dashboard repeats nothing, and sends the end.
    dashboard.stop(signal.SIGKILL)
    dashboard.start()
    fleet.online("k2")
    mailbox.mails.first(
        lambda mail: mail.recipients == ["vera@example.com"] and "online again" in mail.text)
    texts = [mail.text for mail in mailbox.mails if mail.recipients == ["vera@example.com"]]
    assert lines(texts) == ["k2: offline", "k2: online again"]


def test_killed_at_any_moment_it_tells_once(
    make_dashboard: MakeDashboard, hook: Hook, fleet: Fleet
) -> None:
    dashboard = make_dashboard(post=[by_post(hook)])
    for number in range(4):
        dashboard.start()
        fleet.tell(f"k1/alert/fruit{number}", "out")
        hook.posts.first(lambda post: f"fruit{number} is out" in post.text)
        # The receiver has the message; the disk follows within milliseconds.
        eventually(lambda: not json.loads((dashboard.folder / "state/alerts.json").read_text())["messages"])
        dashboard.stop(signal.SIGKILL)
    dashboard.start()
    fleet.tell("k1/status", "offline")
    hook.posts.first(lambda post: "offline" in post.text)
    assert by_all(hook) == [f"k1: fruit{number} is out" for number in range(4)] + ["k1: offline"]


def test_killed_before_it_hears_that_a_mail_was_taken_it_sends_the_same_again(
    make_dashboard: MakeDashboard, mailbox: Mailbox, hook: Hook, fleet: Fleet
) -> None:
    dashboard = make_dashboard(email=by_mail(mailbox), post=[by_post(hook)])
    dashboard.start()

    def kill() -> None:
        mailbox.before_answer = lambda: None
        # The other receiver is already done.
        eventually(lambda: "post 1" not in (dashboard.folder / "state/alerts.json").read_text())
        dashboard.stop(signal.SIGKILL)

    mailbox.before_answer = kill
    fleet.tell("k1/alert/kiwi", "out")
    mailbox.mails.first(lambda mail: "kiwi is out" in mail.text)
    eventually(lambda: dashboard.process is None)
    dashboard.start()
    mailbox.mails.first(lambda mail: "kiwi is out" in mail.text, since=1)
    fleet.tell("k1/alert/kiwi", "ok")
    mailbox.mails.first(lambda mail: "kiwi is back in stock" in mail.text)
    mails = list(mailbox.mails)
    assert len(mails) == 3 and mails[0].id == mails[1].id != mails[2].id
    hook.posts.first(lambda post: "back in stock" in post.text)
    assert by_all(hook) == ["k1: kiwi is out", "k1: kiwi is back in stock"]


def test_killed_before_it_could_send_it_sends_after_the_restart(
    make_dashboard: MakeDashboard, hook: Hook, fleet: Fleet
) -> None:
    hook.status = 503
    dashboard = make_dashboard(post=[by_post(hook)]).start()
    fleet.tell("k1/alert/kiwi", "out")
    hook.attempts.until(lambda: len(hook.attempts) > 0)
    dashboard.stop(signal.SIGKILL)
    # It was resolved before the message was delivered: both messages are delivered.
    fleet.tell("k1/alert/kiwi", "ok")
    hook.status = 200
    dashboard.start()
    hook.posts.first(lambda post: "back in stock" in post.text)
    assert by_all(hook) == ["k1: kiwi is out", "k1: kiwi is back in stock"]


def test_what_is_given_up_does_not_count_as_sent(
    make_dashboard: MakeDashboard, hook: Hook, fleet: Fleet
) -> None:
    """The clock is set right by two days while a message waits for its receiver."""
    hook.status = 503
    dashboard = make_dashboard(post=[by_post(hook)]).start()
    fleet.tell("k1/alert/kiwi", "out")
    hook.attempts.until(lambda: len(hook.attempts) > 0)
    dashboard.stop(signal.SIGKILL)
    file = dashboard.folder / "state/alerts.json"
    saved = json.loads(file.read_text())
    [waiting] = saved["messages"]
    waiting["at"] = "2026-01-01T00:00:00Z"
    file.write_text(json.dumps(saved))
    hook.status = 200
    dashboard.start()
    dashboard.log.first(lambda line: "could not be delivered for a day: what is still true is sent anew" in line)
    hook.posts.first(lambda post: "kiwi is out" in post.text)
    fleet.tell("k1/alert/kiwi", "ok")
    hook.posts.first(lambda post: "back in stock" in post.text)
    assert by_all(hook) == ["k1: kiwi is out", "k1: kiwi is back in stock"]


def test_nothing_is_told_at_first_and_nothing_that_was_told(
    make_dashboard: MakeDashboard, hook: Hook, fleet: Fleet
) -> None:
    fleet.tell("k1/alert/kiwi", "out")
    fleet.tell("k2/status", "offline")
    dashboard = make_dashboard(post=[by_post(hook)], quiet_seconds=3)
    for expected in (["k2: offline", "k1: kiwi is out"], ["k1: mango is out"]):
        before, since = time.monotonic(), len(hook.posts)
        dashboard.start()
        if since:
            fleet.tell("k1/alert/mango", "out")
        post = hook.posts.first(lambda _: True, since)
        assert time.monotonic() - before >= 3
        assert lines([post.text]) == expected
        dashboard.stop(signal.SIGKILL if since else signal.SIGTERM)
    assert len(hook.posts) == 2


def test_a_power_cut_is_one_message(
    make_dashboard: MakeDashboard, hook: Hook, fleet: Fleet
) -> None:
    kiosks = [f"k{number}" for number in range(10, 30)]
    fleet.online(*kiosks)
    dashboard = make_dashboard(post=[by_post(hook)], quiet_seconds=6).start()
    dashboard.log.first(lambda line: " online" in line)
    # Without waiting for each acknowledgement, so that they are within the quiet period.
    sent = [fleet.client.client.publish(f"kiosk/{kiosk}/status", "offline", 1, True) for kiosk in kiosks]
    sent[-1].wait_for_publish(TIMEOUT)
    hook.posts.first(lambda _: True)
    assert by_all(hook) == [f"{kiosk}: offline" for kiosk in kiosks]
    assert len(hook.posts) == 1


def test_a_broker_that_is_away_is_told_instead_of_its_kiosks(
    make_dashboard: MakeDashboard, broker: Mosquitto, hook: Hook, fleet: Fleet
) -> None:
    make_dashboard(post=[by_post(hook)]).start()
    fleet.tell("k1/alert/kiwi", "out")
    hook.posts.first(lambda post: "kiwi" in post.text)
    broker.stop()
    hook.posts.first(lambda post: "broker" in post.text)
    broker.start()
    fleet.client.wait_until_subscribed()
    hook.posts.first(lambda post: "broker is reachable again" in post.text)
    fleet.tell("k1/status", "offline")
    hook.posts.first(lambda post: "k1: offline" in post.text)
    assert by_all(hook) == [
        "k1: kiwi is out", "The dashboard cannot reach its broker", "The broker is reachable again",
        "k1: offline",
    ]


def test_a_receiver_that_is_away_holds_up_nobody_and_gets_it_later(
    make_dashboard: MakeDashboard, mailbox: Mailbox, make_hook: Callable[..., Hook], fleet: Fleet
) -> None:
    stuck, broken = make_hook(), make_hook(is_encrypted=False)
    stuck.is_stuck.set()
    broken.status, broken.answer = 500, b"database \x1b[31m is\r\nlocked"
    dashboard = make_dashboard(
        email=by_mail(mailbox), post=[by_post(stuck), by_post(broken)]).start()
    for fruit in ("kiwi", "mango", "banana"):
        fleet.tell(f"k1/alert/{fruit}", "out")
        # A working receiver is notified while one hangs and one fails.
        mailbox.mails.first(lambda mail: f"{fruit} is out" in mail.text)
    assert len(stuck.attempts) == 1
    broken.attempts.until(lambda: len(broken.attempts) >= 4)
    complaints = [line for line in dashboard.log if "trying again" in line]
    assert len(complaints) == 1 and "HTTP 500: database" in complaints[0], complaints
    assert "\x1b" not in complaints[0]
    broken.status = 200
    broken.posts.first(lambda post: "banana" in post.text)
    assert by_all(broken) == [f"k1: {fruit} is out" for fruit in ("kiwi", "mango", "banana")]
    assert len({post.headers["Idempotency-Key"] for post in broken.posts}) == 3
    dashboard.log.first(lambda line: line.endswith("post 2 to 127.0.0.1: works again"))
    # The shutdown is immediate even if a receiver hangs.
    assert dashboard.stop() == 0


def test_a_reload_while_the_state_cannot_be_stored_ends_no_notifications(
    make_dashboard: MakeDashboard, hook: Hook, fleet: Fleet
) -> None:
    dashboard = make_dashboard(post=[by_post(hook)]).start()
    # The name of the file that replaces alerts.json.
    (dashboard.folder / "state/alerts.json.new").mkdir()
    fleet.tell("k1/alert/kiwi", "out")
    hook.posts.first(lambda post: "kiwi is out" in post.text)
    dashboard.process.send_signal(signal.SIGHUP)
    dashboard.wait_for_log("the new configuration is taken")
    # Only the memory of the program has the alert that ends now.
    fleet.tell("k1/alert/kiwi", "ok")
    hook.posts.first(lambda post: "back in stock" in post.text)


def test_a_mail_that_is_refused_keeps_no_other_back(
    make_dashboard: MakeDashboard, mailbox: Mailbox, fleet: Fleet
) -> None:
    dashboard = make_dashboard(
        email=by_mail(mailbox, to=["nobody@example.com", "jun@example.com"]))
    mailbox.refusal = "554 5.7.1 looks like spam"
    dashboard.start()
    fleet.tell("k1/alert/kiwi", "out")
    dashboard.log.first(lambda line: "looks like spam" in line)
    dashboard.log.first(lambda line: "mail to nobody@example.com" in line and "no such user" in line)
    mailbox.refusal = ""
    mailbox.mails.first(lambda mail: "kiwi is out" in mail.text)
    assert {tuple(mail.recipients) for mail in mailbox.mails} == {("jun@example.com",)}


HOSTILE = "\r\nBcc: all@example.com\r\n\r\n.\r\nQUIT\r\n<!channel>\u202e\u2028=?utf-8?Q?x?="


def test_no_name_becomes_a_header(
    make_dashboard: MakeDashboard, mailbox: Mailbox, hook: Hook, fleet: Fleet
) -> None:
    make_dashboard(
        email=by_mail(mailbox), post=[by_post(hook, format="json")]).start()
    fleet.tell("k1/info", {
        "version": "1", "started_at": "2026-11-21T09:00:00Z", "name": {"en": f"k1{HOSTILE}"}})
    fleet.tell("k1/menu", {
        "fruits": [{"id": "kiwi", "name": {"en": f"kiwi{HOSTILE}"}}],
        "juices": [{"id": "kiwi", "recipe": {"kiwi": 3}}]})
    fleet.tell("k1/machine/bar", {
        "state": "fault", "reason": f"jam{HOSTILE}", "queue": 0, "jobs": [], "ready": []})
    fleet.tell("k1/alert/kiwi", "out")
    mail = mailbox.mails.first(lambda mail: "kiwi" in mail.text)
    post = hook.posts.first(lambda post: "kiwi" in post.text)
    for mail in mailbox.mails:
        assert mail.recipients == ["minji@example.com"]
        assert sorted(mail.head.keys()) == sorted([
            "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version",
            "Content-Type", "Content-Transfer-Encoding"])
        assert mail.raw.isascii() and max(map(len, mail.raw.split(b"\r\n"))) <= 76
        assert mail.head.defects == [] and "Bcc" in mail.subject
    for text in (mail.text, post.text):
        # One line for the alert and one for its link; no control characters.
        assert all(
            line.startswith(("k1", "https://juice.example/kiosks/k1"))
            for line in text.split("\n") if line), text
        assert not {"\r", "\u202e", "\u2028"} & set(text)
    assert "<" not in post.text and "‹!channel›" in post.text


# MARK: juice-dashboard notify --test

def test_trying_out_says_that_it_was_sent(
    make_dashboard: MakeDashboard, make_mailbox: Callable[..., Mailbox], make_hook: Callable[..., Hook]
) -> None:
    hook, dashboard = make_hook(), make_dashboard(language="ko", post=NOBODY)
    # The rest of an overlong answer is not read.
    hook.answer = b"x" * 10_000_000
    for mode in ("starttls", "implicit", "none"):
        box = make_mailbox(mode)
        mail = by_mail(box, tls=mode)
        if mode == "none":
            del mail["username"], mail["password_file"]
        configure(dashboard, email=mail, post=[by_post(hook)])
        (block,) = handbook.run_by("test_trying_out_says_that_it_was_sent")
        done = dashboard.command(*block.script.split()[1:])
        assert (done.returncode, done.stderr) == (0, ""), (mode, done.stdout)
        assert done.stdout.splitlines() == [
            "mail to minji@example.com: sent", "post 1 to 127.0.0.1: sent"]
        mail_sent = box.mails.first(lambda _: True)
        assert mail_sent.subject == "테스트"
        assert "https://juice.example/" in mail_sent.text
    assert len(hook.posts) == 3
    assert not (dashboard.folder / "state").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED, only root can give a file to another user")
def test_a_password_is_read_as_the_page_installs_it(
    make_dashboard: MakeDashboard, mailbox: Mailbox, tmp_path: Path
) -> None:
    mail, installed = by_mail(mailbox), tmp_path / "mail-password"
    page = (ROOT / "deploy/docs/dashboard.md").read_text()
    (options,) = re.findall(r"^install (.*) mail-password /etc/juice-dashboard/mail-password$", page, re.M)
    # A user of each Debian takes the place of the service's.
    options = options.replace("juice-dashboard", "daemon").split()
    subprocess.run(["install", *options, mail["password_file"], installed], check=True)
    assert installed.owner() == "daemon"
    dashboard = make_dashboard(email=mail | {"password_file": str(installed)})
    done = dashboard.command("notify", "--test")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_trying_out_says_what_is_wrong(
    make_dashboard: MakeDashboard, make_mailbox: Callable[..., Mailbox],
    make_hook: Callable[..., Hook], authority: Authority, tmp_path: Path,
) -> None:
    mailbox, plain, hook = make_mailbox(), make_mailbox("none"), make_hook()
    other = Authority(tmp_path / "other")
    closed, away = free_port(), make_hook()
    away.status = 302

    def mail(**changes: Any) -> dict[str, Any]:
        return {"email": by_mail(mailbox, **changes)}

    def post(hook: Hook, **changes: Any) -> dict[str, Any]:
        return {"post": [by_post(hook, **changes)]}

    wrong: list[tuple[dict[str, Any], str]] = [
        (mail(password_file=authority.secret("wrong")), "does not accept the account or its password"),
        (mail(ca_file=str(other.file)), "no encrypted connection that can be trusted"),
        (mail(host="localhost"), "no encrypted connection that can be trusted"),
        (mail(port=closed), "connect to server"),
        (mail(port=plain.port), "no encrypted connection that can be trusted"),
        (mail(to=["nobody@example.com"]), "550 5.1.1 no such user"),
        (mail(host="nowhere.invalid"), "Could not resolve host"),
        (post(hook, ca_file=str(other.file)), "no encrypted connection that can be trusted"),
        (post(away), "HTTP 302"),
    ]
    dashboard = make_dashboard(post=NOBODY)
    for settings, words in wrong:
        configure(dashboard, **settings)
        done = dashboard.command("notify", "--test")
        assert (done.returncode, words in done.stdout) == (69, True), (words, done.stdout, done.stderr)
        assert done.stderr == "juice-dashboard: 1 of 1 messages were not delivered\n"
        assert ACCOUNT[1] not in done.stdout
    assert len(mailbox.mails) == len(plain.mails) == len(hook.posts) == len(away.posts) == 0
    assert list(away.attempts) == ["/kiosks"]

    readable = authority.secret(TOKEN)
    Path(readable).chmod(0o644)
    for settings, words in (
        (mail(password_file=readable), "can be read by others than its owner"),
        (mail(password_file=str(tmp_path / "none")), "there is no such file"),
        ({"post": [{"url_file": authority.secret("file:///etc/passwd")}]}, "contains no valid address"),
        (post(hook, token_file=authority.secret("a\r\nX-Evil: b")), "contains more than a token"),
        ({}, "has no receiver"),
    ):
        configure(dashboard, **settings)
        for command in ("notify", "--test"), ("run",):
            done = dashboard.command(*command)
            assert (done.returncode, words in done.stderr) == (78, True), (words, done.stderr)
    assert dashboard.command("notify").returncode == 64
