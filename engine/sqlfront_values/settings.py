"""What a session contributes to evaluation, and what holds unless somebody says otherwise."""

from typing import Final

import msgspec

#: How many partitions a table has.
DEFAULT_PARTITIONS: Final = 271
#: The name of the only member of an engine without a cluster.
EMBEDDED: Final = "embedded"


class Settings(msgspec.Struct, frozen=True):
    """The session's part in the meaning of expressions; part of a plan's key. ``time_zone`` is a name
    that :func:`~sqlfront_values.zones.names.zone_of` knows, ``catalog`` and ``database`` are what is
    current."""

    time_zone: str = "UTC"
    catalog: str = "spark_catalog"
    database: str = "default"


DEFAULT_SETTINGS: Final = Settings()
