"""Each press is one order."""

import json

import pytest

from client import BASE
from conftest import MakeClient, MakeKiosk
from displays import wait_for_truth
from kiosk import RECIPES

both_versions = pytest.mark.parametrize("version", ["5", "3.1.1"])

NAMES = {
    "strawberry": ("Strawberry juice", "딸기쥬스"),
    "banana": ("Banana juice", "바나나쥬스"),
    "kiwi": ("Kiwi juice", "키위쥬스"),
    "pineapple": ("Pineapple juice", "파인애플쥬스"),
    "strawberry_banana": ("Strawberry banana juice", "딸바쥬스"),
    "mango": ("Mango juice", "망고쥬스"),
    "mango_kiwi": ("Mango kiwi juice", "망고키위쥬스"),
}


@both_versions
@pytest.mark.parametrize("language", ["en", "ko"])
def test_each_juice_is_made_as_text_and_as_json(
    version: str, language: str, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    kiosk = make_kiosk(
        kiosk={"language": language}, broker={"protocol": version}, stock={"initial": 100}
    ).start()
    panel = make_client("kiosk/#", protocol=version)
    stock = dict.fromkeys(["strawberry", "banana", "pineapple", "kiwi", "mango"], 100)
    ticket = 0
    for juice, (english, korean) in NAMES.items():
        for payload in (juice, {"id": f"{juice}-1", "juice": juice, "quantity": 2}):
            result = panel.order(payload)
            ticket += 1
            quantity = 1 if payload == juice else 2
            used = {fruit: amount * quantity for fruit, amount in RECIPES[juice].items()}
            for fruit, amount in used.items():
                stock[fruit] -= amount
            assert result == {
                "status": "ready", "ticket": ticket, "juice": juice, "quantity": quantity,
                "used": used, "stock": stock, "seq": ticket + 1,
                "message": f"{english} is ready. Enjoy!" if language == "en"
                else f"{korean} 나왔습니다! 맛있게 드세요!",
            } | ({} if payload == juice else {"id": f"{juice}-1"})
    assert kiosk.stock() == stock


@both_versions
def test_a_fresh_kiosk_has_too_few_strawberries_and_nothing_moves(
    version: str, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    kiosk = make_kiosk(broker={"protocol": version}).start()
    result = make_client("kiosk/#", protocol=version).order("strawberry")
    assert result["status"] == "out_of_stock"
    assert result["missing"] == {"strawberry": 6}
    assert result["message"] == "Not enough fruit. Update the stock?"
    assert set(result["stock"].values()) == set(kiosk.stock().values()) == {10}


def test_out_of_stock_in_korean(make_kiosk: MakeKiosk, panel) -> None:
    make_kiosk(kiosk={"language": "ko"}).start()
    assert panel.order("strawberry")["message"] == "재료가 모자라요. 재고를 수정할까요?"
    panel.service("closed")
    assert panel.order("banana")["message"] == "지금은 영업시간이 아닙니다."


def test_the_second_strawberry_banana_takes_no_banana(kiosk, broker, panel) -> None:
    first = panel.order("strawberry_banana")
    assert (first["stock"]["strawberry"], first["stock"]["banana"]) == (0, 9)
    second = panel.order("strawberry_banana")
    assert second["status"] == "out_of_stock"
    assert second["missing"] == {"strawberry": 10}
    assert (second["stock"]["strawberry"], second["stock"]["banana"]) == (0, 9)
    assert wait_for_truth(kiosk, broker)[f"{BASE}/stock/banana"] == "9"


@both_versions
def test_the_same_id_is_made_once_and_answered_twice(
    version: str, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    kiosk = make_kiosk(broker={"protocol": version}).start()
    panel = make_client("kiosk/#", protocol=version)
    order = {"id": "a1", "juice": "mango"}
    first = panel.order(order)
    assert panel.order(order) == first | {"duplicate": True}
    kiosk.kill()
    kiosk.start()
    assert panel.order(order) == first | {"duplicate": True}
    # An id is unique per panel.
    assert panel.order(order, panel="p2")["ticket"] == 2
    assert kiosk.stock()["mango"] == 4


def test_a_closed_kiosk_takes_no_orders(kiosk, broker, panel) -> None:
    closed = panel.service({"id": "s1", "service": "closed"})
    assert closed == {"id": "s1", "status": "applied", "service": "closed", "seq": 2}
    rejected = panel.order({"id": "a1", "juice": "banana"})
    assert (rejected["status"], rejected["reason"]) == ("rejected", "closed")
    assert rejected["message"] == "We are closed right now."
    wait_for_truth(kiosk, broker)
    kiosk.kill()
    kiosk.start()
    assert panel.order("banana")["reason"] == "closed"
    assert panel.service("open")["service"] == "open"
    assert panel.order("banana")["status"] == "ready"
    wait_for_truth(kiosk, broker)


def test_a_panel_that_presses_too_often_is_turned_away(make_kiosk: MakeKiosk, panel) -> None:
    kiosk = make_kiosk(orders={"max_per_second": 2}, stock={"initial": 100}).start()
    for number in range(20):
        panel.publish(f"{BASE}/order/p1", json.dumps({"id": f"{number}", "juice": "banana"}))
    topic = f"{BASE}/order/p1/result"
    panel.messages.until(lambda: panel.messages.count(lambda m: m.topic == topic) == 20)
    results = [message.json for message in panel.messages if message.topic == topic]
    made = [result["id"] for result in results if result["status"] == "ready"]
    assert {result.get("reason") for result in results} == {None, "rate_limited"}
    assert kiosk.stock()["banana"] == 100 - 2 * len(made)


def test_correlation_data_comes_back(kiosk, panel) -> None:
    answer = panel.ask("order/p1", "banana", CorrelationData=b"\x00\xff42")
    assert answer.correlation == b"\x00\xff42"
    assert panel.ask("order/p1", "banana").correlation is None
