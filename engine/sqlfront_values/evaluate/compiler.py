"""Compilation of expressions to functions from the rows of a batch to an array. The compiler examines nodes,
SQL functions and types once, not once per batch."""

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront_values import casts
from sqlfront_values.arrow import dictionaries
from sqlfront_values.arrow.forms import Datum, constant, plain
from sqlfront_values.errors import DataError
from sqlfront_values.evaluate import scaled, sharing
from sqlfront_values.evaluate.fallible import can_fail, entry_of, is_deterministic, unknown
from sqlfront_values.evaluate.rows import LEVELS_OF_A_STACK, Evaluator, Rows, on_another_stack
from sqlfront_values.expressions import (
    Call,
    Case,
    Cast,
    Chain,
    Column,
    Expr,
    HigherOrder,
    Literal,
    Parameter,
    Previous,
    RunValue,
    connected,
    walk_computation,
)
from sqlfront_values.functions import registry
from sqlfront_values.functions.logic import comparison
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import (
    BOOLEAN,
    DATE,
    MAX_SHORT_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    is_decimal,
)

if TYPE_CHECKING:
    from sqlfront_values.casts import special_moments
    from sqlfront_values.evaluate import higher_order
    from sqlfront_values.evaluate import lazy as lazy_forms
else:
    special_moments = lazy_module("sqlfront_values.casts.special_moments")
    higher_order = lazy_module("sqlfront_values.evaluate.higher_order")
    lazy_forms = lazy_module("sqlfront_values.evaluate.lazy")

_COALESCES: Final = frozenset({"coalesce", "nvl", "ifnull"})
_STRING_ID: Final = STRING.id
#: Functions of which only the first operand's null decides the result.
_FIRST_ENDS: Final = frozenset(
    {"array_append", "array_contains", "array_insert", "element_at", "elt", "format_string", "get"}
    | {"get_item", "get_value", "levenshtein", "try_element_at"}
)
_CONCATENATIONS: Final = frozenset({"concat", "concat_op"})
#: The types whose casts read words, such as ``today``, if they are constants.
_MOMENTS: Final = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
#: The memo's key of the value of :class:`Previous`; subexpressions have other numbers.
_PREVIOUS: Final = sys.maxsize


