"""The Pipeline API of the public package; :mod:`sqlfront_planner.pipeline` explains it.

>>> import re
>>> import pyarrow as pa
>>> from sqlfront import Session
>>> words = (
...     Pipeline()
...     .read(text_lines("LICENSE"))
...     .flat_map(lambda line: re.split(r"\\W+", line.lower()), pa.field("word", pa.string()))
...     .filter(lambda word: word != "")
...     .group_by("word")
...     .aggregate(n=aggregation("count"))
... )
>>> with Session() as session:
...     rows = session.run_pipeline(words.collect()).collect()
>>> max(rows, key=lambda row: row.n)
Row(word='the', n=100)
"""

import time
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Final, Protocol

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.observability.observation import PIPELINE, Observation
from sqlfront.results.result import Result, Statistics
from sqlfront.state.context import Context
from sqlfront_connectors.base import Table
from sqlfront_connectors.files.text.text_lines import text_lines
from sqlfront_connectors.memory.spread.processors import ShareScan
from sqlfront_engine.dag import DAG, OnlyOn
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.user_code.services import ServiceScope
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.lanes import Lane
from sqlfront_planner.pipeline.aggregations import Aggregation, aggregation
from sqlfront_planner.pipeline.endpoints import logger_sink, service, sink, source
from sqlfront_planner.pipeline.plan import Circumstances, PipelinePlan
from sqlfront_planner.pipeline.stages import Pipeline, Stage
from sqlfront_planner.pipeline.steps import OwnerOf
from sqlfront_planner.pipeline.submission import plan_for
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_values.errors import OperationalError, ProgrammingError
from sqlfront_values.expressions import Literal

__all__ = [
    "Aggregation",
    "OnlyOn",
    "OwnerOf",
    "Pipeline",
    "ServiceScope",
    "Stage",
    "aggregation",
    "logger_sink",
    "service",
    "sink",
    "source",
    "table",
    "text_lines",
]

#: The text of a pipeline in listings, and the reason for its lane.
NAME: Final = PIPELINE


class PipelineWay:
    """The lane and the reason of every pipeline, as an observation records them."""

    lane = Lane.LIGHT
    reason = NAME


class HasContext(Protocol):
    """An object that has a session's context, such as a session."""

    @property
    def context(self) -> Context:
        """The state of the session."""


def table(session: HasContext, name: str) -> Table:
    """Return a table or registered frame of the session, for reading in a pipeline. Raises ProgrammingError
    if no table has the name."""
    entry = session.context.catalog.lookup(name_parts(name))
    if not isinstance(entry, TableEntry):
        raise ProgrammingError(f"there is no table {name!r}")
    return entry.table


def run(
    context: Context,
    pipeline: Pipeline,
    arguments: Sequence[Literal] = (),
    required_partitions: Collection[int] | None = None,
    timeout: float | None = None,
    query: QueryRun | None = None,
    observation: Observation | None = None,
) -> Result:
    """Plan a pipeline, run it in the session of ``context``, and return its result. ``arguments``: the values
    of the pipeline's ``OwnerOf`` keys; ``required_partitions``: the partitions whose owners run the pipeline,
    None = all members run it. Waits for the first rows, or for the end of a pipeline without rows.
    ``timeout`` in seconds, None = the session's; ``query``: the pipeline's run, None = a new run;
    ``observation``: the record of the pipeline's facts for operators, None = no record."""
    began = time.perf_counter()
    config = JobConfig(
        settings=context.settings,
        memory_limit=context.config.query_memory_limit,
        timeout=timeout if timeout is not None else context.options.timeout,
        description=NAME,
        query=query,
        statistics=query is not None and query.jobs is not None,
        required_partitions=None if required_partitions is None else frozenset(required_partitions),
    )
    plan = planned(context, pipeline, config, arguments)
    if observation is not None:
        observation.runs(PipelineWay())
    submit = context.cluster.submit if context.cluster is not None else context.engine.run
    job = submit(plan.dag, replace(config, resources=plan.resources))
    rest: Iterator[pa.RecordBatch] = iter(())
    if plan.schema is None:
        job.join()
    else:
        batches = job.batches()
        first = next(batches, None)
        rest = rest if first is None else chain((first,), batches)
    statistics = Statistics(Lane.LIGHT, NAME, time.perf_counter() - began)
    schema = plan.schema or pa.schema([])
    return Result(schema, rest, statistics, settings=context.settings, job=job, owner=context)


def planned(
    context: Context, pipeline: Pipeline, config: JobConfig, arguments: Sequence[Literal] = ()
) -> PipelinePlan:
    """Plan a pipeline for one run in the session of ``context``, with the options ``config``. ``arguments``:
    the values of the pipeline's ``OwnerOf`` keys. Raises ProgrammingError if partitions are required and a
    table of the pipeline has no CLUSTERED BY."""
    circumstances = Circumstances(
        workers=context.engine.workers,
        arguments=tuple(arguments),
        settings=context.settings,
        distributed=context.cluster is not None,
    )
    plan = plan_for(pipeline, config, circumstances)
    if config.required_partitions is not None:
        _check_placed(plan.dag)
    return plan


def _check_placed(dag: DAG) -> None:
    """Raise an error if the DAG can't be limited to required partitions, since it reads a table whose rows
    are not placed by partition: the rows on members without required partitions would be missing. Raises
    ProgrammingError for a table without CLUSTERED BY, OperationalError (40001) for a table whose partitions
    are just moving."""
    for vertex in dag:
        scan = vertex.processor
        if isinstance(scan, ShareScan) and scan.partitioning is None:
            raise ProgrammingError(
                f"`{scan.table}` has no CLUSTERED BY: its rows have no partitions that a step can require"
            )
        if isinstance(scan, ShareScan) and scan.holders is not None:
            raise OperationalError(
                f"the partitions of `{scan.table}` have moved to other members before the rows;"
                " run the pipeline again",
                sqlstate="40001",
            )
