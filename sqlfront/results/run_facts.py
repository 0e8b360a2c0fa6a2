"""The class that holds facts about the run behind a result."""

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from sqlfront_planner.explain import explanation as explanations


class RunFacts(msgspec.Struct, frozen=True):
    """Scans, vertices and members of the run behind a result, as ``EXPLAIN`` and ``EXPLAIN ANALYZE`` show
    them."""

    scans: "tuple[explanations.ExplainedScan, ...]" = ()
    vertices: "tuple[explanations.ExplainedVertex, ...]" = ()
    members: tuple[str, ...] = ()


NO_FACTS: Final = RunFacts()
