"""The settings of a keeper."""

from typing import Final

import msgspec

from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS


class KeeperSettings(msgspec.Struct, frozen=True):
    """The settings of a keeper. ``silence_limit``: seconds after which a silent member is removed.
    ``partition_count``: the number of partitions of the cluster."""

    silence_limit: float = 5.0
    partition_count: int = DEFAULT_PARTITIONS


DEFAULT_SETTINGS: Final = KeeperSettings()
