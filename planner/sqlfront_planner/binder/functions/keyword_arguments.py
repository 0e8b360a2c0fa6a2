"""Binding of functions whose arguments are separated by keywords: SUBSTRING, TRIM, POSITION, OVERLAY."""

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import call_function
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.trees.handlers import handles
from sqlfront_values.expressions import Expr


@handles(exp.Substring, arguments="this start length")
def bind_substring(binder: ExpressionBinder, node: exp.Substring) -> Expr:
    """Bind ``SUBSTRING(s FROM start FOR length)``."""
    parts = [node.this, node.args["start"], node.args.get("length")]
    return call_function(binder, "substring", [binder.bind(part) for part in parts if part is not None], node)


@handles(exp.Trim, arguments="this expression position")
def bind_trim(binder: ExpressionBinder, node: exp.Trim) -> Expr:
    """Bind ``TRIM([BOTH | LEADING | TRAILING] [characters] FROM s)``."""
    position = str(node.args.get("position") or "BOTH").upper()
    operand, characters = binder.bind(node.this), node.args.get("expression")
    operands = [operand] if characters is None else [binder.bind(characters), operand]
    function = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[position]
    if function == "trim" and len(operands) == 2:
        function, operands = "btrim", operands[::-1]
    return call_function(binder, function, operands, node)


@handles(exp.StrPosition, arguments="this substr")
def bind_position(binder: ExpressionBinder, node: exp.StrPosition) -> Expr:
    """Bind ``POSITION(part IN s)``."""
    operands = [binder.bind(node.args["substr"]), binder.bind(node.this)]
    return call_function(binder, "locate", operands, node)


@handles(exp.Overlay, arguments="this expression from_ for_")
def bind_overlay(binder: ExpressionBinder, node: exp.Overlay) -> Expr:
    """Bind ``OVERLAY(s PLACING t FROM start FOR length)``."""
    parts = [node.this, node.expression, node.args["from_"], node.args.get("for_")]
    return call_function(binder, "overlay", [binder.bind(part) for part in parts if part is not None], node)
