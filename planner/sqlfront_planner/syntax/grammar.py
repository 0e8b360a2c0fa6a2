"""Spark's grammar (``spark.grammar``) as a network of states, made as far as texts need it.

A rule is a small automaton. Its edges take a token, or call another rule and go on where that ends. What a
state does with a token is worked out once: :meth:`Grammar.moves` says which calls have to be entered and
which state takes the token there.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

#: Names that may not stand where a join may follow.
_JOIN_WORDS: Final = [
    "ANTI",
    "CROSS",
    "EXCEPT",
    "FULL",
    "INNER",
    "INTERSECT",
    "JOIN",
    "LATERAL",
    "LEFT",
    "MINUS",
    "NATURAL",
    "ON",
    "RIGHT",
    "SEMI",
    "UNION",
    "USING",
]
#: Classes of tokens that stand for themselves, as a sign or a keyword does.
_CLASSES: Final = (
    "<bang>",
    "<code>",
    "<decimal>",
    "<integer>",
    "<long>",
    "<number>",
    "<string>",
    "<unknown>",
)
#: An outer bar that begins a line.
_BAR: Final = "\n                | "
#: Parentheses, braces, and bars that aren't in quotes.
_NESTING: Final = re.compile(r"(?<!')[(){}]| \| ")
_SYMBOL: Final = re.compile(r"'[^']+'|<[a-z ]+>|\w+|[(){}|*+?]")


class State:
    """A place in a rule. ``skips``: states that are reached from it without a token; ``edges``: a kind of
    tokens or the name of a rule, and the state behind it."""

    __slots__ = ("edges", "is_last", "known_end", "moves", "skips")

    def __init__(self) -> None:
        # Few states have more than one of each: tuples are less work for the garbage collector.
        self.skips: tuple[State, ...] = ()
        self.edges: tuple[tuple[frozenset[int] | str, State], ...] = ()
        #: What :meth:`Grammar.moves` found.
        self.moves: dict[int, tuple[Move, ...]] | None = None
        #: Whether the rule is over here, without a skip.
        self.is_last = False
        self.known_end: bool | None = None

    def skip_to(self, target: "State") -> None:
        """Let another state be reached from here without a token."""
        self.skips += (target,)

    def reached(self) -> list["State"]:
        """The state, and those that it skips to."""
        reached = [self]
        for state in reached:
            reached += [other for other in state.skips if other not in reached]
        return reached

    def is_end(self) -> bool:
        """Whether the rule may end here."""
        known = self.known_end
        if known is None:
            known = self.known_end = any(state.is_last for state in self.reached())
        return known


#: The states to return to from the calls that are entered, outermost first, and the state behind the token.
Move = tuple[tuple[State, ...], State]


class _Unread:
    """The alternatives of a rule that no text has needed yet, by the kind of token that each begins with."""

    __slots__ = ("end", "texts")

    def __init__(self) -> None:
        #: The state behind all of them.
        self.end = State()
        self.end.is_last = True
        self.texts: dict[int, list[str]] = {}


class Grammar:
    """The network. The states of an alternative come into being when a text reaches it: a process that runs a
    single statement pays for little more than the rules in it."""

    def __init__(self, text: str) -> None:
        self._rules = _rules_of(text)
        items = set(" ".join(self._rules.values()).split())
        symbols = {item.strip("{}?*+") if item[0] != "'" else item.rstrip("}?*+") for item in items}
        signs = sorted(symbol[1:-1] for symbol in symbols if symbol[:1] == "'")
        words = sorted(symbol for symbol in symbols if symbol.isupper() and symbol[0].isalpha())
        #: The number of each kind of token: signs, classes, then words.
        self.kinds: Final = {kind: number for number, kind in enumerate((*signs, *_CLASSES, *words))}
        for kind in ("<word>", "<quoted>"):
            self.kinds[kind] = len(self.kinds)
        names = frozenset(range(self.kinds[words[0]], len(self.kinds)))
        self._sets: Final[dict[str, frozenset[int]]] = {
            "<name>": names,
            "<strict name>": names - {self.kinds.get(word, -1) for word in _JOIN_WORDS},
            "<token>": frozenset(self.kinds.values()),
        }
        self._starts: dict[str, State] = {}
        self._unread: dict[State, _Unread] = {}

    def rules(self) -> tuple[str, ...]:
        """The names of the rules."""
        return tuple(self._rules)

    def start(self, rule: str) -> State:
        """The state in which a rule begins."""
        known = self._starts.get(rule)
        if known is None:
            known = self._starts[rule] = State()
            unread = self._unread[known] = _Unread()
            for alternative in _alternatives_of(self._rules[rule]):
                first = alternative.split(None, 1)[0]
                kind = None if first in ("(", "{") else self.kinds.get(first.strip("'"))
                if kind is None:  # a choice, a rule, or something that need not stand
                    self._read(known, unread.end, alternative)
                else:
                    unread.texts.setdefault(kind, []).append(alternative)
        return known

    def _read(self, start: State, end: State, text: str) -> None:
        """Make the states of an alternative."""
        _RuleParser(self, _SYMBOL.findall(text)).alternatives(start).skip_to(end)

    def moves(self, state: State, kind: int) -> tuple[Move, ...]:
        """The ways in which a token of that kind is taken in a state; of ``~kind``: if it isn't a name."""
        if state.moves is None:
            state.moves = {}
        known = state.moves.get(kind)
        if known is None:
            known = state.moves[kind] = tuple(dict.fromkeys(self._found_moves(state, kind)))
        return known

    def _found_moves(self, state: State, kind: int) -> Iterator[Move]:
        unread = self._unread.get(state)
        if unread is not None:
            for text in unread.texts.pop(kind if kind >= 0 else ~kind, ()):
                self._read(state, unread.end, text)
        for place in state.reached():
            for label, target in place.edges:
                if isinstance(label, str):
                    # A call that ends its own rule needs no place to return to.
                    is_tail = target.is_end() and not any(other.edges for other in target.reached())
                    pushed = () if is_tail else (target,)
                    for inner, behind in self.moves(self.start(label), kind):
                        yield (*pushed, *inner), behind
                elif kind in label if kind >= 0 else label == {~kind}:
                    yield (), target

    def label(self, symbol: str) -> frozenset[int] | str:
        """What an edge takes: the kinds of tokens that a symbol stands for, or the rule of that name."""
        if symbol in self._rules:
            return symbol
        known = self._sets.get(symbol)
        if known is None:
            known = self._sets[symbol] = frozenset((self.kinds[symbol.strip("'")],))
        return known


