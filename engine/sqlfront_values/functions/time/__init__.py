"""Functions of dates, timestamps and intervals.

``patterns`` reads datetime patterns, which ``formatting`` writes by and ``parsing`` reads by; ``texts``,
``fields``, ``building``, ``moving``, ``truncating`` and ``arithmetic`` have the functions;
``calendar_dates`` is the calendar over numpy arrays.
"""
