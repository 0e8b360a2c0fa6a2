"""The session's settings that evaluation depends on, and their defaults."""

from typing import Final

import msgspec

#: The number of partitions of a table, as in Hazelcast: a prime, and enough that some tens of members get
#: even shares.
DEFAULT_PARTITIONS: Final = 271
#: The name of the only member of an engine without a cluster.
EMBEDDED: Final = "embedded"


class Settings(msgspec.Struct, frozen=True):
    """The session's settings that expressions depend on; they are part of the key under which the plan cache
    finds a plan. ``time_zone`` is a name that :func:`~sqlfront_values.zones.names.zone_of` knows; ``catalog``
    and ``database`` are the current catalog and database.

    ``instance`` is not the session's: the number of the operator's instance that evaluates an expression, on
    all members, for functions whose values differ between instances (``rand``)."""

    time_zone: str = "UTC"
    catalog: str = "spark_catalog"
    database: str = "default"
    instance: int = 0


DEFAULT_SETTINGS: Final = Settings()
