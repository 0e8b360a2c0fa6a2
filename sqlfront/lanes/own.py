"""The part that the lanes of this session share: failed statements may go to Spark."""

from typing import TYPE_CHECKING

from sqlfront.lanes.way import Replan, StatementRequest
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.state.context import Context


class OwnWay:
    """A way that leads through no part of Spark."""

    __slots__ = ("_context",)

    def __init__(self, context: "Context") -> None:
        self._context = context

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """See :meth:`~sqlfront.lanes.way.Way.after`."""
        spark = self._context.spark
        if spark is None:
            raise error
        return spark.replan_after(error, request)
