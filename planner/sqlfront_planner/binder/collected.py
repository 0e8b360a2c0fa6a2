"""The calls of one SELECT that are computed over more than one row: aggregates and windows, gathered while
its expressions are bound, and what stands for their values until they are known."""

from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.logical import LogicalPlan, Window
from sqlfront_planner.rewriting import is_deterministic
from sqlfront_values.expressions import AggregateCall, Column, Expr, Literal, Parameter, WindowCall, walk

#: An alias of so many nodes is written out wherever it is read.
_MOST_COPIED: Final = 32

#: An expression, whether it is descending, whether nulls come first.
OrderItem = tuple[Expr, bool, bool]


class AggregateOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """The value of call ``index`` while the select list is being bound; a Column once the keys are known."""

    index: int


class GroupingOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """The value of ``grouping`` call ``index`` while the select list is being bound."""

    index: int


class GroupingCall(msgspec.Struct, frozen=True):
    """``grouping(key)`` or ``grouping_id(keys)``, which tell the grouping sets apart."""

    arguments: tuple[Expr, ...]
    type: pa.DataType
    node: exp.Expr


class Aggregates(msgspec.Struct):
    """The aggregate calls of one SELECT; equal ones are computed once."""

    calls: list[AggregateCall] = msgspec.field(default_factory=list)
    groupings: list[GroupingCall] = msgspec.field(default_factory=list)

    @property
    def used(self) -> bool:
        """Whether there is any call."""
        return bool(self.calls or self.groupings)

    def add_grouping(self, call: GroupingCall) -> Expr:
        """The expression that stands for a ``grouping`` call's value."""
        for place, other in enumerate(self.groupings):
            if (call.arguments, call.type) == (other.arguments, other.type):
                return GroupingOutput(call.type, place)
        self.groupings.append(call)
        return GroupingOutput(call.type, len(self.groupings) - 1)

    def add(self, call: AggregateCall) -> Expr:
        """The expression that stands for the call's value."""
        if call not in self.calls:
            self.calls.append(call)
        return AggregateOutput(call.type, self.calls.index(call))


class WindowOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """The value of window call ``index`` while the select list is being bound."""

    index: int


class AliasOutput(Expr, frozen=True, tag_field="kind", tag=True):
    """The value of the select list's column ``index`` in what reads it by its alias."""

    index: int


def as_read(expression: Expr, index: int) -> Expr:
    """What later columns of the select list read of its column ``index``: itself, if it is short."""
    if isinstance(expression, Column | Literal | Parameter):
        return expression
    is_short = next(islice(walk(expression), _MOST_COPIED, None), None) is None
    return expression if is_short or not is_deterministic(expression) else AliasOutput(expression.type, index)


class WindowItem(msgspec.Struct, frozen=True):
    """A call with its window."""

    call: WindowCall
    partition: tuple[Expr, ...]
    order: tuple[OrderItem, ...]
    name: str
    node: exp.Expr

    def over(self, rewrite: Callable[[Expr, exp.Expr], Expr]) -> "WindowItem":
        """The item over another row."""
        call = self.call
        arguments = tuple(rewrite(argument, self.node) for argument in call.arguments)
        return WindowItem(
            WindowCall(call.function, arguments, call.type, call.frame, call.ignore_nulls),
            tuple(rewrite(item, self.node) for item in self.partition),
            tuple((rewrite(item, self.node), desc, first) for item, desc, first in self.order),
            self.name,
            self.node,
        )


class Windows(msgspec.Struct):
    """The window calls of one SELECT; equal ones are computed once."""

    items: list[WindowItem] = msgspec.field(default_factory=list)

    def add(self, item: WindowItem) -> Expr:
        """The expression that stands for the call's value."""
        for place, other in enumerate(self.items):
            if (item.call, item.partition, item.order) == (other.call, other.partition, other.order):
                return WindowOutput(item.call.type, place)
        self.items.append(item)
        return WindowOutput(item.call.type, len(self.items) - 1)

    def apply(self, plan: LogicalPlan) -> tuple[LogicalPlan, dict[int, Column]]:
        """The plan with a Window node per distinct window, and the column of each call."""
        places: dict[int, Column] = {}
        groups: dict[tuple[tuple[Expr, ...], tuple[OrderItem, ...]], list[int]] = {}
        for index, item in enumerate(self.items):
            groups.setdefault((item.partition, item.order), []).append(index)
        for (partition, order), members in groups.items():
            first = plan.width
            items = [self.items[index] for index in members]
            plan = Window(
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
    """A column of the select list: its expression, its name, where it stands in the text, what may stand
    before its name in an ORDER BY that sees the output only, whether it reads an alias of the same list, and
    whether it is a column of the input under its own name."""

    expression: Expr
    name: str
    node: exp.Expr
    qualifier: tuple[str, ...] = ()
    uses_alias: bool = False
    is_column: bool = False
