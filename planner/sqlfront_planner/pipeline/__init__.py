"""The Pipeline API: DAGs from a chain of steps in Python instead of from SQL.

A pipeline is plain data: a tuple of steps (read, map, join, write, ...), in which Python functions are
pickled when it is sent to another process. The coordinator makes a DAG of the submitted steps. ``stages``
(the API) produces ``steps``; ``plan`` and ``fusion`` make the DAG of the steps; ``submission`` logs and runs
the DAG. ``aggregations`` and ``endpoints`` are arguments of steps, ``insertion`` writes rows into a table.

Counting the words of some lines:

>>> import pyarrow as pa
>>> from sqlfront_engine.engine import Engine
>>> from sqlfront_planner.pipeline.aggregations import aggregation
>>> from sqlfront_planner.pipeline.endpoints import source
>>> from sqlfront_planner.pipeline.stages import Pipeline
>>> from sqlfront_planner.pipeline.submission import submit
>>> def lines(context):
...     if context.global_index == 0:
...         yield pa.RecordBatch.from_pydict({"line": ["to be or not", "to be"]})
>>> pipeline = Pipeline()
>>> words = pipeline.read(source(lines, pa.schema({"line": pa.string()}), name="lines")).flat_map(
...     str.split, pa.field("word", pa.string())
... )
>>> counted = words.filter(lambda word: word != "not").group_by("word").aggregate(n=aggregation("count"))
>>> with Engine(workers=1) as engine:
...     job = submit(counted.collect(), engine.run)
...     sorted(row for batch in job.batches() for row in zip(*batch.to_pydict().values()))
[('be', 2), ('or', 1), ('to', 2)]
"""
