"""Zones with every kind of clock change, and the moments in their history that have broken schedulers."""

from __future__ import annotations

ZONES = """
Africa/Cairo Africa/Casablanca Africa/El_Aaiun Africa/Juba America/Asuncion America/Caracas America/Chicago
America/Halifax America/Havana America/Metlakatla America/Miquelon America/New_York America/Nuuk America/Santiago
America/Sao_Paulo America/Scoresbysund America/St_Johns Antarctica/Casey Antarctica/Macquarie Antarctica/Troll
Asia/Amman Asia/Beirut Asia/Damascus Asia/Famagusta Asia/Gaza Asia/Jerusalem Asia/Pyongyang Asia/Tehran
Atlantic/Azores Australia/Adelaide Australia/Lord_Howe Australia/Sydney Europe/Chisinau Europe/Dublin Europe/Istanbul
Europe/Paris Pacific/Auckland Pacific/Chatham Pacific/Easter Pacific/Fiji Pacific/Norfolk
""".split()

# zone, year of the change, what is odd about it
HISTORY = [
    ("Pacific/Apia", 2011, "a whole day is skipped at the date line"),
    ("Pacific/Fakaofo", 2011, "a whole day is skipped at the date line"),
    ("Pacific/Kwajalein", 1993, "a whole day is skipped at the date line"),
    ("Pacific/Kwajalein", 1969, "most of a day is repeated"),
    ("Pacific/Kiritimati", 1994, "a whole day is skipped at the date line"),
    ("Pacific/Kanton", 1994, "a whole day is skipped at the date line"),
    ("Asia/Kathmandu", 1985, "a quarter of an hour is skipped"),
    ("Europe/Lisbon", 1992, "summer time and zone change together"),
    ("Asia/Gaza", 2011, "summer time is broken off and taken up again"),
    ("America/Argentina/San_Luis", 2008, "two changes within a season"),
    ("Antarctica/Casey", 2010, "three hours at once"),
    ("Asia/Kolkata", 1945, "an hour and a half ahead of its own time, and back"),
]
# Offsets with seconds: looked at second by second.
SECONDS = [
    ("Africa/Monrovia", 1972),
    ("Europe/Paris", 1911),
    ("Europe/London", 1847),
    ("America/New_York", 1883),
]
