"""The functions that give null for arguments that aren't null, or none for arguments that are: Spark's
``nullable`` and the nullability inside of their types, function by function. A function that isn't named here
may give null exactly if one of its arguments may be null."""

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_planner.nullability import casts
from sqlfront_planner.nullability.nulls import Nulls, everywhere, inner_types
from sqlfront_values.expressions import Call, Literal
from sqlfront_values.functions.legacy import LEGACY_CAST, LEGACY_NAMES
from sqlfront_values.functions.nested.map_building import KEEPING_LAST
from sqlfront_values.types import is_string

Rule = Callable[[Call, Sequence[Nulls]], Nulls]

#: Functions that may give null whatever their arguments are: operators and mathematics, texts and binaries,
#: structured texts, dates, then arrays, maps and vectors.
ALWAYS: Final = frozenset(
    """
    divide div remainder mod pmod try_add try_subtract try_multiply try_divide try_mod factorial acos acosh
    asin asinh atan atanh cbrt ceil ceiling cos cosh cot csc degrees exp expm1 floor ln log log10 log1p log2
    radians rint round bround sec sign signum sin sinh sqrt tan tanh conv width_bucket nullifzero

    decode encode elt format_number is_valid_utf8 luhn_check make_valid_utf8 mask parse_url quote
    hmac jaro_winkler_similarity regexp_substr sha2 right split_part to_binary
    try_to_binary try_parse_url try_url_decode try_validate_utf8
    unhex
    url_decode url_encode validate_utf8 try_to_number raise_error assert_true aes_decrypt aes_encrypt
    try_aes_decrypt

    xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
    from_json from_xml get_json_object json_array_length json_object_keys to_csv to_json to_xml

    from_unixtime next_day trunc date_trunc try_make_timestamp
    try_make_timestamp_ltz try_make_timestamp_ntz

    window_time try_parse_json variant_get try_variant_insert try_variant_set try_variant_array_append

    array_max array_min map_contains_key vector_cosine_similarity vector_inner_product vector_l2_distance
    vector_norm vector_normalize
    """.split()  # noqa: SIM905 - as a list it would fill three pages
) | {"timestamp_ntz of a date and a time"}
#: The same for functions of ANSI mode off.
_LEGACY: Final = LEGACY_NAMES - {
    LEGACY_CAST,
    *(f"wrapping {name}" for name in ("abs", "add", "multiply", "negative", "subtract")),
}
#: Functions that never give null.
NEVER: Final = frozenset(
    """
    is_null isnull is_not_null isnotnull equal_null_safe isnan typeof hash xxhash64 uuid rand randn random pi
    e monotonically_increasing_id spark_partition_id zeroifnull format_string printf randstr
    is_variant_null
    """.split()  # noqa: SIM905
)


