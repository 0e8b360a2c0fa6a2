"""A session that is stopped, and a JVM that dies: one clear error each. In a process that loses both."""

import pytest

from tests.programs import printed

PROGRAM = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark import SparkContext
from pyspark.sql import SparkSession
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_values.errors import OperationalError

def session():
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark

def lost(work, limit):
    began = time.perf_counter()
    try:
        work()
    except OperationalError as error:
        assert error.sqlstate == "08003", error
        assert "stopped, or its JVM has died" in error.message, error
    else:
        raise AssertionError("no error")
    assert time.perf_counter() - began < limit

def all_lost(link):
    lost(lambda: list(link.run("SELECT 1").batches()), 5)
    lost(lambda: link.describe("SELECT 1"), 5)
    lost(lambda: link.whole_name(["t"]), 5)
    lost(lambda: link.views, 5)
    link.close()

spark = session()
link = SparkLink(spark)
assert sum(batch.num_rows for batch in link.run("SELECT 1").batches()) == 1
spark.stop()
all_lost(link)

link = SparkLink(session())
run = link.run("SELECT count(*) FROM range(1000000000000) WHERE sin(id) > 2")
while not SparkContext._active_spark_context.statusTracker().getActiveJobsIds():
    time.sleep(0.01)
jvm = SparkContext._gateway.proc.pid
threading.Timer(0.2, os.killpg if os.getpgid(jvm) == jvm else os.kill, (jvm, signal.SIGKILL)).start()
lost(lambda: list(run.batches()), 10)
assert run.join(5)
all_lost(link)
print("all lost")
"""


@pytest.mark.cluster
def test_a_lost_session_is_one_clear_error() -> None:
    assert printed(PROGRAM) == ["all lost"]
