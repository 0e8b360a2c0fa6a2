"""The order of filters and merged sessions: Spark's optimizer moves a filter of sessions below their grouping
and below the merging, so that it filters the rows' own sessions."""

from sqlfront_planner.expressions.rewriting import substitute
from sqlfront_planner.logical import LogicalFilter, LogicalPlan, LogicalProject, LogicalWindow, all_nodes
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.expressions import Call, Expr, columns_used, conjuncts


def refuse_filtered_sessions(plan: LogicalPlan) -> None:
    """Raise NotSupportedError if the optimized plan has a filter of merged sessions above their merging, with
    nothing but projections and filters between."""
    for node in all_nodes(plan):
        if not isinstance(node, LogicalFilter):
            continue
        for part in conjuncts(node.condition):
            is_kept = isinstance(part, Call) and part.function == "is_not_null"
            if not is_kept and _reads_merged(node.input, part):
                raise NotSupportedError(
                    "A filter of merged sessions is not supported: Spark applies it before it merges them.",
                    sqlstate="0A000",
                )


def _reads_merged(plan: LogicalPlan, condition: Expr) -> bool:
    """Return whether a condition over the row of ``plan`` reads sessions that the plan merges."""
    while isinstance(plan, LogicalProject | LogicalFilter):
        if isinstance(plan, LogicalProject):
            condition = substitute(condition, plan.expressions)
        plan = plan.input
    if not isinstance(plan, LogicalWindow):
        return False
    places = {place - plan.input.width for place in columns_used(condition)}
    return any(plan.calls[place].function == "merge sessions" for place in places if place >= 0)
