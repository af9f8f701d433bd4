"""Twenty kiosks on one screen, and a restock of a sold-out fruit in two taps."""

from datetime import timedelta

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeBrowser, MakeClient
from dashboard import Browser
from fleet import MadeUp, twenty
from kiosk import FRUITS, Kiosk


@pytest.fixture
def client(make_client: MakeClient) -> Client:
    return make_client("kiosk/#")


@pytest.fixture
def kiosks(client: Client) -> list[MadeUp]:
    return twenty(client)


def see_all(browser: Browser, kiosks: list[MadeUp]) -> None:
    eventually(lambda: len(browser.all(".kiosk")) == len(kiosks))
    # The kiosks that report the time published it before the dashboard was connected.
    kiosks[10].feel(ahead=timedelta(minutes=7))
    browser.wait_for("7", "#row-k11 .chip")


# Height in pixels that the bars of a browser take from a laptop's screen.
BARS = 125


@pytest.mark.parametrize("language, is_dark", [("en-US", False), ("ko-KR", True)])
@pytest.mark.parametrize("width, height", [(1366, 768), (1440, 900)])
def test_twenty_kiosks_are_on_one_screen_of_a_laptop(
    make_browser: MakeBrowser, kiosks: list[MadeUp], width: int, height: int, language: str,
    is_dark: bool,
) -> None:
    browser = make_browser(
        width=width, height=height - BARS, language=language, is_dark=is_dark
    ).log_in("vera")
    see_all(browser, kiosks)
    browser.photograph(f"twenty-{width}-{language[:2]}")
    assert browser.overflow() == 0
    last, smallest, cut = browser.ask("""
        const texts = [...document.querySelectorAll(".kiosk .name, .slot, .kiosk .chip, .fact")];
        return [
            document.querySelector(".kiosk:last-child").getBoundingClientRect().bottom,
            Math.min(...texts.map(text => parseFloat(getComputedStyle(text).fontSize))),
            texts.filter(text => !text.matches(".name") && text.scrollWidth > text.clientWidth + 1)
                .map(text => text.innerText),
        ];
    """)
    assert last <= height - BARS, "the last row is below the screen"
    assert smallest >= 13, "too small for an arm's length"
    assert cut == []


@pytest.mark.parametrize("language, is_dark", [("en-US", True), ("ko-KR", False)])
def test_twenty_kiosks_on_a_phone(
    make_browser: MakeBrowser, kiosks: list[MadeUp], language: str, is_dark: bool
) -> None:
    phone = make_browser(width=360, height=780, language=language, is_dark=is_dark).log_in("vera")
    see_all(phone, kiosks)
    phone.photograph(f"twenty-phone-{language[:2]}")
    assert phone.overflow() == 0
    rows = phone.ask(
        "return [...document.querySelectorAll('.kiosk')].map(row => row.offsetHeight)"
    )
    assert max(rows) <= 90 and sum(rows) <= 2 * 780


def test_a_row_says_who_needs_somebody_and_why(
    make_browser: MakeBrowser, kiosks: list[MadeUp]
) -> None:
    browser = make_browser(width=1366).log_in("vera")
    see_all(browser, kiosks)
    assert browser.texts(".heads .levels span") == [
        "Strawberry", "Banana", "Pineapple", "Kiwi", "Mango"
    ]
    chips = lambda kiosk: browser.texts(f"#row-{kiosk} .chip")
    assert chips("k11") == ["Clock 7 min ahead"]
    assert [chips(kiosk) for kiosk in ("k09", "k10", "k12", "k13", "k01")] == [
        ["Machine bar: out of order"], ["Closed"], ["Disk: 9 MB free"], ["Disk: 120 MB free"], ["Online"],
    ]
    assert chips("k04")[0].startswith("Offline")
    # The row contains the name, the capacity and the state of each fruit for screen readers.
    assert " ".join(browser.text("#k06-strawberry").split()) == "Strawberry 0 / 100 out"
    assert " ".join(browser.text("#k06-mango").split()) == "Mango 9 / 100 low"
    assert "Gangnam Station" in browser.text("#row-k01 .name")
    assert "Exit 11" in browser.text("#row-k01 .name")
    assert " ".join(browser.text("#row-k01 .sold").split()) == "Made today 40 usually 39"
    fills = browser.ask("""
        return [...document.querySelectorAll("#row-k06 .slot path:first-child")]
            .map(path => Math.round(path.getBoundingClientRect().width
                / path.closest("svg").getBoundingClientRect().width * 100));
    """)
    assert fills == [kiosks[5].stock[fruit] for fruit in FRUITS]


