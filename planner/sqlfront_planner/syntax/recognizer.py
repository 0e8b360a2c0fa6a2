"""A recognizer that follows a text's tokens through the grammar, token by token, with all possible readings
at once.

A reading is a state and its stack of calls. Calls of one rule from one position share one entry of the stack,
so the readings stay few even for ambiguous texts. The stack is a chain of entries, not of Python's calls, so
no nesting is too deep.
"""

import os
import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from string import ascii_uppercase, digits
from typing import Final

from sqlfront_engine.garbage import uncollected
from sqlfront_planner.syntax.grammar import NAME, Grammar, State, spark_grammar
from sqlfront_planner.syntax.lexer import SAME, Tokens


class _Call:
    """An entry of a reading's stack of calls. ``state`` is the state to which the called rule returns;
    ``below`` are the entries below, one for each caller of the same rule from the same position."""

    __slots__ = ("below", "state")

    def __init__(self, state: State, below: "_Call") -> None:
        self.state = state
        self.below = [below]


#: Held while readings are followed through the grammar, whose states are built and completed on the way: a
#: thread must not see a state that another thread has half built. Known beginnings are followed without.
_following: Final = threading.Lock()
os.register_at_fork(
    before=_following.acquire, after_in_parent=_following.release, after_in_child=_following.release
)

#: Tokens of a text above which the recognizer first removes repetitions: for shorter texts the search for
#: repetitions costs more than it saves.
_LONG: Final = 500
#: Beginnings of texts that are cached at most, of a kilobyte or two each: some megabytes in all.
_MOST_BEGINNINGS: Final = 4_000
_SEPARATORS: Final = (",", "AND", "OR", "+", "-", "*", "/", "||")
#: The other tokens of items whose repetitions are removed: nothing that nests but parentheses.
_SIMPLE: Final = (
    "(", ")", ".", "=", "<", ">", "<=", ">=", "<>", "!=", "IN", "NOT", "NULL", "TRUE", "FALSE", "?",
    "<word>", "<quoted>", "<string>", "<integer>", "<decimal>", "<long>", "<number>",
)  # fmt: skip
_NO_CALL: Final[_Call] = _Call.__new__(_Call)
_NO_CALL.state, _NO_CALL.below = State(), []

Reading = tuple[State, _Call]


class _Beginning:
    """The first tokens of a text, by their kinds. ``readings`` are the states of the grammar that these
    tokens can lead to, each with its stack of calls. ``following`` has the beginnings that are one token
    longer, by the kind of this token."""

    __slots__ = ("_may_end", "following", "readings")

    def __init__(self, readings: list[Reading]) -> None:
        self.readings = readings
        self.following: dict[int, _Beginning] = {}
        self._may_end: bool | None = None

    def may_end(self) -> bool:
        """Return whether a text that consists of only these first tokens is valid."""
        known = self._may_end
        if known is None:
            with _following:
                known = self._may_end = _is_whole(self.readings)
        return known


class _Beginnings:
    """A cache of beginnings of texts, for one rule of the grammar: texts that begin alike, except for names
    and literals, are followed through the grammar once. Safe to use from several threads."""

    def __init__(self, grammar: Grammar, rule: str) -> None:
        self._grammar = grammar
        self._start = _at_start(grammar, rule)
        self._count = 0
        self.first = _Beginning(self._start)

    def longer(self, beginning: _Beginning, kind: int) -> _Beginning:
        """Return the beginning of a text that has one token more than ``beginning``, of the kind ``kind``,
        and add it to the cache. If the cache is full, all other beginnings are dropped."""
        with _following, uncollected():  # the grammar's states are never freed
            made = _Beginning(_after(self._grammar, beginning.readings, kind))
        self._count += 1
        if self._count > _MOST_BEGINNINGS:
            self._count, self.first = 0, _Beginning(self._start)
        beginning.following[kind] = made
        return made


