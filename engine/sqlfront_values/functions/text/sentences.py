"""Sentences and their words."""

import unicodedata
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.java import break_iterator
from sqlfront_values.types import STRING

#: The language whose words Java finds by a dictionary.
_THAI: Final = "th"
#: The categories of Java's letters and digits.
_LETTERS_AND_DIGITS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd"})
#: Bytes of a word in a list beside the word's own.
_PER_WORD: Final = 8


def _sentences(
    text: str | None, language: str | None = None, country: str | None = None
) -> list[list[str]] | None:
    """Return the words of each sentence; ``country`` makes no difference."""
    if language is not None and language.lower() == _THAI:
        raise NotSupportedError("sentences of Thai")
    if text is None:
        return None
    return [
        [word for word in break_iterator.words(sentence) if _is_word(word)]
        for sentence in break_iterator.sentences(text)
    ]


def _is_word(text: str) -> bool:
    """Return whether the text begins with a letter or a digit. Spark looks at the first of Java's UTF-16
    units, which is neither for a character beyond U+FFFF."""
    first = text[0]
    return first <= "\uffff" and unicodedata.category(first) in _LETTERS_AND_DIGITS


register(
    ScalarFunction(
        "sentences",
        (STRING, STRING, STRING),
        pa.list_(pa.list_(STRING)),
        row_kernel(_sentences, null_aware=True),
        optional=2,
        null_propagating=False,
        can_fail=True,
        growth=growth.times(_PER_WORD),
        example=("sentences('Hi there! Good morning.')", "[['Hi', 'there'], ['Good', 'morning']]"),
    )
)
