"""Whether the files of a plan can be read here, before it runs: for EXPLAIN and for ``sqlfront check``."""

from typing import TYPE_CHECKING

from sqlfront_connectors.files.scan import FileScan

if TYPE_CHECKING:
    from sqlfront.session import Session
    from sqlfront_planner.plan import QueryPlan


def check_files(session: "Session", plan: "QueryPlan") -> None:
    """Raises what reading would, as far as that is known from the files' own descriptions, and from a first
    part of texts: NotSupportedError for what isn't built, OperationalError or DataError for broken files."""
    for dag in (plan.dag, *(part.template.dag for part in plan.shared)):
        for vertex in dag:
            if isinstance(vertex.processor, FileScan):
                vertex.processor.check(session.files, session.settings, session.engine.memory)
