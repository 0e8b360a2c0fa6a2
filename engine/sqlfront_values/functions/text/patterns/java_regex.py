r"""Java's regular expressions, translated for Python's ``re``, and for RE2 where RE2 means the same.

Spark's patterns are those of ``java.util.regex`` (version 17). A pattern is read once, character by
character, and rewritten for Python with :data:`re.ASCII` (``\d``, ``\w``, ``\s`` and ignoring case are
limited to ASCII in Java). Constructs that Python has with another meaning are spelled out: ``.`` and ``$``
(Java has more line terminators), ``\b`` (which knows all letters), ``\Z`` and ``\z``. Constructs that Python
lacks are refused by name: nested and intersected classes, ``\G``, ``\X``, flags other than ``i`` and ``s``,
flags amid an expression.

RE2 needs no backtracking and runs over a column without Python, but has no look-around, back-references or
possessive quantifiers; patterns with these, with ``\b`` or ignoring case have ``re2`` None. Python's ``re``
backtracks, which can take for ever, holds the interpreter's lock meanwhile, and ignores timeouts; therefore
each pattern has the length of the longest text for which backtracking is harmless (``safe_length``).
"""

import re
import sys
import unicodedata
from functools import cached_property, lru_cache
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.types import STRING

_TERMINATORS: Final = "\\n\\r\\x85\\u2028\\u2029"
_RE2_TERMINATORS: Final = "\\n\\r\\x{85}\\x{2028}\\x{2029}"
_ANY: Final = f"[^{_TERMINATORS}]"
#: ``$``: at the end, or before a line terminator at the end, but not between CR and LF.
_AT_END: Final = "(?=(?:\\r\\n|(?<!\\r)\\n|[\\r\\x85\\u2028\\u2029])?\\Z)"
_RE2_AT_END: Final = f"(?:\\r\\n|[{_RE2_TERMINATORS}])?\\z"
_HORIZONTAL: Final = " \\t\\xA0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000"
_VERTICAL: Final = "\\n\\x0B\\f\\r\\x85\\u2028\\u2029"
_SPACE: Final = " \\t\\n\\x0b\\f\\r"
_QUANTIFIER: Final = re.compile(r"\{\d+(?:,\d*)?\}|[*+?]")
#: The largest number in a quantifier that RE2 accepts.
_LARGEST_REPEAT: Final = 1000
#: Steps of backtracking that take some ten milliseconds with the interpreter's lock held, and are harmless.
_FEW_STEPS: Final = 1_000_000
#: Consecutive choices above which they count as nested: each choice doubles the ways to match.
_FEW_CHOICES: Final = 12
#: Repetitions of a quantifier above which it is a loop, whose steps grow with the text.
_LOOP: Final = 3

#: Java's POSIX classes, ASCII only.
_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1F\\x7F",
    "XDigit": "0-9a-fA-F",
    "Space": _SPACE,
}
#: Escapes of a single character, with their Python spelling.
_CHARACTERS: Final = {"t": "\\t", "n": "\\n", "r": "\\r", "f": "\\f", "a": "\\x07", "e": "\\x1b"}
#: Escapes of a set, with the set's members.
_SETS: Final = {"d": "0-9", "w": "a-zA-Z0-9_", "s": _SPACE, "h": _HORIZONTAL, "v": _VERTICAL}


#: A column for the test compilation of RE2 patterns.
_ONE_TEXT: Final = from_values([""], STRING)


class InvalidPatternError(Exception):
    """An error for a text that is not a Java pattern."""


