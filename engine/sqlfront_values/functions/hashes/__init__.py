"""``hash`` and ``xxhash64``, as Spark computes them."""