class Compiler:
    """A compiler of ``expressions`` that are evaluated over the same rows: a part that occurs several times
    in two or more expressions is computed once. For a single expression, or without ``expressions``, nothing
    is shared. ``skips_nulls``: functions whose operands can fail evaluate them only for the rows in which
    the operands before aren't null, at once; else in a second attempt, after an error."""

    def __init__(
        self, settings: Settings, expressions: Sequence[Expr] = (), *, skips_nulls: bool = False
    ) -> None:
        self._settings = settings
        self._skips_nulls = skips_nulls
        self._depth = 0
        computed = [item for item in expressions if not isinstance(item, Column)]
        self._sharing = sharing.Sharing(computed) if computed and len(expressions) > 1 else None

    @cached_property
    def _scaled(self) -> "scaled.ScaledCompiler":
        return scaled.ScaledCompiler(self.node, self._slot)

    def node(self, expression: Expr) -> Evaluator:
        """Compile the expression to a closure from rows to an array, or to a scalar if all rows have one
        value."""
        if isinstance(expression, Column):  # wide rows have many columns, none worth keeping
            return _column(expression.ordinal)
        self._depth += 1
        evaluator = (
            self._node(expression)
            if self._depth % LEVELS_OF_A_STACK
            else on_another_stack(on_fresh_stack(self._node, expression))
        )
        self._depth -= 1
        slot = self._slot(expression)
        if slot is None:
            return evaluator

        def run(rows: Rows) -> pa.Array | pa.Scalar:
            kept = rows.memo.get(slot)
            if kept is None:
                kept = rows.memo[slot] = evaluator(rows)
            return kept

        return run

    def compact(self, expression: Expr) -> Evaluator:
        """Compile the expression to a closure from rows to an array, or to a scalar if all rows have one
        value. Unlike with :meth:`node`, a decimal of more than 18 digits may come as a decimal64 of 18
        digits, if all unscaled values of a batch fit 64 bits (even those of 19 digits)."""
        data_type = expression.type
        if (
            is_decimal(data_type)
            and data_type.precision > MAX_SHORT_PRECISION
            and scaled.is_plannable(expression)
        ):
            return self._scaled.evaluator(expression, lambda: self._plain_node(expression), compact=True)
        return self.node(expression)

    def _slot(self, expression: Expr) -> int | None:
        return None if self._sharing is None else self._sharing.slot(expression)

    def _node(self, expression: Expr) -> Evaluator:
        if self._skips_nulls or isinstance(expression, Literal) or not scaled.is_plannable(expression):
            return self._plain_node(expression)
        evaluator = self._scaled.evaluator(expression, lambda: self._plain_node(expression))
        return self._once_more(expression, evaluator) if can_fail(expression) else evaluator

    def _plain_node(self, expression: Expr) -> Evaluator:
        match expression:
            case Column(ordinal=ordinal):
                return _column(ordinal)
            case Literal(value=value, type=data_type):
                return _always(constant(value, data_type))
            case Call():
                return self._call(expression)
            case Cast(operand=operand, safe=safe):
                convert = casts.compile_cast(
                    operand.type, expression.type, safe=safe, settings=self._settings
                )
                if expression.type in _MOMENTS and operand.type == STRING and _is_constant(operand):
                    convert = special_moments.with_words(convert, expression.type, self._settings.time_zone)
                inner = self.node(operand)
                return lambda rows: convert(inner(rows))
            case Case():
                return self._case(expression)
            case Chain():
                return self._chain(expression)
            case HigherOrder():
                return higher_order.compiled(expression, self.node, self._within().node)
            case Previous():
                return lambda rows: rows.memo[_PREVIOUS]
            case Parameter() | RunValue() | _:
                raise unknown(expression)

    def _within(self) -> "Compiler":
        """Return a compiler of the bodies of lambdas, which are evaluated over rows of their own."""
        inside = Compiler(self._settings, skips_nulls=self._skips_nulls)
        inside._depth = self._depth
        return inside

    def _chain(self, chain: Chain) -> Evaluator:
        """Compile the chain to a closure that evaluates link after link, each with the previous value in the
        rows' memo. A link's operands may have chains of their own."""
        first, links = self.node(chain.first), [self.node(link) for link in chain.links]

        def run(rows: Rows) -> Datum:
            memo, value = rows.memo, first(rows)
            around = memo.get(_PREVIOUS)
            try:
                for link in links:
                    memo[_PREVIOUS] = value
                    value = link(rows)
            finally:
                memo[_PREVIOUS] = around
            return value

        return run

    def _case(self, case: Case) -> Evaluator:
        branches = tuple((self.node(condition), self.node(value)) for condition, value in case.branches)
        form = lazy_forms.lazy_case if any(map(can_fail, case.children()[1:])) else lazy_forms.eager_case
        return form(branches, self.node(case.otherwise), case.type)

    def _call(self, call: Call) -> Evaluator:
        function, arguments = call.function, call.arguments
        if function == "in":
            return self._among(call)
        if len(arguments) > 1 and any(map(can_fail, arguments[1:])):
            lazy = self._lazy_form(call)
            if lazy is not None:
                return lazy
            ending = _ending(call)
            if ending:
                return self._until_null(call, ending)
        return self._eager_call(call)

    def _eager_call(self, call: Call) -> Evaluator:
        """Compile the call to an evaluator that evaluates all operands for all rows."""
        function, arguments = call.function, call.arguments
        if function in comparison.KERNELS and any(map(scaled.is_plannable, arguments)):
            return self._decimal_comparison(call)
        return self._kernel(call)

    def _until_null(self, call: Call, ending: int) -> Evaluator:
        """Compile the call of a function that Spark evaluates operand by operand, up to the first null: an
        operand that can fail fails only if none of the first ``ending`` operands before it is null. All
        operands are evaluated for all rows, since rows without errors are the rule; after an error they are
        evaluated again with more care."""
        if self._skips_nulls:
            kernel, operands = self._prepared(call)
            return lazy_forms.until_null(kernel, operands, ending, call.type)
        return self._once_more(call, self._eager_call(call))

    def _once_more(self, expression: Expr, eager: Evaluator) -> Evaluator:
        """Return an evaluator that evaluates the expression by ``eager``, and after an error once more with
        care for nulls, unless a second evaluation may give other values."""
        careful: Evaluator | None = None
        if not is_deterministic(expression):
            return eager

        def run(rows: Rows) -> Datum:
            nonlocal careful
            try:
                return eager(rows)
            except DataError:
                if careful is None:
                    careful = Compiler(self._settings, skips_nulls=True).node(expression)
                return careful(rows)

        return run

    def _among(self, call: Call) -> Evaluator:
        """Compile ``x IN (...)``. If an item of the list is not a literal, the call becomes alternatives ``x
        = a OR x = b``; else x is looked up in a set of the literals, or the call's kernel compares x with the
        literals if they are few or no set serves their type."""
        tested, *listed = call.arguments
        values = [choice.value for choice in listed if isinstance(choice, Literal)]
        if len(values) < len(listed):
            return self.node(_as_alternatives(call.arguments))
        kernel = comparison.among(tested.type, values)
        if kernel is None:
            return self._kernel(call)
        return _placed(kernel, (self.node(tested),), call, (tested.type,))

    def _kernel(self, call: Call) -> Evaluator:
        """Compile the call to its kernel, which is called with the values of the operands; over dictionary
        strings the kernel is called once per distinct value where the function allows."""
        kernel, operands = self._prepared(call)
        return _placed(kernel, operands, call, tuple([argument.type for argument in call.arguments]))

    def _prepared(self, call: Call) -> "tuple[registry.PreparedKernel, tuple[Evaluator, ...]]":
        """Return the kernel of the call, and its operands."""
        arguments = call.arguments
        types = tuple([argument.type for argument in arguments])
        constants = _constants(arguments)
        signature = registry.Signature(registry.kernel_type(call.type), types, constants, self._settings)
        operands = tuple(
            [
                self.node(argument) if known is None else _always(known)
                for argument, known in zip(arguments, constants, strict=True)
            ]
        )
        return entry_of(call).prepared(signature), operands

    def _decimal_comparison(self, call: Call) -> Evaluator:
        """Compile a comparison of decimals. Decimals of one type are compared by their unscaled values in
        int64 until values come that do not fit int64; from then on, and for different types, the call's
        kernel compares."""
        left, right = call.arguments
        if not left.type.equals(right.type):
            return self._kernel(call)
        wide: Evaluator | None = None
        kernel = comparison.KERNELS[call.function]
        first, second = self._scaled.plan(left).run, self._scaled.plan(right).run

        def run(rows: Rows) -> pa.Array | pa.Scalar:
            nonlocal wide
            if wide is None:
                try:
                    return kernel.call([first(rows).values, second(rows).values])
                except scaled.TooWideError:
                    wide = self._kernel(call)
            return wide(rows)

        return run

    def _lazy_form(self, call: Call) -> Evaluator | None:
        """Compile a function whose later operands must be evaluated only for the rows that need them (AND,
        OR, if, nvl2, coalesce); None for other functions."""
        function, arguments = call.function, call.arguments
        match function:
            case "and" | "or":
                left, right = map(self.node, arguments)
                return lazy_forms.lazy_connective(left, right, conjunction=function == "and")
            case "if":
                return self.node(Case(call.type, ((arguments[0], arguments[1]),), arguments[2]))
            case "nvl2":
                present = Call(BOOLEAN, "is_not_null", (arguments[0],))
                return self.node(Case(call.type, ((present, arguments[1]),), arguments[2]))
            case _ if function in _COALESCES:
                return lazy_forms.lazy_coalesce(tuple(map(self.node, arguments)), call.type)
            case _:
                return None


