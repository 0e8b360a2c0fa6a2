"""Several requests to an object storage at a time, since each request waits for an answer from far away."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

#: Requests that are under way at a time.
_REQUESTS: Final = 16

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")


def at_once(call: Callable[[_Input], _Output], inputs: Sequence[_Input]) -> list[_Output]:
    """Call ``call`` with each of the ``inputs``, several at a time, and return the results in the order of
    the inputs. Raises the error of the first call that fails.

    >>> at_once(len, ["a", "bcd", "ef"])
    [1, 3, 2]
    """
    if len(inputs) < 2:
        return [call(one) for one in inputs]
    with ThreadPoolExecutor(min(_REQUESTS, len(inputs)), "sqlfront-requests") as pool:
        return list(pool.map(call, inputs))
