"""Recursion that continues on another stack when a stack is full.

Plans and expressions are trees, and the functions that walk them are recursive. The interpreter limits
recursion to some thousand frames of a thread (``sys.getrecursionlimit()``, which belongs to the whole
process; sqlfront must not raise it). To walk a deeper tree, the function goes on in another thread, with an
empty stack, while this thread waits for the result. Shallow trees never need this, and pay nothing.

A function takes part by being pure and by going on after a RecursionError::

    def depth(tree: Tree) -> int:
        try:
            return 1 + max(map(depth, tree.children), default=0)
        except RecursionError:
            return on_fresh_stack(depth, tree)

or, if it isn't called for every node of every plan, by the decorator :func:`deep`. If the deepest calls have
too little room even to begin a thread, the calls above them repeat the work. So a function may run twice for
the same node, and must have the same effect the second time.
"""

import _thread
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from sqlfront_values import room
from sqlfront_values.errors import too_complex

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: Stacks that one recursion may take at most (of _STACK_SIZE bytes each, of which only used pages take
#: memory); an endless recursion takes all of them.
MOST_STACKS: Final = 30
#: The levels, of a few frames each, after which a recursion that changes something continues on another
#: stack. Such a recursion counts its levels, since no part of the recursion may run twice.
LEVELS_OF_A_STACK: Final = 50
#: Frames needed to begin a thread: a recursion with fewer left goes to another stack.
_ROOM: Final = 30
#: Bytes of a new stack: room for a thousand frames, including compiled code between them.
_STACK_SIZE: Final = 16 << 20
#: Seconds after which the wait for another stack looks for an interrupt: the interpreter doesn't notice one
#: that comes at the moment in which a wait begins.
_LOOK: Final = 0.2


class _Height(threading.local):
    """The number of stacks of other threads that wait for this thread, in a chain of :func:`on_fresh_stack`
    calls."""

    stacks = 0


_height: Final = _Height()
#: Guards the stack size of new threads, a setting of the whole process.
_size_lock: Final = threading.Lock()


def on_fresh_stack(
    function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """Call the function on an empty stack, in another thread; return its result or raise its error.

    Raises RecursionError if this thread's stack has too little room to begin a thread. Raises
    FAILED_TO_PARSE_TOO_COMPLEX if an empty stack is too small as well, or if there would be more than
    :data:`MOST_STACKS` stacks.
    """
    _need_room(_ROOM)
    height, context, here = _height.stacks + 1, copy_context(), room.state()
    if height > MOST_STACKS:
        raise too_complex()
    results: list[Result] = []
    errors: list[BaseException] = []
    left = False
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        nonlocal here
        _height.stacks = height
        room.resume(here, lambda: left)
        try:
            results.append(context.run(function, *arguments, **named))
        except RecursionError:
            # Not as a RecursionError again: every caller below would retry, each on a stack of its own.
            errors.append(too_complex())
        except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
            errors.append(error)
        finally:
            here = {**room.state(), "is_stopped": here.get("is_stopped")}
            done.release()

    with _size_lock:
        usual = threading.stack_size(_STACK_SIZE)
        try:
            _thread.start_new_thread(run, ())
        finally:
            threading.stack_size(usual)
    try:
        while not done.acquire(timeout=_LOOK):
            pass
    except BaseException:
        left = True  # an interrupt: the other thread ends at its next check
        raise
    room.resume(here)
    if errors:
        raise errors.pop()
    return results[0]


def deep(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Wrap a recursive function so that trees may be deeper than a thread's stack: a call that fills the
    current stack runs again, from its beginning, on the empty stack of another thread. A call may therefore
    run twice, and must have the same effect the second time."""

    @wraps(function)
    def going_on(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return function(*arguments, **named)
        except RecursionError:
            return on_fresh_stack(going_on, *arguments, **named)

    return going_on


def _need_room(frames: int) -> None:
    """Raise RecursionError unless this thread's stack has room for ``frames`` more frames. The function tests
    this by recursing ``frames`` levels deep."""
    if frames:
        _need_room(frames - 1)
