"""Costs of the operators at a million rows, beside pyarrow's and DuckDB's in the same process: CPU
milliseconds, one thread each.

    python -m benchmarks.operators [name part ...]

sqlfront's operators run as in a job: batches of 64k rows in, all output batches made, on one instance. DuckDB
reads the same Arrow tables and gives Arrow tables; pyarrow uses the kernel or Acero plan that a user would
write by hand.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import BATCH_ROWS, Processor, Take
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.processors.sort import Sort
from sqlfront_engine.processors.top_n import TopN
from sqlfront_engine.processors.window import Window
from sqlfront_engine.testing import lone_context
from sqlfront_values import expressions
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Column,
    FrameUnit,
    SortKey,
    SortOrder,
    WindowCall,
    WindowFrame,
)
from sqlfront_values.types import BIGINT, DOUBLE, INT, STRING, decimal, physical

ROWS = 1_000_000
RUNS = 3


@dataclass(frozen=True)
class Case:
    """A comparison: sqlfront's operator over tables, and the equivalents for DuckDB and pyarrow."""

    name: str
    operator: Processor
    columns: tuple[str, ...]
    other: str | None
    sql: str
    arrow: Callable[[], object] | None = None


def make_tables() -> dict[str, pa.Table]:
    """A large table with keys of all kinds, and smaller tables to join with."""
    random = np.random.default_rng(7)
    many = random.integers(0, 430_000, ROWS)
    wide = random.integers(-(2**62), 2**62, 430_000)
    shuffled = random.permutation(ROWS)
    cents = random.integers(0, 10_000_000, ROWS)
    names = pa.array([f"name {number:07d}" for number in range(100_000)])
    few = pa.array([f"color {number}" for number in range(25)])
    big = pa.table(
        {
            "id": pa.array(shuffled),
            "many": pa.array(many),
            "wide": pa.array(wide[many]),
            "few": pa.array(random.integers(0, 1000, ROWS)),
            "name": names.take(pa.array(random.integers(0, 100_000, ROWS))),
            "color": pa.DictionaryArray.from_arrays(
                pa.array(random.integers(0, 25, ROWS).astype(np.int32)), few
            ),
            "flag": pa.array(random.integers(0, 2, ROWS).astype(np.int32)),
            "price": pa.array(cents).view(pa.decimal64(15, 2)),
            "value": pa.array(random.random(ROWS)),
        }
    )
    return {
        "big": big,
        "same": pa.table(
            {"key": pa.array(random.permutation(ROWS)), "payload": pa.array(random.random(ROWS))}
        ),
        "thousand": pa.table({"key": pa.array(np.arange(1000)), "payload": pa.array(random.random(1000))}),
        "wide": pa.table({"key": pa.array(wide), "payload": pa.array(random.random(430_000))}),
        "names": pa.table({"key": names, "payload": pa.array(random.random(100_000))}),
        "rare": pa.table(
            {"key": pa.array(random.permutation(430_000)[:4300]), "payload": pa.array(random.random(4300))}
        ),
        "repeated": pa.table(
            {
                "key": pa.array(random.integers(0, 100_000, 400_000)),
                "payload": pa.array(random.random(400_000)),
            }
        ),
    }


TABLES = make_tables()
SCHEMA = pa.schema(
    [
        (field.name, STRING if pa.types.is_dictionary(field.type) else field.type)
        for field in TABLES["big"].schema
    ]
).set(7, pa.field("price", decimal(15, 2)))


def column(name: str, columns: Sequence[str] = SCHEMA.names) -> Column:
    """A column of a row with ``columns`` of the big table."""
    return Column(SCHEMA.field(name).type, list(columns).index(name), name)


def join_case(name: str, key: str, table: str, kind: Literal["inner", "semi"] = "inner") -> Case:
    """A join of the big table's column with a table's key; gives a number from each side (semi join: from the
    big table)."""
    columns = tuple(dict.fromkeys((key, "value")))
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    output = ("value", "payload") if kind == "inner" else ("value",)
    operator = HashJoin(
        JoinKind(kind),
        (0,),
        (0,),
        None,
        schema,
        TABLES[table].schema,
        output=(1, 3) if kind == "inner" else (1,),
    )
    sql = f"select {', '.join(output)} from big {kind} join {table} on big.{key} = {table}.key"

    def arrow() -> object:
        kinds = {"inner": "inner", "semi": "left semi"}
        return TABLES["big"].select(columns).join(TABLES[table], key, "key", kinds[kind], use_threads=False)

    return Case(name, operator, columns, table, sql, arrow)


