"""The columns of a view: those that its query had when the view was made, as in Spark."""

from collections import Counter
from collections.abc import Sequence

from sqlfront_planner.binder.expressions.expression_binder import cast_to
from sqlfront_planner.catalog import ViewEntry
from sqlfront_planner.logical import LogicalPlan, LogicalProject
from sqlfront_values.errors import spark_error
from sqlfront_values.expressions import Expr


def as_created(plan: LogicalPlan, names: Sequence[str], view: ViewEntry) -> LogicalPlan:
    """The plan of the view's query, whose columns are ``names`` now, with the columns and, for a permanent
    view, the types that the query had at the view's creation; the plan itself if these are the same.

    Raises INCOMPATIBLE_VIEW_SCHEMA_CHANGE if a column is gone, or several have its name."""
    known = view.schema
    if known is None or (list(names) == known.names and plan.schema.types == known.types):
        return plan
    found: list[Expr] = []
    row, expected, seen = plan.row(), Counter(map(str.lower, known.names)), Counter[str]()
    for field in known:
        key = field.name.lower()
        places = [place for place, name in enumerate(names) if name.lower() == key]
        if len(places) != expected[key]:
            raise spark_error(
                "INCOMPATIBLE_VIEW_SCHEMA_CHANGE",
                f"The SQL query of view `{view.name}` has an incompatible schema change and column "
                f"`{field.name}` cannot be resolved. Expected {expected[key]} columns named `{field.name}` "
                f"but got {', '.join(names)}. Please try to re-create the view.",
            )
        column = row[places[seen[key]]]
        seen[key] += 1
        found.append(column if view.temporary else cast_to(column, field.type))
    return LogicalProject(plan, tuple(found), tuple(known.names))
