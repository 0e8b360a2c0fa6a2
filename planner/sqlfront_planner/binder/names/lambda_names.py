"""Spark's text of lambdas in names of result columns."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sqlglot import exp

if TYPE_CHECKING:
    from sqlfront_planner.binder.protocols import Binder

#: Spark's text of a lambda's parameter, whatever its name.
_PARAMETER: Final = "namedlambdavariable()"
#: The functions that take lambdas: the number of arguments before the lambdas, and for each lambda the number
#: of its parameters (the least, where there are several).
LAMBDAS: Final[dict[str, tuple[int, tuple[int, ...]]]] = {
    "transform": (1, (1,)),
    "filter": (1, (1,)),
    "exists": (1, (1,)),
    "forall": (1, (1,)),
    "aggregate": (2, (2, 1)),
    "reduce": (2, (2, 1)),
    "zip_with": (2, (2,)),
    "array_sort": (1, (2,)),
    "transform_keys": (1, (2,)),
    "transform_values": (1, (2,)),
    "map_filter": (1, (2,)),
    "map_zip_with": (2, (3,)),
}


def takes_lambdas(name: str, count: int) -> bool:
    """Return whether a call of the function ``name`` with ``count`` arguments has lambdas among them."""
    return name in LAMBDAS and count > LAMBDAS[name][0]


def argument_texts(name: str, node: exp.Expr, text: Callable[[exp.Expr], str]) -> list[str]:
    """Return the texts of the arguments of a function that takes lambdas. An expression at the place of a
    lambda is shown as a lambda that ignores its parameters; ``aggregate`` has a second lambda always."""
    first, lambdas = LAMBDAS[name]
    parts = node.expressions
    texts = [text(part) for part in parts[:first]]
    for part, count in zip(parts[first:], lambdas, strict=False):
        texts.append(text(part) if isinstance(part, exp.Lambda) else _lambda(text(part), count))
    if len(parts) < first + len(lambdas):
        texts.append(_lambda(_PARAMETER, 1))
    return texts


def _lambda(body: str, count: int) -> str:
    return f"lambdafunction({', '.join([body, *[_PARAMETER] * count])})"


def lambda_text(node: exp.Expr, binder: "Binder", name_of: Callable[[exp.Expr, "Binder"], str]) -> str:
    """Return the text of a lambda. ``name_of`` makes the text of the body. The text of a lambda that isn't
    bound yet, in a message about another argument, is the query's."""
    known = binder.context.lambdas.get(id(node))
    if known is None:
        names = [part.name for part in node.expressions]
        return f"lambdafunction({', '.join([node.this.sql('spark'), *names])})"
    _, parameters, is_null = known
    body = "NULL" if is_null else name_of(node.this, binder.within_lambda(parameters))
    return _lambda(body, len(parameters))


def parameter_text(parts: tuple[str, ...], binder: "Binder") -> str:
    """Return the text of a dotted name that begins with a lambda's parameter."""
    if parts[0].lower() not in binder.variables:
        return ".".join(parts)
    return ".".join((_PARAMETER, *parts[1:]))
