"""The base class of the ways of this session, whose failed statements may go to Spark."""

from typing import TYPE_CHECKING

import msgspec

from sqlfront.lanes.request import Replan, StatementRequest
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.state.context import Context


class OwnWay(msgspec.Struct, eq=False, gc=False):
    """The base class of the ways in which this session runs a statement without Spark. It has :meth:`after`,
    by which a failed statement goes to Spark; a subclass adds ``lane``, ``reason`` and ``run``
    (:class:`~sqlfront.lanes.way.Way`), and ``explain`` if it is the way of a query."""

    context: "Context"

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan by which Spark runs the statement after it has failed here with ``error``. Raises
        ``error`` if there is no Spark session, or if Spark can't help."""
        spark = self.context.spark
        if spark is None:
            raise error
        return spark.replan_after(error, request)
