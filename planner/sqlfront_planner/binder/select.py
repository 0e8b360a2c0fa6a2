"""Binding of one SELECT: FROM, WHERE, GROUP BY, HAVING, windows, the select list, DISTINCT, ORDER BY.

All expressions are first bound over the input's row, with stand-ins for the values of aggregate and window
calls. When all calls are known, the expressions are rewritten over the rows of the groups and of the Window
nodes.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder import (
    distribution,
    generators,
    lateral_aliases,
    outer_columns,
    pipe_steps,
    selected_generators,
)
from sqlfront_planner.binder.collected_calls import (
    Aggregates,
    GeneratorOutput,
    SelectItem,
    WindowOutput,
    Windows,
    as_read,
)
from sqlfront_planner.binder.collected_windows import TimeWindows
from sqlfront_planner.binder.expressions import casts
from sqlfront_planner.binder.expressions import columns as column_binder
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, OutputNames
from sqlfront_planner.binder.generator_calls import SelectedGenerators, holds_generator, is_item
from sqlfront_planner.binder.groups import group_by, group_names, group_rows
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.binder.names.expression_names import result_name
from sqlfront_planner.binder.relations import from_clause, laterals
from sqlfront_planner.binder.scope import ONE_ROW, BoundQuery, Relation, Scope, ScopeColumn, output_scope
from sqlfront_planner.binder.sorting import (
    OrderItem,
    bind_order,
    check_rows_comparable,
    distinct_rows,
    projection,
    sorted_plan,
)
from sqlfront_planner.binder.time_windows import sessions
from sqlfront_planner.binder.trees.handlers import failure, parts_of, refuse_unknown, unsupported
from sqlfront_planner.expressions.rewriting import TRUE, filtered
from sqlfront_planner.logical import LogicalFilter, LogicalPlan
from sqlfront_planner.statements.query_parser import CHANGES, CONDITION
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import Call, Expr, conjunction, transform, walk
from sqlfront_values.types import BOOLEAN

if TYPE_CHECKING:
    from sqlfront_planner.binder.protocols import Queries

_KNOWN: Final = frozenset(
    [
        "with_",
        "expressions",
        "distinct",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "qualify",
        "windows",
        "order",
        "limit",
        "offset",
        "hint",
        "laterals",
        *distribution.CLAUSES,
    ]
)
_REFUSED: Final = {
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "kind": "SELECT TRANSFORM",
    "into": "SELECT INTO",
    "locks": "FOR UPDATE",
}
#: Errors of HAVING and ORDER BY that Spark reports after errors of the select list.
_AFTER_THE_LIST: Final = (
    "UNRESOLVED_COLUMN",
    "MISSING_ATTRIBUTES",
    "UNSUPPORTED_EXPR_FOR_OPERATOR",
    "NESTED_AGGREGATE_FUNCTION",
)
Rewrite = Callable[[Expr, exp.Expr], Expr]


class Condition(msgspec.Struct, frozen=True):
    """The bound condition of HAVING or QUALIFY, and its node in the text."""

    expression: Expr
    node: exp.Expr


def bind_select(queries: "Queries", node: exp.Select, parent: Scope | None) -> BoundQuery:
    """Bind a SELECT without its LIMIT and OFFSET; ``parent`` is the scope of the enclosing query."""
    for argument, construct in _REFUSED.items():
        if node.args.get(argument):
            raise unsupported(construct, node)
    refuse_unknown(node, _KNOWN)
    source = Relation(ONE_ROW, ())
    if node.args.get("from_") is not None:
        source = from_clause.bind_from(queries, node, parent)
    for view in node.args.get("laterals") or []:
        source = laterals.lateral_view(queries, source, view, parent)
    return _Select(queries, node, source.plan, source.scope(parent)).bind()


class _Select(msgspec.Struct):
    """The state of binding one SELECT: the plan so far, the scope of its row, the calls collected, and the
    bound clauses."""

    queries: "Queries"
    node: exp.Select
    plan: LogicalPlan
    scope: Scope
    aggregates: Aggregates = msgspec.field(default_factory=Aggregates)
    windows: Windows = msgspec.field(default_factory=Windows)
    items: list[SelectItem] = msgspec.field(default_factory=list)
    having: Condition | None = None
    #: Whether HAVING filters above the window functions.
    having_last: bool = False
    qualify: Condition | None = None
    order: list[OrderItem] = msgspec.field(default_factory=list)
    #: Whether expressions may hold an AliasOutput.
    has_stand_ins: bool = False
    generators: SelectedGenerators = msgspec.field(default_factory=SelectedGenerators)
    time_windows: TimeWindows | None = None

    def bind(self) -> BoundQuery:
        try:
            return self._bind()
        except ProgrammingError as error:
            is_unresolved = (error.condition or "").startswith("UNRESOLVED_COLUMN")
            if is_unresolved and self.queries.context.has_merged:
                raise unsupported("A column of a join with USING behind |>", self.node) from None
            if not is_unresolved or not self._ends_with_comma():
                raise
            raise failure(
                "TRAILING_COMMA_IN_SELECT",
                "Trailing comma detected in SELECT clause. Remove the trailing comma before the FROM clause.",
                self.node.expressions[-1],
            ) from None

    def _ends_with_comma(self) -> bool:
        """Return whether the SELECT is like ``SELECT a, FROM t``: Spark reads FROM as the name of a column,
        and t as its alias."""
        if self.node.args.get("from_") is not None or len(self.node.expressions) < 2:
            return False
        last = self.node.expressions[-1]
        named = last.this if isinstance(last, exp.Alias) else None
        return isinstance(named, exp.Column) and [part.upper() for part in parts_of(named)] == ["FROM"]

    def _bind(self) -> BoundQuery:
        where = self.node.args.get("where")
        if where is not None:
            condition = ExpressionBinder(self.queries, self.scope, Clause.WHERE).condition(where.this)
            self.plan = LogicalFilter(self.plan, condition)
        self.time_windows = TimeWindows(self.plan, self.node)
        if any(map(is_item, self.node.expressions)):
            self._bind_generators()
        binder = self._binder()
        self._bind_items(binder)
        if step := pipe_steps.step_of(self.node):
            pipe_steps.check_keys(self.node, self.items, binder)
        grouping = self._bind_group(binder)
        if step:
            pipe_steps.check_calls(step, self.node, self.items, binder)
            self.items = pipe_steps.assigned(self.items, binder) if step == "set" else self.items
        distinct = self.node.args.get("distinct")
        try:
            self._bind_later_clauses(binder, grouping)
        except ProgrammingError as error:
            if grouping is not None and (error.condition or "").startswith(_AFTER_THE_LIST):
                self._check_items(grouping)
            raise
        if self.has_stand_ins:
            self._write_out_aliases()
        if self.time_windows is not None:
            self.plan = self.time_windows.apply()
        if self.aggregates.used and CHANGES in self.node.meta:
            raise failure(
                "UNSUPPORTED_EXPR_FOR_OPERATOR",
                "DELETE, UPDATE and MERGE take no window functions, aggregate functions, and generator "
                "functions.",
                self.node,
            )
        if grouping is not None or self.aggregates.used or self.having is not None:
            self._group(grouping or group_by.Grouping())
        if self.generators.grouped is not None:
            selected_generators.check_order([item.node for item in self.order])
            self.plan, place = selected_generators.apply_grouped(self.generators.grouped, self.plan)
            self._rewrite(place)
        self._apply_windows()
        if self.has_stand_ins:
            self._apply_aliases()
        outputs = [item.expression for item in self.items]
        names = tuple(item.name for item in self.items)
        qualifiers = tuple(item.qualifier for item in self.items)
        if not distinct:
            plan = sorted_plan(self.plan, outputs, names, self.order)
            return BoundQuery(plan, names, qualifiers)
        refuse_unknown(distinct, frozenset())
        return BoundQuery(self._distinct(outputs, names, qualifiers), names, qualifiers)

    def _bind_later_clauses(self, binder: ExpressionBinder, grouping: "group_by.Grouping | None") -> None:
        """Bind HAVING, QUALIFY and ORDER BY over the input's row, except the ORDER BY of a SELECT DISTINCT,
        which is bound later."""
        self.having = self._condition(Clause.HAVING, binder, grouping)
        self.qualify = self._condition(Clause.QUALIFY, binder, grouping)
        if self.qualify is not None and not self.windows.items:
            raise failure(
                "QUALIFY_REQUIRES_WINDOW_FUNCTION",
                "The QUALIFY clause requires at least one window function in the current SELECT list or the "
                "QUALIFY condition.",
                self.qualify.node,
            )
        if not self.node.args.get("distinct"):
            self._bind_order(binder, grouping)

    def _check_items(self, grouping: "group_by.Grouping") -> None:
        """Raise MISSING_AGGREGATION if the select list reads a column that is neither grouped nor
        aggregated."""
        names = ("",) * (len(grouping.keys) + len(self.aggregates.calls) + len(self.aggregates.groupings))
        row = group_rows.GroupRow(grouping.keys, len(self.aggregates.calls), True, names)
        for item in self.items:
            row.over(item.expression, item.node)

    def _binder(self) -> ExpressionBinder:
        named: dict[str, exp.Window] = {}
        for item in self.node.args.get("windows") or []:
            if item.name in named:
                raise failure(
                    "INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION",
                    f"Invalid SQL syntax: The definition of window `{item.name}` is repetitive.",
                    item,
                )
            named[item.name] = item
        return ExpressionBinder(
            self.queries,
            self.scope,
            Clause.SELECT,
            self.aggregates,
            self.windows,
            named_windows=named,
            time_windows=self.time_windows,
        )

    # ---- the select list

    def _bind_generators(self) -> None:
        """Add the generators of the select list to the plan. A SELECT with groups has one at most, which
        makes rows of the groups, and is added later."""
        binder = self._binder()
        if selected_generators.is_grouped(self.node):
            selected_generators.refuse_beside_groups(binder, self.node)
            self.generators = selected_generators.bind_grouped(binder, self.node)
            return
        self.plan, self.scope, self.generators = selected_generators.bind_all(
            binder, self.plan, self.node.expressions
        )
        self.time_windows = TimeWindows(self.plan, self.node)

    def _bind_items(self, binder: ExpressionBinder) -> None:
        if not self.node.expressions:
            raise self._empty_list()
        if step := pipe_steps.step_of(self.node):
            pipe_steps.check_stars(step, self.node.expressions)
        named: list[Expr] = []
        for part in self.node.expressions:
            if isinstance(part, exp.Star):
                self._add_star(list(self.scope.visible()), part, binder)
            elif isinstance(part, exp.Column) and isinstance(part.this, exp.Star):
                self._add_qualified_star(part, binder)
            elif (made := self.generators.columns.get(id(part))) is not None:
                self.items += [SelectItem(column, name, part) for name, column in made]
                named += [column for _, column in made] if isinstance(part, exp.Alias | exp.Aliases) else []
            else:
                known = len(self.windows.items)
                self._add(part, binder)
                if named:
                    selected_generators.refuse_in_windows(named, self.windows.items[known:])

    def _empty_list(self) -> Error:
        """Make the error for a SELECT without columns. For ``SELECT FROM t``, where Spark reads FROM as a
        column's name, it is the error for an unknown column."""
        if self.node.args.get("from_") is None:
            return unsupported("A SELECT without columns", self.node)
        return column_binder.unresolved([], ("FROM",), self.node)

    def _add(self, part: exp.Expr, binder: ExpressionBinder) -> None:
        """Add one expression of the select list as a column; later expressions may use its alias."""
        if holds_generator(part):
            raise generators.nested(binder, part.this if isinstance(part, exp.Alias | exp.Aliases) else part)
        used = len(binder.aliases_used)
        if not isinstance(part, exp.Alias):
            expression = binder.bind(part)
            qualifier = self._qualifier(part)
            name = "" if self._is_unnamed(part, expression) else result_name(part, binder)
            uses_alias = len(binder.aliases_used) > used
            # In Spark a struct's field or a map's value acts as an alias.
            is_part = isinstance(part, exp.Column) and len(part.parts) > 1 and isinstance(expression, Call)
            is_column = isinstance(part, exp.Column) and not is_part
            self.items.append(SelectItem(expression, name, part, qualifier, uses_alias, is_column))
            if is_part:
                binder.aliases.setdefault(name.lower(), []).append(expression)
            return
        refuse_unknown(part, frozenset({"this", "alias"}))
        expression = binder.bind(part.this)
        uses_alias = len(binder.aliases_used) > used
        self.items.append(SelectItem(expression, part.alias, part.this, uses_alias=uses_alias))
        read = as_read(expression, len(self.items) - 1)
        binder.aliases.setdefault(part.alias.lower(), []).append(read)
        self.has_stand_ins |= read is not expression

    def _is_unnamed(self, part: exp.Expr, expression: Expr) -> bool:
        """Return whether the column gets no name. In a SELECT that stands for a DELETE, UPDATE or MERGE names
        are never read, and making them could depend on values. Only a condition gets a name if it isn't
        boolean, because the error shows that name."""
        is_condition = CONDITION in part.meta
        return CHANGES in self.node.meta and (not is_condition or expression.type == BOOLEAN)

    def _qualifier(self, part: exp.Expr) -> tuple[str, ...]:
        match = self.scope.resolve(parts_of(part)) if isinstance(part, exp.Column) else None
        return match.columns[0].qualifier if match is not None else ()

    def _add_qualified_star(self, part: exp.Column, binder: ExpressionBinder) -> None:
        """Add the columns of ``t.*``, or the fields of a struct ``s`` for ``s.*``. Raises
        CANNOT_RESOLVE_STAR_EXPAND if there is neither a relation nor a struct of that name."""
        refuse_unknown(part, frozenset({"this", "table", "db", "catalog"}))
        qualifier = tuple(item.name for item in part.parts[:-1])
        columns = self.scope.qualified(qualifier)
        if columns:
            self._add_star(list(columns), part.this, binder)
            return
        match = self.scope.resolve(qualifier)
        expression = (
            match.columns[0].expression if match is not None and match.parts == len(qualifier) else None
        )
        if expression is None or not pa.types.is_struct(expression.type):
            known = ", ".join(shown_names.quoted((column.name,)) for column in self.scope.visible())
            raise failure(
                "CANNOT_RESOLVE_STAR_EXPAND",
                f"Cannot resolve {shown_names.quoted(qualifier)}.* given input columns {known}. Please "
                "check that the specified table or struct exists and is accessible in the input columns.",
                part,
            )
        fields = [
            ScopeColumn(item.name, column_binder.field_of(binder, expression, item.name, part))
            for item in expression.type
        ]
        self._add_star(fields, part.this, binder)

    def _add_star(self, columns: list[ScopeColumn], star: exp.Star, binder: ExpressionBinder) -> None:
        """Add the columns of a star to the select list, without the columns of its EXCEPT. Raises
        UNRESOLVED_COLUMN for an excepted name that isn't a column of the star."""
        refuse_unknown(star, frozenset({"except_"}))
        left_out = star.args.get("except_") or []
        dropped = []
        for name in left_out:
            expression = self._left_out(name, columns) or binder.bind(name)
            if all(column.expression != expression for column in columns):
                known = [(*column.qualifier, column.name) for column in columns]
                raise column_binder.unresolved(known, parts_of(name), name)
            if expression in dropped:
                raise failure(
                    "EXCEPT_OVERLAPPING_COLUMNS",
                    f"Columns in an EXCEPT list must be distinct, but {shown_names.quoted((name.name,))} "
                    "is there twice.",
                    name,
                )
            dropped.append(expression)
        self.items += [
            SelectItem(column.expression, column.name, star, column.qualifier, is_column=True)
            for column in columns
            if column.expression not in dropped
        ]

    def _left_out(self, name: exp.Expr, columns: list[ScopeColumn]) -> Expr | None:
        """Return the expression of the column that ``name``, an item of the star's EXCEPT, means; None if
        ``name`` is dotted, or if not exactly one of ``columns`` has the name."""
        named = [column for column in columns if column.name.lower() == name.name.lower()]
        is_plain = isinstance(name, exp.Column) and len(name.parts) == 1
        return named[0].expression if is_plain and len(named) == 1 else None

    def _outputs(self, *, generated: bool = True) -> dict[str, list[Expr]]:
        """Return the select list's expressions by lower-case name; a name has several if columns share it.
        Without ``generated``, the columns that a generator makes of the groups are left out."""
        outputs: dict[str, list[Expr]] = {}
        for item in self.items:
            if not generated and isinstance(item.expression, GeneratorOutput):
                continue
            outputs.setdefault(item.name.lower(), []).append(item.expression)
        return outputs

    # ---- GROUP BY, HAVING, QUALIFY, ORDER BY over the input's row

    def _bind_group(self, select: ExpressionBinder) -> "group_by.Grouping | None":
        group = self.node.args.get("group")
        if group is None:
            return None
        binder = ExpressionBinder(
            self.queries,
            self.scope,
            Clause.GROUP_BY,
            output=OutputNames(self._outputs(generated=False)),
            time_windows=self.time_windows,
        )
        items = [(item.expression, item.node) for item in self.items]
        grouping = group_by.bind_grouping(binder, group, items)
        stand_ins = self.has_stand_ins and any(map(lateral_aliases.aliases_read, grouping.keys))
        for item in self.items:
            if item.uses_alias and (
                (stand_ins or item.expression in grouping.keys)
                or (grouping.is_all and not group_names.has_calls(select, item.node))
            ):
                raise failure(
                    "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_GROUP_BY",
                    "The feature is not supported: Referencing a lateral column alias via GROUP BY "
                    "alias/ALL is not supported yet.",
                    item.node,
                )
        return grouping

    def _condition(
        self, clause: Clause, binder: ExpressionBinder, grouping: "group_by.Grouping | None"
    ) -> Condition | None:
        """Bind the condition of HAVING or QUALIFY, in which the select list's names are known, and cast it to
        BOOLEAN; None if the SELECT doesn't have the clause."""
        node = self.node.args.get(clause.value.lower())
        if node is None:
            return None
        names = OutputNames(self._outputs())
        inner = replace(binder, clause=clause, output=names, aliases={})
        if clause is Clause.HAVING:
            names, self.having_last = group_names.in_having(self._selected(), inner, node.this, grouping)
            inner = replace(inner, output=names, windows=None)
        else:
            inner = replace(inner, aggregates=None)
        condition = casts.explicit_cast(inner, inner.bind(node.this), BOOLEAN, node.this)
        return Condition(condition, node.this)

    def _bind_order(self, binder: ExpressionBinder, grouping: "group_by.Grouping | None") -> None:
        order = distribution.sort_clause(self.node)
        is_placed = any(self.node.args.get(name) for name in distribution.CLAUSES)
        if order is None and not is_placed:
            return
        outputs = [item.expression for item in self.items]
        inner = replace(binder, clause=Clause.ORDER_BY, aliases={})
        if grouping is None and not self.aggregates.used and self.having is None:
            inner.output = OutputNames(self._outputs(), grouped=False)
            self.order = [] if order is None else bind_order(inner, order, outputs)
            distribution.check_distribution(self.node, inner, outputs)
            return
        if is_placed:
            names, qualifiers = [item.name for item in self.items], [item.qualifier for item in self.items]
            distribution.check_over_output(self.node, binder, names, outputs, qualifiers)
        if order is None:
            return
        selected, grouping = self._selected(), grouping or group_by.Grouping()
        inner.output = group_names.in_order(selected, grouping)
        group_names.refuse_known_calls(selected, grouping, inner, order)
        self.order = bind_order(inner, order, outputs)
        group_names.refuse_grouping_id(selected, self.order)

    def _selected(self) -> "group_names.BoundSelectList":
        having = None if self.having is None else self.having.expression
        return group_names.BoundSelectList(self.items, self.aggregates, bool(self.windows.items), having)

    # ---- the steps after WHERE

    def _group(self, grouping: "group_by.Grouping") -> None:
        """Aggregate the plan's rows, and rewrite all other expressions over the groups' row. Then filter the
        groups by HAVING, unless HAVING is evaluated after the window functions."""
        grouped = self.node.args.get("group") is not None
        self._check_grouped_subqueries(grouping)
        if self.scope.parent is not None:
            outer_columns.refuse_in_groups(self.plan, grouping, self.aggregates, self.items)
        if grouping.sets is not None and sessions.session_keys(self.plan, grouping.keys):
            raise unsupported("Sessions in grouping sets", self.node)
        if self.having is not None:
            moved, rest = sessions.before_merging(
                self.plan, grouping.keys, self.aggregates.calls, self.having.expression
            )
            if moved:
                self.plan = filtered(self.plan, moved)
                self.having = replace(self.having, expression=conjunction(rest) or TRUE)
        self.plan, row = group_rows.grouped_plan(
            self.plan, grouping, self.aggregates, self.node, grouped=grouped
        )
        self._rewrite(row.over, row.over_order)
        for item in self.items:
            outer_columns.refuse_correlated(item.expression, "beside GROUP BY", item.node)
        if self.having is not None and not self.having_last:
            self.plan = LogicalFilter(self.plan, self.having.expression)

    def _check_grouped_subqueries(self, grouping: "group_by.Grouping") -> None:
        """Raise NotSupportedError if a grouping key that isn't in the select list has a correlated
        subquery."""
        selected = [part for item in self.items for part in walk(item.expression)]
        for key in grouping.keys:
            if key not in selected:
                outer_columns.refuse_correlated(key, "in GROUP BY that the select list lacks", self.node)

    def _apply_windows(self) -> None:
        """Add the Window nodes to the plan. Then filter by QUALIFY, and by HAVING if HAVING is evaluated
        after the window functions."""
        if self.windows.items:
            if self.scope.parent is not None:
                outer_columns.refuse_in_windows(self.windows.items)
            self.plan, places = self.windows.apply(self.plan)

            def place(item: Expr) -> Expr:
                return places[item.index] if isinstance(item, WindowOutput) else item

            self._rewrite(lambda expression, node: transform(expression, place), windows=False)
        for condition in (self.having if self.having_last else None, self.qualify):
            if condition is not None:
                self.plan = LogicalFilter(self.plan, condition.expression)

    def _write_out_aliases(self) -> None:
        """Replace aliases in HAVING, QUALIFY and the window calls by the expressions that they stand for,
        since these clauses are computed before the select list and can't read its columns."""
        columns = [item.expression for item in self.items]

        def rewrite(expression: Expr, node: exp.Expr) -> Expr:
            return lateral_aliases.written_out(expression, columns)

        if self.having is not None:
            self.having = replace(self.having, expression=rewrite(self.having.expression, self.having.node))
        if self.qualify is not None:
            self.qualify = replace(
                self.qualify, expression=rewrite(self.qualify.expression, self.qualify.node)
            )
        self.windows.items = [item.over(rewrite) for item in self.windows.items]

    def _apply_aliases(self) -> None:
        """Add projections before the select list that compute the columns that other columns or ORDER BY read
        by an alias; replace the stand-ins for these columns."""
        columns = [item.expression for item in self.items]
        order = [item.expression for item in self.order]
        read = frozenset().union(*map(lateral_aliases.aliases_read, (*columns, *order)))
        if not read:
            return
        names = [item.name for item in self.items]
        self.plan, places = lateral_aliases.apply_aliases(self.plan, columns, names, read)
        outputs = [
            places[index] if index in places else lateral_aliases.placed(column, places)
            for index, column in enumerate(columns)
        ]
        self.items = [
            replace(item, expression=output) for item, output in zip(self.items, outputs, strict=True)
        ]
        self.order = [
            replace(
                item,
                expression=outputs[columns.index(item.expression)]
                if item.expression in columns
                else lateral_aliases.placed(item.expression, places),
            )
            for item in self.order
        ]

    def _rewrite(
        self, rewrite: Rewrite, rewrite_order: Rewrite | None = None, *, windows: bool = True
    ) -> None:
        """Rewrite all bound expressions over another row by ``rewrite``, those of ORDER BY by
        ``rewrite_order`` (None = by ``rewrite``). The arguments of window functions are rewritten only if
        ``windows``."""
        self.items = [replace(item, expression=rewrite(item.expression, item.node)) for item in self.items]
        self.generators = self.generators.rewritten(rewrite)
        order = rewrite_order or rewrite
        self.order = [replace(item, expression=order(item.expression, item.node)) for item in self.order]
        if self.having is not None:
            self.having = replace(self.having, expression=rewrite(self.having.expression, self.having.node))
        if self.qualify is not None:
            self.qualify = replace(
                self.qualify, expression=rewrite(self.qualify.expression, self.qualify.node)
            )
        if windows:
            self.windows.items = [item.over(rewrite) for item in self.windows.items]

    def _distinct(
        self, outputs: list[Expr], names: tuple[str, ...], qualifiers: tuple[tuple[str, ...], ...]
    ) -> LogicalPlan:
        """Return the plan of the distinct rows of ``outputs``, sorted by the SELECT's ORDER BY, which sees
        only the columns of the output."""
        projected = projection(self.plan, outputs, names)
        row = projected.row()
        check_rows_comparable([item.type for item in row], self.node)
        plan = distinct_rows(projected, names, self.node)
        order = distribution.sort_clause(self.node)
        scope = output_scope(names, row, qualifiers, self.scope.parent)
        binder = ExpressionBinder(self.queries, scope, Clause.ORDER_BY)
        distribution.check_distribution(self.node, binder, row)
        return plan if order is None else sorted_plan(plan, row, names, bind_order(binder, order, row))
