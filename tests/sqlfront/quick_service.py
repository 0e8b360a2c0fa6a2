"""The service of member processes whose tests wait for old versions to go. Members load this module, which
therefore loads no pytest."""

from typing import Final

import tests.sqlfront.held_shares  # noqa: F401 - registers a processor with the members
from sqlfront.cluster.service import TableService


def service() -> TableService:
    """A service that lets old versions go at once."""
    return TableService(grace=0.1)


SERVICE: Final = f"{__name__}:{service.__name__}"
