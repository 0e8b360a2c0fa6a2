"""Recursion that goes on where a stack ends.

Plans and expressions are trees, and what walks them is recursive, which the interpreter bounds to some
thousand frames of a thread (``sys.getrecursionlimit()``, which belongs to the whole process and isn't ours to
raise). A deep tree is walked nevertheless: where the frames end, the rest of the walk is done on a thread of
its own, whose stack is empty, while this one waits for the result. Shallow trees never get there, and pay
nothing.

A function takes part by being pure and by going on after a RecursionError::

    def depth(tree: Tree) -> int:
        try:
            return 1 + max(map(depth, tree.children), default=0)
        except RecursionError:
            return on_fresh_stack(depth, tree)

or, if it isn't called for every node of every plan, by the decorator :func:`deep`. The deepest calls, which
found too little room even for that, are made anew by those above them; so a function may do twice what it
does, and has to have the same effect then.
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

#: How many stacks one recursion may take; a recursion without end takes them all.
MOST_STACKS: Final = 30
#: After so many levels, of a few frames each, a recursion that changes something goes on on another stack:
#: such a one counts its levels, since nothing of it may be done twice.
LEVELS_OF_A_STACK: Final = 50
#: Frames that it takes to begin a thread.
_ROOM: Final = 30
#: Bytes of a new stack: what a thousand frames may take, compiled code between them included.
_STACK_SIZE: Final = 16 << 20


class _Height(threading.local):
    """How many stacks lie below this thread's."""

    stacks = 0


_height: Final = _Height()
#: Guards the size of new threads' stacks, which is the process's.
_size_lock: Final = threading.Lock()


def on_fresh_stack(
    function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """What the function returns or raises, called on an empty stack.

    Raises RecursionError if there is no room here to begin a thread. Where an empty stack is too small as
    well, or one goes on the other without end, that is FAILED_TO_PARSE_TOO_COMPLEX.
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
            # Never again as such: everybody below would try anew, each on a stack of its own.
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
        done.acquire()
    except BaseException:
        left = True  # an interrupt: the other thread ends when it asks next
        raise
    room.resume(here)
    if errors:
        raise errors.pop()
    return results[0]


def deep(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, going on on a fresh stack where this one ends (see the module)."""

    @wraps(function)
    def going_on(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return function(*arguments, **named)
        except RecursionError:
            return on_fresh_stack(going_on, *arguments, **named)

    return going_on


def _need_room(frames: int) -> None:
    """Raise RecursionError unless there is room for so many frames."""
    if frames:
        _need_room(frames - 1)
