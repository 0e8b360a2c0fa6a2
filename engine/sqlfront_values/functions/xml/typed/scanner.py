"""The events of an XML text, as Woodstox, Spark's XML reader, gives them: names with their prefixes, texts
and CDATA sections next to each other as one text, without comments, instructions and document types. Entities
are those of XML alone, since Spark turns document types off: nothing is expanded, nor read from elsewhere.

Spark goes on reading after an error. What it finds then depends on where Woodstox stopped and on what
Woodstox holds for the current token, so the scanner keeps the same state: it may be asked for the next event
after it raised XmlSyntaxError."""

import string
import sys
from enum import Enum
from typing import Final, NamedTuple, NoReturn

from sqlfront_values.functions.xml.typed import markup
from sqlfront_values.functions.xml.typed.markup import WHITE, XmlSyntaxError
from sqlfront_values.functions.xml.typed.prolog import behind_declaration, behind_document_type

#: Woodstox's limits.
_MOST_OPEN: Final = 1000
_MOST_ATTRIBUTES: Final = 1000
_MARK: Final = "\ufeff"
#: The characters of the shortest text in which Woodstox looks for a mark or a declaration.
_SHORTEST: Final = 7
_CDATA: Final = "<![CDATA["
_CONTROLS: Final = frozenset(WHITE) - frozenset(" \t\n\r")


class XmlEventKind(Enum):
    """The kinds of events."""

    START = "start of an element"
    END = "end of an element"
    TEXT = "text"
    END_OF_DOCUMENT = "end of the document"


XmlAttributes = list[tuple[str, str]]


class XmlEvent(NamedTuple):
    """An event. ``text``: the name of an element, or the text."""

    kind: XmlEventKind
    text: str
    attributes: XmlAttributes

    def is_white(self) -> bool:
        """Return whether the event is a text of white space."""
        return self.kind is XmlEventKind.TEXT and not self.text.strip(WHITE)


class _Part(Enum):
    """The parts of a document."""

    PROLOG = "before the root element"
    TREE = "the root element"
    EPILOG = "behind the root element"
    END = "nothing is left"


class _Token(Enum):
    """The kinds of the last token, as far as the next one depends on them."""

    START = "start"
    END = "end"
    TEXT = "text"
    COMMENT = "comment"
    OTHER = "other"


