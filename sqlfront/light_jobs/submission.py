"""Submission of a DAG or a pipeline as a light job with an object of its own."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront import pipeline as pipelines
from sqlfront.field_types import check_types
from sqlfront.light_jobs.handle import Wait
from sqlfront.light_jobs.job import Job
from sqlfront.light_jobs.refusals import check_options
from sqlfront.results.result import to_logical
from sqlfront.state.context import Context
from sqlfront_cluster import codec
from sqlfront_engine.dag import DAG, Vertex
from sqlfront_engine.engine import DEFAULT_CONFIG, JobConfig
from sqlfront_engine.job_statistics import JobStatistics, JobStatus
from sqlfront_engine.jobs.light_job import LightJob, ResultReader
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.own_classes import place_of
from sqlfront_engine.processors.registry import is_registered
from sqlfront_planner.pipeline.stages import Pipeline
from sqlfront_values.errors import Error, InterfaceError, ProgrammingError
from sqlfront_values.expressions import Literal
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.settings import DEFAULT_SETTINGS, Settings

#: The text of a DAG in listings.
NAME: Final = "DAG"
#: Options that aren't checked by their fields' types, and the classes of their values.
_OBJECTS: Final[Mapping[str, type | UnionType]] = {
    "settings": Settings,
    "resources": Mapping,
    "query": QueryRun | None,
}
_CHECKED_HERE: Final = frozenset(_OBJECTS)
#: Fields of vertices and edges whose objects are checked by the DAG, or by the processors' own fields.
_CHECKED_BY_DAG: Final = frozenset({"processor", "source", "destination"})
#: The greatest values of options. Tables have at most as many partitions, too.
_MOST: Final[Mapping[str, int]] = {
    "memory_limit": (1 << 63) - 1,
    "parallelism": (1 << 31) - 1,
    "partition_count": 100_000,
}
#: Seconds between two looks of :meth:`.Job.join` whether the job waits for a reader of its result.
_LOOK: Final = 0.5


def submit(
    context: Context,
    work: DAG | Pipeline,
    config: JobConfig | None = None,
    arguments: Sequence[Literal] = (),
    options: Mapping[str, object] | None = None,
) -> Job:
    """Start ``work`` as a light job in the session of ``context``, and return the job. ``config``: the job's
    options, None = the defaults; ``arguments``: the values of a pipeline's ``OwnerOf`` keys; ``options``:
    options by name that only durable jobs have. The contract is that of :meth:`.Session.submit`."""
    check_options(options or {})
    config = _session_config(context, _checked(DEFAULT_CONFIG if config is None else config))
    text = config.description or (NAME if isinstance(work, DAG) else pipelines.NAME)
    query = config.query or context.engine.begin_query(config.memory_limit, text)
    config = replace(config, query=query)
    dag, schema = work if isinstance(work, DAG) else None, None
    if isinstance(work, Pipeline):
        planned = pipelines.planned(context, work, config, arguments)
        dag, schema = planned.dag, planned.schema
        config = replace(config, resources={**config.resources, **planned.resources})
    if dag is None:
        raise InterfaceError(f"submit takes a DAG or a Pipeline, not a {type(work).__name__}")
    if isinstance(work, DAG):
        _check_dag(dag)
    else:
        _check_own_processors(dag)
    now = time.time()
    run = context.cluster.submit if context.cluster is not None else context.engine.run
    return Job(SubmittedRun(run(dag, config), query, schema, now, context))


def _checked(config: JobConfig) -> JobConfig:
    """Return the options ``config`` of a job, whose collections may be given as lists. Raises InterfaceError
    for a job on the thread of its reader, ProgrammingError for a value of a wrong type or out of its
    range."""
    if not isinstance(config, JobConfig):
        raise InterfaceError(f"the options of a job are a JobConfig, not a {type(config).__name__}")
    check_types(config, _CHECKED_HERE)
    for name, kind in _OBJECTS.items():
        if not isinstance(value := getattr(config, name), kind):
            shown = getattr(kind, "__name__", str(kind))
            raise ProgrammingError(f"{name} must be of the type {shown}, not {type(value).__name__}")
    if config.inline:
        raise InterfaceError("a submitted job runs on threads of its own: submit it without inline=True")
    if config.timeout is not None and not 0 < config.timeout < math.inf:
        raise ProgrammingError(f"timeout must be a positive number of seconds, not {config.timeout}")
    for name, most in _MOST.items():
        value = getattr(config, name)
        if value is not None and not 1 <= value <= most:
            bound = f"at least 1, not {value}" if value < 1 else f"at most {most}"
            raise ProgrammingError(f"{name} must be {bound}")
    required = config.required_partitions
    return replace(
        config,
        description=well_formed(config.description),
        required_partitions=None if required is None else frozenset(required),
        required_members=tuple(config.required_members),
    )


def _check_dag(dag: DAG) -> None:
    """Raise InterfaceError if a vertex or an edge of a DAG made by hand has a value of a wrong type, or one
    that can't be sent to other members: such members break off the connection."""
    for vertex in dag.vertices:
        _check_types(f"vertex {vertex.name!r}", (vertex, vertex.only_on))
        _check_processor(vertex)
    for edge in dag.edges:
        _check_types(f"edge {edge}", (edge, edge.config))


