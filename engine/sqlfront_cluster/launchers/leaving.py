"""The end of a member that is asked to leave: the handover of what it holds, within bounds, and its leave."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from sqlfront_cluster.launchers.end_of_process import EndOfProcess
from sqlfront_cluster.launchers.handover_rules import HandoverRules
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_values.errors import Error

#: Seconds for which a member waits for its jobs when asked to leave; longer jobs fail with the member's end.
LEAVE_TIMEOUT: Final = 30.0

#: Seconds after the end of the handover's time in which the handover may end by itself.
LATE: Final = 1.0

logger = logging.getLogger(__name__)


def leave(running: RunningMember, end: EndOfProcess, rules: HandoverRules) -> None:
    """Let the member hand over and leave on a thread, and wait for the end of that, or for another reason to
    end the process, such as another signal. A member that can't hand over stays until then."""
    over, first = threading.Event(), threading.Lock()
    deadline = time.monotonic() + rules.timeout

    def is_over() -> bool:
        return over.is_set() or time.monotonic() > deadline

    def leave_now() -> None:
        if first.acquire(blocking=False):
            if not over.is_set():
                running.leave(LEAVE_TIMEOUT)
            end.wake()

    def leave_late() -> None:
        logger.warning("member %s leaves in the middle of a step of its handover", running.membership.name)
        leave_now()

    late = threading.Timer(rules.timeout + LATE, leave_late)

    def hand_over_and_leave() -> None:
        leaves = not rules.timeout or _hand_over(running, is_over, forced=rules.forced)
        late.cancel()
        if leaves:
            leave_now()

    threading.Thread(target=hand_over_and_leave, name="sqlfront-handover", daemon=True).start()
    late.daemon = True
    late.start()
    end.wait()
    late.cancel()
    over.set()


def _hand_over(running: RunningMember, is_over: Callable[[], bool], *, forced: bool) -> bool:
    """Return True if the member may leave now: it has handed over, its time is over, or it is ``forced``.
    Return False if it stays, because the other members have no room."""
    name = running.membership.name
    try:
        if not running.service.hand_over(is_over, forced=forced):
            logger.warning("member %s leaves before all of its rows are on other members", name)
    except Error as error:
        logger.error("member %s stays: %s; another SIGTERM ends it without its rows", name, error.message)
        return False
    except Exception:
        logger.exception("member %s leaves, since its handover failed", name)
    return True
