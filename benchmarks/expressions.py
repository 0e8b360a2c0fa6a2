"""Costs of expressions: the engine's evaluation beside the same work written by hand with Arrow's kernels and
numpy.

Three questions: the arithmetic of TPC-H's first query at a million rows, filters over decimals, dates and
dictionary strings, and the cost of an expression node with little to compute.

    python -m benchmarks.expressions
"""

import gc
import statistics
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.evaluate import Rows, compile_expression, compile_expressions, compile_filter
from sqlfront_values.expressions import Call, Case, Column, Expr, Literal
from sqlfront_values.functions.registry import lookup
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, DATE, STRING, decimal

ROWS = 1_000_000
MONEY = decimal(15, 2)
SETTINGS = Settings()
INT64 = pa.int64()


def lineitem(rows: int) -> pa.RecordBatch:
    """A batch with quantity, price, discount, tax (decimals), ship date and ship mode (a dictionary
    string)."""
    random = np.random.default_rng(1)
    money = pa.decimal64(15, 2)
    modes = pa.array(["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"])
    codes = from_numpy(random.integers(0, 7, rows).astype(np.int32), pa.int32())
    return pa.RecordBatch.from_arrays(
        [
            from_numpy(random.integers(1, 51, rows) * 100, money),
            from_numpy(random.integers(90_000, 10_500_000, rows), money),
            from_numpy(random.integers(0, 11, rows), money),
            from_numpy(random.integers(0, 9, rows), money),
            from_numpy(random.integers(8_035, 10_562, rows).astype(np.int32), pa.date32()),
            pa.DictionaryArray.from_arrays(codes, modes),
        ],
        names=["quantity", "price", "discount", "tax", "shipdate", "shipmode"],
    )


QUANTITY, PRICE, DISCOUNT, TAX = (Column(MONEY, ordinal, "") for ordinal in range(4))
SHIPDATE, SHIPMODE = Column(DATE, 4, "shipdate"), Column(STRING, 5, "shipmode")
ONE = Literal(decimal(1, 0), Decimal(1))


def call(function: str, *arguments: Expr) -> Call:
    """The typed call of a function."""
    entry = lookup(function)
    assert entry is not None
    return Call(entry.result_type(tuple(argument.type for argument in arguments)), function, arguments)


def dec(text: str) -> Literal:
    """A decimal literal of the type of the money columns."""
    return Literal(MONEY, Decimal(text))


