"""The candidates for completing a text at the cursor."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final

import msgspec

from sqlfront.session import Session
from sqlfront.shell.interactive.completion.functions import known_functions
from sqlfront.shell.interactive.completion.names import KnownColumn, SessionNames
from sqlfront.shell.interactive.completion.paths import paths, typed_path
from sqlfront.shell.interactive.completion.scope import CLAUSES, RELATION_WORDS, VisibleNames, scope_at
from sqlfront.shell.interactive.display.visible import one_line
from sqlfront.shell.interactive.text.command_lines import is_command
from sqlfront.shell.interactive.text.statements import ends_of
from sqlfront.shell.interactive.text.tokens import (
    OPERAND_ENDS,
    TextToken,
    name_of,
    position_of,
    text_tokens,
)
from sqlfront.shell.output.formats import FORMATS
from sqlfront_planner.syntax.recognizer import following

#: Characters of a text from which on nothing is completed, so that typing stays quick.
_LONGEST: Final = 50_000
#: Candidates at most.
_MOST: Final = 200
#: Cells of the menu for the comment of a table or column.
_LONGEST_COMMENT: Final = 40
#: Keywords behind which an operand follows, not a name of an alias.
_OPERAND_WORDS: Final = frozenset({"END", "NULL", "TRUE", "FALSE", "CURRENT_DATE", "CURRENT_TIMESTAMP"})
#: Keywords that may stand before the name of a relation.
_BEFORE_RELATION: Final = frozenset(
    {"IF", "LATERAL", "TABLE", "VALUES", "EXTENDED", "FORMATTED", "IDENTIFIER"}
)
#: Keywords that may stand before the name of a job.
_BEFORE_JOB: Final = frozenset({"IF", "NOT", "EXISTS", "EXTENDED"})
#: The names of types, in Spark's spelling.
_TYPES: Final = (
    "array", "bigint", "binary", "boolean", "char", "date", "decimal", "double", "float", "int", "interval",
    "map", "smallint", "string", "struct", "timestamp", "timestamp_ntz", "tinyint", "varchar",
)  # fmt: skip
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SETTING: Final = re.compile(r"(?is)\s*(?:re)?set\s+([\w.]*)")


class CandidateKind(IntEnum):
    """The kind of a candidate, in the order in which the menu groups candidates."""

    COLUMN = 0
    """A column in scope."""
    RELATION = 1
    """A table, a view, or the alias of one in scope."""
    JOB = 2
    """A durable job."""
    PATH = 3
    """A file or folder."""
    SETTING = 4
    """A setting of the session."""
    COMMAND = 5
    """A command of the shell, or an argument of one."""
    FUNCTION = 6
    """A function."""
    TYPE = 7
    """A type of values."""
    KEYWORD = 8
    """A keyword."""


class Completable(msgspec.Struct, frozen=True):
    """A candidate of the completion: ``text`` can replace the last ``replaced`` characters before the cursor.
    The menu shows the candidate as ``shown``, with ``meta`` beside it: a type, a signature, or one line of
    help."""

    text: str
    replaced: int
    kind: CandidateKind
    shown: str
    meta: str = ""


class Candidates:
    """The source of completion candidates for texts that the user types in a session. ``commands``: the help
    of each of the shell's commands, one line each, by the command's name without the backslash."""

    def __init__(self, session: Session, commands: Mapping[str, str]) -> None:
        self._session, self._commands = session, commands
        self._names = SessionNames(session)

    def warm(self) -> None:
        """Load the data behind the candidates, so that the first candidates come as quickly as later ones."""
        self.at("SELECT a", len("SELECT a"))

    def at(self, text: str, cursor: int, *, asked: bool = True) -> list[Completable]:
        """Return the candidates for ``text`` with the cursor at the offset ``cursor``, the likeliest first.
        ``asked``: whether the user pressed the completion key; if not, there are no candidates before the
        first letter of a word."""
        before = text[:cursor]
        if len(text) > _LONGEST:
            return []
        if is_command(before):
            return self._of_command(before.lstrip())
        path = typed_path(before)
        if path is not None:
            return list(_path_candidates(*path, closing="" if text[cursor:].startswith("`") else "`"))
        return self._of_statement(text, cursor, asked=asked)

    # ---- commands

    def _of_command(self, line: str) -> list[Completable]:
        name, blank, argument = line.removeprefix("\\").partition(" ")
        if not blank:
            found = ((f"\\{each}", text) for each, text in self._commands.items())
            return _matching(found, line, CandidateKind.COMMAND)
        match name:
            case "format":
                return _matching(((each, "") for each in FORMATS), argument, CandidateKind.COMMAND)
            case "x":
                return _matching(
                    ((each, "") for each in ("on", "off", "auto")), argument, CandidateKind.COMMAND
                )
            case "timing":
                return _matching(((each, "") for each in ("on", "off")), argument, CandidateKind.COMMAND)
            case "d" | "dt" | "dv":
                return _matching(self._relations(), argument, CandidateKind.RELATION)
            case "df":
                functions = ((each.name, each.help) for each in known_functions(self._session))
                return _matching(functions, argument, CandidateKind.FUNCTION)
            case "i" | "o" | "e":
                return list(_path_candidates(None, argument))
        return []

    def _relations(self) -> Iterator[tuple[str, str]]:
        return (
            (relation.name, _with_comment(relation.kind, relation.comment))
            for relation in self._names.relations()
        )

    # ---- statements

    def _of_statement(self, text: str, cursor: int, *, asked: bool) -> list[Completable]:
        tokens = text_tokens(text)
        place = position_of(tokens, cursor)
        typed, place = _typed(text, tokens, place, cursor)
        if typed is None:
            return []
        first, last = _statement_around(tokens, place)
        own, place = tokens[first:last], place - first
        setting = _SETTING.fullmatch(text[own[0].start : cursor]) if own else None
        if setting is not None:
            options = self._session.options.items()
            return _matching(options, setting[1], CandidateKind.SETTING)
        is_qualified = place > 0 and own[place - 1].kind == "."
        if not typed and not asked and not is_qualified:
            return []
        scope = scope_at(text, own, place, self._names.columns)
        if is_qualified:
            return self._qualified(_qualifier(text, own, place - 1), scope, typed)
        found = self._unqualified(own, place, scope, typed)
        return [each for each in found if each.text.lower() != typed.lower()][:_MOST]

    def _qualified(self, qualifier: list[str], scope: VisibleNames, typed: str) -> list[Completable]:
        """Return the candidates behind ``qualifier`` and a dot: the columns of the relation in scope with
        this name, and the relations of the database with this name. ``typed``: the letters behind the dot."""
        if not qualifier:
            return []
        last = qualifier[-1].lower()
        columns = [
            (column.name, _meta(column, relation.name))
            for relation in scope.relations
            if relation.name.lower() == last
            for column in relation.columns
        ]
        start = ".".join(qualifier).lower() + "."
        relations = [
            (relation.name[len(start) :], _with_comment(relation.kind, relation.comment))
            for relation in self._names.relations()
            if relation.name.lower().startswith(start)
        ]
        found = _matching(columns, typed, CandidateKind.COLUMN)
        return found + _matching(relations, typed, CandidateKind.RELATION)

    def _unqualified(
        self, tokens: Sequence[TextToken], place: int, scope: VisibleNames, typed: str
    ) -> list[Completable]:
        kinds = [token.kind for token in tokens[:place]]
        before = kinds[-1] if kinds else ""
        known = following(kinds)
        possible, takes_name = known if known is not None else (frozenset[str](), True)
        keywords = _matching(_in_case(possible, typed), typed, CandidateKind.KEYWORD, inside=False)
        if before == "::" or (before == "AS" and _is_cast(kinds)):
            return _matching(((each, "type") for each in _TYPES), typed, CandidateKind.TYPE, inside=False)
        if not takes_name or before == "AS" or _ends_operand(tokens, place - 1):
            return keywords
        if _expects_job(kinds):
            jobs = self._names.jobs() if kinds[0] != "CREATE" else ()
            return _matching(jobs, typed, CandidateKind.JOB) + keywords
        if _expects_relation(kinds):
            own = ((name, "common table expression") for name in scope.expressions)
            relations = _matching([*own, *self._relations()], typed, CandidateKind.RELATION)
            return relations + [each for each in keywords if each.text.upper() in _BEFORE_RELATION]
        functions = self._functions(typed)
        called = {each.text[:-1] for each in functions}
        words = [each for each in keywords if each.text.lower() not in called]
        return [*self._columns(scope, kinds, typed), *functions, *words]

    def _columns(self, scope: VisibleNames, kinds: Sequence[str], typed: str) -> list[Completable]:
        """Return the columns of the relations in ``scope`` that match the letters ``typed``, then the names
        of the relations. ``kinds``: the kinds of the statement's tokens before the letters; in ORDER BY and
        similar clauses, aliases of the SELECT list are columns, too."""
        columns: dict[str, tuple[str, str]] = {}
        for relation in scope.relations:
            for column in relation.columns:
                columns.setdefault(column.name.lower(), (column.name, _meta(column, relation.name)))
        if _clause(kinds) in ("ORDER", "GROUP", "HAVING", "SORT", "QUALIFY"):
            for column in scope.outputs:
                columns.setdefault(column.name.lower(), (column.name, column.type))
        names = [(relation.name, "") for relation in scope.relations if relation.name]
        found = _matching(columns.values(), typed, CandidateKind.COLUMN)
        return found + _matching(names, typed, CandidateKind.RELATION)

    def _functions(self, typed: str) -> list[Completable]:
        """Return candidates for the functions whose names begin with the letters ``typed``; none if it is
        empty."""
        if not typed:
            return []
        lowered = typed.lower()
        return [
            Completable(
                f"{each.name}(", len(typed), CandidateKind.FUNCTION, each.signature or each.name, each.help
            )
            for each in known_functions(self._session)
            if each.name.startswith(lowered)
        ]


def _typed(text: str, tokens: Sequence[TextToken], place: int, cursor: int) -> tuple[str | None, int]:
    """Return the beginning of a word that was typed before the cursor, and the number of tokens before that
    word. The beginning is empty between words, and None in a string or a comment, where nothing is completed.
    ``place``: the number of tokens that end before the cursor or at it."""
    if place < len(tokens) and tokens[place].start < cursor:  # the cursor is in this token, or at its end
        token = tokens[place]
        written = text[token.start : cursor]
        if token.is_word or written[0] == "`":
            return written, place
        return (None, place) if token.kind in ("<string>", "<unknown>", "<code>") else ("", place + 1)
    if place and tokens[place - 1].end == cursor:
        token = tokens[place - 1]
        if token.is_word:
            return text[token.start : cursor], place - 1
        if token.kind == "<unknown>":
            written = text[token.start : cursor]
            return (written, place - 1) if written[0] == "`" else (None, place)
        return (None, place) if token.kind in ("<string>", "<quoted>", "<code>") else ("", place)
    gap = text[tokens[place - 1].end if place else 0 : cursor]
    return (None if gap.strip() else "", place)


def _statement_around(tokens: Sequence[TextToken], place: int) -> tuple[int, int]:
    """Return the half-open range of the tokens of the statement that holds the token position ``place``;
    semicolons end statements."""
    begin = 0
    for end in ends_of(tokens):
        if place <= end:
            return begin, end
        begin = end + 1
    return begin, len(tokens)


def _qualifier(text: str, tokens: Sequence[TextToken], dot: int) -> list[str]:
    """Return the parts of the dotted name that ends at the dot at the token position ``dot``, without quotes:
    ``["a", "b"]`` for ``a.b.``."""
    parts: list[str] = []
    while (
        dot > 0
        and tokens[dot].kind == "."
        and (tokens[dot - 1].is_word or tokens[dot - 1].kind == "<quoted>")
    ):
        parts.insert(0, name_of(text, tokens[dot - 1]))
        dot -= 2
    return parts


def _ends_operand(tokens: Sequence[TextToken], place: int) -> bool:
    """Return whether the token at ``place`` ends an operand, such as a name, a literal or a closing
    parenthesis, so that an operator or a clause must follow."""
    if place < 0:
        return False
    kind = tokens[place].kind
    if kind in OPERAND_ENDS or kind in _OPERAND_WORDS:
        return True
    if not tokens[place].is_word:
        return False
    known = following([token.kind for token in tokens[:place]])
    return known is not None and kind not in known[0]


def _expects_relation(kinds: Sequence[str]) -> bool:
    """Return whether the name of a relation comes next after tokens of these kinds, as after FROM and
    JOIN."""
    if not kinds:
        return False
    if kinds[-2:] == ["DISTINCT", "FROM"]:  # IS DISTINCT FROM
        return False
    return kinds[-1] in RELATION_WORDS or (kinds[-1] == "," and _clause(kinds) == "FROM")


def _expects_job(kinds: Sequence[str]) -> bool:
    """Return whether the name of a durable job comes next after tokens of these kinds, as after CANCEL
    JOB."""
    place = len(kinds)
    while place and kinds[place - 1] in _BEFORE_JOB:
        place -= 1
    return place > 0 and kinds[place - 1] == "JOB"


def _is_cast(kinds: Sequence[str]) -> bool:
    """Return whether tokens of these kinds end inside the parentheses of a CAST or TRY_CAST."""
    depth = 0
    for place in range(len(kinds) - 1, 0, -1):
        depth += (kinds[place] == ")") - (kinds[place] == "(")
        if depth < 0:
            return kinds[place - 1] in ("CAST", "TRY_CAST")
    return False


def _clause(kinds: Sequence[str]) -> str:
    """Return the word that began the clause in which tokens of these kinds end, such as ``WHERE``; empty if
    the innermost open parentheses have no such word. Words in closed parentheses don't count."""
    depth = 0
    for kind in reversed(kinds):
        if kind == ")":
            depth += 1
        elif kind == "(":
            if not depth:
                return ""
            depth -= 1
        elif not depth and (kind in CLAUSES or kind in ("FROM", "ON", "USING")):
            return kind
    return ""


