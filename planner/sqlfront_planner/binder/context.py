"""The shared state of binding one statement: catalog, settings, arguments, and facts about the arguments."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlfront_connectors.base import Snapshot, Table
from sqlfront_planner import shared_rows
from sqlfront_planner import types as coercion
from sqlfront_planner.binder.scope import BoundQuery
from sqlfront_planner.catalog import Catalog
from sqlfront_planner.logical import LogicalPlan, LogicalScan
from sqlfront_planner.statistics.number_line import number_of
from sqlfront_planner.tokens.marks import PositionalParameter
from sqlfront_values import types
from sqlfront_values.errors import InternalError, ProgrammingError, spark_error
from sqlfront_values.expressions import Expr, Literal, Parameter
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.settings import Settings
from sqlfront_values.zones import names as zone_names

_INT_BOUND: Final = 2**31
_BIGINT_BOUND: Final = 2**63
#: Types of parameters whose values give columns the same names in all sessions.
_NAMING: Final = frozenset({types.BOOLEAN, types.INT, types.BIGINT, types.DOUBLE, types.STRING})


#: Levels of expressions and queries after which binding continues on another stack. A level takes many
#: frames, so that the levels are fewer than in other recursions; a thread begins per stack, so that too few
#: levels would cost time.
LEVELS_OF_A_STACK: Final = 20


class BindSettings(msgspec.Struct, frozen=True):
    """The session's settings on which the meaning of a text depends; they are a part of the plan cache's
    key."""

    time_zone: str = "UTC"

    @property
    def evaluation(self) -> Settings:
        """The settings for the evaluation of expressions, such as the folding of constants."""
        return Settings(self.time_zone)


class Arguments(msgspec.Struct, frozen=True):
    """The values for a statement's parameters, by position (``?``) or by name (``:name``), with the values'
    types.

    Named arguments are sorted by name, so that equal sets of names give equal plans. Literals of the text may
    follow the user's arguments; ``lifted`` maps a literal's range in the text (start, end) to the literal's
    position.
    """

    values: tuple[object, ...] = ()
    types: tuple[pa.DataType, ...] = ()
    names: tuple[str, ...] | None = None
    lifted: Mapping[tuple[int, int], int] = MappingProxyType({})

    @classmethod
    def of(
        cls,
        given: "Sequence[object] | Mapping[str, object] | Arguments | None",
        time_zone: str | None = "UTC",
    ) -> "Arguments":
        """The arguments from the user's values: a sequence for ``?``, a mapping for ``:name``, None for no
        arguments; Arguments are returned unchanged. A datetime without a zone is in ``time_zone``, None = the
        machine's zone.

        Raises ProgrammingError for a value of a class without SQL type.

        >>> arguments = Arguments.of({"b": "x", "a": 1})
        >>> arguments.names, arguments.values, arguments.types
        (('a', 'b'), (1, 'x'), (DataType(int32), DataType(string)))
        """
        if given is None:
            return NO_ARGUMENTS
        if isinstance(given, Arguments):
            return given
        names = None
        # Lists and tuples are asked for first: an abstract class answers ten times later.
        if not isinstance(given, (list, tuple)) and isinstance(given, Mapping):
            names = tuple(sorted(given))
            given = [given[name] for name in names]
        pairs = [typed_value(value, time_zone) for value in given]
        return cls(tuple([value for value, _ in pairs]), tuple([kind for _, kind in pairs]), names)

    @property
    def given(self) -> int:
        """The number of the user's arguments; literals of the text don't count."""
        return len(self.values) - len(self.lifted)

    def with_room_for(self, literals: Sequence[tuple[int, int]]) -> "Arguments":
        """The arguments, followed by one position per range (start, end) in ``literals``, the places of
        literals in the text. The new positions hold None of type VOID until :meth:`with_literals` fills
        them."""
        count = len(self.values)
        lifted = {span: count + number for number, span in enumerate(literals)}
        nothing = (None,) * len(literals)
        return Arguments(
            (*self.values, *nothing), (*self.types, *(types.VOID for _ in literals)), self.names, lifted
        )

    def with_literals(self, literals: Mapping[int, Literal]) -> "Arguments":
        """The arguments with the values and types of ``literals``, which are given by position."""
        if not literals:
            return self
        values, kinds = list(self.values), list(self.types)
        for place, literal in literals.items():
            values[place], kinds[place] = literal.value, literal.type
        return Arguments(tuple(values), tuple(kinds), self.names, self.lifted)

    def place(self, name: str) -> int | None:
        """The position of the argument for the parameter ``name``, None if there is no argument for the
        parameter. A :class:`PositionalParameter` finds only arguments by position, any other name only named
        arguments."""
        if isinstance(name, PositionalParameter):
            place = name.position
            return place if self.names is None and place < self.given else None
        return self.names.index(name) if self.names is not None and name in self.names else None

    def bound_place(self, name: str) -> int:
        """As :meth:`place`; raises ProgrammingError (UNBOUND_SQL_PARAMETER) for a parameter without an
        argument."""
        place = self.place(name)
        if place is None:
            shown = f"?{name.position + 1}" if isinstance(name, PositionalParameter) else name
            message = f"Found the unbound parameter: {shown}. {self._known()}"
            raise spark_error("UNBOUND_SQL_PARAMETER", message)
        return place

    def _known(self) -> str:
        if self.names:
            return f"There are arguments for {', '.join(':' + name for name in self.names)}."
        return "There is 1 argument." if self.given == 1 else f"There are {self.given or 'no'} arguments."


NO_ARGUMENTS: Final = Arguments()


def typed_value(value: object, time_zone: str | None = "UTC") -> tuple[object, pa.DataType]:
    """The value that a Literal holds for a Python value, and the type that Spark gives the value. A numpy
    scalar has the type of its width, an Arrow scalar its own type; a datetime without a zone is in
    ``time_zone``, None = the machine's zone.

    Raises ProgrammingError (INVALID_SQL_ARG) for unsupported classes and Arrow types, and
    NUMERIC_VALUE_OUT_OF_RANGE for a number of more than 38 digits.

    >>> typed_value(np.int16(3))
    (3, DataType(int16))
    """
    if type(value) is int and -_INT_BOUND <= value < _INT_BOUND:  # the commonest key of a lookup
        return value, types.INT
    match value:
        case None:
            return None, types.VOID
        case bool():
            return value, types.BOOLEAN
        case int() if -_INT_BOUND <= value < _INT_BOUND:
            return int(value), types.INT
        case int() if -_BIGINT_BOUND <= value < _BIGINT_BOUND:
            return int(value), types.BIGINT
        case int():
            return _typed_decimal(Decimal(value))
        case float():
            return float(value), types.DOUBLE
        case Decimal():
            return _typed_decimal(value)
        case str():
            return well_formed(str(value)), types.STRING
        case bytes() | bytearray() | memoryview():
            return bytes(value), types.BINARY
        case np.generic() if value.dtype.kind == "i" or value.dtype == np.float32:
            return value.item(), pa.from_numpy_dtype(value.dtype)
        case np.generic() if not isinstance(value.item(), np.generic):
            return typed_value(value.item(), time_zone)
        case datetime():
            if value.tzinfo is None and time_zone is not None:
                value = value.replace(tzinfo=_zone(time_zone))
            return value.astimezone(UTC), types.TIMESTAMP
        case date():
            return value, types.DATE
        case timedelta():
            return value, types.DAY_TIME_INTERVAL
        case list() | tuple():
            pairs = [typed_value(item, time_zone) for item in value]
            kind = coercion.common_type(item_type for _, item_type in pairs)
            if kind is not None:
                return [item for item, _ in pairs], pa.list_(kind)
        case pa.Scalar():
            return _typed_scalar(value)
    raise ProgrammingError(
        "A parameter's value must be a bool, int, float, Decimal, str, bytes, date, datetime, timedelta, "
        "None, a list of one type of them, or a pyarrow.Scalar, "
        f"not {value!r} ({type(value).__name__}).",
        condition="INVALID_SQL_ARG",
    )


def _typed_scalar(scalar: pa.Scalar) -> tuple[object, pa.DataType]:
    kind = types.logical(scalar.type)
    try:
        types.ddl(kind)
    except InternalError:
        raise ProgrammingError(
            f"A parameter's value has the Arrow type {scalar.type}, no type of SQL; cast the scalar.",
            condition="INVALID_SQL_ARG",
        ) from None
    return scalar.as_py(), kind


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    return zone_names.zone_of(name)


def _typed_decimal(value: Decimal) -> tuple[object, pa.DataType]:
    kind = coercion.decimal_type_of(value) if value.is_finite() else None
    if kind is None:
        raise spark_error("NUMERIC_VALUE_OUT_OF_RANGE", f"{value} has more than 38 digits.")
    return value if kind.scale else Decimal(int(value)), kind


class MovedBy(Enum):
    """The kind of amount by which a date or timestamp is moved; Spark displays each kind differently."""

    NUMBER = "number"
    """A number of days."""
    DAYS = "days"
    """An interval of whole days."""
    INTERVAL = "interval"
    """Any other interval."""
    FACTOR = "factor"
    """A number times an interval; the interval comes first."""


class TimeShift(msgspec.Struct, frozen=True):
    """A sum, difference or product that Spark displays in its own way: a date or timestamp moved by an
    amount, or a number times an interval. ``node`` is the node of the operator, held so that no new node gets
    the identity under which the entry is stored. ``swapped``: the date or timestamp is the right operand (of
    a product: the interval is)."""

    node: exp.Expr
    by: MovedBy
    swapped: bool


class StatementContext(msgspec.Struct):
    """The state of binding one statement.

    ``literals`` maps the ranges of the text's liftable literals to argument positions; ``lifted`` maps the
    positions of the literals that became parameters to whether a minus sign stands before; ``titles`` maps
    ordinals of result columns to the parameters that name these columns. ``pinned`` collects the positions of
    the arguments whose *value* determined a part of the plan (a column's name, a type, a limit): a plan may
    only be used again with equal values.

    ``relations`` collects the names of the tables and views read, ``temporary`` the names of temporary
    relations. ``views_open`` are the views whose queries are being bound, outermost first; ``views`` holds
    the bound queries of views whose uses share a plan, ``subqueries`` the bound queries of expressions by the
    identities of node and scope, which the entry holds. ``moved`` holds the date arithmetic by the node's
    identity. ``conditions``: see :func:`~.expressions.literals.is_compared`. ``uses`` counts the uses of
    common table expressions, ``depth`` the expressions and queries around the current node.
    """

    catalog: Catalog
    settings: BindSettings
    arguments: Arguments
    pinned: set[int] = msgspec.field(default_factory=set)
    literals: Mapping[tuple[int, int], int] = msgspec.field(default_factory=dict)
    lifted: dict[int, bool] = msgspec.field(default_factory=dict)
    conditions: dict[int, bool] = msgspec.field(default_factory=dict)
    depth: int = 0
    titles: dict[int, Parameter] = msgspec.field(default_factory=dict)
    relations: list[str] = msgspec.field(default_factory=list)
    temporary: list[str] = msgspec.field(default_factory=list)
    views_open: tuple[str, ...] = ()
    moved: dict[int, TimeShift] = msgspec.field(default_factory=dict)
    views: dict[str, BoundQuery] = msgspec.field(default_factory=dict)
    subqueries: dict[tuple[int, int], tuple[exp.Expr, object, BoundQuery]] = msgspec.field(
        default_factory=dict
    )
    uses: int = 0
    _repeatable: set[int] = msgspec.field(default_factory=set)
    _held: list[LogicalPlan] = msgspec.field(default_factory=list)
    _filled: dict[int, Literal] = msgspec.field(default_factory=dict)
    _shared: dict[int, tuple[LogicalPlan, LogicalScan]] = msgspec.field(default_factory=dict)
    _snapshots: dict[int, tuple[Table, Snapshot]] = msgspec.field(default_factory=dict)
    _path_tables: dict[tuple[str, ...], Table | None] = msgspec.field(default_factory=dict)

    def snapshot(self, table: Table) -> Snapshot:
        """The version of the table that the statement reads; fixed by the first call for the table."""
        entry = self._snapshots.get(id(table))
        if entry is None:
            entry = self._snapshots[id(table)] = (table, table.snapshot())
        return entry[1]

    def snapshots(self) -> Iterable[tuple[Table, Snapshot]]:
        """The tables that the statement reads, each with the version that is read."""
        return self._snapshots.values()

    @property
    def reads_paths(self) -> bool:
        """Whether the statement names a table outside of the catalog (``format.`path```)."""
        return bool(self._path_tables)

    def path_table(self, parts: tuple[str, ...]) -> Table | None:
        """The table of a path, None if the name is no path, see
        :meth:`~sqlfront_planner.catalog.Catalog.path_table`; all uses of a name get one table."""
        if parts not in self._path_tables:
            self._path_tables[parts] = self.catalog.path_table(parts)
        return self._path_tables[parts]

    def is_repeatable(self, plan: LogicalPlan) -> bool:
        """Whether ``plan``, a common table expression's, may be computed for each of its uses: each
        computation gives the same rows. Each call counts as one use (``uses``)."""
        self.uses += 1
        is_known = id(plan) in self._repeatable
        if is_known or shared_rows.is_repeatable(plan, self._repeatable):
            self._held.append(plan)  # so that no other node gets the identity of one of the plan's nodes
            return True
        return False

    def shared(self, plan: LogicalPlan, name: str) -> LogicalScan:
        """A scan, shown as ``name``, of the plan's rows; the rows are computed once for all calls with this
        plan."""
        entry = self._shared.get(id(plan))
        if entry is None:
            entry = self._shared[id(plan)] = (plan, shared_rows.shared_scan(name, plan))
        return entry[1]

    def parameter(self, name: str) -> Expr:
        """The expression of a parameter. A null argument has no type, so the plan holds the null itself.

        Raises ProgrammingError (UNBOUND_SQL_PARAMETER) for a parameter without an argument.
        """
        place = self.arguments.bound_place(name)
        data_type = self.arguments.types[place]
        if data_type == types.VOID:
            return Literal(types.VOID, self.pin(place))
        return Parameter(data_type, place, number_of(self.arguments.values[place]))

    def title(self, name: str, column: int) -> Expr:
        """The expression of the parameter ``name`` that is the whole result column with the ordinal
        ``column``. If the parameter's type is one of ``_NAMING``, ``titles`` notes that the argument's value
        names the column in each run."""
        parameter = self.parameter(name)
        if isinstance(parameter, Parameter) and parameter.type in _NAMING:
            self.titles[column] = parameter
        return parameter

    def titled(self, expression: Expr) -> Expr:
        """The literal with the value of a parameter, to name a column. A parameter in ``titles`` isn't
        pinned, since each run names the column anew; any other parameter is pinned; other expressions are
        returned unchanged."""
        if isinstance(expression, Parameter) and expression in self.titles.values():
            return Literal(expression.type, self._value(expression.index))
        return self.known_value(expression)

    def lift(
        self, node: exp.Expr, literal: Literal, *, negative: bool = False, column: int | None = None
    ) -> Expr:
        """The parameter that replaces ``literal``, a literal of the text at ``node``; ``negative``: a minus
        sign stands before the node. If the context has no argument position for the literal, its value may
        not differ from run to run, and the literal itself is returned. With ``column``, the ordinal of a
        result column, the parameter names that column."""
        meta = node._meta
        place = self.literals.get((meta["start"], meta["end"] + 1)) if meta and "start" in meta else None
        if place is None:
            return literal
        if place not in self.lifted:
            self.lifted[place] = negative
            self._filled[place] = literal
        parameter = Parameter(literal.type, place, number_of(literal.value))
        if column is not None:
            self.titles[column] = parameter
        return parameter

    def settle(self, expression: Expr) -> Expr:
        """The literal with the value of a lifted parameter, whose value is pinned; a parameter of the user
        and any other expression are returned unchanged."""
        if isinstance(expression, Parameter) and expression.index >= self.arguments.given:
            return self.known_value(expression)
        return expression

    def pin(self, place: int) -> object:
        """The value of the argument at position ``place``; the plan depends on this value from now on."""
        self.pinned.add(place)
        return self._value(place)

    def filled(self) -> Arguments:
        """The arguments, with the values of the literals that became parameters in their positions."""
        return self.arguments.with_literals(self._filled)

    def _value(self, place: int) -> object:
        literal = self._filled.get(place)
        return self.arguments.values[place] if literal is None else literal.value

    def known_value(self, expression: Expr) -> Expr:
        """The literal with the value of a parameter, whose value is pinned; other expressions are returned
        unchanged."""
        if isinstance(expression, Parameter):
            return Literal(expression.type, self.pin(expression.index))
        return expression
