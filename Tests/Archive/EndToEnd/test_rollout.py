"""The roll-out of a menu to a chain, from the operator's command to the juices that the kiosks sell."""

import json
import os
import random
import re
import signal
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, Callable, Iterator

import paho.mqtt.client as mqtt
import pytest

from archive import Archive
from arrivals import eventually
from chain import Archiver
from client import Client, paho
from cluster import Cluster
from conftest import MakeKiosk
from kiosk import ROOT, Kiosk, environment, program
from mosquitto import Mosquitto
from postgres import Postgres
from proxy import Proxy

GREEN = "menu: {currency: EUR, juices: {green: {en: Green juice, recipe: {kiwi: 2}, price: 3.50}}}"
RED = "menu: {juices: {red: {recipe: {strawberry: 4}}}}"
#: A menu that every kiosk accepts and sells.
BROAD = "menu: {base: standard, juices: {green: {recipe: {kiwi: 2}}}}"
KIWI_BUTTON = {"name": "hall", "device": "generic", "topic": "hall", "buttons": {"press": "kiwi"}}


class Fleet:
    """The operator's command, and the state in the database."""

    def __init__(self, archive: Archive, database: Postgres | Cluster, folder: Path) -> None:
        self.archive, self.database, self.folder = archive, database, folder

    def __call__(self, *arguments: str, code: int = 0) -> str:
        done = self.archive.command("fleet", *arguments)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    def push(self, menu: str, *arguments: str, code: int = 0) -> str:
        file = self.folder / "menu.yaml"
        file.write_text(menu)
        return self("push", str(file), *arguments, code=code)

    def list(self, kiosks: list[str], region: Callable[[str], str] = lambda kiosk: "north") -> None:
        file = self.folder / "kiosks.csv"
        file.write_text("id,region,name,place\n" + "".join(f"{kiosk},{region(kiosk)},,\n" for kiosk in kiosks))
        done = self.archive.command("kiosks", "load", file)
        assert done.returncode == 0, done.stderr

    def query(self, sql: str) -> str:
        return self.database.query(sql)

    def waits_for(self, sql: str, answer: str, within: float = 60) -> None:
        eventually(lambda: self.query(sql) == answer, within)

    def ends(self, state: str, within: float = 60) -> None:
        self.waits_for("SELECT state FROM juice.rollout ORDER BY version DESC LIMIT 1", state, within)

    def has(self, version: int) -> set[str]:
        return set(self.query(f"SELECT kiosk FROM juice.kiosk_menu WHERE version = {version}").split())


@pytest.fixture
def fleet(tmp_path: Path, broker: Mosquitto, server: Postgres) -> Iterator[Fleet]:
    server.query("DROP SCHEMA IF EXISTS juice CASCADE")
    archive = Archive(tmp_path / "archive.yaml", broker, server, root="chain")
    yield Fleet(archive.start(), server, tmp_path)
    archive.kill()


MakeReal = Callable[..., Kiosk]


@pytest.fixture
def make_real(make_kiosk: MakeKiosk, broker: Mosquitto) -> MakeReal:
    """Makes real kiosks with an uplink. All share one broker, so each connection needs its own identifier."""

    def make(name: str, port: int = broker.port, **settings: Any) -> Kiosk:
        uplink = {"addresses": [f"127.0.0.1:{port}"], "root": "chain", "client_id": f"up-{name}"}
        return make_kiosk(kiosk={"id": name}, uplink=uplink, **settings).start()

    return make


def sells(panel: Client, kiosk: str, juice: str) -> bool:
    since = len(panel.messages)
    panel.publish(f"kiosk/{kiosk}/order/p1", juice)
    result = panel.messages.first(lambda m: m.topic == f"kiosk/{kiosk}/order/p1/result", since).json
    return result["status"] == "ready"


