"""A process whose Spark session ends while members live on it: ``stopped``, or its JVM is ``killed``. Or it
doesn't end: somebody has ``interrupted`` what Spark does beside. It prints what its client hears."""

import os
import signal
import sys
import threading
import time

from pyspark.sql import SparkSession

from sqlfront_connectors.spark.executors.cluster import ExecutorCluster
from tests.connectors.spark.test_executors import ROWS, count, exchanged
from tests.oracle.spark import SparkOracle


def main(how: str) -> None:
    """Begin, end, and report."""
    oracle = SparkOracle().__enter__()
    spark = oracle.new_session()
    with ExecutorCluster(spark, workers=1, memory_limit=1 << 28) as cluster, cluster.client() as client:
        if how == "interrupted":
            interrupt(spark)
            assert count(client.member.submit(exchanged())) == ROWS
        elif how == "stopped":
            spark.stop()
        else:
            gateway = spark.sparkContext._gateway
            assert gateway is not None
            gateway.proc.kill()
        if how != "interrupted":
            assert client.ended.wait(60)
        print(client.error)


def interrupt(spark: SparkSession) -> None:
    """Ctrl-C during a job of Spark's, which ends."""
    endless = threading.Thread(target=run_for_long, args=(spark,))
    endless.start()
    while len(spark.sparkContext.statusTracker().getActiveJobsIds()) < 2:
        time.sleep(0.05)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        endless.join(10)
    assert not endless.is_alive()
    time.sleep(2)  # as long as Spark takes to end a cancelled task


def run_for_long(spark: SparkSession) -> None:
    """What Ctrl-C is to end."""
    try:
        spark.sql("SELECT count(*) FROM range(1000000000000) WHERE hash(id) = 7").collect()
    except Exception as error:
        if "cancelled" not in str(error):
            raise


if __name__ == "__main__":
    main(sys.argv[1])
