"""XML texts: XPath expressions over them, structs written as XML (:mod:`.writing`), and XML read into
structs and variants (:mod:`.reading`, by :mod:`.typed`).

:mod:`.documents` parses a text to a tree, :mod:`.xpath_parser` an XPath expression to
:mod:`.xpath_expressions`, which evaluate themselves over the tree by :mod:`.xpath_values` and
:mod:`.xpath_functions`. :mod:`.xpath` has the SQL functions.
"""
