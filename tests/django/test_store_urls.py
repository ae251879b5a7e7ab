"""URLs of the databases of Django's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from workbell.django.store_urls import store_url
from workbell.errors import StoreError
from workbell.settings import safe_url

POSTGRES = "django.db.backends.postgresql"
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


HOSTS = ["", "db.example.org", "10.0.0.7", "/run/postgresql", "::1", "db-1.example.org,db-2.example.org", "@socket"]


@given(texts, texts, texts, st.sampled_from(HOSTS), st.sampled_from(["", 5433]))
def test_libpq_reads_back_what_the_settings_say(name: str, user: str, password: str, host: str, port: Any) -> None:
    entry = {"ENGINE": POSTGRES, "NAME": name, "USER": user, "PASSWORD": password, "HOST": host, "PORT": port}
    found = conninfo_to_dict(store_url("default", entry))
    wanted = {"dbname": name, "user": user, "password": password} | ({"host": host} if host else {})
    assert found == wanted | ({"port": str(port)} if port else {})


def test_options_of_libpq_are_passed_on_and_those_of_django_are_not() -> None:
    options = {"sslmode": "require", "pool": True, "server_side_binding": True, "options": "-c search_path=jobs"}
    entry = {"ENGINE": POSTGRES, "NAME": "shop", "OPTIONS": options | {"assume_role": "worker"}}
    found = conninfo_to_dict(store_url("default", entry))
    assert found == {"dbname": "shop", "sslmode": "require", "options": "-c search_path=jobs -c role=worker"}


def test_spatialite_keeps_runs_in_its_file(tmp_path: Path) -> None:
    entry = {"ENGINE": "django.contrib.gis.db.backends.spatialite", "NAME": tmp_path / "shop.db"}
    assert store_url("default", entry) == f"sqlite:///{tmp_path / 'shop.db'}"


def test_every_host_has_a_port_of_its_own() -> None:
    entry = {"ENGINE": POSTGRES, "NAME": "shop", "HOST": "db-1,db-2", "PORT": "5432,5433"}
    found = conninfo_to_dict(store_url("default", entry))
    assert found == {"dbname": "shop", "host": "db-1,db-2", "port": "5432,5433"}


def test_a_password_is_not_shown() -> None:
    entry = {"ENGINE": POSTGRES, "NAME": "shop", "USER": "ada", "PASSWORD": "geheim", "HOST": "db"}
    assert "geheim" not in safe_url(store_url("default", entry))


def test_files_and_what_is_none() -> None:
    assert store_url("default", {"ENGINE": "django.db.backends.sqlite3", "NAME": "/srv/shop.db"}) == (
        "sqlite:////srv/shop.db"
    )
    for entry, words in (
        ({"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}, r"in memory, .*\.drain\(\)"),
        ({"ENGINE": "django.db.backends.sqlite3", "NAME": "file:x.db?mode=ro"}, "is a URI"),
        ({"ENGINE": "django.db.backends.mysql", "NAME": "shop"}, "SQLite or PostgreSQL"),
    ):
        with pytest.raises(StoreError, match=words):
            store_url("default", entry)
