"""The windows of time of one SELECT, collected while its expressions are bound, and their columns in the
plan."""

from typing import Final

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_engine.generators import Generator
from sqlfront_planner.binder.generator_calls import called_name
from sqlfront_planner.binder.trees.handlers import span, unsupported
from sqlfront_planner.expressions.same_meaning import is_same
from sqlfront_planner.logical import LogicalFilter, LogicalGenerate, LogicalPlan, LogicalProject
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.expressions import Call, Column, Expr, Literal, transform
from sqlfront_values.types import BIGINT, BOOLEAN, STRING

#: The functions whose calls are windows.
_WINDOWS: Final = ("window", "session_window")


def window_type(moment: pa.DataType) -> pa.StructType:
    """Return the type of a window of timestamps of the type ``moment``: a struct of ``start`` and ``end``."""
    return pa.struct([("start", moment), ("end", moment)])


class TimeWindow(msgspec.Struct, frozen=True):
    """The windows of a timestamp ``moment``, an expression over the input's row, that is not null where a row
    has windows. ``over`` adds their column to a plan."""

    moment: Expr

    @property
    def type(self) -> pa.StructType:
        """The type of a window."""
        return window_type(self.moment.type)

    @property
    def name(self) -> str:
        """The name of the column of windows, which is that of the function, too."""
        return "window"

    def is_same(self, other: "TimeWindow") -> bool:
        """Return whether two windows of one query are one column."""
        return type(self) is type(other) and is_same(self.moment, other.moment)

    def over(self, plan: LogicalPlan) -> LogicalPlan:
        """Return the plan whose rows are the rows of ``plan`` with a column of windows behind them: a row per
        window of a row."""
        raise NotImplementedError


class FixedWindow(TimeWindow, frozen=True):
    """Windows of ``width`` microseconds, of which one begins every ``slide`` microseconds, the first one
    ``first`` microseconds after 1970 UTC."""

    width: int
    slide: int
    first: int

    def is_same(self, other: TimeWindow) -> bool:
        return (
            isinstance(other, FixedWindow)
            and (self.width, self.slide, self.first) == (other.width, other.slide, other.first)
            and is_same(self.moment, other.moment)
        )

    def over(self, plan: LogicalPlan) -> LogicalPlan:
        if self.width == self.slide:
            numbers = [Literal(BIGINT, number) for number in (self.width, self.first)]
            return _with_column(_known(plan, self.moment), Call(self.type, "window", (self.moment, *numbers)))
        numbers = [Literal(BIGINT, number) for number in (self.width, self.slide, self.first)]
        windows = Call(pa.list_(self.type), "sliding windows", (self.moment, *numbers))
        return LogicalGenerate(plan, Generator.EXPLODE, (windows,), False, (self.name,), (self.type,))


class SessionWindow(TimeWindow, frozen=True):
    """The session of each row alone, which ends at ``end``. Rows without a gap, or with a negative one, have
    no session; ``is_positive``: all gaps are known to be longer than nothing."""

    end: Expr
    is_positive: bool

    @property
    def name(self) -> str:
        return "session_window"

    def is_same(self, other: TimeWindow) -> bool:
        return (
            isinstance(other, SessionWindow)
            and is_same(self.moment, other.moment)
            and is_same(self.end, other.end)
        )

    def over(self, plan: LogicalPlan) -> LogicalPlan:
        windows = Call(self.type, "session_window", (self.moment, self.end))
        if self.is_positive:
            return _with_column(_known(plan, self.moment), windows)
        added = _with_column(plan, windows)
        session = added.row()[-1]
        fields = [
            Call(self.moment.type, "get_field", (session, Literal(STRING, name))) for name in ("end", "start")
        ]
        return LogicalFilter(added, Call(BOOLEAN, "greater", tuple(fields)))


def _known(plan: LogicalPlan, moment: Expr) -> LogicalPlan:
    return LogicalFilter(plan, Call(BOOLEAN, "is_not_null", (moment,)))


def _with_column(plan: LogicalPlan, windows: Call) -> LogicalProject:
    row = plan.row()
    return LogicalProject(plan, (*row, windows), (*(column.name for column in row), windows.function))


