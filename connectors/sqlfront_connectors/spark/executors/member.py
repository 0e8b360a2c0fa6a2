"""A member as its executor sees it: a task that lasts as long as the member."""

import logging
import os
import resource
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Final

import msgspec

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the member
from sqlfront_cluster.launchers.running import MemberOptions, RunningMember
from sqlfront_cluster.network.addresses import Address, own_address
from sqlfront_cluster.network.tls.security import Security
from sqlfront_connectors.memory.holding import ShareHolder
from sqlfront_engine.engine import MEMORY_SHARE, default_memory_limit
from sqlfront_values.errors import OperationalError

#: How the outcome begins if two members were to share an executor.
CROWDED: Final = "Spark put"

logger = logging.getLogger(__name__)


class Orders(msgspec.Struct, frozen=True):
    """What the members of one barrier job are to be. ``options``: those of each, but for name, address, and
    what ``memory_limit`` None means: six tenths of the host's memory for all members on it, and no more than
    that of what Spark grants each. Task n is the member ``names[n]``. ``preload``: modules to import, which
    register processors."""

    options: MemberOptions
    names: tuple[str, ...]
    security: Security
    preload: tuple[str, ...]


def serve(orders: Orders, number: int, greetings: Iterable[Mapping[str, str]]) -> str:
    """Be a member until it ends; returns why it has, empty if it was closed or has left.

    ``greetings`` are those of all tasks: if two of them run on one executor, none becomes a member.
    """
    places = list(greetings)
    executors = [place["executor"] for place in places]
    if len(set(executors)) < len(executors):
        return f"{CROWDED} {len(executors)} members on {len(set(executors))} executors"
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    on_host = sum(place["host"] == places[number]["host"] for place in places)
    options = msgspec.structs.replace(
        orders.options,
        name=orders.names[number],
        listen=str(Address(own_address(Address.parse(orders.options.keeper)))),
        memory_limit=orders.options.memory_limit or _memory_limit(on_host),
    )
    for module in orders.preload:
        import_module(module)
    try:
        running = RunningMember(options, orders.security, ShareHolder())
    except OperationalError as error:
        return f"{error.message} (on {os.uname().nodename})"
    logger.info("member %s has joined", options.name)
    running.ended.wait()
    running.close()
    return "" if running.error is None else running.error.message


def _memory_limit(on_host: int) -> int:
    """Bytes for one of so many members on this host, in what Spark lets Python have
    (``spark.executor.pyspark.memory``) if it says so."""
    granted, _ = resource.getrlimit(resource.RLIMIT_AS)
    mine = default_memory_limit() // on_host
    return mine if granted == resource.RLIM_INFINITY else min(mine, int(granted * MEMORY_SHARE))
