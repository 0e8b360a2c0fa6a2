"""Operators, sources and sinks that call a user's function.

User code gets and returns logical types: Python values (``int``, ``Decimal``, ``datetime``, ...) or record
batches; its results have to fit the schema that the step states. It never gets the physical form. Its
exceptions become a DataError or an OperationalError that names the step and the function.

All modules use ``values`` and ``calls``; then ``transform`` (map, filter, flat-map, over batches),
``services`` (functions that use an object which is opened and closed, blocking or awaited), ``sources`` and
``sinks``.
"""
