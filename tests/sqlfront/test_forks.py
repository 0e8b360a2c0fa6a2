"""Processes that fork: the child leaves to its parent what that has opened, and opens its own."""

import pytest

from tests.programs import printed

CONNECTIONS = ["", "members=2", "launcher='local', members=2"]

PROGRAM = """
import gc, os, sys
import sqlfront
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range

connection = sqlfront.connect(workers=2, {options})
connection.execute("CREATE TABLE p USING parquet AS SELECT id FROM range(10)")
connection.execute("CREATE TABLE t USING memory AS SELECT id, id % 10 AS k FROM range(200000)")
old = connection.execute("SELECT id FROM p")  # it holds the files that the next statement replaces
connection.execute("INSERT OVERWRITE p SELECT id + 1 FROM p")
begun = connection.execute("SELECT id FROM t")
assert begun.fetchone() is not None
default = sqlfront.sql("SELECT 1 AS a")
dag = DAG()
numbers, result = dag.vertex("numbers", Range(0, 1, 10**9), 1), dag.vertex("result", ResultSink())
dag.edge(Edge.between(numbers, result).to_one().distribute_to())
job = connection.session.submit(dag)
batches = job.batches()
assert next(batches).num_rows > 0
child = os.fork()
if child == 0:
    def refused(use):
        try:
            use()
        except sqlfront.InterfaceError as error:
            assert "forked" in str(error), error
        else:
            raise AssertionError(use)

    refused(lambda: connection.execute("SELECT k, count(*) FROM t GROUP BY k"))
    refused(lambda: connection.execute("SELECT 1"))
    refused(begun.fetchall)
    refused(lambda: connection.session.prepare("SELECT 1"))
    for use in (lambda: job.status, job.cancel, job.join, lambda: job.future, lambda: next(batches)):
        refused(use)
    refused(lambda: job.add_done_callback(print))
    assert connection.closed
    assert sqlfront.sql("SELECT sum(id) AS s FROM range(100000)").collect() == [(4999950000,)]
    with sqlfront.connect() as own:
        assert own.execute("SELECT count(*) FROM range(100000)").fetchall() == [(100000,)]
    {end}
    begun = old = connection = job = batches = None
    gc.collect()
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert len(begun.fetchall()) == 199999
assert next(batches).num_rows > 0
job.cancel()
print(sorted(old.fetchall())[0], connection.execute("SELECT max(id) FROM p").fetchall(),
      connection.execute("SELECT count(DISTINCT k) FROM t").fetchall())
connection.close()
"""


@pytest.mark.parametrize("options", CONNECTIONS)
@pytest.mark.parametrize("end", ["connection.close()", "pass"])
def test_a_forked_process_leaves_its_parents_sessions_alone(options: str, end: str) -> None:
    lines = printed(PROGRAM.format(options=options, end=end))
    assert lines == ["(0,) [(10,)] [(10,)]"]
