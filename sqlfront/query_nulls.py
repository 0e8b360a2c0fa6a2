"""The columns of a statement's result that may hold nulls, found out when somebody asks."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront_planner.binder import bind_query
from sqlfront_planner.nullability import Nulls, column_nulls
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Query
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.results.result import Parameters
    from sqlfront.state.context import Context


def nulls_of_text(
    find: "Callable[[], Context | None]", text: str, args: "Parameters | None", schema: pa.Schema
) -> Sequence[Nulls] | None:
    """Return for each column of the query ``text`` where its values may be null, with the session's tables as
    they are now; None if that can't be told: the text is no query, names what is no longer there or has other
    types than those of ``schema``, the result's, or the session is gone. ``find``: returns the session's
    state, None if the session is gone. ``args``: the values of the query's parameters."""
    context = find()
    if context is None:
        return None
    try:
        statement = parse(context.usual(text))
        if not isinstance(statement, Query):
            return None
        binding = bind_query(statement, context.catalog, context.bind_settings, args)
        if [column.type for column in binding.plan.row()] != schema.types:
            return None  # a table has changed since the query ran
        return column_nulls(binding.plan, binding.arguments.values)
    except Error:
        return None
