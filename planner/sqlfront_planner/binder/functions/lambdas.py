"""Binding of the functions that take lambdas, such as ``transform`` and ``aggregate``."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import AggregateOutput, WindowOutput
from sqlfront_planner.binder.expressions.arguments import CallBinders, call_function, function_name
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.expressions.subqueries import subquery_in_lambda
from sqlfront_planner.binder.names.lambda_names import LAMBDAS
from sqlfront_planner.binder.trees.handlers import failure, handles, unsupported
from sqlfront_planner.expressions.closures import LambdaVariable, OpenLambda, closed, new_variable
from sqlfront_planner.expressions.rewriting import holds_subquery
from sqlfront_planner.types import mixes_strings, same_but_for_names
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Expr, HigherOrder, Literal, walk
from sqlfront_values.types import BOOLEAN, INT, VOID, map_type

_ORDINALS: Final = ("first", "second", "third", "fourth")


@handles(exp.Lambda, arguments="this expressions")
def bind_lambda(binder: ExpressionBinder, node: exp.Lambda) -> Expr:
    """Raise INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION for a lambda at a place where no function
    takes one."""
    raise failure(
        "INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION",
        "Invalid lambda function call. A lambda function should only be used in a higher order function.",
        node,
    )


class _Call:
    """A call that is being bound: its arguments, its lambdas, and the checks of both."""

    def __init__(self, binder: ExpressionBinder, node: exp.Anonymous) -> None:
        self.binder, self.node = binder, node
        self.name = function_name(node)
        count = LAMBDAS[self.name][0]
        for part in node.expressions[:count]:
            if isinstance(part, exp.Lambda):
                raise failure(
                    "INVALID_LAMBDA_FUNCTION_CALL.PARAMETER_DOES_NOT_ACCEPT_LAMBDA_FUNCTION",
                    "Invalid lambda function call. You passed a lambda function to a parameter that does not"
                    " accept it. Please check if lambda function argument is in the correct position.",
                    part,
                )
        self.arguments = binder.bind_all(node.expressions[:count])
        self.nodes = node.expressions[count:]
        for part, argument in zip(node.expressions, self.arguments, strict=False):
            if holds_subquery(argument):
                raise subquery_in_lambda(part)

    def array(self, place: int) -> pa.DataType:
        """Return the type of the elements of an argument that must be an array."""
        kind = self.arguments[place].type
        if not pa.types.is_list(kind):
            raise self.wrong(place, '"ARRAY"', kind)
        return kind.value_type

    def map(self, place: int) -> pa.MapType:
        """Return the type of an argument that must be a map."""
        kind = self.arguments[place].type
        if not pa.types.is_map(kind):
            raise self.wrong(place, '"MAP"', kind)
        return kind

    def lambda_of(self, place: int, *kinds: pa.DataType, fewest: int | None = None) -> OpenLambda:
        """Bind the lambda number ``place`` of the call, whose parameters have the types ``kinds``; it may
        have no fewer parameters than ``fewest`` (None = than ``kinds``). An expression that is no lambda is
        one that ignores its parameters.

        Raises INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH or .DUPLICATE_ARG_NAMES."""
        node = self.nodes[place]
        if not isinstance(node, exp.Lambda):
            hidden = kinds if fewest is None else kinds[:fewest]
            variables = [new_variable(kind, "") for kind in hidden]
            body = self.binder.within_lambda(()).bind(node)
        else:
            names = [part.name for part in node.expressions]
            self._check_names(names, len(kinds), len(kinds) if fewest is None else fewest, node)
            variables = [new_variable(kind, name) for kind, name in zip(kinds, names, strict=False)]
            self.binder.context.lambdas[id(node)] = (node, tuple(variables), False)
            body = self.binder.within_lambda(variables).bind(node.this)
        self._check_collected(body, node)
        return OpenLambda(tuple(variables), body)

    def _check_names(self, names: Sequence[str], most: int, fewest: int, node: exp.Expr) -> None:
        if not fewest <= len(names) <= most:
            raise failure(
                "INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH",
                f"Invalid lambda function call. A higher order function expects {len(names)} arguments, but"
                f" got {fewest}.",
                node,
            )
        lowered = [name.lower() for name in names]
        if len(set(lowered)) < len(lowered):
            shown = ", ".join(f"`{name}`" for name in lowered)
            raise failure(
                "INVALID_LAMBDA_FUNCTION_CALL.DUPLICATE_ARG_NAMES",
                f"Invalid lambda function call. The lambda function has duplicate arguments {shown}. Please,"
                ' consider to rename the argument names or set "spark.sql.caseSensitive" to "true".',
                node,
            )

    def _check_collected(self, body: Expr, node: exp.Expr) -> None:
        """Raise an error for an aggregate or window function over a parameter of a lambda: such functions are
        computed before the lambda."""
        aggregates, windows = self.binder.aggregates, self.binder.windows
        for item in walk(body):
            if isinstance(item, AggregateOutput) and aggregates is not None:
                call = aggregates.calls[item.index]
                parts = [*call.arguments, *([] if call.filter is None else [call.filter])]
                if _reads_parameter(parts):
                    raise unsupported("An aggregate function over a parameter of a lambda", node)
            if isinstance(item, WindowOutput) and windows is not None:
                window = windows.items[item.index]
                order = [part for part, _ in window.order]
                if _reads_parameter([*window.call.arguments, *window.partition, *order]):
                    raise failure(
                        "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
                        "A window function can't read a parameter of a lambda.",
                        node,
                    )

    def condition(self, place: int, *kinds: pa.DataType, fewest: int | None = None) -> OpenLambda:
        """Bind a lambda that must be a boolean; NULL is one."""
        found = self.lambda_of(place, *kinds, fewest=fewest)
        if found.body.type not in (BOOLEAN, VOID):
            raise self.wrong(len(self.arguments) + place, '"BOOLEAN"', found.body.type)
        return self.typed(place, found, BOOLEAN)

    def typed(self, place: int, found: OpenLambda, data_type: pa.DataType) -> OpenLambda:
        """Return the lambda number ``place`` of the call with its body cast to ``data_type``; a body of type
        VOID becomes NULL, as which Spark also shows it."""
        node = self.nodes[place]
        if found.body.type != VOID or data_type == VOID:
            return OpenLambda(found.parameters, cast_to(found.body, data_type))
        if isinstance(node, exp.Lambda):
            self.binder.context.lambdas[id(node)] = (node, found.parameters, True)
        return OpenLambda(found.parameters, Literal(data_type, None))

    def result(self, data_type: pa.DataType, *lambdas: OpenLambda) -> Expr:
        """Return the bound call, of type ``data_type``."""
        function = "aggregate" if self.name == "reduce" else self.name
        return closed(HigherOrder(data_type, function, tuple(self.arguments), (), ()), lambdas)

    def wrong(self, place: int, wanted: str, kind: pa.DataType) -> Error:
        """Make UNEXPECTED_INPUT_TYPE for the argument at ``place``."""
        return self.mismatch(
            "UNEXPECTED_INPUT_TYPE",
            f"The {_ORDINALS[place]} parameter requires the {wanted} type, however"
            f' "{self.binder.name(self.node.expressions[place])}" has the type "{types.sql_name(kind)}".',
        )

    def mismatch(self, kind: str, message: str) -> Error:
        """Make an error of the condition DATATYPE_MISMATCH."""
        return failure(
            f"DATATYPE_MISMATCH.{kind}",
            f'Cannot resolve "{self.binder.name(self.node)}" due to data type mismatch: {message}',
            self.node,
        )


def _reads_parameter(parts: Sequence[Expr]) -> bool:
    return any(isinstance(item, LambdaVariable) for part in parts for item in walk(part))


def _transform(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    call = _Call(binder, node)
    body = call.lambda_of(0, call.array(0), INT, fewest=1)
    return call.result(pa.list_(body.body.type), body)


def _filter(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    call = _Call(binder, node)
    body = call.condition(0, call.array(0), INT, fewest=1)
    return call.result(call.arguments[0].type, body)


def _quantifier(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``exists`` or ``forall``."""
    call = _Call(binder, node)
    return call.result(BOOLEAN, call.condition(0, call.array(0)))


