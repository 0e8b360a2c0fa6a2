"""``hash`` and ``xxhash64``, as in Spark."""
