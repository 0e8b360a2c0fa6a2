"""Functions of arrays, maps and structs.

``collections`` builds them and reaches into them; ``array_shapes``, ``array_search``, ``sequences`` and
``concatenation`` are about arrays, ``map_building`` and ``maps`` about maps.
"""
