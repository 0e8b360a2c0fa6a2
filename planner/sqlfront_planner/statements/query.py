"""A query as a statement, or as a part of another statement."""

import msgspec
from sqlglot import exp


class Query(msgspec.Struct, frozen=True):
    """A query. ``tree`` is sqlglot's tree, ``sql`` the complete text of the statement that holds the query,
    ``text`` the part of it that is the query."""

    sql: str
    text: str
    tree: exp.Expr