def call(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """Return where the result of a call may be null. ``arguments``: where the operands may be null."""
    name = function.function.removesuffix(f" {KEEPING_LAST}")
    rule = _RULES.get(name)
    if rule is not None:
        return rule(function, arguments)
    value = any(each.value for each in arguments)
    if name in ALWAYS or name in _LEGACY:
        value = True
    elif name in NEVER:
        value = False
    return Nulls(value, _parts(function, arguments))


def _parts(function: Call, arguments: Sequence[Nulls]) -> tuple[Nulls, ...]:
    """Return the nulls inside a result: those of the arguments of the same shape."""
    kinds = inner_types(function.type)
    if not kinds:
        return ()
    alike = [
        nulls
        for operand, nulls in zip(function.arguments, arguments, strict=True)
        if len(nulls.parts) == len(kinds) and operand.type == function.type
    ]
    if not alike:
        return tuple(everywhere(kind) for kind in kinds)
    found = alike[0]
    for each in alike[1:]:
        found |= each
    return found.parts


# ---- rules of single functions


def _coalesced(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """Of values of one type: null if all are. A null itself has no values inside."""
    values = [
        (operand, nulls)
        for operand, nulls in zip(function.arguments, arguments, strict=True)
        if not (isinstance(operand, Literal) and operand.value is None)
    ]
    inside = _parts(function, arguments) if not values else _union([nulls for _, nulls in values]).parts
    return Nulls(all(each.value for each in arguments), inside)


def _of_elements(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A list of the arguments."""
    if not arguments:
        return Nulls(False, tuple(Nulls(False) for _ in inner_types(function.type)))
    inside = arguments[0]
    for each in arguments[1:]:
        inside |= each
    return Nulls(False, (inside,))


def _of_pairs(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A map of keys and values in turn."""
    return _of_elements(function, arguments[1::2])


def _of_fields(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A struct of the arguments, or of every second one, behind the names."""
    count = len(inner_types(function.type))
    fields = arguments if len(arguments) == count else arguments[1::2]
    return Nulls(False, tuple(fields))


def _field(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A field of a struct."""
    operand, name = function.arguments[0], function.arguments[1]
    assert isinstance(name, Literal)
    place = name.value if isinstance(name.value, int) else operand.type.get_field_index(str(name.value))
    found = arguments[0].parts[place] if arguments[0].parts else everywhere(function.type)
    return found.if_any(arguments[0].value)


def _fields(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A field of each struct in an array."""
    operand, name = function.arguments[0], function.arguments[1]
    assert isinstance(name, Literal)
    place = operand.type.value_type.get_field_index(str(name.value))
    struct = arguments[0].parts[0] if arguments[0].parts else everywhere(inner_types(operand.type)[0])
    found = struct.parts[place] if struct.parts else everywhere(inner_types(function.type)[0])
    return Nulls(arguments[0].value, (found.if_any(struct.value),))


def _element(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """An element of an array by its place, or a value of a map by its key, which may not be there."""
    inside = arguments[0].parts[0] if arguments[0].parts else everywhere(function.type)
    operand, place = function.arguments[0], function.arguments[1]
    if pa.types.is_map(operand.type):
        return inside.if_any(True)
    if isinstance(operand, Call) and operand.function == "array" and isinstance(place, Literal):
        first = 0 if function.function in ("get_item", "get") else 1
        number = place.value if isinstance(place.value, int) else -1
        if first <= (abs(number) if first else number) < len(operand.arguments) + first:
            return inside.if_any(any(each.value for each in arguments))
    fails = function.function in ("get_item", "element_at")
    return inside.if_any(not fails or any(each.value for each in arguments))


def _same_elements(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """The elements of the first array, without nulls."""
    found = arguments[0]
    part = found.parts[0] if found.parts else everywhere(inner_types(function.type)[0])
    return Nulls(any(each.value for each in arguments), (Nulls(False, part.parts),))


def _whole_elements(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A list whose elements are never null."""
    kinds = inner_types(function.type)
    return Nulls(
        any(each.value for each in arguments), tuple(Nulls(False, everywhere(kind).parts) for kind in kinds)
    )


def _common_elements(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """The elements of two arrays, of which one alone has no nulls to give."""
    elements = [each.parts[0] for each in arguments if each.parts]
    inside = _union(elements) if elements else everywhere(inner_types(function.type)[0])
    both = len(elements) == len(arguments) and all(each.value for each in elements)
    return Nulls(any(each.value for each in arguments), (Nulls(both, inside.parts),))


def _repeated(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """The first argument, several times."""
    return Nulls(arguments[1].value, (arguments[0],))


def _appended(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """An array with one more element."""
    array, element = arguments[0], arguments[-1]
    inside = (array.parts[0] if array.parts else everywhere(function.arguments[-1].type)) | element
    return Nulls(array.value, (inside.if_any(True),))


def _chosen(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """One of the arguments behind the first one."""
    found = arguments[1]
    for each in arguments[2:]:
        found |= each
    return found


def _time_of(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A date or timestamp of a text or of another one."""
    return Nulls(is_string(function.arguments[0].type) or any(each.value for each in arguments))


def _of_binaries(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """Whether a text or binary has another one inside: Spark calls it nullable for binaries."""
    binary = any(pa.types.is_binary(each.type) for each in function.arguments)
    return Nulls(binary or any(each.value for each in arguments))


def _found_in(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """Whether arrays have an element: unknown if one of theirs is null."""
    inside = any(part.value for each in arguments for part in each.parts)
    return Nulls(inside or any(each.value for each in arguments))


def _first_argument(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    return Nulls(arguments[0].value, _parts(function, arguments))


def _zipped(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A list of structs, whose fields are null where an array is shorter."""
    inside = tuple(Nulls(False, everywhere(kind).parts) for kind in inner_types(function.type))
    return Nulls(any(each.value for each in arguments), inside)


def _flattened(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """The elements of the arrays in an array."""
    inner = arguments[0].parts[0]
    return Nulls(arguments[0].value or inner.value, inner.parts or everywhere(function.type).parts)


def _map_of_arrays(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A map of an array of keys and an array of values."""
    return Nulls(any(each.value for each in arguments), arguments[1].parts or everywhere(function.type).parts)


def _map_of_entries(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A map of a list of pairs, of which none may be null."""
    pair = arguments[0].parts[0]
    return Nulls(arguments[0].value or pair.value, pair.parts[1:] or everywhere(function.type).parts)


def _union(all_nulls: Sequence[Nulls]) -> Nulls:
    found = all_nulls[0]
    for each in all_nulls[1:]:
        found |= each
    return found


def _entries(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A list of the pairs of a map."""
    kind = inner_types(inner_types(function.type)[0])[0]
    values = arguments[0].parts or everywhere(function.type).parts[0].parts[1:]
    return Nulls(arguments[0].value, (Nulls(False, (Nulls(False, everywhere(kind).parts), *values)),))


def _cast(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A cast with ANSI mode off."""
    return casts.cast(arguments[0], function.arguments[0].type, function.type, safe=False)


def _window(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A window of time, whose start and end may be null for Spark."""
    return Nulls(False, (Nulls(True), Nulls(True)))


def _windows(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """The windows of time that contain a timestamp, of which Spark takes each for nullable."""
    return Nulls(arguments[0].value, (Nulls(True, (Nulls(True), Nulls(True))),))


def _variant_entries(function: Call, arguments: Sequence[Nulls]) -> Nulls:
    """A list of the position, the key and the value of each entry of a variant; arrays have no keys."""
    return Nulls(arguments[0].value, (Nulls(False, (Nulls(False), Nulls(True), Nulls(False))),))


#: The functions that make a date or timestamp of a text or of another one.
_TIMES_OF: Final = (
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "to_timestamp_ntz",
    "try_to_date",
    "try_to_timestamp",
)
#: The most frequent items: a list of items, which may be null, with their counts.
TOP_ITEMS: Final = Nulls(False, (Nulls(False, (Nulls(True), Nulls(False))),))
#: Words of sentences, for a text that may be null.
_WORDS: Final = Nulls(True, (Nulls(False, (Nulls(False),)),))

_RULES: Final[dict[str, Rule]] = {
    "approx_top_k_estimate": lambda function, arguments: TOP_ITEMS,
    "sentences": lambda function, arguments: _WORDS,
    **dict.fromkeys(("window", "session_window"), _window),
    "sliding windows": _windows,
    "entries of a variant": _variant_entries,
    LEGACY_CAST: _cast,
    "variant_delete": _first_argument,
    **dict.fromkeys(("coalesce", "ifnull", "nvl", "greatest", "least"), _coalesced),
    "array": _of_elements,
    "map": _of_pairs,
    **dict.fromkeys(("struct", "named_struct"), _of_fields),
    "get_field": _field,
    "get_fields": _fields,
    **dict.fromkeys(("get_item", "get", "get_value", "element_at", "try_element_at"), _element),
    **dict.fromkeys(("array_compact",), _same_elements),
    **dict.fromkeys(("split", "sequence"), _whole_elements),
    **dict.fromkeys(("contains", "startswith", "endswith"), _of_binaries),
    **dict.fromkeys(("array_contains", "arrays_overlap"), _found_in),
    "array_repeat": _repeated,
    "arrays_zip": _zipped,
    "flatten": _flattened,
    "map_from_arrays": _map_of_arrays,
    "map_entries": _entries,
    "map_from_entries": _map_of_entries,
    "concat_ws": _first_argument,
    **dict.fromkeys(("array_append", "array_prepend", "array_insert"), _appended),
    **dict.fromkeys(_TIMES_OF, _time_of),
    "array_intersect": _common_elements,
    **dict.fromkeys(("if", "nvl2"), _chosen),
}
