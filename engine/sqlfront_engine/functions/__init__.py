"""Functions. The scalar ones are registry entries and kernels, one module per area.

:mod:`.registry` is the contract; it loads the areas when the first function is asked for. An operator is a
function with a name of :data:`.registry.OPERATORS`.

Aggregate functions have a contract and a registry of their own: :mod:`.aggregate_function`,
:mod:`.aggregates`, and :mod:`.accumulators`, which compute them; window functions :mod:`.windows` and
:mod:`.frames`.
"""
