"""Rewriting of the token stream: sqlglot's parser then keeps all details that Spark's answers depend on.

The parser folds many functions into one node (nvl, ifnull and coalesce; substr and substring; element_at and
``[]``; mod and ``%``), drops the suffix of number literals and has other rules for string escapes. Therefore:

* the name of every function call becomes ``f$name``, which the parser doesn't know: each call becomes an
  ``exp.Anonymous`` with the name as written;
* a number keeps the text with the suffix (``1L``, ``1.5BD``), and the sign before a cast by ``::``; a string
  has the value by Spark's escape rules, adjacent strings are joined;
* a sign ``+``, which the parser drops, becomes an operator of another dialect (``UnaryPlus`` in
  :mod:`sqlfront_planner.tokens.marks`), and so does ``>>>`` (``ShiftRightUnsigned``);
* ``IS NOT NULL`` becomes ``IS`` and a ``NotNullMark``, and the kind of an explicit ``CROSS JOIN`` another
  word, which tell the parser's results from ``NOT (... IS NULL)`` and from a comma;
* ``CASE END`` becomes two names, and a word that is an operand becomes a name: no word is reserved in Spark;
* ``TABLE name`` as a query becomes ``SELECT * FROM name``;
* ``v:a.b`` becomes ``v['$.a.b']``, whose index is an ``ExtractionPath``;
* ``?`` becomes ``:`` and a ``PositionalParameter``, since the tree doesn't keep the order of the text;
* ``ISNULL`` and ``NOTNULL`` without an argument are names, ``!>`` is ``<=``, VALUES after WITH becomes a
  SELECT.

:mod:`sqlfront_planner.tokens.checks` refuses text that Spark's parser refuses or reads differently. This pass
refuses only text that it alone can recognize: types by names that Spark doesn't have, VARCHAR without a
length, ``AS "x"``, IDENTIFIER().
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_planner.syntax.recognizer import first_wrong_token
from sqlfront_planner.tokens import extractions
from sqlfront_planner.tokens.checks import begins_query
from sqlfront_planner.tokens.marks import (
    EXPLICIT_CROSS,
    FUNCTION_MARK,
    NotNullMark,
    PipeMark,
    PositionalParameter,
)
from sqlfront_planner.tokens.tokenizing import (
    error_at,
    invalid_hexadecimal,
    no_literals_of,
    replaced,
    unescape,
    unknown_type_at,
    unread_at,
    unsupported_at,
)

_T = TokenType

#: Words after which a parenthesis doesn't open an argument list.
_KEYWORDS: Final = frozenset(
    {
        _T.ALIAS, _T.ALL, _T.AND, _T.BETWEEN, _T.CASE, _T.CLUSTER_BY, _T.COLLATE, _T.CROSS, _T.CUBE,
        _T.DISTINCT, _T.DISTRIBUTE_BY, _T.DIV, _T.ELSE, _T.END, _T.ESCAPE, _T.EXCEPT, _T.FROM, _T.FULL,
        _T.GROUPING_SETS, _T.GROUP_BY, _T.HAVING, _T.ILIKE, _T.IN, _T.INNER, _T.INTERSECT, _T.INTERVAL,
        _T.INTO, _T.IS, _T.JOIN, _T.LATERAL, _T.LIKE, _T.LIMIT, _T.NATURAL, _T.NOT, _T.NULL, _T.OFFSET, _T.ON,
        _T.OR, _T.ORDER_BY, _T.OVER, _T.PARTITION_BY, _T.PIVOT, _T.QUALIFY, _T.RLIKE, _T.ROLLUP, _T.SELECT,
        _T.SEMI, _T.SORT_BY, _T.TABLE_SAMPLE, _T.THEN, _T.UNION, _T.UNPIVOT, _T.USING, _T.VALUES, _T.VIEW,
        _T.WHEN, _T.WHERE, _T.WITH,
    }
)  # fmt: skip
#: Words that look like identifiers but may directly precede a call's name.
_BEFORE_CALL: Final = frozenset({"BOTH", "LEADING", "TRAILING", "PLACING", "FOR"})
#: Tokens that may follow a name in an expression, or a word that begins a typed literal.
_AFTER_NAME: Final = frozenset(
    {
        _T.AMP, _T.CARET, _T.DASH, _T.DIV, _T.DOT, _T.DPIPE, _T.L_BRACKET, _T.L_PAREN, _T.MOD, _T.PIPE,
        _T.PLUS, _T.RAW_STRING, _T.SLASH, _T.STAR, _T.STRING,
    }
)  # fmt: skip
#: Words before the parentheses of a relation.
_BEFORE_RELATION: Final = frozenset({_T.FROM, _T.JOIN, _T.COMMA, _T.LATERAL})
#: Words that look like identifiers but may directly precede a string.
_BEFORE_STRING: Final = _BEFORE_CALL | {"BY", "OF", "RECORDREADER", "RECORDWRITER", "SERDE"}
#: The word that begins a literal of bytes, ``X '1F'``.
_HEX_WORDS: Final = frozenset({"X", "x"})
_HEX_DIGITS: Final = r"[0-9a-fA-F]*"
#: Functions with a special syntax if one of these words stands at the top level of their parentheses.
_SPECIAL: Final = {
    "SUBSTRING": frozenset({_T.FROM}),
    "SUBSTR": frozenset({_T.FROM}),
    "TRIM": frozenset({_T.FROM}),
    "POSITION": frozenset({_T.IN}),
    "OVERLAY": frozenset({_T.FROM}),
}
_CAST_WORDS: Final = frozenset({_T.ALIAS})
_CASTS: Final = frozenset({"CAST", "TRY_CAST"})
_PREDICATE_FUNCTIONS: Final = frozenset({_T.ANY, _T.SOME, _T.ALL})
_PATTERNS: Final = frozenset({_T.LIKE, _T.ILIKE, _T.RLIKE})
_QUERY_STARTS: Final = frozenset({_T.SELECT, _T.WITH, _T.VALUES, _T.FROM, _T.TABLE, _T.L_PAREN})
_ENDS_ITEM: Final = frozenset({_T.COMMA, _T.R_PAREN, _T.FROM, _T.SEMICOLON})
#: Tokens after which ``+`` is a sign.
_BEFORE_SIGN: Final = frozenset(
    {
        _T.AMP, _T.AND, _T.BETWEEN, _T.CARET, _T.CASE, _T.COMMA, _T.DASH, _T.DISTINCT, _T.DIV, _T.DPIPE,
        _T.ELSE, _T.EQ, _T.GT, _T.GTE, _T.HAVING, _T.IN, _T.LIKE, _T.LIMIT, _T.LT, _T.LTE, _T.L_BRACKET,
        _T.L_PAREN, _T.MOD, _T.NEQ, _T.NOT, _T.NULLSAFE_EQ, _T.OFFSET, _T.ON, _T.OR, _T.ORDER_BY,
        _T.PARTITION_BY, _T.PIPE, _T.PIPE_SLASH, _T.PLUS, _T.SELECT, _T.SLASH, _T.STAR, _T.THEN, _T.TILDE,
        _T.WHEN, _T.WHERE, _T.GROUP_BY,
    }
)  # fmt: skip
#: The operands of IS, and operators that may not follow an IS predicate.
_TESTED: Final = frozenset({_T.NULL, _T.TRUE, _T.FALSE, _T.UNKNOWN})
_AFTER_OPERAND: Final = frozenset(
    {
        _T.BETWEEN, _T.DASH, _T.EQ, _T.GT, _T.GTE, _T.ILIKE, _T.IN, _T.IS, _T.LIKE, _T.LT, _T.LTE, _T.NEQ,
        _T.NOT, _T.NULLSAFE_EQ, _T.PLUS, _T.RLIKE,
    }
)  # fmt: skip
_STRINGS: Final = frozenset({_T.STRING, _T.RAW_STRING})
#: An amount and its unit without a blank between them.
_GLUED_UNIT: Final = r"\d[a-zA-Z]"
#: Words that begin a typed literal of one string.
_TYPED_LITERALS: Final = frozenset(
    {_T.DATE, _T.TIME, _T.TIMESTAMP, _T.TIMESTAMPLTZ, _T.TIMESTAMPNTZ, _T.TIMESTAMPTZ}
)
_OPERAND_ENDS: Final = frozenset({_T.VAR, _T.IDENTIFIER, _T.R_PAREN, _T.R_BRACKET})
#: Tokens that end an operand of ``:``.
_EXTRACTED: Final = _OPERAND_ENDS | {_T.NUMBER, _T.NULL, _T.DATE, _T.TIMESTAMP}
_INTERVAL_UNITS: Final = frozenset(
    {"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
)
_TYPES: Final = frozenset(
    {
        "ARRAY", "BIGINT", "BINARY", "BOOLEAN", "BYTE", "CHAR", "CHARACTER", "DATE", "DEC", "DECIMAL",
        "DOUBLE", "FLOAT", "INT", "INTEGER", "INTERVAL", "LONG", "MAP", "NUMERIC", "REAL", "SHORT",
        "SMALLINT", "STRING", "STRUCT", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TINYINT",
        "VARCHAR", "VARIANT", "VOID",
    }
)  # fmt: skip
_NOT_NULL: Final = NotNullMark("NOT NULL")
_WORD: Final = re.compile(r"[^\W\d]\w*")


def rewrite(tokens: list[Token], sql: str, before: int = 0) -> list[Token]:
    """Return the tokens of the text ``sql``, rewritten so that sqlglot's parser keeps all details that
    Spark's answers depend on, such as the names of functions and the suffixes of numbers. ``before``: the
    number of the statement's parameters ``?`` before these tokens. Raises NotSupportedError or
    ProgrammingError for text that only this step can refuse, such as an unknown type or VARCHAR without a
    length."""
    return _Rewriter(tokens, sql, before).run()


class _Rewriter:
    """A rewriter that passes once over the tokens of a text; :meth:`run` returns the rewritten tokens. A
    handler (:data:`_HANDLERS`) writes its token and the tokens that belong to it, and returns the next
    position; it returns None, and writes nothing, if its token needs no rewriting here."""

    def __init__(self, tokens: list[Token], sql: str, before: int) -> None:
        self._source = tokens
        self._sql = sql
        self._output: list[Token] = []
        # For each open parenthesis: whether it belongs to a cast, so that AS begins a type.
        self._casts: list[bool] = []
        # The depth of the cast whose type is being read; None outside of types.
        self._type_depth: int | None = None
        # The number of parameters by position, and whether there are parameters by name.
        self._placeholders = before
        self._has_names = False

    def run(self) -> list[Token]:
        source, position = self._source, 0
        while position < len(source):
            token = source[position]
            if token.token_type == _T.COMMA:
                self._output.append(token)
                position += 1
                continue
            handler = _HANDLERS.get(token.token_type)
            following = handler(self, position, token) if handler is not None else None
            position = following or self._word(position, token)
        return self._output

    def _word(self, position: int, token: Token) -> int:
        """Write a token that no handler has written, marked as a function's name if it begins a call. Return
        the next position."""
        source = self._source
        if position + 1 < len(source) and source[position + 1].token_type == _T.L_PAREN:
            if token.text.upper() == "EXTRACT" and self._is_extract(position):
                return self._extract(position, token)
            if token.text.upper() == "IDENTIFIER" and not self._after_operand():
                raise unsupported_at(token, "IDENTIFIER()", self._sql)
            if self._is_call(position, token):
                token = replaced(token, _T.VAR, FUNCTION_MARK + token.text)
        self._output.append(token if self._type_depth is None else self._in_type(position, token))
        return position + 1

    # ---- handlers, see _HANDLERS

    def _open_parenthesis(self, position: int, token: Token) -> int:
        self._casts.append(bool(self._output) and self._output[-1].text.upper() in _CASTS)
        self._output.append(token)
        return position + 1

    def _close_parenthesis(self, position: int, token: Token) -> int:
        if self._type_depth == len(self._casts):
            self._type_depth = None
        if self._casts:
            self._casts.pop()
        self._output.append(token)
        return position + 1

    def _alias(self, position: int, token: Token) -> int:
        """Write AS, and return the next position. In a cast a type must follow: raises UNSUPPORTED_DATATYPE
        for an unknown type. In ``SELECT 1 AS`` the word is the column's name. Raises NotSupportedError for a
        string as the name, ``AS "x"``."""
        if self._casts and self._casts[-1]:
            self._type_depth = len(self._casts)
            self._known_type(position + 1)
        elif (following := self._at(position + 1)) is not None and following.token_type in _STRINGS:
            raise unread_at(following, self._sql)
        elif self._ends_item(position + 1):
            token = replaced(token, _T.VAR, token.text)
        self._output.append(token)
        return position + 1

    def _colon(self, position: int, token: Token) -> int | None:
        """Rewrite ``v:a.b``, which reads a part of a variant, as ``v['$.a.b']``, whose index is an
        :class:`ExtractionPath`; return the next position. In a type, as in ``STRUCT<a: INT>``, do nothing.
        Any other colon begins a named parameter and is written unchanged; raises
        INVALID_QUERY_MIXED_QUERY_PARAMETERS if the statement has parameters ``?``, too."""
        if self._type_depth is not None:
            return None
        if self._output and self._output[-1].token_type in _EXTRACTED:
            end = extractions.end_of_path(self._source, position + 1)
            last = self._source[end - 1]
            path = extractions.path_of(self._source[position + 1 : end], self._sql)
            self._output += [
                replaced(token, _T.L_BRACKET, "["),
                Token(_T.STRING, path, token.line, token.col, token.start, last.end, []),
                replaced(last, _T.R_BRACKET, "]"),
            ]
            return end
        if self._output and self._output[-1].token_type == _T.STRING:
            raise unsupported_at(token, "A parameter after a string", self._sql)
        self._has_names = True
        self._refuse_mixed_parameters(token)
        return None

    def _values(self, position: int, token: Token) -> int | None:
        """Rewrite VALUES after the common table expressions of a WITH, ``IN (VALUES 1, 2)``, and VALUES with
        an alias in parentheses, as ``SELECT * FROM VALUES``, as sqlglot requires; return the next position,
        None for any other VALUES. In ``IN (VALUES (1))`` Spark reads the call of a function."""
        before = [token.token_type for token in self._output[-2:]]
        after_with = self._has_with and before[-1:] == [_T.R_PAREN] and self._follows(position, _T.L_PAREN)
        in_list = before == [_T.IN, _T.L_PAREN] and not self._follows(position, _T.L_PAREN)
        if not after_with and not in_list and not self._has_alias(position):
            return None
        self._output += [
            replaced(token, _T.SELECT, "SELECT"),
            replaced(token, _T.STAR, "*"),
            replaced(token, _T.FROM, "FROM"),
            token,
        ]
        return position + 1

    def _select(self, position: int, token: Token) -> int | None:
        """Turn SELECT into a name if the text in the parentheses of IN can be a list of expressions, as in
        ``x IN (SELECT - 1)``, which Spark reads so. Return the next position, None for any other SELECT.
        Raises UNSUPPORTED_TYPED_LITERAL for ``IN (SELECT 'a')``."""
        following, end = self._at(position + 1), self._closing(position - 1) if position else 0
        if following is None or following.token_type not in _AFTER_NAME or end >= len(self._source):
            return None
        if [before.token_type for before in self._output[-2:]] != [_T.IN, _T.L_PAREN]:
            return None
        inside = self._sql[token.start : self._source[end].start]
        if first_wrong_token(tokens_of(f"SELECT f(1, {inside}\n)")) is not None:
            return None
        if following.token_type in _STRINGS:
            raise no_literals_of(token, self._sql)
        return self._word(position, replaced(token, _T.VAR, token.text))

    def _has_alias(self, position: int) -> bool:
        """Return whether an alias follows the rows of the VALUES at ``position``, in the parentheses of a
        relation, as in ``FROM (VALUES 1 AS t(x)) u``."""
        opening = [before.token_type for before in self._output[-2:]]
        if len(opening) < 2 or opening[0] not in _BEFORE_RELATION or opening[1] != _T.L_PAREN:
            return False
        end, depth = position + 1, 0
        while end < len(self._source) and depth >= 0:
            kind = self._source[end].token_type
            depth += (kind == _T.L_PAREN) - (kind == _T.R_PAREN)
            if depth == 0 and kind == _T.ALIAS:
                return True
            if kind == _T.R_PAREN and depth == 0 and self._follows(end, _T.VAR):
                return True
            end += 1
        return False

    def _not(self, position: int, token: Token) -> int | None:
        """Rewrite ``!>`` and ``!<`` as ``<=`` and ``>=``; return the next position, None for any other
        NOT."""
        following = self._at(position + 1)
        if token.text != "!" or following is None or following.start != token.end + 1:
            return None
        kind = _NOT_COMPARED.get(following.token_type)
        if kind is None:
            return None
        self._output.append(replaced(following, *kind))
        return position + 2

    def _name(self, position: int, token: Token) -> int | None:
        """Turn a keyword that begins no call into a name, as in ``SELECT 1 ISNULL``, where it names the
        column. Return the next position, None before a parenthesis."""
        if self._follows(position, _T.L_PAREN):
            return None
        self._output.append(replaced(token, _T.VAR, token.text))
        return position + 1

    def _known_type(self, position: int) -> None:
        """Raise UNSUPPORTED_DATATYPE if the word at ``position`` isn't the name of a Spark type; sqlglot also
        accepts the types of many other dialects."""
        token = self._at(position)
        if token is not None and _WORD.match(token.text) and token.text.upper() not in _TYPES:
            raise unknown_type_at(token, self._sql)

    def _case(self, position: int, token: Token) -> int | None:
        if not self._follows(position, _T.END):
            return None
        end = self._source[position + 1]
        self._output += [replaced(word, _T.IDENTIFIER, word.text) for word in (token, end)]
        return position + 2

    def _from(self, position: int, token: Token) -> int | None:
        """Turn FROM into a name if it is the operand of a product: in ``* * FROM t`` it is a column by which
        a star is multiplied. Return the next position, None for any other FROM."""
        if [before.token_type for before in self._output[-2:]] != [_T.STAR, _T.STAR]:
            return None
        self._output.append(replaced(token, _T.VAR, token.text))
        return position + 1

    def _plus(self, position: int, token: Token) -> int | None:
        if self._follows(position, _T.NUMBER):
            self._enclose_interval()
        if not self._output or self._output[-1].token_type not in _BEFORE_SIGN:
            return None
        self._output.append(replaced(token, _T.PIPE_SLASH, "+"))
        return position + 1

    def _is(self, position: int, token: Token) -> int | None:
        """Replace the end of ``IS NOT NULL`` and ``IS NOT UNKNOWN`` by a :class:`NotNullMark`; return the
        next position, None for any other predicate. Raises NotSupportedError for an operator after an IS
        predicate, which only sqlglot accepts."""
        negated = self._follows(position, _T.NOT)
        after = self._at(position + (3 if negated else 2))
        tested = self._at(position + (2 if negated else 1))
        is_whole = tested is not None and tested.token_type in _TESTED
        if is_whole and after is not None and after.token_type in _AFTER_OPERAND:
            raise unread_at(after, self._sql)
        following = [word.token_type for word in self._source[position + 1 : position + 3]]
        if following not in ([_T.NOT, _T.NULL], [_T.NOT, _T.UNKNOWN]):
            return None
        null = self._source[position + 2]
        self._output += [token, replaced(null, _T.STRING, _NOT_NULL)]
        return position + 3

    def _triple(self, position: int, token: Token) -> int | None:
        """Rewrite ``>>>`` as one operator; return the next position, None for any other sign, and for the
        closing brackets of a type."""
        if self._type_depth is not None or not self._follows(position, _T.GT, _T.GT):
            return None
        second, third = self._source[position + 1 : position + 3]
        if (second.start - token.start, third.start - token.start) != (1, 2):
            return None
        self._output.append(Token(_T.DQMARK, ">>>", token.line, token.col, token.start, third.end, []))
        return position + 3

    def _cross(self, position: int, token: Token) -> int | None:
        if not self._follows(position, _T.JOIN):
            return None
        self._output.append(replaced(token, _T.CROSS, EXPLICIT_CROSS))
        return position + 1

    def _table(self, position: int, token: Token) -> int | None:
        """Rewrite ``TABLE name`` as the query ``SELECT * FROM name``; return the next position, None if TABLE
        doesn't begin a query."""
        named = self._at(position + 1)
        if not begins_query(self._source, position) or named is None or named.token_type == _T.L_PAREN:
            return None
        self._output += [
            replaced(token, _T.SELECT, "SELECT"),
            replaced(token, _T.STAR, "*"),
            replaced(token, _T.FROM, "FROM"),
        ]
        return position + 1

    def _sized_type(self, position: int, token: Token) -> None:
        """Raise DATATYPE_MISSING_SIZE for the type VARCHAR or CHAR without a length."""
        if self._type_depth is None or self._follows(position, _T.L_PAREN):
            return
        name = token.text.upper()
        message = f'DataType "{name}" requires a length parameter, for example "{name}"(10).'
        raise error_at(token, "DATATYPE_MISSING_SIZE", message, self._sql)

    def _placeholder(self, position: int, token: Token) -> int:
        known = token.text if isinstance(token.text, PositionalParameter) else None  # see pipes
        name = PositionalParameter.at(self._placeholders) if known is None else known
        self._output += [replaced(token, _T.COLON, ":"), replaced(token, _T.VAR, name)]
        self._placeholders += 1
        self._refuse_mixed_parameters(token)
        return position + 1

    def _refuse_mixed_parameters(self, token: Token) -> None:
        """Raise INVALID_QUERY_MIXED_QUERY_PARAMETERS if the statement has both ``?`` and ``:name``; ``token``
        is the place of the error."""
        if self._has_names and self._placeholders:
            message = "Parameterized query must either use positional, or named parameters, but not both."
            raise error_at(token, "INVALID_QUERY_MIXED_QUERY_PARAMETERS", message, self._sql)

    # ---- literals

    def _number(self, position: int, token: Token) -> int:
        """Write a number as one token; return the next position. The token includes the suffix (``1L``),
        which the tokenizer has split off as ``number :: type`` at one offset. If ``::`` casts the number, it
        also includes a minus sign before the number."""
        if isinstance(token.text, PipeMark):
            self._output.append(token)
            return position + 1
        source = self._source
        suffixed = (
            position + 2 < len(source)
            and source[position + 1].token_type == _T.DCOLON
            and source[position + 1].start == token.start
        )
        text, end = self._sql[token.start : token.end + 1], position + (3 if suffixed else 1)
        if (following := self._at(end)) is not None and following.token_type == _T.DCOLON:
            text = self._sign_of_cast() + text
        self._output.append(token if text == token.text else replaced(token, _T.NUMBER, text))
        return end

    def _sign_of_cast(self) -> str:
        """Remove the minus sign of a number that ``::`` casts from the output, and return it as a text, empty
        if there is none. In Spark the sign belongs to the number; sqlglot would negate the cast."""
        before = [token.token_type for token in self._output[-2:]]
        if before[-1:] != [_T.DASH] or (len(before) == 2 and before[0] not in _BEFORE_SIGN):
            return ""
        self._output.pop()
        return "-"

    def _refuse_after_word(self, word: Token, position: int, token: Token) -> None:
        """Raise an error if the string literal ``token``, at ``position``, may not follow the token ``word``.

        The refused combinations are a name before a string (``r 'x'``; see :meth:`_hexadecimal` for ``X``),
        an INTERVAL string whose number touches its unit (``INTERVAL '1day'``), and a typed literal of two
        strings (``DATE '2024-01-01' 'x'``). They raise UNSUPPORTED_TYPED_LITERAL, INVALID_TYPED_LITERAL and
        NotSupportedError.
        """
        following = self._at(position + 1)
        if word.token_type == _T.VAR and word.text.upper() not in _BEFORE_STRING:
            raise no_literals_of(word, self._sql)
        if word.token_type == _T.INTERVAL and re.search(_GLUED_UNIT, token.text):
            message = f"The value of the typed literal \"INTERVAL\" is invalid: '{token.text}'."
            raise error_at(token, "INVALID_TYPED_LITERAL", message, self._sql)
        if word.token_type in _TYPED_LITERALS and following is not None and following.token_type in _STRINGS:
            raise unread_at(following, self._sql)

    def _string(self, position: int, token: Token) -> int:
        """Join adjacent string literals into one; return the next position. A quote directly after the
        closing quote of the literal before is an escaped quote, except after a raw string."""
        if position and self._source[position - 1].text in _HEX_WORDS:
            return self._hexadecimal(position, token)
        if position:
            self._refuse_after_word(self._source[position - 1], position, token)
        source, end = self._source, position + 1
        values = [unescape(self._sql[token.start : token.end + 1])]
        while end < len(source) and source[end].token_type in _STRINGS:
            literal = source[end]
            text = self._sql[literal.start : literal.end + 1]
            touched = literal.start == source[end - 1].end + 1 and text[0] == self._sql[source[end - 1].end]
            if touched and source[end - 1].token_type != _T.RAW_STRING:
                values.append(text[0])
            values.append(unescape(text))
            end += 1
        last = source[end - 1]
        self._output.append(
            Token(_T.STRING, "".join(values), token.line, token.col, token.start, last.end, [])
        )
        return end

    def _hexadecimal(self, position: int, token: Token) -> int:
        """Replace the word X at the end of the output, and the string ``token`` behind it, by the literal
        that ``X'1F'`` is without white space; return the next position. Raises INVALID_TYPED_LITERAL for
        digits that aren't hexadecimal."""
        word = self._output.pop()
        digits = unescape(self._sql[token.start : token.end + 1])
        if re.fullmatch(_HEX_DIGITS, digits) is None:
            raise invalid_hexadecimal(f"'{digits}'", (word.start, token.end + 1), self._sql)
        self._output.append(Token(_T.HEX_STRING, digits, word.line, word.col, word.start, token.end, []))
        return position + 1

    def _interval(self, position: int, token: Token) -> int:
        """Rewrite ``INTERVAL 1 DAY 2 HOURS`` as ``INTERVAL '1 DAY 2 HOURS'``, since sqlglot reads several
        units as a sum; return the next position. An interval of one unit stays as written. Raises
        NotSupportedError for a string added to an interval."""
        self._output.append(token)
        units, end = 0, position + 1
        while (following := self._after_unit(end)) is not None:
            units, end = units + 1, following
        if units < 2:
            if self._is_sum_with_string(end if units else position + 2):
                raise unsupported_at(token, "A string added to an interval", self._sql)
            return position + 1
        parts = [
            unescape(self._sql[part.start : part.end + 1]) if part.token_type in _STRINGS else part.text
            for part in self._source[position + 1 : end]
        ]
        first, last = self._source[position + 1], self._source[end - 1]
        self._output.append(
            Token(_T.STRING, " ".join(parts), first.line, first.col, first.start, last.end, [])
        )
        return end

    def _enclose_interval(self) -> None:
        """Put an interval of one unit at the end of the output into parentheses, before ``+`` and a number,
        which sqlglot would read as another unit."""
        for size in (2, 3, 4):
            first, *parts = self._output[-size:] or (None,)
            if first is None or first.token_type != _T.INTERVAL:
                continue
            signed = parts[1:] if parts[0].token_type in (_T.DASH, _T.PIPE_SLASH) else parts
            amount, *unit = signed or (first,)
            has_unit = len(unit) == 1 and unit[0].text.upper().rstrip("S") in _INTERVAL_UNITS
            if has_unit or (not unit and amount.token_type == _T.STRING):
                last = parts[-1]
                self._output[-size:] = [
                    replaced(first, _T.L_PAREN, "("),
                    first,
                    *parts,
                    replaced(last, _T.R_PAREN, ")"),
                ]
            return

    def _after_unit(self, position: int) -> int | None:
        """Return the position after the tokens ``[+ | -] number unit`` that begin at ``position``; None for
        any other tokens."""
        source = self._source
        position += position < len(source) and source[position].token_type in (_T.DASH, _T.PLUS)
        if position + 1 >= len(source) or source[position].token_type not in (_T.NUMBER, _T.STRING):
            return None
        return position + 2 if source[position + 1].text.upper().rstrip("S") in _INTERVAL_UNITS else None

    def _is_sum_with_string(self, position: int) -> bool:
        """Return whether the tokens at ``position`` add a string to an interval, as in ``INTERVAL 1 DAY + '2
        hours'``, which sqlglot reads as a sum of intervals."""
        operator, operand = self._at(position), self._at(position + 1)
        if operator is None or operand is None or operand.token_type not in _STRINGS:
            return False
        return operator.token_type in (_T.PLUS, _T.DASH)

    def _is_extract(self, position: int) -> bool:
        following = self._source[position + 1 : position + 4]
        return [token.token_type for token in following[::2]] == [_T.L_PAREN, _T.FROM]

    def _extract(self, position: int, token: Token) -> int:
        """Rewrite ``EXTRACT(year FROM d)`` as ``f$extract('year', d)``, since the parser would change the
        case of ``year``; return the next position."""
        opening, unit, separator = self._source[position + 1 : position + 4]
        self._casts.append(False)
        self._output += [
            replaced(token, _T.VAR, FUNCTION_MARK + token.text),
            opening,
            replaced(unit, _T.STRING, unit.text),
            replaced(separator, _T.COMMA, ","),
        ]
        return position + 4

    # ---- types

    def _enclose_typed_literal(self) -> None:
        """Put a typed literal at the end of the output into parentheses, before its cast by ``::``: sqlglot
        casts the literal's string first."""
        kinds = [token.token_type for token in self._output[-2:]]
        if len(kinds) == 2 and kinds[0] in _TYPED_LITERALS and kinds[1] == _T.STRING:
            word, text = self._output[-2:]
            self._output[-2:] = [replaced(word, _T.L_PAREN, "("), word, text, replaced(text, _T.R_PAREN, ")")]

    def _type_after(self, position: int, token: Token) -> int:
        """Write ``:: type`` unchanged, up to the end of the type's angle brackets, since names in a type
        aren't calls; return the next position."""
        source, depth, end = self._source, 0, position + 1
        self._enclose_typed_literal()
        self._output.append(token)
        self._known_type(end)
        while end < len(source):
            token = source[end]
            self._output.append(self._in_type(end, token))
            end += 1
            depth += (token.token_type == _T.LT) - (token.token_type == _T.GT)
            following = source[end].token_type if end < len(source) else None
            if depth == 0 and following != _T.LT:
                break
        return end

    def _in_type(self, position: int, token: Token) -> Token:
        """Return the token of a type; the type VOID has another name in sqlglot."""
        is_void = token.text.upper() == "VOID" and not self._follows(position, _T.COLON)
        return replaced(token, _T.NULL, "NULL") if is_void else token

    # ---- words before a parenthesis

    def _is_call(self, position: int, token: Token) -> bool:
        kind, text = token.token_type, token.text
        if kind == _T.IDENTIFIER:
            is_name = self._after_operand() or (self._has_with and self._is_cte_name(position))
            return self._type_depth is None and not is_name
        if not _WORD.fullmatch(text) or self._type_depth is not None:
            return False
        if kind in _PATTERNS or kind == _T.DIV:
            return not self._output or self._output[-1].token_type in _BEFORE_SIGN - {_T.NOT}
        if kind in _PREDICATE_FUNCTIONS:
            return not self._is_quantifier(position)
        if kind in _KEYWORDS or self._after_operand():
            return False
        upper = text.upper()
        if kind == _T.EXISTS:
            return not self._opens_query(position + 1)
        if kind == _T.FILTER:
            return not self._follows(position + 1, _T.WHERE)
        if upper in _CASTS:
            return not self._contains(position + 1, _CAST_WORDS)
        if upper in _SPECIAL:
            return not self._contains(position + 1, _SPECIAL[upper])
        return not (self._has_with and self._is_cte_name(position))

    def _after_operand(self) -> bool:
        """Return whether the token written last ends an operand, so that ``word (`` begins an alias with a
        column list, not a call."""
        if not self._output:
            return False
        previous = self._output[-1]
        if previous.token_type == _T.ALIAS:
            return self._type_depth is None
        return previous.token_type in _OPERAND_ENDS and previous.text.upper() not in _BEFORE_CALL

    # ---- looking around

    def _at(self, position: int) -> Token | None:
        return self._source[position] if position < len(self._source) else None

    def _ends_item(self, position: int) -> bool:
        token = self._at(position)
        return token is None or token.token_type in _ENDS_ITEM

    def _is_quantifier(self, position: int) -> bool:
        """Return whether ANY, SOME or ALL at ``position`` is a quantifier, before a query or after LIKE.
        Otherwise ``any`` and ``some`` are aggregate functions."""
        if self._output and self._output[-1].token_type in _PATTERNS:
            return True
        return self._source[position].token_type == _T.ALL or self._opens_query(position + 1)

    @cached_property
    def _has_with(self) -> bool:
        return any(token.token_type == _T.WITH for token in self._source)

    def _is_cte_name(self, position: int) -> bool:
        """Whether ``name (columns) AS (query)``, a common table expression, begins at ``position``."""
        close = self._closing(position + 1)
        return self._follows(close, _T.ALIAS, _T.L_PAREN) and self._opens_query(close + 2)

    def _opens_query(self, position: int) -> bool:
        """Return whether the parenthesis that opens at ``position`` encloses a query."""
        following = position + 1
        while following < len(self._source) and self._source[following].token_type == _T.L_PAREN:
            following += 1
        return following < len(self._source) and self._source[following].token_type in _QUERY_STARTS

    def _contains(self, position: int, kinds: frozenset[TokenType]) -> bool:
        """Return whether a token of one of the ``kinds`` is inside the parenthesis that opens at
        ``position``, and in no further parenthesis."""
        depth = 0
        for token in self._source[position : self._closing(position)]:
            depth += (token.token_type == _T.L_PAREN) - (token.token_type == _T.R_PAREN)
            if depth == 1 and token.token_type in kinds:
                return True
        return False

    def _closing(self, position: int) -> int:
        """Return the position at which the parenthesis that opens at ``position`` is closed; the number of
        tokens if it isn't closed."""
        depth = 0
        for index in range(position, len(self._source)):
            kind = self._source[index].token_type
            depth += (kind == _T.L_PAREN) - (kind == _T.R_PAREN)
            if depth == 0:
                return index
        return len(self._source)

    def _follows(self, position: int, *kinds: TokenType) -> bool:
        """Whether tokens of these types follow the token at ``position``."""
        following = self._source[position + 1 : position + 1 + len(kinds)]
        return len(following) == len(kinds) and all(
            token.token_type == kind for token, kind in zip(following, kinds, strict=True)
        )


