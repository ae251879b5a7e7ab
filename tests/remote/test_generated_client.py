"""A client that a stranger's generator makes from the OpenAPI page works against a server, without any change."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.remote.conftest import make_bell
from tests.support.inside.stores import SqliteFiles
from tests.support.served import Served, served

NAME = "generated_workbell_client"


@pytest.fixture(scope="module")
def server(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = sqlite_files.open(tmp_path_factory.mktemp("generated") / "workbell.db")
    with make_bell(store) as bell, served(bell) as server, server.working():
        yield server


@pytest.fixture(scope="module")
def generated(server: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a package that openapi-python-client made from the page of the server. A warning of it is an error:
    it leaves out what it warns of."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "page.json").write_bytes(httpx2.get(f"{server.url}/openapi.json").content)
    (folder / "config.yaml").write_text(json.dumps({"post_hooks": []}))
    made = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"),
            *("--path", str(folder / "page.json"), "--config", str(folder / "config.yaml")),
            *("--output-path", str(folder / NAME)),
        ],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield NAME
        for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
            del sys.modules[name]


class GeneratedClient:
    """Calls operations of the generated package by their names: `runs.list`."""

    def __init__(self, package: str, url: str, token: str) -> None:
        self.models = import_module(f"{package}.models")
        self._package = package
        self._client = import_module(package).AuthenticatedClient(base_url=url, token=token)

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        resource, _, verb = name.partition(".")
        module = import_module(f"{self._package}.api.{resource}.{resource}_{verb}")
        return module.sync(*args, client=self._client, **options)


@pytest.fixture
def client(generated: str, server: Served) -> GeneratedClient:
    token = server.bell.tokens.create("generated", scopes=["admin"], tenant="*").text
    return GeneratedClient(generated, server.url, token)


def test_every_operation_has_a_module(generated: str, server: Served) -> None:
    folder = Path(str(import_module(generated).__file__)).parent
    page = httpx2.get(f"{server.url}/openapi.json").json()
    wanted = {one["operationId"].replace(".", "_") for paths in page["paths"].values() for one in paths.values()}
    assert {file.stem for file in folder.glob("api/*/*.py") if file.stem != "__init__"} == wanted


def test_it_enqueues_waits_and_lists(client: GeneratedClient) -> None:
    models = client.models
    body = models.RunBody(job="send", input_=models.RunBodyInput.from_dict({"to": "a@b.c"}), tag="generated")
    made = client.call("runs.enqueue", body=body)
    assert isinstance(made, models.MadeRun)
    ended = client.call("runs.get", made.id, wait=30.0)
    assert (ended.status, ended.result) == (models.Status.SUCCEEDED, {"sent": "a@b.c"})
    assert ended.finished_at >= ended.started_at
    listed = client.call("runs.list", tag="generated", status=[models.Status.SUCCEEDED], limit=10)
    assert isinstance(listed, models.FoundRunListPage)
    assert [run.id for run in listed.items] == [made.id]
    assert listed.next_ is None


def test_a_refusal_is_a_problem(client: GeneratedClient) -> None:
    refused = client.call("runs.get", "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f")
    assert isinstance(refused, client.models.Problem)
    assert (refused.status, refused.type_) == (404, "urn:workbell:error:RunNotFound")
