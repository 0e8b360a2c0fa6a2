"""UPDATE and DELETE of all rows with given keys, whose new values do not depend on the row: the table changes
such rows without giving them to the planner's program first."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from sqlfront_engine.processors.project import Project
from sqlfront_engine.row_programs.keys import Keys
from sqlfront_engine.row_programs.program import ProgramRun
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_values.expressions import Column, Expr, Literal


class KeyedChange(msgspec.Struct, frozen=True, eq=False):
    """A change of the rows with the keys that ``keys`` computes for a run of ``constants``, the row plan
    without the table, which reads no rows. ``places``: the ordinals of the columns that get new values, None
    = the rows are deleted. ``values``: for each of these columns the position of its value among the run's
    constants, or the value itself as a Literal."""

    constants: RowPlan
    keys: Keys
    places: tuple[int, ...] | None
    values: tuple[int | Literal, ...] = ()

    def new_values(self, run: ProgramRun) -> tuple[object, ...]:
        """Return the values of the columns ``places`` in one run."""
        return tuple(
            value.value if isinstance(value, Literal) else run.constants[value] for value in self.values
        )


def keyed_change(plan: RowPlan, key: tuple[int, ...], width: int, *, updates: bool) -> KeyedChange | None:
    """Return the change that the rows of ``plan`` describe, which is the plan of a table's rows for an UPDATE
    (``updates``) or a DELETE, if the statement changes all rows with given values of the columns ``key``, and
    sets columns to values that don't depend on the row; else None. ``width``: the number of the table's
    columns, hence the ordinal that stands for the row's number."""
    if len(plan.sources) != 1 or plan.tables:
        return None
    (source,) = plan.sources
    _, *steps, _ = (vertex.processor for vertex in plan.dag.vertices)
    if source.by != key or source.keys is None:
        return None
    constants = replace(plan, sources=())
    match steps:
        case [] if not updates:
            return KeyedChange(constants, source.keys, None)
        case [Project() as project] if updates:
            return _update(constants, source.keys, source.columns, project.expressions, width)
        case _:
            return None


def _update(
    constants: RowPlan, keys: Keys, columns: tuple[int, ...], items: Sequence[Expr], width: int
) -> KeyedChange | None:
    """Return the change that an UPDATE makes; None if a new value depends on the row. ``columns``: the
    ordinals of the columns that the program reads. ``items``: the new values of the table's columns, and the
    row's number."""
    new: dict[int, int | Literal] = {}
    for place, item in enumerate(items):
        if isinstance(item, Column):
            if columns[item.ordinal] != place:
                return None
            continue
        value = item if isinstance(item, Literal) else _constant(constants, item)
        if value is None:
            return None
        new[place] = value
    if len(items) != width + 1 or width in new:
        return None
    return KeyedChange(constants, keys, tuple(new), tuple(new.values()))


def _constant(plan: RowPlan, item: Expr) -> int | None:
    """Return the position of an expression among the constants of the plan; None if it is none of them."""
    return next((place for place, each in enumerate(plan.constants) if each is item), None)
