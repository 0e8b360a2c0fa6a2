"""The parser of MERGE INTO, which makes three queries of the statement (see
:class:`~sqlfront_planner.statements.merge_structs.Merge`).

The tokens are divided into clauses. Each expression is parsed as the only column of a query of its own, and
its tree is put among the columns of the query that has the rows which the expression may read. So the
expressions are parsed and bound as in any query, with positions in the statement's text.
"""

from typing import Final

import msgspec
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.statements.dotted_names import dotted
from sqlfront_planner.statements.merge_structs import Merge, MergeAction, MergeClause, MergeRows
from sqlfront_planner.statements.modification_parser import (
    divided_assignment,
    null_for_default,
    refuse_aggregates,
)
from sqlfront_planner.statements.query import Query
from sqlfront_planner.statements.query_parser import CHANGES, CONDITION, query_of, statement_tokens
from sqlfront_planner.statements.token_clauses import find_token, outer_places, split_at_commas
from sqlfront_planner.tokens.tokenizing import error_at, replaced, unread_at, unsupported_at
from sqlfront_values.errors import DatabaseError

_T: Final = TokenType
#: The error of a clause without a condition that isn't the last one about its rows.
_NOT_LAST: Final = {
    MergeRows.MATCHED: ("NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION", "MATCHED"),
    MergeRows.NOT_MATCHED: (
        "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
        "NOT MATCHED [BY TARGET]",
    ),
    MergeRows.NOT_MATCHED_BY_SOURCE: (
        "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
        "NOT MATCHED BY SOURCE",
    ),
}


class _Clause(msgspec.Struct, frozen=True):
    """The tokens of a WHEN clause: those of its condition (empty without one), those of each assigned column,
    and those of each value."""

    rows: MergeRows
    action: MergeAction
    condition: list[Token]
    columns: list[list[Token]]
    values: list[list[Token]]
    takes_all: bool = False

    def struct(self) -> MergeClause:
        """Return the clause without its tokens."""
        assigned = None if self.takes_all or self.action is MergeAction.DELETE else len(self.columns)
        return MergeClause(self.rows, self.action, bool(self.condition), assigned)


def begins_merge(sql: str, start: int) -> bool:
    """Return whether the statement at offset ``start`` is a MERGE behind common table expressions."""
    return _merge_place(statement_tokens(sql, start)) is not None


def _merge_place(tokens: list[Token]) -> int | None:
    """Return the position of the word MERGE that begins the statement, behind WITH or not; None if there is
    none."""
    for place in outer_places(tokens):
        if tokens[place].token_type == _T.MERGE and (
            place == 0 or tokens[place - 1].token_type == _T.R_PAREN
        ):
            return place
    return None


def parse_merge(sql: str, start: int = 0) -> Merge:
    """Parse ``[WITH ...] MERGE INTO target USING source ON condition WHEN ...`` from offset ``start`` to the
    end of the text.

    Raises MERGE_WITHOUT_WHEN, NON_LAST_..._CLAUSE_OMIT_CONDITION, MERGE_INSERT_VALUE_COUNT_MISMATCH and
    COLUMN_ALIASES_NOT_ALLOWED as Spark's parser, UNSUPPORTED_EXPR_FOR_OPERATOR for aggregate functions,
    NotSupportedError for WITH SCHEMA EVOLUTION and for anything else that can't be read.
    """
    tokens = statement_tokens(sql, start)
    place = _merge_place(tokens)
    if place is None:
        raise unread_at(tokens[0], sql)
    return _MergeParser(sql, tokens, place).merge()