#: Result types by function and argument; bigint otherwise.
TYPES = {
    ("sum", "price"): decimal(25, 2),
    ("avg", "price"): decimal(19, 6),
    ("sum", "value"): DOUBLE,
    ("min", "price"): decimal(15, 2),
    ("max", "value"): DOUBLE,
    ("min", "name"): STRING,
}


def group_case(
    name: str,
    keys: Sequence[str],
    calls: Sequence[tuple[str, str]],
    mode: AggregateMode = AggregateMode.SINGLE,
) -> Case:
    """A grouping of the big table; calls as (function, column)."""
    columns = tuple(dict.fromkeys((*keys, *(argument for _, argument in calls if argument))))
    made = tuple(
        AggregateCall(
            function.removesuffix(" distinct"),
            (column(argument, columns),) if argument else (),
            TYPES.get((function, argument), BIGINT),
            distinct=function.endswith(" distinct"),
        )
        for function, argument in calls
    )
    schema = pa.schema(
        [*(SCHEMA.field(key) for key in keys), *((f"c{n}", call.type) for n, call in enumerate(made))]
    )
    operator = Aggregate(tuple(range(len(keys))), made, mode, schema)
    items = [
        f"count(distinct {argument})" if function.endswith("distinct") else f"{function}({argument or '*'})"
        for function, argument in calls
    ]
    sql = f"select {', '.join([*keys, *items])} from big group by {', '.join(keys)}"
    kernels = {"count": "count", "count distinct": "count_distinct", "avg": "mean"}

    def arrow() -> object:
        table = TABLES["big"].select(columns)
        if "price" in columns:
            price = table.column("price").cast(pa.decimal128(15, 2))
            table = table.set_column(columns.index("price"), "price", price)
        wanted = [
            (argument, kernels.get(function, function)) if argument else ([], "count_all")
            for function, argument in calls
        ]
        return pa.TableGroupBy(table, list(keys), use_threads=False).aggregate(wanted)

    return Case(name, operator, columns, None, sql, arrow)


def sort_case(name: str, keys: Sequence[tuple[str, bool]], count: int | None = None) -> Case:
    """A sort or, with ``count``, a top-n of the big table; keys as (column, descending)."""
    sort_keys = tuple(
        SortKey(column(key).ordinal, SortOrder.DESCENDING if down else SortOrder.ASCENDING)
        for key, down in keys
    )
    operator = Sort(sort_keys) if count is None else TopN(sort_keys, count)
    order = ", ".join(f"{key} {'desc' if down else 'asc'}" for key, down in keys)
    sql = f"select * from big order by {order}" + (f" limit {count}" if count else "")
    arrow_keys = [(key, "descending" if down else "ascending") for key, down in keys]

    def arrow() -> object:
        table = TABLES["big"].drop_columns(["color", "price"])
        if count is None:
            return table.take(pc.sort_indices(table, arrow_keys))
        return table.take(pc.select_k_unstable(table, count, arrow_keys))

    return Case(name, operator, tuple(SCHEMA.names), None, sql, arrow)


def window_case(
    name: str,
    function: str,
    argument: str | None,
    data_type: pa.DataType,
    frame: WindowFrame,
    partition: str,
    order: str,
    frame_text: str = "",
) -> Case:
    """A window function over the big table; ``frame_text`` is the SQL of a frame with an expression."""
    call = WindowCall(function, (column(argument),) if argument else (), data_type, frame)
    schema = pa.schema([*SCHEMA, ("w", data_type)])
    operator = Window((column(partition).ordinal,), (SortKey(column(order).ordinal),), (call,), schema)
    rows = frame_text
    if isinstance(frame.start, int):
        rows = f"rows between {-frame.start} preceding and current row"
    window = f"partition by {partition} order by {order} {rows}"
    sql = f"select *, {function}({argument or ''}) over ({window}) from big"
    return Case(name, operator, tuple(SCHEMA.names), None, sql)


RANGE = WindowFrame(FrameUnit.RANGE, None, 0)
ID = SCHEMA.field("id").type
#: The order's key 10,000 below the current row's.
BELOW = Call(ID, "subtract", (Column(ID, 0), expressions.Literal(ID, 10_000)))

