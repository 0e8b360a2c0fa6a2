"""Members of JSON objects by name, as ``json_tuple`` takes them."""

from collections.abc import Sequence

from sqlfront_values.functions.json.texts import Style, matches
from sqlfront_values.functions.json.values import JsonError, JsonObject, parse_json
from sqlfront_values.java.surrogates import well_formed


def members_of(text: object, names: Sequence[object]) -> list[str | None]:
    """Return the texts of the members that ``names`` name in the object whose JSON is ``text``: a string
    without quotes, any other value as JSON. None for a missing member, for null, and for all names if the
    text is None or isn't the JSON of an object. Of several members of a name, the last counts that isn't
    null.

    >>> members_of('{"a": 1, "b": {"c": [2]}, "d": "x"}', ("a", "b", "d", "e"))
    ['1', '{"c":[2]}', 'x', None]
    """
    nothing: list[str | None] = [None] * len(names)
    try:
        found = parse_json(text) if isinstance(text, str) else None
    except (JsonError, RecursionError):
        return nothing
    if not isinstance(found, JsonObject):
        return nothing
    texts: dict[object, str] = {}
    for name, value in found.members:
        if name in names and value is not None:
            texts[name] = matches(value, (), Style.RAW)[0]
            if well_formed(texts[name]) != texts[name]:  # half a surrogate pair can't be written
                return nothing
    return [texts.get(name) for name in names]
