"""JSON texts, read and written like Jackson, Spark's parser.

``scanner`` reads characters, ``tokens`` returns Jackson's tokens, ``values`` has parsed values, ``texts`` the
functions, ``tuples`` the members that ``json_tuple`` takes. The JSON file format reads its records by the
same tokens.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "tuples")
