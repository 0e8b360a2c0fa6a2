"""Functions of dates, timestamps and intervals.

``patterns`` parses datetime patterns, ``formatting`` writes and ``parsing`` reads texts by a pattern;
``texts``, ``fields``, ``building``, ``moving``, ``truncating`` and ``arithmetic`` have the functions;
``calendar_dates`` is the calendar over numpy arrays; ``zone_names`` has the names of time zones.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "zone_names")