@pytest.mark.parametrize("width, most", [(360, 120), (1366, 62)])
def test_many_problems_make_no_high_row(
    make_browser: MakeBrowser, kiosks: list[MadeUp], width: int, most: int
) -> None:
    for machine in ("left", "middle", "right"):
        kiosks[1].say(
            f"machine/{machine}", {"state": "fault", "reason": "no cups", "queue": 0, "juices": []}
        )
    kiosks[1].say("service", "closed")
    kiosks[1].feel(disk_free=9_000_000)
    for language, more in [("en-US", "+3 more"), ("ko-KR", "외 3건")]:
        browser = make_browser(width=width, height=780, language=language).log_in("vera")
        see_all(browser, kiosks)
        browser.wait_for(more, "#row-k02 .chips")
        browser.photograph(f"many-problems-{width}-{language[:2]}")
        assert len(browser.all("#row-k02 .chip")) == 3
        assert browser.ask("return document.querySelector('#row-k02').offsetHeight") <= most


def test_the_list_is_light_and_stays_under_the_hand(
    make_browser: MakeBrowser, kiosks: list[MadeUp]
) -> None:
    browser = make_browser(width=1366).log_in("vera")
    see_all(browser, kiosks)
    size = browser.ask("return document.querySelector('#kiosks').outerHTML.length")
    assert size < 20 * 2_000
    browser.ask("""
        window.row = document.querySelector("#row-k01");
        window.other = document.querySelector("#row-k02 .name");
        other.focus();
    """)
    kiosks[0].sell(77, usual=70)
    browser.wait_for("77", "#row-k01 .sold")
    assert browser.ask("""
        return row.isConnected && other.isConnected && document.activeElement === other
    """), "what has not changed was exchanged, too"
    # Changes the order of the rows.
    kiosks[0].hold(kiwi=0)
    browser.wait_for("out", "#k01-kiwi")
    assert browser.ask("return document.activeElement.id") == "kiosk-k02"


def test_another_menu_has_its_names_in_the_row(
    make_browser: MakeBrowser, kiosks: list[MadeUp]
) -> None:
    fruits = [f"exotic_fruit_{number}" for number in range(12)]
    odd = kiosks[1]
    odd.say("menu", {
        "fruits": [{"id": fruit, "name": {"en": fruit}, "capacity": 10} for fruit in fruits],
        "juices": [{"id": "mix", "name": {"en": "Mix"}, "recipe": {fruits[0]: 1}}],
    })
    odd.say("stock", {"seq": 9, "at": "2026-11-21T09:00:00Z", "fruits": dict.fromkeys(fruits, 4)})
    for width, height in [(1366, 768), (360, 780)]:
        browser = make_browser(width=width, height=height).log_in("vera")
        see_all(browser, kiosks)
        browser.wait_for("exotic_fruit_11", "#row-k02")
        assert browser.all(".kiosk .own .slot") == browser.all("#row-k02 .slot")
        browser.photograph(f"another-menu-{width}")
        assert browser.overflow() == 0


# MARK: From sold out to restocked


