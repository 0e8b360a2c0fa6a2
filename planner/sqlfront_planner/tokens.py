"""Tokens of Spark SQL, prepared so that sqlglot's parser keeps what Spark's answers depend on.

The parser folds many functions into one node (nvl, ifnull and coalesce; substr and substring; element_at and
``[]``; mod and ``%``), drops the suffix of number literals and reads string escapes its own way. So the token
stream is rewritten before it is parsed:

* the name of every function call becomes ``f$name``, which the parser knows nothing about: each call arrives
as
  ``exp.Anonymous`` with its name as written;
* a number keeps its text with its suffix (``1L``, ``1.5BD``), a string has its value by Spark's escape rules,
strings in a row are one;
* a sign ``+``, which the parser drops, becomes the square root that the parser has for another dialect
(``exp.Sqrt``);
* ``>>>`` becomes ``??``, which is another dialect's too (``exp.Coalesce``);
* ``IS NOT NULL`` and explicit ``CROSS JOIN`` get marks that tell them from ``NOT (... IS NULL)`` and from a
comma;
* ``CASE END`` becomes two names, and so does a word that is an operand: no word is reserved in Spark;
* ``TABLE name`` as a query becomes ``SELECT * FROM name``;
* the n-th ``?`` becomes ``:?n``, since the tree doesn't keep the order of the text.

Positions are offsets in the statement's text throughout.
"""

import re
from typing import Final

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_engine.errors import ProgrammingError, spark_error

SPARK: Final = Dialect.get_or_raise("spark")
FUNCTION_MARK: Final = "f$"
NOT_NULL_MARK: Final = "$NOT NULL"
EXPLICIT_CROSS: Final = "CROSS JOIN"

_T = TokenType

#: Words after which a parenthesis isn't an argument list.
_KEYWORDS: Final = frozenset(
    {
        _T.ALIAS, _T.ALL, _T.AND, _T.BETWEEN, _T.CASE, _T.CLUSTER_BY, _T.COLLATE, _T.CROSS, _T.CUBE,
        _T.DISTINCT, _T.DISTRIBUTE_BY, _T.DIV, _T.ELSE, _T.END, _T.ESCAPE, _T.EXCEPT, _T.FROM, _T.FULL,
        _T.GROUPING_SETS, _T.GROUP_BY, _T.HAVING, _T.ILIKE, _T.IN, _T.INNER, _T.INTERSECT, _T.INTERVAL,
        _T.INTO, _T.IS, _T.JOIN, _T.LATERAL, _T.LIKE, _T.LIMIT, _T.NATURAL, _T.NOT, _T.NULL, _T.OFFSET, _T.ON,
        _T.OR, _T.ORDER_BY, _T.OVER, _T.PARTITION_BY, _T.PIVOT, _T.QUALIFY, _T.RLIKE, _T.ROLLUP, _T.SELECT,
        _T.SEMI, _T.SORT_BY, _T.TABLE_SAMPLE, _T.THEN, _T.UNION, _T.UNPIVOT, _T.USING, _T.VALUES, _T.VIEW,
        _T.WHEN, _T.WHERE, _T.WINDOW, _T.WITH,
    }
)  # fmt: skip

#: Words that a call's name may directly follow although they look like identifiers.
_BEFORE_CALL: Final = frozenset({"BOTH", "LEADING", "TRAILING", "PLACING", "FOR"})

