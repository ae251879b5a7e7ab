"""Counts the stock every minute, in opening hours; the schedule's ledger tells of the ticks outside of them."""

import random

schedule = "* * * * *"
timezone = "Europe/Paris"
window = ("08:00", "20:00")
outside = "skip"


def run():
    return f"{random.randint(200, 300)} things in stock"
