"""Time zones with the rules of ``java.time``.

``names`` finds zones by the names that Spark accepts, ``changes`` has the times at which a zone changes its
offset, ``wall_clock`` converts between instants and a zone's local times.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "names")
