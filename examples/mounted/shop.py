"""A FastAPI application that runs its own background jobs: the API and a worker live in the same process.

    pip install '.[server]' fastapi && uvicorn shop:app

Then `POST /orders` enqueues a job, and Workbell's API is below /jobs, for whoever the application itself lets in.
"""

from __future__ import annotations

from fastapi import FastAPI
from starlette.requests import HTTPConnection

from workbell import Access, Scope, Workbell

bell = Workbell()


@bell.job
async def confirm(order: int) -> str:
    """Tell the customer that the order has arrived."""
    return f"order {order} is confirmed"


def who_asks(connection: HTTPConnection) -> Access | None:
    """The application's own sign-in decides; None: Workbell asks for a token of its own."""
    if connection.headers.get("x-shop-user") == "ada":
        return Access(actor="ada", scopes=frozenset({Scope.OPERATE}), user_id=1)
    return None


app = FastAPI(lifespan=bell.lifespan)
app.mount("/jobs", bell.asgi(auth=who_asks))


@app.post("/orders/{number}")
async def order(number: int) -> dict[str, str]:
    run = await confirm.aenqueue(number)
    return {"run": run.id}
