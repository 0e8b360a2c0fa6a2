"""Binding of the parts of variants: ``v:a.b``, and the entries of which variant_explode makes rows."""

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import call_function, wrong_argument
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.tokens.marks import ExtractionPath
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.types import STRING, VARIANT, VOID


def extraction(operand: Expr, path: ExtractionPath, node: exp.Expr) -> Expr:
    """Return the part of the variant ``operand`` at the path; ``node`` is for messages. Raises
    COLUMN_IS_NOT_VARIANT_TYPE for an operand of another type."""
    if operand.type != VARIANT:
        raise failure(
            "COLUMN_IS_NOT_VARIANT_TYPE",
            "The semi-structured extraction operator (`:`) can only be applied to a column of the VARIANT"
            " type.",
            node,
        )
    return Call(VARIANT, "variant_get", (operand, Literal(STRING, str(path))))


def entries_of(binder: ExpressionBinder, node: exp.Expr, call: exp.Anonymous) -> Expr:
    """Return the entries of the variant ``node``, of which variant_explode makes rows."""
    operand = binder.bind(node)
    if operand.type not in (VARIANT, VOID):
        raise wrong_argument(binder, 0, VARIANT, operand, call)
    return call_function(binder, "entries of a variant", [cast_to(operand, VARIANT)], call)
