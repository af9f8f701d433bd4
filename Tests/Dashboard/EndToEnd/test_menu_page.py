"""Fruits and juices that an operator adds to the menu of two kiosks in a browser."""

import json
import signal

from arrivals import eventually
from client import Client
from conftest import MakeBrowser, MakeClient, MakeKiosk
from dashboard import Browser

MENU = {"base": "standard", "currency": "KRW", "juices": {"kiwi": {"price": 3000}}}


def order(client: Client, kiosk: str, juice: str) -> dict:
    seen = len(client.messages)
    client.publish(f"kiosk/{kiosk}/order/p", juice)
    return client.messages.first(lambda m: m.topic == f"kiosk/{kiosk}/order/p/result", seen).json


def look(browser: Browser, name: str) -> None:
    """Photographs the page in both sizes, light and dark."""
    for width, theme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        browser.width = width
        browser.resize(900)
        browser.set_theme(theme)
        # A browser does not paint a frame that is not in sight.
        browser.ask("document.querySelector('iframe')?.scrollIntoView({block: 'center'})")
        browser.photograph(f"{name}-{width}-{theme}")
        assert browser.overflow() == 0, (name, width, theme)
    browser.width = 1280
    browser.resize(900)
    browser.set_theme("light")


def fill(browser: Browser, **values: str) -> None:
    for name, value in values.items():
        browser.type(f"[name='{name.replace('_', '.')}']", value)


def test_a_new_fruit_and_juice_are_sold_at_two_kiosks(
    make_browser: MakeBrowser, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    kiosk = make_kiosk(menu=MENU).start()
    make_kiosk(kiosk={"id": "k2"}, menu=MENU).start()
    client = make_client("kiosk/+/order/p/result", "kiosk/+/restock/p/result", "kiosk/+/menu")
    browser = make_browser()
    browser.log_in(path="/kiosks/k1")
    browser.send("a[href='/kiosks/k1/menu']")
    browser.wait_for("The recipes and names are those of the kiosk's file")
    look(browser, "menu-empty-en")

    # A mistake keeps what was typed.
    fill(browser, name_en="Orange juice", name_ko="오렌지쥬스", price="4500")
    browser.press(".more summary")
    fill(browser, fruit_en="Orange", fruit_ko="오렌지", fruit_color="orange", fruit_amount="3", fruit_capacity="40")
    browser.send("button[value=preview]")
    browser.wait_for("New fruit, color: write it like #ff922b.")
    fill(browser, fruit_color="#ff922b")
    browser.send("button[value=preview]")
    browser.wait_for("Nothing is saved yet.")
    assert "₩4,500 · 13 left" in browser.text("#juice-orange_juice")
    # The wall shows the juice with the real style sheet and script.
    browser.driver.switch_to.frame(browser.one("iframe"))
    eventually(lambda: "Orange juice" in browser.text(".can"))
    eventually(lambda: browser.ask("return document.querySelector('.can ul').style.fontSize"))
    assert browser.ask("return getComputedStyle(document.querySelector('.card')).borderRadius") != "0px"
    browser.driver.switch_to.default_content()
    look(browser, "menu-preview-en")
    assert order(client, "k1", "orange_juice")["reason"] == "unknown_juice"

    browser.press("summary:has(+ p + .choices)")
    browser.press("[name='kiosk.k2']")
    browser.send(".settings .primary")
    browser.wait_for("Saved (k1, k2): new fruit: Orange, new juice: Orange juice (Orange 3), Orange juice ₩4,500")
    look(browser, "menu-saved-en")
    for id in ("k1", "k2"):
        assert order(client, id, "orange_juice")["status"] == "out_of_stock"
        client.publish(f"kiosk/{id}/restock/p", json.dumps({"id": "r", "add": {"orange": 20}}))
        client.messages.first(lambda m: m.topic == f"kiosk/{id}/restock/p/result" and m.json["status"] == "applied")
        sold = order(client, id, "orange_juice")
        assert (sold["status"], sold["amount"], sold["used"]) == ("ready", "4500", {"orange": 3})

    # It is still there after a crash, and another user sees it in Korean.
    kiosk.stop(signal.SIGKILL)
    kiosk.start()
    assert order(client, "k1", "orange_juice")["status"] == "ready"
    korean = make_browser(language="ko-KR")
    korean.log_in(path="/kiosks/k1/menu?juice=kiwi")
    korean.wait_for("파일과 다른 메뉴")
    fill(korean, amount_kiwi="0")
    korean.send("button[value=preview]")
    korean.wait_for("쥬스, kiwi 수량: 1부터 1000000000까지의 정수로 적어 주세요.")
    fill(korean, amount_kiwi="2", price="3200")
    korean.send("button[value=preview]")
    korean.wait_for("아직 저장하지 않았어요.")
    look(korean, "menu-preview-ko")
    korean.send(".settings .primary")
    korean.wait_for("키위쥬스: 키위 3 → 키위 2, 키위쥬스 ")
    look(korean, "menu-saved-ko")
    assert order(client, "k1", "kiwi")["used"] == {"kiwi": 2}
    korean.open("/kiosks/k1/settings")
    korean.wait_for("새 쥬스: 오렌지쥬스 (오렌지 3)")

    # The first page is out of date: it overwrites nothing.
    browser.send("button[value=back]")
    browser.wait_for("Nothing was changed: minji has changed the settings meanwhile.")
    browser.send("button[value=back]")
    browser.wait_for("Nothing was changed yet.")
    browser.wait_for("removed juice: Orange juice (Orange 3, ₩4,500)", ".result")
    look(browser, "menu-back-question")
    browser.send(".result button[value=back]")
    browser.wait_for("Saved", ".result")
    browser.wait_for("The recipes and names are those of the kiosk's file")
    assert order(client, "k1", "orange_juice")["reason"] == "unknown_juice"
    kiwi = order(client, "k1", "kiwi")
    assert (kiwi["used"], kiwi["amount"]) == ({"kiwi": 3}, "3000")
    assert order(client, "k2", "orange_juice")["status"] == "ready"
    kiosk.verify()
    # Who did what.
    done = browser.dashboard.command("user", "role", "minji", "admin")
    assert done.returncode == 0, done.stderr
    admin = make_browser()
    admin.log_in(path="/users/audit")
    admin.wait_for("Kiwi juice: Kiwi 3 → Kiwi 2")
    admin.wait_for("removed juice: Orange juice (Orange 3, ₩4,500)")
