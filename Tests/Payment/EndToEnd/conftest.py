"""A card terminal, the device that connects it, and the kiosk's side of the contract."""

import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mosquitto import Mosquitto  # noqa: E402
from shop import Device, Shop, TerminalProcess  # noqa: E402

MakeDevice = Callable[..., Device]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[TerminalProcess]:
    terminal = TerminalProcess(tmp_path)
    yield terminal.start()
    terminal.kill()


@pytest.fixture
def make_device(
    tmp_path: Path, broker: Mosquitto, terminal: TerminalProcess
) -> Iterator[MakeDevice]:
    devices: list[Device] = []

    def make(**settings: Any) -> Device:
        devices.append(Device(tmp_path, broker, settings.pop("terminal", terminal), **settings))
        return devices[-1].start()

    yield make
    for device in devices:
        device.kill()


@pytest.fixture
def shop(broker: Mosquitto) -> Iterator[Shop]:
    shop = Shop(broker)
    yield shop
    shop.close()
