"""The relations and columns that are visible at a position of a statement, which may be half typed.

The statement is read by its tokens and parentheses alone, since a parser would refuse most half-typed texts.
A text that would fail when run has a scope, too: what can't be read is left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from sqlfront.shell.interactive.completion.names import KnownColumn
from sqlfront.shell.interactive.text.tokens import OPERAND_ENDS, TextToken, name_of

#: Finds the columns of a dotted name; none for an unknown name.
FindColumns = Callable[[Sequence[str]], tuple[KnownColumn, ...]]
Columns = tuple[KnownColumn, ...]
#: The columns of common table expressions, by name in lower case.
Expressions = Mapping[str, "Columns"]

#: Words behind which a relation is named.
RELATION_WORDS: Final = frozenset(
    {"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "DESC", "OVERWRITE", "VIEW", "CACHE", "UNCACHE"}
)
_SET_WORDS: Final = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_QUERY_WORDS: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
#: Words that begin another clause than FROM.
CLAUSES: Final = frozenset(
    {
        "SELECT",
        "WHERE",
        "GROUP",
        "ORDER",
        "HAVING",
        "SORT",
        "CLUSTER",
        "DISTRIBUTE",
        "LIMIT",
        "QUALIFY",
        "WINDOW",
        "SET",
    }
    | {"WHEN", "VALUES", "OFFSET", "PARTITION"}
)
#: Words behind a relation that are no alias.
_NO_ALIAS: Final = CLAUSES | _SET_WORDS | {
    "ON", "USING", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "ANTI", "SEMI", "OUTER",
    "LATERAL", "TABLESAMPLE", "PIVOT", "UNPIVOT", "FROM", "THEN", "MATCHED", "NOT", "FOR", "VERSION",
    "TIMESTAMP", "IF", "PURGE",
}  # fmt: skip
#: Words that may stand before the name of a relation.
_BEFORE_NAME: Final = frozenset(
    {"LATERAL", "TABLE", "ONLY", "IF", "NOT", "EXISTS", "EXTENDED", "FORMATTED", "LAZY"}
)
#: Queries within queries that are read; deeper ones have no columns.
_DEEPEST: Final = 24


class VisibleRelation(msgspec.Struct, frozen=True):
    """A relation whose columns a position in a query can name: the name or alias that qualifies the columns
    (empty: none), and the columns."""

    name: str
    columns: Columns


class VisibleNames(msgspec.Struct, frozen=True):
    """The names that completion offers at a position in a statement: the visible relations, those of the
    innermost query first, and the names of the common table expressions in ``expressions``. ``outputs``: the
    named columns of the innermost query's SELECT list."""

    relations: tuple[VisibleRelation, ...] = ()
    expressions: tuple[str, ...] = ()
    outputs: Columns = ()


def scope_at(text: str, tokens: Sequence[TextToken], place: int, find: FindColumns) -> VisibleNames:
    """Return the names that are visible at a position in a statement: behind the first ``place`` (a number)
    of its ``tokens``. The tokens after the position are read, too, since FROM follows SELECT. ``find``
    returns the columns of a table, given the parts of its dotted name."""
    reader = _Reader(text, tokens, find)
    expressions: dict[str, Columns] = {}
    relations: list[VisibleRelation] = []
    outputs: Columns = ()
    for first, last in reader.around(place):
        begin, found = reader.with_clause(first, last, expressions)
        expressions |= found
        if place < begin:
            continue
        begin, end = reader.block(begin, last, place)
        relations = [*reader.relations(begin, end, expressions, 0), *relations]
        outputs = tuple(reader.items(begin, end, relations))
    return VisibleNames(tuple(relations), tuple(expressions), outputs)


