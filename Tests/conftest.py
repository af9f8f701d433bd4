"""The real program with a real broker, and everything stopped again, whatever the outcome."""

import itertools
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Callable, Iterator, TypeVar

import pytest

sys.path.insert(0, str(Path(__file__).parent / "Shared/EndToEnd"))

from client import Client  # noqa: E402
from dashboard import Browser, Dashboard  # noqa: E402
from faults import Faults  # noqa: E402
from kiosk import Kiosk  # noqa: E402
from machine import Machine, packages, unpack_debian  # noqa: E402
from mosquitto import Mosquitto  # noqa: E402
from postgres import Postgres  # noqa: E402
from proxy import Proxy  # noqa: E402
from scene import Scene  # noqa: E402

# A shell that starts us in the background has SIGINT ignored, and so would all that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)

MakeBroker = Callable[..., Mosquitto]
MakeBrowser = Callable[..., Browser]
MakeDashboard = Callable[..., Dashboard]
MakeKiosk = Callable[..., Kiosk]
MakeClient = Callable[..., Client]
MakeScene = Callable[..., Scene]
Say = Callable[[str], None]
T = TypeVar("T")


def factory(
    make: Callable[..., T], close: Callable[[T], Any], start: Callable[[T], Any] = lambda made: made
) -> Iterator[Callable[..., T]]:
    """Yields a function that makes and starts something, which is closed when the test is over."""
    with ExitStack() as stack:
        def made(*arguments: Any, **options: Any) -> T:
            one = make(*arguments, **options)
            stack.callback(close, one)
            start(one)
            return one

        yield made


def folders(above: Path, name: str) -> Iterator[Path]:
    """Yields new folders."""
    for number in itertools.count():
        (above / f"{name}{number}").mkdir()
        yield above / f"{name}{number}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a file that share a server run in one process, or in two, each with its server, if they are many.

    A process takes one after the other: first the groups that a file names, which are slow, then those of most tests.
    """
    def shares(item: pytest.Item) -> bool:
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        return any(fixture.scope == "module" for fixtures in fixtures for fixture in fixtures)

    def group(item: pytest.Item) -> str:
        marker = item.get_closest_marker("xdist_group")
        return marker.args[0] if marker else ""

    sharing = list(filter(shares, items))
    counts = Counter(item.path for item in sharing)
    numbers = {path: itertools.count() for path in counts}
    for item in sharing:
        part = next(numbers[item.path]) % (2 if counts[item.path] > 30 else 1)
        item.add_marker(pytest.mark.xdist_group(f"{item.path.name}:{part}"))
    sizes = Counter(map(group, items))
    items.sort(key=lambda item: (not group(item), ":" in group(item), -sizes[group(item)]))


def pytest_sessionfinish() -> None:
    Browser.quit_idle()


@pytest.fixture
def chance() -> random.Random:
    """Random numbers of a seed that a failing test prints; KIOSK_SEED names it."""
    seed = int(os.environ.get("KIOSK_SEED", time.time_ns()))
    print(f"KIOSK_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def make_broker(tmp_path: Path) -> Iterator[MakeBroker]:
    number = itertools.count()
    yield from factory(
        lambda **options: Mosquitto(tmp_path / f"broker{next(number)}", **options),
        Mosquitto.kill, Mosquitto.start)


@pytest.fixture
def broker(make_broker: MakeBroker) -> Mosquitto:
    return make_broker()


@pytest.fixture
def upper(make_broker: MakeBroker) -> Mosquitto:
    """The broker of a chain, which must not drop messages while the archive is slow."""
    return make_broker(settings="max_queued_messages 0")


@pytest.fixture
def line(upper: Mosquitto) -> Iterator[Proxy]:
    """The line to the broker of a chain."""
    with closing(Proxy(upper.port)) as proxy:
        yield proxy


@pytest.fixture
def proxy(broker: Mosquitto) -> Iterator[Proxy]:
    with closing(Proxy(broker.port)) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with closing(Postgres()) as server:
        yield server.start()


@pytest.fixture
def make_kiosk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeKiosk]:
    """A kiosk that is configured but does not run yet; `broker` is its broker by default."""
    folder = folders(tmp_path, "kiosk")

    def make(broker: Mosquitto | None = None, /, **settings: Any) -> Kiosk:
        return Kiosk(next(folder), broker or request.getfixturevalue("broker"), settings)

    yield from factory(make, Kiosk.kill)


@pytest.fixture
def kiosk(make_kiosk: MakeKiosk) -> Kiosk:
    """A fresh kiosk with the built-in menu, online."""
    return make_kiosk().start()


@pytest.fixture
def make_client(broker: Mosquitto) -> Iterator[MakeClient]:
    def make(*filters: str, port: int = broker.port, **options: Any) -> Client:
        return Client(port, *filters, **options)

    yield from factory(make, Client.close)


@pytest.fixture
def panel(make_client: MakeClient) -> Client:
    """Hears all that the kiosk says."""
    return make_client("kiosk/#")


@pytest.fixture
def make_dashboard(tmp_path: Path, broker: Mosquitto) -> Iterator[MakeDashboard]:
    folder = folders(tmp_path, "dashboard")

    def make(archive: dict[str, Any] | None = None, **settings: Any) -> Dashboard:
        return Dashboard(next(folder), broker, settings, archive=archive)

    yield from factory(make, Dashboard.kill, Dashboard.start)


@pytest.fixture
def dashboard(make_dashboard: MakeDashboard) -> Dashboard:
    return make_dashboard()


@pytest.fixture
def make_browser(dashboard: Dashboard) -> Iterator[MakeBrowser]:
    """Each must have had nothing to complain about when the test is over."""
    browsers: list[Browser] = []

    def make(on: Dashboard = dashboard, **options) -> Browser:
        browsers.append(Browser(on, **options))
        return browsers[-1]

    yield make
    try:
        for browser in browsers:
            browser.check()
    finally:
        for browser in browsers:
            browser.close()


@pytest.fixture
def browser(make_browser: MakeBrowser) -> Browser:
    return make_browser()


@pytest.fixture
def make_scene() -> Iterator[MakeScene]:
    yield from factory(Scene, Scene.close)


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    return Faults(tmp_path)


@pytest.fixture
def confirmed_clock(faults: Faults) -> dict[str, str]:
    """Variables of a kiosk whose clock a time server has confirmed, whatever this computer's shows."""
    return faults.variables | {"CLOCK_STATE": "0"}


@pytest.fixture
def say(capsys: pytest.CaptureFixture) -> Say:
    """For figures, which are shown whatever the outcome."""

    def say(text: str) -> None:
        with capsys.disabled():
            print(f" {text}", end=" ", flush=True)

    return say


@pytest.fixture(scope="session")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk with a clean Debian, and our packages in /root."""
    folder = unpack_debian(tmp_path_factory.mktemp("debian"))
    for package in packages():
        shutil.copy(package, folder / "root")
    yield folder
    # Hundreds of megabytes, which pytest would keep three times.
    shutil.rmtree(folder)


@pytest.fixture
def machine(debian: Path, tmp_path: Path) -> Iterator[Machine]:
    """A clean Debian that runs."""
    machine = Machine(tmp_path, debian)
    try:
        yield machine.boot()
    finally:
        machine.close()
