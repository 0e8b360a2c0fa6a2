"""The alias of a relation, ``AS t(a, b)``, which renames the relation and its columns."""

from sqlglot import exp

from sqlfront_planner.binder.scope import Relation, ScopeColumn, named
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown


def aliased(source: Relation, node: exp.Expr, *, rename_values: bool = False) -> Relation:
    """Return the relation under the alias of ``node``, with the columns renamed if the alias lists names;
    without an alias return ``source``. ``rename_values``: the relation is VALUES, for which a wrong number of
    names raises INVALID_INLINE_TABLE instead of ASSIGNMENT_ARITY_MISMATCH."""
    alias = node.args.get("alias")
    if alias is None:
        return source
    refuse_unknown(alias, frozenset({"this", "columns"}))
    columns = tuple(source.columns)
    renamed = [item.name for item in alias.args.get("columns") or []]
    if renamed:
        visible = [column for column in columns if not column.hidden]
        if len(renamed) != len(visible):
            if rename_values:
                raise failure(
                    "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
                    f"Invalid inline table. Inline table expected {len(renamed)} columns but found "
                    f"{len(visible)} columns in "
                    "row 0.",
                    node,
                )
            raise wrong_arity(len(visible), len(renamed), node)
        columns = tuple(
            ScopeColumn(name, column.expression) for name, column in zip(renamed, visible, strict=True)
        )
    name = alias.this
    qualifier = (name.name.lower(),) if name is not None else ()
    return Relation(
        source.plan,
        tuple(
            ScopeColumn(column.name, named(column.expression, column.name), qualifier)
            for column in columns
            if not column.hidden
        ),
    )


def wrong_arity(wanted: int, given: int, node: exp.Expr) -> Exception:
    """Make the error ASSIGNMENT_ARITY_MISMATCH for ``given`` names of ``wanted`` columns."""
    return failure(
        "ASSIGNMENT_ARITY_MISMATCH",
        f"The number of columns or variables assigned or aliased: {wanted} does not match the number of "
        "source expressions: "
        f"{given}.",
        node,
    )
