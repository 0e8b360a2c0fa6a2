"""Views that were made in another time zone than the session's present one.

Spark analyzes a view's query with the time zone that the session had when the view was made. A TIMESTAMP
literal is read in that zone while binding. What else depends on the zone is evaluated in the session's zone,
so that it is refused in such a view.
"""

from typing import Final

import pyarrow as pa

from sqlfront_planner.logical import LogicalPlan, all_nodes
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.expressions import Call, Cast, Expr, RunValue, walk

#: Functions that only compare, choose or pass on points in time.
_PASSING: Final = frozenset(
    (
        "and", "coalesce", "equal", "equal_null_safe", "greater", "greater_equal", "greatest", "if", "ifnull",
        "in", "is_not_null", "is_null", "isnotnull", "isnull", "least", "less", "less_equal", "not",
        "not_equal", "nullif", "nvl", "nvl2", "or", "typeof",
    )
)  # fmt: skip
#: Functions that depend on the zone though they neither take nor give a TIMESTAMP.
_OF_ZONE: Final = frozenset(
    (
        "current_date", "current_timezone", "from_unixtime", "localtimestamp", "to_unix_timestamp",
        "unix_timestamp",
    )
)  # fmt: skip


def refuse_other_zone(view: str, plan: LogicalPlan) -> None:
    """Raise NotSupportedError if an expression of a view's plan may depend on the time zone. Also raised for
    some that don't, such as the difference of two points in time."""
    for node in all_nodes(plan):
        for operand in node.operands():
            if any(map(_may_depend, walk(operand))):
                raise NotSupportedError(
                    f"Another time zone than that in which the view {view} was made is not supported, since"
                    " the view's expressions depend on it: make the view anew."
                )


def _may_depend(item: Expr) -> bool:
    match item:
        case RunValue():
            return item.name in _OF_ZONE
        case Call():
            if item.function in _OF_ZONE:
                return True
            return item.function not in _PASSING and _takes_or_gives_points(item)
        case Cast():
            return item.operand.type != item.type and _takes_or_gives_points(item)
        case _:
            return False


def _takes_or_gives_points(item: Expr) -> bool:
    return any(map(_has_points, (item.type, *(child.type for child in item.children()))))


def _has_points(kind: pa.DataType) -> bool:
    """Whether values of the type are, or hold, points in time (TIMESTAMP)."""
    if pa.types.is_nested(kind):
        return any(_has_points(kind.field(at).type) for at in range(kind.num_fields))
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None
