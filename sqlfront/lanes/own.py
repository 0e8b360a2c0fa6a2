"""The part that the lanes of this session share: failed statements may go to Spark."""

from typing import TYPE_CHECKING

import msgspec

from sqlfront.lanes.request import Replan, StatementRequest
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.state.context import Context


class OwnWay(msgspec.Struct, eq=False, gc=False):
    """The base of the ways that don't go through Spark."""

    context: "Context"

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """See :meth:`~sqlfront.lanes.way.Way.after`."""
        spark = self.context.spark
        if spark is None:
            raise error
        return spark.replan_after(error, request)