class XmlScanner:
    """A reader of the events of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._part = _Part.PROLOG
        self._open: list[str] = []
        self._token = _Token.OTHER
        #: False if the last token has a rest that is still to be skipped, because an error was in it.
        self._is_whole = True
        #: Whether the last start was that of an element such as ``<a/>``.
        self._is_empty = False
        #: The number of tags that began elements that aren't empty, less that of the ends of elements.
        self._depth = 0
        #: The error that comes after the current text.
        self._pending: XmlSyntaxError | None = None

    def next(self) -> XmlEvent:
        """Return the next event. Raises XmlSyntaxError, after which the next call goes on."""
        while True:
            if self._pending is not None:
                error, self._pending = self._pending, None
                raise error
            event = self._next_token()
            if event is not None:
                return event

    def _next_token(self) -> XmlEvent | None:
        """Read a token; return its event, None for one that isn't an event."""
        match self._part:
            case _Part.TREE:
                return self._in_tree()
            case _Part.PROLOG:
                return self._in_prolog()
            case _Part.EPILOG:
                return self._in_epilog()
            case _Part.END:
                raise XmlSyntaxError("no more events")

    # ---- the parts of a document

    def _in_prolog(self) -> XmlEvent | None:
        text = self._text
        if self._at == 0 and len(text) >= _SHORTEST:
            self._at = int(text.startswith(_MARK))
            if text.startswith("<?xml", self._at) and text[self._at + 5 : self._at + 6] in (*WHITE, ""):
                self._at = behind_declaration(text, self._at)
        self._skip_space()
        if self._at >= len(text):
            raise XmlSyntaxError("no element")
        if text[self._at] != "<":
            raise XmlSyntaxError("text before the root element")
        if text.startswith("<!DOCTYPE", self._at):
            self._at = behind_document_type(text, self._at)
            return None
        if text[self._at + 1 : self._at + 2] not in ("?", "!"):
            self._part = _Part.TREE
        return self._markup()

    def _in_tree(self) -> XmlEvent | None:
        if not self._is_whole:
            self._skip_rest()
        elif self._token is _Token.START and self._is_empty:
            self._is_empty = False
            self._token = _Token.END
            return XmlEvent(XmlEventKind.END, self._open[-1], [])
        elif self._token is _Token.END:
            self._open.pop()
            if not self._open:
                self._part = _Part.EPILOG
                return self._in_epilog()
        if self._at >= len(self._text):
            raise XmlSyntaxError("the text ends within an element")
        if self._text[self._at] == "<" and not self._text.startswith("<![", self._at):
            return self._markup()
        return self._read_text()

    def _in_epilog(self) -> XmlEvent | None:
        self._skip_space()
        if self._at >= len(self._text):
            self._part = _Part.END
            return XmlEvent(XmlEventKind.END_OF_DOCUMENT, "", [])
        if self._text[self._at : self._at + 2] not in ("<?", "<!"):
            raise XmlSyntaxError("content behind the root element")
        return self._markup()

    # ---- markup

    def _markup(self) -> XmlEvent | None:
        """Read the token at the current ``<``."""
        self._at += 1
        match self._character():
            case "?":
                self._read_instruction()
                return None
            case "!":
                self._read_comment()
                return None
            case "/":
                return self._read_end()
            case _:
                self._at -= 1
                return self._read_start()

    def _read_start(self) -> XmlEvent:
        name = self._name()
        self._is_whole = True
        self._open.append(name)
        if len(self._open) > _MOST_OPEN:
            raise XmlSyntaxError("too many open elements")
        attributes, is_empty = self._attributes()
        self._is_empty = is_empty
        if not is_empty:
            self._depth += 1
        if len({key for key, _ in attributes}) < len(attributes):
            raise XmlSyntaxError("an attribute twice")
        self._token = _Token.START
        return XmlEvent(XmlEventKind.START, name, attributes)

    def _attributes(self) -> tuple[XmlAttributes, bool]:
        """Read the rest of a start tag. Return the attributes, and whether the element ends at once."""
        attributes: XmlAttributes = []
        while True:
            has_space = self._skip_space_in_tag()
            match character := self._character():
                case ">":
                    return attributes, False
                case "/":
                    if self._character() != ">":
                        raise XmlSyntaxError("no > behind /")
                    return attributes, True
                case _ if not has_space or character == "<":
                    raise XmlSyntaxError("no space before an attribute")
            self._at -= 1
            name = self._name()
            if len(attributes) >= _MOST_ATTRIBUTES:
                raise XmlSyntaxError("too many attributes")
            self._skip_space_in_tag()
            if self._character() != "=":
                raise XmlSyntaxError("an attribute without a value")
            self._skip_space_in_tag()
            quote = self._character()
            if quote not in ('"', "'"):
                raise XmlSyntaxError("an attribute's value without quotes")
            attributes.append((name, self._attribute_value(quote)))

    def _attribute_value(self, quote: str) -> str:
        parts: list[str] = []
        pattern = markup.ATTRIBUTE_TEXT[quote]
        while True:
            found = pattern.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            parts.append(markup.ATTRIBUTE_SPACE.sub(" ", found[0]))
            character = self._character()
            if character == quote:
                return "".join(parts)
            if character != "&":
                raise XmlSyntaxError("an illegal character in an attribute")
            parts.append(self._reference())

    def _read_end(self) -> XmlEvent:
        self._is_whole = True
        if not self._open:
            raise XmlSyntaxError("an end without a start")
        name = self._open[-1]
        if self._text.startswith(f"{name}>", self._at):
            self._at += len(name) + 1
        else:
            self._read_odd_end(name)
        if not self._depth:
            raise XmlSyntaxError("an end without a start")
        self._depth -= 1
        self._token = _Token.END
        return XmlEvent(XmlEventKind.END, name, [])

    def _read_odd_end(self, name: str) -> None:
        """Read the rest of the end of the element ``name`` that isn't written in the usual way."""
        if not markup.name_at(self._text, self._at):
            self._character()
            raise XmlSyntaxError("an end without a name")
        found = markup.rest_of_name(self._text, self._at)
        self._at += len(found)
        if found != name:
            raise XmlSyntaxError(f"the end of {found}, not of {name}")
        self._skip_space_in_tag()
        if self._character() != ">":
            raise XmlSyntaxError("an end without >")

    def _read_comment(self) -> None:
        if not self._text.startswith("--", self._at):
            self._at += 1
            raise XmlSyntaxError("no comment")
        self._at += 2
        self._token, self._is_whole = _Token.COMMENT, False
        end = self._text.find("--", self._at)
        self._check_characters(end, stays_at=self._at)
        if end < 0:
            self._end_early()
        if self._text[end + 2 : end + 3] != ">":
            raise XmlSyntaxError("-- within a comment")
        self._at = end + 3
        self._is_whole = True

    def _read_instruction(self) -> None:
        name = self._name()
        if name.lower() == "xml":
            raise XmlSyntaxError("a second XML declaration")
        if self._text.startswith("?>", self._at):
            self._at += 2
            self._token = _Token.OTHER
            return
        if self._character() not in " \t\n\r":
            raise XmlSyntaxError("no space behind an instruction's name")
        self._token = _Token.OTHER
        end = self._text.find("?>", self._at)
        self._check_characters(end)
        if end < 0:
            self._end_early()
        self._at = end + 2

    # ---- texts

    def _read_text(self) -> XmlEvent:
        """Read texts and CDATA sections up to the next markup."""
        text = self._text
        parts: list[str] = []
        begins = True
        while self._at < len(text):
            if text[self._at] == "<":
                if not text.startswith("<![", self._at):
                    break
                parts.append(self._cdata(stays_behind=int(begins)))
            elif text[self._at] == "&":
                self._at += 1
                parts.append(self._reference())
            elif self._plain(parts, begins=begins):
                break
            self._token, self._is_whole = _Token.TEXT, False
            begins = False
        self._token, self._is_whole = _Token.TEXT, True
        return XmlEvent(XmlEventKind.TEXT, "".join(parts), [])

    def _plain(self, parts: list[str], *, begins: bool) -> bool:
        """Read characters up to markup or a reference. Return whether the text ends here with an error, which
        is then pending."""
        found = markup.TEXT.match(self._text, self._at)
        assert found is not None
        start, end = found.span()
        brackets = self._text.find("]]>", start, end)
        if brackets >= 0:
            end = brackets + 2
        piece = self._text[start:end]
        is_first = begins and "\r\n" not in piece
        parts.append(markup.LINE_END.sub("\n", piece))
        is_wrong = brackets >= 0 or (end < len(self._text) and self._text[end] not in "<&")
        self._at = end + is_wrong
        if not is_wrong:
            return False
        error = XmlSyntaxError("an illegal character in a text")
        if not is_first or not piece:
            if not is_first:
                self._token, self._is_whole = _Token.TEXT, False
            raise error
        self._pending = error
        return True

    def _cdata(self, *, stays_behind: int | None = None) -> str:
        """Return the text of the CDATA section. ``stays_behind``: the number of its characters behind which
        reading goes on after an illegal one; None = behind the illegal character."""
        for expected in _CDATA:
            if self._character() != expected:
                raise XmlSyntaxError("no CDATA section")
        start = self._at
        end = self._text.find("]]>", start)
        self._check_characters(end, stays_at=None if stays_behind is None else start + stays_behind)
        if end < 0:
            self._end_early()
        self._at = end + 3
        return markup.LINE_END.sub("\n", self._text[start:end])

    def _reference(self) -> str:
        """Return what the reference behind the current ampersand stands for."""
        if self._text.startswith("#", self._at):
            self._at += 1
            return self._character_reference()
        name = self._name()
        if self._character() != ";":
            raise XmlSyntaxError("a reference without a semicolon")
        value = markup.ENTITIES.get(name)
        if value is None:
            raise XmlSyntaxError("a reference to nothing")
        return value

    def _character_reference(self) -> str:
        digits, base = string.digits, 10
        if self._text.startswith("x", self._at):
            self._at += 1
            digits, base = string.hexdigits, 16
        code = 0
        while (character := self._character()) != ";":
            if character not in digits:
                raise XmlSyntaxError("a malformed reference")
            code = code * base + int(character, base)
            if code > sys.maxunicode:
                raise XmlSyntaxError("a reference to nothing")
        if not markup.is_character(code):
            raise XmlSyntaxError("a reference to nothing")
        return chr(code)

    # ---- skipping

    def _skip_rest(self) -> None:
        """Skip what is left of a token in which an error was."""
        if self._token is _Token.COMMENT:
            end = self._text.find("--", self._at)
            self._check_characters(end)
            if end < 0:
                self._end_early()
            self._at = min(end + 3, len(self._text))
            if self._text[end + 2 : end + 3] != ">":
                raise XmlSyntaxError("-- within a comment")
        else:
            self._skip_text()

    def _skip_text(self) -> None:
        text = self._text
        while self._at < len(text):
            if text.startswith("<![", self._at):
                self._cdata()
            elif text[self._at] == "<":
                return
            elif text[self._at] == "&":
                self._at += 1
                self._reference()
            else:
                found = markup.TEXT.match(text, self._at)
                assert found is not None
                self._at = found.end()
                if self._at < len(text) and text[self._at] not in "<&":
                    self._at += 1
                    raise XmlSyntaxError("an illegal character in a text")

    def _skip_space(self) -> None:
        found = markup.SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _skip_space_in_tag(self) -> bool:
        """Skip white space; return whether there is any. Raises XmlSyntaxError for a control character."""
        start = self._at
        self._skip_space()
        if self._text[self._at : self._at + 1] in _CONTROLS:
            self._at += 1
            raise XmlSyntaxError("an illegal character in a tag")
        return self._at > start

    # ---- characters

    def _character(self) -> str:
        """Return the next character. Raises XmlSyntaxError at the end of the text."""
        if self._at >= len(self._text):
            raise XmlSyntaxError("the text ends within markup")
        self._at += 1
        return self._text[self._at - 1]

    def _name(self) -> str:
        name = markup.name_at(self._text, self._at)
        if not name:
            self._character()
            raise XmlSyntaxError("no name")
        self._at += len(name)
        return name

    def _check_characters(self, end: int, *, stays_at: int | None = None) -> None:
        """Raise XmlSyntaxError for an illegal character between here and ``end``, -1 for the text's end.
        Reading then goes on at ``stays_at``, None = behind the character."""
        found = markup.CONTROL.search(self._text, self._at, end if end >= 0 else len(self._text))
        if found is not None:
            self._at = found.end() if stays_at is None else stays_at
            raise XmlSyntaxError("an illegal character")

    def _end_early(self) -> NoReturn:
        self._at = len(self._text)
        raise XmlSyntaxError("the text ends within markup")
