"""The types of JSON records, and the type that covers several types, by the rules of Spark's inference.

The fields of an object are a list of pairs, not a mapping, because until all records are seen a name may
occur twice, or in upper and lower case.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_values.errors import NotSupportedError, ProgrammingError
from sqlfront_values.functions.json.scanner import JsonSyntaxError
from sqlfront_values.functions.json.tokens import JsonTokens, Token
from sqlfront_values.functions.json.typed.moments import is_timestamp
from sqlfront_values.functions.json.typed.settings import JsonMode, JsonSettings
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    decimal,
    is_decimal,
    is_fractional,
    sql_name,
)


class ObjectFields(msgspec.Struct, frozen=True):
    """The type of a JSON object. ``members``: pairs of a field's name and type, in the order in which Java
    compares the names."""

    members: tuple[tuple[str, "Kind"], ...] = ()


class Items(msgspec.Struct, frozen=True):
    """The type of a JSON array. ``item``: the type that covers all its elements."""

    item: "Kind"


class MalformedRecord(msgspec.Struct, frozen=True):
    """The type that stands for a malformed record in mode FAILFAST. Its error is not raised at once, because
    an earlier record may have to raise another error."""


Kind: TypeAlias = pa.DataType | ObjectFields | Items | MalformedRecord

_LONG_DIGITS: Final = decimal(20, 0)
#: In the order of Spark's promotion: a later type covers an earlier one.
_NUMBERS: Final = (BIGINT, FLOAT, DOUBLE)
_MOMENTS: Final = (DATE, TIMESTAMP_NTZ, TIMESTAMP)


class JsonInference:
    """An inference of a file's columns from the types of its records. :meth:`of_tokens` gives the type of a
    record; :meth:`add` adds a type; ``kind`` is the type that covers all added types."""

    def __init__(self, settings: JsonSettings) -> None:
        self._settings = settings
        self._is_timestamp = is_timestamp(settings)
        self.kind: Kind = ObjectFields()

    def add(self, kind: Kind) -> None:
        """Widen ``kind`` so that it also covers the type of another record."""
        self.kind = self.wider_root(self.kind, kind)

    def malformed(self) -> Kind | None:
        """Return the type that stands for a malformed record, by the option ``mode``: an object with only the
        column for the text of malformed records (PERMISSIVE), None if the record is left out (DROPMALFORMED),
        or MalformedRecord (FAILFAST)."""
        match self._settings.mode:
            case JsonMode.PERMISSIVE:
                return ObjectFields(((self._settings.corrupt_column, STRING),))
            case JsonMode.DROPMALFORMED:
                return None
            case JsonMode.FAILFAST:
                return MalformedRecord()

    def of_tokens(self, tokens: JsonTokens) -> Kind:
        """Return the type of the value that begins with the current token, and advance to the value's last
        token. Raises JsonSyntaxError for malformed JSON."""
        match tokens.token:
            case None | Token.NULL:
                return VOID
            case Token.NAME:
                tokens.advance()
                return self.of_tokens(tokens)
            case Token.STRING:
                return self._of_text(tokens.text())
            case Token.START_OBJECT:
                members: list[tuple[str, Kind]] = []
                while tokens.advance() not in (Token.END_OBJECT, None):
                    name = tokens.name or ""
                    members.append((name, self.of_tokens(tokens)))
                return in_java_order(members)
            case Token.START_ARRAY:
                item: Kind = VOID
                while tokens.advance() not in (Token.END_ARRAY, None):
                    item = wider(item, self.of_tokens(tokens))
                return Items(item)
            case Token.INTEGER | Token.FRACTION | Token.TRUE | Token.FALSE:
                return STRING if self._settings.primitives_as_string else self._of_primitive(tokens)
            case _:
                raise JsonSyntaxError("no value")

    def _of_text(self, text: str) -> Kind:
        if not text:
            return VOID
        if self._settings.prefers_decimal and (kind := _decimal_of_text(text)) is not None:
            return kind
        if self._settings.infer_timestamp and self._is_timestamp(text):
            return TIMESTAMP
        return STRING

    def _of_primitive(self, tokens: JsonTokens) -> Kind:
        if tokens.token in (Token.TRUE, Token.FALSE):
            return BOOLEAN
        text = tokens.text()
        if tokens.token is Token.INTEGER:
            return BIGINT if -(2**63) <= int(text) < 2**63 else exact_decimal(text)
        if not self._settings.prefers_decimal:
            return DOUBLE
        if tokens.is_special():
            raise JsonSyntaxError(f"{text} is no decimal")
        return exact_decimal(text)

    def wider_root(self, left: Kind, right: Kind) -> Kind:
        """Return the type that covers two types of a file's records. An array at the top level counts as its
        elements, each a record. A record that is not an object is treated as malformed by the option
        ``mode``. In mode FAILFAST, raises ProgrammingError for a malformed record."""
        if isinstance(left, MalformedRecord) or isinstance(right, MalformedRecord):
            raise _malformed_schema()
        if isinstance(left, Items):
            return self.wider_root(left.item, right)
        if isinstance(right, Items):
            return self.wider_root(left, right.item)
        match left, right:
            case ObjectFields(), ObjectFields():
                return wider(left, right)
            case (ObjectFields() as record, other) | (other, ObjectFields() as record):
                return record if other == VOID else self._with_corrupt_column(record, other)
            case _:
                return wider(left, right)

    def _with_corrupt_column(self, record: ObjectFields, other: Kind) -> ObjectFields:
        match self._settings.mode:
            case JsonMode.PERMISSIVE:
                name = self._settings.corrupt_column
                if any(known == name for known, _ in record.members):
                    return record
                return in_java_order([(name, STRING), *record.members])
            case JsonMode.DROPMALFORMED:
                return record
            case JsonMode.FAILFAST:
                assert isinstance(other, pa.DataType)
                raise _invalid_record(other)

    def schema(self) -> pa.Schema:
        """Return the columns that cover all added records; the schema is empty if there are none. Raises
        ProgrammingError (COLUMN_ALREADY_EXISTS) for two names that are equal but for case."""
        kind = self.settled(self.kind)
        if not isinstance(kind, pa.StructType):
            return pa.schema([])
        check_names(kind)
        return pa.schema(list(kind))

    def settled(self, kind: Kind) -> pa.DataType | None:
        """Return the final type of a column whose records have the type ``kind``; None if the column is left
        out. Left out are objects without fields and arrays of them. A column that is always null becomes a
        string, or is left out with dropFieldIfAllNull."""
        match kind:
            case Items(item):
                inner = self.settled(item)
                return None if inner is None else pa.list_(inner)
            case ObjectFields(members):
                settled = [(name, self.settled(of)) for name, of in members if name]
                fields = [pa.field(_stored(name), of) for name, of in settled if of is not None]
                return pa.struct(fields) if fields else None
            case _:
                if kind == VOID:
                    return None if self._settings.drop_nulls else STRING
                return kind


def inferred(files: Sequence[Sequence[Kind]], settings: JsonSettings) -> pa.Schema:
    """Return the columns that Spark infers for a table. ``files``: for each file the types of its records.

    Where names differ by case alone, the types may depend on the order in which Spark happens to read the
    files; NotSupportedError is raised if the result would differ.
    """
    schemas = []
    for ordered in (files, files[::-1]) if len(files) > 1 else (files,):
        inference = JsonInference(settings)
        for kinds in ordered:
            if kinds:
                inference.add(reduce(inference.wider_root, kinds))
        schemas.append(inference.schema())
    if any(not schema.equals(schemas[0]) for schema in schemas):
        raise NotSupportedError("JSON files whose columns depend on the order in which they are read")
    return schemas[0]


def distinct(kinds: Iterable[Kind]) -> list[Kind]:
    """Return the types without repetitions, in the order of first occurrence. Unless names of fields differ
    by case alone, repetitions have no influence on the inferred type."""
    objects = {id(kind): kind for kind in kinds}  # quick for types that are the same object
    return list(dict.fromkeys(objects.values()))


def has_names_by_case(kinds: Iterable[Kind]) -> bool:
    """Return whether two names of fields in these types, at any depth, differ by case alone."""
    names: set[str] = set()
    for kind in kinds:
        _add_names(kind, names)
    return len({name.lower() for name in names}) < len(names)


def _add_names(kind: Kind, names: set[str]) -> None:
    match kind:
        case ObjectFields(members):
            for name, inner in members:
                names.add(name)
                _add_names(inner, names)
        case Items(item):
            _add_names(item, names)
        case _:
            pass


def _malformed_schema() -> ProgrammingError:
    """Return Spark's error, in mode FAILFAST, for a record that inference can't parse."""
    return ProgrammingError(
        "Malformed records are detected in schema inference. Parse Mode: FAILFAST.",
        condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
    )


def _invalid_record(kind: pa.DataType) -> ProgrammingError:
    """Return Spark's error, in mode FAILFAST, for a record that is not a JSON object. ``kind``: the type that
    inference has found instead."""
    return ProgrammingError(
        "Detected an invalid type of a JSON record while inferring a common schema in the mode FAILFAST. "
        f'Expected a STRUCT type, but found "{sql_name(kind)}".',
        condition="INVALID_JSON_RECORD_TYPE",
    )


def wider(left: Kind, right: Kind, otherwise: pa.DataType = STRING) -> Kind:
    """Return the narrowest type that holds the values of both types; ``otherwise`` is the type that holds all
    values.

    >>> wider(BIGINT, DOUBLE), wider(BIGINT, BOOLEAN)
    (DataType(double), DataType(string))
    """
    tight = _tightest(left, right)
    if tight is not None:
        return tight
    match left, right:
        case ObjectFields(), ObjectFields():
            return ObjectFields(_merged(left.members, right.members, otherwise))
        case Items(), Items():
            return Items(wider(left.item, right.item, otherwise))
        case (ObjectFields() | Items(), _) | (_, ObjectFields() | Items()):
            return otherwise
    if is_decimal(left) or is_decimal(right):
        if is_fractional(left) or is_fractional(right):
            return DOUBLE
        left = _LONG_DIGITS if left == BIGINT else left
        right = _LONG_DIGITS if right == BIGINT else right
        if is_decimal(left) and is_decimal(right):
            return _wider_decimal(left, right)
    return otherwise


def _wider_decimal(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.DataType:
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return decimal(whole + scale, scale) if whole + scale <= MAX_PRECISION else DOUBLE


def _tightest(left: Kind, right: Kind) -> Kind | None:
    """Return the type that holds the values of both types without loss; None if there is none. By Spark's
    general rule for types, names that differ by case alone are equal."""
    match left, right:
        case ObjectFields(), ObjectFields():
            return left if left == right else _tightest_fields(left, right)
        case Items(), Items():
            item = _tightest(left.item, right.item)
            return None if item is None else Items(item)
        case (ObjectFields() | Items(), other) | (other, ObjectFields() | Items()):
            if isinstance(other, pa.DataType) and other == VOID:
                return right if other is left else left
            return None
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if left in _NUMBERS and right in _NUMBERS:
        return max(left, right, key=_NUMBERS.index)
    if left in _MOMENTS and right in _MOMENTS:
        return max(left, right, key=_MOMENTS.index)
    for exact, other in ((left, right), (right, left)):
        if isinstance(exact, pa.Decimal128Type) and other == BIGINT and exact.precision - exact.scale >= 20:
            return exact
    return None


def _tightest_fields(left: ObjectFields, right: ObjectFields) -> ObjectFields | None:
    if len(left.members) != len(right.members):
        return None
    members: list[tuple[str, Kind]] = []
    for (name, kind), (other_name, other) in zip(left.members, right.members, strict=True):
        if name.lower() != other_name.lower():
            return None
        tight = _tightest(kind, other)
        if tight is None:
            return None
        members.append((name, tight))
    return ObjectFields(tuple(members))


def _merged(
    left: tuple[tuple[str, Kind], ...], right: tuple[tuple[str, Kind], ...], otherwise: pa.DataType
) -> tuple[tuple[str, Kind], ...]:
    """Merge the fields of two objects, both sorted in Java's order; a field that both objects have gets the
    type that covers its two types. If an object has a name several times, its first field of the name is
    merged with the other object's first, its second with the other's second, and so on."""
    merged: list[tuple[str, Kind]] = []
    one, two = 0, 0
    while one < len(left) and two < len(right):
        if left[one][0] == right[two][0]:
            merged.append((left[one][0], wider(left[one][1], right[two][1], otherwise)))
            one, two = one + 1, two + 1
        elif _java_order(left[one]) < _java_order(right[two]):
            merged.append(left[one])
            one += 1
        else:
            merged.append(right[two])
            two += 1
    return (*merged, *left[one:], *right[two:])


def in_java_order(members: Iterable[tuple[str, Kind]]) -> ObjectFields:
    """Return the type of an object with these members, sorted in Java's order."""
    return ObjectFields(tuple(sorted(members, key=_java_order)))


