"""Kills a contender with kill -9 three times under load, and counts lost and repeated orders."""

from dataclasses import dataclass
from pathlib import Path

from arrivals import eventually
from contenders import Contender
from measure import running

KILLS = 3
#: More than any contender needs to restart and answer the queued orders.
TIMEOUT_MILLISECONDS = 4000


@dataclass
class Aftermath:
    orders: int
    #: Orders that the broker acknowledged and that were never made.
    lost: int
    #: Orders that were made more than once.
    doubled: int
    #: Orders that were made without an answer to the panel.
    unanswered: int


def survive(kind: type[Contender], folder: Path, orders: int) -> Aftermath:
    with running(kind, folder) as drive:
        contender = drive.contender
        load = drive.start(orders=orders, in_flight=64, give_up=TIMEOUT_MILLISECONDS)
        for kill in range(1, KILLS + 1):
            eventually(lambda: contender.last() >= orders * kill // (KILLS + 1), within=300)
            contender.kill()
            contender.start()
        result = drive.finish(load)
    # The broker had acknowledged all of them before the load ended.
    made = contender.orders()
    lost = result["sent"] - len(made)
    return Aftermath(
        orders=result["sent"], lost=lost, doubled=made.total() - len(made),
        unanswered=max(0, result["unanswered"] - lost),
    )
