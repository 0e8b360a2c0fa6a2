"""The harness finds the mistakes that it is there for."""

import math

import pyarrow as pa
import pytest

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.testing import batch_of, check_rows, run_processor, same_value, verify_processor
from tests.engine.jobs import Forward, numbers

SCHEMA = pa.schema([("n", pa.int64()), ("s", pa.string()), ("d", pa.decimal128(5, 2))])
BATCH = batch_of(SCHEMA, [(index, "ab"[index % 2], None) for index in range(10)])


class Running(Processor, frozen=True):
    """A running sum; `mistake` says what is wrong with it."""

    mistake: str = ""

    def run(self, context: ProcessorContext) -> Steps:
        total = 0
        while (batch := (yield Take(0))) is not None:
            if self.mistake == "forgets at batches":
                total = 0
            if self.mistake == "takes dictionaries for strings":
                assert batch.column(1).type == pa.string()
            if self.mistake == "reads the first row":
                batch.column(0)[0].as_py()
            out = []
            for value in batch.column(0).to_pylist():
                total += value
                out.append(total)
            data_type = pa.decimal128(10, 0) if self.mistake == "emits logical decimals" else pa.int64()
            yield pa.RecordBatch.from_arrays([pa.array(out, data_type)], names=["total"])


EXPECTED = [(sum(range(index + 1)),) for index in range(10)]


def test_a_proper_processor_passes() -> None:
    verify_processor(Running(), [[BATCH]], EXPECTED, ordered=True)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("forgets at batches", "order 1 \\(one_row_batches\\): row 2"),
        ("takes dictionaries for strings", "order 1"),
        ("emits logical decimals", "travels as decimal128"),
    ],
)
def test_mistakes_are_found(mistake: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        verify_processor(Running(mistake), [[BATCH]], EXPECTED, ordered=True)


def test_errors_of_the_processor_come_through() -> None:
    with pytest.raises(Exception, match=r"vertex 'tested', .*: IndexError"):
        verify_processor(Running("reads the first row"), [[BATCH]], EXPECTED)


def test_an_unexpected_order_is_found_only_if_it_matters() -> None:
    batches = [numbers(2), numbers(1)]
    verify_processor(Forward(), [batches], [(1,), (2,)])

    with pytest.raises(AssertionError, match="row 0"):
        verify_processor(Forward(), [batches], [(1,), (2,)], ordered=True)


def test_names_and_types_are_compared_with_a_table() -> None:
    with pytest.raises(AssertionError, match="columns"):
        verify_processor(Forward(), [[numbers(1)]], pa.table({"m": [1]}))


def test_several_inputs() -> None:
    verify_processor(Forward(), [[numbers(1), numbers(2)], [], [numbers(3)]], [(1,), (2,), (3,)])


def test_a_direct_run_takes_the_inputs_as_they_are() -> None:
    assert run_processor(Forward(), [[numbers(1)], [numbers(2), numbers(3)]]) == [
        numbers(1),
        numbers(2),
        numbers(3),
    ]


NAN = math.nan


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0 + 1e-6, False),
        (NAN, NAN, True),
        (0.0, -0.0, False),
        (1, 1.0, False),
        (None, None, True),
        ([1.0, None], [1.0, None], True),
        ({"a": NAN}, {"a": NAN}, True),
        (math.inf, math.inf, True),
    ],
)
def test_values_compare_as_the_design_says(left: object, right: object, same: bool) -> None:
    assert same_value(left, right) is same


def test_rows_compare_as_a_multiset_in_which_floats_may_differ_a_little() -> None:
    wanted = pa.table({"k": ["a", "b", "a"], "v": [0.1 + 0.2, NAN, None]})
    actual = pa.table({"k": ["b", "a", "a"], "v": [NAN, None, 0.3]})

    check_rows(actual.to_batches(), wanted)