@cache
def _beginnings(grammar: Grammar, rule: str) -> _Beginnings:
    return _Beginnings(grammar, rule)


def is_right(tokens: list[str]) -> bool:
    """Return whether the tokens, a result of :func:`~.lexer.usual_tokens`, form a valid text. False also if
    one of the tokens is empty, although the text may be valid.

    >>> is_right(["SELECT", "A"]), is_right(["SELECT", "SELECT", "A", "A"]), is_right(["SELECT", ""])
    (True, False, False)
    """
    known, beginnings = _usual()
    beginning = beginnings.first
    for token in tokens:
        kind = known.get(token) or known.get(token[:1])
        if kind is None or not beginning.readings:
            return False
        beginning = beginning.following.get(kind) or beginnings.longer(beginning, kind)
    return beginning.may_end()


@cache
def _usual() -> tuple[dict[str, int], _Beginnings]:
    """Return the tables for :func:`is_right`: the number of each kind of token, by the token's text, or by
    the first character for names and literals; and the cached beginnings of the rule "text"."""
    grammar = spark_grammar()
    kinds = grammar.kinds
    known = {
        **dict.fromkeys(ascii_uppercase + "_", kinds["<word>"]),
        **dict.fromkeys(digits, kinds["<integer>"]),
        "'": kinds["<string>"],
        **kinds,
        **{spelling: kinds[kind] for spelling, kind in SAME.items()},
    }
    return known, _beginnings(grammar, "text")


def first_wrong_token(tokens: Tokens, rule: str = "text") -> int | None:
    """Return the position of the first token that Spark's parser can't accept, or the number of tokens if the
    text ends too early; None if the tokens are valid by the grammar's rule ``rule``."""
    grammar = spark_grammar()
    kinds, word = grammar.kinds, grammar.kinds["<word>"]
    numbers = [kinds.get(name, word) for name in tokens.kinds]
    if len(numbers) > _LONG and _first_wrong(grammar, shortened(grammar, numbers), rule) is None:
        return None
    return _first_wrong(grammar, numbers, rule)


def _first_wrong(grammar: Grammar, kinds: list[int], rule: str) -> int | None:
    beginnings = _beginnings(grammar, rule)
    beginning = beginnings.first
    for position, kind in enumerate(kinds[:_LONG]):
        beginning = beginning.following.get(kind) or beginnings.longer(beginning, kind)
        if not beginning.readings:
            return position
    if len(kinds) > _LONG:
        return _first_wrong_later(grammar, beginning.readings, kinds)
    return None if beginning.may_end() else len(kinds)


def _first_wrong_later(grammar: Grammar, readings: list[Reading], kinds: list[int]) -> int | None:
    """Continue :func:`_first_wrong`, without the cache, from the token at position ``_LONG`` on. ``readings``
    are the states that the tokens before can lead to, each with its stack of calls. Return the position of
    the first wrong token, the number of tokens if the text ends too early, None if the text is valid."""
    with _following, uncollected():
        for position, kind in enumerate(kinds[_LONG:], _LONG):
            readings = _after(grammar, readings, kind)
            if not readings:
                return position
        return None if _is_whole(readings) else len(kinds)


def shortened(grammar: Grammar, kinds: list[int]) -> list[int]:
    """Return the kinds of a text's tokens without the repetitions of long lists and chains, as ``IN (1, 2, 3,
    ...)``: four equal items in a row are as valid as more items, since the grammar counts to three at
    most."""
    repeated = _repetition(grammar)
    opening, closing = chr(grammar.kinds["("]), chr(grammar.kinds[")"])

    def kept(match: re.Match[str]) -> str:
        item = match[1]
        return item * 4 if item.count(opening) == item.count(closing) else match[0]

    return [ord(kind) for kind in repeated.sub(kept, "".join(map(chr, kinds)))]


