"""Calls of generator functions in the tree, and the generators of a select list: what binding a query without
generators needs of them. :mod:`.generators` binds the calls."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_engine.generators import Generator
from sqlfront_planner.binder.trees.handlers import unparenthesized
from sqlfront_planner.logical import LogicalGenerate, LogicalPlan
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_values.expressions import Expr

#: The generator functions.
GENERATORS: Final = frozenset(
    {"explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack"}
    | {"json_tuple"}
)
#: The generators that are table functions only.
TABLE_GENERATORS: Final = frozenset({"variant_explode", "variant_explode_outer"})


class GeneratorCall(msgspec.Struct, frozen=True):
    """A bound call of the generator ``function``: its ``arguments`` over the row of the relation that it
    reads, and the ``names`` and ``types`` of the columns that it makes. ``outer``: a row without generated
    rows gives one row of nulls."""

    function: str
    generator: Generator
    arguments: tuple[Expr, ...]
    outer: bool
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]

    def as_outer(self) -> "GeneratorCall":
        """Return the call as of the generator's outer form."""
        return replace(self, outer=True)

    def over(self, plan: LogicalPlan) -> LogicalGenerate:
        """Return the plan that generates rows of the rows of ``plan``."""
        return LogicalGenerate(plan, self.generator, self.arguments, self.outer, self.names, self.types)


class SelectedGenerators(msgspec.Struct, frozen=True):
    """The generators of a select list. ``columns``: by the id of an item's node, the names and expressions
    of the columns that the item becomes. ``grouped``: the generator that makes rows of the SELECT's groups,
    whose columns are stand-ins so far, and ``node``, its call in the text."""

    columns: Mapping[int, Sequence[tuple[str, Expr]]] = msgspec.field(default_factory=dict)
    grouped: GeneratorCall | None = None
    node: exp.Expr | None = None

    def rewritten(self, rewrite: Callable[[Expr, exp.Expr], Expr]) -> "SelectedGenerators":
        """Return the generators with the arguments of the one over groups replaced by ``rewrite(argument,
        node)``."""
        if self.grouped is None or self.node is None:
            return self
        node = self.node
        arguments = tuple(rewrite(argument, node) for argument in self.grouped.arguments)
        return replace(self, grouped=replace(self.grouped, arguments=arguments))


def generator_of(node: exp.Expr) -> exp.Anonymous | None:
    """Return the call of a generator that the node is, perhaps in parentheses; None for any other node."""
    node = unparenthesized(node)
    return node if isinstance(node, exp.Anonymous) and called_name(node) in GENERATORS else None


def table_generator_of(node: exp.Expr) -> exp.Anonymous | None:
    """Return the call of a generator that the node is, in FROM; None for any other node."""
    if isinstance(node, exp.Anonymous) and called_name(node) in TABLE_GENERATORS:
        return node
    return generator_of(node)


def holds_generator(node: exp.Expr) -> bool:
    """Return whether the node is or contains a call of a generator, outside of subqueries."""
    calls = node.walk(prune=lambda item: isinstance(item, exp.Query))
    return any(generator_of(item) is not None for item in calls)


def called_name(call: exp.Anonymous) -> str:
    """Return the name of the function of a call, in lower case."""
    name = call.this if isinstance(call.this, str) else call.this.name
    return str(name).removeprefix(FUNCTION_MARK).lower()


def is_item(part: exp.Expr) -> bool:
    """Return whether an item of a select list is a call of a generator, perhaps with aliases."""
    return call_of(part) is not None


def call_of(part: exp.Expr) -> exp.Anonymous | None:
    """Return the call of a generator that an item of a select list is; None for any other item."""
    return generator_of(part.this if isinstance(part, exp.Alias | exp.Aliases) else part)