_NOT_COMPARED: Final = {_T.GT: (_T.LTE, "<="), _T.LT: (_T.GTE, ">=")}

#: The handler of each type of token. A handler writes the token, and the tokens that belong to it, and
#: returns the next position, or None if the token has no special meaning in its place.
_HANDLERS: Final[dict[TokenType, Callable[[_Rewriter, int, Token], int | None]]] = {
    _T.ALIAS: _Rewriter._alias,
    _T.CASE: _Rewriter._case,
    _T.CHAR: _Rewriter._sized_type,
    _T.COLON: _Rewriter._colon,
    _T.CROSS: _Rewriter._cross,
    _T.CURRENT_USER: _Rewriter._name,
    _T.DCOLON: _Rewriter._type_after,
    _T.FROM: _Rewriter._from,
    _T.GT: _Rewriter._triple,
    _T.INTERVAL: _Rewriter._interval,
    _T.IS: _Rewriter._is,
    _T.ISNULL: _Rewriter._name,
    _T.L_PAREN: _Rewriter._open_parenthesis,
    _T.NOT: _Rewriter._not,
    _T.NOTNULL: _Rewriter._name,
    _T.NUMBER: _Rewriter._number,
    _T.PLACEHOLDER: _Rewriter._placeholder,
    _T.PLUS: _Rewriter._plus,
    _T.RAW_STRING: _Rewriter._string,
    _T.R_PAREN: _Rewriter._close_parenthesis,
    _T.SELECT: _Rewriter._select,
    _T.SESSION_USER: _Rewriter._name,
    _T.STRING: _Rewriter._string,
    _T.TABLE: _Rewriter._table,
    _T.VALUES: _Rewriter._values,
    _T.VARCHAR: _Rewriter._sized_type,
}
