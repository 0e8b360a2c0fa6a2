"""Names of SQL functions: how a call finds its function, and the call's text in names of result columns."""

from collections.abc import Callable

from sqlglot import exp

from sqlfront_planner.binder.names.routine_arguments import assigned
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.protocols import Binder
from sqlfront_planner.binder.scope import columns_of_star
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.catalog import Catalog
from sqlfront_planner.routines import Routine, is_builtin
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_values.errors import Error

#: The schemas in which Spark looks for a function without a qualifier, in order.
_PATH = "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"


def find_routine(binder: Binder, parts: tuple[str, ...]) -> Routine | None:
    """Return the user's function of a dotted name, None if there is none."""
    return found_in(binder.context.catalog, parts, binder.context.routines)


def found_in(catalog: Catalog, parts: tuple[str, ...], temporary: list[str]) -> Routine | None:
    """Return the user's function of a dotted name, None if there is none; the name of a temporary function
    is added to the list ``temporary``."""
    found = catalog.routine(parts)
    if found is not None and found.temporary:
        temporary.append(found.name)
    return found


def unresolved(parts: tuple[str, ...], node: exp.Expr) -> Error:
    """Make the error UNRESOLVED_ROUTINE for the dotted name of a call."""
    return failure(
        "UNRESOLVED_ROUTINE", f"Cannot resolve routine {quoted(parts)} on search path {_PATH}.", node
    )


def with_columns(binder: Binder, node: exp.Anonymous) -> list[exp.Expr]:
    """Return the arguments of a call, with the columns of a star in place of it."""
    found: list[exp.Expr] = []
    for part in node.expressions:
        if part.is_star:
            columns = columns_of_star(part, binder.scope)
            found += [exp.column(each.name, *reversed(each.qualifier), quoted=True) for each in columns]
        else:
            found.append(part)
    return found


def routine_text(
    binder: Binder, routine: Routine, node: exp.Anonymous, text: Callable[[exp.Expr], str]
) -> str:
    """Return the text of a call in the name of a result column: the arguments in the parameters' order. With
    named arguments Spark shows defaults, too."""
    nodes = with_columns(binder, node)
    has_names = any(isinstance(part, exp.Kwarg) for part in nodes)
    try:
        parts = assigned(routine, nodes, node)
    except Error:  # the call is wrong, and the text is for a message
        parts = [(part, False) for part in nodes]
    shown = [text(part) for part, is_default in parts if has_names or not is_default]
    return f"{'.'.join(routine.parts)}({', '.join(shown)})"


def qualified_text(binder: Binder, node: exp.Dot, text: Callable[[exp.Expr], str]) -> str:
    """Return the text of a call with a qualified name."""
    parts, call = dotted_call(node)
    routine = None if is_builtin(parts[:-1]) else find_routine(binder, parts)
    return text(call) if routine is None else routine_text(binder, routine, call, text)


def dotted_call(node: exp.Expr) -> tuple[tuple[str, ...], exp.Anonymous]:
    """Return the parts of the name of a call, which may be qualified, such as ``default.f(1)``, and the
    call."""
    call, place = (node.expression, node.this) if isinstance(node, exp.Dot) else (node, None)
    assert isinstance(call, exp.Anonymous)
    name = call.this if isinstance(call.this, str) else call.this.name
    parts = [str(name).removeprefix(FUNCTION_MARK)]
    while isinstance(place, exp.Dot):
        parts.append(place.expression.name)
        place = place.this
    if isinstance(place, exp.Column):
        parts += [part.name for part in reversed(place.parts)]
    elif place is not None:
        parts.append(place.name)
    return tuple(reversed(parts)), call
