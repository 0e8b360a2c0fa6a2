"""Changes of a part of a variant: an insertion, an assignment, an appended element, a deletion, and the
removal of nulls. Each builds the variant anew, in the bytes that Spark's functions of the same names make."""

from collections.abc import Callable

from sqlfront_values.stacks import deep
from sqlfront_values.variants import building
from sqlfront_values.variants.building import VariantBuilder
from sqlfront_values.variants.paths import Path
from sqlfront_values.variants.reading import Type, Variant

#: Makes the bytes of the new value with the builder of the whole variant.
NewValue = Callable[[VariantBuilder], bytes]
#: What becomes of the value at the end of a path: takes the value there, None if there is none; returns the
#: new value, None to leave the place as it is.
_Change = Callable[["Variant | None", VariantBuilder], bytes | None]


class PathTypeError(ValueError):
    """An error for a path that meets a value of another type than its next step needs. ``depth``: the number
    of steps that lead to the value."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


class Edit:
    """A change at ``path``. ``creates``: whether missing objects, arrays and elements on the way are made;
    ``inserts``: whether an element at the end of the path is put before the element at its index."""

    def __init__(self, path: Path, change: _Change, *, creates: bool, inserts: bool = False) -> None:
        self._path = path
        self._change = change
        self._creates = creates
        self._inserts = inserts

    @deep
    def applied(self, variant: Variant, builder: VariantBuilder, depth: int = 0) -> bytes:
        """Return the changed variant, which the path's first ``depth`` steps lead to. Raises
        PathTypeError."""
        if depth == len(self._path):
            changed = self._change(variant, builder)
            return builder.copied(variant) if changed is None else changed
        step = self._path[depth]
        if isinstance(step, str):
            if variant.type is not Type.OBJECT:
                raise PathTypeError(depth)
            return self._object(variant, step, builder, depth)
        if variant.type is not Type.ARRAY:
            raise PathTypeError(depth)
        return self._array(variant, step, builder, depth)

    def _object(self, variant: Variant, name: str, builder: VariantBuilder, depth: int) -> bytes:
        fields, found = [], False
        for other, value in variant.fields():
            number = builder.id_of(other)
            is_there = other == name
            found = found or is_there
            part = self.applied(value, builder, depth + 1) if is_there else builder.copied(value)
            fields.append((other, number, part))
        if not found and self._creates:
            number = builder.id_of(name)
            fields.append((name, number, self._made(builder, depth + 1)))
        return builder.object(fields)

    def _array(self, variant: Variant, index: int, builder: VariantBuilder, depth: int) -> bytes:
        inserts = self._inserts and depth + 1 == len(self._path)
        values: list[bytes] = []
        for place, value in enumerate(variant.elements()):
            if place == index and inserts:
                values.append(self._made(builder, depth + 1))
            if place == index and not inserts:
                values.append(self.applied(value, builder, depth + 1))
            else:
                values.append(builder.copied(value))
        count = len(variant)
        if index >= count and self._creates:
            values += [building.NULL] * (index - count)
            values.append(self._made(builder, depth + 1))
        return building.array(values)

    def _made(self, builder: VariantBuilder, depth: int) -> bytes:
        """Return a new value for a place that is missing: what the rest of the path needs."""
        if depth == len(self._path):
            made = self._change(None, builder)
            assert made is not None
            return made
        step = self._path[depth]
        if isinstance(step, str):
            number = builder.id_of(step)
            return builder.object([(step, number, self._made(builder, depth + 1))])
        return building.array([*[building.NULL] * step, self._made(builder, depth + 1)])


def insertion(path: Path, value: NewValue) -> Edit:
    """Return the change of variant_insert: a new field, or an element before the one at an index. Raises
    VariantKeyError for a field that is there already."""

    def change(variant: Variant | None, builder: VariantBuilder) -> bytes | None:
        if variant is not None:
            raise building.VariantKeyError(str(path[-1]))
        return value(builder)

    return Edit(path, change, creates=True, inserts=True)


def assignment(path: Path, value: NewValue, *, creates: bool) -> Edit:
    """Return the change of variant_set: another value for a field or element; ``creates``: also for one that
    isn't there."""
    return Edit(path, lambda variant, builder: value(builder), creates=creates)


def extension(path: Path, value: NewValue) -> Edit:
    """Return the change of variant_array_append: an array with one more element."""

    def change(variant: Variant | None, builder: VariantBuilder) -> bytes | None:
        assert variant is not None
        if variant.type is not Type.ARRAY:
            raise PathTypeError(len(path))
        return building.array([*map(builder.copied, variant.elements()), value(builder)])

    return Edit(path, change, creates=False)


@deep
def without(variant: Variant, path: Path, builder: VariantBuilder, depth: int = 0) -> bytes:
    """Return the variant without its field or element at the path; a path that leads nowhere changes
    nothing."""
    step, is_last = path[depth], depth + 1 == len(path)
    if isinstance(step, str) and variant.type is Type.OBJECT:
        fields = []
        for name, value in variant.fields():
            if name == step and is_last:
                continue
            number = builder.id_of(name)
            part = without(value, path, builder, depth + 1) if name == step else builder.copied(value)
            fields.append((name, number, part))
        return builder.object(fields)
    if isinstance(step, int) and variant.type is Type.ARRAY:
        return building.array(
            [
                without(value, path, builder, depth + 1) if place == step else builder.copied(value)
                for place, value in enumerate(variant.elements())
                if not (place == step and is_last)
            ]
        )
    return builder.copied(variant)


@deep
def without_nulls(variant: Variant, builder: VariantBuilder, *, in_arrays: bool) -> bytes:
    """Return the variant without the fields of objects that are the variant null, at any depth;
    ``in_arrays``: without such elements of arrays, too."""
    if variant.type is Type.OBJECT:
        fields = []
        for name, value in variant.fields():
            if value.type is not Type.NULL:
                number = builder.id_of(name)
                fields.append((name, number, without_nulls(value, builder, in_arrays=in_arrays)))
        return builder.object(fields)
    if variant.type is Type.ARRAY:
        kept = [value for value in variant.elements() if not (in_arrays and value.type is Type.NULL)]
        return building.array([without_nulls(value, builder, in_arrays=in_arrays) for value in kept])
    return variant.raw()
