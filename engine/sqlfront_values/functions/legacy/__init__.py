"""The functions and operators of ANSI mode off (``spark.sql.ansi.enabled=false``), where an overflow wraps
around, and malformed or missing values give null instead of an error.

SQL can't call them by these names, which have a blank: the binder puts them in the place of the functions
that raise errors. :mod:`.wrapping` has arithmetic, :mod:`.casts` CAST, :mod:`.or_null` all others; the names
are here, so that the binder need not load the kernels.
"""

from typing import Final

#: The name of CAST; the call's type is the target.
LEGACY_CAST: Final = "legacy cast"
#: The name of the aggregate sum over bigints, which keeps the low 64 bits of a sum.
WRAPPING_SUM: Final = "wrapping sum"
#: Functions over whole numbers that keep the low bits of a result; the names begin with ``wrapping``.
WRAPPING: Final = (
    "abs", "add", "bround", "div", "multiply", "negative", "pmod", "round", "subtract",
)  # fmt: skip
#: Functions that give the nearest value of their type; the names begin with ``saturating``.
SATURATING: Final = ("ceil", "conv", "floor")
_UNPARSED: Final = frozenset({"CANNOT_PARSE_TIMESTAMP", "CAST_INVALID_INPUT"})
#: Functions that give null in the place of some errors, with the module that registers the function that
#: raises them, and the error conditions; the names end in ``or null``.
OR_NULL: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "elt": ("nested.concatenation", frozenset({"INVALID_ARRAY_INDEX"})),
    "make_date": ("time.building", frozenset({"DATETIME_FIELD_OUT_OF_BOUNDS"})),
    "next_day": ("time.moving", frozenset({"ILLEGAL_DAY_OF_WEEK"})),
    "to_timestamp_ltz": ("time.texts", _UNPARSED),
    "to_timestamp_ntz": ("time.texts", _UNPARSED),
    "to_unix_timestamp": ("time.texts", _UNPARSED),
    "unix_timestamp": ("time.texts", _UNPARSED),
}
#: The names of all functions of this mode.
LEGACY_NAMES: Final = frozenset(
    (
        LEGACY_CAST,
        WRAPPING_SUM,
        *(f"wrapping {name}" for name in WRAPPING),
        *(f"saturating {name}" for name in SATURATING),
        *(f"{name} or null" for name in OR_NULL),
    )
)
