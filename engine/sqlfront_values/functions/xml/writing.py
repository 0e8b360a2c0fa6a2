"""The function to_xml: structs as XML texts, in the layout of Spark's writer."""

import json
import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_values.arrow.arrays import field_keys, from_values, to_python
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.functions import growth
from sqlfront_values.functions.csv.options import function_settings
from sqlfront_values.functions.csv.value_texts import ValueWriter
from sqlfront_values.functions.json.typed.function_options import zone_of_options
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.room import check
from sqlfront_values.types import BOOLEAN, STRING, VOID, ddl, is_interval, is_numeric, is_variant

_BETWEEN_CHECKS: Final = 256
_FORMATS: Final = ("dateFormat", "timestampFormat", "timestampNTZFormat")
#: Options that change the text in ways that aren't built.
_UNBUILT: Final = frozenset({"locale", "validatename"})
_START: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff"
)
_NAME: Final = re.compile(f"[{_START}][{_START}0-9.\u00b7\u0300-\u036f-]*")
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ESCAPED: Final = re.compile("[&<\r\x7f-\x9f]|(?:(?<=])|\\A)>")
_ESCAPED_IN_ATTRIBUTE: Final = re.compile('[&<"\t\n\r\x7f-\x9f]')
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


class XmlLayout(msgspec.Struct, frozen=True):
    """The options of the text: the element of a struct, the beginning of the names of fields that become
    attributes, the name of the field that is an element's own text, the text of nulls (None = they are left
    out), the indentation of a level, and the element of an array's item in an array."""

    row_tag: str = "ROW"
    attribute_prefix: str = "_"
    value_tag: str = "_VALUE"
    null: str | None = None
    indent: str = "    "
    item_tag: str = "item"


def layout_of(options: Mapping[str, str]) -> XmlLayout:
    """Return the layout that the options of a call ask for. Raises DataError for values that Spark refuses,
    and NotSupportedError for options that aren't built."""
    given = {key.lower(): value for key, value in options.items()}
    unbuilt = _UNBUILT & given.keys()
    if unbuilt:
        raise NotSupportedError(f"to_xml with the option {min(unbuilt)}")
    layout = XmlLayout(
        given.get("rowtag", "ROW"),
        given.get("attributeprefix", "_"),
        given.get("valuetag", "_VALUE"),
        given.get("nullvalue"),
        given.get("indent", "    "),
        given.get("arrayelementname", "item"),
    )
    for name, value in (
        ("rowTag", layout.row_tag),
        ("attributePrefix", layout.attribute_prefix),
        ("valueTag", layout.value_tag),
    ):
        if not value:
            raise DataError(f"requirement failed: '{name}' option should not be empty string.")
    if layout.attribute_prefix == layout.value_tag:
        raise DataError(
            "requirement failed: 'valueTag' and 'attributePrefix' options should not be the same."
        )
    if layout.indent.strip(" \t") or not layout.indent:
        raise NotSupportedError(f"to_xml with the indentation {layout.indent!r}")
    return layout


class _Element:
    """An element under construction: its attributes, its content, and whether it has elements inside."""

    __slots__ = ("attributes", "content", "depth", "has_elements", "indent", "name")

    def __init__(self, name: str, depth: int, indent: str) -> None:
        self.name = _checked_name(name)
        self.depth = depth
        self.indent = indent
        self.attributes: list[str] = []
        self.content: list[str] = []
        self.has_elements = False

    def add_text(self, text: str) -> None:
        self.content.append(_escaped(text, _ESCAPED))

    def add_attribute(self, name: str, text: str) -> None:
        self.attributes.append(f' {_checked_name(name)}="{_escaped(text, _ESCAPED_IN_ATTRIBUTE)}"')

    def child(self, name: str) -> "_Element":
        return _Element(name, self.depth + 1, self.indent)

    def add(self, child: "_Element") -> None:
        self.has_elements = True
        self.content.append(f"\n{self.indent * child.depth}{child.text()}")

    def text(self) -> str:
        start = f"{self.name}{''.join(self.attributes)}"
        if not self.content:
            return f"<{start}/>"
        end = f"\n{self.indent * self.depth}" if self.has_elements else ""
        return f"<{start}>{''.join(self.content)}{end}</{self.name}>"


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise DataError(f"Illegal name of an XML element or attribute: {name!r}")
    return name


def _escaped(text: str, pattern: re.Pattern[str]) -> str:
    if _CONTROL.search(text):
        raise DataError("Invalid white space character in text to output as XML")
    return pattern.sub(lambda found: _ESCAPES.get(found[0]) or f"&#x{ord(found[0]):x};", text)


#: A function that writes a value, not null, into an element.
_Write = Callable[[_Element, object], None]
#: A function that writes a value, null or not, into the element around it, under a name.
_WriteChild = Callable[[_Element, str, object], None]