def test_a_menu_comes_down(fleet: Fleet, make_real: MakeReal, proxy: Proxy, panel: Client) -> None:
    fleet.list(["k1", "k2", "k3", "k4"], lambda kiosk: "south" if kiosk == "k3" else "north")
    k1 = make_real("k1", proxy.port)
    k2 = make_real("k2")
    make_real("k3")
    make_real("k4", panels=[KIWI_BUTTON])
    fleet.waits_for("SELECT count(*) FROM juice.kiosk_menu WHERE version = 0", "4")

    # A wrong plan changes nothing, and the command prints the reason.
    fleet.push(GREEN, "--first", "100%", "--limit", "50")
    fleet.ends("done")
    assert fleet.has(1) == {"k1", "k2", "k3"}
    status = fleet("status")
    assert "3 of 4 kiosks have it, 1 refused" in status
    assert re.search(r"k4: refused: .*there is no juice 'kiwi' on the menu", status)
    assert sells(panel, "k1", "green") and not sells(panel, "k1", "kiwi") and sells(panel, "k4", "kiwi")

    # A kiosk is killed after it has applied the menu and before it reports this.
    proxy.holds_back = True
    fleet.push(RED, "--region", "north", "--limit", "50%", "--first", "100")
    k1.wait_for_log("menu 2 of the chain is taken")
    k1.stop(signal.SIGKILL)
    proxy.holds_back = False
    fleet.waits_for("SELECT count(*) FROM juice.rollout_kiosk WHERE version = 2 AND status IS NULL", "1")
    assert "running" in fleet("status")
    assert "menu 2 is running: wait for its end" in fleet.push(GREEN, code=65)
    k1.start()
    fleet.ends("done")
    assert fleet.has(2) == {"k1", "k2"} and fleet.has(1) == {"k3"}
    assert sells(panel, "k1", "red")

    # A kiosk that is offline gets the menu after it reconnects.
    k2.stop()
    fleet.push(BROAD, "--timeout", "15", "--limit", "50", "--first", "100")
    fleet.ends("done")
    assert "3 of 4 kiosks have it, 0 refused, 1 silent" in fleet("status")
    k2.start()
    fleet.waits_for("SELECT string_agg(DISTINCT version::text, ' ') FROM juice.kiosk_menu", "3")
    assert "menu 3  done  4 of 4 kiosks have it" in fleet("list")

    # A kiosk that joins the list later gets the menu of the latest completed rollout for its region.
    kiosks = ["k1", "k2", "k3", "k4", "k5"]
    fleet.list(kiosks)
    make_real("k5")
    fleet.waits_for("SELECT version FROM juice.kiosk_menu WHERE kiosk = 'k5'", "3")
    assert "menu 3  done  5 of 5 kiosks have it" in fleet("list")
    in_the_south = lambda kiosk: "south" if kiosk in ("k3", "k7") else "north"
    fleet.list(kiosks, in_the_south)
    fleet.push(GREEN, "--region", "south")
    fleet.ends("done")
    fleet.push(RED)
    fleet("abort")
    fleet.list([*kiosks, "k6", "k7"], in_the_south)
    got = "SELECT string_agg(kiosk || version, ' ' ORDER BY kiosk) FROM juice.rollout_kiosk"
    assert fleet.query(f"{got} WHERE kiosk IN ('k6', 'k7')") == "k63 k74"


