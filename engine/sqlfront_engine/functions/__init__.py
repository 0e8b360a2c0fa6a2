"""Scalar functions: registry entries and kernels, one module per area.

:mod:`.registry` is the contract; it loads the areas when the first function is asked for. An operator is a
function with a name of :data:`.registry.OPERATORS`.
"""