def _aggregate(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``aggregate`` or ``reduce``. The first lambda must give the type of the start; names of fields may
    differ."""
    call = _Call(binder, node)
    element, kind = call.array(0), call.arguments[1].type
    merge = call.lambda_of(0, kind, element)
    finish = [call.lambda_of(1, kind)] if len(call.nodes) > 1 else []
    given = merge.body.type
    if given != VOID and not same_but_for_names(given, kind):
        raise call.wrong(2, f'"{types.sql_name(kind)}"', given)
    merge = call.typed(0, merge, kind)
    return call.result(finish[0].body.type if finish else kind, merge, *finish)


def _zip_with(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    call = _Call(binder, node)
    body = call.lambda_of(0, call.array(0), call.array(1))
    return call.result(pa.list_(body.body.type), body)


def _transform_keys(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    call = _Call(binder, node)
    kind = call.map(0)
    body = call.lambda_of(0, kind.key_type, kind.item_type)
    if _holds_map(body.body.type):
        raise call.mismatch(
            "INVALID_MAP_KEY_TYPE", f'The key of map cannot be/contain "{types.sql_name(body.body.type)}".'
        )
    if body.body.type == VOID:
        raise unsupported("A map whose keys are all NULL", node)
    return call.result(map_type(body.body.type, kind.item_type), body)


def _holds_map(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return True
    fields = range(kind.num_fields) if pa.types.is_nested(kind) else ()
    return any(_holds_map(kind.field(place).type) for place in fields)


def _transform_values(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    call = _Call(binder, node)
    kind = call.map(0)
    body = call.lambda_of(0, kind.key_type, kind.item_type)
    return call.result(map_type(kind.key_type, body.body.type), body)


def _map_filter(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    call = _Call(binder, node)
    kind = call.map(0)
    return call.result(kind, call.condition(0, kind.key_type, kind.item_type))


def _map_zip_with(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``map_zip_with``, whose maps' keys are cast to their common type."""
    call = _Call(binder, node)
    left, right = call.map(0), call.map(1)
    keys = (left.key_type, right.key_type)
    mixed = mixes_strings(keys) and types.BINARY not in keys
    common = None if mixed else binder.context.coercion.wider_type(*keys)
    if common is None:
        raise call.mismatch(
            "MAP_ZIP_WITH_DIFF_TYPES",
            "Input to the `map_zip_with` should have been two maps with compatible key types, but it's"
            f' ["{types.sql_name(keys[0])}", "{types.sql_name(keys[1])}"].',
        )
    call.arguments = [
        cast_to(argument, map_type(common, kind.item_type))
        for argument, kind in zip(call.arguments, (left, right), strict=True)
    ]
    body = call.lambda_of(0, common, left.item_type, right.item_type)
    return call.result(map_type(common, body.body.type), body)


def _array_sort(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``array_sort``, with or without a comparator."""
    call = _Call(binder, node)
    if not call.nodes:
        return call_function(binder, "array_sort", call.arguments, node)
    element = call.array(0)
    body = call.lambda_of(0, element, element)
    if body.body.type != INT:
        raise call.mismatch(
            "UNEXPECTED_RETURN_TYPE",
            'The `lambdafunction` requires return "INT" type, but the actual is'
            f' "{types.sql_name(body.body.type)}" type.',
        )
    return call.result(call.arguments[0].type, body)


#: Functions that take lambdas.
LAMBDA_FUNCTIONS: Final[CallBinders] = {
    "transform": (_transform, 2, 2),
    "filter": (_filter, 2, 2),
    "exists": (_quantifier, 2, 2),
    "forall": (_quantifier, 2, 2),
    "aggregate": (_aggregate, 3, 4),
    "reduce": (_aggregate, 3, 4),
    "zip_with": (_zip_with, 3, 3),
    "transform_keys": (_transform_keys, 2, 2),
    "transform_values": (_transform_values, 2, 2),
    "map_filter": (_map_filter, 2, 2),
    "map_zip_with": (_map_zip_with, 3, 3),
    "array_sort": (_array_sort, 1, 2),
}
