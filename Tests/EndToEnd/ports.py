"""Ports of the loopback interface for the servers of the tests."""

import random
import socket

# Below those that the system gives to outgoing connections, which would take one in the meantime.
_PORTS = range(15_000, 32_000)
_given: set[int] = set()


def free_port() -> int:
    """One that nothing listens on; never the same twice, so that it stays free while its server is
    stopped."""
    for port in random.sample(_PORTS, len(_PORTS)):
        if port not in _given and not is_listening(port):
            _given.add(port)
            return port
    raise RuntimeError("no free port")


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
