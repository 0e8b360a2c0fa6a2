"""Rewriting of comparisons of a cast column with a literal into comparisons of the column itself."""

from sqlfront_planner.expressions.preimages import keeps_order, narrowed
from sqlfront_planner.expressions.rewriting import COMPARISONS
from sqlfront_values.expressions import Call, Cast, Column, Expr, Literal


def unwrap_cast(call: Call) -> Expr:
    """Rewrite ``cast(c as wide) < literal`` as ``c < literal of c's type``, if the cast loses nothing and the
    literal fits; return any other call unchanged.

    The new comparison works on the column as stored, so a source can apply the filter. Allowed for casts that
    keep order and equality: to a wider integer, from an integer to a decimal or double that holds all its
    values, to a decimal with no fewer digits on either side. A comparison with a literal that the narrow type
    doesn't have (out of range, or between two of its values) stays as it is.

    >>> import pyarrow as pa
    >>> from sqlfront_values.expression_text import describe
    >>> from sqlfront_values.types import BIGINT, INT
    >>> cast = Cast(BIGINT, Column(INT, 0, "a"))
    >>> describe(unwrap_cast(Call(pa.bool_(), "less", (cast, Literal(BIGINT, 5)))))
    'a#0 < 5'
    >>> describe(unwrap_cast(Call(pa.bool_(), "less", (cast, Literal(BIGINT, 5_000_000_000)))))
    'cast(a#0 as bigint) < 5000000000'
    """
    if call.function not in COMPARISONS and call.function not in ("in", "equal_null_safe"):
        return call
    casts = [item for item in call.arguments if isinstance(item, Cast) and isinstance(item.operand, Column)]
    others = [item for item in call.arguments if isinstance(item, Literal)]
    if len(casts) != 1 or len(casts) + len(others) != len(call.arguments):
        return call
    narrow = casts[0].operand.type
    if not keeps_order(narrow, casts[0].type):
        return call
    converted = {id(item): narrowed(item, narrow) for item in others}
    if any(item is None for item in converted.values()):
        return call
    arguments = tuple(
        item.operand if isinstance(item, Cast) else converted[id(item)] or item for item in call.arguments
    )
    return Call(call.type, call.function, arguments)
