"""CAST and TRY_CAST between all pairs of types that Spark's ANSI mode allows.

:func:`compile_cast` makes the conversion of one pair; :func:`can_cast` says which pairs there are, and
:func:`cast_can_fail` which of them may refuse a value. Where a conversion refuses a value, CAST raises
Spark's error and TRY_CAST gives null.

:mod:`.pairs` has the table of them all; then one module per kind of source or target: :mod:`.numbers`,
:mod:`.decimals`, :mod:`.parsing` (from strings), :mod:`.formatting` (to strings), :mod:`.datetimes`,
:mod:`.intervals` and :mod:`.interval_texts`, :mod:`.nested`.
"""

from sqlfront_values.casts.pairs import can_cast, cast_can_fail, compile_cast

__all__ = ["can_cast", "cast_can_fail", "compile_cast"]
