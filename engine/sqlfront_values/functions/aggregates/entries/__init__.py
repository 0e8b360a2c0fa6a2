"""The entries of the aggregate functions, by what they compute; each module's ``FUNCTIONS``.

:mod:`..registry` looks them up.
"""
