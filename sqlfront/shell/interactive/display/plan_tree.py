"""The run of a plan as a tree: each step's share of the busy time as a bar, and the step that took most."""

from collections.abc import Iterator
from typing import Final

from sqlfront.shell.interactive.display.footer import duration
from sqlfront.shell.interactive.display.screen import Paint, Screen
from sqlfront.shell.interactive.display.visible import cells_of, cut, padded, visible
from sqlfront_planner.explain.explanation import ExplainedEdge, ExplainedJob, ExplainedVertex, Explanation
from sqlfront_planner.explain.text import in_bytes, scan_text

#: Cells of a bar.
_BAR: Final = 10
#: Cells of the columns behind a step: share, bar, time, rows and memory.
_FIGURES: Final = 52
#: Cells that a step's description has at least, however narrow the screen is.
_LEAST: Final = 24


def plan_lines(explanation: Explanation, screen: Screen) -> Iterator[str]:
    """The lines of a plan that has run: lane and reason, then a tree for each of its jobs."""
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


class _JobTree:
    """The tree of a job, from the result down to the sources."""

    def __init__(self, job: ExplainedJob, total: float, hottest: float, screen: Screen) -> None:
        self._vertices = {vertex.name: vertex for vertex in job.vertices}
        self._inputs: dict[str, list[ExplainedEdge]] = {name: [] for name in self._vertices}
        self._outputs = dict.fromkeys(self._vertices, 0)
        for edge in sorted(job.edges, key=lambda edge: edge.input):
            self._inputs[edge.target].append(edge)
            self._outputs[edge.source] += 1
        self._total, self._hottest, self._screen = total, hottest, screen
        self._room = max(_LEAST, screen.size.columns - _FIGURES)

    def lines(self) -> Iterator[str]:
        """The lines of the tree."""
        for vertex in self._vertices.values():
            if not self._outputs[vertex.name]:
                yield from self._step(vertex, None, "", "")

    def _step(
        self, vertex: ExplainedVertex, edge: ExplainedEdge | None, lead: str, below: str
    ) -> Iterator[str]:
        """The lines of a step and its inputs. ``lead`` stands before the step, ``below`` before the lines of
        its inputs."""
        routing = f" ({edge})" if edge is not None and str(edge) else ""
        text = f"{lead}{visible(vertex.operator)}{routing}"
        if edge is not None and edge.output < self._outputs[vertex.name] - 1:
            yield f"{cut(text, self._room)} (shared)"
            return
        yield self._figures(text, vertex)
        branch, end, through = ("├─ ", "└─ ", "│  ") if self._screen.draws_lines else ("|- ", "`- ", "|  ")
        inputs = self._inputs[vertex.name]
        for place, each in enumerate(inputs, 1):
            is_last = place == len(inputs)
            source = self._vertices[each.source]
            mark, behind = (end, "   ") if is_last else (branch, through)
            yield from self._step(source, each, below + mark, below + behind)

    def _figures(self, text: str, vertex: ExplainedVertex) -> str:
        """A step's line: the text, then its share of the time, the time, rows and memory."""
        counters = vertex.counters
        shown = padded(cut(text, self._room), self._room)
        if counters is None:
            return shown.rstrip()
        share = counters.busy / self._total if self._total else 0.0
        bar = _bar(share, lines=self._screen.draws_lines)
        figures = f" {share:4.0%} {bar} {duration(counters.busy):>9} {counters.rows:>13,} rows"
        if counters.memory:
            figures += f", {in_bytes(counters.memory)}"
        is_hot = bool(counters.busy) and counters.busy == self._hottest
        if not is_hot:
            return shown + figures
        return self._screen.painted(f"{shown}{figures} < hot", Paint.HOT)


def _bar(share: float, *, lines: bool) -> str:
    """A bar of ten cells for a share between 0 and 1.

    >>> _bar(0.25, lines=True), _bar(1, lines=False)
    ('██▌       ', '##########')
    """
    eighths = round(min(max(share, 0.0), 1.0) * _BAR * 8)
    if not lines:
        return ("#" * round(eighths / 8)).ljust(_BAR)
    rest = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    bar = "█" * (eighths // 8) + rest
    return bar + " " * (_BAR - cells_of(bar))
