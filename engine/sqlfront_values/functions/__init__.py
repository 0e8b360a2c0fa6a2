"""Functions: what SQL can call, and the kernels that compute it.

A scalar function is an entry of :mod:`.registry` with a kernel; an operator such as ``+`` is a function whose
name is in :data:`.registry.OPERATORS`. The registry imports a wing's modules when the first function is asked
for. :mod:`.rowwise` has what kernels share, :mod:`.growth` says how large a function's result can get.

The wings:

* :mod:`.text` (with :mod:`.text.patterns` for LIKE and regular expressions) and :mod:`.json`
* :mod:`.numbers`, :mod:`.logic` (comparisons, conditions), :mod:`.hashes`
* :mod:`.time`: dates, timestamps and intervals
* :mod:`.nested`: arrays, maps and structs
* :mod:`.aggregates` and :mod:`.windows`, each with a contract and a registry of its own
"""