class JavaPattern(msgspec.Struct, frozen=True, dict=True):
    r"""A pattern in the spellings of Java, Python and RE2. ``re2`` is None if RE2 lacks some part of the
    pattern or reads it differently; ``groups`` is the number of capturing groups.

    ``line_ends``: the pattern has a ``$`` or ``\Z``, on which RE2 agrees with Java only in texts without CR.
    ``loops``: the number of quantifiers that may repeat more than three times. ``nested``: a quantifier
    repeats a part that may match in several ways, or the pattern has more than twelve choices (alternatives
    and quantifiers) besides its loops. ``anchored``: the pattern has a ``^`` or ``\A``. ``size``: the number
    of the pattern's items; an item that is repeated up to n times counts n times.
    """

    java: str
    python: str
    re2: str | None
    groups: int
    line_ends: bool
    loops: int = 0
    nested: bool = False
    anchored: bool = False
    size: int = 1

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern of Python."""
        return re.compile(self.python, re.ASCII)

    @cached_property
    def linear(self) -> str | None:
        """The pattern in RE2's spelling, with names for its capturing groups; None if there is no such
        spelling or RE2 refuses it, since RE2 limits the size."""
        if self.re2 is None:
            return None
        try:
            pc.call_function("match_substring_regex", [_ONE_TEXT], pc.MatchSubstringOptions(self.re2))
        except pa.ArrowInvalid:
            return None
        return self.re2

    @property
    def safe_length(self) -> int:
        """The length, in characters, of the longest text that Python's backtracking matcher may search in one
        call without taking long: a search with k loops takes at most the text's length to the power of k + 1
        in steps. 0 for nested loops, which may take exponential time."""
        return 0 if self.nested else int(_FEW_STEPS ** (1 / (self.loops + 1)))

    @cached_property
    def matches_empty(self) -> bool:
        """Whether the pattern matches in the empty text."""
        return self.compiled.search("") is not None


@lru_cache(maxsize=1024)
def java_pattern(pattern: str) -> JavaPattern:
    """Translate a Java pattern. Raises :class:`InvalidPatternError` if the text is not a pattern,
    NotSupportedError for a construct that Python lacks.

    >>> java_pattern("(?<word>a+).$").python[:22]
    '(?P<word>a+)[^\\\\n\\\\r\\\\x85'
    """
    reader = _Reader(pattern)
    reader.read_alternatives()
    if reader.place < len(pattern):
        raise InvalidPatternError("unmatched closing parenthesis")
    python = "".join(reader.python)
    re2 = None if reader.re2_differs else "".join(reader.re2)
    nested = reader.nested or reader.choices - reader.loops > _FEW_CHOICES
    result = JavaPattern(
        pattern,
        python,
        re2,
        reader.groups,
        reader.line_ends,
        reader.loops,
        nested,
        reader.anchored,
        reader.size,
    )
    try:
        result.compiled  # noqa: B018 - compiles
    except re.error as error:
        if "look-behind" in str(error):
            raise NotSupportedError("a regular expression with a look-behind of variable length") from None
        raise InvalidPatternError(str(error)) from None
    return result


class _Reader:
    """A reader of a Java pattern that reads the characters once, and writes the pattern in Python's and in
    RE2's spelling."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0
        self.python: list[str] = []
        self.re2: list[str] = []
        self.groups = 0
        self.re2_differs = False
        self.line_ends = False
        self.dot_all = False
        self.loops = 0
        self.nested = False
        self.anchored = False
        # Alternatives and quantifiers so far, which the matcher may have to take back.
        self.choices = 0
        self.size = 1

    def peek(self, text: str) -> bool:
        """Return whether the unread rest of the pattern begins with ``text``."""
        return self.pattern.startswith(text, self.place)

    def take(self) -> str:
        """Read and return the next character. Raises InvalidPatternError at the end of the pattern."""
        if self.place >= len(self.pattern):
            raise InvalidPatternError("the pattern ends too early")
        self.place += 1
        return self.pattern[self.place - 1]

    def write(self, python: str, re2: str | None = None) -> None:
        """Add a construct to the pattern in Python's and in RE2's spelling; ``re2`` is RE2's spelling, None
        if it is the same as Python's."""
        self.python.append(python)
        self.re2.append(python if re2 is None else re2)

    def python_only(self, python: str) -> None:
        """Add a construct that RE2 lacks or has with another meaning, in Python's spelling; the pattern then
        has no spelling for RE2."""
        self.python.append(python)
        self.re2_differs = True

    # ---- structure

    def read_alternatives(self) -> None:
        """Read and write alternatives up to the end of the pattern, or up to a closing parenthesis, which
        stays unread."""
        alternatives = False
        while self.place < len(self.pattern) and not self.peek(")"):
            before, size_before = self.choices, self.size
            self.size += 1
            character = self.take()
            match character:
                case "(":
                    self._read_group()
                case "[":
                    self._read_class()
                case "\\":
                    self._read_escape()
                case ".":
                    self._write_dot()
                case "$":
                    self._write_end()
                case "^" | "|":
                    self.write(character)
                    self.anchored |= character == "^"
                    self.choices += character == "|" and not alternatives
                    alternatives |= character == "|"
                    continue
                case "*" | "+" | "?" | "{":
                    raise InvalidPatternError(f"dangling meta character '{character}'")
                case _:
                    self._write_literal(character)
            self._read_quantifier(self.choices > before, self.size - size_before)

    def _write_dot(self) -> None:
        if self.dot_all:
            self.write("(?s:.)")
        else:
            self.write(_ANY, f"[^{_RE2_TERMINATORS}]")

    def _write_end(self) -> None:
        self.write(_AT_END, _RE2_AT_END)
        self.line_ends = True
        if self.place < len(self.pattern):
            self.re2_differs = True

    def _write_literal(self, character: str) -> None:
        self.write(re.escape(character), _re2_literal(character))

    def _read_quantifier(self, has_choices: bool, size: int) -> None:
        """Read and write the quantifier behind an item, if there is one. ``has_choices`` says whether the
        item may match in several ways, ``size`` is the item's size as :attr:`JavaPattern.size` counts."""
        match = _QUANTIFIER.match(self.pattern, self.place)
        if match is None:
            if self.peek("{"):
                raise InvalidPatternError("illegal repetition")
            return
        self.place = match.end()
        self.write(match[0])
        self._count_quantifier(match[0], has_choices)
        counts = [int(number) for number in re.findall(r"\d+", match[0])]
        self.size += size * (max(counts, default=1) - 1)
        if any(count > _LARGEST_REPEAT for count in counts):
            self.re2_differs = True
        if self.peek("?"):
            self.place += 1
            self.write("?")
        elif self.peek("+"):
            self.place += 1
            self.python_only("+")

    def _count_quantifier(self, quantifier: str, has_choices: bool) -> None:
        least, _, most = quantifier.strip("{}").partition(",")
        if quantifier == "?":
            count = 1
        elif quantifier in "*+" or (not most and quantifier.endswith(",}")):
            count = sys.maxsize
        else:
            count = int(most or least)
            if not most and not has_choices:
                return
        self.choices += 1
        self.loops += count > _LOOP
        self.nested |= has_choices and count > 1

    def _read_group(self) -> None:
        dot_all = self.dot_all
        if not self.peek("?"):
            self.groups += 1
            self.write("(", f"(?P<g{self.groups}>")
        elif not self._open_special_group():
            return
        self.read_alternatives()
        if self.place >= len(self.pattern):
            raise InvalidPatternError("unclosed group")
        self.take()
        self.write(")")
        self.dot_all = dot_all

    def _open_special_group(self) -> bool:
        """Read and write the opening of a group that begins with ``(?``. Return True if a group is open now,
        False if it was flags for the rest of the pattern, such as ``(?i)``."""
        rest = self.pattern[self.place :]
        for opening in ("?=", "?!", "?<=", "?<!", "?>"):
            if rest.startswith(opening):
                self.place += len(opening)
                self.python_only(f"({opening}")
                return True
        named = re.match(r"\?<([a-zA-Z][a-zA-Z0-9]*)>", rest)
        if named is not None:
            self.place += named.end()
            self.groups += 1
            self.write(f"(?P<{named[1]}>", f"(?P<g{self.groups}>")
            return True
        flags = re.match(r"\?([a-zA-Z]*)(-[a-zA-Z]+)?([:)])", rest)
        if flags is None:
            raise InvalidPatternError("unknown group")
        return self._open_flags(flags[1], (flags[2] or "")[1:], flags[3], flags.end())

    def _open_flags(self, switched_on: str, switched_off: str, closing: str, length: int) -> bool:
        """Read and write the flags of ``(?i:`` or ``(?:``, or of ``(?i)`` at the pattern's start. ``closing``
        is the colon or parenthesis behind the flags, ``length`` the number of characters to read. Return True
        if a group is open now. Raises NotSupportedError for flags other than i and s, and for ``(?i)`` amid
        the pattern."""
        unknown = set(switched_on + switched_off) - set("is")
        at_start = not self.python
        self.place += length
        if unknown or (closing == ")" and (not at_start or switched_off)):
            flags = f"(?{switched_on}{'-' if switched_off else ''}{switched_off}{closing}"
            where = "" if unknown else " amid the pattern"
            raise NotSupportedError(f"a regular expression with the flags {flags}{where}")
        if "s" in switched_on:
            self.dot_all = True
        if "s" in switched_off:
            self.dot_all = False
        ignore = ("i" if "i" in switched_on else "") + ("-i" if "i" in switched_off else "")
        if ignore:
            self.python_only(f"(?{ignore}{closing}")
        elif closing == ":":
            self.write("(?:")
        return closing == ":"

    # ---- escapes

    def _read_escape(self) -> None:
        """Read and write an escape outside of a class, whose backslash has been read. Raises
        InvalidPatternError or NotSupportedError for an escape that Java or Python lacks."""
        character = self.take()
        members = _SETS.get(character.lower())
        if members is not None:
            negation = "^" if character.isupper() else ""
            self.write(f"[{negation}{members}]", f"[{negation}{_re2_members(members)}]")
            return
        match character:
            case "b" | "B":
                if self.peek("{"):
                    raise NotSupportedError("a regular expression with \\b{g}")
                self.python_only(f"(?u:\\{character})")
            case "A":
                self.write("\\A")
                self.anchored = True
            case "z":
                self.write("\\Z", "\\z")
            case "Z":
                self._write_end()
            case "R":
                self.write(f"(?:\\r\\n|[{_VERTICAL}])", f"(?:\\r\\n|[{_re2_members(_VERTICAL)}])")
            case "Q":
                self._read_quotation()
            case "k":
                name = re.match(r"<([a-zA-Z][a-zA-Z0-9]*)>", self.pattern[self.place :])
                if name is None:
                    raise InvalidPatternError("\\k is not followed by a group's name")
                self.place += name.end()
                self.python_only(f"(?P={name[1]})")
            case _ if character in "123456789":
                self._read_back_reference(character)
            case _:
                self.write(*self._escaped_member(character))

    def _read_quotation(self) -> None:
        r"""Read and write the literal text of ``\Q...\E``, whose ``\Q`` has been read; the text ends at
        ``\E`` or the end of the pattern."""
        end = self.pattern.find("\\E", self.place)
        text = self.pattern[self.place : end if end >= 0 else None]
        self.place = len(self.pattern) if end < 0 else end + 2
        for character in text:
            self._write_literal(character)

    def _read_back_reference(self, digit: str) -> None:
        """Read and write a back-reference that begins with ``digit``, which has been read. As many digits are
        read as make the number of a group read so far; a reference to a group that does not exist never
        matches."""
        number = digit
        while self.place < len(self.pattern) and self.pattern[self.place] in "0123456789":
            if int(number + self.pattern[self.place]) > self.groups:
                break
            number += self.take()
        if int(number) > self.groups:
            self.python_only("(?!)")
        else:
            self.python_only(f"(?:\\{number})")

    def _escaped_member(self, character: str) -> tuple[str, str]:
        r"""Return Python's and RE2's spelling of an escape outside of a class: of a single character, or of a
        property ``\p`` or ``\P`` as a class in brackets. ``character`` is the letter after the backslash."""
        if character in "pP":
            members = self._read_property()
            negation = "^" if character == "P" else ""
            return f"[{negation}{members}]", f"[{negation}{_re2_members(members)}]"
        code = self._read_code(character)
        return re.escape(code), _re2_literal(code)

    def _read_code(self, character: str) -> str:
        """Read the rest of an escape that stands for one character, and return this character; ``character``
        is the letter after the backslash. Raises InvalidPatternError or NotSupportedError for any other
        escape."""
        if character in _CHARACTERS:
            return {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}[character]
        digits = None
        if character == "x":
            digits = re.compile(r"([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\}").match(self.pattern, self.place)
        elif character == "u":
            digits = re.compile(r"([0-9a-fA-F]{4})").match(self.pattern, self.place)
        elif character == "0":
            digits = re.compile(r"([0-3][0-7]{2}|[0-7]{1,2})").match(self.pattern, self.place)
        elif not (character.isascii() and character.isalnum()):
            return character
        elif character in "cGXN":
            raise NotSupportedError(f"a regular expression with \\{character}")
        if digits is None:
            raise InvalidPatternError(f"illegal escape \\{character}")
        self.place = digits.end()
        number = int(digits[digits.lastindex or 1], 8 if character == "0" else 16)
        if 0xD800 <= number < 0xE000 or number > sys.maxunicode:
            raise NotSupportedError("a regular expression with surrogates")
        return chr(number)

    def _read_property(self) -> str:
        match = re.compile(r"([A-Z])|\{([^}]*)\}").match(self.pattern, self.place)
        if match is None:
            raise InvalidPatternError("unknown character property")
        self.place = match.end()
        return property_members(match[1] or match[2])

    # ---- classes

    def _read_class(self) -> None:
        """Read and write a character class whose opening bracket has been read. Raises NotSupportedError for
        a class inside of the class, or an intersection of classes."""
        python, re2 = "[", "["
        if self.peek("^"):
            self.take()
            python, re2 = "[^", "[^"
        first = True
        while first or not self.peek("]"):
            character = self.take()
            first = False
            if character == "[" or (character == "&" and self.peek("&")):
                raise NotSupportedError("a regular expression with nested or intersected character classes")
            if character == "\\":
                member, re2_member = self._class_escape(self.take())
            elif character == "-":
                member = re2_member = "-" if self._is_range() else "\\-"
            else:
                member, re2_member = _class_literal(character), _re2_literal(character)
            python += member
            re2 += re2_member
        self.take()
        self.write(python + "]", re2 + "]")

    def _is_range(self) -> bool:
        """Return whether the ``-`` just read in a class makes a range of the characters before and after it;
        else it is a literal."""
        before = self.pattern[self.place - 2]
        return (
            before != "["
            and not (before == "^" and self.pattern[self.place - 3] == "[")
            and not self.peek("]")
        )

    def _class_escape(self, character: str) -> tuple[str, str]:
        members = _SETS.get(character)
        if character in "pP":
            if character == "P":
                raise NotSupportedError("a regular expression with \\P inside of a character class")
            members = self._read_property()
        if members is not None:
            return members, _re2_members(members)
        if character in "DWS":
            return f"\\{character}", f"\\{character}" if character != "S" else "\\S"
        if character.isalpha() and character not in (*_CHARACTERS, "x", "u"):
            raise NotSupportedError(f"a regular expression with \\{character} inside of a character class")
        code = self._read_code(character)
        return _class_literal(code), _re2_literal(code)


