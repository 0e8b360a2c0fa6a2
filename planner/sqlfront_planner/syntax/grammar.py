"""Spark's grammar (``spark.grammar``) as a network of states, built on demand.

A rule is a small automaton. Its edges take a token, or call another rule and continue at that rule's end. The
transitions of a state are computed once per kind of token: :meth:`Grammar.moves` returns the calls to enter
and the state after the token.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

#: Words that are no names where a join may follow.
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
#: Classes of tokens that the grammar names directly, like signs and keywords.
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
#: In the result of :meth:`Grammar.first_kinds`: any name.
NAME: Final = -1
#: The beginning of a line with an outer bar.
_BAR: Final = "\n                | "
#: Parentheses, braces, and bars outside of quotes.
_NESTING: Final = re.compile(r"(?<!')[(){}]| \| ")
_SYMBOL: Final = re.compile(r"'[^']+'|<[a-z ]+>|\w+|[(){}|*+?]")


class State:
    """A state of a rule's automaton. ``skips`` are the states that are reached from this state without a
    token; ``edges`` are pairs of a label (a set of token kinds as numbers, or the name of a rule) and the
    state after it."""

    __slots__ = ("edges", "is_last", "known_end", "moves", "skips")

    def __init__(self) -> None:
        # Few states have more than one skip or edge: tuples are less work for the garbage collector.
        self.skips: tuple[State, ...] = ()
        self.edges: tuple[tuple[frozenset[int] | str, State], ...] = ()
        #: Cached results of :meth:`Grammar.moves`.
        self.moves: dict[int, tuple[Move, ...]] | None = None
        #: Whether the rule ends in this state, without a skip.
        self.is_last = False
        self.known_end: bool | None = None

    def skip_to(self, target: "State") -> None:
        """Make ``target`` reachable from this state without a token."""
        self.skips += (target,)

    def reached(self) -> list["State"]:
        """Return this state, and all states that are reached from it without a token."""
        reached = [self]
        for state in reached:
            reached += [other for other in state.skips if other not in reached]
        return reached

    def is_end(self) -> bool:
        """Return whether the rule may end in this state, or in a state that is reached without a token."""
        known = self.known_end
        if known is None:
            known = self.known_end = any(state.is_last for state in self.reached())
        return known


#: A transition: the states to return to from the entered calls, outermost first, and the state behind the
#: token.
Move = tuple[tuple[State, ...], State]


class _Unread:
    """The alternatives of a rule whose states aren't built yet, since no text has needed them: their texts,
    by the kind of each alternative's first token."""

    __slots__ = ("end", "texts")

    def __init__(self) -> None:
        #: The state behind all alternatives.
        self.end = State()
        self.end.is_last = True
        self.texts: dict[int, list[str]] = {}


class Grammar:
    """The network of states of a grammar's text. The states of an alternative are built when a text reaches
    it: a process that runs a single statement pays for little more than the rules of that statement."""

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
        #: Cached results of :meth:`first_kinds`.
        self._firsts: dict[State, frozenset[int]] = {}

    def rules(self) -> tuple[str, ...]:
        """Return the names of the rules."""
        return tuple(self._rules)

    def start(self, rule: str) -> State:
        """Return the first state of a rule. The rule's alternatives that begin with a token are built later,
        when a text needs them."""
        known = self._starts.get(rule)
        if known is None:
            known = self._starts[rule] = State()
            unread = self._unread[known] = _Unread()
            for alternative in _alternatives_of(self._rules[rule]):
                first = alternative.split(None, 1)[0]
                kind = None if first in ("(", "{") else self.kinds.get(first.strip("'"))
                if kind is None:  # a choice, a rule, or an optional item
                    self._read(known, unread.end, alternative)
                else:
                    unread.texts.setdefault(kind, []).append(alternative)
        return known

    def _read(self, start: State, end: State, text: str) -> None:
        """Build the states of the alternative ``text`` between the states ``start`` and ``end``."""
        _RuleParser(self, _SYMBOL.findall(text)).alternatives(start).skip_to(end)

    def moves(self, state: State, kind: int) -> tuple[Move, ...]:
        """Return the transitions from a state by a token of the kind ``kind``, empty if the token doesn't
        fit. A transition is a pair: the states in which parsing goes on after the rules that the token
        begins, outermost first, and the state after the token. A keyword's kind also fits where a name is
        allowed; ``~kind``, its bitwise complement, fits only where the grammar has the keyword itself."""
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
                    # A call at the end of its rule needs no state to return to.
                    is_tail = target.is_end() and not any(other.edges for other in target.reached())
                    pushed = () if is_tail else (target,)
                    for inner, behind in self.moves(self.start(label), kind):
                        yield (*pushed, *inner), behind
                elif kind in label if kind >= 0 else label == {~kind}:
                    yield (), target

    def first_kinds(self, state: State) -> frozenset[int]:
        """Return the kinds, as numbers, of the tokens that may follow in a state. A keyword or sign that the
        grammar has there is in the set; NAME stands for all words where a name is allowed."""
        known = self._firsts.get(state)
        if known is None:
            known = self._firsts[state] = frozenset(self._found_firsts(state))
        return known

    def _found_firsts(self, state: State) -> Iterator[int]:
        unread = self._unread.get(state)
        if unread is not None:
            yield from tuple(unread.texts)
        for place in state.reached():
            for label, _ in place.edges:
                if isinstance(label, str):
                    yield from self.first_kinds(self.start(label))
                elif len(label) == 1:
                    yield from label
                else:
                    yield NAME

    def label(self, symbol: str) -> frozenset[int] | str:
        """Return the label of an edge for a symbol of the grammar's text: the symbol if it is the name of a
        rule, else the set of the token kinds that the symbol stands for."""
        if symbol in self._rules:
            return symbol
        known = self._sets.get(symbol)
        if known is None:
            known = self._sets[symbol] = frozenset((self.kinds[symbol.strip("'")],))
        return known


def _rules_of(text: str) -> dict[str, str]:
    """Split the grammar's text into rules; return the text of each rule by its name. A name begins a line;
    the lines that continue a rule are indented."""
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
    """Split the text of a rule at the bars outside of parentheses and braces; return the texts of the
    alternatives."""
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
    """A parser that builds the states of one alternative from the symbols of its text."""

    def __init__(self, grammar: Grammar, symbols: list[str]) -> None:
        self._grammar = grammar
        self._symbols = [*symbols, ""]
        self._position = 0

    def alternatives(self, start: State) -> State:
        """Build alternatives, separated by bars, that all begin in the state ``start``; return the state in
        which they all end."""
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
        """Build an item, repeated as its mark ``?``, ``*`` or ``+`` says, from ``state`` on; return the state
        after the item."""
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
        """Return the repetition mark (``?``, ``*`` or ``+``) of the next item, "" if the item has none."""
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
        """Build one item from ``state`` on: a symbol, a choice in parentheses, or in braces an item that
        repeats with commas between. Return the state after the item."""
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
        """Add an edge for a symbol to ``state``; return the state to which the edge leads."""
        target = State()
        state.edges += ((self._grammar.label(symbol), target),)
        return target


@cache
def spark_grammar() -> Grammar:
    """Return the grammar of Spark, read from ``spark.grammar`` at the first call."""
    return Grammar(Path(__file__).with_name("spark.grammar").read_text(encoding="utf-8"))