def _check_types(what: str, structs: Iterable[msgspec.Struct | None]) -> None:
    try:
        for struct in structs:
            if struct is not None:
                check_types(struct, _CHECKED_BY_DAG)
    except ProgrammingError as error:
        raise InterfaceError(f"{what}: {error.message}") from error


def _check_own_processors(dag: DAG) -> None:
    """Raise InterfaceError if a processor of a user's own class has a parameter that is not of its field's
    type, or that can't be sent to other members."""
    for vertex in dag.vertices:
        if not is_registered(type(vertex.processor)):
            _check_processor(vertex)


def _check_processor(vertex: Vertex) -> None:
    kind = type(vertex.processor)
    try:
        codec.decode(codec.encode(vertex.processor), kind, user_code=True)
    except Error as error:
        raise InterfaceError(f"vertex {vertex.name!r}, processor {place_of(kind)}: {error}") from error


def _session_config(context: Context, config: JobConfig) -> JobConfig:
    """Return ``config`` with the session's settings and limits in place of options that are not given."""
    limit = context.config.query_memory_limit if config.memory_limit is None else config.memory_limit
    return replace(
        config,
        settings=context.settings if config.settings is DEFAULT_SETTINGS else config.settings,
        timeout=context.options.timeout if config.timeout is None else config.timeout,
        memory_limit=limit,
    )


class SubmittedRun:
    """The run of a job that this session has submitted. ``query``: the job's run, whose number is the job's
    id; ``schema``: the logical types of the result, None = the result is passed on as it is; ``submitted``:
    seconds since 1970; ``owner``: the object that keeps the engine alive."""

    def __init__(
        self, job: LightJob, query: QueryRun, schema: pa.Schema | None, submitted: float, owner: object
    ) -> None:
        self.id = query.id
        self.submitted = submitted
        self._job, self._query, self._schema, self._owner = job, query, schema, owner
        self._read = False

    @property
    def status(self) -> JobStatus:
        """The present status."""
        return self._job.status

    @property
    def is_user_cancelled(self) -> bool:
        """Whether a user has cancelled the job."""
        return self._query.cancelled and self._job.status is JobStatus.CANCELLED

    def waiter(self) -> Wait:
        """Return the function that waits for the job's end, and that keeps no reference to this object."""
        return self._job.waiter()

    def join(self, timeout: float | None) -> bool:
        """Wait for the job's end, at most ``timeout`` seconds (None = no limit), and return whether the job
        has ended. Raises the job's error, and InterfaceError if the job waits for a reader of its result,
        which nobody has begun to read."""
        wait = self._job.waiter()
        end = math.inf if timeout is None else time.monotonic() + timeout
        while not wait(max(0.0, min(_LOOK, end - time.monotonic()))):
            if time.monotonic() >= end:
                return False
            if not self._read and self._job.awaits_reader:
                raise InterfaceError("the result has to be read before the job can end: read batches()")
        return True

    def cancel(self) -> None:
        """Stop the job; do nothing if it has ended. Raises InterfaceError in a forked process."""
        if self._job.status is JobStatus.RUNNING:
            self._query.cancel()

    def statistics(self) -> JobStatistics:
        """Return the statistics so far."""
        return self._job.statistics()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the reader of the result. Raises InterfaceError if there is none, and at a second call."""
        if not self._job.has_result:
            raise InterfaceError("the job's DAG has no result")
        reader, self._read = self._job.batches(), True
        return reader if self._schema is None else _logical(reader, self._schema)


def _logical(reader: ResultReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with reader:
        for batch in reader:
            yield from to_logical(batch, schema)
