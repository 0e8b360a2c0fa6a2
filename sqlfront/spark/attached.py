"""A session beside a Spark session."""

from typing import TYPE_CHECKING

from sqlfront.config import Config
from sqlfront.result import Parameters
from sqlfront.session import Session
from sqlfront.spark.frame import Frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sqlfront_connectors.arrow import ArrowStream


class AttachedSession(Session):
    """A session that Spark stands beside; made by :func:`sqlfront.attach`. Closing it leaves Spark alone."""

    def __init__(self, spark: "SparkSession", config: Config | None = None) -> None:
        super().__init__(config, spark=spark)

    def sql(self, text: str, args: Parameters | None = None, **frames: object) -> Frame:
        """Run one statement, as ``spark.sql`` does; see :func:`sqlfront.sql`."""
        assert self.spark is not None
        return Frame(self.answer(text, args, frames), self.spark.link)

    def register(self, name: str, frame: "ArrowStream") -> None:
        """Make a frame a temporary view: one of Spark's if it is Spark's."""
        if hasattr(frame, "createOrReplaceTempView"):
            frame.createOrReplaceTempView(name)
        else:
            super().register(name, frame)

    def unregister(self, name: str) -> None:
        """Drop a temporary view, Spark's included; no error if there is none."""
        assert self.spark is not None
        if not self.spark.drop_view(name):
            super().unregister(name)

    def table(self, name: str) -> Frame:
        """All rows of a table or view."""
        return self.sql(f"SELECT * FROM {name}")
