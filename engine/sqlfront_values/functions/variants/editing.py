"""Functions that change variants: variant_insert, variant_set, variant_array_append, variant_delete,
variant_strip_nulls, and those that give null instead of an error (``try_variant_insert``)."""

from collections.abc import Callable

from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.room import claim
from sqlfront_values.types import BOOLEAN, STRING, VARIANT
from sqlfront_values.variants import building, edits
from sqlfront_values.variants.building import VariantBuilder
from sqlfront_values.variants.paths import Path, parse_path, prefix
from sqlfront_values.variants.reading import variant_of

#: Makes the change at a path that assigns a new value.
_Make = Callable[[Path, edits.NewValue], edits.Edit]
#: Elements of an array that a path may make without claiming memory for them.
_FEW: int = 10_000


def invalid_target(path: str, function: str) -> DatabaseError:
    """Build Spark's error INVALID_VARIANT_PATH."""
    return spark_error(
        "INVALID_VARIANT_PATH",
        f"The path '{path}' is not a valid `{function}` target.\nA valid path should start with `$` and is"
        " followed by segments like `[123]`, `.name`, `['name']`, or `[\"name\"]`.",
    )


def _target(path: str, function: str, *, root: bool = False) -> Path:
    """Parse the path of a target; ``root``: the path may be ``$``."""
    steps = parse_path(path)
    if steps is None or not (steps or root):
        raise invalid_target(path, function)
    largest = max((step for step in steps if isinstance(step, int)), default=0)
    if largest > _FEW:
        claim(function, 64 * largest)
    return steps


def _type_mismatch(path: str, depth: int, function: str) -> DatabaseError:
    return spark_error(
        "VARIANT_PATH_TYPE_MISMATCH",
        f"The path '{path}' is incompatible with the variant value at '{prefix(path, depth)}' in"
        f" `{function}`.",
    )


def _edited(
    function: str, row: bytes, path: str, value: bytes, make: _Make, *, root: bool = False
) -> bytes | None:
    """Return the row with the change that ``make`` makes; null if a function that tries can't make it."""
    steps, tries = _target(path, function, root=root), function.startswith("try_")
    new = variant_of(value)
    edit = make(steps, lambda builder: builder.copied(new))
    builder = VariantBuilder()
    try:
        return builder.row(edit.applied(variant_of(row), builder))
    except edits.PathTypeError as error:
        if tries:
            return None
        raise _type_mismatch(path, error.depth, function) from None
    except building.VariantKeyError as error:
        if tries:
            return None
        raise building.duplicate_key(error.key) from None
    except building.VariantSizeError:
        raise building.too_large(function) from None


def _inserter(function: str) -> Callable[[bytes, str, bytes], bytes | None]:
    return lambda row, path, value: _edited(function, row, path, value, edits.insertion)


def _setter(function: str) -> Callable[[bytes, str, bytes, bool], bytes | None]:
    def set_value(row: bytes, path: str, value: bytes, creates: bool) -> bytes | None:
        def make(steps: Path, new: edits.NewValue) -> edits.Edit:
            return edits.assignment(steps, new, creates=creates)

        return _edited(function, row, path, value, make)

    return set_value


def _appender(function: str) -> Callable[[bytes, str, bytes], bytes | None]:
    return lambda row, path, value: _edited(function, row, path, value, edits.extension, root=True)


def _delete(row: bytes | None, *paths: str | None) -> bytes | None:
    targets = [_target(path, "variant_delete") for path in paths if path is not None]
    if row is None:
        return None
    if not targets:
        builder = VariantBuilder()
        return builder.row(builder.copied(variant_of(row)))
    for steps in targets:
        builder = VariantBuilder()
        row = builder.row(edits.without(variant_of(row), steps, builder))
    return row


def _strip_nulls(row: bytes, in_arrays: bool) -> bytes:
    builder = VariantBuilder()
    return builder.row(edits.without_nulls(variant_of(row), builder, in_arrays=in_arrays))


def _pair(
    name: str, make: Callable[[str], Callable[..., bytes | None]], example: str, result: str, *flags: object
) -> tuple[ScalarFunction, ...]:
    """Return the entries of a function that changes a variant at a path, and of the one that tries."""
    arguments = (VARIANT, STRING, VARIANT) + (BOOLEAN,) * len(flags)
    return tuple(
        ScalarFunction(
            each,
            arguments,
            VARIANT,
            row_kernel(make(each)),
            exact=(1,),
            can_fail=True,
            growth=growth.times(4),
            example=(f"to_json({each}({example}))", repr(result)),
        )
        for each in (name, f"try_{name}")
    )


register(
    *_pair("variant_insert", _inserter, "parse_json('{\"a\":1}'), '$.b', 2", '{"a":1,"b":2}'),
    *_pair("variant_set", _setter, "parse_json('{\"a\":1}'), '$.a', 2", '{"a":2}', True),
    *_pair("variant_array_append", _appender, "parse_json('[1]'), '$', 2", "[1,2]"),
    ScalarFunction(
        "variant_delete",
        (VARIANT, STRING),
        VARIANT,
        row_kernel(_delete, null_aware=True),
        variadic=True,
        null_propagating=False,
        exact=(1,),
        can_fail=True,
        growth=growth.times(2),
        example=("to_json(variant_delete(parse_json('{\"a\":1,\"b\":2}'), '$.a'))", "'{\"b\":2}'"),
    ),
    ScalarFunction(
        "variant_strip_nulls",
        (VARIANT, BOOLEAN),
        VARIANT,
        row_kernel(_strip_nulls),
        can_fail=True,
        growth=growth.times(2),
        example=('to_json(variant_strip_nulls(parse_json(\'{"a":1,"b":null}\')))', "'{\"a\":1}'"),
    ),
)
