"""Preloaded by member processes: see :mod:`tests.sqlfront.cutting`."""

from tests.sqlfront.cutting import obey

obey()