def test_a_menu_that_a_kiosk_has_lost_is_sent_again(
    fleet: Fleet, make_client: Callable[..., Client]
) -> None:
    """As with a new SD card. k2 never reports."""
    fleet.list(["k1", "k2"])
    kiosk = make_client("chain/k1/menu/desired")

    def report(version: int, status: str = "taken", **detail: str) -> None:
        kiosk.publish("chain/k1/menu/reported", json.dumps({"version": version, "status": status, **detail}))

    fleet.push(GREEN, "--first", "100", "--timeout", "15", "--limit", "100")
    assert kiosk.messages.first(lambda message: True).json["version"] == 1
    report(1)
    fleet.ends("done")
    # A person aborts the next one; the kiosk had taken it.
    fleet.push(RED, "--first", "100")
    kiosk.messages.first(lambda message: message.json["version"] == 2)
    report(2)
    fleet.waits_for("SELECT status FROM juice.rollout_kiosk WHERE version = 2 AND kiosk = 'k1'", "taken")
    fleet("abort")
    since = len(kiosk.messages)
    report(0, detail="its file is\nmissing")
    assert kiosk.messages.first(lambda message: True, since).json["version"] == 2
    assert "1 kiosks sell by the menus of their own configurations:\n  k1: its file is" in fleet("status")
    assert fleet.query("SELECT kiosk, result FROM juice.rollout_result WHERE version = 2 AND result = 'lost'") == "k1|lost"
    assert fleet.query("SELECT own_menu FROM juice.archive_status") == "1"
    report(2)
    fleet.waits_for("SELECT count(*) FROM juice.own_menu", "0")
    assert "own configurations" not in fleet("status")
    assert fleet.query("SELECT status FROM juice.rollout_kiosk WHERE version = 2 AND kiosk = 'k1'") == "taken"
    # The archive's database was lost; the kiosk would refuse a version below its own.
    fleet.query("DELETE FROM juice.rollout_kiosk; DELETE FROM juice.rollout")
    report(41)
    fleet.waits_for("SELECT version FROM juice.kiosk_menu WHERE kiosk = 'k1'", "41")
    assert "menu 42  running" in fleet.push(GREEN, "--first", "100")


def test_a_kiosk_that_has_lost_its_menu_holds_up_no_rollout(
    fleet: Fleet, make_client: Callable[..., Client]
) -> None:
    """k2 never reports."""
    fleet.list(["k1", "k2"])
    kiosk = make_client("chain/k1/menu/desired")
    fleet.push(GREEN, "--first", "100", "--timeout", "600", "--limit", "100")
    kiosk.messages.first(lambda message: True)
    result = "SELECT result FROM juice.rollout_result WHERE kiosk = 'k1'"
    for version, expected in ((1, "taken"), (0, "lost")):
        kiosk.publish("chain/k1/menu/reported", json.dumps({"version": version, "status": "taken"}))
        fleet.waits_for(result, expected)
    fleet.query("UPDATE juice.rollout_kiosk SET sent = now() - interval '1 hour'")
    fleet.ends("done")
    assert fleet.query(result) == "silent"


def test_what_cannot_be_is_told(fleet: Fleet) -> None:
    assert "there is no roll-out" in fleet("status", code=65)
    assert "there is no kiosk: load a list" in fleet.push(GREEN, code=65)
    fleet.list(["k1"])
    assert "no kiosk in the region south" in fleet.push(GREEN, "--region", "south", code=65)
    assert "kiosks accept at most 65536" in fleet.push("menu: {} # " + '"' * 40_000, code=65)
    example = ROOT / "config/chain-menu.yaml"
    # An error in the archive's configuration is not one in the menu.
    wrong = fleet.folder / "wrong.yaml"
    wrong.write_text("archive: {batch: 0}\n")
    done = Archive(wrong).command("fleet", "push", example)
    assert done.returncode == 78 and "archive.batch" in done.stderr
    assert "0 of 1 kiosks have it" in fleet("push", str(example))
    fleet("pause")
    assert "you cannot pause it" in fleet("pause", code=65)
    fleet("abort")
    assert "aborted" in fleet("list")


def test_a_menu_is_checked_with_the_fruits_of_the_kiosks(fleet: Fleet) -> None:
    fleet.list(["k1", "k2", "k3", "k4"])
    file = fleet.folder / "menu.yaml"
    assert f"{file}:2:1: this is not YAML" in fleet.push("hello: [", code=65)
    assert "there is no such key" in fleet.push("menus: {}", code=65)
    # k1 got kiwi in two steps; k4 has sent nothing, so nothing is known about it.
    fleet.query("""
        INSERT INTO juice.event (kiosk, epoch, seq, at, status, changes) VALUES
            ('k1', 1, 1, now(), 'opened', '{"mango": 0}'), ('k1', 1, 2, now(), 'opened', '{"kiwi": 3}'),
            ('k2', 1, 1, now(), 'opened', '{"kiwi": 5, "orange": 5}'),
            ('k3', 1, 1, now(), 'opened', '{"mango": 0, "orange": 1}'), ('k3', 1, 2, now(), 'ready', '{"kiwi": -1}')""")
    assert "0 of 4 kiosks have it" in fleet.push(GREEN, "--limit", "25")
    fleet("abort")
    # As the kiosk itself says it, for each set of fruits.
    refused = f"k3: {file}:1:66: menu.juices.green.recipe.kiwi: the menu has no such fruit"
    assert "1 of 4 kiosks would refuse the menu, more than 20.0%" in (told := fleet.push(GREEN, "--limit", "20", code=65))
    assert refused in told
    both = "menu: {juices: {both: {recipe: {kiwi: 1, orange: 1}}}}"
    assert "2 of 4 kiosks would refuse" in (told := fleet.push(both, code=65))
    assert "k1: " in told and "k3: " in told and "k2: " not in told
    assert "These will refuse it:\n  k3: " in fleet.push(GREEN, "--limit", "100")
    assert fleet.query("SELECT count(*) FROM juice.rollout") == "2"


