"""The listing of the files of a location: ``paths`` (URLs and globs), ``listing`` (the files that
``listing_options`` choose), and the partition columns in the names of directories (``partition_directories``,
``partition_values``).
"""
