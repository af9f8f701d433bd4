"""Waiting for external events, with a deadline and without fixed delays."""

import threading
import time
from typing import Callable, Generic, Iterator, TypeVar

T = TypeVar("T")
R = TypeVar("R")

TIMEOUT = 60.0


class Arrivals(Generic[T]):
    """A list of received items, with methods that wait for further ones."""

    def __init__(self) -> None:
        self._items: list[T] = []
        # Reentrant, so that a condition may read the items.
        self._changed = threading.Condition(threading.RLock())

    def add(self, item: T) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.since(0))

    def since(self, start: int) -> list[T]:
        with self._changed:
            return self._items[start:]

    def count(self, matches: Callable[[T], bool]) -> int:
        return sum(matches(item) for item in self.since(0))

    def first(
        self, matches: Callable[[T], bool], since: int = 0, within: float = TIMEOUT
    ) -> T:
        """Waits for the first matching item from index `since` on."""
        deadline = time.monotonic() + within
        position = since
        with self._changed:
            while True:
                for item in self._items[position:]:
                    if matches(item):
                        return item
                position = len(self._items)
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"in {within} s only {self._last(since)}")

    def until(self, holds: Callable[[], R], within: float = TIMEOUT) -> R:
        """Evaluates a condition after each arrival until its result is true, and returns the
        result."""
        deadline = time.monotonic() + within
        with self._changed:
            while not (result := holds()):
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"in {within} s not met; last: {self._last(0)}")
            return result

    def _last(self, start: int) -> str:
        return "\n".join(str(item)[:200] for item in self._items[start:][-8:])


def eventually(holds: Callable[[], R], within: float = TIMEOUT) -> R:
    """Polls a condition that has no event, such as a port that opens or a process that ends: after each tenth of
    the time that has passed, because many a condition asks a browser or runs a program."""
    start = time.monotonic()
    while not (result := holds()):
        passed = time.monotonic() - start
        if passed > within:
            raise TimeoutError(f"in {within} s not met")
        time.sleep(min(max(0.005, passed / 10), 0.2))
    return result
