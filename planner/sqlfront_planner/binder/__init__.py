"""The binder, the second step of a query: sqlglot's tree becomes a typed logical plan whose columns are
ordinals.

In: a :class:`~sqlfront_planner.statement.Query`, the catalog, settings and arguments. Out: a
:class:`~sqlfront_planner.logical.LogicalPlan`, in which every name is resolved, every expression has Spark's
type, every implicit cast is explicit, and the columns have Spark's names. The binder refuses unknown
constructs by name.

Reading order: :mod:`.query` (WITH, set operations, LIMIT) and :mod:`.select` (one SELECT) bind queries by
clause, with :mod:`.relations` (FROM), :mod:`.groups`, :mod:`.windows` and :mod:`.sorting`. Expressions go
through :mod:`.trees` (the table of handlers), :mod:`.expressions` and :mod:`.functions`; :mod:`.names` makes
result-column names; :mod:`.routines` binds SQL functions, and :mod:`.routine_creation` checks new ones.
:mod:`.protocols` connects these parts; :mod:`.context` is the shared state of one statement, :mod:`.scope`
resolves names. :mod:`.collected_calls` holds the calls of one SELECT, :mod:`.lateral_aliases` the columns
that later columns read, :mod:`.outer_columns` the rules on correlation.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(
    __name__,
    "generators",
    "lateral_aliases",
    "legacy_mode",
    "map_keys",
    "outer_columns",
    "routine_creation",
    "selected_generators",
    "windows",
)

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from sqlfront_connectors.base import Snapshot, Table
from sqlfront_planner.binder.context import NO_ARGUMENTS, Arguments, BindSettings, StatementContext
from sqlfront_planner.binder.expressions import literals  # noqa: F401 - registers the handlers that every process needs
from sqlfront_planner.binder.query import QueryBinder
from sqlfront_planner.binder.sorting import projection
from sqlfront_planner.catalog import Catalog, Lookups
from sqlfront_planner.logical import LogicalPlan, repeats
from sqlfront_planner.statements.structs import Query
from sqlfront_values.errors import Error, too_complex
from sqlfront_values.expressions import Parameter

#: Uses of common table expressions from which on the binder checks the size of the plan: with fewer uses the
#: plan stays small, and the check would cost a walk over every plan.
_MANY_USES: Final = 8
#: Nodes that a plan may hold repeatedly: a common table expression is computed for each of its uses, and uses
#: within other common table expressions multiply. Planning takes seconds for more nodes.
_MOST_REPEATS: Final = 3_000
_DEFAULT_SETTINGS: Final = BindSettings()

__all__ = ["NO_ARGUMENTS", "Arguments", "BindSettings", "Binding", "bind", "bind_query"]


class Binding(msgspec.Struct, frozen=True):
    """A bound query and its dependencies.

    ``arguments`` are the values of the query's parameters, followed by the values of its lifted literals:
    literals of the text that became parameters, so that texts with other values share the plan. ``pinned``
    has the positions of the arguments on whose value, not only type, the plan depends; ``sized`` those of
    whole numbers on whose number of digits the plan depends, ``bounded`` those of numbers of LIMIT and OFFSET
    on whose bound (:func:`~.context.row_bound`) the plan depends. ``lifted`` maps the positions of lifted
    literals to whether a minus sign stands before the literal. ``titles`` maps ordinals of result columns to
    parameters: such a column is the parameter alone, and is named by the value that the parameter has in a
    run, as the column of ``SELECT 5`` is named ``5``.

    ``relations`` are the names of the tables and views read, ``temporary`` the temporary relations among
    them, ``routines`` the temporary functions called, ``variables`` the SQL variables read. ``lookups`` are
    the catalog's lookups with the results, ``snapshots`` the tables read with their versions. ``repeatable``
    is False if the plan reads tables outside of the catalog (``format.`path```).
    """

    plan: LogicalPlan
    arguments: Arguments
    pinned: frozenset[int]
    sized: frozenset[int]
    bounded: frozenset[int]
    lifted: Mapping[int, bool]
    titles: Mapping[int, Parameter]
    relations: tuple[str, ...]
    temporary: tuple[str, ...]
    routines: tuple[str, ...]
    variables: tuple[str, ...]
    lookups: Lookups
    snapshots: tuple[tuple[Table, Snapshot], ...]
    repeatable: bool


def bind(
    query: Query,
    catalog: Catalog,
    settings: BindSettings = _DEFAULT_SETTINGS,
    parameters: Arguments | Sequence[object] | Mapping[str, object] | None = None,
) -> LogicalPlan:
    """Return the logical plan of a query. ``parameters`` are the values of the query's parameters by position
    or by name; None = the query has no parameters.

    Raises ProgrammingError and NotSupportedError with positions in ``query.sql``.
    """
    return bind_query(query, catalog, settings, parameters).plan


def bind_query(
    query: Query,
    catalog: Catalog,
    settings: BindSettings = _DEFAULT_SETTINGS,
    parameters: Arguments | Sequence[object] | Mapping[str, object] | None = None,
) -> Binding:
    """Return the logical plan of a query together with everything that the plan depends on besides the text
    and the types of the arguments. ``parameters`` are the values of the query's parameters by position or by
    name; None = the query has no parameters.

    Raises ProgrammingError and NotSupportedError with positions in ``query.sql``.
    """
    arguments = Arguments.of(parameters) if parameters is not None else NO_ARGUMENTS
    # A name stands for the same table in the whole query, whatever happens to the catalog meanwhile.
    pinned = catalog.pinned()
    context = StatementContext(pinned, settings, arguments, literals=arguments.lifted)
    try:
        bound = QueryBinder(context).bind(query.tree)
        plan = context.settled(projection(bound.plan, bound.plan.row(), bound.names))
        if context.uses >= _MANY_USES and repeats(plan) > _MOST_REPEATS:
            raise too_complex()
    except Error as error:
        error.locate(query.sql)
        raise
    return Binding(
        plan,
        context.filled(),
        frozenset(context.pinned),
        frozenset(context.sized),
        frozenset(context.bounded),
        context.lifted,
        context.titles,
        tuple(dict.fromkeys(context.relations)),
        tuple(context.temporary),
        tuple(context.routines),
        tuple(dict.fromkeys(context.variables)),
        pinned.lookups,
        tuple(context.snapshots()),
        not context.reads_paths,
    )
