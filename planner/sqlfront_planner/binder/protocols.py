"""Protocols between the parts of the binder.

Two classes compose the binder: :class:`~sqlfront_planner.binder.query.QueryBinder` binds queries with the
modules of their clauses, :class:`~sqlfront_planner.binder.expressions.expression_binder.ExpressionBinder`
binds expressions with the handlers that the modules of the kinds register. A module that one of the two
classes calls, and that calls back, imports the protocol.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from sqlfront_planner.binder.context import StatementContext
from sqlfront_planner.binder.scope import BoundQuery, Scope
from sqlfront_values.expressions import Expr


class Queries(Protocol):
    """The binder of one statement's queries, with the common table expressions in scope; see
    :class:`~sqlfront_planner.binder.query.QueryBinder`."""

    @property
    def context(self) -> StatementContext:
        """The shared state of the whole statement."""

    @property
    def enclosing(self) -> Scope | None:
        """The scope around the subquery that is being bound; None outside of subqueries."""

    def bind(self, query: exp.Expr, parent: Scope | None = None) -> BoundQuery:
        """The bound query; ``parent`` is the scope of the enclosing query, None if there is none."""

    def within(self, query: exp.Expr, scope: Scope) -> BoundQuery:
        """The bound query of a subquery in an expression; ``scope`` is the scope of that expression."""

    def alone(self) -> "Queries":
        """The binder without common table expressions, for a view's query."""

    def common_table(self, name: str) -> BoundQuery | None:
        """The common table expression with that name, in any case; None if none is in scope."""

    def common_names(self) -> tuple[str, ...]:
        """The names of the common table expressions in scope."""

    def outer_names(self, query: exp.Expr, scope: Scope) -> list[str]:
        """The names of the columns of ``scope``, the enclosing query's, that a subquery reads, without
        duplicates."""


class Binder(Protocol):
    """A binder of expressions over one scope; see
    :class:`~.expressions.expression_binder.ExpressionBinder`."""

    @property
    def queries(self) -> Queries:
        """The binder of the query around the expressions."""

    @property
    def context(self) -> StatementContext:
        """The shared state of the whole statement."""

    @property
    def scope(self) -> Scope:
        """The columns in scope."""

    @property
    def aliases(self) -> Mapping[str, Sequence[Expr]]:
        """The earlier columns of the select list, by lower-case name."""

    def bind(self, node: exp.Expr) -> Expr:
        """The typed expression of a node."""

    def window(self, node: exp.Window) -> exp.Window:
        """The window of an OVER clause: the clause itself, or the named definition in the WINDOW clause."""