#: Functions with a grammar of their own when one of these words stands at the top level of their parentheses.
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
_STRINGS: Final = frozenset({_T.STRING, _T.RAW_STRING})
_OPERAND_ENDS: Final = frozenset({_T.VAR, _T.IDENTIFIER, _T.R_PAREN, _T.R_BRACKET})
_INTERVAL_UNITS: Final = frozenset(
    {"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
)
_BAD_HEX: Final = re.compile(r"\b[xX]('[^']*[^'0-9a-fA-F][^']*')")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def tokenize(sql: str) -> list[Token]:
    """The tokens of a text as sqlglot's Spark tokenizer sees them.

    Raises ProgrammingError (PARSE_SYNTAX_ERROR) for a quote or comment that isn't closed.
    """
    try:
        return SPARK.tokenize(sql)
    except TokenError as error:
        malformed = _BAD_HEX.search(sql)
        if malformed is not None:
            failure = spark_error(
                "INVALID_TYPED_LITERAL",
                f'The value of the typed literal "X" is invalid: {malformed[1]}.',
                position=malformed.span(),
            )
            failure.locate(sql)
            raise failure from None
        place = _unclosed(sql)
        failure = spark_error(
            "PARSE_SYNTAX_ERROR",
            f"Syntax error: {'a quote or comment is not closed' if place is not None else error}.",
            position=(place, place + 1) if place is not None else None,
        )
        failure.locate(sql)
        raise failure from None


def syntax_error_at(token: Token | None, sql: str) -> ProgrammingError:
    """Spark's PARSE_SYNTAX_ERROR at a token, None for the end of the text."""
    if token is None:
        end = len(sql.rstrip())
        message, position = "Syntax error at or near end of input.", (end, end + 1)
    else:
        text = sql[token.start : token.end + 1]
        message, position = f"Syntax error at or near '{text}'.", (token.start, token.end + 1)
    error = spark_error("PARSE_SYNTAX_ERROR", message, position=position)
    error.locate(sql)
    assert isinstance(error, ProgrammingError)
    return error


def rewrite(tokens: list[Token], sql: str) -> list[Token]:
    """The token list for sqlglot's parser, see the module's docstring."""
    return _Rewriter(tokens, sql).run()


def unescape(quoted: str) -> str:
    r"""The value of a string literal as written, quotes (and the ``r`` of a raw one) included.

    >>> unescape("'it''s'"), unescape(r"'a\n\%'"), unescape(r"r'\n'")
    ("it's", 'a\n\\%', '\\n')
    """
    if quoted[0] in "rR":
        return quoted[2:-1]
    quote, body = quoted[0], quoted[1:-1]
    body = body.replace(quote * 2, quote)
    return _ESCAPE.sub(_unescaped, body) if "\\" in body else body


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return chr(int(code, 16))
    if match[3]:
        return chr(int(match[3], 8))
    return _ESCAPED.get(match[4], match[4])


def _unclosed(sql: str) -> int | None:
    """Where the quote or comment begins that the text never closes."""
    scanner = re.compile(
        r"""--[^\n]*|/\*.*?\*/|[rR]?'(?:\\.|[^'\\])*'|[rR]?"(?:\\.|[^"\\])*"|`(?:``|[^`])*`|(['"`]|/\*)""",
        re.DOTALL,
    )
    return next((match.start() for match in scanner.finditer(sql) if match[1]), None)


class _Rewriter:
    """One pass over the tokens; ``_depth`` remembers which parentheses belong to a cast, whose ``AS`` begins
    a type."""

    def __init__(self, tokens: list[Token], sql: str) -> None:
        self._source = tokens
        self._sql = sql
        self._output: list[Token] = []
        self._casts: list[bool] = []  # per open parenthesis: does it belong to a cast?
        self._type_depth: int | None = None  # inside the type of the cast at this depth
        self._placeholders = 0
        self._with = any(token.token_type == _T.WITH for token in tokens)

    def run(self) -> list[Token]:
        source, position = self._source, 0
        while position < len(source):
            position = self._step(position, source[position])
        return self._output

    def _step(self, position: int, token: Token) -> int:
        """Handle the token (and those that belong to it); returns the next position."""
        match token.token_type:
            case _T.NUMBER:
                return self._number(position, token)
            case _T.STRING | _T.RAW_STRING:
                return self._string(position, token)
            case _T.L_PAREN:
                self._casts.append(self._opens_cast())
                self._output.append(token)
            case _T.R_PAREN:
                if self._type_depth == len(self._casts):
                    self._type_depth = None
                if self._casts:
                    self._casts.pop()
                self._output.append(token)
            case _T.ALIAS:
                if self._casts and self._casts[-1]:
                    self._type_depth = len(self._casts)
                elif self._names_itself(position):
                    token = replaced(token, _T.VAR, token.text)
                self._output.append(token)
            case _T.INTERVAL:
                return self._interval(position, token)
            case _T.COMMA:
                self._check_comma(position)
                self._output.append(token)
            case _T.SELECT if self._begins_query() and self._ends_query(position + 1):
                raise syntax_error_at(self._at(position + 1), self._sql)
            case _T.GROUP_BY if self._ends_query(position + 1):
                raise syntax_error_at(self._at(position + 1), self._sql)
            case _T.CASE if self._follows(position, _T.END):
                end = self._source[position + 1]
                self._output += [replaced(word, _T.IDENTIFIER, word.text) for word in (token, end)]
                return position + 2
            case _T.FROM if self._after_product():
                self._output.append(replaced(token, _T.VAR, token.text))
            case _T.PARAMETER:  # ``@x`` and ``$1`` are other dialects'
                raise syntax_error_at(token, self._sql)
            case _T.BETWEEN if not self._has_and(position):
                raise syntax_error_at(None, self._sql)
            case _T.PLUS if self._output and self._output[-1].token_type in _BEFORE_SIGN:
                self._output.append(replaced(token, _T.PIPE_SLASH, "+"))
            case _T.IS if self._follows(position, _T.NOT, _T.NULL) or self._follows(
                position, _T.NOT, _T.UNKNOWN
            ):
                null = self._source[position + 2]
                self._output += [token, replaced(null, _T.STRING, NOT_NULL_MARK)]
                return position + 3
            case _T.GT if self._is_triple(position):
                last = self._source[position + 2]
                self._output.append(Token(_T.DQMARK, ">>>", token.line, token.col, token.start, last.end, []))
                return position + 3
            case _T.CROSS if self._follows(position, _T.JOIN):
                self._output.append(replaced(token, _T.CROSS, EXPLICIT_CROSS))
            case _T.TABLE if self._begins_query() and self._names_table(position):
                self._output += [
                    replaced(token, _T.SELECT, "SELECT"),
                    replaced(token, _T.STAR, "*"),
                    replaced(token, _T.FROM, "FROM"),
                ]
            case _T.VARCHAR | _T.CHAR if self._type_depth is not None and not self._follows(
                position, _T.L_PAREN
            ):
                raise self._missing_size(token)
            case _T.PLACEHOLDER:
                self._output += [
                    replaced(token, _T.COLON, ":"),
                    replaced(token, _T.VAR, f"?{self._placeholders}"),
                ]
                self._placeholders += 1
            case _T.DCOLON:
                return self._type_after(position)
            case _ if token.text.upper() == "EXTRACT" and self._is_extract(position):
                return self._extract(position, token)
            case _ if self._follows(position, _T.L_PAREN) and self._is_call(position, token):
                self._output.append(replaced(token, _T.VAR, FUNCTION_MARK + token.text))
            case _:
                self._output.append(token)
        return position + 1

    # ---- literals

    def _number(self, position: int, token: Token) -> int:
        """A number and its suffix, which the tokenizer split into ``number :: type`` at one place."""
        source = self._source
        suffixed = (
            position + 2 < len(source)
            and source[position + 1].token_type == _T.DCOLON
            and source[position + 1].start == token.start
        )
        self._output.append(replaced(token, _T.NUMBER, self._sql[token.start : token.end + 1]))
        return position + (3 if suffixed else 1)

    def _string(self, position: int, token: Token) -> int:
        """All string literals in a row as one; a quote that touches its neighbour is an escaped quote."""
        source, end = self._source, position + 1
        values = [unescape(self._sql[token.start : token.end + 1])]
        while end < len(source) and source[end].token_type in _STRINGS:
            literal = source[end]
            text = self._sql[literal.start : literal.end + 1]
            if literal.start == source[end - 1].end + 1 and text[0] == self._sql[source[end - 1].end]:
                values.append(text[0])
            values.append(unescape(text))
            end += 1
        last = source[end - 1]
        self._output.append(
            Token(_T.STRING, "".join(values), token.line, token.col, token.start, last.end, [])
        )
        return end

    def _interval(self, position: int, token: Token) -> int:
        """``INTERVAL 1 DAY 2 HOURS`` as ``INTERVAL '1 DAY 2 HOURS'``: sqlglot takes several units for a
        sum."""
        self._output.append(token)
        units, end = 0, position + 1
        while (following := self._after_unit(end)) is not None:
            units, end = units + 1, following
        if units < 2:
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

    def _after_unit(self, position: int) -> int | None:
        """The position after ``[+ | -] number unit``, None if there is none."""
        source = self._source
        position += position < len(source) and source[position].token_type in (_T.DASH, _T.PLUS)
        if position + 1 >= len(source) or source[position].token_type not in (_T.NUMBER, _T.STRING):
            return None
        return position + 2 if source[position + 1].text.upper().rstrip("S") in _INTERVAL_UNITS else None

    def _is_extract(self, position: int) -> bool:
        following = self._source[position + 1 : position + 4]
        return [token.token_type for token in following[::2]] == [_T.L_PAREN, _T.FROM]

    def _extract(self, position: int, token: Token) -> int:
        """``EXTRACT(year FROM d)`` as ``f$extract('year', d)``, since the parser would change the field's
        case."""
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

    def _type_after(self, position: int) -> int:
        """Copy ``:: type`` up to the end of the type's angle brackets, names in it aren't calls."""
        source, depth, end = self._source, 0, position + 1
        self._output.append(source[position])
        while end < len(source):
            token = source[end]
            self._output.append(token)
            end += 1
            depth += (token.token_type == _T.LT) - (token.token_type == _T.GT)
            following = source[end].token_type if end < len(source) else None
            if depth == 0 and following != _T.LT:
                break
        return end

    # ---- words before a parenthesis

    def _is_call(self, position: int, token: Token) -> bool:
        kind, text = token.token_type, token.text
        if kind == _T.IDENTIFIER:
            return self._type_depth is None and not self._after_operand()
        if not _WORD.fullmatch(text) or self._type_depth is not None:
            return False
        if kind in _PATTERNS:
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
        return not (self._with and self._is_cte_name(position))

    def _after_operand(self) -> bool:
        """Whether the token before ends an operand, so that ``word (`` is an alias with a column list, not a
        call."""
        if not self._output:
            return False
        previous = self._output[-1]
        if previous.token_type == _T.ALIAS:
            return self._type_depth is None
        return previous.token_type in _OPERAND_ENDS and previous.text.upper() not in _BEFORE_CALL

    def _missing_size(self, token: Token) -> ProgrammingError:
        name = token.text.upper()
        error = spark_error(
            "DATATYPE_MISSING_SIZE",
            f'DataType "{name}" requires a length parameter, for example "{name}"(10).',
            position=(token.start, token.end + 1),
        )
        error.locate(self._sql)
        assert isinstance(error, ProgrammingError)
        return error

    def _check_comma(self, position: int) -> None:
        """Refuse a comma with nothing on one side, which sqlglot forgives."""
        following = self._source[position + 1] if position + 1 < len(self._source) else None
        if not self._output or self._output[-1].token_type in (_T.SELECT, _T.L_PAREN, _T.COMMA):
            raise syntax_error_at(self._source[position], self._sql)
        if following is None or following.token_type in (_T.COMMA, _T.R_PAREN, _T.FROM):
            raise syntax_error_at(following, self._sql)

    def _has_and(self, position: int) -> bool:
        """Whether the AND of a BETWEEN follows before its parentheses close."""
        depth = 0
        for token in self._source[position + 1 :]:
            depth += (token.token_type == _T.L_PAREN) - (token.token_type == _T.R_PAREN)
            if depth < 0:
                return False
            if depth == 0 and token.token_type == _T.AND:
                return True
        return False

    def _is_triple(self, position: int) -> bool:
        """Whether ``>>>`` begins here; in a type three closing brackets may stand together too."""
        if self._type_depth is not None or not self._follows(position, _T.GT, _T.GT):
            return False
        start = self._source[position].start
        return [token.start - start for token in self._source[position + 1 : position + 3]] == [1, 2]

    def _at(self, position: int) -> Token | None:
        return self._source[position] if position < len(self._source) else None

    def _ends_query(self, position: int) -> bool:
        token = self._at(position)
        return token is None or token.token_type == _T.R_PAREN

    def _after_product(self) -> bool:
        """Whether the operand of a product is due: ``* * FROM t`` multiplies a star with the column FROM."""
        kinds = [token.token_type for token in self._output[-2:]]
        return kinds == [_T.STAR, _T.STAR]

    def _names_itself(self, position: int) -> bool:
        """``SELECT 1 AS`` gives the column the name ``AS``: the word isn't reserved."""
        following = position + 1
        return following == len(self._source) or self._source[following].token_type in _ENDS_ITEM

    def _is_quantifier(self, position: int) -> bool:
        """ANY, SOME, ALL before a query or after LIKE; otherwise ``any`` and ``some`` are aggregates."""
        if self._output and self._output[-1].token_type in _PATTERNS:
            return True
        return self._source[position].token_type == _T.ALL or self._opens_query(position + 1)

    def _is_cte_name(self, position: int) -> bool:
        """``name (columns) AS (query)``."""
        close = self._closing(position + 1)
        return self._follows(close, _T.ALIAS, _T.L_PAREN) and self._opens_query(close + 2)

    def _opens_cast(self) -> bool:
        return bool(self._output) and self._output[-1].text.upper() in _CASTS

    def _opens_query(self, position: int) -> bool:
        """Whether the parenthesis at ``position`` holds a query."""
        following = position + 1
        while following < len(self._source) and self._source[following].token_type == _T.L_PAREN:
            following += 1
        return following < len(self._source) and self._source[following].token_type in _QUERY_STARTS

    def _begins_query(self) -> bool:
        if not self._output:
            return True
        kind = self._output[-1].token_type
        return kind in (_T.L_PAREN, _T.UNION, _T.INTERSECT, _T.EXCEPT, _T.ALL, _T.DISTINCT)

    def _names_table(self, position: int) -> bool:
        following = position + 1
        return following < len(self._source) and self._source[following].token_type != _T.L_PAREN

    def _contains(self, position: int, kinds: frozenset[TokenType]) -> bool:
        """Whether one of the words stands directly inside the parenthesis at ``position``."""
        depth = 0
        for token in self._source[position : self._closing(position)]:
            depth += (token.token_type == _T.L_PAREN) - (token.token_type == _T.R_PAREN)
            if depth == 1 and token.token_type in kinds:
                return True
        return False

    def _closing(self, position: int) -> int:
        """The position of the parenthesis that closes the one at ``position`` (the end if there is none)."""
        depth = 0
        for index in range(position, len(self._source)):
            kind = self._source[index].token_type
            depth += (kind == _T.L_PAREN) - (kind == _T.R_PAREN)
            if depth == 0:
                return index
        return len(self._source)

    def _follows(self, position: int, *kinds: TokenType) -> bool:
        """Whether tokens of these kinds come after the one at ``position``."""
        following = self._source[position + 1 : position + 1 + len(kinds)]
        return len(following) == len(kinds) and all(
            token.token_type == kind for token, kind in zip(following, kinds, strict=True)
        )


def replaced(token: Token, kind: TokenType, text: str) -> Token:
    """Another token in the same place."""
    return Token(kind, text, token.line, token.col, token.start, token.end, [])
