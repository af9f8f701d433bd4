"""Ledgers of earlier versions, with the program as it is shipped."""

import sqlite3

import pytest

from auditor import judge_ledger
from conftest import MakeKiosk
from displays import wait_for_truth
from kiosk import ROOT


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_ledger_of_an_earlier_version_is_read_and_goes_on(
    make_kiosk: MakeKiosk, broker, panel, version: int
) -> None:
    kiosk = make_kiosk()
    path = kiosk.folder / "ledger.sqlite"
    dump = (ROOT / f"Tests/LedgerTests/Version{version}.sql").read_text()
    with sqlite3.connect(path) as ledger:
        ledger.executescript(dump)
    ledger.close()
    before = path.read_bytes()
    # While the program of that version may be running: a reader changes nothing.
    kiosk.verify()
    old = kiosk.ledger()
    judge_ledger(old)
    assert path.read_bytes() == before

    kiosk.start()
    again = panel.order({"id": "a1", "juice": "strawberry_banana"}, "panel1")
    assert (again["duplicate"], again["ticket"], again["seq"]) == (True, 1, 2)
    assert panel.order({"id": "b1", "juice": "mango"}, "panel1")["seq"] == len(old) + 1
    assert kiosk.ledger()[:-1] == old
    kiosk.verify()
    wait_for_truth(kiosk, broker)
