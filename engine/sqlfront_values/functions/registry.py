"""The contract of a scalar function, and the registry that the planner and the evaluator share.

An entry is declarative: it tells the types of the arguments (:class:`Kind` or an exact type), the type of the
result, and the computation over Arrow arrays. The planner casts the arguments to the entry's types by Spark's
coercion rules, so that a kernel sees only the types that its entry names.
"""

from collections.abc import Callable
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import InternalError
from sqlfront_values.expressions import Call, Literal
from sqlfront_values.functions import growth as sizes
from sqlfront_values.room import claim
from sqlfront_values.settings import Settings
from sqlfront_values.types import physical


class Kind(Enum):
    """A family of argument types. The planner leaves an argument whose type belongs to the family unchanged,
    and casts any other argument to a type of the family."""

    ANY = "any"
    """Any type."""
    COMMON = "common"
    """All COMMON arguments of a call get the same type, Spark's least common type."""
    NUMERIC = "numeric"
    """Any number; strings become double."""
    NUMERIC_OR_INTERVAL = "numeric or interval"
    """Any number or interval; strings become double."""
    INTEGRAL = "integral"
    """tinyint to bigint; no other type is cast to these."""
    INT_OR_BIGINT = "int or bigint"
    """int and bigint stay; other numbers and strings become int."""
    INT_OR_STRING = "int or string"
    """Strings stay; numbers become int."""
    BIGINT_OR_BYTES = "bigint or bytes"
    """Strings and binaries stay; numbers become bigint."""
    DOUBLE_INTERVAL_OR_TIME = "double, interval or time of day"
    """Intervals and times of day stay; any other type becomes double."""
    DOUBLE_OR_INTERVAL = "double or interval"
    """Intervals stay; numbers and strings become double."""
    ORDINAL = "number, interval, date or timestamp"
    """Any number, interval, date or timestamp; strings become double."""
    DOUBLE_OR_DOUBLES = "double or array of doubles"
    """Other numbers and strings become double, other arrays of numbers arrays of doubles."""
    FLOAT_OR_FLOATS = "float or array of floats"
    """Other numbers and strings become float, other arrays of numbers arrays of floats."""
    BIGINT_OR_BIGINTS = "bigint or array of bigints"
    """Other numbers and strings become bigint, other arrays of numbers arrays of bigints."""
    DECIMAL = "decimal"
    """Decimals stay; other numbers become the decimal type that Spark has for their type, strings
    decimal(38,18)."""
    DECIMAL_OR_DOUBLE = "decimal or double"
    """Decimals stay; other numbers and strings become double."""
    STRING_OR_BINARY = "string or binary"
    """Strings and binaries stay; other atomic types become string."""
    STRING_OR_STRINGS = "string or array of strings"
    """Strings and arrays of strings stay; other atomic types become string, other arrays arrays of
    strings."""
    STRING_OR_ARRAY = "string or array"
    """Strings, binaries and arrays stay; other atomic types become string."""
    DATE_OR_TIMESTAMP = "date or timestamp"
    """Dates, both timestamps and times of day stay; strings become timestamp."""
    TIME = "time"
    """Times of day stay, of any precision; strings and both timestamps become TIME."""
    ANY_TIMESTAMP = "timestamp with or without time zone"
    """Both timestamps stay; dates and strings become timestamp."""
    STRING_OR_DATETIME = "string, date or timestamp"
    """Strings, dates and both timestamps stay."""
    TIMESTAMP_SOURCE = "number, string, date or timestamp"
    """Numbers, dates and both timestamps stay; other atomic types become string."""
    TIMESTAMP_TEXT = "string, date or timestamp, else as text"
    """Dates and both timestamps stay; other atomic types become string."""
    INTEGRAL_OR_BOOLEAN = "integral or boolean"
    """tinyint to bigint and booleans; no other type is cast to these."""
    ARRAY = "array"
    """A list type."""
    MAP = "map"
    """A map type."""
    COLLECTION = "array or map"
    """A list type or a map type."""
    STRUCT = "struct"
    """A struct type."""
    COMMON_ARRAY = "array of common"
    """An array whose elements take part in the call's common type, see COMMON."""
    COMMON_MAP = "map of common"
    """A map whose keys take part in the call's common type, see COMMON."""


ArgumentType: TypeAlias = pa.DataType | Kind


class Invocation(msgspec.Struct, frozen=True):
    """The context of a kernel call beside its arguments: the ``type`` of the result (in the form of
    :func:`kernel_type`), the logical types of the arguments, ``length``, the number of rows, and the
    session's settings."""

    type: pa.DataType
    argument_types: tuple[pa.DataType, ...]
    length: int
    settings: Settings


def kernel_type(data_type: pa.DataType) -> pa.DataType:
    """Return the form in which a kernel receives its result's logical type: physical for a nested type, since
    an array with intervals inside is built of their storage type; unchanged for any other type."""
    return physical(data_type) if pa.types.is_nested(data_type) else data_type