CASES = [
    join_case("join 1:1, dense int", "id", "same"),
    join_case("join to 430k wide ints", "wide", "wide"),
    join_case("join to 1000", "few", "thousand"),
    join_case("join to 100k strings", "name", "names"),
    join_case("join to 400k, 4 rows a key, 23% met", "many", "repeated"),
    join_case("semi join to 400k", "many", "repeated", "semi"),
    join_case("join to 4300, 1% met", "many", "rare"),
    join_case("semi join to 4300, 1% met", "many", "rare", "semi"),
    group_case("group by 25 strings x 2, 4 aggregates", ["color", "flag"],
               [("sum", "price"), ("avg", "price"), ("sum", "value"), ("count", "")]),
    group_case("group by 1000 ints, sum", ["few"], [("sum", "value")]),
    group_case("group by 430k ints, sum", ["many"], [("sum", "value")]),
    group_case("group by 430k ints, partial", ["many"], [("sum", "value")], AggregateMode.PARTIAL),
    group_case("group by 430k wide ints, sum", ["wide"], [("sum", "value")]),
    group_case("group by 100k strings, sum", ["name"], [("sum", "value")]),
    group_case("group by string, int", ["name", "flag"], [("sum", "price"), ("count", "")]),
    group_case("decimal sum by 1000", ["few"], [("sum", "price")]),
    group_case("min, max by 1000", ["few"], [("min", "price"), ("max", "value")]),
    group_case("min of strings by 1000", ["few"], [("min", "name")]),
    group_case("count distinct by 1000", ["few"], [("count distinct", "many")]),
    group_case("distinct name, few", ["name", "few"], []),
    sort_case("sort by int", [("many", False)]),
    sort_case("sort by int, double desc", [("few", False), ("value", True)]),
    sort_case("sort by string", [("name", False)]),
    sort_case("top 10 by double", [("value", True)], 10),
    sort_case("top 100 by string, int", [("name", False), ("id", False)], 100),
    window_case("row_number by 430k", "row_number", None, INT, RANGE, "many", "value"),
    window_case("running sum by 1000", "sum", "value", DOUBLE, RANGE, "few", "id"),
    window_case(
        "sliding sum of 10", "sum", "price", decimal(25, 2), WindowFrame(FrameUnit.ROWS, -9, 0), "few", "id"
    ),
    window_case(
        "sum over a range of values", "sum", "value", DOUBLE,
        WindowFrame(FrameUnit.RANGE, BELOW, 0), "few", "id",
        "range between 10000 preceding and current row",
    ),
]  # fmt: skip


def batches(name: str, columns: Sequence[str] | None = None) -> list[pa.RecordBatch]:
    """The batches of a table as a scan emits them: physical form, BATCH_ROWS rows each."""
    table = TABLES[name].select(columns or TABLES[name].schema.names).combine_chunks()
    types = [
        field.type if pa.types.is_dictionary(field.type) else physical(field.type) for field in table.schema
    ]
    table = table.cast(pa.schema(list(zip(table.schema.names, types, strict=True))))
    return table.to_batches(max_chunksize=BATCH_ROWS)


def run(operator: Processor, inputs: Sequence[Sequence[pa.RecordBatch]]) -> int:
    """Run the operator; return the number of output rows."""
    feeds: list[Iterator[pa.RecordBatch]] = [iter(batches) for batches in inputs]
    steps = operator.run(lone_context())
    answer: pa.RecordBatch | None = None
    rows = 0
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return rows
        if isinstance(step, Take):
            answer = next(feeds[step.ordinal], None)
        else:
            rows += step.num_rows
            answer = None


def cpu(action: Callable[[], object]) -> float:
    """The least CPU milliseconds of a few runs."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times) * 1000


def answer(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """DuckDB's answer."""
    return connection.sql(sql).to_arrow_table()


def main(wanted: Sequence[str]) -> None:
    """Print a line per case."""
    pa.set_cpu_count(1)
    connection = duckdb.connect(config={"threads": 1})
    for name, table in TABLES.items():
        fields = [
            field.with_type(pa.decimal128(15, 2)) if field.name == "price" else field
            for field in table.schema
        ]
        connection.register(name, table.cast(pa.schema(fields)))
    sys.stdout.write(f"{'cpu ms at 1M rows':40} {'ours':>8} {'duckdb':>8} {'ratio':>6} {'pyarrow':>8}\n")
    for case in CASES:
        if wanted and not any(part in case.name for part in wanted):
            continue
        inputs = [batches("big", case.columns)] + ([batches(case.other)] if case.other else [])
        ours = cpu(partial(run, case.operator, inputs))
        theirs = cpu(partial(answer, connection, case.sql))
        arrow = f"{cpu(case.arrow):8.1f}" if case.arrow else " " * 8
        sys.stdout.write(f"{case.name:40} {ours:8.1f} {theirs:8.1f} {ours / theirs:6.2f} {arrow}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
