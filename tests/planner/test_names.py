"""Names of result columns without an alias; all expected names are Spark's answers."""

from datetime import date
from decimal import Decimal

import pytest

from sqlfront_planner.binder import BindSettings, bind
from sqlfront_planner.statements.query_parser import parse_query
from tests.planner.bound_queries import catalog, names, plan

NAMES = [
    # literals
    ("1", "1"),
    ("1L", "1"),
    ("1.50", "1.50"),
    ("1e0", "1.0"),
    ("1e3D", "1000.0"),
    ("4.9E-324D", "4.9E-324"),
    ("1e7", "1.0E7"),
    ("0.0000001", "1E-7"),
    (".5", "0.5"),
    ("1.", "1"),
    ("- 1", "-1"),
    ("-0.0", "0.0"),
    ("+1", "(+ 1)"),
    ("'x'", "x"),
    ("'a' 'b'", "ab"),
    ("'a''b'", "a'b"),
    ("X'1F'", "X'1F'"),
    ("FALSE", "false"),
    ("null", "NULL"),
    ("date '2020-01-01'", "DATE '2020-01-01'"),
    ("timestamp '2020-01-01'", "TIMESTAMP '2020-01-01 00:00:00'"),
    ("timestamp_ntz '0001-01-01 00:00:00.5'", "TIMESTAMP_NTZ '0001-01-01 00:00:00.5'"),
    ("timestamp '2020-01-01 00:00:00+01:00'", "TIMESTAMP '2019-12-31 23:00:00'"),
    ("interval 3 month", "INTERVAL '3' MONTH"),
    ("interval '1 02:03:04' day to second", "INTERVAL '1 02:03:04' DAY TO SECOND"),
    ("interval 1 day 2 hours", "INTERVAL '1 02' DAY TO HOUR"),
    ("interval 1 week", "INTERVAL '7' DAY"),
    # operators
    ("A", "A"),
    ("t.a", "a"),
    ("(a)", "a"),
    ("t.a + 1", "(a + 1)"),
    ("-a", "(- a)"),
    ("- -a", "(- (- a))"),
    ("+a", "(+ a)"),
    ("~a", "~a"),
    ("a div 2", "(a div 2)"),
    ("a >>> 1", "(a >>> 1)"),
    ("a == 1", "(a = 1)"),
    ("a != 1", "(NOT (a = 1))"),
    ("!(a = 1)", "(NOT (a = 1))"),
    ("a IS NOT NULL", "(a IS NOT NULL)"),
    ("NOT a IS NULL", "(NOT (a IS NULL))"),
    ("p IS NOT TRUE", "(NOT (p <=> true))"),
    ("p IS NOT UNKNOWN", "(p IS NOT NULL)"),
    ("a IS DISTINCT FROM 1", "(NOT (a <=> 1))"),
    ("a NOT BETWEEN 1 AND 2", "(NOT between(a, 1, 2))"),
    ("a NOT IN (1, 2)", "(NOT (a IN (1, 2)))"),
    ("s LIKE 'x' ESCAPE '/'", "s LIKE x ESCAPE '/'"),
    ("s REGEXP 'x'", "RLIKE(s, x)"),
    ("s NOT LIKE ANY ('a')", "notlikeany(s)"),
    ("s || 'b'", "concat(s, b)"),
    ("1 + 2 || 3", "concat((1 + 2), 3)"),
    ("'1' || 2 + 3", "(concat(1, 2) + 3)"),
    ("1 | 2 & 3 ^ 4", "(1 | ((2 & 3) ^ 4))"),
    ("1 << 2 + 1", "(1 << (2 + 1))"),
    ("1 = 2 is null", "((1 = 2) IS NULL)"),
    ("2 > 1 = true", "((2 > 1) = true)"),
    ("CASE a WHEN 1 THEN 2 ELSE 3 END", "CASE WHEN (a = 1) THEN 2 ELSE 3 END"),
    # dates
    ("d + 1", "date_add(d, 1)"),
    ("1 + d", "date_add(d, 1)"),
    ("d - d", "(d - d)"),
    ("d + interval 1 day", "date_add(d, extractansiintervaldays(INTERVAL '1' DAY))"),
    ("d + interval 1 hour", "d + INTERVAL '01' HOUR"),
    ("d - interval 1 month", "d - INTERVAL '1' MONTH"),
    # casts
    ("CAST(a AS STRING)", "a"),
    ("a::string", "a"),
    ("CAST(st.x AS INT)", "CAST(st.x AS INT)"),
    ("CAST(a + 1 AS STRING)", "CAST((a + 1) AS STRING)"),
    ("CAST(t.a AS DOUBLE) + 1", "(CAST(a AS DOUBLE) + 1)"),
    ("CAST(NULL AS INT)", "CAST(NULL AS INT)"),
    ("string(1)", "1"),
    # struct fields
    ("st.x", "x"),
    ("t.st.x + 1", "(st.x + 1)"),
    # functions
    ("NVL(a, 1)", "nvl(a, 1)"),
    ("if(p, 1, 2)", "(IF(p, 1, 2))"),
    ("isnull(a)", "(a IS NULL)"),
    ("substring(s from 2)", "substring(s, 2, 2147483647)"),
    ("substr(s, 2)", "substr(s, 2, 2147483647)"),
    ("trim('x' from s)", "TRIM(BOTH x FROM s)"),
    ("position('a' in s)", "locate(a, s, 1)"),
    ("round(f)", "round(f, 0)"),
    ("sqrt(f)", "SQRT(f)"),
    ("log(f)", "LOG(E(), f)"),
    ("extract(MONTH FROM d)", "extract(MONTH FROM d)"),
    ("current_date", "current_date()"),
    # subqueries
    ("(select 1) + 1", "(scalarsubquery() + 1)"),
    ("exists (select 1 from u where u.a = t.b)", "exists(b)"),
    ("a in (select a from u)", "(a IN (listquery()))"),
    # windows
    (
        "lag(a) over (order by b desc)",
        "lag(a, 1, NULL) OVER (ORDER BY b DESC NULLS LAST ROWS BETWEEN -1 FOLLOWING AND -1 FOLLOWING)",
    ),
    ("sum(a) over ()", "sum(a) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"),
    (
        "rank() over (partition by s order by a)",
        (
            "RANK() OVER (PARTITION BY s ORDER BY a ASC NULLS FIRST "
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        ),
    ),
]

