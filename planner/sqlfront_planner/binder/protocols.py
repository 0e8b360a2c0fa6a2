"""Protocols by which the parts of the binder use each other without an import cycle.

Two classes compose the binder: :class:`~sqlfront_planner.binder.query.QueryBinder` binds queries with the
modules of their clauses, :class:`~sqlfront_planner.binder.expressions.expression_binder.ExpressionBinder`
binds expressions with the handlers that other modules register. A module that is called by one of the two
classes, and calls it in turn, imports the protocol instead of the class.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from sqlfront_planner.binder.context import StatementContext
from sqlfront_planner.binder.scope import BoundQuery, Scope, ScopeColumn
from sqlfront_planner.expressions.closures import LambdaVariable
from sqlfront_values.expressions import Expr


class Queries(Protocol):
    """The binder of one statement's queries, with the common table expressions in scope. This protocol lets
    modules use :class:`~sqlfront_planner.binder.query.QueryBinder`, its implementation, without importing it.
    """

    @property
    def context(self) -> StatementContext:
        """The state that all binders of the statement share."""

    @property
    def enclosing(self) -> Scope | None:
        """The scope of the row that the subquery being bound may read; None outside of subqueries. Queries in
        FROM and WITH of the subquery take it as their ``parent`` (:meth:`bind`)."""

    def bind(self, query: exp.Expr, parent: Scope | None = None) -> BoundQuery:
        """Bind a query. ``parent`` is the scope of the enclosing query, whose columns the query may read;
        None if there is none."""

    def within(self, query: exp.Expr, scope: Scope) -> BoundQuery:
        """Bind a subquery that reads a row of ``scope``."""

    @property
    def given(self) -> tuple[ScopeColumn, ...]:
        """The parameters of the SQL function whose body is being bound, as far as the arguments read no
        row."""

    def alone(self, given: tuple[ScopeColumn, ...] = ()) -> "Queries":
        """Return a binder without common table expressions in scope, for a view's query or the body of a SQL
        function with the parameters ``given``."""

    def common_table(self, name: str) -> BoundQuery | None:
        """Return the common table expression with that name, in any case; None if no such expression is in
        scope."""

    def common_names(self) -> tuple[str, ...]:
        """Return the names of the common table expressions in scope."""

    def outer_names(self, query: exp.Expr, scope: Scope) -> list[str]:
        """Return the names of the columns of ``scope``, the enclosing query's scope, that the subquery
        ``query`` reads, without duplicates."""


class Binder(Protocol):
    """A binder of expressions over one scope. This protocol lets modules use
    :class:`~.expressions.expression_binder.ExpressionBinder`, its implementation, without importing it."""

    @property
    def queries(self) -> Queries:
        """The binder of the query that contains the expressions."""

    @property
    def context(self) -> StatementContext:
        """The state that all binders of the statement share."""

    @property
    def scope(self) -> Scope:
        """The columns that the expressions can name."""

    @property
    def aliases(self) -> Mapping[str, Sequence[Expr]]:
        """The earlier columns of the select list, by lower-case name."""

    @property
    def variables(self) -> Mapping[str, LambdaVariable]:
        """The parameters of the lambdas around the expression, by lower-case name."""

    def within_lambda(self, variables: Sequence[LambdaVariable]) -> "Binder":
        """Return a binder for the body of a lambda with these parameters."""

    def bind(self, node: exp.Expr) -> Expr:
        """Return the typed expression of a node."""

    def names_window(self, name: str) -> bool:
        """Return whether a name that means no column of the scope means the SELECT's windows of time."""

    def window(self, node: exp.Window) -> exp.Window:
        """Return the definition of an OVER clause's window: the clause itself or, for ``OVER name``, the
        definition in the WINDOW clause."""
