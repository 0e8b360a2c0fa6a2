"""Reading sqlglot's tree without dropping anything: the table of handlers, what each of them knows, and
positions.

Every node class that the binder understands has one handler, registered with the names of the arguments that
it reads. A class without a handler, or an argument that is set and not known, is refused by name: the binder
never guesses.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Final, TypeVar

from sqlglot import exp

from sqlfront_values.errors import DatabaseError, NotSupportedError, spark_error
from sqlfront_values.expressions import Expr

#: Binds a node of its classes; takes the binder of expressions and the node.
Handler = Callable[..., Expr]
HandlerType = TypeVar("HandlerType", bound=Handler)
#: A handler, and the names of the arguments of a node that it reads.
Entry = tuple[Handler, frozenset[str]]

#: The modules of this package that register handlers. They are loaded when the first node is met that isn't a
#: literal: a process that asks for nothing else, as for ``SELECT 1``, starts much faster.
KINDS: Final = (
    "aggregates",
    "calls",
    "casts",
    "columns",
    "conditionals",
    "constructors",
    "operators",
    "predicates",
    "special_forms",
    "subqueries",
    "windows",
)

#: Handler and known arguments by node class; filled by the modules of this package when they are imported.
_HANDLERS: Final[dict[type[exp.Expr], Entry]] = {}

#: Arguments that sqlglot sets for its own use and that say nothing about the statement.
_MEANINGLESS: Final = frozenset({"_type"})
#: The clauses that arguments of relations stand for.
_CLAUSES: Final = {"pivots": "PIVOT or UNPIVOT", "sample": "TABLESAMPLE"}


def handles(*classes: type[exp.Expr], arguments: str = "this") -> Callable[[HandlerType], HandlerType]:
    """Register a function that binds nodes of these classes, of which it reads ``arguments`` (separated by
    spaces)."""

    def decorate(function: HandlerType) -> HandlerType:
        for node_class in classes:
            _HANDLERS[node_class] = (function, frozenset(arguments.split()))
        return function

    return decorate


def handler_of(node_class: type[exp.Expr]) -> Entry | None:
    """The handler of a node class and the arguments that it knows, or None."""
    return _HANDLERS.get(node_class) or _all_handlers().get(node_class)


@cache
def _all_handlers() -> dict[type[exp.Expr], Entry]:
    for kind in KINDS:
        import_module(f"sqlfront_planner.binder.{kind}")
    return _HANDLERS


def refuse_unknown(node: exp.Expr, known: frozenset[str]) -> None:
    """Raise NotSupportedError if an argument of the node is set that isn't ``known``."""
    for name, value in node.args.items():
        if value and name not in known and name not in _MEANINGLESS:
            if name in _CLAUSES:
                raise unsupported(_CLAUSES[name], node)
            raise unsupported(f"{construct(node)} with {name.strip('_').replace('_', ' ')}", node)


def construct(node: exp.Expr) -> str:
    """The SQL construct that a node stands for, as a reader of SQL would call it.

    >>> construct(exp.TableSample())
    'TABLE SAMPLE'
    """
    name = type(node).__name__
    words = "".join(f" {letter}" if letter.isupper() else letter for letter in name).split()
    return " ".join(words).upper()


def unsupported(what: str, node: exp.Expr | None = None) -> NotSupportedError:
    """The refusal of a construct, pointing at ``node``."""
    return NotSupportedError(
        f"{what} is not supported.", sqlstate="0A000", position=None if node is None else span(node)
    )


def span(node: exp.Expr) -> tuple[int, int] | None:
    """The range of the statement's text that the node's names and literals cover, None if it has none."""
    start, end = None, 0
    for place in _places(node):
        start = place[0] if start is None else min(start, place[0])
        end = max(end, place[1])
    return None if start is None else (start, end)


def _places(node: exp.Expr) -> Iterator[tuple[int, int]]:
    for item in node.walk():
        meta = item._meta
        if meta and "start" in meta:
            yield meta["start"], meta["end"] + 1


def failure(condition: str, message: str, node: exp.Expr | None = None) -> DatabaseError:
    """An error with one of Spark's conditions that points at ``node``."""
    return spark_error(condition, message, position=None if node is None else span(node))


def unparenthesized(node: exp.Expr) -> exp.Expr:
    """The node inside any number of parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def field_name(node: exp.Expr, place: int) -> str:
    """The name of a struct's field that is made of an expression: that of a column, of a field, or of a key
    in brackets, else ``col1``, ``col2``, ..."""
    node = unparenthesized(node)
    if isinstance(node, exp.Bracket):
        key = node.expressions[0]
        return str(key.this) if isinstance(key, exp.Literal) and key.is_string else f"col{place}"
    is_name = isinstance(node, exp.Alias | exp.Column | exp.Dot)
    return node.output_name if is_name and node.output_name else f"col{place}"


def parts_of(node: exp.Column) -> tuple[str, ...]:
    """The parts of a dotted name as written, first to last."""
    return tuple([part.name for part in node.parts])
