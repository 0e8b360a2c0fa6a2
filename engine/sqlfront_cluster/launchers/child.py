"""The process of a member started by :mod:`sqlfront_cluster.launchers.local`.

The launcher writes the member's configuration as one line of JSON to standard input, which then stays open:
the end of the input means that the launcher has gone, and the member ends, too (unless one of the members may
become the keeper). The process writes no answer;
the launcher knows from the keeper that the member has joined. The log goes to standard error.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

import msgspec

from sqlfront_cluster.launchers.end_of_process import EndOfProcess
from sqlfront_cluster.launchers.running import (
    HANDOVER_TIMEOUT,
    MemberOptions,
    MemberService,
    RunningMember,
    reason_of,
)
from sqlfront_cluster.network.tls.security import Security
from sqlfront_values.errors import Error

#: Seconds for which a member waits for its jobs when asked to leave; longer jobs fail with the member's end.
LEAVE_TIMEOUT: Final = 30.0

logger = logging.getLogger(__name__)


class ChildOrders(msgspec.Struct, frozen=True):
    """The configuration of a member's process, which the launcher writes. ``preload``: modules to import,
    which register processors. ``service``: ``module:function`` of the function that makes the member's
    service; empty = no service. ``settings``: the keyword arguments of that function."""

    options: MemberOptions
    security: Security
    preload: tuple[str, ...] = ()
    service: str = ""
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)


def main() -> int:
    """Read the configuration from standard input, run the member until it ends, and return the exit code of
    the process: 1 if the member could not join or ended with an error, else 0."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=ChildOrders)
    for module in orders.preload:
        import_module(module)
    try:
        running = RunningMember(orders.options, orders.security, _service(orders.service, orders.settings))
    except Error as error:
        logger.error("member %s could not join: %s", orders.options.name, error)
        return 1
    with_launcher = not orders.options.office
    return serve(running, wait_for_input=with_launcher, timeout=orders.options.handover_timeout)


def serve(
    running: RunningMember,
    *,
    wait_for_input: bool,
    ready: Callable[[], None] | None = None,
    timeout: float = HANDOVER_TIMEOUT,
) -> int:
    """Wait until the member ends by itself, SIGTERM comes (then the member hands over and leaves the cluster
    first, unless another signal comes), SIGINT comes or, with ``wait_for_input``, standard input ends; then
    close the member. A member that can't hand over stays until another signal comes. ``timeout``: seconds of
    the handover at most, 0 = no handover. ``ready`` is called once
    the handlers of both signals are installed. Returns the exit code: 1 if the member ended with an error,
    else 0."""
    end = EndOfProcess()
    if ready is not None:
        ready()
    threading.Thread(target=_wake_after, args=(running.ended.wait, end), daemon=True).start()
    if wait_for_input:
        threading.Thread(target=_wake_after, args=(_await_end_of_input, end), daemon=True).start()
    end.wait()
    stays = end.signals == [signal.SIGTERM] and not running.ended.is_set()
    if stays and not running.end_stopped_cluster():
        _leave(running, end, timeout)
    error = running.error
    running.close()
    logger.info("member %s ends: %s", running.membership.name, reason_of(error))
    return 0 if error is None else 1


def _leave(running: RunningMember, end: EndOfProcess, timeout: float) -> None:
    """Let the member hand over and leave on a thread, and wait for the end of that, or for another reason to
    end the process, such as another signal."""
    over = threading.Event()
    deadline = time.monotonic() + timeout

    def is_over() -> bool:
        return over.is_set() or time.monotonic() > deadline

    def leave() -> None:
        if not timeout or _hand_over(running, is_over):
            if not over.is_set():
                running.leave(LEAVE_TIMEOUT)
            end.wake()

    threading.Thread(target=leave, name="sqlfront-handover", daemon=True).start()
    end.wait()
    over.set()


def _hand_over(running: RunningMember, is_over: Callable[[], bool]) -> bool:
    """Return True if the member may leave now: it has handed over, or its time is over. Return False if it
    stays, because the other members have no room."""
    name = running.membership.name
    try:
        if not running.service.hand_over(is_over):
            logger.warning("member %s leaves before all of its rows are on other members", name)
    except Error as error:
        logger.error("member %s stays: %s; another SIGTERM ends it without its rows", name, error.message)
        return False
    except Exception:
        logger.exception("member %s leaves, since its handover failed", name)
    return True


def _wake_after(wait: Callable[[], object], end: EndOfProcess) -> None:
    wait()
    end.wake()


def _await_end_of_input() -> None:
    # By the descriptor: a buffered reader's lock would be held at the interpreter's end.
    while os.read(sys.stdin.fileno(), 4096):
        pass


def _service(place: str, settings: Mapping[str, str]) -> MemberService | None:
    if not place:
        return None
    module, _, name = place.partition(":")
    made: MemberService = getattr(import_module(module), name)(**settings)
    return made


if __name__ == "__main__":
    sys.exit(main())
