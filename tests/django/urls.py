"""URLs of the test site."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.urls import path

urlpatterns: list[Any] = [path("admin/", admin.site.urls)]
