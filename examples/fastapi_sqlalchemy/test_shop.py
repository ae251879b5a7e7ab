"""Tests of the shop: an order that is placed is confirmed, and one that is refused leaves no run behind."""

from fastapi.testclient import TestClient
from shop import app, bell


def test_an_order_is_confirmed() -> None:
    with TestClient(app) as browser:
        placed = browser.post("/orders", json={"item": "bell", "quantity": 2}).json()
        assert bell.wait(placed["run"], timeout=30).result == "2 x bell confirmed"
        assert browser.get(f"/orders/{placed['order']}").json()["confirmed"] is True


def test_a_refused_order_leaves_no_run() -> None:
    with TestClient(app) as browser:
        before = len(bell.runs())
        assert browser.post("/orders", json={"item": "bell", "quantity": 10}).status_code == 409
        assert len(bell.runs()) == before
