"""JSON texts, read and written like Jackson, Spark's parser.

``scanner`` reads characters, ``tokens`` returns Jackson's tokens, ``values`` has parsed values, ``texts`` the
functions. The JSON file format reads its records by the same tokens.
"""
