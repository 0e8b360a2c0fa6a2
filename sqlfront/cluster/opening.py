"""The function that opens the members of a new session, as the session's configuration asks."""

from typing import TYPE_CHECKING

from sqlfront.cluster import Cluster, embedded, processes
from sqlfront.config import Config, Launcher
from sqlfront_engine.file_access import EVERYWHERE, FileAccess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_cluster(
    config: Config, spark: "SparkSession | None" = None, files: FileAccess = EVERYWHERE
) -> Cluster | None:
    """Start or join the members that the configuration asks for, and return them; None if the session runs
    its jobs alone. ``spark``: the Spark session on whose executors the members may live; ``files``: the files
    that the session's own process may read and write. Raises OperationalError if the cluster does not exist,
    or its members can't be started."""
    if config.cluster is not None or config.launcher is not Launcher.EMBEDDED:
        return processes.Client(config, spark, files)
    return embedded.EmbeddedMembers(config, files) if (config.members or 1) > 1 else None
