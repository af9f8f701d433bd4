"""Ports of the loopback interface for the servers of the tests."""

import os
import random
import socket

# Below the range for outgoing connections, which could take a port meanwhile. Parallel test
# processes use different ranges.
_PROCESSES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = range(15_000 + _PROCESS, 32_000, _PROCESSES)
_given: set[int] = set()


def free_port() -> int:
    """Returns a port without a listener. Never returns a port twice, so that it stays free while
    its server is stopped."""
    for port in random.sample(_PORTS, len(_PORTS)):
        if port not in _given and not is_listening(port):
            _given.add(port)
            return port
    raise RuntimeError("no free port")


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
