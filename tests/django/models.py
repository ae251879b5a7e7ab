"""Models of the test site."""

from __future__ import annotations

from django.contrib.auth.models import User


class Colleague(User):  # type: ignore[misc]
    """The same person by another class, which is another sender of signals."""

    class Meta:
        proxy = True
        app_label = "auth"  # where the migrations of its base are
