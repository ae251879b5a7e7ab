"""Arguments of tasks are checked against their type hints where they are enqueued, and refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.contenttypes.models import ContentType

from tests.django import tasks
from workbell import InvalidInput
from workbell.django import task
from workbell.django.arguments import TaskArguments
from workbell.django.testing import drain

if TYPE_CHECKING:
    from decimal import Decimal

pytestmark = pytest.mark.usefixtures("site")

INVOICE = "task tests.django.tasks.invoice: "


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        (("abc",), {}, "the argument 'order': expected int, got str."),
        ((7,), {"copies": True}, "the argument 'copies': expected int, got bool."),
        ((), {}, "missing a required argument: 'order'; it takes (order: int, copies: int = 1)."),
        ((1, 2, 3), {}, "too many positional arguments; it takes (order: int, copies: int = 1)."),
        ((1,), {"delay": 5}, "got an unexpected keyword argument 'delay'; it takes (order: int, copies: int = 1)."),
        ((ContentType(pk=7),), {}, "the argument 'order' is an instance of the model ContentType; pass its pk."),
        ((), {"order": [{"a": ContentType(pk=7)}]}, "the argument 'order' has an instance of the model ContentType"),
        ((object(),), {}, "the argument 'order': Unsupported type: <class 'object'>; pass what JSON can carry"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        tasks.invoice.enqueue(*args, **kwargs)
    assert str(refused.value).startswith(INVOICE + words)
    assert isinstance(refused.value, TypeError), "as Django's own backends raise"
    assert drain() == []


def test_a_query_set_is_refused_with_a_remedy() -> None:
    with pytest.raises(InvalidInput, match=r"the argument 'args' has a QuerySet; pass a list of pks\."):
        tasks.note.enqueue(ContentType.objects.all())


def test_what_fits_is_enqueued() -> None:
    tasks.invoice.enqueue(7)
    tasks.invoice.enqueue(order=8, copies=2)
    tasks.note.enqueue(1, "two", three=[3])  # *args and **kwargs take anything
    tasks.which.enqueue(word="w")  # its context is no argument
    assert len(drain()) == 4


@task
def hinted_for_checkers_only(price: Decimal) -> None: ...


def test_hints_that_cannot_be_read_are_not_checked() -> None:
    hinted_for_checkers_only.enqueue("9.50")


@pytest.mark.parametrize("word", ["delay", "apply_async"])
def test_the_words_of_celery_are_explained(word: str) -> None:
    with pytest.raises(AttributeError, match=rf"task .*invoice has no '{word}'; use invoice\.enqueue\(…\), or inv"):
        getattr(tasks.invoice, word)
    assert not hasattr(tasks.invoice, "anything_else")


class Half:
    def __init__(self, value: Any) -> None:
        self.half = value["half"]

    @classmethod
    def model_validate(cls, value: Any) -> Half:
        if "half" not in value:
            raise ValueError("half is missing")
        return cls(value)


@dataclass
class Point:
    x: int


HINTS = [
    object, Iterable[int], list[Path], PathLike[str] | None, Callable[..., int], type, complex, dict[str, int] | Point,
]  # fmt: skip


@pytest.mark.parametrize("hint", HINTS, ids=str)
def test_a_hint_that_json_cannot_carry_is_not_checked_and_the_others_are(hint: Any) -> None:
    def open_to_anything(value: Any, copies: int = 1, half: Half | None = None) -> None: ...

    open_to_anything.__annotations__["value"] = hint
    arguments = TaskArguments("open", open_to_anything, takes_context=False)
    arguments.check([["/srv/a.txt"]], {"half": {"half": 2}})
    with pytest.raises(InvalidInput, match="the argument 'copies': expected int, got str"):
        arguments.check([1], {"copies": "x"})
    with pytest.raises(InvalidInput, match="the argument 'half': half is missing"):
        arguments.check([1], {"half": {}})


@task
def looked_into(value: object, words: Iterable[str] = ()) -> None: ...


def test_a_task_with_such_hints_runs() -> None:
    looked_into.enqueue(7, words=["a"])
    assert len(drain()) == 1