class _MergeParser:
    """The parser of one statement, whose word MERGE is at ``place``."""

    def __init__(self, sql: str, tokens: list[Token], place: int) -> None:
        self._sql = sql
        self._tokens = tokens
        self._first = tokens[place]
        self._with, self._body = tokens[:place], tokens[place + 1 :]

    def merge(self) -> Merge:
        """Return the statement."""
        target, source, condition, clauses = self._parts()
        self._check(clauses)
        relation, name = self._relation(target)
        read = self._query([*self._with, *self._select_all(), *source])
        if not isinstance(read.tree, exp.Select):
            raise unread_at(source[0], self._sql)
        given = read.tree.args["from_"].this
        self._refuse_column_aliases(given)
        if {key for key, part in read.tree.args.items() if part} - {"with_"} != {"expressions", "from_"}:
            raise unread_at(source[0], self._sql)
        matched = [each for each in clauses if each.rows is MergeRows.MATCHED]
        missing = [each for each in clauses if each.rows is MergeRows.NOT_MATCHED]
        gone = [each for each in clauses if each.rows is MergeRows.NOT_MATCHED_BY_SOURCE]
        keys = [self._expression(column) for clause in clauses for column in clause.columns]
        cross = exp.Join(this=given.copy(), kind="CROSS")
        before = read.tree.args.get("with_")
        pairs = _all_rows(relation)
        pairs.set("joins", [cross])
        if before is not None:
            pairs.set("with_", before.copy())
        on = self._expression(condition, is_condition=True)
        return Merge(
            name,
            tuple(clause.struct() for clause in clauses),
            self._with_columns(pairs, [on, *self._expressions(matched)]),
            self._with_columns(read.tree, self._expressions(missing)),
            self._with_columns(_all_rows(relation.copy()), [*self._expressions(gone), *keys]),
        )

    # ---- clauses

    def _parts(self) -> tuple[list[Token], list[Token], list[Token], list[_Clause]]:
        """Divide the statement: return the tokens of the target, of the source and of the ON condition, and
        the clauses."""
        body, sql = self._body, self._sql
        if body and body[0].token_type == _T.WITH:
            raise unsupported_at(body[0], "MERGE WITH SCHEMA EVOLUTION", sql)
        using, on = find_token(body, _T.USING), find_token(body, _T.ON)
        if not body or body[0].token_type != _T.INTO or using is None or on is None:
            raise unread_at(body[0] if body else None, sql)
        starts = [place for place in outer_places(body) if place > on and self._begins_clause(place)]
        if not starts:
            raise self._error(
                "MERGE_WITHOUT_WHEN", "There must be at least one WHEN clause in a MERGE statement."
            )
        ends = [*starts[1:], len(body)]
        clauses = [self._clause(body[begin:end]) for begin, end in zip(starts, ends, strict=True)]
        return body[1:using], body[using + 1 : on], body[on + 1 : starts[0]], clauses

    def _begins_clause(self, place: int) -> bool:
        body = self._body
        return (
            body[place].token_type == _T.WHEN
            and place + 2 < len(body)
            and "MATCHED" in (_word(body[place + 1]), _word(body[place + 2]))
        )

    def _clause(self, tokens: list[Token]) -> _Clause:
        """Divide the tokens of one clause, from WHEN on."""
        then = find_token(tokens, _T.THEN)
        if then is None or then + 1 == len(tokens):
            raise unread_at(tokens[0], self._sql)
        head = [_word(token) for token in tokens[1:then]]
        matched = head.index("MATCHED")
        rows = MergeRows.MATCHED if matched == 0 else MergeRows.NOT_MATCHED
        begin = matched + 1
        if head[begin : begin + 1] == ["BY"]:
            if head[begin + 1] == "SOURCE":
                rows = MergeRows.NOT_MATCHED_BY_SOURCE
            begin += 2
        condition = tokens[begin + 2 : then]  # behind AND
        action, rest = MergeAction[_word(tokens[then + 1])], tokens[then + 2 :]
        match action:
            case MergeAction.DELETE:
                return _Clause(rows, action, condition, [], [])
            case MergeAction.UPDATE:
                return self._update(rows, condition, rest[1:])
            case MergeAction.INSERT:
                return self._insert(rows, condition, rest)

    def _update(self, rows: MergeRows, condition: list[Token], tokens: list[Token]) -> _Clause:
        """Divide what follows UPDATE SET."""
        if len(tokens) == 1 and tokens[0].token_type == _T.STAR:
            return _Clause(rows, MergeAction.UPDATE, condition, [], [], takes_all=True)
        pairs = [divided_assignment(part, self._sql) for part in split_at_commas(tokens)]
        columns, values = [column for column, _ in pairs], [value for _, value in pairs]
        return _Clause(rows, MergeAction.UPDATE, condition, columns, values)

    def _insert(self, rows: MergeRows, condition: list[Token], tokens: list[Token]) -> _Clause:
        """Divide what follows INSERT."""
        if len(tokens) == 1 and tokens[0].token_type == _T.STAR:
            return _Clause(rows, MergeAction.INSERT, condition, [], [], takes_all=True)
        middle = find_token(tokens, _T.VALUES)
        if middle is None:
            raise unread_at(tokens[0] if tokens else None, self._sql)
        columns = split_at_commas(tokens[1 : middle - 1])
        values = split_at_commas(tokens[middle + 2 : -1])
        if len(columns) != len(values):
            raise self._error(
                "MERGE_INSERT_VALUE_COUNT_MISMATCH",
                f"The number of provided values ({len(values)}) must match the number of expected columns "
                f"({len(columns)}) in the INSERT clause of MERGE.",
            )
        return _Clause(rows, MergeAction.INSERT, condition, columns, list(map(null_for_default, values)))

    def _check(self, clauses: list[_Clause]) -> None:
        """Raise NON_LAST_..._CLAUSE_OMIT_CONDITION if a clause without a condition is followed by another one
        about the same rows."""
        for rows, (condition, words) in _NOT_LAST.items():
            about = [clause for clause in clauses if clause.rows is rows]
            if any(not clause.condition for clause in about[:-1]):
                raise self._error(
                    condition,
                    f"When there are more than one {words} clauses in a MERGE statement, only the last "
                    f"{words} clause can omit the condition.",
                )

    # ---- queries

    def _relation(self, tokens: list[Token]) -> tuple[exp.Table, str]:
        """Parse the target and its alias; return the tree and the table's dotted name."""
        if not tokens:
            raise unread_at(None, self._sql)
        tree = self._query([*self._select_all(), *tokens]).tree
        source = tree.args["from_"].this if isinstance(tree, exp.Select) else None
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            raise unread_at(tokens[0], self._sql)
        self._refuse_column_aliases(source)
        return source, dotted([part.name for part in source.parts])

    def _refuse_column_aliases(self, relation: exp.Expr) -> None:
        alias = relation.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            raise self._error("COLUMN_ALIASES_NOT_ALLOWED", "Column aliases are not allowed in MERGE.")

    def _select_all(self) -> list[Token]:
        first = self._first
        return [
            replaced(first, kind, text)
            for kind, text in ((_T.SELECT, "SELECT"), (_T.STAR, "*"), (_T.FROM, "FROM"))
        ]

    def _expressions(self, clauses: list[_Clause]) -> list[exp.Expr]:
        """Parse the conditions and values of the clauses, in their order."""
        parsed = list[exp.Expr]()
        for clause in clauses:
            if clause.condition:
                parsed.append(self._expression(clause.condition, is_condition=True))
            parsed += map(self._expression, clause.values)
        return parsed

    def _expression(self, tokens: list[Token], *, is_condition: bool = False) -> exp.Expr:
        """Parse an expression, in parentheses."""
        if not tokens:
            raise unread_at(None, self._sql)
        begin = [
            replaced(tokens[0], _T.SELECT, "SELECT"),
            replaced(tokens[0], _T.L_PAREN, "("),
        ]
        tree = self._query([*begin, *tokens, replaced(tokens[-1], _T.R_PAREN, ")")], tokens[0].start).tree
        if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
            raise unread_at(tokens[0], self._sql)
        refuse_aggregates(tree.expressions, self._first)
        part: exp.Expr = tree.expressions[0].pop()
        if is_condition:
            part.meta[CONDITION] = True
        return part

    def _query(self, tokens: list[Token], start: int = 0) -> Query:
        """Parse a query; ``start``: the offset before which all parameters stand outside of the query."""
        before = sum(token.text == "?" for token in self._tokens if token.start < start)
        return query_of(tokens, self._sql, before)

    def _with_columns(self, tree: exp.Select, columns: list[exp.Expr]) -> Query:
        """Return the query with further columns."""
        for column in columns:
            tree.append("expressions", column)
        tree.meta[CHANGES] = True
        return Query(self._sql, self._sql, tree)

    def _error(self, condition: str, message: str) -> DatabaseError:
        return error_at(self._first, condition, message, self._sql)


def _word(token: Token) -> str:
    return token.text.upper()


def _all_rows(relation: exp.Table) -> exp.Select:
    """Return the query for all columns and rows of the relation."""
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=relation))
