"""What tests take of the contracts: makers of rows."""

from workbell.testing.contracts.making import START, add, after, claim, claimed, find, held, ids, request
from workbell.testing.contracts.parts.copying import fill_events, fill_service
from workbell.testing.contracts.parts.subscribing import trigger
