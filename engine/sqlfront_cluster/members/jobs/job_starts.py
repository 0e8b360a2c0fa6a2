"""The messages that start the parts of jobs, made from a job's options and read into options again."""

from sqlfront_cluster.codec.placements import encode_placement
from sqlfront_cluster.members.protocol.messages import Init, Submit
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.plans.placement import Placement


def init_message(number: int, version: int, dag: bytes, placement: Placement, config: JobConfig) -> Init:
    """Return the Init message of job ``number`` for all participants except the coordinator. ``version``: the
    version of the member list with which ``placement`` was made. ``dag``: the encoded DAG."""
    return Init(
        number,
        version,
        dag,
        encode_placement(placement),
        config.settings,
        config.partition_count,
        config.parallelism,
        _memory_limit(config),
        config.inline,
        config.statistics,
        "" if config.query is None else config.query.trace(),
    )


def init_config(message: Init) -> JobConfig:
    """Return the options of a job that another member coordinates."""
    return _config(message, memory_limit=message.memory_limit)


def submit_config(message: Submit, query: QueryRun) -> JobConfig:
    """Return the options of a job that a client has submitted; ``query`` is the run of its query here."""
    return _config(
        message,
        timeout=message.timeout,
        required_partitions=message.required_partitions,
        required_members=message.required_members,
        query=query,
    )


def _config(
    message: Init | Submit,
    *,
    memory_limit: int | None = None,
    timeout: float | None = None,
    required_partitions: frozenset[int] | None = None,
    required_members: tuple[str, ...] = (),
    query: QueryRun | None = None,
) -> JobConfig:
    return JobConfig(
        settings=message.settings,
        memory_limit=memory_limit,
        timeout=timeout,
        inline=message.inline,
        parallelism=message.parallelism,
        partition_count=message.partition_count,
        required_partitions=required_partitions,
        required_members=required_members,
        statistics=message.statistics,
        query=query,
    )


def _memory_limit(config: JobConfig) -> int | None:
    """Return the bytes that a job with these options may hold on each member; None = the member's limit."""
    return config.memory_limit if config.query is None else config.query.memory_limit
