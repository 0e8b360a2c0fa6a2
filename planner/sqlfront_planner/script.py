"""The split of a script into statements, by the rules of Spark's lexer.

A semicolon ends a statement outside of quotes (``'``, ``"``, backticks, raw strings, ``$tag$`` texts),
comments (bracketed ones nest; outside of them ``*/`` is a sign; a backslash at the end of a line continues a
line comment) and compound statements (``BEGIN ... END``). A quote or comment that isn't closed reaches to the
end of the script. The script may come in pieces: :class:`ScriptSplitter` holds no more of the script than the
statement that isn't complete yet.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

import msgspec

from sqlfront_planner.statements.query_parser import lead


class ScriptStatement(msgspec.Struct, frozen=True):
    """A statement of a script, with comments and without its semicolon. ``start`` is the offset in the script
    of the first word that isn't in a comment. ``ended``: whether a semicolon ends the statement."""

    text: str
    start: int
    ended: bool


def split_statements(text: str) -> tuple[str, ...]:
    r"""Return the texts of the statements of a script, without their semicolons; statements of comments alone
    are left out.

    >>> split_statements("select ';' ; -- a;b\n select 2;; begin select 1; end")
    ("select ';'", '-- a;b\n select 2', 'begin select 1; end')
    """
    return tuple(statement.text for statement in placed_statements(text))


def placed_statements(text: str) -> Iterator[ScriptStatement]:
    r"""Yield the statements of a script, each with its offset in the script; statements of comments alone are
    left out.

    >>> [statement.start for statement in placed_statements("-- one\nselect 1; select 2")]
    [7, 17]
    """
    splitter = ScriptSplitter()
    yield from splitter.feed(text)
    yield from splitter.end()


def is_complete(text: str) -> bool:
    """Return whether the text ends between two statements: a semicolon ends the last statement, and no quote
    or comment is open.

    >>> is_complete("select 1"), is_complete("select 1; -- done"), is_complete("select ';")
    (False, True, False)
    """
    splitter = ScriptSplitter()
    for _ in splitter.feed(text):
        pass
    rest = list(splitter.end())
    return not rest and not splitter.is_open


class _Mode(Enum):
    """The kind of text at the splitter's position."""

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
    """A splitter of a script into statements, for a script that arrives in parts: call :meth:`feed` for each
    part of the text, then :meth:`end`."""

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
        """Whether the text so far ends inside of a quote or a bracketed comment."""
        return self._mode in (_Mode.QUOTED, _Mode.COMMENT)

    @property
    def _is_code(self) -> bool:
        return self._mode is _Mode.CODE

    def feed(self, text: str) -> Iterator[ScriptStatement]:
        """Add the next part of the script's text, and yield the statements that it completes."""
        yield from self._split(self._rest + text, final=False)

    def end(self) -> Iterator[ScriptStatement]:
        """End the script, and yield the statement after the last semicolon, if there is one."""
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
        """Scan code from offset ``place`` up to and including the sign that begins a quote or comment, or the
        semicolon that ends the statement. Return the offset after it, and whether the statement ends.
        ``begin`` is the offset of the statement in ``text``; a word or sign at ``sure`` or later may continue
        in the next piece of the script."""
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
        """If the token begins a quote or comment, change the mode accordingly and return True; else return
        False. ``before``: the one or two characters before the token, which make a string raw."""
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
        """Scan the inside of a quote or comment from offset ``place``. Return the offset after its end or, if
        it doesn't end in ``text``, the offset from which to scan again with the next piece. ``final``: no
        piece of the script follows."""
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
    """Return how many characters at the end of a piece may be a part of a word or sign that the next piece
    continues."""
    match = _UNSURE.search(text[-_LONGEST:])
    assert match is not None
    return len(match[0])


#: Words that open a block where a statement of a script may begin, and that END names.
_BLOCKS: Final = frozenset({"BEGIN", "IF", "LOOP", "WHILE", "REPEAT", "FOR", "CASE"})
#: Words and signs behind which a statement of a script may begin.
_BEFORE_STATEMENT: Final = frozenset({";", ":", "BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT"})


class _Blocks:
    """A tracker of the compound statement's blocks (``BEGIN``, ``IF``, ``LOOP``, ...) that are open;
    :meth:`see` gets each token of the statement."""

    def __init__(self) -> None:
        self._open: list[bool] = []
        """For each open block, whether it is a CASE expression, in which no statement begins."""
        self._before = ""
        self._seen = 0

    @property
    def depth(self) -> int:
        """The number of open blocks (``BEGIN``, ``IF``, ``LOOP``, ...)."""
        return len(self._open)

    @property
    def matter(self) -> bool:
        """Whether the splitter has to pass words to :meth:`see`: a block is open, or may begin at the next
        token."""
        return bool(self._open) or self._seen < _FIRST

    def see(self, token: str) -> None:
        """Update the open blocks for the next word or sign of the statement."""
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
