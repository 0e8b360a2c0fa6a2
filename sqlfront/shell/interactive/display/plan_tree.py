"""A plan that has run, drawn as a tree: each step with a bar for its share of the busy time, and a mark at
the step that was busy longest."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from sqlfront.shell.interactive.display.footer import duration
from sqlfront.shell.interactive.display.screen import Paint, Screen
from sqlfront.shell.interactive.display.visible import cells_of, cut, padded, visible
from sqlfront_planner.explain.explanation import ExplainedEdge, ExplainedJob, ExplainedVertex, Explanation
from sqlfront_planner.explain.text import in_bytes, scan_text

#: Cells of a bar.
_BAR: Final = 10
#: Cells that a step's description has at least, however narrow the screen is.
_LEAST: Final = 24


def plan_lines(explanation: Explanation, screen: Screen) -> Iterator[str]:
    """Yield the lines that show a plan that has run: lane and reason, then a tree for each of its jobs, then
    the total time and memory."""
    yield f"lane: {explanation.lane} ({visible(explanation.reason)})"
    jobs = [("", explanation.job), *((part.name, part.job) for part in explanation.shared)]
    total = sum(_busy(vertex) for _, job in jobs for vertex in job.vertices)
    hottest = max((_busy(vertex) for _, job in jobs for vertex in job.vertices), default=0.0)
    for name, job in jobs:
        if name:
            yield f"Shared rows {visible(name)}:"
        yield from _JobTree(job, total, hottest, screen).lines()
        yield from (f"  {visible(line)}" for scan in job.scans if (line := scan_text(scan)))
    yield _summary(explanation.job)


def _busy(vertex: ExplainedVertex) -> float:
    return vertex.counters.busy if vertex.counters is not None else 0.0


def _summary(job: ExplainedJob) -> str:
    parts = []
    if job.seconds is not None:
        parts.append(f"time {duration(job.seconds)}")
    if job.memory:
        parts.append(f"memory at most {in_bytes(job.memory)}")
    if job.of_members > 1:
        parts.append(f"members {len(job.members)} of {job.of_members}")
    return ", ".join(parts)


class _Step(NamedTuple):
    """A step of a tree: ``text``, its description behind the lines that draw the tree; ``figures``, its time,
    rows and memory; and whether no step of the plan was busy longer."""

    text: str
    figures: str
    is_hot: bool = False


class _JobTree:
    """The tree of a job, from the result down to the sources. ``total``: the busy seconds of all steps of the
    plan; ``hottest``: those of the longest step."""

    def __init__(self, job: ExplainedJob, total: float, hottest: float, screen: Screen) -> None:
        self._vertices = {vertex.name: vertex for vertex in job.vertices}
        self._inputs: dict[str, list[ExplainedEdge]] = {name: [] for name in self._vertices}
        self._outputs = dict.fromkeys(self._vertices, 0)
        for edge in sorted(job.edges, key=lambda edge: edge.input):
            self._inputs[edge.target].append(edge)
            self._outputs[edge.source] += 1
        self._total, self._hottest, self._screen = total, hottest, screen
        counters = [vertex.counters for vertex in job.vertices if vertex.counters is not None]
        self._time_size = max((len(duration(each.busy)) for each in counters), default=0)
        self._rows_size = max((len(f"{each.rows:,}") for each in counters), default=0)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the tree. Descriptions of steps are cut so that the figures behind them fit the
        screen."""
        steps = [
            step
            for vertex in self._vertices.values()
            if not self._outputs[vertex.name]
            for step in self._steps(vertex, None, "", "")
        ]
        most = self._screen.size.columns - max(cells_of(step.figures) for step in steps)
        room = max(_LEAST, min(most, max(cells_of(step.text) for step in steps)))
        for text, figures, is_hot in steps:
            line = f"{padded(cut(text, room), room)}{figures}".rstrip()
            yield self._screen.painted(line, Paint.HOT) if is_hot else line

    def _steps(
        self, vertex: ExplainedVertex, edge: ExplainedEdge | None, lead: str, below: str
    ) -> Iterator[_Step]:
        """Yield the step of ``vertex``, then the steps below it. ``edge``: the edge from the vertex to the
        step above, None = it has none. ``lead`` stands before the step's text, ``below`` before the texts of
        its inputs. A vertex with several outputs is shown in full under the last of them only."""
        routing = f" ({edge})" if edge is not None and str(edge) else ""
        text = f"{lead}{visible(vertex.operator)}{routing}"
        if edge is not None and edge.output < self._outputs[vertex.name] - 1:
            yield _Step(text, " (shared)")
            return
        figures, is_hot = self._figures(vertex)
        yield _Step(text, figures, is_hot)
        branch, end, through = ("├─ ", "└─ ", "│  ") if self._screen.draws_lines else ("|- ", "`- ", "|  ")
        inputs = self._inputs[vertex.name]
        for place, each in enumerate(inputs, 1):
            is_last = place == len(inputs)
            source = self._vertices[each.source]
            mark, behind = (end, "   ") if is_last else (branch, through)
            yield from self._steps(source, each, below + mark, below + behind)

    def _figures(self, vertex: ExplainedVertex) -> tuple[str, bool]:
        """Return the text with a step's share of the busy time, its time, rows and memory, and whether no
        step was busy longer. A vertex that was not measured has an empty text."""
        counters = vertex.counters
        if counters is None:
            return "", False
        share = counters.busy / self._total if self._total else 0.0
        bar = _bar(share, lines=self._screen.draws_lines)
        time = duration(counters.busy).rjust(self._time_size)
        figures = f" {share:4.0%} {bar} {time}  {counters.rows:>{self._rows_size},} rows"
        if counters.memory:
            figures += f", {in_bytes(counters.memory)}"
        is_hot = bool(counters.busy) and counters.busy == self._hottest
        return figures + (" < hot" if is_hot else ""), is_hot


def _bar(share: float, *, lines: bool) -> str:
    """Return a bar of ten cells for a share between 0 and 1. ``lines``: draw it with block characters, not in
    ASCII.

    >>> _bar(0.25, lines=True), _bar(1, lines=False)
    ('██▌       ', '##########')
    """
    eighths = round(min(max(share, 0.0), 1.0) * _BAR * 8)
    if not lines:
        return ("#" * round(eighths / 8)).ljust(_BAR)
    rest = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    bar = "█" * (eighths // 8) + rest
    return bar + " " * (_BAR - cells_of(bar))
