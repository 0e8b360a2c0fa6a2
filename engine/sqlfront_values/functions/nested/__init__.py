"""Functions of arrays, maps and structs.

``collections`` builds arrays, maps and structs, and reads their parts; ``array_shapes``, ``array_search``,
``sequences`` and ``concatenation`` are about arrays, ``map_building`` and ``maps`` about maps.
"""
