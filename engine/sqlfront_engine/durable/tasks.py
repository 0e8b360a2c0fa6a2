"""A task: one share of a stage's work, run as a light job that reads and writes spool files.

A processor in task ``t`` of ``n`` gets the same instance number and the same partitions as on member ``t`` of
``n``. So nothing that a processor does depends on whether the job is durable.
"""

import os
from typing import Final

import msgspec
from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Distribution, Edge, Vertex
from sqlfront_engine.durable.event_store.events import Attempt, Manifest, SplitBuckets, TaskId
from sqlfront_engine.durable.stages import DIVIDED, JobStage, OutputKind, StageOutput, StagePlan
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.plans.execution_plan import ExecutionSite, Share
from sqlfront_engine.plans.placement import only
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.spool.spool_scan import SpoolScan
from sqlfront_engine.processors.spool.spool_write import SpoolWrite
from sqlfront_engine.spool.places import is_on_member
from sqlfront_engine.spool.spool_file import SpoolFile, SpoolSettings
from sqlfront_values.settings import EMBEDDED

_REPORT: Final = "spooled {}"


class StageTasks(msgspec.Struct, frozen=True):
    """The division of a stage among tasks. ``ranges``: for each task the half-open range of the buckets that
    it reads. ``buckets``: the number of buckets among which output rows are divided (outputs that each reader
    reads completely have a single bucket). ``split``: which parts of shared buckets the tasks read; None = no
    tasks share a bucket."""

    stage: JobStage
    ranges: tuple[tuple[int, int], ...]
    buckets: int
    split: SplitBuckets | None = None

    @property
    def parallelism(self) -> int:
        """The number of tasks of the stage."""
        return len(self.ranges)

    def share(self, task: int, partition_count: int) -> Share:
        """Return the share of a task: its number, the number of tasks, and the partitions that fall into its
        buckets. ``partition_count``: the number of all partitions."""
        # The bucket of partition p is p * buckets // partition_count.
        first, last = (-(-bucket * partition_count // self.buckets) for bucket in self.ranges[task])
        return Share(task, self.parallelism, range(first, last))


class RunId(msgspec.Struct, frozen=True):
    """The identity of a run: its task, and which ``attempt`` at the task the run is. Each run of a job has
    another identity."""

    task: TaskId
    attempt: Attempt


class TaskRun(msgspec.Struct, frozen=True):
    """One run of a task. ``tasks``: the tasks of the task's stage. ``task``: the number of the task among
    them. ``attempt``: which attempt at the task this run is. ``files``: for each input of the stage, in
    order, the spool files of all tasks that wrote it. ``folder``: the directory or URL of the job's spool
    files. ``outputs``: the URL below which the run writes its output rows, except those of the job's result,
    on its member's own disk; empty = all of them are written to ``folder``."""

    tasks: StageTasks
    task: int
    attempt: Attempt
    files: tuple[tuple[SpoolFile, ...], ...]
    folder: str
    outputs: str = ""

    @property
    def id(self) -> TaskId:
        """The stage and the number of the task that is run."""
        return TaskId(self.tasks.stage.number, self.task)

    @property
    def run_id(self) -> RunId:
        """The identity of this run among all runs of the job."""
        return RunId(self.id, self.attempt)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths or URLs of the spool files that the run writes, one for each output of the stage."""
        return tuple(self.path(number) for number in range(len(self.tasks.stage.outputs)))

    def files_of(self, kind: OutputKind, place: int) -> tuple[SpoolFile, ...]:
        """Return the files that the run reads of the stage's input number ``place``, which is an output of
        this ``kind``."""
        files = self.files[place]
        return files[self.task : self.task + 1] if kind is OutputKind.KEPT else files

    def span(self, kind: OutputKind, place: int) -> tuple[int, int]:
        """Return the half-open range of buckets that the run reads of the files of an input, which is an
        output of this ``kind``."""
        if kind not in DIVIDED:
            return 0, 1
        is_whole = self.tasks.stage.inputs[place].is_whole
        return (0, self.tasks.buckets) if is_whole else self.tasks.ranges[self.task]

    def part(self, place: int) -> tuple[int, int]:
        """Return which part of the buckets the run reads of the files of an input, from 0, and of how many
        parts."""
        split = self.tasks.split
        return (0, 1) if split is None or place not in split.inputs else split.parts[self.task]

    def path(self, output: int) -> str:
        """Return the path or URL of the spool file that the run writes for one output of the stage.
        ``output``: the number of the output, from 0. Two attempts at a task have different paths."""
        stage, attempt = self.tasks.stage, self.attempt
        is_result = stage.outputs[output].kind is OutputKind.RESULT
        return os.path.join(
            self.folder if is_result or not self.outputs else self.outputs,
            f"{stage.number}.{self.task}.{output}-{attempt.epoch}.{attempt.number}.arrow",
        )


class TaskJob:
    """The light job that runs a task once. ``config``: the options of the durable job, whose resources serve
    the DAG's sources."""

    def __init__(self, engine: Engine, plan: StagePlan, run: TaskRun, config: JobConfig) -> None:
        self._reports: list[list[SpoolFile]] = [[] for _ in run.tasks.stage.outputs]
        reports = {_REPORT.format(number): report for number, report in enumerate(self._reports)}
        config = replace(config, inline=True, resources={**config.resources, **reports})
        execution = engine.execution(engine.next_number(), config)
        self._job = LightJob(execution)
        count = config.partition_count
        site = ExecutionSite(EMBEDDED, only(partition_count=count), share=run.tasks.share(run.task, count))
        engine.start(execution, engine.plan(fragment(plan, run), execution, config, site), config)

    def run(self) -> Manifest:
        """Run the task on the calling thread, and return its spool files, one for each output of the stage.
        A failed run leaves no file. Raises the error of a processor;
        :class:`~sqlfront_engine.spool.reading.SpoolDamaged` if a file of an input can't be read."""
        self._job.join()
        return Manifest(tuple(file for report in self._reports for file in report))

    def cancel(self) -> None:
        """Cancel the task: :meth:`run` raises soon. May be called on any thread."""
        self._job.cancel()


def fragment(plan: StagePlan, run: TaskRun) -> DAG:
    """Return the DAG that a task runs: the stage's vertices of the plan, with a SpoolScan for each input and
    a SpoolWrite for each output."""
    stage, dag = run.tasks.stage, DAG()
    vertices = {name: dag.add(_vertex(plan.dag[name])) for name in stage.vertices}
    ordinals = dict.fromkeys(vertices, 0)

    def output_of(vertex: Vertex) -> int:
        # All outputs of a vertex emit the same rows.
        ordinals[vertex.name] += 1
        return ordinals[vertex.name] - 1

    for edge in plan.dag.edges:
        assert edge.destination is not None
        source, target = vertices.get(edge.source.name), vertices.get(edge.destination.name)
        if source is not None and target is not None:
            inside = replace(edge, source=source, source_ordinal=output_of(source), destination=target)
            dag.edge(replace(inside, distribution=Distribution.LOCAL))
    for place in range(len(stage.inputs)):
        _add_input(dag, plan, run, place)
    for number, output in enumerate(stage.outputs):
        vertex = vertices[output.vertex]
        name = dag.unique_name(f"write {output.vertex}")
        writer = dag.vertex(name, _writer(run, number, output), 1)
        edge = Edge(vertex, output_of(vertex), writer).to_one()
        dag.edge(edge.ordered(output.sort_keys) if output.sort_keys else edge)
    return dag


def _vertex(vertex: Vertex) -> Vertex:
    """Return a vertex of the plan as it runs in a task: on one member, and with a processor that passes the
    rows on where the plan has its ResultSink."""
    processor = Forward() if isinstance(vertex.processor, ResultSink) else vertex.processor
    parallelism = vertex.local_parallelism if vertex.only_on is None else 1
    return replace(vertex, processor=processor, only_on=None, local_parallelism=parallelism)


def _add_input(dag: DAG, plan: StagePlan, run: TaskRun, place: int) -> None:
    """Add a SpoolScan of the files of the stage's input number ``place`` to the task's DAG. If the rows are
    sorted, the scan has one instance per file, so that the edge behind it merges the files."""
    source = run.tasks.stage.inputs[place]
    edge, output = plan.dag.edges[source.edge], plan.output_of(source)
    assert edge.destination is not None
    (first, last), (part, parts) = run.span(output.kind, place), run.part(place)
    scan = SpoolScan(run.files_of(output.kind, place), first, last, part=part, parts=parts)
    name = dag.unique_name(f"read {edge.source.name}")
    reader = dag.vertex(name, scan, len(scan.files) if output.sort_keys else 1)
    dag.edge(
        replace(
            edge,
            source=reader,
            source_ordinal=0,
            destination=dag[edge.destination.name],
            distribution=Distribution.LOCAL,
            target_member=None,
        )
    )


def _writer(run: TaskRun, number: int, output: StageOutput) -> SpoolWrite:
    buckets = run.tasks.buckets if output.kind in DIVIDED else 1
    path = run.path(number)
    # The outputs on a member are lost with its machine in any case.
    settings = SpoolSettings(fsync=not is_on_member(path))
    return SpoolWrite(path, output.keys, buckets, _REPORT.format(number), settings)
