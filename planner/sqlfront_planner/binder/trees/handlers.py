"""The table of handlers, which makes sure that the binder ignores no part of sqlglot's tree, and the
positions of nodes in the text.

Every supported node class has a handler, registered with the names of the arguments that the handler reads.
The binder refuses, by name, a node of a class without a handler, and an argument that is set and that the
handler doesn't read.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Final, TypeVar

from sqlglot import exp

from sqlfront_planner.tokens.marks import ExtractionPath
from sqlfront_values.errors import DatabaseError, NotSupportedError, spark_error
from sqlfront_values.expressions import Expr

#: A function that binds a node of its classes; its parameters are the binder of expressions and the node.
Handler = Callable[..., Expr]
HandlerType = TypeVar("HandlerType", bound=Handler)
#: A handler, and the names of the arguments of a node that it reads.
Entry = tuple[Handler, frozenset[str]]

#: The modules of the binder that register handlers. They are loaded at the first node that isn't a literal:
#: a process that only runs queries like ``SELECT 1`` starts much faster.
KINDS: Final = (
    "functions.aggregates",
    "functions.calls",
    "expressions.casts",
    "expressions.columns",
    "expressions.conditionals",
    "functions.constructors",
    "expressions.operators",
    "expressions.predicates",
    "functions.keyword_arguments",
    "functions.lambdas",
    "expressions.subqueries",
    "windows",
)

#: Handler and known arguments by node class; filled by the modules of the binder when they are imported.
_HANDLERS: Final[dict[type[exp.Expr], Entry]] = {}

#: Arguments that sqlglot sets for its own use, without meaning in the statement.
_MEANINGLESS: Final = frozenset({"_type"})
#: The clauses that arguments of relations represent.
_CLAUSES: Final = {"pivots": "PIVOT or UNPIVOT", "sample": "TABLESAMPLE"}


def handles(*classes: type[exp.Expr], arguments: str = "this") -> Callable[[HandlerType], HandlerType]:
    """Make a decorator that registers a function as the handler of nodes of the classes. ``arguments`` are
    the names of the nodes' arguments that the function reads, separated by spaces; the binder refuses nodes
    in which other arguments are set."""

    def decorate(function: HandlerType) -> HandlerType:
        for node_class in classes:
            _HANDLERS[node_class] = (function, frozenset(arguments.split()))
        return function

    return decorate


def handler_of(node_class: type[exp.Expr]) -> Entry | None:
    """Return the handler of a node class and the names of the arguments that it reads; None if the class has
    no handler."""
    return _HANDLERS.get(node_class) or _all_handlers().get(node_class)


@cache
def _all_handlers() -> dict[type[exp.Expr], Entry]:
    for kind in KINDS:
        import_module(f"sqlfront_planner.binder.{kind}")
    return _HANDLERS


def refuse_unknown(node: exp.Expr, known: frozenset[str]) -> None:
    """Raise NotSupportedError if the node has an argument set whose name is not among ``known``."""
    for name, value in node.args.items():
        if value and name not in known and name not in _MEANINGLESS:
            if name in _CLAUSES:
                raise unsupported(_CLAUSES[name], node)
            raise unsupported(f"{construct(node)} with {name.strip('_').replace('_', ' ')}", node)


def construct(node: exp.Expr) -> str:
    """Return the name of the SQL construct that a node represents, for messages.

    >>> construct(exp.TableSample())
    'TABLE SAMPLE'
    """
    name = type(node).__name__
    words = "".join(f" {letter}" if letter.isupper() else letter for letter in name).split()
    return " ".join(words).upper()


def unsupported(what: str, node: exp.Expr | None = None) -> NotSupportedError:
    """Make the error "``what`` is not supported." with the position of ``node``, or without a position if
    ``node`` is None."""
    return NotSupportedError(
        f"{what} is not supported.", sqlstate="0A000", position=None if node is None else span(node)
    )


def span(node: exp.Expr) -> tuple[int, int] | None:
    """Return the range (start, end) of the statement's text from the first to the last name or literal in the
    node; None if it has neither."""
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
    """Make the error with Spark's condition ``condition`` and the position of ``node``, or without a position
    if ``node`` is None."""
    return spark_error(condition, message, position=None if node is None else span(node))


def unparenthesized(node: exp.Expr) -> exp.Expr:
    """Return the node inside of any number of parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def field_name(node: exp.Expr, place: int) -> str:
    """Return the name of the field that an expression becomes in a struct: its alias, the name of the column
    or field that it reads, or its string key in brackets; for any other expression ``col`` and ``place``, its
    position from 1."""
    node = unparenthesized(node)
    if (path := extraction_of(node)) is not None:
        return path.name or f"col{place}"
    if isinstance(node, exp.Bracket):
        key = node.expressions[0]
        return str(key.this) if isinstance(key, exp.Literal) and key.is_string else f"col{place}"
    is_name = isinstance(node, exp.Alias | exp.Column | exp.Dot | exp.Identifier)
    return node.output_name if is_name and node.output_name else f"col{place}"


def extraction_of(node: exp.Expr) -> ExtractionPath | None:
    """Return the path of ``v:a.b``, which reads a part of a variant; None for any other node."""
    if not isinstance(node, exp.Bracket) or len(node.expressions) != 1:
        return None
    path = node.expressions[0].this
    return path if isinstance(path, ExtractionPath) else None


def parts_of(node: exp.Column) -> tuple[str, ...]:
    """Return the parts of a dotted name as written, first to last."""
    return tuple([part.name for part in node.parts])
