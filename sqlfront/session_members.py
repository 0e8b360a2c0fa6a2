"""The members that the configuration of a session asks for."""

from typing import TYPE_CHECKING

from sqlfront.config import Config, Launcher
from sqlfront_engine.file_access import FileAccess
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.cluster import Cluster, opening
    from sqlfront.spark.start import SparkStart
else:
    opening = lazy_module("sqlfront.cluster.opening")


def has_members(config: Config) -> bool:
    """Return whether the configuration asks for a cluster: more than one member, a cluster's address, or a
    launcher that starts processes."""
    return (config.members or 1) > 1 or config.cluster is not None or config.launcher is not Launcher.EMBEDDED


def open_members(config: Config, start: "SparkStart | None", files: FileAccess) -> "Cluster | None":
    """Start or join the members that the configuration asks for, and return them as a cluster; None if it
    asks for none. If the members live on Spark's executors, the Spark session is started first."""
    if start is None or config.launcher is not Launcher.SPARK:
        return opening.open_cluster(config, None, files)
    spark = start.wait("members live on Spark's executors").link.spark
    return opening.open_cluster(config, spark, files)
