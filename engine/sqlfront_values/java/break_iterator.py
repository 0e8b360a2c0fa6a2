"""Sentences and words of texts, as Java's ``java.text.BreakIterator`` finds them.

The rules are older than those of Unicode's annex 29, by which libraries work; these here were found by
comparing with Java's answers.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Final

import regex


class _Kind(Enum):
    """A class of characters that the rules of sentences treat alike."""

    LOWER = "lowercase letters"
    LETTER = "other letters"
    DIGIT = "numbers"
    SPACE = "white space"
    PERIOD = "periods, which may end a sentence"
    TERM = "marks that end a sentence"
    OPEN = "opening punctuation, and whatever else may begin a sentence"
    CLOSE = "closing punctuation"
    QUOTE = "quotation marks, which open and close"
    COMMA = "commas"
    DANDA = "the danda, which ends sentences in Indic scripts"
    PARAGRAPH = "the paragraph separator"
    MARK = "marks and format characters, which belong to the character before"


class _State(Enum):
    """The part of a sentence that has been read."""

    TEXT = "text without an end"
    PERIOD = "periods, with closing punctuation"
    QUOTED = "the same with quotation marks as the last"
    SPACE = "one space behind a period"
    SPACES = "more spaces behind a period"
    BEGUN = "behind a period something that may begin a sentence"
    JUST_BEGUN = "the same, of one character behind spaces or a quotation mark"
    TERM = "an ending mark"
    TERM_SPACE = "spaces behind an ending mark"
    DANDA = "a danda, and spaces"


class _End(Enum):
    """The place of a sentence's end when the next character has decided that there is one."""

    HERE = "behind the character"
    BEFORE = "where the last state with an open end was left"
    KNOWN = "behind the last state that may end"


_Step = _State | _End
_Rules = tuple[Mapping[_Kind, _Step], _Step]

_KINDS: Final = {
    "\u2029": _Kind.PARAGRAPH,
    **dict.fromkeys("\u0964\u0965", _Kind.DANDA),
    **dict.fromkeys("!?\u3002\uff01\uff1f", _Kind.TERM),
    **dict.fromkeys(".\uff0e", _Kind.PERIOD),
    **dict.fromkeys("\t\r\f\n\u2028", _Kind.SPACE),
    **dict.fromkeys("\"'", _Kind.QUOTE),
    ",": _Kind.COMMA,
}
#: Kinds of whole categories of Unicode, by the category or the category's first letter.
_CATEGORIES: Final = {
    **dict.fromkeys(("Mn", "Me", "Cf"), _Kind.MARK),
    "Zs": _Kind.SPACE,
    **dict.fromkeys(("Pe", "Pf"), _Kind.CLOSE),
    "Ll": _Kind.LOWER,
    "L": _Kind.LETTER,
    "N": _Kind.DIGIT,
}
_BEGINNINGS: Final = (_Kind.OPEN, _Kind.QUOTE, _Kind.DANDA)
_LETTERS: Final = dict.fromkeys((_Kind.LOWER, _Kind.LETTER), _End.BEFORE)
_ENDS: Final[dict[_Kind, _Step]] = {
    _Kind.PARAGRAPH: _End.HERE,
    _Kind.TERM: _State.TERM,
    _Kind.PERIOD: _State.PERIOD,
}
_CLOSES: Final[dict[_Kind, _Step]] = {
    **_ENDS,
    _Kind.CLOSE: _State.PERIOD,
    _Kind.QUOTE: _State.QUOTED,
    _Kind.SPACE: _State.SPACE,
}
_AFTER_TERM: Final[dict[_Kind, _Step]] = {_Kind.SPACE: _State.TERM_SPACE, _Kind.PARAGRAPH: _End.HERE}
#: For each state the step at each kind of character, and that at all other kinds.
_RULES: Final[dict[_State, _Rules]] = {
    _State.TEXT: ({**_ENDS, _Kind.DANDA: _State.DANDA}, _State.TEXT),
    _State.PERIOD: (
        {**_CLOSES, _Kind.OPEN: _State.BEGUN, _Kind.DANDA: _State.BEGUN},
        _State.TEXT,
    ),
    _State.QUOTED: (
        {**_CLOSES, **_LETTERS, _Kind.OPEN: _State.JUST_BEGUN, _Kind.DANDA: _State.JUST_BEGUN},
        _State.TEXT,
    ),
    _State.SPACE: (
        {
            **_ENDS,
            **dict.fromkeys(_BEGINNINGS, _State.BEGUN),
            _Kind.SPACE: _State.SPACES,
            _Kind.LETTER: _End.BEFORE,
        },
        _State.TEXT,
    ),
    _State.SPACES: (
        {
            **_ENDS,
            **_LETTERS,
            **dict.fromkeys(_BEGINNINGS, _State.JUST_BEGUN),
            _Kind.SPACE: _State.SPACES,
        },
        _State.TEXT,
    ),
    _State.BEGUN: ({**_ENDS, **_LETTERS, **dict.fromkeys(_BEGINNINGS, _State.BEGUN)}, _State.TEXT),
    _State.JUST_BEGUN: ({**_LETTERS, **dict.fromkeys(_BEGINNINGS, _State.BEGUN)}, _End.KNOWN),
    _State.TERM: (
        {
            **_AFTER_TERM,
            **dict.fromkeys((_Kind.TERM, _Kind.PERIOD, _Kind.CLOSE, _Kind.QUOTE), _State.TERM),
        },
        _End.KNOWN,
    ),
    _State.TERM_SPACE: (_AFTER_TERM, _End.KNOWN),
    _State.DANDA: ({_Kind.SPACE: _State.DANDA}, _End.KNOWN),
}
#: States behind which a sentence may end whatever comes, and those whose end the next characters decide on.
_MAY_END: Final = frozenset({_State.TEXT, _State.TERM, _State.TERM_SPACE, _State.DANDA})
_OPEN_ENDS: Final = frozenset({_State.PERIOD, _State.QUOTED, _State.SPACE, _State.SPACES})


