"""Descriptions of schedules in the API, for lists, single schedules and live views."""

from __future__ import annotations

from typing import Any

from workbell.http.schemas.runs import RetryBody
from workbell.model.retry import Retry
from workbell.model.schedule import Schedule
from workbell.scheduling.words import in_words


def shown(schedule: Schedule) -> dict[str, Any]:
    retry = schedule.options.retry
    words = {"in_words": in_words(schedule), "retry": None if retry is None else _retry_shown(retry)}
    return schedule.as_dict() | words


def _retry_shown(retry: Retry) -> dict[str, Any]:
    return {name: getattr(retry, name) for name in RetryBody.model_fields}
