"""Operators, sources and sinks around a user's function.

User code sees logical types: Python values (``int``, ``Decimal``, ``datetime``, ...) or record batches of a
stated schema; its results have to fit the schema stated by the step. User code never sees the physical form.
Its exceptions become a DataError or an OperationalError naming the step and the function.

``values`` and ``calls`` are shared by all modules; then ``transform`` (map, filter, flat-map, over batches),
``services`` (functions with an opened and closed service, blocking or awaited), ``sources`` and ``sinks``.
"""
