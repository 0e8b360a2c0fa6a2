"""Functions of strings and binaries. Positions count characters (code points) from 1.

``substrings`` has lengths and parts, ``searching`` positions and replacement, ``case`` letters, ``padding``
blanks and repetition, ``encodings`` characters, bytes and digests, ``printf`` and ``number_texts`` formats,
``similarity`` distances, ``identifiers`` new random identifiers, ``web_texts`` URLs and texts of forms;
:mod:`.patterns` has LIKE and the regular expressions.
"""