def _java_order(member: tuple[str, Kind]) -> bytes:
    """Return the sort key of Java's order: Java compares texts by their UTF-16 units."""
    return member[0].encode("utf-16-be", "surrogatepass")


def exact_decimal(text: str) -> pa.DataType:
    """Return the decimal type that holds exactly the number in ``text``; double if the number has more than
    38 digits. Raises ProgrammingError for a number with a negative scale, such as ``1E3``."""
    _, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    precision, scale = len(digits), -exponent
    if max(precision, scale) > MAX_PRECISION:
        return DOUBLE
    if scale < 0:
        raise ProgrammingError(
            f"Negative scale is not allowed: '{scale}'.",
            condition="NEGATIVE_SCALE_DISALLOWED",
        )
    return decimal(max(precision, scale), scale)


def _decimal_of_text(text: str) -> pa.DataType | None:
    """Return the decimal type that holds exactly the number in ``text``; None if the text is not a number or
    fits no decimal type."""
    try:
        _, digits, exponent = java_decimal(text).as_tuple()
    except InvalidOperation:
        return None
    assert isinstance(exponent, int)
    precision, scale = len(digits), -exponent
    return decimal(precision, scale) if 0 <= scale <= precision <= MAX_PRECISION else None


def java_decimal(text: str) -> Decimal:
    """Remove commas from ``text`` and parse it as Java's BigDecimal does. Raises decimal.InvalidOperation if
    the text is not a finite number."""
    text = text.replace(",", "")
    if not text.isascii() or text.strip() != text or "_" in text or not text or text[-1] not in "0123456789.":
        raise InvalidOperation
    value = Decimal(text)
    if not value.is_finite():
        raise InvalidOperation
    return value


def _stored(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise NotSupportedError("JSON with a key that has half a surrogate pair") from None
    return name


def check_names(kind: pa.StructType | pa.Schema) -> None:
    """Raise ProgrammingError (Spark's COLUMN_ALREADY_EXISTS) if two fields of one struct, at any depth, have
    the same name, in whatever case."""
    seen: set[str] = set()
    for field in kind:
        if field.name.lower() in seen:
            raise ProgrammingError(
                f"The column `{field.name.lower()}` already exists. Choose another name or rename the "
                "existing column.",
                condition="COLUMN_ALREADY_EXISTS",
            )
        seen.add(field.name.lower())
        inner = field.type
        while pa.types.is_list(inner) or pa.types.is_map(inner):
            inner = inner.item_type if pa.types.is_map(inner) else inner.value_type
        if pa.types.is_struct(inner):
            check_names(inner)