@pytest.mark.parametrize("has_scripts", [True, False])
def test_an_order_that_was_short_is_two_taps_from_its_restock(
    make_browser: MakeBrowser, kiosk: Kiosk, client: Client, has_scripts: bool
) -> None:
    assert client.order("strawberry_banana")["status"] == "ready"
    assert client.order("strawberry_banana")["status"] == "out_of_stock"
    phone = make_browser(width=360, height=780, has_scripts=has_scripts)
    phone.log_in(path="/kiosks/k1")
    # Without scripts, the page has to be reloaded to show the order.
    eventually(lambda: has_scripts or phone.open("/kiosks/k1").all("#orders a"))
    phone.one("#orders a")
    phone.send("#orders a")
    assert phone.driver.current_url.endswith("/kiosks/k1?fruit=strawberry")
    eventually(lambda: phone.focused("name") == "add.strawberry")
    assert phone.focused("value") == "100"
    if has_scripts:
        assert phone.text("[name='add.strawberry'] ~ output") == "→ 100"
        # The browser scrolls to the focused field after it has set the focus.
        eventually(lambda: phone.shows("[value=now]"))
        phone.photograph("two-taps")
    phone.send("[value=now]")
    eventually(lambda: phone.all(".notice.good"))
    restock = kiosk.ledger()[-1]
    assert (restock["status"], restock["source"]) == ("restocked", "restock/minji")
    assert restock["changes"] == {"strawberry": 100}
    assert kiosk.stock() == {"strawberry": 100, "banana": 9, "pineapple": 10, "kiwi": 10, "mango": 10}


@pytest.mark.parametrize("height", [360, 720, 780])
def test_the_button_of_a_restock_is_in_the_picture_of_each_phone(
    make_browser: MakeBrowser, kiosk: Kiosk, client: Client, height: int
) -> None:
    client.order("strawberry_banana")
    phone = make_browser(width=360, height=height).log_in()
    phone.wait_for("out", "#k1-strawberry")
    phone.open("/kiosks/k1?fruit=strawberry")
    eventually(lambda: phone.shows("[value=now]"))
    assert phone.shows("[name='add.strawberry']")


def test_the_alert_in_the_list_leads_there_too(
    make_browser: MakeBrowser, kiosk: Kiosk, client: Client
) -> None:
    client.order("strawberry_banana")
    browser = make_browser(width=1366).log_in()
    browser.wait_for("out", "#k1-strawberry")
    browser.send("#k1-strawberry")
    browser.send("[value=now]")
    browser.wait_for("Done.")
    assert kiosk.stock()["strawberry"] == 100


def test_two_who_fill_up_at_once_do_it_once(
    make_browser: MakeBrowser, kiosk: Kiosk, client: Client
) -> None:
    client.order("strawberry_banana")
    browser = make_browser().log_in(path="/kiosks/k1?fruit=strawberry")
    browser.wait_for("out", "#fruit-strawberry")
    # The other user was faster, and this page has not received the update.
    browser.ask("""
        document.querySelector("[name='expect.strawberry']").removeAttribute("id");
        addEventListener("submit", () => {
            document.querySelector("[name='expect.strawberry']").value = "0";
        });
    """)
    client.restock({"id": "other", "set": {"strawberry": 60}})
    browser.wait_for("60", "#fruit-strawberry")
    browser.type("[name='add.strawberry']", "40")
    browser.press("[value=now]")
    browser.wait_for("The stock has changed since you looked.")
    browser.wait_for("Strawberry: 0 → 60")
    assert kiosk.stock()["strawberry"] == 60
    browser.press("main .primary")
    browser.wait_for("Done.")
    assert kiosk.stock()["strawberry"] == 100
    assert [entry["status"] for entry in kiosk.ledger()].count("restocked") == 2


def test_the_link_of_a_message_survives_the_login(
    make_browser: MakeBrowser, kiosk: Kiosk, client: Client
) -> None:
    client.order("strawberry_banana")
    browser = make_browser().log_in(path="/kiosks/k1?fruit=strawberry")
    browser.wait_for("out", "#fruit-strawberry")
    eventually(lambda: browser.focused("name") == "add.strawberry")
    viewer = make_browser().log_in("vera", "/kiosks/k1?fruit=strawberry")
    viewer.wait_for("out", "#fruit-strawberry")
    assert viewer.all("main form") == []
