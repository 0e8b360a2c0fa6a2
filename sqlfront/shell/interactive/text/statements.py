"""Statements of a text, and whether the last one is complete."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from sqlfront.shell.interactive.text.command_lines import is_farewell
from sqlfront.shell.interactive.text.tokens import TextToken, text_tokens

#: Words that open a block inside of a BEGIN block, and that END may name.
_BLOCKS: Final = frozenset({"IF", "LOOP", "WHILE", "REPEAT", "FOR"})
#: Words behind which a statement of a BEGIN block begins.
_BEFORE_STATEMENT: Final = frozenset({";", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", ":"})


class TypedPiece(msgspec.Struct, frozen=True):
    """A piece of a text: a statement without its semicolon, or the line of a command that begins with a
    backslash. ``start``: the offset at which it begins. ``ended``: whether a semicolon, or the end of a
    command's line, ends it."""

    text: str
    start: int
    ended: bool
    is_command: bool = False


def typed_pieces(text: str) -> Iterator[TypedPiece]:
    r"""Yield the statements and commands of a text, in order; empty statements are left out. Semicolons in
    quotes, comments and BEGIN blocks end no statement. A command begins where a statement could begin, and
    extends to the end of its line.

    >>> [piece.text for piece in typed_pieces("select ';'; begin select 1; end; select 2; \\x on")]
    ["select ';'", 'begin select 1; end', 'select 2', '\\x on']
    """
    offset = 0
    while offset < len(text):
        rest = text[offset:]
        tokens = text_tokens(rest)
        begin, command = 0, -1
        for end in ends_of(tokens):
            if begin < len(tokens) and rest[tokens[begin].start] == "\\":
                command = tokens[begin].start
                break
            if end > begin:
                first, last = tokens[begin].start, tokens[end - 1].end
                yield TypedPiece(rest[first:last], offset + first, end < len(tokens))
            begin = end + 1
        if command < 0:
            return
        line_end = rest.find("\n", command)
        line_end = len(rest) if line_end < 0 else line_end
        yield TypedPiece(rest[command:line_end].rstrip(), offset + command, ended=True, is_command=True)
        offset += line_end


def ends_of(tokens: Sequence[TextToken]) -> list[int]:
    """Return the positions in ``tokens`` of the semicolons that end a statement, then the number of tokens.
    Semicolons in a BEGIN block end no statement."""
    found, begin, depth = [], 0, 0
    for place, token in enumerate(tokens):
        kind = token.kind
        in_script = depth > 0 or _begins_script(tokens, begin, place)
        if in_script:
            depth = max(0, depth + _change(tokens, place))
        if kind == ";" and not depth:
            found.append(place)
            begin = place + 1
    return [*found, len(tokens)]


def _begins_script(tokens: Sequence[TextToken], begin: int, place: int) -> bool:
    """Return whether the token at ``place`` is the BEGIN of a SQL script, perhaps behind a label. ``begin``
    is the position at which the token's statement begins."""
    if tokens[place].kind != "BEGIN":
        return False
    return place == begin or (place == begin + 2 and tokens[place - 1].kind == ":")


def _change(tokens: Sequence[TextToken], place: int) -> int:
    """Return by how much the token at ``place`` of a SQL script changes the number of open blocks: 1, 0 or
    -1."""
    kind = tokens[place].kind
    before = tokens[place - 1].kind if place else ";"
    if kind == "END":
        return -1
    if before == "END":
        return 0
    if kind in ("BEGIN", "CASE"):
        return 1
    return int(kind in _BLOCKS and before in _BEFORE_STATEMENT)


def is_complete(text: str) -> bool:
    r"""Return whether Enter runs the text: its last statement ends with a semicolon, or the text ends with a
    command of the shell, or the text asks to leave, as ``exit`` does. A text without a token is complete.

    >>> is_complete("select 1"), is_complete("select 1; -- done"), is_complete("\\dt")
    (False, True, True)
    """
    if is_farewell(text):
        return True
    last = None
    for piece in typed_pieces(text):
        last = piece
    return last is None or last.ended
