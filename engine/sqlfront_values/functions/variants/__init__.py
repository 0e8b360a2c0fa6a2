"""The functions over variants.

:mod:`.parsing` makes variants of texts and of nested values, :mod:`.reading` takes parts of them,
:mod:`.describing` tells their types, and :mod:`.editing` changes them.
"""