AGGREGATE_NAMES = [
    ("count(*)", "count(1)"),
    ("count(DISTINCT a, b)", "count(DISTINCT a, b)"),
    ("sum(a) FILTER (WHERE a > 1)", "sum(a) FILTER (WHERE (a > 1))"),
    ("first(a, true)", "first(a)"),
    ("last_value(a) IGNORE NULLS", "last(a)"),
    ("array_agg(a)", "collect_list(a)"),
    ("percentile_approx(a, 0.5)", "percentile_approx(a, 0.5, 10000)"),
]


@pytest.mark.parametrize("sql, name", NAMES + AGGREGATE_NAMES)
def test_name_is_sparks(sql: str, name: str) -> None:
    assert names(f"select {sql} from t") == [name]


@pytest.mark.parametrize(
    "value, name",
    [
        (float("nan"), "CAST(NaN AS DOUBLE)"),
        (float("-inf"), "CAST(-Infinity AS DOUBLE)"),
        (Decimal("1E+3"), "1000"),
        ([1, 2], "array(1, 2)"),
        ([[1], []], "array(array(1), array())"),
        (["a"], "array(a)"),
        ([date(2024, 1, 1)], "array(DATE '2024-01-01')"),
    ],
)
def test_a_column_that_is_a_parameter_is_named_by_its_value(value: object, name: str) -> None:
    assert [column.name for column in plan("select ?", [value]).row()] == [name]


def test_a_timestamp_is_named_in_the_sessions_time_zone() -> None:
    query = parse_query(
        "select timestamp '2024-03-10 02:30:00', timestamp '2024-01-01 00:00:00Z' = ts from t"
    )

    bound = bind(query, catalog(), BindSettings("America/New_York"))

    assert bound.schema.names == [
        "TIMESTAMP '2024-03-10 03:30:00'",
        "(TIMESTAMP '2023-12-31 19:00:00' = ts)",
    ]


def test_a_lateral_alias_shows_as_such() -> None:
    assert names("select a + b as x, x + 1 from t") == ["x", "(lateralAliasReference(x) + 1)"]


def test_set_operations_take_the_first_branches_names() -> None:
    assert names("select a as x from t union all select c from u") == ["x"]
