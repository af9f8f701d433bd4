"""The menu that a chain publishes to a kiosk."""

import json
import signal
from typing import Any, Iterator

import pytest

from client import Client
from conftest import MakeKiosk
from kiosk import Kiosk
from mosquitto import Mosquitto
from proxy import Proxy
from test_reload import reload, write

UP = "chain/k1"
GREEN = {"currency": "EUR", "juices": {"green": {"en": "Green juice", "recipe": {"kiwi": 2}, "price": 3.50}}}
RED = {"juices": {"red": {"recipe": {"strawberry": 4}}}}


class Chain:
    """The upstream side, which publishes the menu of its kiosks."""

    def __init__(self, port: int) -> None:
        self.client = Client(port, f"{UP}/menu/reported")

    def want(self, version: int, menu: Any) -> None:
        text = json.dumps({"menu": menu})
        self.client.publish(f"{UP}/menu/desired", json.dumps({"version": version, "menu": text}))

    def reported(self, version: int, since: int = 0) -> dict:
        return self.client.messages.first(lambda m: m.json.get("version") == version, since).json

    def push(self, version: int, menu: Any) -> dict:
        since = len(self.client.messages)
        self.want(version, menu)
        return self.reported(version, since)


@pytest.fixture
def chain(upper: Mosquitto) -> Iterator[Chain]:
    chain = Chain(upper.port)
    yield chain
    chain.client.close()


@pytest.fixture
def kiosk(make_kiosk: MakeKiosk, line: Proxy, chain: Chain) -> Kiosk:
    kiosk = make_kiosk(uplink={"addresses": [f"127.0.0.1:{line.port}"], "root": "chain"}).start()
    assert chain.reported(0) == {"version": 0, "status": "taken"}
    return kiosk


def juices(panel: Client, since: int = 0) -> list[str]:
    return [juice["id"] for juice in panel.messages.first(lambda m: m.topic == "kiosk/k1/menu", since).json["juices"]]


def test_a_kiosk_sells_by_the_menu_from_above(kiosk: Kiosk, chain: Chain, panel: Client) -> None:
    assert chain.push(7, GREEN) == {"version": 7, "status": "taken"}
    ready = panel.order("green")
    assert (ready["status"], ready["used"], ready["amount"]) == ("ready", {"kiwi": 2}, "3.50")
    assert panel.order("kiwi")["reason"] == "unknown_juice"
    assert panel.messages.first(lambda m: m.topic == "kiosk/k1/info" and m.json.get("menu_version") == 7)
    checked = kiosk.command("check").stdout
    assert "menu 7 replaces 'menu'" in checked and "juices  green\n" in checked

    # The kiosk reports the same menu again, and does nothing else.
    since = len(kiosk.log)
    assert chain.push(7, GREEN)["status"] == "taken"
    # The other sections of the file are applied together with the chain's menu.
    write(kiosk, orders={"max_quantity": 2})
    reload(kiosk)
    assert panel.order({"id": "a", "juice": "green", "quantity": 3})["reason"] == "quantity_out_of_range"
    assert not kiosk.log.count(lambda line: "menu 7" in line) > 1

    # The kiosk stores the menu and reports it at each start.
    since = len(chain.client.messages)
    assert kiosk.stop() == 0
    kiosk.start()
    assert chain.reported(7, since)["status"] == "taken"
    kiosk.wait_for_log("menu 7 of the chain is used")
    assert panel.order("green")["status"] == "ready"

    # Until the file and its copy are removed: the copy replaces a missing file.
    since = len(chain.client.messages)
    (kiosk.folder / "ledger.sqlite.menu").unlink()
    reload(kiosk)
    assert panel.order("green")["status"] == "ready"
    (kiosk.folder / "ledger.sqlite.menu.good").unlink()
    reload(kiosk)
    assert panel.order("kiwi")["status"] == "ready"
    assert chain.reported(0, since)["status"] == "taken"


@pytest.mark.parametrize(
    "menu, detail",
    [
        ({"juices": {"tea": {"recipe": {"tea": 1}}}}, "the menu has no such fruit"),
        ({"juices": {"green": {"recipe": {"kiwi": 2}}}, "fruits": {"kiwi": "Kiwi"}}, "kiosk's own file"),
        ({"juices": {"red": {"recipe": {"strawberry": 4}}}}, "there is no juice 'green' on the menu"),
        ({"juices": {"green": {"en": "x" * 70_000}}}, "too large"),
    ],
)
def test_a_menu_that_is_wrong_for_a_kiosk_leaves_it_as_it_was(
    make_kiosk: MakeKiosk, line: Proxy, chain: Chain, panel: Client, menu: dict, detail: str
) -> None:
    button = {"name": "hall", "device": "generic", "topic": "hall", "buttons": {"press": "green"}}
    kiosk = make_kiosk(
        uplink={"addresses": [f"127.0.0.1:{line.port}"], "root": "chain"},
        menu={"base": "standard"} | GREEN, panels=[button]).start()
    chain.reported(0)
    since = len(chain.client.messages)
    chain.want(7, menu)
    told = chain.client.messages.first(lambda m: m.json["status"] == "refused", since).json
    assert detail in told["detail"] and told.get("version") == (None if "large" in detail else 7)
    assert panel.order("green")["amount"] == "3.50"
    assert not (kiosk.folder / "ledger.sqlite.menu").exists()
    # The next valid menu is accepted.
    assert chain.push(8, GREEN) == {"version": 8, "status": "taken"}


