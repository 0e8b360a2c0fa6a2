"""JSON texts as Jackson, Spark's parser, reads and writes them.

``scanner`` reads characters, ``tokens`` gives Jackson's tokens, ``values`` has parsed values, ``texts`` the
functions. The JSON file format reads its records by the same tokens.
"""
