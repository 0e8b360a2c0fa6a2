"""Binding of UNPIVOT, which makes rows of columns: one row per item of its IN list for each row."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, cast_to
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.scope import Relation, ScopeColumn, named
from sqlfront_planner.binder.trees.handlers import (
    failure,
    parts_of,
    refuse_unknown,
    unparenthesized,
    unsupported,
)
from sqlfront_planner.logical import (
    LogicalFilter,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalValues,
)
from sqlfront_planner.types import common_type
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Call, Case, Column, Expr, Literal, connected
from sqlfront_values.types import BOOLEAN, INT, STRING, VOID, is_string

_KNOWN: Final = frozenset({"expressions", "fields", "alias", "unpivot", "include_nulls"})


def plain(source: Relation, node: exp.Expr) -> Relation:
    """Return the relation with its visible columns alone, each of them a column of its plan. Raises
    NotSupportedError for a join with USING, whose own columns Spark still finds by qualified names."""
    if any(column.hidden for column in source.columns):
        raise unsupported("PIVOT or UNPIVOT of a join with USING", node)
    if all(isinstance(column.expression, Column) for column in source.columns):
        return source
    names = tuple(column.name for column in source.columns)
    plan = LogicalProject(source.plan, tuple(column.expression for column in source.columns), names)
    columns = zip(source.columns, plan.row(), strict=True)
    return Relation(plan, tuple(ScopeColumn(old.name, new, old.qualifier) for old, new in columns))


def unpivoted(queries: Queries, source: Relation, node: exp.Pivot) -> Relation:
    """Return the relation after UNPIVOT. Raises UNPIVOT_REQUIRES_ATTRIBUTES,
    UNPIVOT_VALUE_DATA_TYPE_MISMATCH and UNPIVOT_VALUE_SIZE_MISMATCH."""
    refuse_unknown(node, _KNOWN)
    source = plain(source, node)
    field = node.args["fields"][0]
    value_names = [part.name for part in _listed(node.expressions[0])]
    binder = ExpressionBinder(queries, source.scope(), Clause.SELECT)
    sets, labels = [], []
    for part in field.expressions:
        nodes = _listed(part.this if isinstance(part, exp.PivotAlias) else part)
        bound = binder.bind_all(nodes)
        if len(bound) != len(value_names):
            raise failure(
                "UNPIVOT_VALUE_SIZE_MISMATCH",
                "All unpivot value columns must have the same size as there are value column names "
                f"({', '.join(value_names)}).",
                part,
            )
        sets.append(bound)
        names = [item.name for item in nodes]
        labels.append(part.args["alias"].name if isinstance(part, exp.PivotAlias) else "_".join(names))
    _check_columns(sets, field.expressions)
    return _made(source, sets, labels, [field.this.name, *value_names], node)


def _listed(node: exp.Expr) -> list[exp.Expr]:
    """Return the items of a list in parentheses, or the node alone."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [unparenthesized(node)]


def _check_columns(sets: Sequence[Sequence[Expr]], nodes: Sequence[exp.Expr]) -> None:
    """Raise UNPIVOT_REQUIRES_ATTRIBUTES for items of IN, with the nodes ``nodes``, that aren't columns."""
    parts = [part.this if isinstance(part, exp.PivotAlias) else part for part in nodes]
    fields = [
        f'"{".".join(parts_of(part))} AS {part.name}"'
        for bound, node in zip(sets, parts, strict=True)
        for item, part in zip(bound, _listed(node), strict=True)
        if not isinstance(item, Column) and isinstance(part, exp.Column)
    ]
    if fields:
        raise failure(
            "UNPIVOT_REQUIRES_ATTRIBUTES",
            "UNPIVOT requires all given value expressions to be columns when no id expressions are given. "
            f"These are not columns: [{', '.join(fields)}].",
            nodes[0],
        )


def _name(column: Expr, source: Relation) -> str:
    return next(known.name for known in source.columns if known.expression == column)