def _rules_of(text: str) -> dict[str, str]:
    """The text of each rule by its name, which begins a line; what goes on from there is indented."""
    rules: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line[:1] == " ":
            rules[name] += "\n" + line
        elif line and line[0] != "#":
            name, _, first = line.partition(":")
            name = name.rstrip()
            rules[name] = first
    return rules


def _alternatives_of(rule: str) -> list[str]:
    """What stands between the outer bars of a rule."""
    found: list[str] = []
    for text in rule.split(_BAR):
        if " | " not in text:
            found.append(text)
            continue
        begin = depth = 0
        for item in _NESTING.finditer(text):
            if item[0] != " | ":
                depth += 1 if item[0] in "({" else -1
            elif not depth:
                found.append(text[begin : item.start()])
                begin = item.end()
        found.append(text[begin:])
    return found


class _RuleParser:
    """Makes the states of one rule from its text."""

    def __init__(self, grammar: Grammar, symbols: list[str]) -> None:
        self._grammar = grammar
        self._symbols = [*symbols, ""]
        self._position = 0

    def alternatives(self, start: State) -> State:
        """What stands between bars; returns the state behind all of them."""
        end = self._sequence(start)
        if self._symbols[self._position] == "|":
            first, end = end, State()
            first.skip_to(end)
        while self._symbols[self._position] == "|":
            self._position += 1
            self._sequence(start).skip_to(end)
        return end

    def _sequence(self, state: State) -> State:
        while self._symbols[self._position] not in ("", "|", ")", "}"):
            state = self._repeated(state)
        return state

    def _repeated(self, state: State) -> State:
        """An item and how often it may stand."""
        mark = self._mark()
        if not mark:
            return self._item(state)
        begin, end = State(), State()
        state.skip_to(begin)
        behind = self._item(begin)
        behind.skip_to(end)
        self._position += 1
        if mark != "+":
            begin.skip_to(end)
        if mark != "?":
            behind.skip_to(begin)
        return end

    def _mark(self) -> str:
        """What says how often the next item may stand, "" if it stands once."""
        depth, place = 0, self._position
        while True:
            symbol = self._symbols[place]
            depth += (symbol in ("(", "{")) - (symbol in (")", "}"))
            place += 1
            if not depth:
                break
        mark = self._symbols[place]
        return mark if mark in ("?", "*", "+") else ""

    def _item(self, state: State) -> State:
        """One symbol, a choice in parentheses, or a list."""
        symbol = self._symbols[self._position]
        self._position += 1
        if symbol == "(":
            end = self.alternatives(state)
        elif symbol == "{":
            begin = State()
            state.skip_to(begin)
            end = self.alternatives(begin)
            self._taken(end, "','").skip_to(begin)
        else:
            return self._taken(state, symbol)
        self._position += 1
        return end

    def _taken(self, state: State, symbol: str) -> State:
        """The state behind a symbol."""
        target = State()
        state.edges += ((self._grammar.label(symbol), target),)
        return target


@cache
def spark_grammar() -> Grammar:
    """Spark's."""
    return Grammar(Path(__file__).with_name("spark.grammar").read_text(encoding="utf-8"))
