"""A replicated document of a cluster."""

import msgspec


class Document(msgspec.Struct, frozen=True):
    """A replicated document, such as a table's definition. ``version``: the number of its last change; the
    changes of all documents are counted together."""

    version: int
    content: bytes
