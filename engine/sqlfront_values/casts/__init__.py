"""CAST and TRY_CAST between all pairs of types that Spark's ANSI mode allows.

:func:`compile_cast` makes the conversion of a pair; :func:`can_cast` tells the allowed pairs, and
:func:`cast_can_fail` the pairs whose conversion may refuse a value. If a conversion refuses a value, CAST
raises Spark's error and TRY_CAST gives null.

:mod:`.pairs` has the table of all pairs; then one module per kind of source or target: :mod:`.numbers`,
:mod:`.decimals`, :mod:`.parsing` (from strings), :mod:`.formatting` (to strings), :mod:`.datetimes`
and :mod:`.special_moments`, :mod:`.intervals` and :mod:`.interval_texts`, :mod:`.times`, :mod:`.nested`,
:mod:`.variants`.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "special_moments", "times", "variants")

from sqlfront_values.casts.pairs import can_cast, cast_can_fail, compile_cast

__all__ = ["can_cast", "cast_can_fail", "compile_cast"]
