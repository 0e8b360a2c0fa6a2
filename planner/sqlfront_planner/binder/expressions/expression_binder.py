"""Binding of one expression: names become ordinals, every operand gets its type, and Spark's implicit casts
become explicit.

:meth:`ExpressionBinder.bind` looks the node's class up in the table of handlers
(:mod:`sqlfront_planner.binder.trees.handlers`), which the modules ``literals``, ``operators``,
``predicates``, ``conditionals``, ``casts``, ``subqueries`` and ``columns``, those of
:mod:`sqlfront_planner.binder.functions` and :mod:`sqlfront_planner.binder.windows` fill.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder.context import LEVELS_OF_A_STACK, StatementContext
from sqlfront_planner.binder.names.expression_names import name_of
from sqlfront_planner.binder.scope import Scope
from sqlfront_planner.binder.trees.handlers import failure, handler_of, refuse_unknown, span, unsupported
from sqlfront_planner.expressions import preimages
from sqlfront_planner.expressions.closures import LambdaVariable
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Cast, Expr, Literal
from sqlfront_values.room import check
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import BOOLEAN, DOUBLE, VALUE_BITS, is_decimal

if TYPE_CHECKING:
    from sqlfront_planner.binder.collected_calls import Aggregates, Windows
    from sqlfront_planner.binder.collected_windows import TimeWindows
    from sqlfront_planner.binder.protocols import Queries


class Clause(Enum):
    """The clause of a query in which an expression stands. The enum's value is the clause's name in
    messages."""

    SELECT = "SELECT"
    """The select list."""
    WHERE = "WHERE"
    """The condition on input rows."""
    GROUP_BY = "GROUP BY"
    """The keys of the groups."""
    HAVING = "HAVING"
    """The condition on groups."""
    QUALIFY = "QUALIFY"
    """The condition on the results of window functions."""
    ORDER_BY = "ORDER BY"
    """The sort keys of the result."""
    LIMIT = "LIMIT"
    """The greatest number of rows."""
    OFFSET = "OFFSET"
    """The number of skipped rows."""
    JOIN = "JOIN"
    """The condition of ON."""
    USING = "USING"
    """The columns of USING."""
    VALUES = "VALUES"
    """The rows of an inline table."""
    RANGE = "RANGE"
    """The arguments of the table function ``range``."""
    LATERAL_VIEW = "LATERAL VIEW"
    """The arguments of a LATERAL VIEW's generator."""
    TABLE_FUNCTION = "FROM"
    """The arguments of a generator in FROM."""


class OutputNames(msgspec.Struct, frozen=True):
    """The select list's names as GROUP BY, HAVING, QUALIFY and ORDER BY find them: ``expressions`` maps a
    lower-case name to the columns' expressions over the row before the projection.

    In ORDER BY the names take precedence over the input's columns. There ``keys`` are the only input columns
    that ORDER BY finds (None = all), and ``grouped`` says that ORDER BY may have aggregate functions.

    In other clauses input columns take precedence over the names. Exception: in HAVING a name takes
    precedence over an input column that is not among the groups' ``keys`` (None = no exception).
    ``is_closed``: input columns outside of the keys can't be found at all.

    ``hidden``: names that Spark also finds inside of an aggregate function, where they hide input columns
    and can't be read: such a use is an error. ``aliases``: the names that Spark finds inside of
    ``grouping``; ``groupings``: the columns that Spark finds there (None: the query has no grouping sets).
    """

    expressions: Mapping[str, Sequence[Expr]]
    keys: tuple[Expr, ...] | None = None
    is_closed: bool = False
    grouped: bool = True
    hidden: frozenset[str] = frozenset()
    aliases: frozenset[str] = frozenset()
    groupings: tuple[Expr, ...] | None = None


