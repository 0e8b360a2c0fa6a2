"""A session beside a Spark session."""

from typing import TYPE_CHECKING

from sqlfront.config import Config
from sqlfront.result import Parameters, Result
from sqlfront.session import Session
from sqlfront.spark.frame import Frame
from sqlfront.spark.start import SparkSource
from sqlfront_connectors.forms import to_physical
from sqlfront_engine.columns.batches import make_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sqlfront_connectors.arrow import ArrowStream


class AttachedSession(Session):
    """A session that Spark stands beside; made by :func:`sqlfront.attach`. Closing it leaves Spark alone,
    unless it was started for it."""

    def __init__(self, spark: SparkSource, config: Config | None = None) -> None:
        super().__init__(config, spark=spark)

    def sql(self, text: str, args: Parameters | None = None, **frames: object) -> Frame:
        """Run one statement, as ``spark.sql`` does; see :func:`sqlfront.sql`."""
        return Frame(self.answer(text, args, frames), self)

    def register(self, name: str, frame: "ArrowStream") -> None:
        """Make a frame a temporary view: one of Spark's if it is a DataFrame of Spark's."""
        if not isinstance(frame, Frame) and hasattr(frame, "createOrReplaceTempView"):
            frame.createOrReplaceTempView(name)
        else:
            super().register(name, frame)

    def unregister(self, name: str) -> None:
        """Drop a temporary view, Spark's included; no error if there is none."""
        assert self.spark is not None
        if not self.spark.drop_view(name):
            super().unregister(name)

    def spark_frame(self, result: Result) -> "DataFrame":
        """The rows of a result as a DataFrame of Spark's."""
        assert self.spark is not None
        schema = result.schema
        batches = [
            make_batch(
                [to_physical(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)],
                schema.names,
                batch.num_rows,
            )
            for batch in result.toArrow().to_batches()
        ]
        return self.spark.ready("a DataFrame of its own is asked for").frame(schema, batches).data

    def table(self, name: str) -> Frame:
        """All rows of a table or view."""
        return self.sql(f"SELECT * FROM {name}")
