"""What the binder refuses: Spark's condition, PEP 249's class, the place, and the known names."""

import pytest

from sqlfront_values.errors import NotSupportedError, ProgrammingError
from tests.planner.bound_queries import failure

CONDITIONS = [
    ("select nope from t", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("select nope", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    ("select a from t, u", "AMBIGUOUS_REFERENCE"),
    ("select * from nope", "TABLE_OR_VIEW_NOT_FOUND"),
    ("select * from loop", "RECURSIVE_VIEW"),
    ("select * from t, lateral u", "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC"),
    ("select nope(1)", "UNRESOLVED_ROUTINE"),
    ("select upper(1, 2)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
    ("select upper(distinct 'a')", "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"),
    ("select st.z from t", "FIELD_NOT_FOUND"),
    ("select x.* from t", "CANNOT_RESOLVE_STAR_EXPAND"),
    ("select 'a' + 'b'", "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE"),
    ("select true + 1", "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"),
    ("select not 1", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
    ("select sqrt(true)", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
    ("select case when null then 1 end", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
    ("select coalesce(1, true)", "DATATYPE_MISMATCH.DATA_DIFF_TYPES"),
    ("select cast(true as date)", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
    ("select cast(1 as date)", "DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION"),
    ("select cast(1 as binary)", "DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION"),
    ("select a from t where a", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
    ("select 1 from t join u on 1", "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"),
    ("select * from t join u using (c)", "UNRESOLVED_USING_COLUMN_FOR_JOIN"),
    ("select a, sum(b) from t", "MISSING_GROUP_BY"),
    ("select a, sum(b) from t group by b", "MISSING_AGGREGATION"),
    ("select a + sum(b) from t group by all", "UNRESOLVED_ALL_IN_GROUP_BY"),
    ("select sum(sum(a)) from t", "NESTED_AGGREGATE_FUNCTION"),
    ("select a from t where sum(a) > 1", "INVALID_WHERE_CONDITION"),
    ("select a from t group by 3", "GROUP_BY_POS_OUT_OF_RANGE"),
    ("select a, sum(b) from t group by 2", "GROUP_BY_POS_AGGREGATE"),
    ("select a from t order by 3", "ORDER_BY_POS_OUT_OF_RANGE"),
    ("select distinct a from t order by b", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ("select grouping(a) from t group by a", "UNSUPPORTED_GROUPING_EXPRESSION"),
    ("select row_number() from t", "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE"),
    ("select rank() over () from t", "WINDOW_FUNCTION_FRAME_NOT_ORDERED"),
    ("select upper(s) over () from t", "UNSUPPORTED_EXPR_FOR_WINDOW"),
    ("select a from t where rank() over (order by a) = 1", "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE"),
    ("select sum(a) over w from t", "MISSING_WINDOW_SPECIFICATION"),
    ("select 1, 2 union all select 1", "NUM_COLUMNS_MISMATCH"),
    ("select 1 union all select true", "INCOMPATIBLE_COLUMN_TYPE"),
    ("select * from (select 1, 2) t(a)", "ASSIGNMENT_ARITY_MISMATCH"),
    ("with x as (select 1), x as (select 2) select * from x", "DUPLICATED_CTE_NAMES"),
    ("select * from values (1), (2, 3)", "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH"),
    ("select * from values (1), ('a')", "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE"),
    ("select 1 limit -1", "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE"),
    ("select a from t limit a", "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE"),
    ("select 1 limit 'a'", "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE"),
    ("select 1 limit (select 1)", "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE"),
    ("select 1 limit cast(rand() as int)", "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE"),
    ("select * from range((select 1))", "NON_FOLDABLE_ARGUMENT"),
    ("select ceil(1.5, (select 1))", "NON_FOLDABLE_ARGUMENT"),
    ("select round(1.5, count(*))", "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT"),
    ("select regexp_replace('a', 'b', 'c', (select 1))", "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT"),
    ("select 1 in (select 1, 2)", "DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH"),
    (
        "select (select 1, 2)",
        "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN",
    ),
    ("select date 'x'", "INVALID_TYPED_LITERAL"),
    ("select 300Y", "INVALID_NUMERIC_LITERAL_RANGE"),
    ("select ?", "UNBOUND_SQL_PARAMETER"),
    ("select * from t natural cross join u", "INCOMPATIBLE_JOIN_TYPES"),
    ("select a from u qualify a > 1", "QUALIFY_REQUIRES_WINDOW_FUNCTION"),
    ("select max(distinct a) over () from u", "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED"),
    (
        "select sum(a) over w from u window w as (order by a), w as (order by c)",
        "INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION",
    ),
    ("select * from range(array(1))", "UNEXPECTED_INPUT_TYPE"),
    ("select * except (a, a) from u", "EXCEPT_OVERLAPPING_COLUMNS"),
    ("select x.* except (y.a) from u x, u y", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
]


@pytest.mark.parametrize("sql, condition", CONDITIONS)
def test_error_has_sparks_condition(sql: str, condition: str) -> None:
    error = failure(sql)

    assert isinstance(error, ProgrammingError)
    assert error.condition == condition


@pytest.mark.parametrize(
    "sql, construct",
    [
        ("select explode(array(1)) as x, sum(a) from t group by 2", "GROUP BY with positions"),
        ("select a as x, explode(array(x)) from t", "An alias of the same SELECT in a generator"),
        ("select explode(array(count(*))) from t having true", "HAVING or QUALIFY beside a generator"),
        ("select * from t tablesample (10 percent) repeatable (3)", "TABLESAMPLE with REPEATABLE is"),
        ("select * from t pivot (sum(a) for b in (X'01'))", "A PIVOT value of BINARY for"),
        ("select a = b in (1) from t", "without parentheses"),
        ("select rand() as r, r = r", "nondeterministic"),
        ("select a, sum(c) as a from u group by a order by a", "several columns of the select list"),
        ("select * from t where struct(a, a) in (select a, c from u)", "struct IN a subquery"),
        ("select count(distinct map(a, 1)) from u", "DISTINCT of maps or variants"),
        ("select a from u group by a, array(map(a, 1))", "Grouping by a map"),
        ("select * from u natural left semi join t", "NATURAL SEMI JOIN"),
        ("select rank() over (order by rank() over (order by a)) from u", "inside another window function"),
        ("select lag(a, null) over (order by a) from u", "A null as argument 2 of lag"),
        ("from u select a select c", "several SELECTs"),
        ("select avg(timestamp '2020-01-01')", "avg of TIMESTAMP"),
        ("select '${x}'", "${...}"),
        ("select a as `${x:y}` from t", "${...}"),
        ("select lead() over (order by a) from t", "lead with 0 arguments"),
        ("select ntile('2') over (order by a) from t", "ntile with a number as STRING"),
        ("select lag(null, 1, 'a') over (order by a) from t", "A string as default for VOID"),
        ("select to_json(struct(1), map('a', 'b'))", "to_json with options"),
        ("select interval '178956970-8' year to month", "An interval out of the range of its type"),
        ("select interval '9999999999' year", "An interval out of the range of its type"),
        ("select date_part('y' || 'ear', date '2020-01-01')", "a field that is computed"),
        ("select try_sum(timestamp '2020-01-01')", "try_sum of TIMESTAMP"),
        ("select a, (select max(c) from u where u.a = t.a) from t group by a", "beside GROUP BY"),
        ("select 0x10", "0x"),
        ("select identifier('abs')(-1)", "IDENTIFIER()"),
        ("select * from identifier('t')", "IDENTIFIER()"),
        ("select date 'today'", "'today'"),
        ("select timestamp 'now'", "'now'"),
        ("select date_part(null, date '2020-01-01')", "date_part of NULL"),
        ("select ntile(null) over (order by a) from t", "A null as argument 1 of ntile"),
        ("select a, (select max(a) from u where u.a = t.a) from t group by a", "beside GROUP BY"),
        (
            "select 1 from t group by (select max(a) from u where u.a = t.a)",
            "in GROUP BY that the select list lacks",
        ),
        ("select a from t group by a qualify rank() over (order by count(*)) = 1", "in QUALIFY"),
        ("select a as x, x + 1 as y from t group by x, y", "lateral column alias via GROUP BY"),
        ("select a as x, x + 1 from t group by 1, 2", "lateral column alias via GROUP BY"),
        ("select a as x, x + 1 from t group by all", "lateral column alias via GROUP BY"),
        ("select a, rank() over (order by a) from t group by all", "with GROUP BY ALL"),
        ("select a in (1) in (true) from t", "without parentheses"),
        ("select a between 1 and 2 is null from t", "without parentheses"),
        ("select a is distinct from 1 is null from t", "without parentheses"),
        ("select array_union(array(1), array(2.5))", "array_union of DECIMAL(2,1) and INT"),
        ("select array_append(array(1), 2.5)", "array_append of DECIMAL(2,1) and INT"),
        ("select array_insert(array(1.5), 1, 10.25)", "array_insert of"),
        ("select element_at(map(1, 2), 1.0)", "element_at of"),
        ("select array_position(array(1), 2.5f)", "array_position of FLOAT and INT"),
        ("select array_union(null, null)", "array_union of NULLs"),
        ("select * from values (1 between 0 and 2)", "in VALUES"),
        ("select * from values (nullif(1, 2))", "in VALUES"),
        ("select interval '1' day + '2 hours'", "added to an interval"),
        ("select 1 limit day(current_date())", "A value of the run"),
        ("select round(1.5, day(current_date()))", "A value of the run"),
        ("select array_insert(array(1), null, 2)", "array_insert at NULL"),
        ("select ceil('1', 3)", "ceil of a string"),
        ("select to_timestamp(1, 'yyyy')", "to_timestamp of a number"),
        ("select sequence(1, 5, '1')", "string as step"),
        ("select map(map(1, 2), 3)", "key of a map"),
        ("select try_add('a', 1)", "try_add of strings"),
        ("select count(*) from t group by (a, b)", "struct in parentheses"),
        ("select a from t where window(timestamp'2020-01-01', '1 hour').start is null", "window in WHERE"),
        ("select nanvl(1f, 2f)", "nanvl of floats"),
        (
            "select a from t o group by a having exists (select 1 from t i where sum(o.a) = i.a)",
            "columns of an enclosing query",
        ),
    ],
)
def test_what_is_not_built_is_refused_by_name(sql: str, construct: str) -> None:
    error = failure(sql)

    assert isinstance(error, NotSupportedError)
    assert construct in error.message


def test_the_outer_column_beside_an_aggregate_is_sparks_error() -> None:
    error = failure("select (select max(u.c) + t.b from u where u.a = t.a) from t")

    assert error.condition == "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.CORRELATED_REFERENCE"
    assert error.sqlstate == "0A000"


def test_an_unknown_column_comes_with_the_nearest_names_first() -> None:
    assert "Did you mean one of the following? [`a`, " in failure("select aa from u").message


def test_names_are_qualified_when_there_are_several_tables() -> None:
    assert "`x`.`a`" in failure("select zz from u x, u y").message


def test_an_unknown_table_comes_with_the_known_ones() -> None:
    assert "[`t`, " in failure("select * from tt").message


def test_the_caret_stands_under_the_name() -> None:
    text = str(failure("select a,\n       nope\nfrom t"))

    assert text.splitlines()[-2:] == ["LINE 2:        nope", "               ^^^^"]


def test_the_innermost_expression_is_pointed_at() -> None:
    sql = "select 1 + upper(nope) from t"

    assert failure(sql).position == (sql.index("nope"), sql.index("nope") + 4)


def test_a_missing_argument_is_named_with_the_given_ones() -> None:
    assert ":x" in failure("select :y", {"x": 1}).message
