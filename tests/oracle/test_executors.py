"""The whole of `tests/slt`, and TPC-H at scale 0.1, with tables that a Spark session holds, copied to members
on its executors: the same answers as Spark's, live, query by query.

`make beside` runs this, `make beside ARGS="-k joins"` a file of it, `ARGS=--lf` what failed before.
"""

from collections.abc import Iterator

import msgspec
import pytest
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.config import Launcher
from tests.connectors.spark import executors
from tests.oracle import slt
from tests.oracle.beside import BesideSpark, Tally
from tests.oracle.complete import SLT_FOLDER, files
from tests.oracle.spark import SparkSubject, quiet
from tests.tpch.answers import NAMES, is_ordered, query
from tests.tpch.complete import create_views

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

PATHS = {path.name: path for path in files([SLT_FOLDER])}
#: Those whose queries read several tables at a time.
PATHS_OF_SEVERAL = ("aggregates.slt", "errors.slt", "joins.slt", "set_operations.slt", "subqueries.slt")
#: Members exchange rows wherever they can, however few these are, and a machine that is busy with Spark may
#: keep them waiting.
CONFIG = sqlfront.Config(
    launcher=Launcher.SPARK, workers=1, memory_limit=1 << 29, collect_rows=0, silence_limit=60.0
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {"spark.sql.leafNodeDefaultParallelism": "2"}
    with executors.session(tmp_path_factory.mktemp("spark"), **settings) as session:
        quiet()
        yield session


@pytest.fixture(scope="module")
def total() -> Iterator[Tally]:
    """Of all files."""
    total = Tally()
    yield total
    print(f"all files: {total}")
    for reason, count in total.reasons.most_common():
        print(f"{count:6} to Spark: {reason}")


@pytest.mark.parametrize("file", PATHS)
def test_answers_are_those_of_the_session(root: SparkSession, total: Tally, file: str) -> None:
    with BesideSpark(SparkSubject(root), CONFIG) as beside:
        check(file, beside, total)


@pytest.mark.parametrize("file", PATHS_OF_SEVERAL)
def test_answers_are_those_of_the_session_if_every_other_table_is_copied(
    root: SparkSession, total: Tally, file: str
) -> None:
    with BesideSpark(SparkSubject(root), CONFIG, lambda tables: tables[::2]) as beside:
        check(file, beside, total)


def check(file: str, beside: BesideSpark, total: Tally) -> None:
    """Have a file answered."""
    tally = beside.run(slt.read(PATHS[file]))
    total.add(tally)
    print("\n\n".join([f"{file}: {tally}", *tally.differences]), flush=True)

    assert not tally.differences


@pytest.fixture(scope="module")
def tpch(root: SparkSession) -> Iterator[BesideSpark]:
    """All tables, clustered by their keys."""
    spark = SparkSubject(root)
    create_views(spark)
    with BesideSpark(spark, msgspec.structs.replace(CONFIG, collect_rows=20_000)) as beside:
        yield beside
        print(f"TPC-H: {beside.tally}")


@pytest.mark.parametrize("name", NAMES)
def test_tpch_is_answered_by_the_members(tpch: BesideSpark, name: str) -> None:
    lane = tpch.compare(name, query(name), is_ordered(name), approximate=False)

    assert not tpch.tally.differences, tpch.tally.differences.pop()
    assert lane == "light"
