"""The state that displays must show, computed from the ledger alone."""

from datetime import datetime

from arrivals import TIMEOUT, eventually
from client import BASE, retained
from kiosk import FRUITS, RECIPES, Kiosk
from mosquitto import Mosquitto

LOW = 5


def expected(kiosk: Kiosk) -> dict[str, str]:
    stock, service = {}, "open"
    batches: dict[tuple[str, int], int] = {}
    expires: dict[tuple[str, int], str] = {}
    for entry in kiosk.entries():
        for fruit, change in entry.get("changes", {}).items():
            stock[fruit] = stock.get(fruit, 0) + change
        for part in entry.get("batches", []):
            batch = (part["fruit"], part["batch"])
            batches[batch] = batches.get(batch, 0) + part["amount"]
            expires[batch] = part.get("expires") or expires[batch]
        if entry["status"] in ("open", "closed"):
            service = entry["status"]
    shown = {"status": "online", "service": service}
    # Fruits that are no longer on the menu are only in the ledger.
    for fruit, amount in ((fruit, stock[fruit]) for fruit in FRUITS):
        shown[f"stock/{fruit}"] = str(amount)
        least = min(recipe[fruit] for recipe in RECIPES.values() if fruit in recipe)
        shown[f"alert/{fruit}"] = "out" if amount < least else "low" if amount <= LOW else "ok"
        times = [expires[batch] for batch in batches if batch[0] == fruit and batches[batch] > 0]
        if expires:
            shown[f"freshness/{fruit}"] = min(times, key=moment, default="none")
    for juice, recipe in RECIPES.items():
        servings = min(stock[fruit] // amount for fruit, amount in recipe.items())
        shown[f"juice/{juice}"] = str(servings)
    return {f"{BASE}/{topic}": text for topic, text in shown.items()}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


# Tested separately, because they contain more than the ledger.
OTHERS = {
    f"{BASE}/{topic}" for topic in ("menu", "info", "health", "stock", "sales", "forecast", "history")
}


def wait_for_truth(kiosk: Kiosk, broker: Mosquitto, within: float = TIMEOUT) -> dict[str, str]:
    """Waits until the retained messages match the ledger, without any others."""
    wanted = expected(kiosk)
    shown: dict[str, str] = {}

    def is_true() -> bool:
        shown.clear()
        shown.update(retained(broker.port))
        told = {topic: text for topic, text in shown.items()
                if topic not in OTHERS and topic != f"{BASE}/sales/days"}
        return told == wanted and OTHERS <= set(shown)

    try:
        eventually(is_true, within)
    except TimeoutError:
        assert {topic: shown[topic] for topic in shown if topic not in OTHERS} == wanted
    assert OTHERS <= set(shown)
    return shown
