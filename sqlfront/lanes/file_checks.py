"""Checks before a plan runs that its files can be read here: for EXPLAIN and for ``sqlfront check``."""

from typing import TYPE_CHECKING

from sqlfront_connectors.files.scan import FileScan

if TYPE_CHECKING:
    from sqlfront.state.context import Context
    from sqlfront_planner.plan import QueryPlan


def check_files(context: "Context", plan: "QueryPlan") -> None:
    """Raise the errors that reading the plan's files would raise, as far as the files' metadata and the first
    part of text files show: NotSupportedError for unsupported features, OperationalError or DataError for
    broken files."""
    for dag in (plan.dag, *(part.template.dag for part in plan.shared)):
        for vertex in dag:
            if isinstance(vertex.processor, FileScan):
                vertex.processor.check(context.files, context.settings, context.engine.memory)
