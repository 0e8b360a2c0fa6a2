"""The columns of a view: the columns that its query had when the view was made, as in Spark."""

from collections import Counter
from collections.abc import Sequence

from sqlfront_planner.binder.expressions.expression_binder import cast_to
from sqlfront_planner.catalog import ViewEntry
from sqlfront_planner.logical import LogicalPlan, LogicalProject
from sqlfront_values.errors import spark_error
from sqlfront_values.expressions import Expr


def as_created(plan: LogicalPlan, names: Sequence[str], view: ViewEntry) -> LogicalPlan:
    """Return the plan of a view's query with the columns that the query had when the view was created, and
    for a permanent view with their types; ``plan`` itself if nothing has changed since. ``names`` are the
    names of the plan's columns now.

    Raises INCOMPATIBLE_VIEW_SCHEMA_CHANGE if one of the view's columns is gone, or if there are now several
    of its name."""
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
