"""The parsers of DELETE and UPDATE, which make a query of the statement.

The tokens are rearranged as ``SELECT *, value, ..., condition FROM table``; each token keeps its position in
the text. So the expressions are parsed and bound as in any query.
"""

from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.statements.dotted_names import dotted
from sqlfront_planner.statements.query_parser import CHANGES, CONDITION, query_of, statement_tokens
from sqlfront_planner.statements.structs import Delete, Query, Update
from sqlfront_planner.statements.token_clauses import find_token, split_at_commas
from sqlfront_planner.tokens.tokenizing import replaced, unread_at
from sqlfront_values.errors import spark_error

#: The parts of a SELECT that reads one table and has no other clause.
_ONLY: Final = {"expressions", "from_"}
#: Spark's operators, for its errors, by the first word of the statement.
_OPERATORS: Final = {"DELETE": "DeleteFromTable", "UPDATE": "UpdateTable", "MERGE": "MergeIntoTable"}


def parse_delete(sql: str, start: int = 0) -> Delete:
    """Parse ``DELETE FROM table [[AS] alias] [WHERE condition]`` from offset ``start`` to the end of the
    text. Raises NotSupportedError for anything else."""
    tokens = statement_tokens(sql, start)
    if len(tokens) < 2 or tokens[1].token_type != TokenType.FROM:
        raise unread_at(tokens[1] if len(tokens) > 1 else None, sql)
    relation, condition = _where(tokens[2:], sql)
    query, name = _rows(tokens[0], relation, [condition], sql)
    return Delete(name, query)


def parse_update(sql: str, start: int = 0) -> Update:
    """Parse ``UPDATE table [[AS] alias] SET column = value, ... [WHERE condition]`` from offset ``start`` to
    the end of the text. Raises NotSupportedError for anything else."""
    tokens = statement_tokens(sql, start)
    place = find_token(tokens, TokenType.SET)
    if place is None:
        found = find_token(tokens, TokenType.WHERE)
        raise unread_at(None if found is None else tokens[found], sql)
    assignments, condition = _where(tokens[place + 1 :], sql)
    pairs = [divided_assignment(part, sql) for part in split_at_commas(assignments)]
    columns, values = [column for column, _ in pairs], [value for _, value in pairs]
    query, name = _rows(tokens[0], tokens[1:place], [*columns, *values, condition], sql)
    return Update(name, len(columns), query)


def _rows(first: Token, relation: list[Token], values: list[list[Token]], sql: str) -> tuple[Query, str]:
    """Return the query for all rows of the table, with further columns for ``values``, and the table's dotted
    name. ``first`` is the statement's first token, ``relation`` the tokens of the table and its alias. Each
    of ``values`` is the tokens of an expression, an empty list: TRUE. Raises NotSupportedError if
    ``relation`` is no table."""
    if not relation:
        raise unread_at(None, sql)
    selected = [replaced(first, TokenType.SELECT, "SELECT"), replaced(first, TokenType.STAR, "*")]
    for value in values:
        opening, closing = value[0] if value else first, value[-1] if value else first
        selected += [
            replaced(opening, TokenType.COMMA, ","),
            replaced(opening, TokenType.L_PAREN, "("),
            *(value or [replaced(first, TokenType.TRUE, "TRUE")]),
            replaced(closing, TokenType.R_PAREN, ")"),
        ]
    query = query_of([*selected, replaced(first, TokenType.FROM, "FROM"), *relation], sql)
    tree = query.tree
    if isinstance(tree, exp.Select) and {key for key, part in tree.args.items() if part} == _ONLY:
        source = tree.args["from_"].this
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            refuse_aggregates(tree.expressions[1:], first)
            tree.meta[CHANGES] = True
            tree.expressions[-1].meta[CONDITION] = True
            return query, dotted([part.name for part in source.parts])
    raise unread_at(relation[0], sql)


def refuse_aggregates(values: list[exp.Expr], first: Token) -> None:
    """Raise UNSUPPORTED_EXPR_FOR_OPERATOR if one of the ``values`` in DELETE, UPDATE or MERGE has an
    aggregate function, a window function or a generator. ``first``: the statement's first token."""
    for value in values:
        for node in value.walk(prune=lambda node: isinstance(node, exp.Query)):
            if isinstance(node, exp.AggFunc | exp.Window | exp.UDTF):
                operator = _OPERATORS[first.text.upper()]
                raise spark_error(
                    "UNSUPPORTED_EXPR_FOR_OPERATOR",
                    f"The query operator {operator} contains one or more unsupported expressions. Consider "
                    "to rewrite it to avoid window functions, aggregate functions, and generator functions.",
                    position=(first.start, first.end + 1),
                )


def divided_assignment(tokens: list[Token], sql: str) -> tuple[list[Token], list[Token]]:
    """Split the tokens of ``column = value``: return the tokens of the column, a dotted name, and those of
    the value. DEFAULT becomes NULL. Raises NotSupportedError for tokens of another form."""
    place = find_token(tokens, TokenType.EQ)
    target = tokens[:place]
    dots = [token.token_type == TokenType.DOT for token in target[1::2]]
    if place is None or len(target) != 2 * len(dots) + 1 or not all(dots):
        raise unread_at(tokens[0] if tokens else None, sql)
    value = tokens[place + 1 :]
    if not value:
        raise unread_at(None, sql)
    return target, null_for_default(value)


def null_for_default(value: list[Token]) -> list[Token]:
    """Return the tokens of a value to store, with NULL for DEFAULT: every column's default is null."""
    if len(value) == 1 and value[0].token_type == TokenType.DEFAULT:
        return [replaced(value[0], TokenType.NULL, "NULL")]
    return value


def _where(tokens: list[Token], sql: str) -> tuple[list[Token], list[Token]]:
    """Split the tokens of a statement at WHERE: return the tokens before, and the tokens of the condition
    (empty without WHERE). Raises NotSupportedError if nothing follows WHERE."""
    place = find_token(tokens, TokenType.WHERE)
    if place is None:
        return tokens, []
    if place == len(tokens) - 1:
        raise unread_at(None, sql)
    return tokens[:place], tokens[place + 1 :]
