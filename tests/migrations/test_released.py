"""Migrations that were released are never edited again: stores out there have applied them as they were.

A new one is a new file, and a new line here. `python -m tests.migrations.test_released` prints the lines.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from workbell.stores.queries import migrations, read

RELEASED = {
    "postgres/0001_first": "00fdcd648f48a2dba812d4e1a6d02caa8f2cbc1e872157ef45b4e09d1fcd43b5",
    "postgres/0002_schedules": "178adc4df041d4bc3f7b83f85672332daed61a0065c7e0c758a0c751c1b6a365",
    "postgres/0003_workers": "32f9e84b6ea0b73e4e0733e8f574778c976bb976ab5addd0b265651adcc18dbd",
    "postgres/0004_events": "4f8bed8cbcc3c412f537016666fc1320ec668fd0576dbbc863ab1afbadbbf896",
    "postgres/0005_service": "a0b2ff8bddc2a0551706689bcb84d4c094de9db0e3ecc00297dcbfc82b72cea7",
    "postgres/0006_dashboard": "51324a9e5724463afd225c594f81fa3c53da8a8d205271915f5de229ba28bebb",
    "postgres/0007_priorities": "7a07a6f5d89b7eedf8f76a96b746a1f3e8fa37081c75c182eb9b41d9806768f6",
    "postgres/0008_retries": "76b57bb027742ceb73e6ad0abc8ff924d059556383bf1e5229b8bb596d79dcc1",
    "postgres/0009_run_options": "1fdf000134eef7cae6f8cbaea0a9613ebdbb8c63ac0396c9c70ef2530e3a8166",
    "postgres/0010_definitions": "9c8bfa9f6bdbb812ac9854da8e38bddf4def70899c5581b41a0085383e7df501",
    "postgres/0011_lease_tokens": "6cf9e2121229b1c0e0d306c1e5a9a257395930812e8993f7e67171b2d247264b",
    "postgres/0012_rewinds": "9bfec9803643b0ca1416753a9d841e157562a88946552e3a3583befd23ec10ae",
    "postgres/0013_tags": "7c1a1e6d2cb6038a866e778caef358d8414f7f1affb37250ccc2b14fa624746b",
    "sqlite/0001_first": "538ffb7280c4e5406532139d1e28076a70daf96fc69ed9fbbddc4bd9cf5b9742",
    "sqlite/0002_schedules": "5df8c985432deb9a10c8074573d139723ffd5adab2ea66ba102dee63260eac67",
    "sqlite/0003_workers": "7173cffeb7df04f06e6207db9d5331ce9ff40c3ffe62911f94a85a29f5b1774a",
    "sqlite/0004_events": "82cb5dfe8333ae6b1278a9eea0718fb16f60ffb5678d6084a57e9751476fbdf7",
    "sqlite/0005_service": "923d8bb8f48d7e9bf3d9416951061bbab097932a8877b0678ca5cf84969de9e9",
    "sqlite/0006_dashboard": "5c4fd1bcd9a6e3f1fc25439f6e9f0fcc450d03cf400b90484cae7c76bd6a8f22",
    "sqlite/0007_priorities": "e780785f49f96b3cc89ff6202458fa9ff2da429bed9572f9479a8e4e60a76613",
    "sqlite/0008_retries": "50379a30114cb258264e4acc63d5f6c9ccfd220038a18769f9c4388587041284",
    "sqlite/0009_run_options": "132629b95d27b901e96d701558ef437edc4fc8ef8bfcfa5d24bc297ea3dbb290",
    "sqlite/0010_definitions": "e8958b90c699bf63471abf10754deb6c4c29dbe45d0bc749e5d53c7742be38a6",
    "sqlite/0011_lease_tokens": "92b57dd8dd50c3e9156255c38659ea9d1b9e715a1ca600928d5937134a15b31b",
    "sqlite/0012_rewinds": "6bfb4ab5b92af60a71e6076c5d4a46d91a1db359a71d91c756f1cf5514f6f713",
    "sqlite/0013_tags": "f8b1ce6af680d71f5d70e2f8d991d9cb22a940c96d7a39e2bb6f0ffc42693fc6",
}


def found() -> dict[str, str]:
    names = [f"{engine}/{name}" for engine in ("postgres", "sqlite") for _, name, _ in migrations(engine)]
    return {name: hashlib.sha256(read(f"migrations/{name}.sql").encode()).hexdigest() for name in names}


def test_none_was_edited_or_removed() -> None:
    assert {name: digest for name, digest in found().items() if name in RELEASED} == RELEASED


def test_all_are_noted() -> None:
    assert found().keys() == RELEASED.keys(), "note the new one, and leave it alone from its release on"


def test_no_other_file_lies_among_them() -> None:
    folder = files("workbell.stores").joinpath("sql", "migrations")
    there = {f"{engine.name}/{entry.name}" for engine in folder.iterdir() for entry in engine.iterdir()}
    assert there == {f"{name}.sql" for name in RELEASED}


if __name__ == "__main__":
    for name, digest in found().items():
        print(f'    "{name}": "{digest}",')
