"""A member of a cluster that runs as a Spark task on an executor, for as long as the task."""

import logging
import os
import resource
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Final

import msgspec

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the member
from sqlfront_cluster.durable_tasks.task_door import TASKS, TaskDoor
from sqlfront_cluster.launchers.running import MemberOptions, RunningMember
from sqlfront_cluster.network.addresses import Address, own_address
from sqlfront_cluster.network.tls.security import Security
from sqlfront_connectors.memory.exchange.holding import ShareHolder
from sqlfront_engine.engine import MEMORY_SHARE, default_memory_limit
from sqlfront_values.errors import OperationalError

#: The beginning of the outcome if two members were to share an executor.
CROWDED: Final = "Spark put"

logger = logging.getLogger(__name__)


class ExecutorOrders(msgspec.Struct, frozen=True):
    """The configuration of the members of one barrier job, sent to each task.

    ``options``: the options of every member, to which each task adds the member's name and address; a
    ``memory_limit`` of None means six tenths of the host's memory, divided among the members on the host, and
    at most six tenths of the memory that Spark grants each member. ``names``: task n is the member
    ``names[n]``. ``security``: the credentials of the cluster. ``preload``: modules to import, which register
    processors."""

    options: MemberOptions
    names: tuple[str, ...]
    security: Security
    preload: tuple[str, ...]


class ExecutorService(ShareHolder):
    """The service of a member on an executor: it holds shares of tables, and runs tasks of durable jobs."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks = TaskDoor()
        self._store.services[TASKS] = self._tasks

    def attach(self, running: RunningMember) -> None:
        """Begin to hold shares on the member ``running``, and to run tasks on its engine."""
        super().attach(running)
        self._tasks.attach(running)

    def close(self) -> None:
        """Remove outputs of durable jobs from the executor's disk."""
        self._tasks.close()


def serve(orders: ExecutorOrders, number: int, greetings: Iterable[Mapping[str, str]]) -> str:
    """Run a member in this task until the member ends, and return the reason of the end, empty if the member
    was closed or has left the cluster. ``number``: the task's number. ``greetings``: the
    :func:`~sqlfront_connectors.spark.executors.bootstrap.greeting` of each task; if two tasks run on one
    executor, no task becomes a member, and the returned reason begins with :data:`CROWDED`."""
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
        running = RunningMember(options, orders.security, ExecutorService())
    except OperationalError as error:
        return f"{error.message} (on {os.uname().nodename})"
    logger.info("member %s has joined", options.name)
    running.ended.wait()
    running.close()
    return "" if running.error is None else running.error.message


def _memory_limit(on_host: int) -> int:
    """Return the memory limit, in bytes, of one of ``on_host`` members on this host: its part of the host's
    default limit, and at most a part of what Spark grants Python (``spark.executor.pyspark.memory``) if that
    is set."""
    granted, _ = resource.getrlimit(resource.RLIMIT_AS)
    mine = default_memory_limit() // on_host
    return mine if granted == resource.RLIM_INFINITY else min(mine, int(granted * MEMORY_SHARE))
