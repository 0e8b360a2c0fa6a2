"""The link that these tests share: to the live Spark of the run, in a session of its own.

With ``SQLFRONT_TEST_SPARK=connect`` the same tests run over Spark Connect, on a server that they start; no
other test of the live Spark can run in that process.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from sqlfront_connectors.spark.link import SparkLink
from tests.oracle.spark import SETTINGS, SparkOracle

CONNECT = os.environ.get("SQLFRONT_TEST_SPARK") == "connect"


@pytest.fixture(scope="session")
def link(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkLink]:
    """A link to a session without views."""
    if CONNECT:
        spark = connect_session(tmp_path_factory.mktemp("warehouse"))
    else:
        oracle = request.getfixturevalue("spark")
        assert isinstance(oracle, SparkOracle)
        spark = oracle.new_session()
    link = SparkLink(spark)
    yield link
    link.close()


def connect_session(warehouse: Path) -> SparkSession:
    """A session over Spark Connect, to a server in a JVM of this process, whose tables are in that folder."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[2]")
    for name, value in {**SETTINGS, "spark.sql.warehouse.dir": str(warehouse)}.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # settings of the server that a session can't change again
        spark = builder.getOrCreate()
    jvm_context().setLogLevel("OFF")
    return spark


def jvm_context() -> SparkContext:
    """The context of the one JVM of this process, whichever way its sessions are talked to."""
    context = SparkContext._active_spark_context
    assert context is not None
    return context
