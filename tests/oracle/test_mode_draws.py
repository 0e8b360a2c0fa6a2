"""Random operators, casts and calls with ANSI mode off, live: sqlfront gives what Spark gives.

An error that both give may have another condition: the order of checks differs.
"""

import os
from itertools import groupby

import pytest

from tests.oracle.answers import Failure, difference
from tests.oracle.mode_draws import FORMS, OPERATORS, draws
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import sampled

SEED = os.environ.get("SQLFRONT_ORACLE_SEED", "0")
PER_GROUP = int(os.environ.get("SQLFRONT_ORACLE_CALLS", "1"))
OFF = "SET spark.sql.ansi.enabled=false"
#: Spark's parser reads ``(select -1)`` as a difference; floats that cancel out depend on the order of rows.
OTHERWISE = {"{0} in (select {1})", "avg({0})", "avg({0}) over (order by {1})", "stddev({0})"}
GROUPS = [group for group in (*OPERATORS, "cast", "try_cast", *FORMS) if group not in OTHERWISE]


def is_refused(outcome: object) -> bool:
    """Whether sqlfront says that it hasn't built the statement."""
    return isinstance(outcome, Failure) and outcome.message.startswith("NotSupportedError")


@pytest.mark.spark
@pytest.mark.parametrize("group", sampled(GROUPS, 4))
def test_sqlfront_gives_what_spark_gives_with_ansi_mode_off(spark: SparkOracle, group: str) -> None:
    differ = []
    there = spark.begin_file()
    there.answer(OFF)
    with Subject() as subject:
        subject.answer(OFF)
        for name, drawn in groupby(draws(SEED, PER_GROUP, names=()), key=lambda pair: pair[0]):
            for _, sql in drawn if name == group else ():
                mine = subject.answer(sql)
                if is_refused(mine):
                    continue
                theirs = there.answer(sql)
                both_fail = isinstance(mine, Failure) and isinstance(theirs, Failure)
                differs = None if both_fail else difference(theirs, mine, approximate=True)
                if differs is not None:
                    differ.append(f"{sql}\n{differs}")

    assert not differ, f"seed {SEED}\n" + "\n".join(differ)
