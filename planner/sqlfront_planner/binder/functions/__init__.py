"""Binding of function calls: ``calls`` binds the scalar functions of the registry, ``aggregates`` the calls
of aggregate functions, and the other modules the functions with a special syntax or special types.
``function_names`` lists the available functions.
"""