def _made(
    source: Relation,
    sets: Sequence[Sequence[Expr]],
    labels: Sequence[str],
    names: Sequence[str],
    node: exp.Pivot,
) -> Relation:
    """Return the relation of the rows that the sets of columns make: the other columns of ``source``, the
    label of the set, and its values. ``names`` are the names of the label and of the values."""
    kinds = [_common_type(list(column), source, node) for column in zip(*sets, strict=True)]
    listed = {item for columns in sets for item in columns}
    kept = [column for column in source.columns if column.expression not in listed]
    joined, label, number = _repeated(source.plan, labels)
    values = [_chosen(number, [columns[place] for columns in sets], kind) for place, kind in enumerate(kinds)]
    outputs = (*(column.expression for column in kept), label, *values)
    plan: LogicalPlan = LogicalProject(joined, outputs, (*(column.name for column in kept), *names))
    row = plan.row()
    qualifiers = [*(column.qualifier for column in kept), *(() for _ in names)]
    if not node.args.get("include_nulls"):
        for name in names[1:]:
            _refuse_ambiguous(
                name, [(*part, item.name) for part, item in zip(qualifiers, row, strict=True)], node
            )
        found = [Call(BOOLEAN, "is_not_null", (item,)) for item in row[len(kept) + 1 :]]
        plan = LogicalFilter(plan, connected("or", found))
    columns = zip(row, qualifiers, strict=True)
    return Relation(
        plan, tuple(ScopeColumn(item.name, named(item, item.name), part) for item, part in columns)
    )


def _refuse_ambiguous(name: str, known: Sequence[tuple[str, ...]], node: exp.Expr) -> None:
    """Raise AMBIGUOUS_REFERENCE if several columns have the name of a value column, which Spark's filter of
    nulls reads."""
    found = sorted(shown_names.quoted(parts) for parts in known if parts[-1].lower() == name.lower())
    if len(found) > 1:
        raise failure(
            "AMBIGUOUS_REFERENCE",
            f"Reference {shown_names.quoted((name,))} is ambiguous, could be: [{', '.join(found)}].",
            node,
        )


def _repeated(plan: LogicalPlan, labels: Sequence[str]) -> tuple[LogicalPlan, Column, Column]:
    """Return the plan that repeats each row once per label, and its columns with the label and the label's
    position."""
    rows = tuple((Literal(STRING, label), Literal(INT, place)) for place, label in enumerate(labels))
    table = LogicalValues(pa.schema([("label", STRING), ("place", INT)]), rows)
    joined = LogicalJoin(plan, table, JoinKind.INNER)
    label, number = joined.row()[-2:]
    return joined, label, number


def _chosen(number: Expr, columns: Sequence[Expr], kind: pa.DataType) -> Expr:
    """Return the expression of a value column, of the type ``kind``: the column of the row's label."""
    cases = tuple(
        (Call(BOOLEAN, "equal", (number, Literal(INT, place))), cast_to(column, kind))
        for place, column in enumerate(columns)
    )
    return Case(kind, cases, Literal(kind, None))


def _common_type(columns: Sequence[Expr], source: Relation, node: exp.Expr) -> pa.DataType:
    kinds = {column.type for column in columns if column.type != VOID}
    kind = common_type(kinds)
    if kind is None or (not is_string(kind) and any(map(is_string, kinds))):
        raise _mismatch(columns, source, node)
    return kind


def _mismatch(columns: Sequence[Expr], source: Relation, node: exp.Expr) -> Error:
    by_type: dict[pa.DataType, list[str]] = {}
    for column in columns:
        by_type.setdefault(column.type, []).append(f"`{_name(column, source)}`")
    shown = ", ".join(f'"{types.sql_name(kind)}" ({", ".join(names)})' for kind, names in by_type.items())
    return failure(
        "UNPIVOT_VALUE_DATA_TYPE_MISMATCH",
        f"Unpivot value columns must share a least common type, some types do not: [{shown}].",
        node,
    )