class _Reader:
    """A reader of the relations and columns in a statement's tokens. ``find`` returns the columns of a table,
    given the parts of its dotted name.

    Positions count tokens; ``first`` and ``last`` are a half-open range of positions. ``known``: the columns
    of each common table expression in scope, by name. ``depth``: the number of queries around the range."""

    def __init__(self, text: str, tokens: Sequence[TextToken], find: FindColumns) -> None:
        self._text, self._tokens, self._find = text, tokens, find
        self._kinds = [token.kind for token in tokens]
        self._partners = self._matched()

    def _matched(self) -> dict[int, int]:
        """Return the position of the closing parenthesis by the position of the opening one. For a
        parenthesis that is not closed, it is the number of tokens."""
        found, opened = {}, []
        for place, kind in enumerate(self._kinds):
            if kind == "(":
                opened.append(place)
            elif kind == ")" and opened:
                found[opened.pop()] = place
        return found | dict.fromkeys(opened, len(self._kinds))

    def around(self, place: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the queries around the position ``place``, outermost first: the statement, then
        each pair of parentheses that holds a query. Positions count tokens."""
        yield 0, len(self._kinds)
        for first, last in sorted(self._partners.items()):
            if first < place <= last and self._kind(first + 1) in _QUERY_WORDS:
                yield first + 1, last

    def _kind(self, place: int) -> str:
        return self._kinds[place] if place < len(self._kinds) else ""

    def _is_name(self, place: int) -> bool:
        return place < len(self._tokens) and (self._tokens[place].is_word or self._kinds[place] == "<quoted>")

    def _name(self, place: int) -> str:
        return name_of(self._text, self._tokens[place])

    def _level(self, first: int, last: int) -> Iterator[int]:
        """Yield the positions in a range that are outside of parentheses; of parentheses, only the position
        of the opening one."""
        place = first
        while place < last:
            yield place
            place = self._partners.get(place, place) + 1

    def block(self, first: int, last: int, place: int) -> tuple[int, int]:
        """Return the range of the part of a query that holds the position ``place``: UNION, EXCEPT and
        INTERSECT separate the parts. ``first`` and ``last``: the query's range. All positions count tokens.
        """
        begin = first
        for at in self._level(first, last):
            if self._kinds[at] in _SET_WORDS:
                if place <= at:
                    return begin, at
                begin = at + 1
        return begin, last

    def with_clause(
        self, first: int, last: int, known: Expressions, depth: int = 0
    ) -> tuple[int, dict[str, Columns]]:
        """Return the position behind the WITH clause with which the range begins, and the columns of the
        clause's common table expressions by name. Without a WITH clause: ``first``, and no columns.
        ``known``: the columns of the common table expressions in scope, by name; ``depth``: the number of
        queries around the range."""
        found: dict[str, Columns] = {}
        if self._kind(first) != "WITH":
            return first, found
        place = first + 1 + (self._kind(first + 1) == "RECURSIVE")
        while place < last and self._is_name(place):
            name, place = self._name(place), place + 1
            names: list[str] | None = None
            if self._kind(place) == "(" and self._kind(place + 1) not in _QUERY_WORDS:
                names, place = self._names_in(place), self._partners[place] + 1
            place += self._kind(place) == "AS"
            if self._kind(place) != "(":
                break
            columns = self.outputs(place + 1, min(self._partners[place], last), {**known, **found}, depth + 1)
            found[name.lower()] = _renamed(columns, names)
            place = self._partners[place] + 1
            if self._kind(place) != ",":
                break
            place += 1
        return min(place, last), found

    def _names_in(self, opening: int) -> list[str]:
        """Return the names in the list whose opening parenthesis is at ``opening``."""
        inside = range(opening + 1, min(self._partners[opening], len(self._kinds)))
        return [
            self._name(place)
            for place in inside
            if self._is_name(place) and self._kind(place - 1) in ("(", ",")
        ]

    def relations(self, first: int, last: int, known: Expressions, depth: int) -> list[VisibleRelation]:
        """Return the relations of a range without set operations: those of its FROM clause, or the target of
        an INSERT, UPDATE, DELETE or MERGE. ``known``: the columns of the common table expressions in scope,
        by name; ``depth``: the number of queries around the range."""
        found: list[VisibleRelation] = []
        in_from, expects = False, False
        behind = first
        for place in self._level(first, last):
            kind = self._kinds[place]
            if place < behind:
                continue
            if kind == "VIEW" and self._kind(place - 1) == "LATERAL":
                found += self._lateral_view(place, last)
            elif self._names_relation(place, first):
                in_from = expects = True
            elif kind == "," and in_from:
                expects = True
            elif kind in CLAUSES and not (expects and kind == "VALUES"):
                in_from = expects = False
            elif expects and kind not in _BEFORE_NAME:
                behind, relations = self._relation(place, last, known, depth)
                found += relations
                expects = False
        return found

    def _names_relation(self, place: int, first: int) -> bool:
        """Return whether the name of a relation follows the token at ``place``; ``first`` is the position at
        which the query begins."""
        kind = self._kinds[place]
        if kind == "FROM":
            return self._kind(place - 1) != "DISTINCT" or place == first
        if kind == "USING":
            return self._kind(first) == "MERGE"
        return kind in RELATION_WORDS

    def _relation(
        self, place: int, last: int, known: Expressions, depth: int
    ) -> tuple[int, list[VisibleRelation]]:
        """Return the position behind the relation that begins at ``place``, and the relation: a table, a
        subquery, VALUES, or a function. A join in parentheses is several relations; a token that begins no
        relation is none. For ``known`` and ``depth`` see :class:`_Reader`."""
        name, columns = "", Columns()
        if self._kinds[place] == "(":
            end = min(self._partners[place], last)
            if self._kind(place + 1) not in (*_QUERY_WORDS, "("):
                return end + 1, self.relations_in(place + 1, end, known, depth + 1)
            columns, place = self.outputs(place + 1, end, known, depth + 1), end + 1
        elif self._kinds[place] == "VALUES":
            columns, place = self._values(place + 1), self._behind_rows(place + 1, last)
        elif self._is_name(place):
            parts, place = self._dotted(place)
            name = parts[-1]
            if self._kind(place) == "(" and self._kind(place - 2) != "INTO":  # a function
                place = min(self._partners[place], last) + 1
            elif len(parts) == 1 and name.lower() in known:
                columns = known[name.lower()]
            else:
                columns = self._find(parts)
        else:
            return place + 1, []
        return self._with_alias(place, name, columns)

    def relations_in(self, first: int, last: int, known: Expressions, depth: int) -> list[VisibleRelation]:
        """Return the relations of a join whose parentheses hold the range; none if the range is nested too
        deeply. ``known``: the columns of the common table expressions in scope, by name; ``depth``: the
        number of queries around the range."""
        if depth > _DEEPEST or first >= last:
            return []
        behind, found = self._relation(first, last, known, depth)
        return [*found, *self.relations(behind, last, known, depth)]

    def _with_alias(self, place: int, name: str, columns: Columns) -> tuple[int, list[VisibleRelation]]:
        """Return the position behind the alias that may stand at ``place``, and, as the only item of a list,
        the relation: under its alias if it has one, else under ``name``."""
        has_word = self._kind(place) == "AS"
        place += has_word
        if self._is_name(place) and (has_word or self._kind(place) not in _NO_ALIAS):
            name, place = self._name(place), place + 1
            if self._kind(place) == "(":
                columns = _renamed(columns, self._names_in(place))
                place = self._partners[place] + 1
        return place, [VisibleRelation(name, columns)]

    def _dotted(self, place: int) -> tuple[list[str], int]:
        """Return the parts of the dotted name that begins at ``place``, and the position behind the name."""
        parts = [self._name(place)]
        while self._kind(place + 1) == "." and self._is_name(place + 2):
            place += 2
            parts.append(self._name(place))
        return parts, place + 1

    def _lateral_view(self, place: int, last: int) -> list[VisibleRelation]:
        """Return the relation of ``LATERAL VIEW function(...) name AS columns``, whose VIEW is at ``place``,
        as the only item of a list; the list is empty if the clause is incomplete."""
        place += 1 + (self._kind(place + 1) == "OUTER")
        if not self._is_name(place) or self._kind(place + 1) != "(":
            return []
        place = self._partners[place + 1] + 1
        name, columns = "", list[KnownColumn]()
        if self._is_name(place) and self._kind(place) != "AS":
            name, place = self._name(place), place + 1
        place += self._kind(place) == "AS"
        while place < last and self._is_name(place) and self._kind(place) not in _NO_ALIAS:
            columns.append(KnownColumn(self._name(place)))
            place += 1 if self._kind(place + 1) != "," else 2
        return [VisibleRelation(name, tuple(columns))]

    def outputs(self, first: int, last: int, known: Expressions, depth: int) -> Columns:
        """Return the named columns of the result of the query in the range; none if the query is nested too
        deeply. ``known``: the columns of the common table expressions in scope, by name; ``depth``: the
        number of queries around the range."""
        if depth > _DEEPEST or first >= last:
            return ()
        if self._kinds[first] == "(":
            return self.outputs(first + 1, min(self._partners[first], last), known, depth + 1)
        begin, found = self.with_clause(first, last, known, depth)
        known = {**known, **found}
        begin, end = self.block(begin, last, begin)
        kind = self._kind(begin)
        if kind == "VALUES":
            return self._values(begin + 1)
        if kind == "TABLE" and self._is_name(begin + 1):
            parts, _ = self._dotted(begin + 1)
            return (
                known[parts[0].lower()]
                if len(parts) == 1 and parts[0].lower() in known
                else self._find(parts)
            )
        return tuple(self.items(begin, end, self.relations(begin, end, known, depth + 1)))

    def _values(self, place: int) -> Columns:
        """Return the columns ``col1``, ``col2`` ... of VALUES, as many as the first row has values. The first
        row begins at ``place``."""
        if self._kind(place) != "(":
            return (KnownColumn("col1"),)
        last = min(self._partners[place], len(self._kinds))
        count = 1 + sum(self._kinds[at] == "," for at in self._level(place + 1, last))
        return tuple(KnownColumn(f"col{number + 1}") for number in range(count))

    def _behind_rows(self, place: int, last: int) -> int:
        """Return the position behind the rows of VALUES in parentheses, the first of which begins at
        ``place``."""
        while self._kind(place) == "(":
            place = min(self._partners[place], last - 1) + 1
            place += self._kind(place) == "," and self._kind(place + 1) == "("
        return place

    def items(self, first: int, last: int, relations: Sequence[VisibleRelation]) -> Iterator[KnownColumn]:
        """Yield the named columns that the SELECT list in a range produces, if the query in the range reads
        these relations. A query that begins with FROM and has no SELECT produces all columns of the
        relations."""
        level = list(self._level(first, last))
        start = next((at for at, place in enumerate(level) if self._kinds[place] == "SELECT"), None)
        if start is None:
            for relation in relations if self._kind(first) == "FROM" else ():
                yield from relation.columns
            return
        item: list[int] = []
        for place in level[start + 1 :]:
            kind = self._kinds[place]
            if kind in CLAUSES or (kind == "FROM" and self._kind(place - 1) != "DISTINCT"):
                break
            if kind == ",":
                yield from self._item(item, relations)
                item = []
            elif item or kind not in ("DISTINCT", "ALL"):
                item.append(place)
        yield from self._item(item, relations)

    def _item(self, item: Sequence[int], relations: Sequence[VisibleRelation]) -> Iterator[KnownColumn]:
        """Yield the named columns of one item of a SELECT list, given the positions of the item's tokens:
        several for ``*``, none for an expression without an alias."""
        if not item:
            return
        last = item[-1]
        if self._kinds[last] == "*":
            qualifier = self._name(item[-3]).lower() if len(item) > 2 and self._is_name(item[-3]) else None
            for relation in relations:
                if qualifier is None or relation.name.lower() == qualifier:
                    yield from relation.columns
        elif self._is_name(last):
            is_alias = len(item) > 1 and self._kind(item[-2]) != "."
            if is_alias and self._kind(item[-2]) != "AS" and not self._ends_operand(item[-2]):
                return
            name = self._name(last)
            same = (
                each
                for relation in relations
                for each in relation.columns
                if each.name.lower() == name.lower()
            )
            known = None if is_alias else next(same, None)
            yield KnownColumn(name, "" if known is None else known.type)

    def _ends_operand(self, place: int) -> bool:
        """Return whether the token at ``place`` may end an operand, so that a name behind it is an alias. The
        position of an opening parenthesis stands for the whole pair."""
        return self._kinds[place] in OPERAND_ENDS or self._kinds[place] == "(" or self._tokens[place].is_word


def _renamed(columns: Columns, names: Sequence[str] | None) -> Columns:
    """Return the columns under the given names, as far as the names reach; without names, the columns as they
    are."""
    if not names:
        return columns
    types = [column.type for column in columns] + [""] * len(names)
    return tuple(KnownColumn(name, kind) for name, kind in zip(names, types, strict=False))
