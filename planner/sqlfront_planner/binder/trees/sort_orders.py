"""The directions of ORDER BY's items."""

from sqlglot import exp

from sqlfront_planner.binder.trees.handlers import refuse_unknown
from sqlfront_values.expressions import SortOrder


def sort_order(item: exp.Expr) -> SortOrder:
    """Return the sort order of an item of ORDER BY: its direction, and whether nulls come first or last."""
    refuse_unknown(item, frozenset({"this", "desc", "nulls_first"}))
    if item.args.get("desc"):
        return SortOrder.DESCENDING_NULLS_FIRST if item.args.get("nulls_first") else SortOrder.DESCENDING
    return SortOrder.ASCENDING if item.args.get("nulls_first") else SortOrder.ASCENDING_NULLS_LAST
