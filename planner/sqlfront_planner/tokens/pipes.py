"""Rewriting of the pipe operator ``|>`` as nested queries, since sqlglot merges the steps of a pipe into one
SELECT and ignores their order.

A step reads the query before it as a derived table, whose alias is a :class:`~.marks.PipeMark`: the columns
of that table keep the qualifiers that they have inside. ``FROM t |> WHERE a > 1 |> SELECT a`` becomes ::

    SELECT a FROM (SELECT * FROM t WHERE a > 1) AS mark

The mark also says which step it is, for EXTEND, SET, DROP and AGGREGATE, which are SELECTs with rules of
their own (:mod:`sqlfront_planner.binder.pipe_steps`). Joins, PIVOT and UNPIVOT are added to FROM.
"""

from collections.abc import Callable, Sequence
from itertools import count, pairwise
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.tokens.marks import PipeMark, PositionalParameter
from sqlfront_planner.tokens.tokenizing import error_at, replaced, unread_at, unsupported_at
from sqlfront_values.errors import ProgrammingError

_T = TokenType
_OPENING: Final = frozenset({_T.L_PAREN, _T.L_BRACKET, _T.L_BRACE})
_CLOSING: Final = frozenset({_T.R_PAREN, _T.R_BRACKET, _T.R_BRACE})
_SETS: Final = frozenset({_T.UNION, _T.INTERSECT, _T.EXCEPT})
_JOIN_WORDS: Final = frozenset({"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI"})
_SORTS: Final = ("ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY")


def rewrite_pipes(tokens: list[Token], sql: str, before: int) -> list[Token]:
    """Return the tokens of a query of the text ``sql`` without the operator ``|>``; the syntax must have been
    checked. The parameters ``?``, of which the text has ``before`` before the query, keep their positions in
    the text. Raises Spark's errors for clauses that Spark doesn't allow in a step, and NotSupportedError for
    constructs that aren't implemented in pipes."""
    return _Pipes(sql).query(_with_positions(tokens, before))


def _with_positions(tokens: list[Token], before: int) -> list[Token]:
    """Return the tokens with a PositionalParameter as the text of each ``?``, as the tokens change places."""
    numbers = count(before)
    return [
        replaced(token, token.token_type, PositionalParameter.at(next(numbers)))
        if token.token_type == _T.PLACEHOLDER
        else token
        for token in tokens
    ]


class _Pipe:
    """The part of a pipe before a step: the tokens of a query, or those of a relation of FROM."""

    def __init__(self, tokens: list[Token], place: Token, *, is_relation: bool) -> None:
        self.tokens, self.place, self.is_relation = tokens, place, is_relation

    def word(self, kind: TokenType, text: str) -> Token:
        """Return a token at the place of the step."""
        return replaced(self.place, kind, text)

    def query(self) -> list[Token]:
        """Return the pipe as a query."""
        return [*self.select([self.word(_T.STAR, "*")])] if self.is_relation else self.tokens

    def select(self, items: Sequence[Token], step: str = "") -> list[Token]:
        """Return ``SELECT items FROM pipe``. With a ``step``, the pipe is a derived table marked with it."""
        source = self.derived(step) if step else self.relation()
        return [self.word(_T.SELECT, "SELECT"), *items, self.word(_T.FROM, "FROM"), *source]

    def relation(self) -> list[Token]:
        """Return the pipe as a relation of FROM."""
        return self.tokens if self.is_relation else self.derived("|>")

    def derived(self, step: str, sample: Sequence[Token] = ()) -> list[Token]:
        """Return the pipe as a derived table, with the mark of the step and TABLESAMPLE, behind which sqlglot
        reads no alias."""
        mark = [self.word(_T.ALIAS, "AS"), self.word(_T.IDENTIFIER, PipeMark(step))]
        return [self.word(_T.L_PAREN, "("), *self.query(), self.word(_T.R_PAREN, ")"), *mark, *sample]


