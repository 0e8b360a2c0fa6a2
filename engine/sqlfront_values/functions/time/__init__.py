"""Functions of dates, timestamps and intervals.

``patterns`` parses datetime patterns, ``formatting`` writes and ``parsing`` reads texts by a pattern;
``texts``, ``fields``, ``building``, ``moving``, ``truncating`` and ``arithmetic`` have the functions;
``calendar_dates`` is the calendar over numpy arrays.
"""