def test_a_menu_that_cannot_be_stored_does_not_apply_later(kiosk: Kiosk, chain: Chain) -> None:
    # The copy can be written, but not the file, as on a disk that is full after the copy.
    (kiosk.folder / "ledger.sqlite.menu.new" / "x").mkdir(parents=True)
    assert chain.push(7, GREEN)["status"] == "refused"
    assert not (kiosk.folder / "ledger.sqlite.menu.good").exists()


def test_a_kiosk_killed_before_it_reports_reports_when_it_is_back(
    kiosk: Kiosk, chain: Chain, panel: Client, line: Proxy
) -> None:
    assert chain.push(7, GREEN)["status"] == "taken"
    line.holds_back = True
    since = len(chain.client.messages)
    chain.want(8, RED)
    kiosk.wait_for_log("menu 8 of the chain is taken")
    kiosk.stop(signal.SIGKILL)
    line.holds_back = False
    assert not chain.client.messages.since(since)
    kiosk.start()
    assert chain.reported(8, since)["status"] == "taken"
    assert panel.order("red")["status"] == "ready"


def test_a_file_that_does_not_fit_the_menu_from_above_is_told(kiosk: Kiosk, chain: Chain) -> None:
    assert chain.push(7, GREEN)["status"] == "taken"
    button = {"name": "hall", "device": "generic", "topic": "hall", "buttons": {"press": "kiwi"}}
    write(kiosk, panels=[button])
    assert "there is no juice 'kiwi' on the menu" in reload(kiosk, "the new configuration is not taken: ")
    checked = kiosk.command("check")
    assert checked.returncode == 78
    assert "the kiosk starts with the file's own menu" in checked.stderr
    for name in ("menu", "menu.good"):
        (kiosk.folder / f"ledger.sqlite.{name}").unlink()
    reload(kiosk)


BROKEN = {
    "empty": b"",
    "truncated": json.dumps({"version": 7, "menu": json.dumps({"menu": GREEN})}).encode()[:40],
    "not text": b"\xff\0" * 100,
    "too large": b" " * 600_000,
    "a folder": None,
    "does not fit": json.dumps({"version": 7, "menu": json.dumps({"menu": {"juices": {"tea": {"recipe": {"tea": 1}}}}})}).encode(),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_kiosk_starts_without_a_broken_menu_of_the_chain(
    kiosk: Kiosk, chain: Chain, panel: Client, content: bytes | None
) -> None:
    assert kiosk.stop() == 0
    file = kiosk.folder / "ledger.sqlite.menu"
    file.mkdir() if content is None else file.write_bytes(content)
    since = len(chain.client.messages)
    kiosk.start()
    # The kiosk sells, and the chain, the log, the dashboard (by `info`) and the doctor have the reason.
    assert panel.order("kiwi")["status"] == "ready"
    report = chain.reported(0, since)
    assert report["status"] == "taken" and str(file) in report["detail"]
    assert report["detail"] in kiosk.wait_for_log("the menu of the chain cannot be used")
    assert panel.messages.first(lambda m: m.topic == "kiosk/k1/info" and m.json.get("menu_problem") == report["detail"])
    doctor = kiosk.command("doctor", "--json")
    finding, = [f for f in json.loads(doctor.stdout)["findings"] if f["where"] == "the menu of the chain"]
    assert doctor.returncode == 78 and finding["severity"] == "error" and report["detail"] in finding["what"]
    checked = kiosk.command("check")
    assert checked.returncode == 78 and report["detail"] in checked.stderr

    # Other keys can be changed meanwhile, and the next menu replaces the file.
    write(kiosk, orders={"max_quantity": 2})
    reload(kiosk)
    assert panel.order({"id": "a", "juice": "kiwi", "quantity": 3})["reason"] == "quantity_out_of_range"
    since = len(panel.messages)
    assert panel.ask("settings/minji", {"id": "s1", "replaces": None, "low": {"kiwi": 9}}).json["status"] == "applied"
    info = panel.messages.first(lambda m: m.topic == "kiosk/k1/info", since)
    assert info.json.get("menu_problem") == report["detail"]
    since = len(chain.client.messages)
    assert chain.push(8, GREEN) == {"version": 8, "status": "taken"}
    assert panel.order("green")["status"] == "ready"
    assert panel.messages.first(lambda m: m.topic == "kiosk/k1/info" and m.json.get("menu_version") == 8)
    assert chain.push(7, RED) == {"version": 7, "status": "refused", "detail": "it is older than menu 8"}


def test_a_running_kiosk_keeps_the_menu_whose_file_is_broken(
    kiosk: Kiosk, chain: Chain, panel: Client
) -> None:
    assert chain.push(7, GREEN)["status"] == "taken"
    for file in ("ledger.sqlite.menu", "ledger.sqlite.menu.good"):
        (kiosk.folder / file).write_bytes(b"")
    write(kiosk, orders={"max_quantity": 2})
    reload(kiosk)
    assert panel.order({"id": "a", "juice": "green", "quantity": 3})["reason"] == "quantity_out_of_range"

    # Neither that menu nor an operator's settings can be read again: the kiosk keeps both.
    settings = {"id": "s1", "replaces": None, "currency": "EUR", "prices": {"green": "4.20"}}
    assert panel.ask("settings/minji", settings).json["status"] == "applied"
    assert panel.order("green")["amount"] == "4.20"
    for file in ("ledger.sqlite.settings", "ledger.sqlite.settings.good"):
        (kiosk.folder / file).write_bytes(b"")
    write(kiosk, orders={"max_quantity": 1})
    reload(kiosk)
    kiosk.wait_for_log("the stored change of the settings cannot be used")
    assert panel.order({"id": "b", "juice": "green", "quantity": 2})["reason"] == "quantity_out_of_range"
    assert panel.order("green")["amount"] == "4.20"
