"""Texts of statements for operators: literals, comments and passwords in addresses are replaced."""

import re
from typing import Final

#: Characters of a statement's text that are kept for operators.
TEXT_LENGTH: Final = 4096
#: The mark in the place of a literal.
MASK: Final = "?"

#: Every part of a text that a literal may be, or that may hide one: strings (raw ones have no escapes),
#: quoted names, comments up to the end or the beginning of a nested one, addresses, numbers.
_PARTS: Final = re.compile(
    r"""(?xs)
    (?=['"`/:rR\d-])  # quickly past all other characters
    (?: (?P<string> (?<!\w)[rR](?: '[^']*(?:'|\Z) | "[^"]*(?:"|\Z) )
        | '(?:[^'\\]|\\.)*(?:'|\\?\Z) | "(?:[^"\\]|\\.)*(?:"|\\?\Z) )
    | (?P<name> `[^`]*(?:`|\Z) )
    | (?P<line> --(?:\\\r?\n|[^\r\n])* )
    | (?P<comment> /\* )
    | (?P<address> :(?=//)(?:(?!/\*|--)[^\s`'"])* )
    | (?P<number> (?<!\w)\d[\w.]*(?:(?<=[eE])[+-]\d+)? ) )
    """
)
_COMMENT_MARK: Final = re.compile(r"/\*|\*/")
#: SET with a value, which need not be quoted to be one.
_SET: Final = re.compile(
    r"""(?xis)
    \A( \s* (?: EXPLAIN\s+ (?: \([^()]*\)\s* | (?:ANALYZE|EXTENDED|FORMATTED|CODEGEN|COST|LOGICAL)\s+ )* )?
    SET\s[^=]*= ).*
    """
)
_NUMBER: Final = re.compile(r"(?<!\w)\d[\w.]*")
#: The beginning of an address's query or properties: they may be a signature, or a password.
_QUERY: Final = re.compile("[?;]")


def kept(text: str) -> str:
    """Return the beginning of a statement's text, up to the length that operators see; ``…`` marks a text
    that was cut."""
    return text if len(text) <= TEXT_LENGTH else f"{text[: TEXT_LENGTH - 1]}…"


def masked(text: str) -> str:
    """Return the text with ``?`` in place of every literal, of the value of SET, and of users and passwords
    in addresses, and without comments. Any text is accepted, even one that was cut or is no SQL.

    >>> masked("SELECT 'a', x1 FROM t WHERE k = 17 -- secret")
    'SELECT ?, x1 FROM t WHERE k = ? '
    >>> masked("SET spark.password = abc"), masked("SELECT * FROM csv.`s3://me:pw@bucket/a`")
    ('SET spark.password =?', 'SELECT * FROM csv.`s3://?@bucket/a`')
    """
    pieces, place = [], 0
    while (found := _PARTS.search(text, place)) is not None:
        pieces.append(text[place : found.start()])
        place = found.end()
        match found.lastgroup:
            case "string" | "number":
                pieces.append(MASK)
            case "name":
                pieces.append(_masked_name(found[0]))
            case "address":
                is_cut = place == len(text) and text.endswith("…")
                pieces.append(f"://{MASK}" if is_cut else _NUMBER.sub(MASK, _masked_address(found[0])))
            case "comment":
                place = _end_of_comment(text, place)
                pieces.append(" ")
    pieces.append(text[place:])
    return _SET.sub(rf"\1{MASK}", "".join(pieces))


def _masked_name(name: str) -> str:
    """Return a name in backticks with the secrets masked if it is an address. A name without the closing
    backtick was cut; of an address then only the scheme is shown."""
    before, mark, rest = name.partition("://")
    if not mark:
        return name
    return f"{before}{_masked_address(mark + rest[:-1])}`" if rest.endswith("`") else f"{before}://{MASK}"


def _masked_address(address: str) -> str:
    """Return an address, given from its ``://`` on, with ``?`` in place of user and password, and of the
    query. If there is an ``@`` in the query, where it may end a password, all of the address is replaced."""
    scheme_end, rest = address[:3], address[3:]
    place, query, hidden = rest, "", ""
    if (mark := _QUERY.search(rest)) is not None:
        place, query, hidden = rest[: mark.start()], mark[0] + MASK, rest[mark.end() :]
    if "@" in hidden:
        return scheme_end + MASK
    _, user_end, host = place.rpartition("@")
    return f"{scheme_end}{MASK if user_end else ''}{user_end}{host}{query}"


def masked_reason(reason: str) -> str:
    """Return the reason for a lane with ``?`` in place of quoted values: a reason may be the text of an error
    that quotes literals of the statement.

    >>> masked_reason("the value 'abc' is no number; 3 rows")
    'the value ? is no number; 3 rows'
    """
    return re.sub(r"""(?s)(?<!\w)'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)""", MASK, reason)


def _end_of_comment(text: str, place: int) -> int:
    """Return the position behind the comment that begins before ``place``; a comment may contain others.
    Without an end of the comment, return the length of the text."""
    depth = 1
    while depth:
        mark = _COMMENT_MARK.search(text, place)
        if mark is None:
            return len(text)
        depth += 1 if mark[0] == "/*" else -1
        place = mark.end()
    return place
