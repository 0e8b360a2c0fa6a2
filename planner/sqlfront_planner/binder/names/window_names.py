"""The text of window functions in names of result columns."""

from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.names.call_names import Text, ordered_text
from sqlfront_planner.binder.protocols import Binder
from sqlfront_planner.tokens.marks import FUNCTION_MARK

#: The beginnings of calls that show RESPECT NULLS.
_COLLECTIONS: Final = ("collect_list(", "collect_set(", "collect_union(")


def window_text(node: exp.Expr, binder: Binder, text: Text) -> str:
    """Return Spark's text ``function(...) OVER (...)`` of a window call, which includes the frame; ``text``
    returns the text of an operand's node."""
    assert isinstance(node, exp.Window)
    window = binder.window(node)
    function = text(node.this)
    parts = []
    partition = window.args.get("partition_by")
    if partition:
        parts.append(f"PARTITION BY {', '.join(map(text, partition))}")
    order = window.args.get("order")
    if order is not None:
        parts.append(f"ORDER BY {', '.join(ordered_text(item, text) for item in order.expressions)}")
    parts.append(_frame_text(node, window, binder, text))
    return f"{function} OVER ({' '.join(parts)})"


def _frame_text(node: exp.Window, window: exp.Window, binder: Binder, text: Text) -> str:
    """Return the text of the call's frame: the frame in the query, or Spark's default. Ranking functions, lag
    and lead have frames of their own, whatever the query says."""
    inner = node.this
    while not isinstance(inner, exp.Anonymous):
        inner = inner.this
    name = str(inner.this).removeprefix(FUNCTION_MARK).lower()
    if name in ("lag", "lead"):
        offset = text(inner.expressions[1]) if len(inner.expressions) > 1 else "1"
        if name == "lag":
            offset = offset[1:] if offset.startswith("-") else f"-{offset}"
            offset = "0" if offset == "-0" else offset
        return f"ROWS BETWEEN {offset} FOLLOWING AND {offset} FOLLOWING"
    if name in ("row_number", "rank", "dense_rank", "percent_rank", "ntile", "counter_diff"):
        return "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    spec = window.args.get("spec")
    if spec is None:
        if window.args.get("order") is None:
            return "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        return "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    start = _bound(spec.args.get("start"), spec.args.get("start_side"), binder, text)
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), binder, text)
    return f"{str(spec.args['kind']).upper()} BETWEEN {start} AND {end}"


def _bound(value: object, side: object, binder: Binder, text: Text) -> str:
    """Return the text of a frame's bound. Spark shows a distance before the row that it casts to the order's
    type as a negative distance behind the row."""
    if not isinstance(value, exp.Expr):
        return str(value).upper() if not side else f"{value} {side}".upper()
    shown, direction = text(value), str(side).upper()
    if direction == "PRECEDING" and id(value) in binder.context.cast_bounds:
        return f"(- {shown}) FOLLOWING"
    if direction == "FOLLOWING" and isinstance(value, exp.Neg) and isinstance(value.this, exp.Paren):
        return f"{text(value.this)} PRECEDING"
    return f"{shown} {direction}"


def ignore_nulls_text(node: exp.Expr, text: Text) -> str:
    """Return the text of a call with IGNORE NULLS or RESPECT NULLS; the clause itself is shown for
    ``nth_value`` only."""
    shown = text(node.this)
    if shown.startswith("nth_value(") and isinstance(node, exp.IgnoreNulls):
        return f"{shown} ignore nulls"
    if isinstance(node, exp.RespectNulls) and shown.startswith(_COLLECTIONS):
        return f"{shown} RESPECT NULLS"
    for name in ("first", "last"):
        if shown.startswith(f"{name}_value("):
            return shown.replace(f"{name}_value(", f"{name}(", 1)
    return shown