class Signature(msgspec.Struct, frozen=True):
    """The parts of a call that are known before any row is read: the ``type`` of the result (in the form of
    :func:`kernel_type`), the logical types of the arguments, the values of the arguments that are literals
    (None for any other argument), and the session's settings."""

    type: pa.DataType
    argument_types: tuple[pa.DataType, ...]
    constants: tuple[pa.Scalar | None, ...]
    settings: Settings


Kernel = Callable[[tuple[Datum, ...], Invocation], Datum]
#: A kernel made for one signature; its second argument is the row count.
PreparedKernel = Callable[[tuple[Datum, ...], int], Datum]
ResultType: TypeAlias = pa.DataType | Callable[[tuple[pa.DataType, ...]], pa.DataType]


class ScalarFunction(msgspec.Struct, frozen=True):
    """The entry of a scalar function in the registry.

    ``kernel`` takes Arrow arrays (of ``Invocation.length`` rows) or scalars in physical form (strings always
    plain) and returns an array of that length, or a scalar if all rows have one value. ``prepare`` makes a
    kernel for a signature instead, so that choices by types and constants are made once per plan and not once
    per batch; the evaluator prefers ``prepare``. An entry has one of the two or both.

    ``arguments`` holds the types of all positions; a call may omit the last ``optional`` of them. If
    ``variadic``, the last position repeats (zero times, too, if ``optional`` covers it). ``result`` is the
    logical type, or a function from the coerced argument types to the logical type.

    ``null_propagating``: the result is null if any argument is null (and the kernel returns null itself in
    such rows). ``deterministic``: equal arguments always give equal results. ``can_fail``: whether the
    function may raise for some values; a callable decides for a call. ``elementwise_values``: the result for
    a row depends only on that row's values, so that the evaluator may run the function over a dictionary's
    values instead of the rows (only if the function is also deterministic and cannot fail).

    At the positions ``exact``, only a narrower number is cast to the declared type (Spark's
    ``ExpectsInputTypes``); arguments of :attr:`Kind.COMMON` at these positions don't mix strings with other
    types. If ``variadic``, the last of these positions repeats.

    The arguments at the positions ``constants`` must be constant (Spark: foldable); if their values decide
    the result's type, ``constant_result`` computes the type from the types and these values.

    ``growth`` bounds the bytes that a call makes (:mod:`~sqlfront_values.functions.growth`), if its result's
    values differ in size.

    ``display`` replaces the name in the names of result columns. ``example`` is a call and the ``repr`` of
    its Python value.
    """

    name: str
    arguments: tuple[ArgumentType, ...]
    result: ResultType
    kernel: Kernel | None = None
    optional: int = 0
    variadic: bool = False
    null_propagating: bool = True
    deterministic: bool = True
    elementwise_values: bool = True
    can_fail: bool | Callable[[Call], bool] = False
    display: str | None = None
    example: tuple[str, str] | None = None
    constants: tuple[int, ...] = ()
    exact: tuple[int, ...] = ()
    constant_result: Callable[[tuple[pa.DataType, ...], tuple[object, ...]], pa.DataType] | None = None
    prepare: Callable[[Signature], PreparedKernel] | None = None
    growth: sizes.Growth = sizes.of_arguments

    def __post_init__(self) -> None:
        if self.kernel is None and self.prepare is None:
            raise InternalError(f"function {self.name} has no kernel")

    def result_type(
        self, argument_types: tuple[pa.DataType, ...], constants: tuple[object, ...] = ()
    ) -> pa.DataType:
        """Return the logical result type of a call; ``argument_types`` are the logical types after coercion.
        ``constants`` are the Python values of the arguments at the positions ``self.constants``, as far as
        the call has them."""
        if self.constant_result is not None and constants:
            return self.constant_result(argument_types, constants)
        return self.result(argument_types) if callable(self.result) else self.result

    def fails(self, call: Call) -> bool:
        """Return whether the call itself (not its operands) may raise for some values."""
        return self.can_fail(call) if callable(self.can_fail) else self.can_fail

    def prepared(self, signature: Signature) -> PreparedKernel:
        """Return the function's kernel for calls with the given signature. If values of the result type
        differ in size, the kernel claims room for its result, by ``growth``, before it computes."""
        kernel = self._prepared(signature)
        if not sizes.is_variable(signature.type):
            return kernel
        name, growth, most = self.name, self.growth, sizes.most_bytes(signature.type)

        def run(arguments: tuple[Datum, ...], length: int) -> Datum:
            rows = _rows(arguments, length)
            claim(name, growth(arguments, rows), rows, most)
            return kernel(arguments, length)

        return run

    def _prepared(self, signature: Signature) -> PreparedKernel:
        if self.prepare is not None:
            return self.prepare(signature)
        kernel = self.kernel
        assert kernel is not None
        result, types, settings = signature.type, signature.argument_types, signature.settings
        return lambda arguments, length: kernel(arguments, Invocation(result, types, length, settings))