@cache
def _repetition(grammar: Grammar) -> re.Pattern[str]:
    """Return the pattern of an item, with the separator before it, that occurs five times or more in
    succession."""
    separators = "".join(re.escape(chr(grammar.kinds[kind])) for kind in _SEPARATORS)
    simple = "".join(re.escape(chr(grammar.kinds[kind])) for kind in (*_SEPARATORS, *_SIMPLE))
    return re.compile(f"([{separators}][{simple}]{{1,32}}?)\\1{{4,}}")


def following(kinds: Sequence[str], rule: str = "text") -> tuple[frozenset[str], bool] | None:
    """Return the keywords and signs that may follow the tokens of these kinds, and whether a name may follow;
    None if no valid text begins with these tokens.

    >>> words, name = following(["SELECT", "A", "FROM", "T", "LEFT"])
    >>> sorted(words), name
    (['ANTI', 'ASOF', 'JOIN', 'OUTER', 'SEMI'], False)
    """
    grammar = spark_grammar()
    known, word = grammar.kinds, grammar.kinds["<word>"]
    beginning = _beginnings(grammar, rule).first
    for kind in (known.get(name, word) for name in kinds):
        beginning = beginning.following.get(kind) or _beginnings(grammar, rule).longer(beginning, kind)
        if not beginning.readings:
            return None
    with _following:
        states = [state for state, _ in _with_callers(beginning.readings)]
        found = frozenset[int]().union(*map(grammar.first_kinds, states))
    return frozenset(kind for kind, number in known.items() if number in found), NAME in found


def keywords_as_names(tokens: Tokens) -> list[int]:
    """Return the positions of the words in a valid text that are keywords of the grammar, but that can only
    be names in this text."""
    grammar = spark_grammar()
    kinds = [grammar.kinds.get(name, grammar.kinds["<word>"]) for name in tokens.kinds]
    readings = _at_start(grammar, "text")
    with _following:
        return _keywords_as_names(grammar, tokens, kinds, readings)


def _keywords_as_names(
    grammar: Grammar, tokens: Tokens, kinds: list[int], readings: list[Reading]
) -> list[int]:
    found = []
    for position, kind in enumerate(kinds):
        if tokens.kinds[position].isidentifier() and kind != grammar.kinds["<word>"]:
            others = _after(grammar, readings, ~kind)
            for following in kinds[position + 1 :]:
                others = _after(grammar, others, following)
            if not _is_whole(others):
                found.append(position)
        readings = _after(grammar, readings, kind)
    return found


def _at_start(grammar: Grammar, rule: str) -> list[Reading]:
    with _following:
        return [(grammar.start(rule), _NO_CALL)]


def _after(grammar: Grammar, readings: list[Reading], kind: int) -> list[Reading]:
    """Return the readings (states with their stacks of calls) after one more token of the kind ``kind``; an
    empty list if the token doesn't fit any reading."""
    entered: dict[State, _Call] = {}
    behind: dict[Reading, None] = {}
    for state, call in _with_callers(readings):
        for pushed, target in grammar.moves(state, kind):
            top = call
            for place in pushed:
                known = entered.get(place)
                if known is None:
                    known = entered[place] = _Call(place, top)
                elif top not in known.below:
                    known.below.append(top)
                top = known
            behind[target, top] = None
    return list(behind)


def _with_callers(readings: list[Reading]) -> Iterator[Reading]:
    """Yield the readings, and for each reading at the end of a rule the readings behind the rule's calls."""
    seen, readings = set(readings), list(readings)
    for state, call in readings:  # the loop appends the readings of calls that end
        yield state, call
        if state.is_end():
            for below in call.below:
                reading = (call.state, below)
                if reading not in seen:
                    seen.add(reading)
                    readings.append(reading)


def _is_whole(readings: list[Reading]) -> bool:
    """Return whether a text may end in one of these readings (states with their stacks of calls)."""
    return any(state.is_end() and not call.below for state, call in _with_callers(readings))