def test_an_aborted_rollout_shows_what_it_has_sent(fleet: Fleet, make_client: Callable[..., Client]) -> None:
    fleet.list([f"k{number}" for number in range(5)])
    listener = make_client("chain/+/menu/desired")
    fleet.push(GREEN, "--first", "20", "--timeout", "600")
    first = listener.messages.first(lambda message: True).topic
    fleet("abort")
    assert "0 of 5 kiosks have it, 0 refused, 0 silent, 1 waiting, 4 unsent" in fleet("status")
    # After the timeout as well, and the kiosk's late report counts.
    fleet.query("UPDATE juice.rollout_kiosk SET sent = sent - interval '1 hour'")
    assert "0 refused, 1 silent, 0 waiting, 4 unsent" in fleet("status")
    assert f"{first.split('/')[1]}: silent" in fleet("status")
    # An aborted menu goes to no kiosk again; the one before it does.
    fleet.query("UPDATE juice.rollout_kiosk SET last_sent = last_sent - interval '1 hour'")
    fleet.push(RED, "--first", "100", "--timeout", "600")
    fleet.waits_for("SELECT count(sent) FROM juice.rollout_kiosk WHERE version = 2", "5")
    fleet("abort")
    assert "5 waiting, 0 unsent" in fleet("status")
    # Resumed, it is sent to all of them again, and their time begins again.
    fleet.query("UPDATE juice.rollout_kiosk SET sent = sent - interval '1 hour'")
    fleet("resume", "--limit", "0")
    fleet.waits_for("SELECT count(*) FROM juice.rollout_kiosk WHERE version = 2"
                    " AND sent > now() - interval '1 minute' AND last_sent > sent - interval '1 minute'", "5")
    assert "menu 2  running" in fleet("status")


def test_a_stopped_rollout_does_not_hold_up_the_next(fleet: Fleet) -> None:
    fleet.list(["k1", "k2"])
    assert "--first is more than 0" in fleet.push(GREEN, "--first", "0", code=64)
    fleet.push(GREEN)
    fleet("pause")
    assert "menu 1 is paused: resume it or abort it" in fleet.push(RED, code=65)
    fleet.query("UPDATE juice.rollout SET state = 'stopped'")
    assert "menu 2  running" in fleet.push(BROAD)
    assert "menu 1  aborted" in fleet("list")
    assert fleet.query("SELECT count(last_sent) FROM juice.rollout_kiosk WHERE version = 1") == "0"


def test_a_list_that_lacks_most_kiosks_needs_a_word(fleet: Fleet) -> None:
    fleet.list(["k1", "k2", "k3"])
    file = fleet.folder / "kiosks.csv"
    file.write_text("id,region,name,place\n")
    done = fleet.archive.command("kiosks", "load", file)
    assert done.returncode == 65 and "lacks 3 of the 3 that are loaded" in done.stderr and "--remove" in done.stderr
    assert fleet.query("SELECT count(*) FROM juice.kiosk") == "3"
    fleet.list(["k1", "k2"])
    file.write_text("id,region,name,place\n")
    assert "2 removed" in fleet.archive.command("kiosks", "load", "--remove", file).stdout


