"""The second method of an operator: its function over Python rows gives the rows that the operator gives."""

from collections.abc import Sequence

import pytest

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import MOST_ROWS, NotByRows, ProgramRun, Row, RowStep
from sqlfront_engine.testing import run_processor
from sqlfront_values.arrow.arrays import to_python
from sqlfront_values.expressions import Call, Column, Literal
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, BOOLEAN, STRING
from tests.engine.processors.test_every_operator import BATCH, ROWS, SCHEMA, Example, engine_examples

BY_ROWS = [example for example in engine_examples() if type(example.processor).rows is not Processor.rows]
ORDERED = {"Limit", "TopN"}


def rows_of(processor: Processor, inputs: Sequence[Sequence[Row]]) -> list[Row] | None:
    """The rows that the operator's function gives for rows of the schema; None if the operator has none."""
    compiler = RowCompiler(Settings(), lambda expression: True)
    steps = [RowStep(lambda run, rows=rows: rows, (BIGINT, STRING)) for rows in inputs]  # type: ignore[misc]
    step = processor.rows(steps, compiler)
    if step is None:
        return None
    constants = [item.value for item in compiler.constants.expressions if isinstance(item, Literal)]
    found = list(step.rows(ProgramRun(constants, (), (), lambda item: item)))
    assert all(len(row) == len(step.types) for row in found)
    return found


def test_the_operators_that_have_the_method() -> None:
    assert sorted(type(example.processor).__name__ for example in BY_ROWS) == [
        *("Aggregate", "Filter", "FilterProject", "HashJoin", "Limit", "Project"),
        *("ResultSink", "Sort", "TopN", "Union", "Values"),
    ]


@pytest.mark.parametrize("example", BY_ROWS, ids=lambda example: type(example.processor).__name__)
def test_the_rows_are_those_of_the_operator(example: Example) -> None:
    got = rows_of(example.processor, [ROWS for _ in example.inputs])

    assert got is not None
    if type(example.processor).__name__ in ORDERED:
        assert got == list(example.expected)
    assert sorted(map(repr, got)) == sorted(map(repr, example.expected))


CONDITION = Call(BOOLEAN, "not_equal", (Column(STRING, 1, "s"), Literal(STRING, "a")))


@pytest.mark.parametrize("kind", list(JoinKind))
@pytest.mark.parametrize("key", [0, 1])
@pytest.mark.parametrize("null_safe", [(), (True,)])
@pytest.mark.parametrize("condition", [None, CONDITION])
@pytest.mark.parametrize("output", [None, (1,)])
def test_joins(
    kind: JoinKind,
    key: int,
    null_safe: tuple[bool, ...],
    condition: Call | None,
    output: tuple[int, ...] | None,
) -> None:
    if kind is JoinKind.NULL_AWARE_ANTI and condition is not None:
        return
    join = HashJoin(kind, (key,), (key,), condition, SCHEMA, SCHEMA, null_safe=null_safe, output=output)
    got = rows_of(join, [ROWS, ROWS[2:]])
    if kind in (JoinKind.RIGHT, JoinKind.FULL, JoinKind.NULL_AWARE_ANTI):
        assert got is None
        return
    batches = run_processor(join, [[BATCH], [BATCH.slice(2)]])
    expected = [row for batch in batches for row in zip(*map(to_python, batch.columns), strict=True)]

    assert got is not None
    assert sorted(map(repr, got)) == sorted(map(repr, expected))


def test_a_join_of_too_many_pairs_is_left_to_a_job() -> None:
    join = HashJoin(JoinKind.INNER, (1,), (1,), None, SCHEMA, SCHEMA)
    many = [(n, "a") for n in range(200)]
    assert len(many) ** 2 > MOST_ROWS

    with pytest.raises(NotByRows):
        rows_of(join, [many, many])
