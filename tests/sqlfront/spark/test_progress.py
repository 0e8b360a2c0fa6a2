"""How far Spark is with a statement, for whoever asks while it runs."""

import threading
import time

import pytest

import sqlfront
from sqlfront_values.errors import OperationalError
from tests.oracle.spark import SparkOracle

#: Never ends by itself; sqlfront has no ORC, and a command is waited for where it is executed.
ENDLESS = "CREATE TABLE never USING orc AS SELECT id FROM range(0, 1000000000000, 1, 4) WHERE sin(id) > 2"


@pytest.mark.spark
def test_a_cursor_tells_how_far_spark_is(spark: SparkOracle) -> None:
    with sqlfront.connect(spark=spark.new_session()) as connection:
        cursor = connection.cursor()

        def run() -> None:
            with pytest.raises(OperationalError, match="cancelled"):
                cursor.execute(ENDLESS)

        running = threading.Thread(target=run)
        running.start()
        deadline = time.monotonic() + 60
        while (found := cursor.progress) is None or not found.tasks:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        cursor.cancel()
        running.join(60)

        assert (found.stages, found.stages_done, found.tasks, found.tasks_done) == (1, 0, 4, 0)
        assert cursor.execute("SELECT 1").progress is None
        done = connection.execute(
            "SELECT * FROM (SELECT array(1) AS a) PIVOT (count(*) FOR a IN (array(1), array(2)))"
        )
        assert done.fetchall() == [(1, None)]
        # Spark hears of the ends of its tasks a little later than their rows come.
        while (ended := done.progress) is None or ended.tasks != ended.tasks_done:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert ended.tasks > 0