class Crowd:
    """Simulated kiosks on one connection, which publish on the same topics as real ones."""

    def __init__(self, port: int, kiosks: set[str], broken: set[str]) -> None:
        self.kiosks, self.broken = kiosks, broken
        self.sells_by = dict.fromkeys(kiosks, 0)
        self._subscribed = threading.Event()
        self.client = paho("crowd", protocol=mqtt.MQTTv5)
        self.client.max_queued_messages_set(0)
        self.client.on_message = lambda *arguments: self._hear(arguments[-1])
        self.client.on_subscribe = lambda *_: self._subscribed.set()
        self.client.connect("127.0.0.1", port)
        self.client.subscribe("chain/+/menu/desired", 0)
        self.client.loop_start()
        assert self._subscribed.wait(60)

    def _hear(self, message: mqtt.MQTTMessage) -> None:
        kiosk = message.topic.split("/")[1]
        if kiosk not in self.kiosks:
            return
        version = json.loads(message.payload)["version"]
        report: dict[str, Any] = {"version": version, "status": "taken"}
        if kiosk in self.broken and b"base: standard" not in message.payload:
            report = {"version": version, "status": "refused", "detail": "the menu has no such fruit"}
        else:
            self.sells_by[kiosk] = version
        self.client.publish(f"chain/{kiosk}/menu/reported", json.dumps(report), 1)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def test_a_kiosk_that_is_listed_during_a_rollout_gets_the_menu_before_it(fleet: Fleet, broker: Mosquitto) -> None:
    kiosks = ["k1", "k2", "k3"]
    crowd = Crowd(broker.port, {*kiosks, "k9"}, set())
    try:
        fleet.list(kiosks)
        fleet.push(GREEN, "--first", "100")
        fleet.ends("done")
        # The first kiosk gets it at once, the others later.
        fleet.push(RED, "--rate", "1")
        fleet("pause")
        fleet.list([*kiosks, "k9"])
        joined = "SELECT string_agg(version::text, ' ' ORDER BY version) FROM juice.rollout_kiosk WHERE kiosk = 'k9'"
        assert fleet.query(joined) == "1 2"
        fleet("abort")
        eventually(lambda: "k9" in fleet.has(1))
    finally:
        crowd.close()


def test_an_outage_does_not_stop_a_rollout(fleet: Fleet, broker: Mosquitto) -> None:
    fleet.list(["k1", "k2"])
    fleet.push(GREEN, "--first", "100")
    fleet.waits_for("SELECT count(*) FROM juice.rollout_kiosk WHERE last_sent > sent - interval '1 minute'", "2")
    since = len(fleet.archive.log)
    broker.stop()
    fleet.archive.wait_for_log("waiting for it", since)
    # It lasts an hour, longer than the timeout.
    hour = "interval '1 hour'"
    fleet.query(f"UPDATE juice.rollout_kiosk SET sent = sent - {hour}, last_sent = last_sent - {hour}")
    assert "2 silent" in fleet("status")
    broker.start()
    crowd = Crowd(broker.port, {"k1", "k2"}, set())
    try:
        fleet.archive.wait_for_log("archiving", since)
        fleet.ends("done")
        assert "2 of 2 kiosks have it" in fleet("status")
    finally:
        crowd.close()


takes_long = pytest.mark.skipif(
    "KIOSK_CHAIN" not in os.environ, reason="takes minutes: deploy/test --chain")


@takes_long
def test_a_menu_comes_down_through_the_cluster(
    tmp_path: Path, broker: Mosquitto, make_kiosk: MakeKiosk, panel: Client
) -> None:
    """Runs with the permissions of the accounts that it creates."""
    names = {"k1", "k2"}
    with closing(Cluster()) as cluster:
        cluster.start().accounts(names)
        archive = Archiver(tmp_path / "archive.yaml", cluster)
        try:
            archive.start()
            fleet = Fleet(archive, cluster, tmp_path)
            fleet.list(sorted(names))
            for name in names:
                make_kiosk(kiosk={"id": name}, uplink=cluster.uplink(name)).start()
            fleet.waits_for("SELECT count(*) FROM juice.kiosk_menu WHERE version = 0", "2")
            fleet.push(GREEN)
            fleet.ends("done")
            assert fleet.has(1) == names
            assert all(sells(panel, name, "green") for name in names)
        finally:
            archive.kill()