def _rows(arguments: tuple[Datum, ...], length: int) -> int:
    """Return the number of rows for which a kernel computes values: ``length`` if an argument is a column, 1
    if all arguments are scalars."""
    for argument in arguments:
        if isinstance(argument, pa.Array):
            return length
    return 1


#: The number, or the length of a text (characters), up to which a constant doesn't count as large: as a width
#: of texts, 1,024 makes 64 MiB of a full batch.
_FEW: Final = 1024


def large_unless(position: int) -> Callable[[Call], bool]:
    """Return a function for :attr:`ScalarFunction.can_fail` of SQL functions that fail only if a result gets
    too large.

    The returned function takes a call. It returns False if the argument at ``position`` (from 0) is missing,
    null, a literal number up to :data:`_FEW`, or a literal text up to that length, since the call's result
    then can't get too large; else True.
    """

    def fails(call: Call) -> bool:
        if len(call.arguments) <= position:
            return False
        argument = call.arguments[position]
        if not isinstance(argument, Literal):
            return True
        match argument.value:
            case int() as number:
                return number > _FEW
            case str() | bytes() as text:
                return len(text) > _FEW
            case _:
                return False

    return fails


#: The modules of this package that register functions, loaded at the first lookup of a function that is not
#: yet registered: a process that looks up none, as for ``SELECT 1``, starts much faster.
AREAS: Final = (
    "csv.texts",
    "hashes.ciphers",
    "hashes.hashing",
    "hashes.message_codes",
    "json.reading",
    "json.texts",
    "legacy.casts",
    "legacy.or_null",
    "legacy.wrapping",
    "logic.comparison",
    "logic.conditional",
    "logic.extremes",
    "logic.row_places",
    "nested.array_search",
    "nested.array_shapes",
    "nested.collections",
    "nested.concatenation",
    "nested.maps",
    "nested.sequences",
    "nested.shuffling",
    "nested.vectors",
    "numbers.arithmetic",
    "numbers.bitmaps",
    "numbers.bits",
    "numbers.math",
    "numbers.random_numbers",
    "numbers.rounding",
    "sketches.distinct_functions",
    "sketches.quantile_functions",
    "sketches.top_k_functions",
    "text.base32",
    "text.case",
    "text.encodings",
    "text.identifiers",
    "text.number_conversions",
    "text.number_texts",
    "text.padding",
    "text.patterns.like",
    "text.patterns.regular_expressions",
    "text.printf",
    "text.searching",
    "text.sentences",
    "text.similarity",
    "text.substrings",
    "text.utf8",
    "text.web_texts",
    "time.buckets",
    "time.building",
    "time.calendar_intervals",
    "time.fields",
    "time.moving",
    "time.texts",
    "time.times_of_day",
    "time.truncating",
    "time.windows",
    "xml.reading",
    "xml.writing",
    "xml.xpath",
    "variants.editing",
    "variants.parsing",
    "variants.reading",
)

_FUNCTIONS: Final[dict[str, ScalarFunction]] = {}


def register(*functions: ScalarFunction) -> None:
    """Add the functions to the registry. Raises InternalError if a name is taken."""
    for function in functions:
        if function.name in _FUNCTIONS:
            raise InternalError(f"function {function.name} is registered twice")
        _FUNCTIONS[function.name] = function


def lookup(name: str) -> ScalarFunction | None:
    """Return the entry of the function or operator ``name`` (Spark's name in lower case); None if there is no
    such function."""
    return _FUNCTIONS.get(name) or _all_functions().get(name)


def lookup_in_area(name: str, area: str) -> ScalarFunction | None:
    """Return the entry of the function ``name`` that the module ``area`` of :data:`AREAS` registers; None if
    there is no such function. Loads only that module."""
    import_module(f"sqlfront_values.functions.{area}")
    return _FUNCTIONS.get(name)


def names() -> tuple[str, ...]:
    """Return the names of all registered functions and operators, sorted."""
    return tuple(sorted(_all_functions()))


@cache
def _all_functions() -> dict[str, ScalarFunction]:
    for area in AREAS:
        import_module(f"sqlfront_values.functions.{area}")
    return _FUNCTIONS


#: Operators by the registry name of their function, with the symbol that result-column names show.
OPERATORS: Final[dict[str, str]] = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "div": "div",
    "remainder": "%",
    "equal": "=",
    "not_equal": "<>",
    "equal_null_safe": "<=>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "and": "AND",
    "or": "OR",
    "not": "NOT",
    "negative": "-",
    "is_null": "IS NULL",
    "is_not_null": "IS NOT NULL",
    "in": "IN",
    "like": "LIKE",
    "ilike": "ILIKE",
    "rlike": "RLIKE",
    "bit_and_op": "&",
    "bit_or_op": "|",
    "bit_xor_op": "^",
    "bit_not": "~",
    "concat_op": "||",
    "get_item": "[]",
    "get_value": "[]",
    "get_field": ".",
    "get_fields": ".",
}
