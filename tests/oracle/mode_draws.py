"""Random expressions of every operator, cast and function over values of every type, for comparisons under
another mode (``spark.sql.ansi.enabled=false``); the same expressions for the same seed.

A draw is a list of statements: the expression over constants, and over the columns of a view of a few rows,
so that both ways of evaluation are asked.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from sqlfront_planner.binder.functions.function_names import function_names

#: Values of each type, ordinary, extreme and malformed, as SQL.
VALUES = {
    "tinyint": ("0Y", "1Y", "-1Y", "127Y", "-128Y", "cast(null as tinyint)"),
    "smallint": ("0S", "7S", "32767S", "-32768S"),
    "int": ("0", "1", "-1", "2", "10", "2147483647", "-2147483648", "cast(null as int)"),
    "bigint": ("0L", "3L", "9223372036854775807L", "(-9223372036854775807L - 1L)", "1577836800L"),
    "float": ("float('0')", "float('1.5')", "float('1e20')", "float('nan')", "float('-inf')"),
    "double": ("0D", "-0.0D", "2.5D", "1e20D", "-1e300D", "double('nan')", "double('inf')", "300.7D"),
    "decimal(3,1)": ("0.0BD", "1.5BD", "-99.9BD"),
    "decimal(20,0)": ("cast('99999999999999999999' as decimal(20,0))", "cast('-5' as decimal(20,0))"),
    "decimal(38,0)": ("99999999999999999999999999999999999999BD", "-12345678901234567890123456789BD"),
    "decimal(38,10)": ("cast('1234567890123456789012345678.0123456789' as decimal(38,10))",),
    "string": (
        "''", "'a'", "'0'", "'1'", "'1.5'", "' 12 '", "'-7'", "'1e3'", "'300'", "'true'", "'no'", "'.'",
        "'x y'", "'2020-02-29'", "'2020-13-01'", "'2020-01-01 10:20:30'", "'9999999999'", "'NaN'",
        "'UTC'", "'+'",
        "cast(null as string)",
    ),
    "boolean": ("true", "false", "cast(null as boolean)"),
    "date": ("date'2020-02-29'", "date'1970-01-01'", "date'9999-12-31'"),
    "timestamp": (
        "timestamp'2020-02-29 12:30:00'", "timestamp'1970-01-01 00:00:00'",
        "timestamp'2040-01-01 00:00:00.5'",
    ),
    "timestamp_ntz": ("timestamp_ntz'2020-02-29 12:30:00'", "timestamp_ntz'1969-12-31 23:59:59'"),
    "binary": ("x'31'", "x''", "x'ff00'"),
    "void": ("null",),
    "interval day": ("interval '1' day", "interval '-5' day"),
    "interval day to second": (
        "interval '1 02:03:04.5' day to second", "interval '106751991 04:00:54' day to second",
    ),
    "interval year to month": ("interval '1-2' year to month", "interval '178956970' year"),
    "array<int>": ("array(1, 2, null)", "array(3)", "cast(null as array<int>)"),
    "array<string>": ("array('1', 'a')", "array('2020-01-01')"),
    "array<double>": ("array(1.5D, double('nan'))",),
    "map<string,int>": ("map('a', 1, '1', 2)", "cast(null as map<string,int>)"),
    "map<int,string>": ("map(1, 'x')",),
    "struct<a:int,b:string>": ("named_struct('a', 1, 'b', 'x')",),
    "struct<a:bigint,b:string>": ("named_struct('a', 300L, 'b', '1')",),
}  # fmt: skip
#: Types that most arguments have.
COMMON = ("int", "string", "double", "bigint", "decimal(3,1)", "date", "timestamp", "boolean", "tinyint")
TARGETS = (
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(38,18)", "string",
    "boolean", "date", "timestamp", "timestamp_ntz", "binary", "interval day", "interval year to month",
    "array<tinyint>", "array<string>", "array<date>", "map<string,tinyint>", "map<string,string>",
    "struct<a:tinyint,b:int>",
)  # fmt: skip
OPERATORS = (
    "+", "-", "*", "/", "%", "div", "=", "<>", "<", ">=", "<=>", "&", "|", "^", "||", "and", "or", "<<", ">>",
    "like", "rlike", "is distinct from",
)  # fmt: skip
FORMS = (
    "if({0} is null, {0}, {1})", "coalesce({0}, {1})", "coalesce({0}, {1}, {2})", "nvl({0}, {1})",
    "nullif({0}, {1})", "nvl2({0}, {1}, {2})", "case when {0} = {1} then {0} else {2} end",
    "{0} in ({1}, {2})",
    "case {0} when {1} then {1} when {2} then {2} end", "{0} between {1} and {2}", "array({0}, {1}, {2})",
    "map({0}, {1})", "map(1, {0}, 2, {1})", "greatest({0}, {1})", "least({0}, {1}, {2})", "{0}[{1}]",
    "element_at({0}, {1})", "try_add({0}, {1})", "try_divide({0}, {1})", "try_multiply({0}, {1})",
    "transform(array({0}, {1}), x -> x + {2})", "aggregate(array({0}, {1}), {2}, (s, x) -> s + x)",
    "- {0}", "+ {0}", "~ {0}", "not {0}", "{0} is true", "sum({0})", "avg({0})", "sum(distinct {0})",
    "sum({0}) over ()", "avg({0}) over (order by {1})", "min({0})", "max({0})", "stddev({0})", "count({0})",
    "concat({0}, {1})", "array_contains(array({0}), {1})", "struct({0}, {1}) = struct({1}, {2})",
    "decode({0}, {1}, {2})", "size({0})", "named_struct('a', {0}).a + {1}", "sequence({0}, {1})",
    "date_add({0}, {1})", "date_sub({0}, {1})", "extract(year from {0})", "extract(hour from {0})",
    "{0} in (select {1})", "(select {0}) + {1}", "round({0}, -1)", "bround({0}, -2)", "ceil({0}, -1)",
)  # fmt: skip
#: Functions whose values differ from run to run, or whose calls aren't calls.
_SKIPPED = frozenset(
    """
    rand randn random uuid shuffle now current_timestamp current_date curdate localtimestamp current_timezone
    randstr uniform monotonically_increasing_id spark_partition_id input_file_name version user session_user
    current_user current_catalog current_database current_schema between case when in and or not range
    input_file_block_start input_file_block_length window session_window window_time current_time sleep
    reflect java_method try_reflect raise_error assert_true hll_sketch_agg grouping grouping_id explode
    explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple
    """.split()  # noqa: SIM905
)


def functions() -> tuple[str, ...]:
    """The names of the functions that draws call."""
    return tuple(
        name
        for name in function_names()
        if name[0].isalpha()
        and name not in _SKIPPED
        and "sketch" not in name
        and not name.startswith(("kll", "theta", "hll"))
    )


def draw(source: random.Random, template: str, places: int) -> tuple[str, str]:
    """An expression of the template over constants, and over the columns of a view; two statements."""
    kinds = [
        source.choice(COMMON) if source.random() < 0.6 else source.choice(tuple(VALUES))
        for _ in range(places)
    ]
    if places and source.random() < 0.4:
        kinds = [kinds[0]] * places
    over_constants = f"SELECT {template.format(*(source.choice(VALUES[kind]) for kind in kinds))}"
    if not kinds:
        return over_constants, over_constants
    columns = [f"c{place}" for place in range(places)]
    rows = " union all ".join(
        "select "
        + ", ".join(f"{_typed(source, kind)} as {name}" for kind, name in zip(kinds, columns, strict=True))
        for _ in range(3)
    )
    return over_constants, f"SELECT {template.format(*columns)} AS r FROM ({rows})"


def _typed(source: random.Random, kind: str) -> str:
    """A value of the type, as SQL; of exactly this type."""
    value = source.choice(VALUES[kind])
    return value if kind == "void" else f"cast({value} as {kind})"


def draws(seed: str, count: int, names: tuple[str, ...] | None = None) -> Iterator[tuple[str, str]]:
    """Yield (group, statement) for ``count`` draws of each operator, cast, form and function."""
    for operator in OPERATORS:
        source = random.Random(f"{seed} {operator}")
        for _ in range(count * 6):
            for sql in draw(source, f"{{0}} {operator} {{1}}", 2):
                yield operator, sql
    for target in TARGETS:
        source = random.Random(f"{seed} {target}")
        for _ in range(count * 4):
            for sql in draw(source, f"cast({{0}} as {target})", 1):
                yield "cast", sql
            for sql in draw(source, f"try_cast({{0}} as {target})", 1):
                yield "try_cast", sql
    for form in FORMS:
        source = random.Random(f"{seed} {form}")
        for _ in range(count * 3):
            for sql in draw(source, form, 3):
                yield form, sql
    for name in functions() if names is None else names:
        source = random.Random(f"{seed} {name}")
        for _ in range(count):
            places = source.choice((0, 1, 1, 2, 2, 3, 3, 4))
            call = f"{name}({', '.join(f'{{{place}}}' for place in range(places))})"
            for sql in draw(source, call, places):
                yield name, sql
