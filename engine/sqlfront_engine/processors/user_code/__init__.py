"""Operators, sources and sinks whose work is a function of the user's.

User code sees logical types: Python values (``int``, ``Decimal``, ``datetime``, ...) or record batches of a
stated schema, and what it gives back has to fit the schema that the step states. It never sees a physical
form, and what it raises becomes a DataError or an OperationalError that names the step and the function.

``values`` and ``calls`` are what all of it shares; then ``transform`` (map, filter, flat-map, over batches),
``services`` (with something that is opened and closed, blocking or awaited), ``sources`` and ``sinks``.
"""
