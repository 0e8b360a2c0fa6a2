"""The arguments of a call of a SQL function: by position, by name (``name => value``), and by default."""

from collections.abc import Sequence

from sqlglot import exp

from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.routines import Routine
from sqlfront_planner.statements.query_parser import parse_query

#: The argument for a parameter: its node, and whether the node is the parameter's default.
Assigned = tuple[exp.Expr, bool]


def assigned(routine: Routine, nodes: Sequence[exp.Expr], call: exp.Expr) -> list[Assigned]:
    """Return the argument for each parameter of the function, in the parameters' order; ``nodes`` are the
    arguments as written, ``call`` is for messages.

    Raises WRONG_NUM_ARGS, UNRECOGNIZED_PARAMETER_NAME, UNEXPECTED_POSITIONAL_ARGUMENT,
    DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT and REQUIRED_PARAMETER_NOT_FOUND.
    """
    name, names = quoted((routine.name,)), [each.name.lower() for each in routine.parameters]
    by_name = _by_name(routine, nodes, call)
    given = len(nodes) - len(by_name)
    unknown = next((node for key, node in by_name.items() if key not in names), None)
    if unknown is not None:
        known = " ".join(quoted((each.name,)) for each in routine.parameters)
        raise failure(
            "UNRECOGNIZED_PARAMETER_NAME",
            f"Cannot invoke routine {name} because the routine call included a named argument reference for "
            f"the argument named {quoted((unknown.this.name,))}, but this routine does not include any "
            f"signature containing an argument with this name. Did you mean one of the following? [{known}].",
            call,
        )
    if given > len(names) or (not by_name and given < routine.required):
        raise failure(
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
            f"The {name} requires {len(names)} parameters but the actual number is {len(nodes)}.",
            call,
        )
    found: list[Assigned] = [(node, False) for node in nodes[:given]]
    for place, parameter in enumerate(routine.parameters):
        named = by_name.get(names[place])
        if place < given:
            if named is not None:
                raise _twice(routine, parameter.name, "BOTH_POSITIONAL_AND_NAMED", call)
        elif named is not None:
            found.append((named.expression, False))
        elif parameter.default is not None:
            found.append((expression_of(parameter.default), True))
        else:
            raise failure(
                "REQUIRED_PARAMETER_NOT_FOUND",
                f"Cannot invoke routine {name} because the parameter named {quoted((parameter.name,))} is "
                "required, but the routine call did not supply a value. Please update the routine call to "
                f"supply an argument value (either positionally at index {place} or by name) and retry the "
                "query again.",
                call,
            )
    return found


def _by_name(routine: Routine, nodes: Sequence[exp.Expr], call: exp.Expr) -> dict[str, exp.Kwarg]:
    """Return the named arguments by lower-case name."""
    found: dict[str, exp.Kwarg] = {}
    last = ""
    for node in nodes:
        if isinstance(node, exp.Kwarg):
            last = node.this.name
            if last.lower() in found:
                raise _twice(routine, last, "DOUBLE_NAMED_ARGUMENT_REFERENCE", call)
            found[last.lower()] = node
        elif found:
            raise failure(
                "UNEXPECTED_POSITIONAL_ARGUMENT",
                f"Cannot invoke routine {quoted((routine.name,))} because it contains positional argument(s) "
                f"following the named argument assigned to {quoted((last,))}; please rearrange them so the "
                "positional arguments come first and then retry the query again.",
                call,
            )
    return found


def _twice(routine: Routine, name: str, how: str, call: exp.Expr) -> Exception:
    return failure(
        f"DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.{how}",
        f"Call to routine {quoted((routine.name,))} is invalid because it includes multiple argument "
        f"assignments to the same parameter name {quoted((name,))}.",
        call,
    )


def expression_of(text: str) -> exp.Expr:
    """Return the tree of the text of an expression, such as the body of a function."""
    tree = parse_query(f"SELECT {text}").tree
    assert isinstance(tree, exp.Select)
    return tree.expressions[0]
