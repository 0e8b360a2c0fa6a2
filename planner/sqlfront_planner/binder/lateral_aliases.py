"""Lateral column aliases: columns of the select list that later columns of the list read by their aliases.

A short aliased expression is copied into the expression that reads it. Copying a chain of aliases would take
space by the square of its length, and exponential space if each alias reads the previous alias twice. So an
:class:`~.collected_calls.AliasOutput` stands for a longer expression, which becomes a column of a projection
below, as all aliases do in Spark.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlfront_planner.binder.collected_calls import AliasOutput
from sqlfront_planner.logical import LogicalPlan, LogicalProject
from sqlfront_values.errors import too_complex
from sqlfront_values.expressions import Column, Expr, transform, walk

#: Nodes of an expression whose aliases have to be expanded: a chain in which each alias reads the alias
#: before twice doubles the nodes, and would fill the memory. Longer expressions are refused as too complex.
_MOST_WRITTEN_OUT: Final = 20_000


def aliases_read(expression: Expr) -> frozenset[int]:
    """Return the indexes of the select list's columns that the expression reads by an
    :class:`AliasOutput`."""
    return frozenset([item.index for item in walk(expression) if isinstance(item, AliasOutput)])


def written_out(expression: Expr, columns: Sequence[Expr]) -> Expr:
    """Return the expression with every :class:`AliasOutput`, the stand-in for a column of the select list,
    replaced by that column's expression; ``columns`` are the select list's expressions.

    Raises FAILED_TO_PARSE_TOO_COMPLEX if the expanded columns have more than 20,000 nodes.
    """
    read = aliases_read(expression)
    if not read:
        return expression
    known: dict[int, Expr] = {}
    sizes: dict[int, int] = {}

    def place(item: Expr) -> Expr:
        return known[item.index] if isinstance(item, AliasOutput) else item

    for index in range(max(read) + 1):
        below = [item.index for item in walk(columns[index]) if isinstance(item, AliasOutput)]
        sizes[index] = sum(1 for _ in walk(columns[index])) + sum(sizes[place] for place in below)
        known[index] = transform(columns[index], place)
    if sum(sizes[index] for index in read) > _MOST_WRITTEN_OUT:
        raise too_complex()
    return transform(expression, place)


def apply_aliases(
    plan: LogicalPlan, columns: Sequence[Expr], names: Sequence[str], read: frozenset[int]
) -> tuple[LogicalPlan, Mapping[int, Column]]:
    """Add projections to the plan that compute the select list's columns with the indexes ``read``, and all
    columns that these columns read, so that other columns can read them by alias.

    ``columns`` and ``names`` are the expressions and names of the select list. Returns the new plan, and a
    mapping from the index of each computed column to the Column that reads it. A column that reads others is
    computed one projection above them; columns that can be computed at the same time share a projection.
    """
    levels: dict[int, int] = {}
    below = {index: aliases_read(columns[index]) for index in range(max(read) + 1)}
    needed = read.union(*below.values())
    for index in sorted(needed):
        levels[index] = 1 + max((levels[earlier] for earlier in below[index]), default=0)
    places: dict[int, Column] = {}
    for level in range(1, max(levels.values()) + 1):
        members = [index for index in levels if levels[index] == level]
        row = plan.row()
        values = tuple([placed(columns[index], places) for index in members])
        plan = LogicalProject(
            plan,
            (*row, *values),
            (*(column.name for column in row), *(names[index] for index in members)),
        )
        for place, index in enumerate(members, len(row)):
            places[index] = Column(columns[index].type, place, names[index])
    return plan, places


def placed(expression: Expr, places: Mapping[int, Column]) -> Expr:
    """Return the expression with every :class:`AliasOutput` replaced by the Column for its index in
    ``places``, the mapping that :func:`apply_aliases` returns."""
    return transform(expression, lambda item: places[item.index] if isinstance(item, AliasOutput) else item)
