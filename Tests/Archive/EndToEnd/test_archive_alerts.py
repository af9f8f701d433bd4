"""The alerts of deploy/monitoring/archive, with what Debian's prometheus-postgres-exporter reads from the real
archive: a state of the archive causes its alert within five minutes, and no other."""

import os
import re
import shutil
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Callable, Iterator

import pytest
import yaml

from archive import event, tell
from arrivals import eventually
from client import Client
from kiosk import ROOT
from mosquitto import Mosquitto
from ports import free_port
from postgres import Postgres
from test_archive import MakeArchive, client, database, has, make_archive  # noqa: F401

SHIPPED = ROOT / "deploy/monitoring/archive"
LINE = re.compile(r"(juice_archive_\w+)\{.*\} (\S+)")


class Exporter:
    def __init__(self, database: Postgres, folder: Path) -> None:
        self.port = free_port()
        queries = (SHIPPED / "queries.yaml").read_text()
        options = re.search(r"ARGS='(.*?) --extend.query-path \S+'", queries)[1]
        with open(folder / "exporter.log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus-postgres-exporter", options, "--extend.query-path", SHIPPED / "queries.yaml",
                 "--web.listen-address", f"127.0.0.1:{self.port}"],
                env=os.environ | {"DATA_SOURCE_NAME": f"{database.database} sslmode=disable"}, stdout=log, stderr=log)

    def read(self) -> dict[str, float]:
        """Returns the values that Prometheus would scrape, by name."""
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30)
        except OSError:
            return {}
        found = map(LINE.fullmatch, page.read().decode().splitlines())
        return {match[1]: float(match[2]) for match in found if match}

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def exporter(database: Postgres, tmp_path: Path) -> Iterator[Exporter]:  # noqa: F811
    exporter = Exporter(database, tmp_path)
    yield exporter
    exporter.stop()


def fires(values: dict[str, float], alerts: list[str], folder: Path, is_receiving: bool = False) -> None:
    """Checks with promtool which alerts fire five minutes after these values were read, if nothing changes."""
    growing = [] if is_receiving else ["juice_archive_silent_seconds"]
    shutil.copy(SHIPPED / "alerts.yaml", folder)
    series = [
        {"series": name, "values": f"{value:g}+{60 if name in growing else 0}x10"}
        for name, value in values.items()]
    (folder / "test.yaml").write_text(yaml.safe_dump({
        "rule_files": ["alerts.yaml"], "evaluation_interval": "15s", "tests": [{
            "interval": "1m", "input_series": series, "promql_expr_test": [{
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": "5m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in alerts]}]}]}))
    done = subprocess.run(
        ["promtool", "test", "rules", "test.yaml"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def reads(exporter: Exporter, **expected: float) -> dict[str, float]:
    """Waits until the exporter has these values, and returns all of them."""
    wanted = {f"juice_archive_{name}": value for name, value in expected.items()}

    def values() -> dict[str, float] | None:
        found = exporter.read()
        return found if found and wanted.items() <= found.items() else None

    return eventually(values)


def test_an_archive_that_is_well_causes_no_alert(
    make_archive: MakeArchive, exporter: Exporter, client: Client, tmp_path: Path  # noqa: F811
) -> None:
    make_archive().start()
    tell(client, "k1", event(1))
    values = reads(exporter, connected=1)
    names = [name for metric in yaml.safe_load((SHIPPED / "queries.yaml").read_text())["juice_archive"]["metrics"]
             for name in metric]
    assert sorted(values) == sorted(f"juice_archive_{name}" for name in names)
    fires(values, [], tmp_path, is_receiving=True)


def test_a_broker_that_is_away(
    make_archive: MakeArchive, exporter: Exporter, broker: Mosquitto, tmp_path: Path  # noqa: F811
) -> None:
    make_archive().start()
    reads(exporter, connected=1)
    broker.kill()
    fires(reads(exporter, active=1, connected=0), ["ArchiveBrokerAway", "ArchiveReceivesNothing"], tmp_path)


def test_a_wrong_root(
    make_archive: MakeArchive, exporter: Exporter, client: Client, tmp_path: Path  # noqa: F811
) -> None:
    make_archive(root="chain").start()
    tell(client, "k1", event(1))
    fires(reads(exporter, active=1, connected=1), ["ArchiveReceivesNothing"], tmp_path)


def test_a_change_of_the_schema_without_an_end(
    make_archive: MakeArchive, exporter: Exporter, database: Postgres, tmp_path: Path  # noqa: F811
) -> None:
    archive = make_archive().start()
    archive.stop()
    database.query("""
        CREATE FUNCTION public.endless() RETURNS event_trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(1e6); END $$;
        CREATE EVENT TRIGGER endless ON ddl_command_start WHEN TAG IN ('CREATE VIEW')
            EXECUTE FUNCTION public.endless();
        DROP VIEW juice.batch, juice.waste;
        DELETE FROM juice.migration WHERE number = (SELECT max(number) FROM juice.migration)""")
    try:
        archive.launch().wait_for_log("a change of the schema has run for")
        fires(reads(exporter, active=1, migrating=1), ["ArchiveMigrating"], tmp_path)
    finally:
        archive.stop()
        database.query("DROP EVENT TRIGGER endless; DROP FUNCTION public.endless")


def test_no_archiver(
    make_archive: MakeArchive, exporter: Exporter, tmp_path: Path  # noqa: F811
) -> None:
    archive = make_archive().start()
    reads(exporter, active=1)
    archive.stop(signal.SIGKILL)
    fires(reads(exporter, active=0), ["ArchiveDown", "ArchiveReceivesNothing"], tmp_path)