@takes_long
def test_a_menu_that_is_bad_for_three_in_a_hundred(
    fleet: Fleet, make_real: MakeReal, broker: Mosquitto, panel: Client
) -> None:
    """1,000 kiosks: 10 run the real daemon, the others are simulated on one connection."""
    names = [f"k{number:04}" for number in range(1000)]
    real = set(names[:10])
    chance = random.Random(19)
    # One of the real kiosks is among those that refuse the menu.
    bad = set(chance.sample(names[10:], 29)) | {names[0]}
    fleet.list(names)
    crowd = Crowd(broker.port, set(names) - real, bad)
    for name in sorted(real):
        make_real(name, panels=[KIWI_BUTTON] if name in bad else [])
    try:
        fleet.push(GREEN, "--first", "5%", "--rate", "3000", "--limit", "2%", "--timeout", "60")
        # It stops automatically soon after it exceeds the limit.
        fleet.ends("stopped", 120)
        fleet.waits_for("SELECT count(*) FROM juice.rollout_kiosk WHERE sent IS NOT NULL AND status IS NULL", "0")
        sent, refused = (int(fleet.query(
            f"SELECT count(*) FROM juice.rollout_kiosk WHERE {what}")) for what in ("sent IS NOT NULL", "status = 'refused'"))
        print(f"stopped with {refused} refused of {sent}")
        assert 0.02 * sent < refused and sent < 1000

        # The kiosks that accepted the menu have it; the others kept theirs.
        def check(version: int) -> None:
            reached = set(fleet.query(
                f"SELECT kiosk FROM juice.rollout_kiosk WHERE version = {version} AND sent IS NOT NULL").split())
            assert fleet.has(version) == reached - bad
            assert {name for name, sold in crowd.sells_by.items() if sold == version} == reached - bad - real
            for name in real:
                assert sells(panel, name, "green") == (name in reached - bad)

        check(1)
        assert "more than 2.0%" in fleet("resume", code=65)
        # After the abort, no kiosk gets the menu. After the resume, all others do.
        fleet("abort")
        check(1)
        fleet("resume", "--limit", "10%")
        # The archiver is killed meanwhile.
        fleet.waits_for("SELECT count(*) > 300 FROM juice.rollout_kiosk WHERE sent IS NOT NULL", "t")
        fleet.archive.stop(signal.SIGKILL)
        fleet.archive.start()
        fleet.ends("done", 120)
        assert fleet("status").startswith("menu 1  done  970 of 1000 kiosks have it, 30 refused, 0 silent")
        check(1)
        # A menu that all kiosks accept also updates those that refused.
        fleet.push(BROAD, "--first", "5", "--rate", "6000")
        fleet.ends("done", 120)
        assert fleet.has(2) == set(names)
    finally:
        crowd.close()


def test_a_menu_is_checked_on_the_configuration_of_a_kiosk(tmp_path: Path) -> None:
    own, menu = tmp_path / "kiosk.yaml", tmp_path / "menu.yaml"
    own.write_text(json.dumps({"panels": [KIWI_BUTTON]}))
    menu.write_text(GREEN)

    def check(menu: Path, config: Path) -> subprocess.CompletedProcess:
        return subprocess.run(
            [program(), "check", "--menu", menu, "--config", config], capture_output=True, text=True,
            env=environment())

    refused = check(menu, own)
    assert refused.returncode == 65 and "there is no juice 'kiwi' on the menu" in refused.stderr
    menu.write_text("menu: {juices: {tea: {recipe: {tea: 3}}}}")
    refused = check(menu, own)
    assert f"{menu}:1:32: menu.juices.tea.recipe.tea: the menu has no such fruit" in refused.stderr
    assert "menu 1" not in refused.stderr
    fits = check(ROOT / "config/chain-menu.yaml", ROOT / "config/kiosk.yaml")
    assert fits.returncode == 0 and "The configuration is good." in fits.stdout and "menu 1" not in fits.stdout
