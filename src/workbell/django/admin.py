"""Admin page: the last runs of each backend, and a button that leads staff into the dashboard, signed in."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseRedirect
from django.template.response import TemplateResponse

from workbell.django.backend import WorkbellBackend
from workbell.django.compat import task_backends
from workbell.django.dashboard import scope_of, sign_in_url
from workbell.django.models import Run
from workbell.errors import WorkbellError

SHOWN = 50  # runs


@admin.register(Run)
class RunAdmin(admin.ModelAdmin):  # type: ignore[misc]
    """Read only: what can be done to runs is done in the dashboard."""

    def has_add_permission(self, request: Any) -> bool:
        return False

    def has_view_permission(self, request: Any, obj: Any = None) -> bool:
        return scope_of(request.user) is not None

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:
        return False

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        scope = scope_of(request.user)
        if scope is None:
            raise PermissionDenied
        ours = {
            alias: backend for alias in task_backends if isinstance(backend := task_backends[alias], WorkbellBackend)
        }
        if request.method == "POST" and request.POST.get("backend") in ours:
            try:
                return HttpResponseRedirect(sign_in_url(ours[request.POST["backend"]], request, scope))
            except WorkbellError as error:
                messages.error(request, str(error))
        shown = [_shown(backend) for backend in ours.values()]
        context = self.admin_site.each_context(request) | {"title": "Task runs", "backends": shown}
        return TemplateResponse(request, "admin/workbell/runs.html", context | (extra_context or {}))


def _shown(backend: WorkbellBackend) -> dict[str, Any]:
    try:
        return {"alias": backend.alias, "runs": backend.bells.client.runs(limit=SHOWN)}
    except WorkbellError as error:
        return {"alias": backend.alias, "problem": str(error)}