def compare(title: str, subjects: dict[str, Callable[[], object]], *, runs: int = 9, inner: int = 1) -> None:
    """Print the CPU medians of the subjects, run in turns, and their ratios to the last subject."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for subject in subjects.values():
        subject()
    for _ in range(runs):
        for name, subject in subjects.items():
            gc.collect()
            start = time.process_time()
            for _ in range(inner):
                subject()
            times[name].append((time.process_time() - start) / inner)
    medians = {name: statistics.median(samples) for name, samples in times.items()}
    base = list(medians.values())[-1]
    print(f"\n{title}")
    for name, median in medians.items():
        print(f"  {name:<40} {median * 1e6:12.1f} us   {median / base:6.2f}")


def first_query(batch: pa.RecordBatch) -> None:
    """Compare disc_price and charge, in the form that the sums of Q1 take."""
    price = call("multiply", PRICE, call("subtract", ONE, DISCOUNT))
    charge = call("multiply", price, call("add", ONE, TAX))
    for_sums = compile_expressions((price, charge), SETTINGS, frozenset({0, 1}))
    columns = [compile_expression(expression, SETTINGS) for expression in (price, charge)]

    def engine_for_sums() -> None:
        rows = Rows(batch)
        for evaluate in for_sums:
            evaluate(rows)

    def engine_columns() -> None:
        for evaluate in columns:
            evaluate(batch)

    def arrow() -> None:
        hundred = pa.scalar(100)
        extended, discount, tax = (batch.column(n).view(INT64) for n in (1, 2, 3))
        disc_price = pc.multiply(extended, pc.subtract(hundred, discount))
        pc.multiply(disc_price, pc.add(hundred, tax))

    def numpy() -> None:
        extended, discount, tax = (np.frombuffer(batch.column(n).buffers()[1], np.int64) for n in (1, 2, 3))
        disc_price = extended * (100 - discount)
        disc_price * (100 + tax)

    wide = [batch.column(n).cast(pa.decimal128(15, 2)) for n in (1, 2, 3)]

    def arrow_decimal128() -> None:
        one = pa.scalar(Decimal(1), pa.decimal128(1, 0))
        disc_price = pc.multiply(wide[0], pc.subtract(one, wide[1]))
        pc.multiply(disc_price.cast(pa.decimal128(20, 4)), pc.add(one, wide[2]))

    compare(
        f"Q1's arithmetic, {batch.num_rows} rows",
        {
            "engine, compact (for sums)": engine_for_sums,
            "engine, as columns": engine_columns,
            "decimal128 by Arrow": arrow_decimal128,
            "numpy int64": numpy,
            "Arrow int64 by hand": arrow,
        },
    )


def filters(batch: pa.RecordBatch) -> None:
    """Compare Q6's condition, and an IN and a CASE over a dictionary string."""
    condition = call(
        "and",
        call(
            "and",
            call("greater_equal", SHIPDATE, Literal(DATE, DAY_1994)),
            call("less", SHIPDATE, Literal(DATE, DAY_1995)),
        ),
        call(
            "and",
            call(
                "and", call("greater_equal", DISCOUNT, dec("0.05")), call("less_equal", DISCOUNT, dec("0.07"))
            ),
            call("less", QUANTITY, dec("24.00")),
        ),
    )
    select = compile_filter(condition, SETTINGS)
    low, high = pa.scalar(DAY_1994), pa.scalar(DAY_1995)

    def arrow() -> pa.RecordBatch:
        dates = batch.column(4)
        discounts = batch.column(2).view(INT64)
        mask = pc.and_(pc.greater_equal(dates, low), pc.less(dates, high))
        mask = pc.and_(mask, pc.and_(pc.greater_equal(discounts, 5), pc.less_equal(discounts, 7)))
        return batch.filter(pc.and_(mask, pc.less(batch.column(0).view(INT64), 2400)))

    compare(f"Q6's filter, {batch.num_rows} rows", {"engine": lambda: select(batch), "Arrow by hand": arrow})
    modes = call("in", SHIPMODE, Literal(STRING, "MAIL"), Literal(STRING, "SHIP"))
    among = compile_expression(modes, SETTINGS)
    values = pa.array(["MAIL", "SHIP"])
    decoded = batch.column(5).dictionary_decode()
    compare(
        f"shipmode IN ('MAIL', 'SHIP'), {batch.num_rows} rows",
        {
            "engine over the dictionary": lambda: among(batch),
            "Arrow over the dictionary": lambda: pc.is_in(batch.column(5), value_set=values),
            "Arrow over plain strings": lambda: pc.is_in(decoded, value_set=values),
        },
    )
    case = Case(
        decimal(32, 4),
        (
            (
                call("equal", SHIPMODE, Literal(STRING, "AIR")),
                call("multiply", PRICE, call("subtract", ONE, DISCOUNT)),
            ),
        ),
        Literal(decimal(32, 4), Decimal(0)),
    )
    (promotion,) = compile_expressions((case,), SETTINGS, frozenset({0}))
    hundred, zero = pa.scalar(100), pa.scalar(0)

    def by_hand() -> pa.Array:
        codes = batch.column(5).indices
        volume = pc.multiply(batch.column(1).view(INT64), pc.subtract(hundred, batch.column(2).view(INT64)))
        return pc.if_else(pc.equal(codes, pa.scalar(0, pa.int32())), volume, zero)

    compare(
        f"CASE WHEN shipmode = 'AIR' THEN price * (1 - discount) ELSE 0 END, {batch.num_rows} rows",
        {"engine, compact": lambda: promotion(Rows(batch)), "Arrow by hand": by_hand},
    )


def small(batch: pa.RecordBatch) -> None:
    """Compare the cost of an expression node."""
    tiny = batch.slice(0, 10)
    comparison = call("greater", PRICE, dec("500.00"))
    arithmetic = call("multiply", PRICE, call("subtract", ONE, DISCOUNT))
    numbers = pa.RecordBatch.from_arrays([from_numpy(np.arange(10), BIGINT)], names=["a"])
    increment = call("add", Column(BIGINT, 0, "a"), Literal(BIGINT, 1))
    one = pa.scalar(1)
    compiled = {
        "decimal comparison": compile_expression(comparison, SETTINGS),
        "decimal arithmetic, 2 nodes": compile_expression(arithmetic, SETTINGS),
    }
    add = compile_expression(increment, SETTINGS)
    keep = compile_filter(comparison, SETTINGS)
    compare(
        "10 rows, microseconds a batch",
        {
            **{name: partial(evaluate, tiny) for name, evaluate in compiled.items()},
            "filter, decimal comparison": lambda: keep(tiny),
            "compile: decimal arithmetic": lambda: compile_expression(arithmetic, SETTINGS),
            "compile: decimal comparison": lambda: compile_expression(comparison, SETTINGS),
            "a + 1": lambda: add(numbers),
            "pc.add_checked(a, 1) by hand": lambda: pc.add_checked(numbers.column(0), one),
        },
        inner=3000,
        runs=5,
    )


DAY_1994 = np.datetime64("1994-01-01").item()
DAY_1995 = np.datetime64("1995-01-01").item()

if __name__ == "__main__":
    data = lineitem(ROWS)
    first_query(data)
    first_query(data.slice(0, 65_536))
    filters(data)
    small(data)
