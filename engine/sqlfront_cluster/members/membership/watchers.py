"""The calls of watchers: functions that hear of a change in the cluster."""

import logging
from collections.abc import Callable, Iterable
from typing import ParamSpec

Parameters = ParamSpec("Parameters")

logger = logging.getLogger(__name__)


def notify(
    watchers: Iterable[Callable[Parameters, None]], *arguments: Parameters.args, **named: Parameters.kwargs
) -> None:
    """Call all ``watchers`` with the arguments, and log the errors that they raise. An error must not reach
    the caller, since the cluster waits for the answer that the caller sends next.

    >>> notify([print], "table", "orders")
    table orders
    """
    for watcher in list(watchers):
        try:
            watcher(*arguments, **named)
        except Exception:
            logger.exception("a watcher failed")