def _is_constant(expression: Expr) -> bool:
    """Return whether the expression has the same value for all rows, and at every evaluation."""
    parts = walk_computation(expression)
    return not any(isinstance(part, Column | Previous) for part in parts) and is_deterministic(expression)


def _column(ordinal: int) -> Evaluator:
    return lambda rows: rows.column(ordinal)


def _always(scalar: pa.Scalar) -> Evaluator:
    return lambda rows: scalar


def _constants(arguments: tuple[Expr, ...]) -> tuple[pa.Scalar | None, ...]:
    return tuple(
        [
            constant(argument.value, argument.type) if isinstance(argument, Literal) else None
            for argument in arguments
        ]
    )


def _ending(call: Call) -> int:
    """Return the number of the call's first operands that Spark evaluates one after the other, up to the
    first null, after which it evaluates no other operand. 0 also if :class:`Previous` is among the later
    operands, which has values for all rows only."""
    entry, later = entry_of(call), call.arguments[1:]
    if any(isinstance(part, Previous) for operand in later for part in walk_computation(operand)):
        return 0
    if entry.name in _FIRST_ENDS:
        return 1
    all_end = entry.null_propagating and not entry.name.startswith("try_")
    joins_arrays = entry.name in _CONCATENATIONS and pa.types.is_list(call.type)
    return len(later) if all_end and (not entry.variadic or joins_arrays) else 0