def _meta(column: KnownColumn, relation: str) -> str:
    where = f"{column.type} of {relation}".strip() if relation else column.type
    return _with_comment(where, column.comment)


def _with_comment(meta: str, comment: str) -> str:
    return f"{meta}: {one_line(comment, _LONGEST_COMMENT)}" if comment else meta


def _in_case(words: Iterable[str], typed: str) -> Iterator[tuple[str, str]]:
    """Yield each of the keywords ``words`` with an empty meta text, for :func:`_matching`. They are in small
    letters if ``typed`` has only small letters, else in capitals."""
    lower = bool(typed) and typed == typed.lower()
    return ((word.lower() if lower else word, "") for word in sorted(words) if word[0].isalpha())


def _matching(
    found: Iterable[tuple[str, str]], typed: str, kind: CandidateKind, *, inside: bool = True
) -> list[Completable]:
    """Return a candidate for each pair of text and meta text that matches ``typed``, without regard to case:
    first the texts that begin with the typed letters, then, if ``inside``, the texts with the letters
    elsewhere. Names that need backticks get them."""
    letters = typed.removeprefix("`").lower()
    starting, having = list[Completable](), list[Completable]()
    for text, meta in found:
        lowered = text.lower()
        if lowered.startswith(letters):
            starting.append(_candidate(text, meta, typed, kind))
        elif inside and len(letters) > 1 and letters in lowered:
            having.append(_candidate(text, meta, typed, kind))
    return starting + having


def _candidate(text: str, meta: str, typed: str, kind: CandidateKind) -> Completable:
    is_name = kind in (CandidateKind.COLUMN, CandidateKind.RELATION, CandidateKind.JOB)
    written = ".".join(map(_quoted, text.split("."))) if kind is CandidateKind.RELATION else _quoted(text)
    if typed.startswith("`"):
        written = f"`{text.replace('`', '``')}`"
    return Completable(written if is_name else text, len(typed), kind, text, meta)


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`"


def _path_candidates(format_name: str | None, typed: str, closing: str = "") -> Iterator[Completable]:
    """Yield the files and folders that continue the path ``typed``; a candidate for a folder ends with a
    slash, one for a file with ``closing``. ``format_name``: only files of this format; None = all files."""
    for path, is_folder in paths(format_name, typed):
        text = f"{path}/" if is_folder else f"{path}{closing}"
        yield Completable(text, len(typed), CandidateKind.PATH, path.rpartition("/")[2] + "/" * is_folder)
