"""Windows of time: ``window``, ``session_window`` and ``window_time``.

In Spark a call of these functions is a column that the SELECT's input gets before it is grouped.
:mod:`sqlfront_planner.binder.collected_windows` holds the columns that one SELECT adds, and adds them to the
plan; ``calls`` binds the calls; ``markers`` finds whether a column is a window, which Spark notes in the
column's metadata; ``sessions`` merges the sessions of a group.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "calls", "markers", "sessions")
