"""deploy/monitoring, with Debian's exporter, promtool and the real kiosk."""

import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Iterator

import pytest
import yaml

from arrivals import eventually
from client import Client, retained, soon
from conftest import MakeKiosk
from kiosk import ROOT
from mosquitto import Mosquitto
from ports import free_port

SHIPPED = ROOT / "deploy/monitoring"
SERIES = re.compile(r"\bjuice_kiosk_\w+")


def exporter_settings() -> dict:
    return yaml.safe_load((SHIPPED / "mqtt-exporter.yaml").read_text())


def exported() -> set[str]:
    return {metric["prom_name"] for metric in exporter_settings()["metrics"]}


def rules(shipped: Path = SHIPPED / "alerts.yaml") -> list[dict]:
    return yaml.safe_load(shipped.read_text())["groups"][0]["rules"]


class Exporter:
    def __init__(self, broker: Mosquitto, folder: Path) -> None:
        self.port = free_port()
        config = folder / "mqtt-exporter.yaml"
        shipped = (SHIPPED / "mqtt-exporter.yaml").read_text()
        config.write_text(shipped.replace("localhost:1883", f"localhost:{broker.port}"))
        with open(folder / "exporter.log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus-mqtt-exporter", "-config", config, "-listen-address", "127.0.0.1",
                 "-listen-port", str(self.port)], stdout=log, stderr=log,
            )

    def read(self) -> dict[str, float]:
        """Returns the values of kiosk k1 that Prometheus would scrape, by name."""
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5)
        except OSError:
            return {}
        # Without a timestamp: Prometheus would treat the last message of an offline kiosk as stale.
        line = re.compile(r'(juice_kiosk_\w+)\{sensor="k1",topic="kiosk/k1/health"\} (\S+)')
        found = map(line.fullmatch, page.read().decode().splitlines())
        return {match[1]: float(match[2]) for match in found if match}

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def exporter(broker: Mosquitto, tmp_path: Path) -> Iterator[Exporter]:
    exporter = Exporter(broker, tmp_path)
    yield exporter
    exporter.stop()


def test_each_number_of_health_is_exported_as_it_is(
    broker: Mosquitto, make_kiosk: MakeKiosk, exporter: Exporter
) -> None:
    kiosk = make_kiosk(
        payment={"devices": [{"name": "till"}]},
        machines=[{"name": "bar", "juices": [], "programs": {"clean": {}}}],
        sensors=[{"name": "fridge", "topic": "t", "unit": "°C", "max": 7}]).start()
    panel = Client(broker.port, "kiosk/#")
    panel.order("strawberry_banana")
    panel.order("strawberry_banana")
    panel.order("tea")
    panel.restock({"add": {"mango": 1}, "best_before": {"mango": soon(3600)}})
    panel.service("closed")
    panel.close()
    since = len(kiosk.log)
    broker.stop()
    broker.start()
    kiosk.wait_for_log(" online", since)
    # The kiosk publishes its health before it counts the reconnect, and then every half minute.
    seen = eventually(
        lambda: (found := exporter.read()).get("juice_kiosk_reconnects_total") == 1 and found,
    )
    health = json.loads(retained(broker.port)["kiosk/k1/health"])
    names = {
        metric["mqtt_name"]: metric["prom_name"] for metric in exporter_settings()["metrics"]
    }
    # The last entry is for archives.
    numbers = {key: value for key, value in health.items() if key not in ("at", "seq", "epoch")}
    assert set(names) == set(numbers)
    numbers["service"] = 0
    assert seen == {names[key]: value for key, value in numbers.items()}
    assert seen["juice_kiosk_orders_total"] == seen["juice_kiosk_fruits_out"] == 1
    assert seen["juice_kiosk_payment_devices_down"] == 1
    # A value that is missing would stay in the exporter.
    assert seen["juice_kiosk_clock_behind_seconds"] == 0
    assert seen["juice_kiosk_ledger_bytes"] > 0


@pytest.mark.parametrize("shipped, cases, page", [
    (SHIPPED / "alerts.yaml", "alerts", "operations"),
    (SHIPPED / "archive/alerts.yaml", "archive-alerts", "chain-operations"),
    (SHIPPED / "archive/rabbitmq-alerts.yaml", "rabbitmq-alerts", "chain-operations")])
def test_each_alert_fires_for_what_it_is_for_and_for_nothing_else(
    tmp_path: Path, shipped: Path, cases: str, page: str
) -> None:
    cases = Path(__file__).with_name(f"{cases}.test.yaml")
    for file in (shipped, cases):
        shutil.copy(file, tmp_path)
    for command in (["check", "rules", shipped.name], ["test", "rules", cases.name]):
        done = subprocess.run(
            ["promtool", *command], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
    tested = cases.read_text()
    handbook = (ROOT / f"deploy/docs/{page}.md").read_text()
    for rule in rules(shipped):
        assert rule["alert"] in tested and f"`{rule['alert']}`" in handbook
        assert {"summary", "action"} == set(rule["annotations"])


def test_the_dashboard_shows_all_there_is_and_rules_name_nothing_else() -> None:
    dashboard = json.loads((SHIPPED / "grafana-dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    variables = [variable["query"] for variable in dashboard["templating"]["list"]]
    asked = SERIES.findall(" ".join(queries) + json.dumps(variables))
    watched = SERIES.findall(" ".join(rule["expr"] for rule in rules()))
    assert set(asked) == exported() >= set(watched)


def test_the_dashboards_queries_can_be_read(tmp_path: Path) -> None:
    dashboard = json.loads((SHIPPED / "grafana-dashboard.json").read_text())
    queries = [
        target["expr"].replace("$kiosk", ".*")
        for panel in dashboard["panels"] for target in panel["targets"]
    ]
    assert len(queries) >= 13
    # promtool checks an expression as part of a rule.
    recorded = [{"record": f"query:{i}", "expr": query} for i, query in enumerate(queries)]
    (tmp_path / "queries.yaml").write_text(
        json.dumps({"groups": [{"name": "dashboard", "rules": recorded}]})
    )
    done = subprocess.run(
        ["promtool", "check", "rules", "queries.yaml"], cwd=tmp_path, capture_output=True,
        text=True, timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