@lru_cache(maxsize=4096)
def _kind(character: str) -> _Kind:
    known = _KINDS.get(character)
    if known is not None:
        return known
    category = unicodedata.category(character)
    return _CATEGORIES.get(category) or _CATEGORIES.get(category[0], _Kind.OPEN)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, each with the white space behind it.

    >>> list(sentences("Mr. Smith came. Really? e.g. yes."))
    ['Mr. ', 'Smith came. ', 'Really? ', 'e.g. yes.']
    """
    start = 0
    while start < len(text):
        end = _sentence_end(text, start)
        yield text[start:end]
        start = end


def _sentence_end(text: str, start: int) -> int:
    """Return the end of the sentence that begins at ``start``."""
    state, known, open_end, place = _State.TEXT, start + 1, 0, start
    while place < len(text):
        if state is _State.TEXT:
            match = _ending().search(text, place)
            if match is None:
                return len(text)
            place = match.start()
            known = max(known, place)
        kind = _kind(text[place])
        if kind is not _Kind.MARK:
            rules, other = _RULES[state]
            match rules.get(kind, other):
                case _End.KNOWN:
                    return known
                case _End.BEFORE:
                    return open_end
                case _End.HERE:
                    return _behind_marks(text, place + 1)
                case _State() as state:
                    pass
        if state in _MAY_END:
            known = place + 1
        elif state in _OPEN_ENDS:
            open_end = place + 1
        place += 1
    return len(text) if open_end == len(text) else known


@lru_cache(maxsize=1)
def _ending() -> "regex.Pattern[str]":
    """Return the pattern of the characters at which a text goes over into another state."""
    ends = (character for character, kind in _KINDS.items() if kind in _RULES[_State.TEXT][0])
    return regex.compile(f"[{regex.escape(''.join(ends))}]")


def _behind_marks(text: str, place: int) -> int:
    while place < len(text) and _kind(text[place]) is _Kind.MARK:
        place += 1
    return place


_KANJI: Final = r"\u3005\u4e00-\u9fa5\uf900-\ufa2d"
_KATAKANA: Final = r"\u30a1-\u30fa\u30fd\u30fe"
_HIRAGANA: Final = r"\u3041-\u3094\u309d\u309e"
#: Marks of both syllabaries.
_KANA_MARKS: Final = r"\u3099-\u309c\u30fb\u30fc"
#: Characters that belong to the character before: format characters, and combining marks too.
_FORMAT: Final = r"[\p{Cf}--[\u00ad]]*"
_MARKS: Final = r"[[\p{Mn}\p{Me}\p{Cf}]--[\u00ad]]*"
_LETTER: Final = rf"(?:[[\p{{L}}\p{{Mc}}]--[{_KANJI}{_KATAKANA}{_HIRAGANA}{_KANA_MARKS}]]{_MARKS})"
_DIGIT: Final = rf"(?:\p{{N}}{_MARKS})"
_IN_WORDS: Final = rf"(?:[\p{{Pd}}\p{{Pc}}\u00ad\u2027\"'.]{_FORMAT})"
_IN_NUMBERS: Final = rf"(?:[\"',\u066b.]{_FORMAT})"
_BEFORE_NUMBERS: Final = rf"(?:[[\p{{Sc}}#.]--[\u00a2]]{_FORMAT})"
_BEHIND_NUMBERS: Final = rf"(?:[\u00a2%\u066a\u2030\u2031&]{_FORMAT})"
_LETTERS_WORD: Final = rf"(?:{_LETTER}+(?:{_IN_WORDS}{_LETTER}+)*(?:[\u0964\u0965]{_FORMAT})?)"
_NUMBER: Final = rf"(?:{_DIGIT}+(?:{_IN_NUMBERS}{_DIGIT}+)*)"
_LAST_NUMBER: Final = rf"{_NUMBER}{_BEHIND_NUMBERS}?"
_SCRIPTS: Final = (_KATAKANA + _KANA_MARKS, _HIRAGANA + _KANA_MARKS, _KANJI)
_ALTERNATIVES: Final = (
    rf"(?:{_BEFORE_NUMBERS}|{_LETTERS_WORD})(?:{_NUMBER}{_LETTERS_WORD})*(?:{_LAST_NUMBER})?",
    rf"(?:{_NUMBER}{_LETTERS_WORD})+(?:{_LAST_NUMBER})?",
    _LAST_NUMBER,
    *(rf"(?:[{characters}]{_FORMAT})+" for characters in _SCRIPTS),
    rf"(?s:.){_MARKS}",
)
#: The longest of the alternatives is a word.
_WORD: Final = f"{_FORMAT}(?:{'|'.join(_ALTERNATIVES)})"


@lru_cache(maxsize=1)
def _word() -> "regex.Pattern[str]":
    return regex.compile(_WORD, regex.VERSION1 | regex.POSIX)


def words(sentence: str) -> list[str]:
    """Return the words of a sentence; white space and punctuation are words, too.

    >>> words("It's $3.50, e.g.")
    ["It's", ' ', '$3.50', ',', ' ', 'e.g', '.']
    """
    return [match[0] for match in _word().finditer(sentence)]
