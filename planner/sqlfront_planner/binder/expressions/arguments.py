"""Arguments of calls: number, types, and implicit casts."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.names import spark_functions
from sqlfront_planner.binder.names.shown_names import nearest_words, quoted
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_planner.types import (
    argument_name,
    is_exact,
    is_orderable,
    mixes_strings,
)
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.functions import registry
from sqlfront_values.functions.aggregates.registry import aggregate_names
from sqlfront_values.functions.legacy import LEGACY_NAMES
from sqlfront_values.functions.nested.map_building import KEEPING_LAST, MAP_MAKERS
from sqlfront_values.functions.registry import ArgumentType, Kind, ScalarFunction
from sqlfront_values.functions.windows.registry import window_names

_COMMON: Final = frozenset({Kind.COMMON, Kind.COMMON_ARRAY, Kind.COMMON_MAP})
_BYTES: Final = Kind.STRING_OR_BINARY
_MIXED: Final = {types.STRING, types.BINARY}
#: Functions whose third argument is one character.
_PATTERNS: Final = frozenset({"like", "ilike"})
#: Functions whose second argument, the scale, must be a whole number without a cast.
_TO_SCALE: Final = frozenset({"ceil", "ceiling", "floor"})
#: Functions whose first argument must have a type other than VOID, or for which Spark would choose a type.
_TYPED_FIRST: Final = frozenset(
    {"array_insert", "array_sort", "get", "map_entries", "map_from_arrays", "map_keys", "map_values"}
)
#: Functions that refuse an untyped NULL at the positions of exact types.
_TYPED: Final = frozenset(
    {"bitmap_count", "vector_cosine_similarity", "vector_inner_product", "vector_l2_distance", "vector_norm"}
    | {"vector_normalize"}
)
#: Functions for which Spark makes strings of other values beside a string, with ANSI mode off.
_PROMOTING: Final = frozenset({"map_concat", "sequence"})
#: Functions that parse a text by the pattern in their second argument.
_BY_PATTERN: Final = frozenset({"to_timestamp", "to_timestamp_ltz", "try_to_timestamp"})
_ORDINALS: Final = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)


def function_name(node: exp.Anonymous) -> str:
    """Return the called function's name in lower case, without the prefix ``f$`` that marks the names of
    functions in the tokens that sqlglot parses."""
    name = node.this if isinstance(node.this, str) else node.this.name
    return name.removeprefix(FUNCTION_MARK).lower()


def call_function(binder: ExpressionBinder, name: str, operands: Sequence[Expr], node: exp.Expr) -> Expr:
    """Return the typed call of the registered function ``name``, with the bound ``operands`` cast to the
    function's argument types; ``node`` is the call in the text, for messages.

    Raises NotSupportedError for an unknown name, WRONG_NUM_ARGS and DATATYPE_MISMATCH for wrong operands.
    """
    entry = registry.lookup(name)
    if entry is None:
        raise unsupported(f"The function {name}", node)
    _refuse_untyped(name, operands, node)
    kinds = argument_kinds(entry.arguments, len(operands), variadic=entry.variadic)
    least = len(entry.arguments) - entry.optional
    check_count(name, len(operands), least, None if entry.variadic else len(entry.arguments), node)
    if name in _TO_SCALE and len(operands) == 2:
        _check_scale(binder, name, operands[1], node)
    if name in _PATTERNS and len(operands) == 3:
        _check_escape(binder, operands[2], node)
    if entry.exact:
        _check_exact(binder, entry, kinds, operands, node)
    coerced = coerce(binder, name, kinds, operands, node)
    if name in _COMPARING:
        for operand in coerced:
            check_orderable(binder, name, operand.type, node)
    if name == "regexp_replace" and len(coerced) == 4:
        _check_position(binder, coerced[3], node)
    arguments, values = _constants(binder, entry, coerced, node)
    if name == "mask":
        _check_replacements(binder, values, node)
    return Call(entry.result_type(tuple(item.type for item in arguments), values), entry.name, arguments)


def _refuse_untyped(name: str, operands: Sequence[Expr], node: exp.Expr) -> None:
    """Raise NotSupportedError if the first argument's type makes Spark apply special rules that aren't
    implemented: an untyped NULL, a string to round, or a number to parse by a pattern."""
    first = operands[0].type if operands else None
    if first == types.VOID and name in _TYPED_FIRST:
        raise unsupported(f"{name} of NULL", node)
    if name in _TO_SCALE and len(operands) == 2 and first in (types.VOID, types.STRING):
        raise unsupported(f"{name} of a string with a scale", node)
    if name in _BY_PATTERN and len(operands) == 2 and first is not None and types.is_numeric(first):
        raise unsupported(f"{name} of a number with a pattern", node)


def _check_scale(binder: ExpressionBinder, name: str, scale: Expr, node: exp.Expr) -> None:
    known = binder.context.constant(scale, node)
    if (
        known is None
        or known.type != types.INT
        or evaluate_scalar(known, binder.context.settings.evaluation) is None
    ):
        raise failure(
            "NON_FOLDABLE_ARGUMENT",
            f"The function {quoted((name,))} requires the parameter `scale` to be a foldable expression of"
            ' the type "INT", but the actual argument is not.',
            node,
        )


def _check_position(binder: ExpressionBinder, position: Expr, node: exp.Expr) -> None:
    """Raise DATATYPE_MISMATCH unless ``position``, an argument of regexp_replace, is null or a constant of at
    least 1."""
    known = binder.context.constant(position, node)
    head = f'Cannot resolve "{binder.name(node)}" due to data type mismatch: '
    if known is None:
        raise failure(
            "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
            f'{head}the input `position` should be a foldable "INT" expression.',
            node,
        )
    value = evaluate_scalar(known, binder.context.settings.evaluation)
    if isinstance(value, int) and value <= 0:
        raise failure(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f"{head}The position must be between (0, 2147483647] (current value = {value}).",
            node,
        )


def _check_replacements(binder: ExpressionBinder, values: Sequence[object], node: exp.Expr) -> None:
    """Raise DATATYPE_MISMATCH.INPUT_SIZE_NOT_ONE unless each of the ``values``, the replacements of mask, is
    null or one character."""
    for name, value in zip(("upperChar", "lowerChar", "digitChar", "otherChar"), values, strict=False):
        if isinstance(value, str) and len(value) != 1:
            raise failure(
                "DATATYPE_MISMATCH.INPUT_SIZE_NOT_ONE",
                f'Cannot resolve "{binder.name(node)}" due to data type mismatch:'
                f" Length of {name} should be 1.",
                node,
            )


def _check_escape(binder: ExpressionBinder, escape: Expr, node: exp.Expr) -> None:
    known = binder.context.known_value(escape)
    if not (isinstance(known, Literal) and isinstance(known.value, str) and len(known.value) == 1):
        raise failure(
            "INVALID_ESCAPE_CHAR",
            "`EscapeChar` should be a string literal of length one, but got"
            f' "{binder.name(node.expressions[2])}".',
            node,
        )


def _check_exact(
    binder: ExpressionBinder,
    entry: ScalarFunction,
    kinds: Sequence[ArgumentType],
    operands: Sequence[Expr],
    node: exp.Expr,
) -> None:
    """Raise DATATYPE_MISMATCH for an argument at one of the positions ``entry.exact`` whose type is not
    exactly the declared type in ``kinds``. Raise it also if arguments that must share a type mix strings with
    other types."""
    common = [
        _common_part(operand, kind) for operand, kind in zip(operands, kinds, strict=True) if kind in _COMMON
    ]
    if mixes_strings(common):
        if entry.name == "array_insert":
            raise no_array_and_element(binder, operands, node)
        raise mixed_types(binder, entry.name, list(operands), node)
    for place, (operand, kind) in enumerate(zip(operands, kinds, strict=True)):
        if place not in entry.exact:
            continue
        is_untyped = operand.type == types.VOID and entry.name in _TYPED
        if is_untyped or not is_exact(operand.type, kind):
            raise wrong_argument(binder, place, kind, operand, node)


def no_array_and_element(binder: ExpressionBinder, operands: Sequence[Expr], node: exp.Expr) -> Error:
    """The error of array_insert for a first operand that is no array, or a third that isn't of the array's
    element type."""
    shown = ", ".join(f'"{types.sql_name(operand.type)}"' for operand in (operands[0], operands[2]))
    return failure(
        "DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: Input to `array_insert` should have'
        f' been "ARRAY" followed by a value with same element type, but it\'s [{shown}].',
        node,
    )


#: Functions that compare their arguments, or an array's elements, with each other.
_COMPARING: Final = frozenset(
    {"greatest", "least", "array_max", "array_min", "array_sort", "sort_array", "array_contains"}
    | {"array_position", "array_remove", "array_distinct", "array_union", "array_intersect", "array_except"}
    | {"arrays_overlap"}
)


def check_orderable(binder: ExpressionBinder, name: str, data_type: pa.DataType, node: exp.Expr) -> None:
    """Raise DATATYPE_MISMATCH.INVALID_ORDERING_TYPE if values of the type can't be compared, such as maps;
    ``name`` is the function that compares."""
    if not is_orderable(data_type):
        raise failure(
            "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The `{name}` does not support '
            f'ordering on type "{types.sql_name(data_type)}".',
            node,
        )


def _constants(
    binder: ExpressionBinder, entry: ScalarFunction, arguments: tuple[Expr, ...], node: exp.Expr
) -> tuple[tuple[Expr, ...], tuple[object, ...]]:
    """Evaluate the arguments at the positions ``entry.constants``. Return all arguments, with literals at
    those positions, and the literals' values. Raises DATATYPE_MISMATCH.NON_FOLDABLE_INPUT if such an argument
    reads a column."""
    result, values = list(arguments), []
    for place in entry.constants:
        if place >= len(result):
            continue
        known = binder.context.constant(result[place], node)
        if known is None:
            raise failure(
                "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
                f'Cannot resolve "{binder.name(node)}" due to data type mismatch: the input at position'
                f" {place + 1} should be a foldable expression.",
                node,
            )
        values.append(evaluate_scalar(known, binder.context.settings.evaluation))
        result[place] = Literal(known.type, values[-1])
    return tuple(result), tuple(values)


def argument_kinds(
    declared: tuple[ArgumentType, ...], count: int, *, variadic: bool
) -> tuple[ArgumentType, ...]:
    """Return the types that a function declares for a call of ``count`` arguments. If ``variadic``, the last
    declared type repeats; else there are at most as many types as ``declared``."""
    if variadic and count > len(declared):
        return (*declared, *(declared[-1:] * (count - len(declared))))
    return declared[:count]


def coerce(
    binder: ExpressionBinder,
    name: str,
    kinds: Sequence[ArgumentType],
    operands: Sequence[Expr],
    node: exp.Expr,
) -> tuple[Expr, ...]:
    """Return the operands cast to the types ``kinds`` that the function ``name`` requires; ``node`` is the
    call for messages. All operands of the kinds COMMON, COMMON_ARRAY and COMMON_MAP are cast to their common
    type.

    Raises ProgrammingError (DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE, .DATA_DIFF_TYPES).
    """
    common = [operand for operand, kind in zip(operands, kinds, strict=True) if kind in _COMMON]
    coercion = binder.context.coercion
    find = coercion.common_type if name in _PROMOTING else coercion.unpromoted_type
    shared = find(map(_common_part, common, (kind for kind in kinds if kind in _COMMON)))
    if shared is None:
        raise mixed_types(binder, name, common, node)
    result = []
    for place, (operand, kind) in enumerate(zip(operands, kinds, strict=True)):
        target = _with_common(coercion.implicit_cast(operand.type, kind), kind, shared)
        if target is None:
            raise wrong_argument(binder, place, kind, operand, node)
        result.append(cast_to(operand, target))
    if {operand.type for operand, kind in zip(result, kinds, strict=True) if kind is _BYTES} == _MIXED:
        if name == "overlay":
            raise mixed_types(binder, name, list(operands), node)
        return tuple(
            cast_to(operand, types.STRING) if kind is _BYTES else operand
            for operand, kind in zip(result, kinds, strict=True)
        )
    return tuple(result)


def _common_part(operand: Expr, kind: ArgumentType) -> pa.DataType:
    """Return the type that an argument contributes to the common type: its type for the kind COMMON, its
    elements' type for COMMON_ARRAY, its keys' type for COMMON_MAP. For other kinds return VOID, which
    contributes nothing."""
    data_type = operand.type
    if kind is Kind.COMMON_ARRAY and pa.types.is_list(data_type):
        return data_type.value_type
    if kind is Kind.COMMON_MAP and pa.types.is_map(data_type):
        return data_type.key_type
    return data_type if kind is Kind.COMMON else types.VOID


def _with_common(target: pa.DataType | None, kind: ArgumentType, shared: pa.DataType) -> pa.DataType | None:
    """Return the type to cast an argument to: ``target``, the type of the argument's implicit cast, with the
    common type ``shared`` for array elements or map keys if ``kind`` asks for it. For the kind COMMON return
    ``shared`` itself; for another kind without an implicit cast (``target`` is None) return None."""
    if kind is Kind.COMMON or target is None:
        return shared if kind is Kind.COMMON else None
    if kind is Kind.COMMON_ARRAY:
        return pa.list_(shared)
    return types.map_type(shared, target.item_type) if kind is Kind.COMMON_MAP else target


#: A function that binds a call to an expression.
CallBinder: TypeAlias = Callable[[ExpressionBinder, exp.Anonymous], Expr]
#: The binding functions of calls by name, each with the least and the greatest number of arguments (None: no
#: limit).
CallBinders: TypeAlias = dict[str, tuple[CallBinder, int, int | None]]

#: The end of the errors about numbers of arguments.
WHERE_FUNCTIONS_ARE: Final = (
    "Please, refer to 'https://spark.apache.org/docs/latest/sql-ref-functions.html' for a fix."
)


def check_count(name: str, given: int, least: int, most: int | None, node: exp.Expr) -> None:
    """Raise WRONG_NUM_ARGS unless ``given``, the number of arguments, is between ``least`` and ``most`` (None
    = no limit)."""
    if least <= given and (most is None or given <= most):
        return
    if most is None:
        wanted = f"> {least - 1}"
    elif least == most:
        wanted = str(least)
    else:
        wanted = f"[{', '.join(map(str, range(least, most + 1)))}]"
    raise failure(
        "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
        f"The {quoted((name,))} requires {wanted} parameters but the actual number is {given}."
        f" {WHERE_FUNCTIONS_ARE}",
        node,
    )


def missing_parameter(name: str, parameter: str, node: exp.Expr) -> Error:
    """Make Spark's error for a call of the function ``name`` without the argument of a parameter that has no
    default."""
    return failure(
        "REQUIRED_PARAMETER_NOT_FOUND",
        f"Cannot invoke routine `{name}` because the parameter named `{parameter}` is required, but the "
        "routine call did not supply a value. Please update the routine call to supply an argument value "
        "(either positionally at index 0 or by name) and retry the query again.",
        node,
    )


def wrong_argument(
    binder: ExpressionBinder, place: int, kind: ArgumentType, operand: Expr, node: exp.Expr
) -> Error:
    """Make Spark's error for the argument at ``place`` of the call ``node``, which must have a type of the
    kind."""
    return argument_error(binder, place, argument_name(kind), operand, node)


def argument_error(
    binder: ExpressionBinder, place: int, required: str, operand: Expr, node: exp.Expr
) -> Error:
    """Make the error of :func:`wrong_argument` for a type that Spark writes as ``required``, in quotes."""
    ordinal = _ORDINALS[place] if place < len(_ORDINALS) else f"{place + 1}th"
    return failure(
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The {ordinal} parameter requires '
        f"the {required} type, however {shown_argument(binder, place, node)} has the type"
        f' "{types.sql_name(operand.type)}".',
        node,
    )


def shown_argument(binder: ExpressionBinder, place: int, node: exp.Expr) -> str:
    """The operand at ``place`` of the call or operator ``node``, as errors quote it; "it" if the node has no
    operand there, as functions whose arguments are found by other rules."""
    operands = node.expressions if isinstance(node, exp.Anonymous) else list(node.iter_expressions())
    return f'"{binder.name(operands[place])}"' if place < len(operands) else "it"


def mixed_types(binder: ExpressionBinder, function: str, operands: list[Expr], node: exp.Expr) -> Error:
    """Make Spark's error DATATYPE_MISMATCH.DATA_DIFF_TYPES for operands of ``function`` without a common
    type."""
    shown = " or ".join(f'"{types.sql_name(operand.type)}"' for operand in operands)
    return failure(
        "DATATYPE_MISMATCH.DATA_DIFF_TYPES",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: Input to `{function}` should all '
        "be the same type, "
        f"but it's ({shown}).",
        node,
    )


#: Operators, and fields of ``extract``, that aren't functions of Spark SQL under their registry name.
NOT_CALLABLE: Final = (
    frozenset(registry.OPERATORS) - {"div", "like", "ilike", "rlike", "negative"}
    | {"dayofweek_iso", "year_of_week", "second_with_fraction", "too many rows", "null in a required column"}
    | {"entries of a variant", "text of a time"}
    | {"timestamp of a date and a time", "timestamp_ntz of a date and a time"}
    | {
        f"{what} {maker}"
        for what in ("add", "subtract", "text of")
        for maker in ("make_interval", "try_make_interval")
    }
    | LEGACY_NAMES
    | {"sliding windows", "session end", "merge sessions"}
    | {f"{maker} {KEEPING_LAST}" for maker in MAP_MAKERS}
    | {f"interval_{field}" for field in ("year", "month", "day", "hour", "minute", "second")}
)


def no_such_function(name: str, node: exp.Expr) -> Error:
    """Make the error for a name that can't be called in an expression.

    The error is NotSupportedError if Spark has the function; else NOT_A_SCALAR_FUNCTION, or
    UNRESOLVED_ROUTINE with the nearest of the available functions' names.
    """
    if name in spark_functions.CALLABLE:
        return unsupported(f"The function {name}", node)
    if name in spark_functions.TABLES:
        return failure(
            "NOT_A_SCALAR_FUNCTION",
            f"{quoted((name,))} appears as a scalar expression here, but it is a table function. Move"
            " the call into the FROM clause.",
            node,
        )
    return unresolved_routine(name, node)


def unresolved_routine(name: str, node: exp.Expr) -> Error:
    """Make the error UNRESOLVED_ROUTINE for the function ``name``, with the nearest of the available
    functions' names."""
    known = {*registry.names(), *aggregate_names(), *window_names()} - NOT_CALLABLE
    nearest = ", ".join(quoted((word,)) for word in nearest_words(name, sorted(known)))
    return failure(
        "UNRESOLVED_ROUTINE",
        f"Cannot resolve routine {quoted((name,))}. Did you mean one of the following? [{nearest}].",
        node,
    )