def _class_literal(character: str) -> str:
    return f"\\{character}" if character in "[]\\^-&~|" else character


def _re2_literal(character: str) -> str:
    if character.isalnum() or character == "_":
        return character
    return f"\\x{{{ord(character):x}}}"


def _re2_members(members: str) -> str:
    r"""Return a class's members, given in Python's spelling, with code points in RE2's spelling
    (``\x{...}``)."""
    return re.sub(
        r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})", lambda found: f"\\x{{{found[1] or found[2]}}}", members
    )


@lru_cache(maxsize=64)
def property_members(name: str) -> str:
    r"""Return the characters of the property ``\p{name}`` as members of a class, in Python's spelling without
    brackets. The name belongs to a POSIX class, which has ASCII characters only, or to a general category of
    Unicode (``L``, ``Lu``, ``IsL``). Raises NotSupportedError for other names, InvalidPatternError for a
    category without characters."""
    if name in _POSIX:
        return _POSIX[name]
    category = name.removeprefix("Is").removeprefix("general_category=").removeprefix("gc=")
    if not re.fullmatch(r"[CLMNPSZ][a-z]?", category):
        raise NotSupportedError(f"a regular expression with \\p{{{name}}}")
    codes = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)).startswith(category) and not 0xD800 <= code < 0xE000
    ]
    if not codes:
        raise InvalidPatternError(f"unknown character property {name}")
    spans: list[list[int]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)
