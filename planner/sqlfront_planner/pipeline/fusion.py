"""Fusion of steps into one vertex."""

from collections.abc import Iterator, Sequence

from sqlfront_planner.pipeline.steps import Apply, Definition, Step


def chains(definition: Definition) -> Iterator[tuple[int, ...]]:
    """Yield the positions of all steps, as one tuple for each vertex: the steps that are fused into the
    vertex, or a single step. The tuples are in the order of their first steps."""
    fused: set[int] = set()
    for position in range(len(definition.steps)):
        if position not in fused:
            chain = tuple(_chain(definition, position))
            fused.update(chain)
            yield chain


def fused_name(steps: Sequence[Step]) -> str:
    """Return the name of the vertex that runs these steps: the name of a single step, else ``fused(first,
    second)`` with the names of all steps.

    >>> fused_name([])
    'fused()'
    """
    return steps[0].name if len(steps) == 1 else f"fused({', '.join(step.name for step in steps)})"


def _chain(definition: Definition, position: int) -> Iterator[int]:
    """Yield the position of a step, then the positions of the following steps that can be fused with this
    step: stateless steps of the same parallelism, each the only consumer of the step before."""
    yield position
    step = definition.steps[position]
    while isinstance(step, Apply):
        consumers = definition.consumers(position)
        if len(consumers) != 1:
            return
        position = consumers[0]
        following = definition.steps[position]
        if not isinstance(following, Apply) or following.parallelism != step.parallelism:
            return
        yield position
        step = following
