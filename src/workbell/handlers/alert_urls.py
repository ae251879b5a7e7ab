"""URLs of alerts and pings: checked when they are set, and never shown in full."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from workbell.errors import EndpointRefused, InvalidOption
from workbell.model.alert import shown_url

if TYPE_CHECKING:
    from workbell.trust.sealing import Sealer

ANY_RUN = "00000000-0000-7000-8000-000000000000"  # as long as the id of a run


def checked_url(word: str, url: object, allow: Sequence[str]) -> str | None:
    """A URL that passes all checks that need no name resolution; None stays None."""
    if url is None:
        return None
    if not isinstance(url, str):
        raise InvalidOption(f"{word}: expected a text such as https://…, got {type(url).__name__}.")
    if url == shown_url(url):
        raise InvalidOption(f"{word}: {url:.80} is how a URL is shown, and not the whole of it; give it in full.")
    from workbell.outgoing.allow import AllowList  # imported only if there is a URL
    from workbell.outgoing.permit import check_url

    try:
        # With all that a ping adds to it: it must not be too long only then.
        check_url(url, AllowList.parse(allow))
        check_url(pinged_url(url, ANY_RUN, failed=True), AllowList.parse(allow))
    except EndpointRefused as error:
        raise EndpointRefused(f"{word}: {without_url(str(error), url)}") from None
    return url


def sealed_url(word: str, given: object, known: str | None, allow: Sequence[str], sealer: Sealer) -> str | None:
    """A URL as it is stored, checked; one that is given as it was shown, or unchanged, is the one that is known."""
    if known is not None and given == shown_url(known):
        return known
    url = checked_url(word, given, allow)
    if url is None:
        return None
    return known if sealer.same_url(url, known) else sealer.seal_url(url)


def pinged_url(url: str, run_id: str, *, failed: bool) -> str:
    """URL of the ping for a finished run, in the format of healthchecks.io."""
    address, _, query = url.partition("?")
    if failed:
        address = f"{address.rstrip('/')}/fail"
    return f"{address}?{query}&rid={run_id}" if query else f"{address}?rid={run_id}"


def without_url(words: str, url: str) -> str:
    """An error message of `outgoing` with the URL shortened to its host."""
    from workbell.outgoing.target import read_target, shown

    beginnings = [shown(url)]
    with suppress(EndpointRefused):
        beginnings.append(read_target(url).shown)
    reasons = [words.removeprefix(f"{start}: ") for start in beginnings if words.startswith(f"{start}: ")]
    return f"{shown_url(url)}: {reasons[0] if reasons else 'it cannot be sent to.'}"
