"""Checks, without running a plan, that sqlfront can read the plan's files: for EXPLAIN and for ``sqlfront
check``."""

from typing import TYPE_CHECKING

from sqlfront_connectors.files.scan import FileScan
from sqlfront_planner.plan import every_part

if TYPE_CHECKING:
    from sqlfront.state.context import Context
    from sqlfront_planner.plan import QueryPlan


def check_files(context: "Context", plan: "QueryPlan") -> None:
    """Raise the error that reading the plan's files would raise, as far as it shows in the files' metadata or
    in the first part of text files: NotSupportedError for unsupported features, OperationalError or DataError
    for broken files."""
    for dag in (plan.dag, *(part.template.dag for part in every_part(plan.shared))):
        for vertex in dag:
            if isinstance(vertex.processor, FileScan):
                vertex.processor.check(context.files, context.settings, context.engine.memory)
