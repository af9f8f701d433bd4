"""A complete chain with TLS and accounts: kiosks, three nodes of RabbitMQ, an archive and PostgreSQL."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import Callable, Iterator

import paho.mqtt.client as mqtt
import pytest

import archive as archives
from archive import Archive, event, tell
from arrivals import TIMEOUT, eventually
from client import Client, paho
from cluster import Cluster
from conftest import MakeKiosk
from kiosk import Kiosk
from test_readme import Command, Copy

pytestmark = pytest.mark.skipif("KIOSK_CHAIN" not in os.environ, reason="deploy/test --chain runs it")

#: Maximum number of events in the archive's queue.
LIMIT = 1000


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    cluster = Cluster(session_limit=LIMIT)
    try:
        cluster.start()
        cluster.accounts(["k1", "k2"])
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def cluster(running: Cluster) -> Cluster:
    """The running cluster with all of its parts."""
    return running.start()


@pytest.fixture
def archive(cluster: Cluster) -> Iterator[Archive]:
    archive = Archive(cluster.folder / "archive.yaml")
    yield archive
    archive.kill()


class Account:
    """Performs single operations and returns whether the brokers permit them."""

    def __init__(self, cluster: Cluster, name: str, node: str = "node1", **options: str) -> None:
        file = cluster.password_file(name if name in ("archive", "operator") else f"kiosks/{name}")
        self.name = name
        self.client_id = options.get("client_id", f"juice-kiosk-{name}-uplink-1")
        self.login = (name, options.get("password", file.read_text().strip() if file.exists() else "none"))
        self.cluster, self.node = cluster, node

    def _does(self, act: Callable[[mqtt.Client], object]) -> bool:
        over = threading.Event()
        is_allowed = False

        def allowed(*_: object) -> None:
            nonlocal is_allowed
            is_allowed = True
            over.set()

        def subscribed(client: mqtt.Client, data: object, number: int, granted: tuple[int, ...]) -> None:
            allowed() if granted[0] < 128 else over.set()

        client = paho(self.client_id, protocol=mqtt.MQTTv311)
        client.username_pw_set(*self.login)
        client.tls_set(str(self.cluster.authority))
        client.on_connect = lambda _, data, flags, code: act(client) if code == 0 else over.set()
        client.on_disconnect = lambda *_: over.set()
        client.on_publish = allowed
        client.on_subscribe = subscribed
        client.connect("127.0.0.1", self.cluster.port(self.node))
        client.loop_start()
        try:
            assert over.wait(TIMEOUT), "no answer"
            return is_allowed
        finally:
            client.disconnect()
            client.loop_stop()

    def may_write(self, topic: str) -> bool:
        return self._does(lambda client: client.publish(topic, "{}", 1))

    def may_read(self, filter: str) -> bool:
        return self._does(lambda client: client.subscribe(filter, 0))


def test_an_account_can_do_no_more_than_its_part(cluster: Cluster) -> None:
    k1 = Account(cluster, "k1")
    for topic in ["status", "health", "menu/reported", "replay/juice-archive/result"]:
        assert k1.may_write(f"kiosk/k1/{topic}"), topic
    for filter in ["kiosk/k1/replay/+", "kiosk/k1/menu/desired"]:
        assert k1.may_read(filter), filter
    for topic in ["kiosk/k2/events", "kiosk/k2/replay/x", "kiosk/k10/events", "other/k1/events", "x"]:
        assert not k1.may_write(topic), topic
    for filter in ["kiosk/k2/replay/+", "kiosk/+/replay/x", "kiosk/k1/events", "kiosk/#", "#", "+/k1/#"]:
        assert not k1.may_read(filter), filter
    # Not from the session of another kiosk either.
    assert not Account(cluster, "k1", client_id="juice-kiosk-k2-uplink-1").may_read("kiosk/k1/replay/+")
    assert not Account(cluster, "k1", client_id="juice-archive").may_read("kiosk/k1/replay/+")
    assert not Account(cluster, "k1", password="x").may_write("kiosk/k1/status")
    assert not Account(cluster, "guest", password="guest").may_write("kiosk/k1/status")

    operator = Account(cluster, "operator", client_id="juice-dashboard-1")
    assert operator.may_read("kiosk/k1/#")
    assert not operator.may_write("kiosk/k1/menu/desired")
    archive = Account(cluster, "archive", client_id="juice-archive")
    for topic in ["menu/desired", "replay/juice-archive"]:
        assert archive.may_write(f"kiosk/k1/{topic}"), topic
    assert not archive.may_write("kiosk/k1/events")


def test_who_leaves_the_list_is_let_in_no_more(cluster: Cluster) -> None:
    k2 = Account(cluster, "k2")
    assert k2.may_write("kiosk/k2/status")
    cluster.accounts(["k1"])
    assert not k2.may_write("kiosk/k2/status")
    # The list was wrong; the kiosk keeps its password.
    cluster.accounts(["k1", "k2"])
    assert k2.may_write("kiosk/k2/status")


def test_a_list_that_was_cut_deletes_no_accounts(cluster: Cluster) -> None:
    cluster.accounts(["k1", "k2", "k3"])
    with pytest.raises(AssertionError, match="removes 2 of 3 kiosks: is it complete?"):
        cluster.accounts(["k1"])
    k2 = Account(cluster, "k2")
    assert k2.may_write("kiosk/k2/status")
    cluster.run("accounts", cluster.folder / "kiosks.csv", "--remove")
    assert not k2.may_write("kiosk/k2/status")
    cluster.accounts(["k1", "k2"])


def test_a_first_start_that_was_interrupted_is_completed() -> None:
    with closing(Cluster()) as cluster:
        # The user postgres can reach it.
        programs = cluster.folder / "programs"
        programs.mkdir(0o755)
        cluster._environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        for name, body in ("initdb", 'mkdir "$2" && echo >"$2/PG_VERSION"'), ("psql", ""):
            program = programs / name
            program.write_text(f"#!/bin/sh\n{body}\nexit 1\n")
            program.chmod(0o755)
            with pytest.raises(AssertionError):
                cluster.start("database")
            program.unlink()
        cluster.start("database")
        assert cluster.query("SELECT 1", user="archive") == "1"


def test_a_cluster_elsewhere_gets_the_same_definitions(cluster: Cluster) -> None:
    made = json.loads(cluster.run("definitions", cluster.folder / "kiosks.csv"))
    assert sorted(user["name"] for user in made["users"]) == ["archive", "k1", "k2", "operator"]
    file = cluster.folder / "made.json"
    file.write_text(json.dumps(made))
    cluster.run("ctl", "import_definitions", file)
    assert Account(cluster, "k1").may_write("kiosk/k1/status")


@pytest.mark.parametrize(("lines", "complaint"), [
    ("kiosk\n", ":1: the header is not id,region,name,place"),
    ("id,region,name,place\nk 1,r,,\n", ":2: it does not begin with an id"),
    ("id,region,name,place\nk1,r,,\narchive,r,,\n", ":3: 'archive' is an account of the chain"),
    ("id,region,name,place\nk1,r,,\nk2,r,,\nk1,r,,\n", ":4: 'k1' stands in line 2, too"),
])
def test_a_list_with_a_mistake_changes_nothing(
    cluster: Cluster, tmp_path: Path, lines: str, complaint: str
) -> None:
    file = tmp_path / "kiosks.csv"
    file.write_text(lines)
    with pytest.raises(AssertionError, match=complaint):
        cluster.run("accounts", file)
    assert Account(cluster, "k2").may_write("kiosk/k2/status")


def test_nobody_talks_to_a_server_of_another_authority(
    cluster: Cluster, make_kiosk: MakeKiosk, tmp_path: Path
) -> None:
    other = tmp_path / "other.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
         "-subj", "/CN=the chain", "-keyout", tmp_path / "other.key", "-out", other],
        check=True, capture_output=True)
    kiosk = make_kiosk(uplink=cluster.uplink("k1", tls={"ca_file": str(other)})).start()
    assert "certificate" in kiosk.wait_for_log("the uplink is disconnected")
    # Replaces the cluster's authority in the archive's connection to the database.
    mine = (cluster.folder / "archive.yaml").read_text()
    theirs = tmp_path / "archive.yaml"
    theirs.write_text(mine.replace(f"sslrootcert='{cluster.authority}'", f"sslrootcert={other}"))
    archive = Archive(theirs).launch()
    try:
        archive.wait_for_log("certificate verify failed")
    finally:
        archive.kill()


def archived(cluster: Cluster, kiosk: str = "k1") -> list[str]:
    rows = cluster.query(f"SELECT epoch, seq FROM juice.event WHERE kiosk = '{kiosk}'", user="dashboard")
    return rows.splitlines()


def wait_until_archived(cluster: Cluster, kiosk: Kiosk) -> None:
    wanted = [f"{entry['epoch']}|{entry['seq']}" for entry in kiosk.ledger()]
    # The key is (kiosk, epoch, seq), so each entry is stored once.
    eventually(lambda: set(wanted) <= set(archived(cluster)), within=180)


def test_each_entry_arrives_whatever_node_dies(
    cluster: Cluster, make_kiosk: MakeKiosk, panel: Client, archive: Archive
) -> None:
    kiosk = make_kiosk(uplink=cluster.uplink("k1")).start()
    archive.start()
    panel.order("banana")
    wait_until_archived(cluster, kiosk)
    for _ in range(2):
        leader = cluster.leader()
        cluster.kill(leader)
        for _ in range(5):
            assert panel.restock({"add": {"kiwi": 1}})["status"] == "applied"
        wait_until_archived(cluster, kiosk)
        cluster.start(leader)


def test_what_is_sold_while_the_majority_is_lost_arrives_afterwards(
    cluster: Cluster, make_kiosk: MakeKiosk, panel: Client, archive: Archive
) -> None:
    kiosk = make_kiosk(uplink=cluster.uplink("k1")).start()
    archive.start()
    wait_until_archived(cluster, kiosk)
    before = len(kiosk.log)
    cluster.kill("node1")
    cluster.kill("node3")
    # The remaining node stops by itself, so no event is confirmed that is not safe.
    kiosk.wait_for_log("the uplink is disconnected", before, within=120)
    for _ in range(5):
        assert panel.restock({"add": {"kiwi": 1}})["status"] == "applied"
    last = kiosk.ledger()[-1]
    assert f"{last['epoch']}|{last['seq']}" not in archived(cluster)
    cluster.start()
    wait_until_archived(cluster, kiosk)


@pytest.mark.parametrize("disk", ["old", "empty"])
def test_a_node_comes_back_with_another_disk(
    cluster: Cluster, make_kiosk: MakeKiosk, panel: Client, archive: Archive, disk: str
) -> None:
    kiosk = make_kiosk(uplink=cluster.uplink("k1")).start()
    archive.start()
    panel.order("banana")
    wait_until_archived(cluster, kiosk)
    store = cluster.folder / "node3/store"
    cluster.accounts(["k1", "k2"])
    cluster.kill("node3")
    shutil.copytree(store, store.with_name("old"))
    cluster.start("node3")
    # The old disk contains none of these: archived events, waiting events, and an account.
    assert panel.restock({"add": {"kiwi": 1}})["status"] == "applied"
    wait_until_archived(cluster, kiosk)
    archive.kill()
    for _ in range(5):
        assert panel.restock({"add": {"kiwi": 1}})["status"] == "applied"
    eventually(lambda: cluster.waiting() == 5)
    cluster.accounts(["k1", "k2", "k3"])

    cluster.kill("node3")
    shutil.rmtree(store)
    if disk == "old":
        store.with_name("old").rename(store)
        cluster.start("node3")
    else:
        cluster.run("ctl", "forget_cluster_node", "node3@localhost")
        cluster.start("node3")
        # Equivalent to `rabbitmq-queues grow`.
        cluster.run("ctl", "eval", "rabbit_quorum_queue:grow('node3@localhost', <<\".*\">>, <<\".*\">>, all).")
        shutil.rmtree(store.with_name("old"))
    assert Account(cluster, "k3", "node3").may_write("kiosk/k3/status")
    # The new member counts: without it there is no majority.
    cluster.kill("node1")
    archive.start()
    wait_until_archived(cluster, kiosk)


def test_a_session_that_nobody_reads_keeps_within_its_limit(cluster: Cluster, archive: Archive) -> None:
    k2 = Client(
        cluster.port("node2"), protocol="3.1.1", name="juice-kiosk-k2-uplink-1", authority=cluster.authority,
        login=("k2", cluster.password_file("kiosks/k2").read_text().strip()))
    try:
        tell(k2, "k2", *(event(seq, epoch=1) for seq in range(1, 3 * LIMIT + 1)))
    finally:
        k2.close()
    # A quorum queue reports its length every five seconds.
    eventually(lambda: cluster.waiting() >= LIMIT)
    assert cluster.waiting() == LIMIT
    with pytest.raises(AssertionError, match=f"ALARM: {LIMIT} events wait for the archive"):
        cluster.run("status")
    # The queue keeps the newest events. The archive detects which ones it has to request.
    archive.start()
    eventually(lambda: len(archived(cluster, "k2")) == LIMIT)
    assert cluster.query("SELECT first, last FROM juice.gap WHERE kiosk = 'k2'") == f"1|{2 * LIMIT}"


def test_deploy_run_shows_a_chain() -> None:
    # Not in pytest's folder, which the user `postgres` cannot read.
    above = Path(tempfile.mkdtemp(prefix="chain-"))
    above.chmod(0o711)
    copy = Copy(above / "juice-kiosk")
    try:
        (copy.folder / ".build/release/juice-archive").symlink_to(archives.program())
        copy.kiosk = Command("deploy/run --chain", copy.folder)
        guide: list[str] = []

        def is_guide_over() -> bool:
            guide[:] = [line.strip() for line in copy.kiosk.log]
            return "Ctrl-C stops it." in guide or copy.kiosk.process.poll() is not None

        eventually(is_guide_over, within=300)
        assert copy.kiosk.process.poll() is None, "\n".join(guide)
        told = {line[:17].strip(): line[17:].strip() for line in guide if line[17:].strip()}
        assert Command(told["press a button"], copy.folder).wait() == 0

        def has_sold() -> bool:
            asked = Command(told["see the sales"], copy.folder)
            asked.wait(60)
            output = asked.output.splitlines()
            return any(re.search(r"k2 +\| banana +\| +1", line) for line in output)

        eventually(has_sold)
        status = Command(told["who runs"], copy.folder)
        assert status.wait(60) == 0
        assert copy.stop(within=120) == 0
        eventually(lambda: copy.processes() == [])
    finally:
        copy.sweep()
        shutil.rmtree(above)
