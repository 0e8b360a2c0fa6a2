"""The tree of an XML text, as Java's DOM has it when its parser does not know namespaces.

The tree holds what XPath sees: no declarations of namespaces, no document type. A name with a prefix is one
name. Entities that the text itself declares are expanded, external entities are left out: nothing is read
from files or the network. Texts and CDATA sections next to each other are one text node.
"""

import re
from collections.abc import Sequence
from enum import Enum
from typing import Final
from xml.parsers import expat

from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.java.surrogates import split_surrogates

#: The JDK's limit.
_MOST_ENTITIES: Final = 64_000
_REFERENCE: Final = re.compile("&([^#;&<]+);")


class NodeKind(Enum):
    """The kinds of nodes that XPath tells apart."""

    DOCUMENT = "document"
    ELEMENT = "element"
    ATTRIBUTE = "attribute"
    TEXT = "text"
    COMMENT = "comment"
    INSTRUCTION = "processing-instruction"


class Node:
    """A node of a document.

    ``local_name`` is the name without a prefix. ``nodes`` are all nodes of the document in document order (an
    element's attributes behind the element), ``order`` is the node's place among these, and ``end`` the place
    of the last node inside it. ``value`` is the content of a node without children; ``own_value`` is that of
    DOM's node, the same except for a text that begins with a CDATA section or a text next to one: there it is
    the first of these. Texts are in Java's form, a character above U+FFFF as two surrogates.
    """

    __slots__ = (
        *("attributes", "children", "end", "kind", "local_name", "name", "nodes", "order", "own_value"),
        *("parent", "value"),
    )

    def __init__(
        self, kind: NodeKind, name: str, value: str, parent: "Node | None", nodes: "list[Node]"
    ) -> None:
        self.kind = kind
        self.name = name
        self.local_name = name.partition(":")[2] or name
        self.value = value
        self.own_value = value
        self.parent = parent
        self.nodes = nodes
        self.order = self.end = len(nodes)
        self.children: list[Node] = []
        self.attributes: list[Node] = []
        nodes.append(self)

    def inside(self) -> "list[Node]":
        """Return the descendants, without attributes, in document order."""
        found = self.nodes[self.order + 1 : self.end + 1]
        return [node for node in found if node.kind is not NodeKind.ATTRIBUTE]

    def text(self) -> str:
        """Return XPath's string-value: an element's is all text inside of it."""
        if self.kind is NodeKind.ELEMENT or self.kind is NodeKind.DOCUMENT:
            found = self.nodes[self.order + 1 : self.end + 1]
            return "".join([node.value for node in found if node.kind is NodeKind.TEXT])
        return self.value


class _TreeBuilder:
    """The handlers of expat's events, which build the tree below ``document``."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self.document = self._here = Node(NodeKind.DOCUMENT, "", "", None, self._nodes)
        #: The parts of the text that has begun: texts and CDATA sections.
        self._parts: list[str] = []
        self._begins_part = True

    def start_element(self, name: str, attributes: Sequence[str]) -> None:
        self._end_text()
        element = self._append(NodeKind.ELEMENT, name, "")
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        for key, value in sorted(pairs, key=lambda pair: split_surrogates(pair[0])):
            if key != "xmlns" and not key.startswith("xmlns:"):
                attribute = Node(NodeKind.ATTRIBUTE, key, split_surrogates(value), element, self._nodes)
                element.attributes.append(attribute)
        self._here = element

    def end_element(self, _name: str) -> None:
        self._end_text()
        element = self._here
        element.end = len(self._nodes) - 1
        assert element.parent is not None
        self._here = element.parent

    def characters(self, text: str) -> None:
        if self._begins_part or not self._parts:
            self._parts.append(text)
            self._begins_part = False
        else:
            self._parts[-1] += text

    def start_cdata(self) -> None:
        self._parts.append("")
        self._begins_part = False

    def end_cdata(self) -> None:
        self._begins_part = True

    def comment(self, text: str) -> None:
        self._end_text()
        self._append(NodeKind.COMMENT, "", text)

    def instruction(self, target: str, text: str) -> None:
        self._end_text()
        self._append(NodeKind.INSTRUCTION, target, text)

    def finish(self) -> Node:
        self.document.end = len(self._nodes) - 1
        return self.document

    def _append(self, kind: NodeKind, name: str, value: str) -> Node:
        node = Node(kind, name, split_surrogates(value), self._here, self._nodes)
        self._here.children.append(node)
        return node

    def _end_text(self) -> None:
        if self._parts:
            parts, self._parts = self._parts, []
            node = self._append(NodeKind.TEXT, "", "".join(parts))
            node.own_value = split_surrogates(parts[0])
        self._begins_part = True


class _DocumentType:
    """The handlers of a document type's events. They refuse one of which a part is in another file, and count
    how many entities the text has once all are expanded, since a few lines may stand for gigabytes."""

    def __init__(self, text: str, parser: expat.XMLParserType) -> None:
        self._text = text
        self._parser = parser
        self._entities: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def start(self, _name: str, system: str | None, _public: str | None, _internal: int) -> None:
        if system is not None:
            raise NotSupportedError("XML with a document type in another file is not supported")

    def entity(self, name: str, is_parameter: int, value: str | None, *_: object) -> None:
        if not is_parameter:
            self._entities.setdefault(name, value or "")

    def end(self) -> None:
        content = self._text.encode()[self._parser.CurrentByteIndex :].decode()
        if self._expansions(content) > _MOST_ENTITIES:
            raise DataError(
                f"Invalid XML document: The parser has encountered more than {_MOST_ENTITIES} entities"
            )

    def _expansions(self, text: str) -> int:
        return sum(self._count(name) for name in _REFERENCE.findall(text))

    def _count(self, name: str) -> int:
        """Return the number of entities that one reference stands for; the parser refuses those that refer to
        themselves."""
        if name not in self._counts:
            self._counts[name] = 0
            self._counts[name] = 1 + self._expansions(self._entities.get(name, ""))
        return self._counts[name]


def parse_document(text: str) -> Node:
    """Return the document node of an XML text. Raises DataError for a text that is not well-formed, and
    NotSupportedError for XML 1.1 and document types in other files."""
    parser, builder = expat.ParserCreate(), _TreeBuilder()
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.StartElementHandler = builder.start_element
    parser.EndElementHandler = builder.end_element
    parser.CharacterDataHandler = builder.characters
    parser.StartCdataSectionHandler = builder.start_cdata
    parser.EndCdataSectionHandler = builder.end_cdata
    parser.CommentHandler = builder.comment
    parser.ProcessingInstructionHandler = builder.instruction
    if "<!DOCTYPE" in text:
        document_type = _DocumentType(text, parser)
        parser.StartDoctypeDeclHandler = document_type.start
        parser.EntityDeclHandler = document_type.entity
        parser.EndDoctypeDeclHandler = document_type.end
    parser.XmlDeclHandler = _check_version
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise DataError(f"Invalid XML document: {error}") from None
    return builder.finish()


def _check_version(version: str, _encoding: str | None, _standalone: int) -> None:
    if version == "1.1":
        raise NotSupportedError("XML 1.1 is not supported")
    if version != "1.0":
        raise DataError(f'Invalid XML document: XML version "{version}" is not supported')
