"""A FastAPI application whose orders and jobs share transactions: SQLAlchemy on asyncpg, Workbell in the same database.

    pip install '.[postgres,server]' fastapi 'sqlalchemy[asyncio]' asyncpg
    export WORKBELL_URL=postgresql://localhost/shop SHOP_DATABASE=postgresql+asyncpg://localhost/shop
    uvicorn shop:app

`POST /orders` writes an order and enqueues its confirmation. If the transaction is rolled back, there is neither.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from workbell import Workbell

bell = Workbell()
engine = create_async_engine(os.environ["SHOP_DATABASE"])
sessions = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    """Tables of the shop."""


class Order(Base):
    """An order, and whether its customer has been told."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str]
    quantity: Mapped[int]
    confirmed: Mapped[bool] = mapped_column(default=False)


@bell.job
async def confirm(order: int) -> str:
    """Tell the customer that the order has arrived. The order is there: it was committed together with this run."""
    async with sessions.begin() as session:
        found = await session.get_one(Order, order)
        found.confirmed = True
        return f"{found.quantity} x {found.item} confirmed"


async def one_transaction() -> AsyncIterator[AsyncSession]:
    """The transaction of a request: committed at its end, rolled back if it raises."""
    async with sessions.begin() as session:
        yield session


# scope="function": committed before the answer is sent. Else it is afterwards, and nobody hears of a failed commit.
Session = Annotated[AsyncSession, Depends(one_transaction, scope="function")]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Make the tables, and work for as long as the application runs."""
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with bell.lifespan(app):
        yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


class NewOrder(BaseModel):
    """Body of `POST /orders`."""

    item: str
    quantity: int = 1


@app.post("/orders", status_code=201)
async def place(new: NewOrder, session: Session) -> dict[str, int | str]:
    order = Order(item=new.item, quantity=new.quantity)
    session.add(order)
    await session.flush()  # gives the order its id
    run = await confirm.options(connection=session).aenqueue(order.id)
    if new.quantity > 9:
        raise HTTPException(409, "There are only nine of it.")
    return {"order": order.id, "run": run.id}


@app.get("/orders/{number}")
async def show(number: int, session: Session) -> dict[str, int | str | bool]:
    order = await session.get(Order, number)
    if order is None:
        raise HTTPException(404, "There is no such order.")
    return {"item": order.item, "quantity": order.quantity, "confirmed": order.confirmed}