def _placed(
    kernel: "registry.PreparedKernel",
    operands: tuple[Evaluator, ...],
    call: Call,
    types: tuple[pa.DataType, ...],
) -> Evaluator:
    """Compile the call of ``kernel`` over operands of the given types. For dictionary strings, the kernel is
    called once per distinct value if the function allows that, else with decoded strings."""
    if not any(data_type.id == _STRING_ID for data_type in types):
        return _applied(kernel, operands)
    entry = entry_of(call)
    if entry.elementwise_values and entry.deterministic and not entry.fails(call):
        return _over_strings(kernel, operands, call.type, entry.null_propagating)
    return _decoded(kernel, operands)


def _applied(kernel: "registry.PreparedKernel", operands: tuple[Evaluator, ...]) -> Evaluator:
    """Return an evaluator that calls the kernel with the operands' values. Calls of one operand and of two
    have separate closures, since small batches are sensitive to each Python step."""
    match operands:
        case (only,):
            return lambda rows: kernel((only(rows),), rows.length)
        case (left, right):
            return lambda rows: kernel((left(rows), right(rows)), rows.length)
        case _:
            return lambda rows: kernel(tuple([operand(rows) for operand in operands]), rows.length)


def _decoded(kernel: "registry.PreparedKernel", operands: tuple[Evaluator, ...]) -> Evaluator:
    return lambda rows: kernel(tuple([plain(operand(rows)) for operand in operands]), rows.length)


def _over_strings(
    kernel: "registry.PreparedKernel",
    operands: tuple[Evaluator, ...],
    data_type: pa.DataType,
    null_propagating: bool,
) -> Evaluator:
    def run(rows: Rows) -> pa.Array | pa.Scalar:
        arguments = tuple([operand(rows) for operand in operands])
        for argument in arguments:
            if isinstance(argument, pa.DictionaryArray):
                return dictionaries.over_dictionary(
                    kernel, arguments, rows.length, data_type, null_propagating
                )
        return kernel(arguments, rows.length)

    return run


def _as_alternatives(arguments: tuple[Expr, ...]) -> Expr:
    """Rewrite ``x IN (a, b)`` as ``x = a OR x = b``. If an item can fail, ``CASE WHEN x IS NULL THEN NULL``
    goes before, as no item is evaluated for a null x."""
    tested, *items = arguments
    alternatives = connected("or", [Call(BOOLEAN, "equal", (tested, item)) for item in items])
    if not any(map(can_fail, items)):
        return alternatives
    return Case(BOOLEAN, ((Call(BOOLEAN, "is_null", (tested,)), Literal(BOOLEAN, None)),), alternatives)