class ExpressionBinder(msgspec.Struct):
    """A binder of the expressions of one clause over one scope.

    ``aggregates`` and ``windows`` collect the aggregate and window calls found; None if the clause allows no
    such calls. ``aliases`` are the select list's earlier columns by lower-case name; ``aliases_used``
    collects the names of the aliases read. ``output`` has the select list's names if the clause can read
    them, else None. ``named_windows`` has the definitions of the WINDOW clause. ``inside_aggregate`` is True
    within an aggregate's arguments. ``variables`` are the parameters of the lambdas around the expression, by
    lower-case name; ``inside_lambda`` is True within a function's argument that is, or stands for, a lambda.
    ``time_windows`` collects the windows of time; None if the clause allows none.
    """

    queries: "Queries"
    scope: Scope
    clause: Clause
    aggregates: "Aggregates | None" = None
    windows: "Windows | None" = None
    aliases: dict[str, list[Expr]] = msgspec.field(default_factory=dict)
    aliases_used: list[str] = msgspec.field(default_factory=list)
    output: OutputNames | None = None
    named_windows: Mapping[str, exp.Window] = msgspec.field(default_factory=dict)
    inside_aggregate: bool = False
    variables: Mapping[str, LambdaVariable] = msgspec.field(default_factory=dict)
    inside_lambda: bool = False
    time_windows: "TimeWindows | None" = None

    @property
    def context(self) -> StatementContext:
        """The state that all binders of the statement share."""
        return self.queries.context

    def bind(self, node: exp.Expr) -> Expr:
        """Return the typed expression of a node.

        Raises ProgrammingError with Spark's condition, and NotSupportedError for constructs that aren't
        implemented; the error's position is the position of the innermost node that has one."""
        entry = handler_of(type(node))
        if entry is None:
            raise unsupported(f"{type(node).__name__} ({node.key.upper()})", node)
        handler, known = entry
        context = self.queries.context
        context.depth += 1
        try:
            refuse_unknown(node, known)
            if context.depth % LEVELS_OF_A_STACK:
                return handler(self, node)
            return on_fresh_stack(handler, self, node)
        except Error as error:
            if error.position is None:
                error.position = span(node)
            raise
        finally:
            context.depth -= 1

    def bind_all(self, nodes: Sequence[exp.Expr]) -> list[Expr]:
        """Return the typed expressions of several nodes, in order. Raises ProgrammingError with Spark's
        condition, and NotSupportedError for constructs that aren't implemented."""
        check()
        return [self.bind(node) for node in nodes]

    def within(self, *, inside_aggregate: bool) -> "ExpressionBinder":
        """Return a copy of the binder with this value of ``inside_aggregate``: True for the arguments of an
        aggregate, False for expressions outside of aggregates."""
        return replace(self, inside_aggregate=inside_aggregate)

    def within_lambda(self, variables: Sequence[LambdaVariable]) -> "ExpressionBinder":
        """Return a copy of the binder for the body of a lambda with these parameters, which hide columns, and
        other lambdas' parameters, of the same names."""
        known = {**self.variables, **{variable.name.lower(): variable for variable in variables}}
        return replace(self, variables=known, inside_lambda=True)

    def name(self, node: exp.Expr) -> str:
        """Return the text by which Spark shows a node in names of result columns and in messages."""
        return name_of(node, self)

    def names_window(self, name: str) -> bool:
        """Return whether a name that means no column of the scope means the SELECT's windows of time."""
        return self.time_windows is not None and self.time_windows.names_window(name)

    def window(self, node: exp.Window) -> exp.Window:
        """Return the definition of an OVER clause's window: the clause itself or, for ``OVER name``, the
        definition of ``name`` in the WINDOW clause. Raises MISSING_WINDOW_SPECIFICATION if there is no such
        definition."""
        alias = node.args.get("alias")
        if alias is None:
            return node
        named = self.named_windows.get(alias.name)
        if named is None:
            raise failure(
                "MISSING_WINDOW_SPECIFICATION",
                f"Window specification is not defined in the WINDOW clause for `{alias.name}`.",
                alias,
            )
        if node.args.get("partition_by") or node.args.get("order") or node.args.get("spec"):
            raise unsupported("A window that extends a named window", node)
        if named.args.get("alias") is None:
            return named
        # ``WINDOW w AS (...), v AS w``; a window may not refer to a window that refers to another.
        target = self.named_windows.get(named.args["alias"].name)
        if target is None or target.args.get("alias") is not None:
            kind = "UNRESOLVED" if target is None else "INVALID"
            raise failure(
                f"INVALID_SQL_SYNTAX.{kind}_WINDOW_REFERENCE",
                f"Invalid SQL syntax: Cannot resolve window reference `{named.args['alias'].name}`.",
                named,
            )
        return target

    def condition(self, node: exp.Expr) -> Expr:
        """Bind a condition of WHERE to a boolean expression. Raises DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN if
        it isn't boolean."""
        expression = self.bind(node)
        if expression.type != BOOLEAN:
            shown = self.name(node)
            raise failure(
                "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
                f'Cannot resolve "{shown}" due to data type mismatch: Filter expression "{shown}" of type '
                f'"{types.sql_name(expression.type)}" is not a boolean.',
                node,
            )
        return expression


def cast_to(expression: Expr, data_type: pa.DataType) -> Expr:
    """Return ``expression`` implicitly cast to ``data_type``. An expression of that type is returned
    unchanged, and a literal whose cast can't fail is converted immediately."""
    if expression.type == data_type:
        return expression
    if isinstance(expression, Literal):
        value = expression.value
        if value is None:
            return Literal(data_type, None)
        if isinstance(value, int) and not isinstance(value, bool):
            if (
                data_type in VALUE_BITS
                and -(1 << VALUE_BITS[data_type]) <= value < 1 << VALUE_BITS[data_type]
            ):
                return Literal(data_type, value)
            if data_type == DOUBLE and abs(value) < 1 << 53:
                return Literal(DOUBLE, float(value))
        if is_decimal(data_type) and preimages.keeps_order(expression.type, data_type):
            return preimages.narrowed(expression, data_type) or Cast(data_type, expression)
    return Cast(data_type, expression)


def unify(binder: "ExpressionBinder", operands: Sequence[Expr]) -> list[Expr] | None:
    """Return the operands cast to their least common type; None if they have no common type."""
    wanted = binder.context.coercion.common_type(operand.type for operand in operands)
    return None if wanted is None else [cast_to(operand, wanted) for operand in operands]
