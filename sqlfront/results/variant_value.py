"""The class of the variants in a result's rows."""

from sqlfront_values.arrow.variant_rows import parts
from sqlfront_values.functions.json.typed.variant_trees import variant_of_text
from sqlfront_values.variants.python_values import python_value
from sqlfront_values.variants.reading import Variant, names_of
from sqlfront_values.variants.texts import json_text


class VariantVal:
    """A value of the type VARIANT, with the attributes and methods of PySpark's ``VariantVal``: the bytes
    ``value`` and ``metadata`` are Spark's encoding; the text is JSON.

    >>> variant = VariantVal.parseJson('{"b": 1.50, "a": [null]}')
    >>> str(variant), variant.toPython()
    ('{"a":[null],"b":1.5}', {'a': [None], 'b': Decimal('1.50')})
    """

    __slots__ = ("metadata", "value")

    def __init__(self, value: bytes, metadata: bytes) -> None:
        self.value = value
        self.metadata = metadata

    def __str__(self) -> str:
        return self.toJson()

    def __repr__(self) -> str:
        return f"VariantVal({self.value!r}, {self.metadata!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariantVal) and (self.value, self.metadata) == (other.value, other.metadata)

    def __hash__(self) -> int:
        return hash((self.value, self.metadata))

    def _tree(self) -> Variant:
        return Variant(self.value, names_of(self.metadata))

    def toPython(self) -> object:
        """Return the value as Python objects: an object is a dict, an array a list, a number an int, a float
        or a Decimal. Raises MALFORMED_VARIANT for bytes that aren't a variant."""
        return python_value(self._tree())

    def toJson(self, zone_id: str = "UTC") -> str:
        """Return the value as JSON; ``zone_id``: the time zone that timestamps are shown in. Raises
        MALFORMED_VARIANT for bytes that aren't a variant."""
        return json_text(self._tree(), zone_id)

    @classmethod
    def parseJson(cls, json_str: str) -> "VariantVal":
        """Return the variant that a JSON text is. Raises ValueError for a text that is not JSON."""
        return cls(*parts(variant_of_text(json_str)))
