"""The aggregate and window calls of one SELECT, collected while its expressions are bound.

Until the columns of the calls' values are known, bound expressions hold stand-ins for these values."""

from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_planner.logical import LogicalPlan, LogicalWindow
from sqlfront_values.expressions import (
    AggregateCall,
    Column,
    Expr,
    Literal,
    Parameter,
    SortOrder,
    WindowCall,
    walk,
)

#: Nodes of an aliased expression up to which the expression is expanded wherever the alias is read. A longer
#: expression becomes a column of a projection below: a chain of 100 aliases took 1.3 seconds before, 0.05
#: since.
_MOST_COPIED: Final = 32

#: An item of a window's ORDER BY.
WindowOrder = tuple[Expr, SortOrder]


class AggregateOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """A stand-in for the value of the SELECT's aggregate call number ``index`` while the select list is being
    bound; a Column replaces it once the grouping keys are known."""

    index: int


class GroupingOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """A stand-in for the value of the SELECT's ``grouping`` call number ``index`` while the select list is
    being bound; a Column replaces it once the grouping keys are known."""

    index: int


class GroupingCall(msgspec.Struct, frozen=True):
    """A call ``grouping(key)`` or ``grouping_id(keys)``, whose value tells which keys a row's grouping set
    omits; without ``arguments`` the call is over all keys. ``type`` is the type of the value, ``node`` the
    call in the text."""

    arguments: tuple[Expr, ...]
    type: pa.DataType
    node: exp.Expr


class Aggregates(msgspec.Struct):
    """The aggregate calls (``calls``) and ``grouping`` calls (``groupings``) of one SELECT, each distinct
    call once."""

    calls: list[AggregateCall] = msgspec.field(default_factory=list)
    groupings: list[GroupingCall] = msgspec.field(default_factory=list)

    @property
    def used(self) -> bool:
        """True if the SELECT has aggregate or ``grouping`` calls."""
        return bool(self.calls or self.groupings)

    def add_grouping(self, call: GroupingCall) -> Expr:
        """Add a ``grouping`` call unless an equal call was added before; return the stand-in for its
        value."""
        for place, other in enumerate(self.groupings):
            if (call.arguments, call.type) == (other.arguments, other.type):
                return GroupingOutput(call.type, place)
        self.groupings.append(call)
        return GroupingOutput(call.type, len(self.groupings) - 1)

    def add(self, call: AggregateCall) -> Expr:
        """Add an aggregate call unless an equal call was added before; return the stand-in for its value."""
        if call not in self.calls:
            self.calls.append(call)
        return AggregateOutput(call.type, self.calls.index(call))


class WindowOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """A stand-in for the value of the SELECT's window call number ``index`` while the select list is being
    bound; a Column replaces it once the Window nodes are made."""

    index: int


class GeneratorOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """A stand-in for column ``index`` of the columns that the generator of a SELECT with groups makes; a
    Column replaces it once the groups' row is known."""

    index: int


class AliasOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """A stand-in for the select list's column ``index`` in expressions that read the column by its alias."""

    index: int


def as_read(expression: Expr, index: int) -> Expr:
    """Return the expression by which later columns of the select list read the column ``index``: the column's
    ``expression`` itself if it is short or nondeterministic, else an :class:`AliasOutput`."""
    if isinstance(expression, Column | Literal | Parameter):
        return expression
    is_short = next(islice(walk(expression), _MOST_COPIED, None), None) is None
    return expression if is_short or not is_deterministic(expression) else AliasOutput(expression.type, index)


class WindowItem(msgspec.Struct, frozen=True):
    """A window call with its window: the expressions of PARTITION BY, the items of ORDER BY, the name of the
    result column, and the call's node in the text."""

    call: WindowCall
    partition: tuple[Expr, ...]
    order: tuple[WindowOrder, ...]
    name: str
    node: exp.Expr

    def over(self, rewrite: Callable[[Expr, exp.Expr], Expr]) -> "WindowItem":
        """Return the item with every expression replaced by ``rewrite(expression, node)``, which rewrites the
        expression for another input row; ``node`` is the call's node, for messages."""
        call = self.call
        arguments = tuple(rewrite(argument, self.node) for argument in call.arguments)
        return WindowItem(
            WindowCall(call.function, arguments, call.type, call.frame, call.ignore_nulls),
            tuple(rewrite(item, self.node) for item in self.partition),
            tuple((rewrite(item, self.node), order) for item, order in self.order),
            self.name,
            self.node,
        )


class Windows(msgspec.Struct):
    """The window calls of one SELECT (``items``), each distinct call once."""

    items: list[WindowItem] = msgspec.field(default_factory=list)

    def add(self, item: WindowItem) -> Expr:
        """Add a window call unless an equal call over an equal window was added before; return the stand-in
        for its value."""
        for place, other in enumerate(self.items):
            if (item.call, item.partition, item.order) == (other.call, other.partition, other.order):
                return WindowOutput(item.call.type, place)
        self.items.append(item)
        return WindowOutput(item.call.type, len(self.items) - 1)

    def apply(self, plan: LogicalPlan) -> tuple[LogicalPlan, dict[int, Column]]:
        """Add a Window node per distinct window to the plan. Return the new plan, and a mapping from each
        call's index to the new column that has the call's value."""
        places: dict[int, Column] = {}
        groups: dict[tuple[tuple[Expr, ...], tuple[WindowOrder, ...]], list[int]] = {}
        for index, item in enumerate(self.items):
            groups.setdefault((item.partition, item.order), []).append(index)
        for (partition, order), members in groups.items():
            first = plan.width
            items = [self.items[index] for index in members]
            plan = LogicalWindow(
                plan,
                partition,
                order,
                tuple(item.call for item in items),
                tuple(item.name for item in items),
            )
            for offset, (index, item) in enumerate(zip(members, items, strict=True)):
                places[index] = Column(item.call.type, first + offset, item.name)
        return plan, places


class SelectItem(msgspec.Struct, frozen=True):
    """A column of the select list: the expression, the name, the node in the text, and the ``qualifier`` that
    an ORDER BY may write before the name. ``uses_alias``: the expression reads the alias of another column of
    the list. ``is_column``: the column is an input column under its input name."""

    expression: Expr
    name: str
    node: exp.Expr
    qualifier: tuple[str, ...] = ()
    uses_alias: bool = False
    is_column: bool = False
