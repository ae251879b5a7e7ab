"""Handler that ends the session of a browser; it begins in `pages/login.py`."""

from __future__ import annotations

from starlette.responses import Response

from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.pages.login import log_out
from workbell.wire import session

served = Served()


@served(session.end)
async def end(call: ApiCall) -> Response:
    return await log_out(call.service, call.request)
