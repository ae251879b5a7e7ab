"""Adapters of third parties: found by the scheme of a URL among the entry points of the installed packages.

Our own schemes come from a table, and `importlib.metadata` is imported for others only: to import it and to read what
82 installed packages provide takes 15 to 18 ms, a hundred times as long as making the store of a SQLite file.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from workbell.errors import InvalidUrl, WorkbellError
from workbell.logs.secrets import without_secrets

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_NAMED = 5  # members that a wrong adapter lacks are named up to this number


class AdapterKind(NamedTuple):
    """A kind of adapter: what it is called, where third parties provide theirs, and what one must be."""

    noun: str
    group: str
    ours: Collection[str]  # schemes
    examples: str
    port: type
    error: type[WorkbellError]  # for one that cannot be opened

    def scheme_of(self, url: str) -> str:
        if not isinstance(url, str):
            raise InvalidUrl(f"The {self.noun}'s URL must be a text, got {type(url).__name__}.")
        found = _SCHEME.match(url)
        if found is None:
            shown = without_secrets(url).split("@")[-1][:40]
            raise InvalidUrl(f"{shown!r} names no {self.noun}; {self._there_are()}. Write the URL as {self.examples}.")
        return found[1]

    def open(self, scheme: str, url: str, **options: Any) -> Any:
        """An adapter of a third party, opened by its entry point; checked to have every member of the port."""
        point = self._entry_point(scheme)
        provider = _provider(point)
        try:
            made = point.load()(url, **options)
        except WorkbellError as error:
            error.args = (f"{provider}: {without_secrets(str(error))}", *error.args[1:])
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {without_secrets(str(error))}".rstrip(".")
            raise self.error(
                f"{provider} could not open the {self.noun}: {why}; repair or update the package."
            ) from error
        lacking = self._lacking(made)
        if lacking:
            more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
            named = ", ".join(lacking[:_NAMED])
            raise self.error(
                f"{provider}: its {type(made).__name__} is no {self.noun}, it lacks {named}{more}; update the package. "
                f"What a {self.noun} must do is tested by workbell.testing.contracts."
            )
        return made

    def _entry_point(self, scheme: str) -> EntryPoint:
        from importlib.metadata import entry_points

        found = sorted(entry_points(group=self.group, name=scheme), key=_provider)
        if not found:
            raise InvalidUrl(
                f"{scheme!r} names no {self.noun}; {self._there_are()}. Write the URL as {self.examples}, or install "
                f"the package that provides {scheme!r}."
            )
        if len(found) > 1:
            providers = " and ".join(_provider(point) for point in found)
            raise InvalidUrl(
                f"{scheme!r} names more than one {self.noun}: {providers} provide it; uninstall all but one."
            )
        return found[0]

    def _there_are(self) -> str:
        from importlib.metadata import entry_points

        *others, last = sorted({*self.ours, *(point.name for point in entry_points(group=self.group))})
        return f"there are {', '.join(others)} and {last}" if others else f"there is {last}"

    def _lacking(self, made: object) -> list[str]:
        """Members of the port that an object does not have."""
        wanted = {*self.port.__annotations__, *(name for name in vars(self.port) if not name.startswith("_"))}
        return sorted(name for name in wanted if not hasattr(made, name))


def _provider(point: EntryPoint) -> str:
    """`acme-store 1.2 (entry point acme = acme.store:open_url)`."""
    package = "A package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    return f"{package} (entry point {point.name} = {point.value})"
