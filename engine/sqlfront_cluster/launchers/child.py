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
from collections.abc import Callable, Mapping
from importlib import import_module

import msgspec

from sqlfront_cluster.launchers.end_of_process import EndOfProcess
from sqlfront_cluster.launchers.handover_rules import DEFAULT_RULES, HandoverRules
from sqlfront_cluster.launchers.leaving import leave
from sqlfront_cluster.launchers.running import MemberOptions, MemberService, RunningMember, reason_of
from sqlfront_cluster.network.tls.security import Security
from sqlfront_values.errors import Error

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
    return serve(running, wait_for_input=with_launcher, rules=orders.options.handover)


def serve(
    running: RunningMember,
    *,
    wait_for_input: bool,
    ready: Callable[[], None] | None = None,
    rules: HandoverRules = DEFAULT_RULES,
) -> int:
    """Wait until the member ends by itself, SIGTERM comes (then the member hands over and leaves the cluster
    first, unless another signal comes), SIGINT comes or, with ``wait_for_input``, standard input ends; then
    close the member. A member that can't hand over stays until another signal comes. ``rules``: the bounds of
    the handover. ``ready`` is called once the handlers of both signals are installed. Returns the exit code:
    1 if the member ended with an error, else 0."""
    with EndOfProcess() as end:
        if ready is not None:
            ready()
        threading.Thread(target=_wake_after, args=(running.ended.wait, end), daemon=True).start()
        if wait_for_input:
            threading.Thread(target=_wake_after, args=(_await_end_of_input, end), daemon=True).start()
        end.wait()
        stays = end.signals == [signal.SIGTERM] and not running.ended.is_set()
        if stays and not running.end_stopped_cluster():
            leave(running, end, rules)
        error = running.error
        running.close()
    logger.info("member %s ends: %s", running.membership.name, reason_of(error))
    return 0 if error is None else 1


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
