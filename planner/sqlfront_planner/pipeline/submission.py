"""Submission of a pipeline: it is planned, its DAG is logged, and the DAG runs as a light job."""

import logging
from collections.abc import Callable

from msgspec.structs import replace

from sqlfront_engine.dag import DAG
from sqlfront_engine.dot import to_dot
from sqlfront_engine.engine import DEFAULT_CONFIG, JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_planner.pipeline.plan import Circumstances, PipelinePlan, plan
from sqlfront_planner.pipeline.stages import Pipeline
from sqlfront_planner.pipeline.steps import Definition

logger = logging.getLogger(__name__)


def submit(
    pipeline: Pipeline | Definition,
    run: Callable[[DAG, JobConfig], LightJob],
    config: JobConfig = DEFAULT_CONFIG,
    circumstances: Circumstances | None = None,
) -> LightJob:
    """Plan a pipeline, run its DAG by ``run`` (:meth:`.Engine.run`, or ``submit`` of a member), and return
    the job. The coordinator calls this function with the definition that it has received. ``circumstances``:
    the facts that planning needs, such as the number of workers; None = the defaults.

    ``config`` are the options of the job; ``config.required_partitions`` restricts the members that take
    part.
    """
    planned = plan_for(pipeline, config, circumstances)
    resources = {**config.resources, **planned.resources}
    return run(planned.dag, replace(config, resources=resources))


def plan_for(
    pipeline: Pipeline | Definition, config: JobConfig, circumstances: Circumstances | None = None
) -> PipelinePlan:
    """Plan a pipeline for a light job, log its DAG at DEBUG, and return the plan. Raises InterfaceError for a
    pipeline that can't run, such as one without steps. ``circumstances``: the facts that planning needs, such
    as the number of workers; None = the defaults."""
    definition = pipeline.definition() if isinstance(pipeline, Pipeline) else pipeline
    planned = plan(definition, circumstances)
    if logger.isEnabledFor(logging.DEBUG):
        workers = None if circumstances is None else circumstances.workers
        logger.debug("a pipeline is submitted:\n%s", to_dot(planned.dag, config.parallelism or workers))
    return planned
