"""Binding of the functions that users write in SQL (CREATE FUNCTION): the function's body replaces a call.

:mod:`~sqlfront_planner.binder.names.routine_arguments` assigns a call's arguments to the parameters,
:mod:`.bodies` binds a body over them, :mod:`.calls` binds calls in expressions, :mod:`.tables` calls in FROM.
:mod:`~sqlfront_planner.binder.routine_creation` checks a new function.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "calls", "tables")
