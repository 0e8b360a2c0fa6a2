"""Protocols between the parts of the binder.

The binder is composed in two places: :class:`~sqlfront_planner.binder.query.QueryBinder` binds queries with
the modules of their clauses, :class:`~sqlfront_planner.binder.expressions.ExpressionBinder` binds expressions
with the handlers that the modules of the kinds register. A module that is called by one of the two, and calls
it back, imports the protocol.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from sqlfront_planner.binder.context import StatementContext
from sqlfront_planner.binder.scope import BoundQuery, Scope
from sqlfront_values.expressions import Expr


class Queries(Protocol):
    """Binds the queries of one statement, with the common table expressions in sight."""

    @property
    def context(self) -> StatementContext:
        """What the whole statement shares."""

    @property
    def enclosing(self) -> Scope | None:
        """The scope around the subquery that is being bound."""

    def bind(self, query: exp.Expr, parent: Scope | None = None) -> BoundQuery:
        """The plan of a query; ``parent`` is the scope of the enclosing query."""

    def within(self, query: exp.Expr, scope: Scope) -> BoundQuery:
        """The plan of an expression's subquery."""

    def alone(self) -> "Queries":
        """The same without the common table expressions: for the query of a view."""

    def common_table(self, name: str) -> BoundQuery | None:
        """The common table expression of that name."""

    def common_names(self) -> tuple[str, ...]:
        """The names of the common table expressions in sight."""

    def outer_names(self, query: exp.Expr, scope: Scope) -> list[str]:
        """The names of the enclosing query's columns that a subquery reads, each once."""


class Binder(Protocol):
    """Binds expressions over one scope; ``aliases`` are the select list's earlier columns."""

    @property
    def queries(self) -> Queries:
        """The binder of the query around the expressions."""

    @property
    def context(self) -> StatementContext:
        """What the whole statement shares."""

    @property
    def scope(self) -> Scope:
        """The columns in sight."""

    @property
    def aliases(self) -> Mapping[str, Sequence[Expr]]:
        """The earlier columns of the select list, by lower-case name."""

    def bind(self, node: exp.Expr) -> Expr:
        """The typed expression of a node."""

    def window(self, node: exp.Window) -> exp.Window:
        """The window of an OVER clause: itself, or the one of the WINDOW clause that it names."""
