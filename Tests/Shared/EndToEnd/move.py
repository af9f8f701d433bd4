#!/usr/bin/env python3
"""Moves a chain to the cluster of another release of Debian while its kiosks sell, as
chain-operations.md describes it: a new cluster beside the old one, with its latest backup.

The old cluster runs on this computer, the new one in deploy/in-debian. Fails if an entry is missing, doubled or
different in the new archive, or if a sum is wrong. Needs root: `deploy/test --move` runs it.
"""

import argparse
import base64
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from archive import Archive
from arrivals import eventually
from chain import compare, say
from cluster import Cluster
from crowd import Daemons, Member, Watch, entries, orders
from kiosk import ROOT

#: Runs in the other Debian until its standard input ends. Has the old cluster's accounts and authority.
SCRIPT = """
export CLUSTER_FOLDER=/tmp/cluster
mkdir $CLUSTER_FOLDER
read -r files
base64 -d <<<"$files" | tar -xz -C $CLUSTER_FOLDER
deploy/cluster up >&2
deploy/cluster accounts $CLUSTER_FOLDER/kiosks.csv >&2
tar -cz -C $CLUSTER_FOLDER ca.crt passwords ports archive.yaml | base64 -w 0
echo
cat >/dev/null
"""
#: Time limit for the start of the new cluster, and for the entries in flight at the end.
TIMEOUT = 900.0


class OtherCluster(Cluster):
    """A cluster in another release of Debian, with the accounts of a running one."""

    def __init__(self, release: str, old: Cluster) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cluster-"))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as files:
            for name in ("ca.crt", "tls/ca.key", "tls/ca.srl", "passwords", "kiosks.csv"):
                if (old.folder / name).exists():
                    files.add(old.folder / name, name)
        self.process = subprocess.Popen(
            [ROOT / "deploy/in-debian", release, "bash", "-euo", "pipefail", "-c", SCRIPT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(base64.b64encode(packed.getvalue()) + b"\n")
        self.process.stdin.flush()
        made = self.process.stdout.readline()
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(made)), mode="r:gz") as files:
            files.extractall(self.folder)
        self.ports = list(map(int, (self.folder / "ports").read_text().split()))
        own = self.folder / "archive.yaml"
        own.write_text(own.read_text().replace("/tmp/cluster", str(self.folder)))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)
        shutil.rmtree(self.folder)


class Archiver(Archive):
    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.folder / "archive.yaml")
        self.cluster = cluster

    def load(self) -> "Archiver":
        done = self.command("kiosks", "load", self.cluster.folder / "kiosks.csv")
        assert done.returncode == 0, done.stderr
        return self


def server(cluster: Cluster) -> str:
    return f"PostgreSQL {cluster.query('SHOW server_version')}, MQTT {cluster.protocol}"


def archived(cluster: Cluster) -> int:
    return int(cluster.query("SELECT count(*) FROM juice.event"))


def copy(old: Cluster, new: Cluster, backup: Path) -> None:
    """Restores the latest backup of the old cluster in the new one."""
    done = subprocess.run(
        ["pg_restore", "--exit-on-error", "-d", new.database("postgres"), backup], capture_output=True, text=True,
        env=os.environ | {"PGPASSWORD": new.password_file("postgres").read_text().strip()}, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr


def back_up(cluster: Cluster, file: Path) -> None:
    subprocess.run(
        ["pg_dump", "-Fc", "-f", file, cluster.database("postgres")], check=True, timeout=TIMEOUT,
        env=os.environ | {"PGPASSWORD": cluster.password_file("postgres").read_text().strip()})


def move(daemons: Daemons, members: list[Member], new: Cluster) -> None:
    """Changes the uplinks of some kiosks, and restarts these."""
    for member in members:
        member.uplink = new.uplink(member.id)
        kiosk = daemons.kiosks[member.id]
        assert kiosk.stop() == 0
        daemons.watch.hear(member.id, "the uplink is disconnected: it moves", time.time())
        kiosk.configure(daemons.broker, daemons._settings(member))
        kiosk.launch()
    eventually(lambda: daemons.watch.unavailable == 0, TIMEOUT)
    say(f"{len(members)} kiosks have moved: {archived(new)} entries in the new archive")


def run(options: argparse.Namespace, folder: Path, stack: ExitStack) -> list[str]:
    chance = random.Random(options.seed)
    ids = [f"k{number}" for number in range(1, options.kiosks + 1)]
    old = Cluster()
    stack.callback(old.close)
    old.start().accounts(ids)
    say(f"the old cluster runs: {server(old)}")
    members = [Member(name, old.uplink(name)) for name in ids]
    first = Archiver(old)
    stack.callback(first.kill)
    first.start().load()
    daemons = Daemons(folder / "daemons", members, Watch(ids), {
        "orders": options.orders, "pace": options.pace, "seed": options.seed})
    stack.callback(daemons.kill)
    daemons.start()
    eventually(lambda: daemons.watch.unavailable == 0, TIMEOUT)
    daemons.sell()
    eventually(lambda: archived(old) >= options.kiosks * options.orders // 20, TIMEOUT)
    back_up(old, folder / "juice.dump")
    say("the backup is made; the new cluster starts")

    new = OtherCluster(options.to, old)
    stack.callback(new.close)
    say(f"the new cluster runs: {server(new)}")
    shutil.copy(old.folder / "kiosks.csv", new.folder)
    copy(old, new, folder / "juice.dump")
    say(f"the backup is restored: {archived(new)} entries in the new archive, {archived(old)} in the old one")
    second = Archiver(new)
    stack.callback(second.kill)
    second.start().load()
    chance.shuffle(members)
    some = max(1, len(members) // 10)
    move(daemons, members[:some], new)
    move(daemons, members[some:], new)
    wrong = [] if any(orders(path) < options.orders for _, path in daemons.ledgers()) else ["sold before the move"]

    eventually(lambda: all(orders(path) >= options.orders for _, path in daemons.ledgers()), TIMEOUT)
    recorded = sum(len(entries(path)) for _, path in daemons.ledgers())
    eventually(lambda: archived(new) >= recorded, TIMEOUT)
    assert new.query("SELECT count(*) FROM juice.missing") == "0"
    first.stop()
    say(f"the old archiver has ended, with {archived(old)} entries")
    wrong += compare(new.query, list(daemons.ledgers()))
    assert daemons.stop() == 0
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", default="13", help="the release of the new cluster")
    parser.add_argument("--kiosks", type=int, default=30)
    parser.add_argument("--orders", type=int, default=600, help="of each kiosk")
    parser.add_argument("--pace", type=float, default=50, help="orders of all kiosks in a second")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    say(" ".join(f"--{name} {value}" for name, value in vars(options).items()))
    with tempfile.TemporaryDirectory(prefix="move-") as folder, ExitStack() as stack:
        wrong = run(options, Path(folder), stack)
    for line in wrong[:20]:
        say(f"WRONG: {line}")
    say("everything is there, once" if not wrong else f"{len(wrong)} things are wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
