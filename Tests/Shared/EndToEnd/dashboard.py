"""The shipped dashboard, and a real browser."""

import base64
import json
import os
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any, Callable, Sequence, TypeVar
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from arrivals import TIMEOUT, eventually
from daemon import Daemon, built, environment
from mosquitto import Mosquitto
from ports import free_port

T = TypeVar("T")

PASSWORDS = {"minji": "strawberries", "vera": "only-looking", "nora": "in-the-north"}


program = partial(built, "juice-dashboard")


class Dashboard(Daemon):
    """A dashboard with the operator minji and the viewer vera."""

    #: The files after a command, by the file before it and the arguments.
    _users: dict[tuple[Any, ...], dict[str, bytes]] = {}

    def __init__(
        self, folder: Path, broker: Mosquitto, settings: dict[str, Any],
        notify: dict[str, Any] | None = None, archive: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.folder = folder
        self.port = free_port()
        self.config = folder / "dashboard.yaml"
        self.scheme = "https" if "tls" in settings else "http"
        configuration = {
            "dashboard": {"port": self.port, "users_file": "users", "state_folder": "state"} | settings,
            "broker": {"host": "127.0.0.1", "port": broker.port},
        } | ({"notify": notify} if notify else {}) | ({"archive": archive} if archive else {})
        self.config.write_text(json.dumps(configuration))
        self.add_user("minji", "operator")
        self.add_user("vera", "viewer")

    def command(
        self, *arguments: str, stdin: str = "", under: Sequence[Any] = (),
        output: Any = subprocess.PIPE,
    ) -> subprocess.CompletedProcess:
        """`under`: a program that runs this one, such as a tracer. `output`: the file that receives
        standard output, instead of a pipe."""
        return subprocess.run(
            [*under, program(), *arguments, "--config", self.config], input=stdin, text=True,
            stdout=output, stderr=subprocess.PIPE, timeout=120, env=environment(),
        )

    def add_user(self, name: str, role: str, *more: str) -> None:
        """Adds a user. Before the first start it copies what the same command of another dashboard has written,
        because a password's hash takes a quarter of a second."""
        users = self.folder / "users"
        key = (users.read_bytes() if users.exists() else b"", name, role, *more)
        if self.process or key not in Dashboard._users:
            done = self.command("user", "add", name, "--role", role, *more, stdin=PASSWORDS[name] + "\n")
            assert done.returncode == 0, done.stderr
            Dashboard._users[key] = {each: (self.folder / each).read_bytes() for each in ("users", "users.good")}
            return
        for each, content in Dashboard._users[key].items():
            (self.folder / each).touch(0o600)
            (self.folder / each).write_bytes(content)

    def start(self, **variables: str) -> "Dashboard":
        since = len(self.log)
        self.execute(program(), "run", "--config", self.config, variables=variables)
        for text in ("in a browser", "online"):
            self.log.first(lambda line: text in line, since)
        return self

    def url(self, path: str = "/") -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"


def between_pages(action: Callable[[], T]) -> T:
    """Repeats an action while the page or the element is being replaced."""

    def tried() -> T | None:
        try:
            return action()
        except StaleElementReferenceException:
            return None
        except WebDriverException as error:
            # Chromium's message for an element that no longer exists, as its driver reports it.
            if "inspector error" not in str(error):
                raise
            return None

    return eventually(tried)


class Browser:
    """A Chromium of its own, which records the requests and the errors of its pages."""

    #: Chromiums that have no page, cookie or stored data, with their languages and whether they run scripts: it
    #: takes a second to start one. The latest are the last.
    _idle: list[tuple[tuple[str, bool], webdriver.Chrome]] = []
    MOST_IDLE = 3

    def __init__(
        self, dashboard: Dashboard, language: str = "en-US", width: int = 1280,
        height: int = 900, has_scripts: bool = True, is_dark: bool = False,
    ) -> None:
        self.dashboard = dashboard
        self.kind = (language, has_scripts)
        self.driver = self._take_idle() or self._start()
        self.width, self.height = width, height
        self.resize(height)
        self.set_theme("dark" if is_dark else "light")

    # MARK: Chromium

    def _take_idle(self) -> webdriver.Chrome | None:
        found = next((each for each in Browser._idle if each[0] == self.kind), None)
        if found:
            Browser._idle.remove(found)
        return found and found[1]

    def _start(self) -> webdriver.Chrome:
        language, has_scripts = self.kind
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in (
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--ignore-certificate-errors", "--hide-scrollbars",
            f"--lang={language}",
        ):
            options.add_argument(argument)
        preferences: dict[str, Any] = {"intl.accept_languages": language}
        if not has_scripts:
            preferences["profile.managed_default_content_settings.javascript"] = 2
        options.add_experimental_option("prefs", preferences)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        driver.set_page_load_timeout(TIMEOUT)
        driver.set_script_timeout(TIMEOUT)
        return driver

    def close(self) -> None:
        """Leaves the Chromium to the next browser, without pages and data."""
        try:
            self._clear()
        except WebDriverException:
            # Such as a page with an open dialog.
            self.driver.quit()
            return
        Browser._idle.append((self.kind, self.driver))
        Browser.quit_idle(Browser.MOST_IDLE)

    def _clear(self) -> None:
        # A new tab has none of the emulations of the old ones.
        old = self.driver.window_handles
        self.driver.switch_to.new_window("tab")
        new = self.driver.current_window_handle
        for tab in old:
            self.driver.switch_to.window(tab)
            self.driver.close()
        self.driver.switch_to.window(new)
        # After the old pages are closed: an answer on its way may set a cookie.
        origin = {"origin": self.dashboard.url("").rstrip("/"), "storageTypes": "all"}
        for command, options in (
            ("Storage.clearDataForOrigin", origin), ("Network.clearBrowserCookies", {}), ("Network.clearBrowserCache", {}),
        ):
            self.driver.execute_cdp_cmd(command, options)
        for log in ("browser", "performance"):
            self.driver.get_log(log)

    @staticmethod
    def quit_idle(rest: int = 0) -> None:
        """Ends idle Chromiums, the earliest first, except for a number of them."""
        while len(Browser._idle) > rest:
            Browser._idle.pop(0)[1].quit()

    def resize(self, height: int) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": self.width, "height": height, "deviceScaleFactor": 1,
             "mobile": self.width < 600},
        )

    def set_theme(self, theme: str) -> None:
        scheme = {"name": "prefers-color-scheme", "value": theme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    # MARK: Navigation

    def open(self, path: str = "/") -> "Browser":
        self.driver.get(self.dashboard.url(path))
        return self

    def leave(self) -> list[str]:
        """Leaves a page that was without its dashboard, and returns the messages of its console. The page itself would
        report each request that fails, at any time."""
        self.driver.get("about:blank")
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def log_in(self, name: str = "minji", path: str = "/") -> "Browser":
        self.open(path)
        self.type("[name=name]", name)
        self.type("[name=password]", PASSWORDS[name])
        self.send("main button")
        return self

    # MARK: Reading

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return eventually(lambda: self.all(selector))[0]

    def ask(self, script: str, *arguments: Any) -> Any:
        """Returns the result of a script. The page does not change while it runs."""
        return between_pages(lambda: [self.driver.execute_script(script, *arguments)])[0]

    def focused(self, attribute: str) -> str | None:
        """Returns an attribute of the element with the focus. A browser sets the focus of a new page some
        time after its text can be read."""
        return between_pages(lambda: [self.driver.switch_to.active_element.get_attribute(attribute)])[0]

    def shows(self, selector: str) -> bool:
        """Returns whether the window shows the whole element without scrolling."""
        box = "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        return self.ask(f"{box} return box.top >= 0 && box.bottom <= innerHeight", selector)

    def text(self, selector: str = "main") -> str:
        return self.ask("return document.querySelector(arguments[0])?.innerText", selector) or ""

    def texts(self, selector: str) -> list[str]:
        return self.ask(
            "return [...document.querySelectorAll(arguments[0])].map(part => part.innerText)",
            selector,
        )

    def wait_for(self, text: str, selector: str = "main", within: float = TIMEOUT) -> None:
        try:
            eventually(lambda: text in self.text(selector), within)
        except TimeoutError:
            raise TimeoutError(f"no {text!r} in {self.text(selector)!r}") from None

    def numbers(self, chart: str) -> dict[str, int]:
        """Returns the values of the table below a chart."""
        rows = self.ask(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map(row => [...row.children].map(cell => cell.textContent))",
            f"#{chart}-numbers tr",
        )
        return {name: int(value) for name, value in rows}

    # MARK: Input

    def press(self, selector: str) -> None:
        def is_pressed() -> bool:
            self.one(selector).click()
            return True

        # A click on an element that was replaced meanwhile does not count.
        between_pages(is_pressed)

    def send(self, selector: str) -> None:
        """Clicks an element that leads to another page, and waits for that page."""
        page = "return document.readyState == 'complete' && performance.timeOrigin"
        before = eventually(lambda: self.ask(page))
        self.press(selector)
        eventually(lambda: self.ask(page) not in (False, before))

    def type(self, selector: str, text: str) -> None:
        def is_typed() -> bool:
            field = self.one(selector)
            field.clear()
            field.send_keys(text)
            return True

        between_pages(is_typed)

    def create_link(self, screen: str) -> str:
        """Creates or replaces the link to a screen on the page of a kiosk, and returns its path."""
        self.send(f"form:has([value={screen}]) [name=do]")
        return urlsplit(self.one(f"#{screen}-link").get_attribute("href")).path

    # MARK: Checks

    def check(self) -> None:
        """Checks that the console has no messages, and that all requests went to the dashboard."""
        complaints = [
            entry["message"] for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]
        assert complaints == [], complaints
        asked = {
            urlsplit(event["params"]["request"]["url"])
            for entry in self.driver.get_log("performance")
            if (event := json.loads(entry["message"])["message"])["method"]
            == "Network.requestWillBeSent"
        }
        others = {url.geturl() for url in asked if url.port != self.dashboard.port and url.netloc}
        assert others == set(), others

    def overflow(self) -> int:
        """Returns by how many pixels the page is wider than the screen."""
        return self.ask(
            "return document.documentElement.scrollWidth - window.innerWidth"
        )

    def photograph(self, name: str) -> None:
        """Saves a screenshot in the folder KIOSK_SCREENSHOTS, for people; without it, there is none."""
        if "KIOSK_SCREENSHOTS" not in os.environ:
            return
        folder = Path(os.environ["KIOSK_SCREENSHOTS"])
        folder.mkdir(parents=True, exist_ok=True)
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        picture = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot",
            {"captureBeyondViewport": True, "clip": size | {"x": 0, "y": 0, "scale": 1}},
        )
        name = re.sub(r"[^a-z0-9-]", "-", name)
        (folder / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))
