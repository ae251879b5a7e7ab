"""Routes of triggers: add, show, change, enable and disable. `If-Match` prevents lost updates."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workbell.events.triggers import TriggerChanges
from workbell.http.answers import JsonResponse, nothing
from workbell.http.call import call_of
from workbell.http.etags import IF_MATCH, NOT_MODIFIED, answer_with, check_match, etag_of
from workbell.http.routing import Routes
from workbell.http.schemas.triggers import NewTrigger, TriggerChange, TriggerList, TriggerShown
from workbell.model.access import Scope
from workbell.model.trigger import OPTION_FIELDS, Trigger

routes = Routes("triggers")

WORDS = {"event_pattern": "pattern", "processor_name": "processor"}


def etag(trigger: Trigger) -> str:
    return etag_of([trigger.id, trigger.version])


def shown(request: Request, trigger: Trigger, status: int = 200) -> Response:
    return answer_with(request, trigger.as_dict(), etag(trigger), status)


@routes.add("POST", "/triggers", needs=Scope.OPERATE, answers=TriggerShown, status=201, creates=True)
async def add(request: Request, asked: NewTrigger) -> Response:
    """Start a job on every event that matches a pattern."""
    call = call_of(request)
    made = await call.client.triggers.aadd(
        asked.name,
        pattern=asked.event_pattern,
        processor=asked.processor_name,
        description=asked.description,
        enabled=asked.enabled,
        retry_config=None if asked.retry_config is None else asked.retry_config.model_dump(exclude_unset=True),  # type: ignore[arg-type]
        **asked.model_dump(include={*OPTION_FIELDS}, exclude_none=True),
    )
    call.subject = made.id
    return shown(request, made, 201)


@routes.add("GET", "/triggers", needs=Scope.READ, answers=TriggerList)
async def list(request: Request) -> Response:  # noqa: A001
    """List all triggers by name, also those that code declares."""
    return JsonResponse({"items": [one.as_dict() for one in await call_of(request).client.triggers.alist()]})


@routes.add("GET", "/triggers/{name_or_id}", needs=Scope.READ, answers=TriggerShown, more=NOT_MODIFIED)
async def get(request: Request, name_or_id: str) -> Response:
    """Show a trigger."""
    return shown(request, await call_of(request).client.triggers.aget(name_or_id))


@routes.add("PATCH", "/triggers/{name_or_id}", needs=Scope.OPERATE, answers=TriggerShown, parameters=[IF_MATCH])
async def change(request: Request, name_or_id: str, asked: TriggerChange) -> Response:
    """Change what is named, and leave the rest. One that code declares can only be switched."""
    changes: dict[str, Any] = {
        WORDS.get(word, word): value
        for word, value in asked.model_dump(exclude_unset=True).items()
        if value is not None or word == "retry_config" or word in OPTION_FIELDS
    }
    return await _change(request, name_or_id, changes)  # type: ignore[arg-type]  # its keys come from the schema


@routes.add("POST", "/triggers/{name_or_id}/enable", needs=Scope.OPERATE, answers=TriggerShown, parameters=[IF_MATCH])
async def enable(request: Request, name_or_id: str) -> Response:
    """Let a trigger start runs again, from now on."""
    return await _change(request, name_or_id, {"enabled": True})


@routes.add("POST", "/triggers/{name_or_id}/disable", needs=Scope.OPERATE, answers=TriggerShown, parameters=[IF_MATCH])
async def disable(request: Request, name_or_id: str) -> Response:
    """Start no more runs; what matches meanwhile is recorded as matched while disabled."""
    return await _change(request, name_or_id, {"enabled": False})


async def _change(request: Request, name_or_id: str, changes: TriggerChanges) -> Response:
    """Change a trigger; with `If-Match` only the version that was read: the store compares it as it writes."""
    triggers = call_of(request).client.triggers
    if "if-match" not in request.headers:
        return shown(request, await triggers.aupdate(name_or_id, **changes))
    known = await triggers.aget(name_or_id)
    check_match(request, etag(known))
    return shown(request, await triggers.aupdate(known.id, expected=known.version, **changes))


@routes.add("DELETE", "/triggers/{name_or_id}", needs=Scope.OPERATE, status=204, parameters=[IF_MATCH])
async def delete(request: Request, name_or_id: str) -> Response:
    """Remove a trigger; its runs stay. One that code declares comes back while that code runs."""
    triggers = call_of(request).client.triggers
    known = await triggers.aget(name_or_id)
    check_match(request, etag(known))
    await triggers.adelete(known.id, expected=known.version if "if-match" in request.headers else None)
    return nothing()
