"""RE2, as Arrow's kernels have it, in steps that somebody can end.

RE2 takes at most so many steps a byte as its program has instructions, but no timeout and no cancellation
reaches it on its way. So a column whose texts may take long is matched a slice at a time.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_engine import kernels as pc
from sqlfront_engine.functions.rowwise import bytes_view
from sqlfront_engine.room import check

#: Instructions times bytes between two looks: at worst some tenths of a second.
_MOST_STEPS: Final = 1 << 27


def find(column: pa.Array, regex: str, size: int) -> pa.Array | None:
    """Which values of a string column the expression is found in; see :func:`by_slices`."""
    options = pc.MatchSubstringOptions(regex)
    return by_slices(column, size, lambda texts: pc.call_function("match_substring_regex", [texts], options))


def by_slices(column: pa.Array, size: int, match: Callable[[pa.Array], pa.Array]) -> pa.Array | None:
    """``match`` of a string column, for a pattern of ``size`` items; None if one text may take too long."""
    offsets = bytes_view(column)[0]
    most = max(1, _MOST_STEPS // size)
    if int(offsets[-1]) - int(offsets[0]) <= most:
        return match(column)
    if int(np.diff(offsets).max()) > most:
        return None
    results, begin = [], 0
    while begin < len(column):
        check()
        end = int(np.searchsorted(offsets, int(offsets[begin]) + most, "right")) - 1
        results.append(match(column.slice(begin, end - begin)))
        begin = end
    return pa.concat_arrays(results)
