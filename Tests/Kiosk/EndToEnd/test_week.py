"""The bounds of the one-hour week: constant figures pass, and growing ones fail."""

from dataclasses import replace

import pytest

from week import BOUNDS, DAYS, MIB, SAMPLES, Sample

# Bytes that each order adds to the disk and to the log.
DISK, LOG = 150, 100


def week(orders: int = 1_000_000) -> list[Sample]:
    samples = []
    for number in range(1, len(DAYS) * SAMPLES + 1):
        made = orders * number // (len(DAYS) * SAMPLES)
        # The write-ahead log grows and shrinks, and a connection may briefly exist twice.
        samples.append(Sample(
            (number - 1) // SAMPLES, made, 30 * MIB + number % 3 * 10_000, 17 + (number % 7 == 0),
            made * DISK, number % 4 * MIB, made * LOG,
        ))
    return samples


def broken(samples: list[Sample]) -> list[str]:
    return [bound.name for bound in BOUNDS if not bound.judge(samples)[1]]


def test_a_week_in_which_nothing_grows_is_flat() -> None:
    assert broken(week()) == []


@pytest.mark.parametrize(("member", "name", "each"), [
    ("resident", "memory, MiB", 8),
    ("descriptors", "file descriptors", 1 / 200_000),
    ("ahead", "write-ahead log, MiB", 4),
])
def test_what_each_order_leaves_behind_is_found(member: str, name: str, each: float) -> None:
    grown = [replace(sample, **{member: getattr(sample, member) + each * sample.orders})
             for sample in week()]
    assert broken(grown) == [name]


@pytest.mark.parametrize(("member", "name"), [("ledger", "disk, bytes"), ("log", "log, bytes")])
def test_an_order_that_takes_more_each_day_is_found(member: str, name: str) -> None:
    grown = [replace(sample, **{member: getattr(sample, member) * (1 + sample.orders / 5_000_000)})
             for sample in week()]
    assert broken(grown) == [name]
