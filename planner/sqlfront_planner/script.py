"""The split of a script into statements, by the rules of Spark's lexer.

A semicolon ends a statement outside of quotes (``'``, ``"``, backticks, raw strings, ``$tag$`` texts),
comments (bracketed ones nest; outside of them ``*/`` is a sign; a backslash at the end of a line continues a
line comment) and compound statements (``BEGIN ... END``). A text that isn't closed reaches to the end of the
script. The script may come in pieces: :class:`ScriptSplitter` holds no more of it than the statement that
isn't complete yet.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

import msgspec

from sqlfront_planner.statements.query_parser import lead


class ScriptStatement(msgspec.Struct, frozen=True):
    """A statement of a script without its semicolon. ``start`` is the offset of the first word in the
    script. ``ended``: whether a semicolon ends the statement."""

    text: str
    start: int
    ended: bool


def split_statements(text: str) -> tuple[str, ...]:
    """The statements of a script, without their semicolons; statements of comments alone are left out.

    >>> split_statements("select ';' ; -- a;b\\n select 2;; begin select 1; end")
    ("select ';'", '-- a;b\\n select 2', 'begin select 1; end')
    """
    return tuple(statement.text for statement in placed_statements(text))


def placed_statements(text: str) -> Iterator[ScriptStatement]:
    """The statements of a script as :func:`split_statements`, with their places.

    >>> [statement.start for statement in placed_statements("-- one\\nselect 1; select 2")]
    [7, 17]
    """
    splitter = ScriptSplitter()
    yield from splitter.feed(text)
    yield from splitter.end()


def is_complete(text: str) -> bool:
    """Whether the text ends between two statements: a semicolon ends the last statement, and no quote or
    comment is open.

    >>> is_complete("select 1"), is_complete("select 1; -- done"), is_complete("select ';")
    (False, True, False)
    """
    splitter = ScriptSplitter()
    for _ in splitter.feed(text):
        pass
    rest = list(splitter.end())
    return not rest and not splitter.is_open


class _Mode(Enum):
    """The text that the splitter is in."""

    CODE = "code"
    """Words and signs."""
    QUOTED = "quoted"
    """Text up to a closing quote or tag."""
    LINE_COMMENT = "line comment"
    """A comment up to the end of the line."""
    COMMENT = "comment"
    """A bracketed comment."""


#: Signs that matter outside of blocks, what stands before them, and all words and signs, which matter in
#: blocks and where a block may begin.
_SIGN: Final = re.compile(r"""--|\*/|/\*(?!\+)|['"`;]|\$\w*\$""")
_SKIPPED: Final = re.compile(r"""(?:[^-/*'"`;$]++|'[^'\\]*+'|"[^"\\]*+"|-(?!-)|/(?!\*)|\*(?!/))*+""")
_TOKEN: Final = re.compile(r"""\w+|--|\*/|/\*(?!\+)|['"`;:]|\$\w*\$|\S""")
#: The end of a piece that may be a part of a sign or word; longer words are no keywords.
_UNSURE: Final = re.compile(r"[\w$/*-]*\Z")
_LONGEST: Final = 64
#: Signs that no further character changes.
_CERTAIN: Final = frozenset("'\"`;")
#: The inside of a text, by its closing quote; raw strings and backticks know no escapes.
_INSIDE: Final = {
    "'": re.compile(r"(?s)(?:[^'\\]+|\\.)*+"),
    '"': re.compile(r'(?s)(?:[^"\\]+|\\.)*+'),
}
_IN_LINE_COMMENT: Final = re.compile(r"(?:[^\\\r\n]+|\\[^\r])*+")
_BRACKET: Final = re.compile(r"/\*\+?|\*/")
_RAW: Final = re.compile(r"(?:^|\W)[rR]\Z")
#: Tokens of a statement among which a block begins: ``BEGIN``, or ``label: BEGIN``.
_FIRST: Final = 3


class ScriptSplitter:
    """A splitter of one script that comes in pieces."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        """The begin of the statement that isn't complete, as far as it has been looked at."""
        self._rest = ""
        self._start = 0
        self._mode = _Mode.CODE
        self._closing = ""
        self._is_raw = False
        self._depth = 0
        self._blocks = _Blocks()

    @property
    def is_open(self) -> bool:
        """Whether a quote or a bracketed comment has begun that hasn't ended."""
        return self._mode in (_Mode.QUOTED, _Mode.COMMENT)

    @property
    def _is_code(self) -> bool:
        return self._mode is _Mode.CODE

    def feed(self, text: str) -> Iterator[ScriptStatement]:
        """Take the next piece of the script, and yield the statements that it completes."""
        yield from self._split(self._rest + text, final=False)

    def end(self) -> Iterator[ScriptStatement]:
        """Yield the statement behind the last semicolon, if there is one."""
        yield from self._split(self._rest, final=True)
        yield from self._statement("", ended=False)

    def _split(self, text: str, *, final: bool) -> Iterator[ScriptStatement]:
        place = begin = 0
        sure = len(text) if final else len(text) - _unsure(text)
        while True:
            if self._is_code:
                place, ends = self._in_code(text, place, begin, sure)
                if ends:
                    yield from self._statement(text[begin : place - 1], ended=True)
                    begin = place
                elif self._is_code:
                    break
            else:
                place = self._in_text(text, place, final=final)
                if not self._is_code:
                    break
        self._parts.append(text[begin:place])
        self._rest = text[place:]

    def _statement(self, last: str, *, ended: bool) -> Iterator[ScriptStatement]:
        text = "".join([*self._parts, last])
        first = lead(text)
        if first is not None:
            yield ScriptStatement(text.strip(), self._start + first[0], ended)
        self._start += len(text) + 1
        self._parts.clear()
        self._blocks = _Blocks()

    def _in_code(self, text: str, place: int, begin: int, sure: int) -> tuple[int, bool]:
        """Look at code from ``place`` up to the next quote or comment, or a semicolon that ends the
        statement; return the place behind, and whether the statement ends. Signs and words from ``sure`` on
        may go on in the next piece."""
        blocks = self._blocks
        while True:
            if blocks.matter:
                match = _TOKEN.search(text, place)
            else:
                skipped = _SKIPPED.match(text, place, max(place, sure))
                assert skipped is not None
                match = _SIGN.search(text, skipped.end())
            if match is None or (match.start() >= sure and match[0] not in _CERTAIN):
                return max(place, sure), False
            token, place = match[0], match.end()
            if token == ";" and not blocks.depth:
                return place, True
            opens = self._opens(token, text[max(begin, match.start() - 2) : match.start()])
            if not opens or self._mode is _Mode.QUOTED:
                blocks.see(token)
            if opens:
                return place, False

    def _opens(self, token: str, before: str) -> bool:
        """Enter the text that the token opens; return whether it opens one."""
        if token == "--":
            self._mode = _Mode.LINE_COMMENT
        elif token == "/*":
            self._mode, self._depth = _Mode.COMMENT, 1
        elif token in ("'", '"', "`") or (token[0] == "$" and len(token) > 1):
            self._mode, self._closing = _Mode.QUOTED, token
            self._is_raw = token not in _INSIDE or _RAW.search(before) is not None
        else:
            return False
        return True

    def _in_text(self, text: str, place: int, *, final: bool) -> int:
        """Look at the inside of a quote or comment from ``place`` up to its end; return the place behind."""
        match self._mode:
            case _Mode.LINE_COMMENT:
                return self._in_line_comment(text, place, final=final)
            case _Mode.COMMENT:
                return self._in_comment(text, place, final=final)
            case _:
                return self._in_quotes(text, place, final=final)

    def _in_line_comment(self, text: str, place: int, *, final: bool) -> int:
        match = _IN_LINE_COMMENT.match(text, place)
        assert match is not None
        # A backslash at the end of the piece may continue the comment.
        if final or (match.end() < len(text) and not (text.endswith("\\") and match.end() == len(text) - 1)):
            self._mode = _Mode.CODE
        return match.end()

    def _in_comment(self, text: str, place: int, *, final: bool) -> int:
        while (match := _BRACKET.search(text, place)) is not None:
            if match[0] == "/*" and match.end() == len(text) and not final:
                # A hint may begin here, which doesn't nest.
                return match.start()
            self._depth += {"/*": 1, "*/": -1}.get(match[0], 0)
            place = match.end()
            if not self._depth:
                self._mode = _Mode.CODE
                return place
        return len(text) if final or text[-1:] not in ("/", "*") else max(place, len(text) - 1)

    def _in_quotes(self, text: str, place: int, *, final: bool) -> int:
        if not self._is_raw:
            match = _INSIDE[self._closing].match(text, place)
            assert match is not None
            place = match.end()
            closed = text.startswith(self._closing, place)
        else:
            found = text.find(self._closing, place)
            closed = found >= 0
            place = found if closed else max(place, len(text) - len(self._closing) + 1)
        if closed:
            self._mode = _Mode.CODE
            return place + len(self._closing)
        return len(text) if final else place


def _unsure(text: str) -> int:
    """The number of characters at the end of a piece that the next piece may change."""
    match = _UNSURE.search(text[-_LONGEST:])
    assert match is not None
    return len(match[0])


#: Words that open a block where a statement of a script may begin, and that END names.
_BLOCKS: Final = frozenset({"BEGIN", "IF", "LOOP", "WHILE", "REPEAT", "FOR", "CASE"})
#: Words and signs behind which a statement of a script may begin.
_BEFORE_STATEMENT: Final = frozenset({";", ":", "BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT"})


class _Blocks:
    """The blocks of a compound statement that are open at a token."""

    def __init__(self) -> None:
        self._open: list[bool] = []
        """For each open block, whether it is a CASE expression, in which no statement begins."""
        self._before = ""
        self._seen = 0

    @property
    def depth(self) -> int:
        """The number of open blocks."""
        return len(self._open)

    @property
    def matter(self) -> bool:
        """Whether words matter: a block is open, or may begin."""
        return bool(self._open) or self._seen < _FIRST

    def see(self, token: str) -> None:
        """Take the next word or sign of the statement."""
        word = token.upper()
        if self._open:
            self._change(word)
        elif word == "BEGIN" and (self._seen == 0 or (self._seen == _FIRST - 1 and self._before == ":")):
            self._open.append(False)
        self._before = word
        self._seen += 1

    def _change(self, word: str) -> None:
        if word == "END":
            self._open.pop()
        elif self._before == "END":
            return
        elif word == "CASE":
            self._open.append(self._open[-1] or self._before not in _BEFORE_STATEMENT)
        elif not self._open[-1] and (
            word == "BEGIN" or (word in _BLOCKS and self._before in _BEFORE_STATEMENT)
        ):
            self._open.append(False)
