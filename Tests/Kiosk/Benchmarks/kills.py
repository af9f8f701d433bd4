"""Three times kill -9 under load, and what has become of the orders then."""

from dataclasses import dataclass
from pathlib import Path

from arrivals import eventually
from contenders import Contender
from measure import running

KILLS = 3
#: Longer than it takes any of them to start again and answer what has waited.
TIMEOUT_MILLISECONDS = 4000


@dataclass
class Aftermath:
    orders: int
    #: The broker had confirmed them, and they were never made.
    lost: int
    #: Made again though they were the same.
    doubled: int
    #: Made, but whoever ordered was not told.
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
    # The broker had confirmed each one before the load ended.
    made = contender.orders()
    lost = result["sent"] - len(made)
    return Aftermath(
        orders=result["sent"], lost=lost, doubled=made.total() - len(made),
        unanswered=max(0, result["unanswered"] - lost),
    )
