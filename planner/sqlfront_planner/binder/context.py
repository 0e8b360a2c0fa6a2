"""The shared state of binding one statement: catalog, settings, arguments, and facts about the arguments."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlfront_connectors.base import Snapshot, Table
from sqlfront_planner import coercion as coercions
from sqlfront_planner import shared_rows
from sqlfront_planner import types as coercion
from sqlfront_planner.binder import legacy_mode, map_keys
from sqlfront_planner.binder.scope import BoundQuery
from sqlfront_planner.binder.trees.handlers import unsupported
from sqlfront_planner.catalog import Catalog
from sqlfront_planner.expressions.closures import LambdaVariable
from sqlfront_planner.expressions.rewriting import is_fixed
from sqlfront_planner.logical import LogicalPlan, LogicalScan
from sqlfront_planner.recursion import LEVEL_LIMIT, ROW_LIMIT
from sqlfront_planner.routines import Routine
from sqlfront_planner.statistics.number_line import number_of
from sqlfront_planner.tokens.marks import PositionalParameter
from sqlfront_planner.variables import VariableSet, unqualified
from sqlfront_values import types
from sqlfront_values.errors import InternalError, ProgrammingError, spark_error
from sqlfront_values.expressions import Cast, Expr, Literal, Parameter, RunValue, transform, walk
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.settings import Settings
from sqlfront_values.zones import names as zone_names

if TYPE_CHECKING:
    from sqlfront_planner.coercion import Coercion

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
    #: Whether ANSI mode is on (``spark.sql.ansi.enabled``).
    ansi: bool = True
    #: The most levels, and the most rows of a WITH RECURSIVE; -1 = no limit.
    recursion_levels: int = LEVEL_LIMIT
    recursion_rows: int = ROW_LIMIT
    #: Whether the last of equal keys of a new map counts (``spark.sql.mapKeyDedupPolicy`` = LAST_WIN).
    keeps_last_key: bool = False
    #: Whether the size of null is -1 (``spark.sql.legacy.sizeOfNull``), which counts only with ANSI mode off.
    sizes_null: bool = True
    #: Whether values may be cast to TIME (``spark.sql.timeType.enabled``).
    takes_time: bool = False

    @property
    def evaluation(self) -> Settings:
        """The part of the settings that evaluation needs, for example to fold constants."""
        return Settings(self.time_zone)

    @property
    def coercion(self) -> "Coercion":
        """The rules of implicit casts."""
        return coercions.rules(ansi=self.ansi, takes_time=self.takes_time)


class Arguments(msgspec.Struct, frozen=True):
    """The values of a statement's parameters, by position (``?``) or by name (``:name``), with the values'
    types.

    Named arguments are sorted by name, so that equal sets of names give equal plans. The values of the
    session's SQL ``variables`` (None: there are none) follow the user's arguments. Behind them are the values
    of lifted literals (literals of the text that are treated as parameters); ``lifted`` maps the literal's
    range in the text (start, end) to the position of its value.
    """

    values: tuple[object, ...] = ()
    types: tuple[pa.DataType, ...] = ()
    names: tuple[str, ...] | None = None
    lifted: Mapping[tuple[int, int], int] = MappingProxyType({})
    variables: VariableSet | None = None

    @classmethod
    def of(
        cls,
        given: "Sequence[object] | Mapping[str, object] | Arguments | None",
        time_zone: str | None = "UTC",
    ) -> "Arguments":
        """Make arguments from the user's values: a sequence for ``?``, a mapping for ``:name``, None for no
        arguments; Arguments are returned unchanged. A datetime without a zone is a local time of
        ``time_zone`` (None = the machine's zone).

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
        """The number of the user's arguments and the session's variables, without the lifted literals of the
        text."""
        return len(self.values) - len(self.lifted)

    @property
    def own(self) -> int:
        """The number of the user's arguments; the variables follow them."""
        return self.given - (0 if self.variables is None else len(self.variables))

    def with_variables(self, variables: VariableSet, values: tuple[object, ...]) -> "Arguments":
        """Return the user's arguments followed by the session's variables with these values. A null has the
        type VOID here, so that it has plans of its own."""
        kinds = [
            types.VOID if value is None else variable.type
            for variable, value in zip(variables.variables, values, strict=True)
        ]
        return Arguments((*self.values, *values), (*self.types, *kinds), self.names, self.lifted, variables)

    def with_room_for(self, literals: Sequence[tuple[int, int]]) -> "Arguments":
        """Return the arguments with a new position for each literal of the text in ``literals``, given by its
        range (start, end). The new positions hold None of type VOID until :meth:`with_literals` fills
        them."""
        count = len(self.values)
        lifted = {span: count + number for number, span in enumerate(literals)}
        nothing = (None,) * len(literals)
        kinds = (*self.types, *(types.VOID for _ in literals))
        return Arguments((*self.values, *nothing), kinds, self.names, lifted, self.variables)

    def with_literals(self, literals: Mapping[int, Literal]) -> "Arguments":
        """Return the arguments with the values and types of ``literals``, which maps positions to
        literals."""
        if not literals:
            return self
        values, kinds = list(self.values), list(self.types)
        for place, literal in literals.items():
            values[place], kinds[place] = literal.value, literal.type
        return Arguments(tuple(values), tuple(kinds), self.names, self.lifted, self.variables)

    def place(self, name: str) -> int | None:
        """Return the position of the argument for the parameter ``name``; None if the parameter has no
        argument. A :class:`PositionalParameter` finds only arguments by position, any other name only named
        arguments."""
        if isinstance(name, PositionalParameter):
            place = name.position
            return place if self.names is None and place < self.own else None
        return self.names.index(name) if self.names is not None and name in self.names else None

    def bound_place(self, name: str) -> int:
        """Return the position of the argument for the parameter ``name``, as :meth:`place` finds it. Raises
        ProgrammingError (UNBOUND_SQL_PARAMETER) if the parameter has no argument."""
        place = self.place(name)
        if place is None:
            shown = f"?{name.position + 1}" if isinstance(name, PositionalParameter) else name
            message = f"Found the unbound parameter: {shown}. {self._known()}"
            raise spark_error("UNBOUND_SQL_PARAMETER", message)
        return place

    def _known(self) -> str:
        if self.names:
            return f"There are arguments for {', '.join(':' + name for name in self.names)}."
        return "There is 1 argument." if self.own == 1 else f"There are {self.own or 'no'} arguments."


NO_ARGUMENTS: Final = Arguments()


def typed_value(value: object, time_zone: str | None = "UTC") -> tuple[object, pa.DataType]:
    """Return the value that a Literal holds for a Python value, and the type that Spark gives the value. A
    numpy scalar has the type of its width, an Arrow scalar its Arrow type. A datetime without a zone is a
    local time of ``time_zone`` (None = the machine's zone).

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
        case time() if value.tzinfo is None:
            micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
            return micros * 1_000, types.TIME
        case list() | tuple():
            pairs = [typed_value(item, time_zone) for item in value]
            kind = coercion.common_type(item_type for _, item_type in pairs)
            if kind is not None:
                return [item for item, _ in pairs], pa.list_(kind)
        case pa.Scalar():
            return _typed_scalar(value)
    raise ProgrammingError(
        "A parameter's value must be a bool, int, float, Decimal, str, bytes, date, datetime, time, "
        "timedelta, None, a list of one type of them, or a pyarrow.Scalar, "
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
    """An operation whose text in column names Spark writes differently: a date or timestamp moved by an
    amount, or a number times an interval.

    ``by`` is the kind of amount. ``swapped``: the date or timestamp (in a product, the interval) is the right
    operand. ``node`` is the operator's node; the entry is stored under the node's ``id()``, and the reference
    keeps that id from being reused."""

    node: exp.Expr
    by: MovedBy
    swapped: bool


#: The bounds of the numbers of LIMIT and OFFSET: the least bound above 0, and the number up to which a plan
#: serves all numbers of a bound. Most pages of results are below it, and a top-n of twice the rows is cheap.
LEAST_BOUND: Final = 16
MOST_BOUND: Final = 65_536


def row_bound(value: object) -> int:
    """Return the bound by which planning knows a number of LIMIT or OFFSET: 0 for 0, a power of two for a
    number up to :data:`MOST_BOUND`, a larger number itself; -1 for a value that is no number of rows.

    >>> [row_bound(number) for number in (0, 1, 16, 17, 100_000, -3, None)]
    [0, 16, 16, 32, 100000, -1, -1]
    """
    if not isinstance(value, int) or value < 0:
        return -1
    if not 0 < value <= MOST_BOUND:
        return value
    return max(LEAST_BOUND, 1 << (value - 1).bit_length())


class StatementContext(msgspec.Struct):
    """The state of binding one statement.

    Some literals of the text are lifted: they become parameters, so that texts with other values share the
    plan. ``literals`` maps the ranges of the literals that may be lifted to argument positions; ``lifted``
    maps the positions of lifted literals to whether a minus sign stands before the literal. ``titles`` maps
    ordinals of result columns to the parameters whose values name these columns. ``pinned`` collects the
    positions of the arguments whose *value* determined a part of the plan (a column's name, a type, a limit):
    a plan may only be used again with equal values. ``sized`` collects the positions of the whole numbers
    whose number of digits determined a type: a plan may only be used again with as many digits. ``bounded``
    collects the positions of the arguments that are the number of a LIMIT or OFFSET: a plan may only be used
    again with numbers of the same bound (:func:`row_bound`).

    ``relations`` collects the names of the tables and views read, ``temporary`` the names of temporary
    relations. ``views_open`` are the views whose queries are being bound, outermost first; ``views`` holds
    the bound queries of views whose uses share a plan. ``subqueries`` holds the bound queries of subqueries
    in expressions, by the ids of node and scope; the entries refer to both, so that the ids stay unique.
    ``moved`` holds the :class:`TimeShift` of each date or interval operation by the node's id;
    ``cast_bounds`` likewise the distances of window frames that Spark casts to the order's type, and
    ``lambdas`` the parameters of each bound lambda, with the node, and whether Spark shows the body as NULL.
    ``conditions`` is the cache of :func:`~.expressions.literals.is_compared`. ``has_merged``: a step of
    ``|>`` reads a star over columns that USING has merged, whose own names Spark still finds. ``uses`` counts
    the uses of common table expressions, ``depth`` the expressions and queries around the current node.
    ``is_recursive``: a WITH RECURSIVE has been bound.
    ``zone`` is the session's time zone, as ``settings`` have it but for the query of a view that was made in
    another zone. ``routines_open`` are the SQL functions whose bodies are being bound, ``routines`` the names
    of the temporary ones called outside of other functions' bodies, ``created`` the function that the
    statement creates. ``variables`` are the names of the SQL variables read, ``sees_variables`` is False in
    permanent views and functions, which see none.
    """

    catalog: Catalog
    settings: BindSettings
    arguments: Arguments
    pinned: set[int] = msgspec.field(default_factory=set)
    sized: set[int] = msgspec.field(default_factory=set)
    bounded: set[int] = msgspec.field(default_factory=set)
    literals: Mapping[tuple[int, int], int] = msgspec.field(default_factory=dict)
    lifted: dict[int, bool] = msgspec.field(default_factory=dict)
    conditions: dict[int, bool] = msgspec.field(default_factory=dict)
    depth: int = 0
    titles: dict[int, Parameter] = msgspec.field(default_factory=dict)
    relations: list[str] = msgspec.field(default_factory=list)
    temporary: list[str] = msgspec.field(default_factory=list)
    views_open: tuple[str, ...] = ()
    moved: dict[int, TimeShift] = msgspec.field(default_factory=dict)
    lambdas: dict[int, tuple[exp.Lambda, tuple[LambdaVariable, ...], bool]] = msgspec.field(
        default_factory=dict
    )
    cast_bounds: dict[int, exp.Expr] = msgspec.field(default_factory=dict)
    views: dict[str, BoundQuery] = msgspec.field(default_factory=dict)
    subqueries: dict[tuple[int, int], tuple[exp.Expr, object, BoundQuery]] = msgspec.field(
        default_factory=dict
    )
    uses: int = 0
    zone: str = ""
    has_merged: bool = False
    routines_open: tuple[str, ...] = ()
    routines: list[str] = msgspec.field(default_factory=list)
    created: Routine | None = None
    is_recursive: bool = False
    variables: list[str] = msgspec.field(default_factory=list)
    sees_variables: bool = True
    _variables: dict[int, Expr] = msgspec.field(default_factory=dict)
    _repeatable: set[int] = msgspec.field(default_factory=set)
    _held: list[LogicalPlan] = msgspec.field(default_factory=list)
    _filled: dict[int, Literal] = msgspec.field(default_factory=dict)
    _shared: dict[int, tuple[LogicalPlan, LogicalScan]] = msgspec.field(default_factory=dict)
    _snapshots: dict[int, tuple[Table, Snapshot]] = msgspec.field(default_factory=dict)
    _path_tables: dict[tuple[str, ...], Table | None] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.zone = self.settings.time_zone

    @property
    def coercion(self) -> "Coercion":
        """The rules of implicit casts."""
        return self.settings.coercion

    def settled(self, plan: LogicalPlan) -> LogicalPlan:
        """Return a bound plan with the operations of the session's settings: those of ANSI mode are replaced
        if the mode is off (:mod:`.legacy_mode`), those that make maps if the last of equal keys counts
        (:mod:`.map_keys`)."""
        if not self.settings.ansi:
            plan = legacy_mode.legacy_plan(plan, self.known_value)
        return map_keys.keep_last(plan) if self.settings.keeps_last_key else plan

    def snapshot(self, table: Table) -> Snapshot:
        """Return the version of the table that the statement reads: the current version at the first call for
        the table, the same version at each later call."""
        entry = self._snapshots.get(id(table))
        if entry is None:
            entry = self._snapshots[id(table)] = (table, table.snapshot())
        return entry[1]

    def snapshots(self) -> Iterable[tuple[Table, Snapshot]]:
        """Return the tables that the statement reads so far, each with the version that is read."""
        return self._snapshots.values()

    @property
    def reads_paths(self) -> bool:
        """True if the statement names a table outside of the catalog (``format.`path```)."""
        return bool(self._path_tables)

    def path_table(self, parts: tuple[str, ...]) -> Table | None:
        """Return the table that a name like ``format.`path``` means, the same table for all uses of the name;
        None if the name is not of that form or the format is unknown."""
        if parts not in self._path_tables:
            self._path_tables[parts] = self.catalog.path_table(parts)
        return self._path_tables[parts]

    def is_repeatable(self, plan: LogicalPlan) -> bool:
        """Return whether ``plan``, the plan of a common table expression, may be computed anew for each use,
        because every computation gives the same rows; if not, the rows must be computed once for all uses.
        Each call is counted in ``uses``."""
        self.uses += 1
        is_known = id(plan) in self._repeatable
        if is_known or shared_rows.is_repeatable(plan, self._repeatable):
            self._held.append(plan)  # so that no other node gets the identity of one of the plan's nodes
            return True
        return False

    def shared(self, plan: LogicalPlan, name: str) -> LogicalScan:
        """Return a scan, shown in EXPLAIN as ``name``, of the rows of ``plan``. All calls with the same plan
        object return the same scan, so that the rows are computed once."""
        entry = self._shared.get(id(plan))
        if entry is None:
            entry = self._shared[id(plan)] = (plan, shared_rows.shared_scan(name, self.settled(plan)))
        return entry[1]

    def parameter(self, name: str) -> Expr:
        """Return the expression of a parameter: a Parameter or, for a null argument, which has no type, the
        literal NULL.

        Raises ProgrammingError (UNBOUND_SQL_PARAMETER) for a parameter without an argument.
        """
        place = self.arguments.bound_place(name)
        data_type = self.arguments.types[place]
        if data_type == types.VOID or self.arguments.values[place] is None:
            return Literal(data_type, self.pin(place))
        return Parameter(data_type, place, number_of(self.arguments.values[place]))

    def variable(self, parts: tuple[str, ...]) -> tuple[Expr, tuple[str, ...]] | None:
        """Return the expression of the SQL variable that a dotted name means, and the names of fields that
        follow; None if the session has no such variable. The expression is a parameter of the plan, or a
        typed NULL."""
        known = self.arguments.variables
        if known is None or not self.sees_variables:
            return None
        for name, *fields in (unqualified(parts), parts):
            place = known.place(name)
            if place is None:
                continue
            variable, index = known.variables[place], self.arguments.own + place
            self.variables.append(variable.name)
            if place not in self._variables:
                self._variables[place] = self._variable(variable.type, index)
            return self._variables[place], tuple(fields)
        return None

    def _variable(self, kind: pa.DataType, index: int) -> Expr:
        if self.arguments.values[index] is None:
            return Literal(kind, self.pin(index))
        return Parameter(kind, index, number_of(self.arguments.values[index]))

    def variable_of(self, expression: Expr) -> tuple[str, Literal] | None:
        """Return the name of the SQL variable that the expression is, and the variable's value, on which the
        plan depends from now on; None for any other expression."""
        known = self.arguments.variables
        for place, found in self._variables.items():
            if found is expression and known is not None:
                variable = known.variables[place]
                return variable.name, Literal(variable.type, self.pin(self.arguments.own + place))
        return None

    def reads_variable(self, expression: Expr) -> bool:
        """Return whether the expression reads a SQL variable."""
        found = [id(item) for item in self._variables.values()]
        return any(id(item) in found for item in walk(expression))

    def title(self, name: str, column: int) -> Expr:
        """Return the expression of the parameter ``name``, which alone forms the result column with the
        ordinal ``column``. For a boolean, INT, BIGINT, DOUBLE or string, ``titles`` records that in each run
        the argument's value names the column."""
        parameter = self.parameter(name)
        if isinstance(parameter, Parameter) and parameter.type in _NAMING:
            self.titles[column] = parameter
        return parameter

    def titled(self, expression: Expr) -> Expr:
        """Return the literal whose text is the name of a result column. For a parameter, the literal has the
        parameter's value, and the plan then serves only statements with this value (:meth:`pin`), unless
        ``titles`` says that each run names the column anew. Any other expression is returned unchanged."""
        if isinstance(expression, Parameter) and expression in self.titles.values():
            return Literal(expression.type, self._value(expression.index))
        return self.known_value(expression)

    def lift(
        self, node: exp.Expr, literal: Literal, *, negative: bool = False, column: int | None = None
    ) -> Expr:
        """Return the parameter that replaces ``literal``, a literal of the text at ``node``; ``negative``: a
        minus sign stands before the node. With ``column``, the ordinal of a result column, the parameter's
        value names that column. If the context has no argument position for the literal, the literal can't be
        lifted and is returned unchanged."""
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
        """Return a lifted literal's parameter as a literal again, and record that the plan depends on its
        value (:meth:`pin`); a parameter of the user, and any other expression, is returned unchanged."""
        if isinstance(expression, Parameter) and expression.index >= self.arguments.given:
            return self.known_value(expression)
        return expression

    def pin(self, place: int) -> object:
        """Return the value of the argument at position ``place``, and record in ``pinned`` that the plan
        depends on the value."""
        self.pinned.add(place)
        return self._value(place)

    def narrowest(self, parameter: Parameter) -> Expr:
        """Return a parameter of an integer type, cast to the narrowest decimal type that holds the argument's
        value, and record in ``sized`` that the plan depends on the value's number of digits. A SQL variable
        is no literal, and has the decimal type of its type. The cast is a safe one because it can't fail, so
        that rules need not mind errors."""
        if self.arguments.own <= parameter.index < self.arguments.given:
            return Cast(coercion.as_decimal(parameter.type), parameter, safe=True)
        self.sized.add(parameter.index)
        value = self._value(parameter.index)
        if isinstance(value, int) and parameter.type != types.TINYINT:
            return Cast(coercion.decimal_of_value(value), parameter, safe=True)
        return Cast(coercion.as_decimal(parameter.type), parameter, safe=True)

    def row_bound(self, expression: Expr) -> int | None:
        """Return a bound of the number of rows that ``expression``, a parameter of the user, has as its
        value, and record in ``bounded`` that the plan depends on the bound. Return None for any other
        expression, and for a value that is no number of rows."""
        if not isinstance(expression, Parameter) or expression.type != types.INT:
            return None
        place = expression.index
        bound = row_bound(self._value(place)) if place < self.arguments.given else -1
        if bound < 0:
            return None
        self.bounded.add(place)
        return bound

    def filled(self) -> Arguments:
        """Return the arguments of the statement, including the values of the literals that parameters have
        replaced."""
        return self.arguments.with_literals(self._filled)

    def _value(self, place: int) -> object:
        literal = self._filled.get(place)
        return self.arguments.values[place] if literal is None else literal.value

    def known_value(self, expression: Expr) -> Expr:
        """Return a parameter as a literal with the argument's value, and record that the plan depends on the
        value (:meth:`pin`); any other expression is returned unchanged."""
        if isinstance(expression, Parameter):
            return Literal(expression.type, self.pin(expression.index))
        return expression

    def constant(self, expression: Expr, node: exp.Expr) -> Expr | None:
        """Return the ``expression``, which ``node`` stands for, with the arguments' values in place of its
        parameters (:meth:`known_value`). Return None if the expression isn't foldable, as Spark calls it: it
        reads a row, has a subquery, or has another value at each evaluation. Raises NotSupportedError for a
        value of the run, such as ``current_date()``, since planning doesn't know the value."""
        known = transform(expression, self.known_value)
        if not self.settings.ansi:
            known = legacy_mode.legacy_expression(known, self.known_value)
        if self.settings.keeps_last_key:
            known = map_keys.last_kept(known)
        if any(isinstance(item, RunValue) for item in walk(known)):
            raise unsupported("A value of the run where planning needs a constant", node)
        return known if is_fixed(known) else None
