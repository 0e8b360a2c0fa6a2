"""Merging of sessions: grouping by a column of sessions merges those of a group that overlap or meet."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.collected_calls import AggregateOutput
from sqlfront_planner.binder.time_windows.markers import Marker, is_window_type, marker_of
from sqlfront_planner.binder.trees.handlers import unsupported
from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_planner.logical import LogicalPlan, LogicalWindow, Subquery
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Column,
    Expr,
    FrameUnit,
    Literal,
    SortOrder,
    WindowCall,
    WindowFrame,
    conjuncts,
    walk,
)
from sqlfront_values.types import STRING

#: Aggregate functions that are deterministic for Spark; over any other one a filter of merged sessions is
#: refused.
_DETERMINISTIC: Final = frozenset(
    {"count", "count_if", "sum", "avg", "mean", "min", "max", "bool_and", "bool_or", "every", "some", "any"}
)


def session_keys(plan: LogicalPlan, keys: Sequence[Expr]) -> list[int]:
    """Return the positions of the keys that are columns of sessions over the row of ``plan``."""
    return [
        place
        for place, key in enumerate(keys)
        if is_window_type(key.type) and marker_of(plan, key) is Marker.SESSION
    ]


def before_merging(
    plan: LogicalPlan, keys: Sequence[Expr], calls: Sequence[AggregateCall], condition: Expr
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Divide the condition of HAVING, over the row of ``plan``, into conditions that filter the rows before
    their sessions are merged, and the rest.

    Spark's optimizer moves a condition on the keys below the grouping, and so below the merging, unless an
    aggregate function isn't deterministic."""
    sessions = [keys[place] for place in session_keys(plan, keys)]
    if not sessions or any(call.function not in _DETERMINISTIC for call in calls):
        return (), (condition,)
    parts = conjuncts(condition)
    moved = tuple(part for part in parts if _reads_sessions(part, sessions))
    return moved, tuple(part for part in parts if part not in moved)


def _reads_sessions(condition: Expr, sessions: Sequence[Expr]) -> bool:
    """Return whether a condition reads a column of sessions, and keys alone."""
    items = list(walk(condition))
    if not is_deterministic(condition) or any(isinstance(item, AggregateOutput | Subquery) for item in items):
        return False
    return any(session in items for session in sessions)


def merge_sessions(
    plan: LogicalPlan, keys: tuple[Expr, ...], calls: Sequence[AggregateCall], node: exp.Expr
) -> tuple[LogicalPlan, tuple[Expr, ...]]:
    """Return the plan that groups of ``keys`` read, and the keys over its row: with merged sessions if one of
    the keys is a column of sessions; else the plan and the keys as they are.

    The aggregate functions ``calls`` still read each row's own session. Beside DISTINCT Spark's would read
    the merged one, which raises NotSupportedError, as do several columns of sessions.
    """
    places = session_keys(plan, keys)
    if not places:
        return plan, keys
    if len(places) > 1:
        raise unsupported("Grouping by several columns of sessions", node)
    session = keys[places[0]]
    reads = any(session in walk(part) for call in calls for part in call.arguments)
    if reads and any(call.distinct for call in calls):
        raise unsupported("An aggregate function of a session beside DISTINCT", node)
    others = tuple(key for key in keys if key is not session)
    start = Call(session.type.field(0).type, "get_field", (session, Literal(STRING, "start")))
    call = WindowCall("merge sessions", (session,), session.type, WindowFrame(FrameUnit.ROWS, None, None))
    order = ((start, SortOrder.ASCENDING),)
    merged = LogicalWindow(plan, others, order, (call,), ("session_window",))
    column = Column(session.type, plan.width, "session_window")
    return merged, tuple(column if key is session else key for key in keys)
