"""Brokers that require a login, and password files that other users must not read."""

import json
from pathlib import Path

import pytest

from arrivals import eventually
from conftest import MakeBroker, MakeKiosk
from kiosk import one_line


def test_78_a_password_that_others_can_read(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(broker={"username": "controller", "password_file": "password"})
    password = kiosk.folder / "password"
    password.write_text("secret\n")
    password.chmod(0o644)
    for command in (["run"], ["check"], ["order", "banana"]):
        refused = kiosk.command(*command)
        assert refused.returncode == 78
        line = refused.stderr.splitlines()[-1]
        assert "chmod 600" in line and "secret" not in refused.stderr


@pytest.mark.parametrize("section", ["broker", "uplink"])
def test_78_a_password_file_that_is_missing(make_kiosk: MakeKiosk, section: str) -> None:
    account = {"username": "controller", "password_file": "password"}
    kiosk = make_kiosk(**{section: account | ({"addresses": ["127.0.0.1"]} if section == "uplink" else {})})
    password = kiosk.folder / "password"
    for command in (["run"], ["check"]):
        refused = kiosk.command(*command)
        assert refused.returncode == 78 and f"{section}.password_file: there is no such file" in refused.stderr
    password.touch(mode=0o600)
    password.write_text("secret \n")
    checked = kiosk.command("check")
    assert checked.returncode == 0 and "ends with a space" in checked.stdout
    assert "ends with a space" in kiosk.command("doctor").stdout


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_login(make_broker: MakeBroker, make_kiosk: MakeKiosk, version: str) -> None:
    broker = make_broker(users={"controller": "right"})
    account = {"protocol": version, "username": "controller", "password_file": "password"}
    kiosk = make_kiosk(broker, broker=account)
    password = kiosk.folder / "password"
    password.touch(mode=0o600)
    password.write_text("wrong\n")

    refused = kiosk.command("order", "banana")
    assert refused.returncode == 69
    assert "refused the login" in one_line(refused.stderr)
    kiosk.launch()
    kiosk.wait_for_log("refused the login")
    # The kiosk retries without logging the refusal again.
    eventually(lambda: (broker.folder / "log").read_text().count("not authorised") >= 4)
    assert kiosk.is_alive
    assert sum("refused" in line for line in kiosk.log) == 1
    kiosk.stop()

    password.write_text("right\n")
    kiosk.start()
    assert kiosk.command("order", "banana").returncode == 0


def test_a_subscription_that_the_broker_refuses(
    make_broker: MakeBroker, make_kiosk: MakeKiosk
) -> None:
    plugins = list(Path("/usr/lib").glob("*/mosquitto_dynamic_security.so"))
    rules = {
        "defaultACLAccess": {"publishClientSend": True, "publishClientReceive": True,
                             "subscribe": False, "unsubscribe": True},
        "roles": [{"rolename": "panel", "acls": [
            {"acltype": "subscribePattern", "topic": f"kiosk/k1/{kind}/+", "allow": True}
            for kind in ("order", "report", "service", "settings")]}],
        "groups": [{"groupname": "all", "roles": [{"rolename": "panel"}]}],
        "anonymousGroup": "all",
    }
    broker = make_broker(settings="# rules")
    broker.stop()
    (broker.folder / "rules.json").write_text(json.dumps(rules))
    with open(broker.folder / "mosquitto.conf", "a") as configuration:
        configuration.write(f"plugin {plugins[0]}\n")
        configuration.write(f"plugin_opt_config_file {broker.folder}/rules.json\n")
    broker.start()
    kiosk = make_kiosk(broker)
    kiosk.launch()
    told = kiosk.wait_for_log("refused the subscription")
    assert "kiosk/k1/restock/+" in told
    assert kiosk.is_alive
    assert kiosk.stop() == 0