class _Pipes:
    def __init__(self, sql: str) -> None:
        self.sql = sql

    def query(self, tokens: list[Token]) -> list[Token]:
        """Rewrite the pipes in the parentheses of the tokens, then the pipe that the tokens are, if any."""
        tokens = self._inside(tokens)
        bars = [place for place in _outside(tokens) if tokens[place].token_type == _T.PIPE_GT]
        if not bars:
            return tokens
        start = _after_with(tokens)
        if start is None:
            raise unsupported_at(tokens[bars[0]], "|> behind this WITH", self.sql)
        pipe = self._first(tokens[start : bars[0]], tokens[bars[0]])
        for bar, end in zip(bars, [*bars[1:], len(tokens)], strict=True):
            pipe.place = tokens[bar]
            pipe = self._step(pipe, tokens[bar + 1 : end])
        return [*tokens[:start], *pipe.query()]

    def _inside(self, tokens: list[Token]) -> list[Token]:
        """Rewrite the pipes in each pair of parentheses."""
        made: list[Token] = []
        depth, opened = 0, 0
        for place, token in enumerate(tokens):
            if token.token_type == _T.L_PAREN:
                opened = place if depth == 0 else opened
                depth += 1
            if depth == 0:
                made.append(token)
            if token.token_type == _T.R_PAREN:
                depth -= 1
                if depth == 0:
                    made += [tokens[opened], *self.query(tokens[opened + 1 : place]), token]
        return made

    def _first(self, tokens: list[Token], place: Token) -> _Pipe:
        """Return the pipe before the first step."""
        words = [tokens[index].text.upper() for index in _outside(tokens)]
        if words[0] == "FROM" and "SELECT" not in words:
            if "LATERAL" in words or any("VIEW" in word for word in words):
                raise unsupported_at(place, "|> behind LATERAL", self.sql)
            return _Pipe(tokens[1:], place, is_relation=True)
        if words[0] == "VALUES":
            return _Pipe(tokens, place, is_relation=True)
        if words[0] in ("MAP", "REDUCE"):
            raise unread_at(tokens[0], self.sql)
        return _Pipe(tokens, place, is_relation=False)

    def _step(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        if not tokens:
            return pipe
        word = tokens[0].text.upper()
        self._refuse_sets(tokens)
        if word.split(" ")[0] in _JOIN_WORDS:
            return _Pipe([*pipe.relation(), *tokens], pipe.place, is_relation=True)
        if tokens[0].token_type in _SETS:
            first = [pipe.word(_T.L_PAREN, "("), *pipe.query(), pipe.word(_T.R_PAREN, ")")]
            return _Pipe([*first, *tokens], pipe.place, is_relation=False)
        if word == "AS":
            named = [pipe.word(_T.L_PAREN, "("), *pipe.query(), pipe.word(_T.R_PAREN, ")"), *tokens]
            return _Pipe(named, pipe.place, is_relation=True)
        made = _STEPS.get(word)
        if made is not None:
            return made(self, pipe, tokens)
        if word in _SORTS or word in ("LIMIT", "OFFSET"):
            return self._end(pipe, tokens)
        if word == "WINDOW":
            raise self._no_clause(tokens[0], "WINDOW")
        raise unsupported_at(tokens[0], f"|> {word}", self.sql)

    def _refuse_sets(self, tokens: list[Token]) -> None:
        """Refuse a set operation behind a step: sqlglot would make it a part of the step."""
        for place in _outside(tokens):
            if place and tokens[place].token_type in _SETS and tokens[place - 1].token_type != _T.STAR:
                raise unsupported_at(tokens[place], "A set operation behind a step of |>", self.sql)

    def _closed(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        return _Pipe(tokens, pipe.place, is_relation=False)

    # ---- the steps

    def _select(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        end = next((place for place in _outside(tokens) if place and _ends_list(tokens, place)), len(tokens))
        return self._closed(pipe, [*pipe.select(tokens[1:end]), *tokens[end:]])

    def _extend(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        comma = pipe.word(_T.COMMA, ",")
        return self._closed(pipe, pipe.select([pipe.word(_T.STAR, "*"), comma, *tokens[1:]], "extend"))

    def _set(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        """Make a SELECT of the new values, whose aliases are the columns' names."""
        for name, value in (_assignment(part) for part in _split(tokens[1:])):
            if len(name) != 1:
                raise ProgrammingError(
                    "Operation not allowed: SQL pipe syntax |> SET operator with multi-part assignment key "
                    "(only single-part keys are allowed).",
                    position=(name[0].start, name[-1].end + 1),
                )
            named = [*value, pipe.word(_T.ALIAS, "AS"), replaced(name[0], _T.IDENTIFIER, name[0].text)]
            pipe = self._closed(pipe, pipe.select(named, "set"))
        return pipe

    def _drop(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        items = [
            pipe.word(_T.STAR, "*"),
            pipe.word(_T.EXCEPT, "EXCEPT"),
            pipe.word(_T.L_PAREN, "("),
            *tokens[1:],
            pipe.word(_T.R_PAREN, ")"),
        ]
        return self._closed(pipe, pipe.select(items, "drop"))

    def _where(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        for place in _outside(tokens):
            if place and _begins_window(tokens, place):
                message = "Not allowed in the pipe WHERE clause: WINDOW clause."
                condition = "NOT_ALLOWED_IN_PIPE_OPERATOR_WHERE.WINDOW_CLAUSE"
                raise error_at(tokens[place], condition, message, self.sql)
        return self._closed(pipe, [*pipe.select([pipe.word(_T.STAR, "*")]), *tokens])

    def _pivot(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        kinds = {tokens[place].token_type for place in _outside(tokens)}
        if {_T.PIVOT, _T.UNPIVOT} <= kinds:
            message = "Not allowed in the FROM clause: UNPIVOT together with PIVOT."
            raise error_at(tokens[0], "NOT_ALLOWED_IN_FROM.UNPIVOT_WITH_PIVOT", message, self.sql)
        return _Pipe([*pipe.relation(), *tokens], pipe.place, is_relation=True)

    def _sample(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        return _Pipe(pipe.derived("|>", tokens), pipe.place, is_relation=True)

    def _end(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        """Add ORDER BY, or LIMIT and OFFSET."""
        words = [tokens[place].text.upper() for place in _outside(tokens)]
        if any(
            tokens[place].token_type == _T.WINDOW and _ends_list(tokens, place) for place in _outside(tokens)
        ):
            raise self._no_clause(tokens[0], "WINDOW")
        sorts = [word for word in _SORTS if word in words]
        limits = [word for word in ("LIMIT", "OFFSET") if word in words]
        if sorts and limits:
            raise error_at(
                tokens[0],
                "MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS",
                f"{sorts[0]} and {limits[-1]} cannot coexist in the same SQL pipe operator using '|>'. "
                "Please separate the multiple result clauses into separate pipe operators and then retry the "
                "query again.",
                self.sql,
            )
        return self._closed(pipe, [*pipe.select([pipe.word(_T.STAR, "*")]), *tokens])

    def _no_clause(self, token: Token, clause: str) -> Exception:
        message = (
            "The feature is not supported: The SQL pipe operator syntax using |> does not support the "
            f"{clause} clause."
        )
        return error_at(token, "UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS", message, self.sql)

    def _aggregate(self, pipe: _Pipe, tokens: list[Token]) -> _Pipe:
        """Make a SELECT of the keys and the aggregates that groups by the positions of the keys."""
        place = next((place for place in _outside(tokens) if tokens[place].token_type == _T.GROUP_BY), None)
        calls = tokens[1:place]
        if not calls and place is None:
            raise ProgrammingError(
                "Operation not allowed: The AGGREGATE clause requires a list of aggregate expressions or a "
                "list of grouping expressions, or both.",
                position=(tokens[0].start, tokens[0].end + 1),
            )
        keys = [] if place is None else _split(tokens[place + 1 :])
        if place is not None and [] in keys:  # Spark reads a column GROUP with the alias BY
            raise unread_at(tokens[place], self.sql)
        for key in keys:
            self._check_key(key)
        items = [token for key in keys for token in (*key, pipe.word(_T.COMMA, ","))] + calls
        selected = pipe.select(items if calls else items[:-1], "aggregate")
        if keys:
            positions = [pipe.word(_T.NUMBER, PipeMark(number)) for number in range(1, len(keys) + 1)]
            listed = [token for number in positions for token in (pipe.word(_T.COMMA, ","), number)][1:]
            selected += [pipe.word(_T.GROUP_BY, "GROUP BY"), *listed]
        return self._closed(pipe, selected)

    def _check_key(self, key: list[Token]) -> None:
        """Raise UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE for ALL and grouping sets, and
        NotSupportedError for the position of a column."""
        words = [key[place].text.upper() for place in _outside(key)]
        is_set = words[0] in ("ROLLUP", "CUBE") and words[1:2] == ["("]
        found = words[0] if is_set or words == ["ALL"] or words[0].startswith("GROUPING") else ""
        if words[-2:-1] == ["WITH"] and words[-1] in ("ROLLUP", "CUBE"):
            found = words[-1]
        if found:
            shown = "GROUPING SETS" if found.startswith("GROUPING") else f"GROUP BY {found}"
            message = (
                "The feature is not supported: The SQL pipe operator syntax with aggregation (using |> "
                f"AGGREGATE) does not support {shown}."
            )
            condition = "UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE"
            raise error_at(key[0], condition, message, self.sql)
        if key[0].token_type == _T.NUMBER and len(words) == 1:
            raise unsupported_at(key[0], "A position in |> AGGREGATE", self.sql)


_STEPS: Final[dict[str, Callable[[_Pipes, _Pipe, list[Token]], _Pipe]]] = {
    "SELECT": _Pipes._select,
    "EXTEND": _Pipes._extend,
    "SET": _Pipes._set,
    "DROP": _Pipes._drop,
    "WHERE": _Pipes._where,
    "PIVOT": _Pipes._pivot,
    "UNPIVOT": _Pipes._pivot,
    "TABLESAMPLE": _Pipes._sample,
    "AGGREGATE": _Pipes._aggregate,
}


def _outside(tokens: Sequence[Token]) -> list[int]:
    """Return the positions of the tokens outside of brackets, opening brackets included."""
    depth, found = 0, []
    for place, token in enumerate(tokens):
        depth -= token.token_type in _CLOSING
        if depth == 0 and token.token_type not in _CLOSING:
            found.append(place)
        depth += token.token_type in _OPENING
    return found


def _after_with(tokens: Sequence[Token]) -> int | None:
    """Return the position behind the WITH clause of a query, 0 without one; None if it isn't found."""
    if tokens[0].token_type != _T.WITH:
        return 0
    outside = _outside(tokens)
    for place, after in pairwise(outside):
        opens_query = tokens[place].token_type == _T.L_PAREN and tokens[place - 1].token_type == _T.ALIAS
        if opens_query and tokens[after].token_type != _T.COMMA:
            return after
    return None


def _ends_list(tokens: Sequence[Token], place: int) -> bool:
    """Return whether GROUP BY or the WINDOW clause begins at ``place``."""
    return tokens[place].token_type == _T.GROUP_BY or _begins_window(tokens, place)


def _begins_window(tokens: Sequence[Token], place: int) -> bool:
    """Return whether the WINDOW clause begins at ``place``."""
    following = [token.token_type for token in tokens[place + 2 : place + 4]]
    return tokens[place].token_type == _T.WINDOW and following == [_T.ALIAS, _T.L_PAREN]


def _split(tokens: list[Token]) -> list[list[Token]]:
    """Split the tokens at the commas outside of brackets."""
    commas = [place for place in _outside(tokens) if tokens[place].token_type == _T.COMMA]
    starts = [0, *(place + 1 for place in commas)]
    return [tokens[start:end] for start, end in zip(starts, [*commas, len(tokens)], strict=True)]


def _assignment(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Return the tokens of the name and of the value of ``name = value``."""
    place = next(place for place in _outside(tokens) if tokens[place].token_type == _T.EQ)
    return tokens[:place], tokens[place + 1 :]
