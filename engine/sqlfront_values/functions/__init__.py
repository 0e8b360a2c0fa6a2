"""Functions of SQL, and the kernels that compute them.

A scalar function is an entry of :mod:`.registry` with a kernel; an operator such as ``+`` is a function whose
name is in :data:`.registry.OPERATORS`. The registry imports the modules of an area when one of the area's
functions is first looked up. :mod:`.rowwise` has code that kernels share, :mod:`.growth` bounds the size of a
function's result.

The areas:

* :mod:`.text` (with :mod:`.text.patterns` for LIKE and regular expressions) and :mod:`.json`
* :mod:`.numbers`, :mod:`.logic` (comparisons, conditions), :mod:`.hashes`
* :mod:`.time`: dates, timestamps and intervals
* :mod:`.nested`: arrays, maps and structs
* :mod:`.aggregates` and :mod:`.windows`, each with a contract and a registry of its own
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "registry")