class TimeWindows(msgspec.Struct):
    """The columns that windows of time add to the rows of ``plan``, the input of the SELECT ``node``: its
    windows (``window``, None if there are none yet), and the times of windows, by their names. ``places`` has
    for each column, in the order in which it was found, the window or the operand of ``window_time``.
    ``is_sought``: a name was looked for among the calls."""

    plan: LogicalPlan
    node: exp.Select
    window: TimeWindow | None = None
    places: list[tuple[str, TimeWindow | Expr]] = msgspec.field(default_factory=list)
    is_sought: bool = False

    def add_window(self, window: TimeWindow, node: exp.Expr) -> Column:
        """Return the column of the window, which is added unless an equal one was. Raises an error for a
        second, other window, which has no condition in Spark."""
        if self.window is None:
            self.window = window
            self.places.append((window.name, window))
        elif not self.window.is_same(window):
            raise ProgrammingError(
                "Multiple time/session window expressions would result in a cartesian product of rows, "
                "therefore they are currently not supported.",
                condition="_LEGACY_ERROR_TEMP_1039",
                position=span(node),
            )
        return self.column(next(place for place, (_, item) in enumerate(self.places) if item is self.window))

    def add_time(self, operand: Column, name: str) -> Column:
        """Return the column ``name`` of the times of the windows in the column ``operand``, which is added
        unless it was before."""
        if (name, operand) not in self.places:
            self.places.append((name, operand))
        return self.column(self.places.index((name, operand)))

    def sought(self, name: str) -> exp.Anonymous | None:
        """Return the call in the SELECT's list or GROUP BY that makes the windows which ``name`` means, if
        the call stands behind the name and isn't bound yet; else None. Raises NotSupportedError for a window
        of the window itself."""
        if self.window is not None or name.lower() not in _WINDOWS:
            return None
        group = self.node.args.get("group")
        for part in (*self.node.expressions, *([] if group is None else [group])):
            for item in part.walk(prune=lambda item: isinstance(item, exp.Query)):
                if isinstance(item, exp.Anonymous) and called_name(item) == name.lower():
                    if self.is_sought:
                        raise unsupported("A window of a window of the same SELECT", item)
                    self.is_sought = True
                    return item
        return None

    def named(self, name: str) -> Column | None:
        """Return the column of windows found so far that ``name`` means, else None."""
        window = self.window
        return self.add_window(window, self.node) if window is not None and self.names_window(name) else None

    def names_window(self, name: str) -> bool:
        """Return whether a name means the column of the windows found so far."""
        return self.window is not None and self.window.name == name.lower()

    def is_window(self, column: Expr) -> bool:
        """Return whether an expression is the column of the windows found so far."""
        return any(
            isinstance(item, TimeWindow) and column == self.column(place)
            for place, (_, item) in enumerate(self.places)
        )

    def written_out(self, expression: Expr, node: exp.Expr) -> Expr:
        """Return an expression over the input's row, in which the columns of times are written out. Raises
        NotSupportedError for the column of windows."""

        def over_input(item: Expr) -> Expr:
            if not isinstance(item, Column) or item.ordinal < self.plan.width:
                return item
            operand = self.places[item.ordinal - self.plan.width][1]
            if isinstance(operand, TimeWindow) or self.is_window(operand):
                raise unsupported("A window of a window of the same SELECT", node)
            return time_of(operand)

        return transform(expression, over_input)

    def apply(self) -> LogicalPlan:
        """Return the plan with the columns: the rows of the input, each with a window."""
        if not self.places:
            return self.plan
        width, plan = self.plan.width, self.plan
        windows: Expr | None = None
        if self.window is not None:
            plan = self.window.over(plan)
            windows = plan.row()[-1]
            if len(self.places) == 1:
                return plan

        def placed(item: TimeWindow | Expr) -> Expr:
            assert isinstance(item, Expr)
            return windows if windows is not None and self.is_window(item) else item

        row = plan.row()[:width]
        added = [
            windows if windows is not None and isinstance(item, TimeWindow) else time_of(placed(item))
            for _, item in self.places
        ]
        names = (*(column.name for column in row), *(name for name, _ in self.places))
        return LogicalProject(plan, (*row, *added), names)

    def column(self, place: int) -> Column:
        """Return the column at a place of ``places``, by which expressions over the input's row read it."""
        name, item = self.places[place]
        kind = item.type if isinstance(item, TimeWindow) else item.type.field(1).type
        return Column(kind, self.plan.width + place, name)


def time_of(window: Expr) -> Expr:
    """Return the time of a window, which lies within the window: its last microsecond."""
    return Call(window.type.field(1).type, "window_time", (window,))