class XmlWriter:
    """A maker of functions that write values of a type into elements."""

    def __init__(self, layout: XmlLayout, values: ValueWriter) -> None:
        self._layout = layout
        self._values = values

    def row(self, kind: pa.StructType) -> Callable[[object], str]:
        """Return the function that writes a struct, as a Python value, to a text."""
        write = self._content(kind)

        def text(value: object) -> str:
            element = _Element(self._layout.row_tag, 0, self._layout.indent)
            write(element, value)
            return element.text()

        return text

    def _content(self, kind: pa.DataType) -> _Write:
        """Return the function that writes a value of the type as the content of its element."""
        if pa.types.is_struct(kind):
            return self._struct(kind)
        if pa.types.is_map(kind):
            return self._map(kind)
        if pa.types.is_list(kind):
            items, tag = self._child(kind), self._layout.item_tag
            return lambda element, value: items(element, tag, value)
        if is_interval(kind) or is_variant(kind):
            raise NotSupportedError(f"to_xml of {ddl(kind)}")
        text = self._values.writer(kind)
        return lambda element, value: element.add_text(text(value))

    def _child(self, kind: pa.DataType) -> _WriteChild:
        """Return the function that writes a value of the type as an element, an array as an element for each
        item."""
        if pa.types.is_list(kind):
            one = self._single(kind.value_type)

            def several(element: _Element, name: str, value: object) -> None:
                if value is None:
                    one(element, name, None)
                    return
                assert isinstance(value, list)
                for item in value:
                    one(element, name, item)

            return several
        return self._single(kind)

    def _single(self, kind: pa.DataType) -> _WriteChild:
        """Return the function that writes a value of the type as one element."""
        null, write = self._layout.null, self._content(kind)

        def single(element: _Element, name: str, value: object) -> None:
            if value is None and null is None:
                return
            child = element.child(name)
            if value is None:
                assert null is not None
                child.add_text(null)
            else:
                write(child, value)
            element.add(child)

        return single

    def _attribute(self, kind: pa.DataType) -> _WriteChild:
        """Return the function that writes a value of the type as an attribute."""
        if not (kind in (STRING, BOOLEAN, VOID) or is_numeric(kind)):
            raise NotSupportedError(f"to_xml with an attribute of the type {ddl(kind)}")
        null, text = self._layout.null, self._values.writer(kind)

        def attribute(element: _Element, name: str, value: object) -> None:
            if value is not None or null is not None:
                shown = null if value is None else text(value)
                assert shown is not None
                element.add_attribute(name, shown)

        return attribute

    def _own_text(self, kind: pa.DataType) -> _WriteChild:
        """Return the function that writes a value of the type as the text of the element around it."""
        if pa.types.is_nested(kind):
            raise NotSupportedError(f"to_xml with {self._layout.value_tag} of the type {ddl(kind)}")
        null, write = self._layout.null, self._content(kind)

        def own_text(element: _Element, _name: str, value: object) -> None:
            if value is not None:
                write(element, value)
            elif null is not None:
                element.add_text(null)

        return own_text

    def _struct(self, kind: pa.StructType) -> _Write:
        prefix, value_tag = self._layout.attribute_prefix, self._layout.value_tag
        writers: list[tuple[str, str, _WriteChild]] = []
        for key, field in zip(field_keys(kind), kind, strict=True):
            if field.name == value_tag:
                writers.append((key, field.name, self._own_text(field.type)))
            elif field.name.startswith(prefix):
                writers.append((key, field.name.removeprefix(prefix), self._attribute(field.type)))
            else:
                writers.append((key, field.name, self._child(field.type)))

        def struct(element: _Element, value: object) -> None:
            assert isinstance(value, dict)
            for key, name, write in writers:
                write(element, name, value[key])

        return struct

    def _map(self, kind: pa.MapType) -> _Write:
        if kind.key_type != STRING:
            raise NotSupportedError(f"to_xml of {ddl(kind)}")
        prefix = self._layout.attribute_prefix
        child = self._child(kind.item_type)
        is_nested = pa.types.is_nested(kind.item_type)

        def pairs(element: _Element, value: object) -> None:
            assert isinstance(value, list)
            for name, item in value:
                if not name.startswith(prefix):
                    child(element, name, item)
                elif is_nested:
                    raise NotSupportedError(f"to_xml with an attribute of the type {ddl(kind.item_type)}")
                else:
                    self._attribute(kind.item_type)(element, name.removeprefix(prefix), item)

        return pairs


def _to_xml(signature: Signature) -> PreparedKernel:
    """Make the kernel of to_xml, whose arguments are structs and the options as a JSON object."""
    constant = signature.constants[1]
    options: dict[str, str] = json.loads(constant.as_py()) if constant is not None else {}
    zone = zone_of_options(options, signature.settings.time_zone)
    formats = {key: value for key, value in options.items() if key.lower() in map(str.lower, _FORMATS)}
    values = ValueWriter(function_settings(formats), zone, None)
    kind = signature.argument_types[0]
    write = XmlWriter(layout_of(options), values).row(kind)

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        structs = arguments[0]
        if isinstance(structs, pa.Scalar):
            return _written(pa.repeat(structs, 1), write)[0]
        return _written(structs, write)

    return kernel


def _written(structs: pa.Array, write: Callable[[object], str]) -> pa.Array:
    try:
        rows = iter(to_python(structs))
    except OverflowError:
        raise NotSupportedError("to_xml of a date or timestamp beyond the years 1 to 9999") from None
    texts: list[str | None] = []
    while some := tuple(islice(rows, _BETWEEN_CHECKS)):
        check()
        texts += [None if row is None else write(row) for row in some]
    return from_values(texts, STRING)


register(
    ScalarFunction(
        "to_xml",
        (Kind.STRUCT, STRING),
        STRING,
        prepare=_to_xml,
        optional=1,
        elementwise_values=False,
        can_fail=True,
        growth=growth.times(32),
        constants=(1,),
        example=("to_xml(named_struct('a', 1))", "'<ROW>\\n    <a>1</a>\\n</ROW>'"),
    ),
)
