"""The parser of XPath 1.0 expressions, with the JDK's rules of what a word is."""

import re
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.functions.xml.documents import NodeKind
from sqlfront_values.functions.xml.xpath_expressions import (
    AXES,
    Binary,
    Constant,
    Filtered,
    FunctionCall,
    LocationStep,
    Negation,
    NodeTest,
    NodeUnion,
    Path,
    UnknownVariable,
    XPathExpression,
)
from sqlfront_values.functions.xml.xpath_functions import FUNCTIONS
from sqlfront_values.java.surrogates import split_surrogates

#: Parentheses, predicates and arguments inside each other.
_DEEPEST: Final = 64
_WORD: Final = r"[^\s\"'@\-(\[)\]|/*+=,\\^!$<>:][^\s\"'@(\[)\]|/*+=,\\^!$<>:]*"
_TOKENS: Final = re.compile(
    rf"""\s*(?:
        (?P<literal>"[^"]*"|'[^']*')
        |(?P<digits>[0-9]+(?=-))
        |(?P<word>(?:{_WORD})(?::(?!:)(?:{_WORD}|\*))?)
        |(?P<sign>//|::|!=|<=|>=|.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
#: Operators from the loosest to the tightest, those of a level from left to right.
_LEVELS: Final = (("or",), ("and",), ("=", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "div", "mod"))
_NODE_TYPES: Final = {
    "node": NodeTest(any_kind=True),
    "text": NodeTest(kind=NodeKind.TEXT),
    "comment": NodeTest(kind=NodeKind.COMMENT),
    "processing-instruction": NodeTest(kind=NodeKind.INSTRUCTION),
}
#: Functions of the JDK's processor that XPath takes from XSLT, or that need a document type.
_UNBUILT: Final = frozenset(
    {"current", "document-location", "element-available", "function-available", "generate-id", "id", "key"}
    | {"system-property", "unparsed-entity-uri"}
)
_EVERY: Final = LocationStep("descendant-or-self", NodeTest(any_kind=True))
_HERE: Final = LocationStep("self", NodeTest(any_kind=True))
_END: Final = ("end", "")

_Token = tuple[str, str]


@lru_cache(maxsize=256)
def parse_xpath(text: str) -> XPathExpression:
    """Return the expression that the text means. Raises DataError for a text that is no XPath expression, and
    NotSupportedError for the namespace axis, some functions of XSLT, and deeply nested expressions."""
    return _Parser(text).whole()


class _Parser:
    """The parser of one text: ``_place`` is the number of the next token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._place = 0
        self._depth = 0

    def whole(self) -> XPathExpression:
        if self._next() == _END:
            raise self._error("Empty expression!")
        found = self._expression()
        if self._next() != _END:
            raise self._error(f"Extra illegal tokens: '{self._next()[1]}'")
        return found

    # ---- tokens

    def _next(self, ahead: int = 0) -> _Token:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else _END

    def _accept(self, *words: str) -> str | None:
        """Take the next token if it is one of the words or signs, and return it."""
        kind, text = self._next()
        if kind in ("word", "sign") and text in words:
            self._place += 1
            return text
        return None

    def _expect(self, sign: str) -> None:
        if self._accept(sign) is None:
            raise self._error(f"Expected {sign}, but found: {self._next()[1]}")

    def _error(self, detail: str) -> DataError:
        return DataError(f"Invalid XPath '{self._text}': {detail}")

    # ---- operators

    def _expression(self) -> XPathExpression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NotSupportedError(f"XPath expressions of more than {_DEEPEST} levels are not supported")
        found = self._level(0)
        self._depth -= 1
        return found

    def _level(self, number: int) -> XPathExpression:
        if number == len(_LEVELS):
            if self._accept("-"):
                return Negation(self._union())
            return self._union()
        found = self._level(number + 1)
        while operator := self._accept(*_LEVELS[number]):
            found = Binary(operator, found, self._level(number + 1))
        return found

    def _union(self) -> XPathExpression:
        operands = [self._path()]
        while self._accept("|"):
            operands.append(self._path())
        return operands[0] if len(operands) == 1 else NodeUnion(tuple(operands))

    # ---- paths

    def _path(self) -> XPathExpression:
        kind, text = self._next()
        if kind == "sign" and text in ("/", "//"):
            self._place += 1
            if text == "/" and not self._begins_step():
                return Path((), absolute=True)
            return Path(_searching(self._steps(anywhere=text == "//"), absolute=True), absolute=True)
        primary = self._primary()
        if primary is None:
            return Path(_searching(self._steps(), absolute=False))
        predicates = self._predicates()
        separator = self._accept("/", "//")
        if isinstance(primary, Constant) and (predicates or separator):
            raise self._error("a text or number has neither predicates nor steps")
        found = Filtered(primary, predicates) if predicates else primary
        if separator is None:
            return found
        return Path(self._steps(anywhere=separator == "//"), start=found)

    def _primary(self) -> XPathExpression | None:
        """Parse what a path may start with other than a step; None if a step is next."""
        kind, text = self._next()
        if kind in ("literal", "digits"):
            self._place += 1
            return Constant(split_surrogates(text[1:-1]) if kind == "literal" else float(text))
        if kind == "word" and (text[0].isdigit() or (text[0] == "." and text[1:2].isdigit())):
            if not _NUMBER.fullmatch(text):
                raise self._error(f"{text} could not be formatted to a number!")
            self._place += 1
            return Constant(float(text))
        if self._accept("("):
            found = self._expression()
            self._expect(")")
            return found
        if self._accept("$"):
            return UnknownVariable(self._take_word())
        if kind == "word" and self._next(1) == ("sign", "(") and text not in _NODE_TYPES:
            return self._call()
        return None

    def _call(self) -> XPathExpression:
        name = self._take_word()
        self._expect("(")
        arguments: list[XPathExpression] = []
        while not self._accept(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._expression())
        function = FUNCTIONS.get(name)
        if function is None:
            if name in _UNBUILT:
                raise NotSupportedError(f"The XPath function {name} is not supported")
            raise self._error(f"Could not find function: {name}")
        most = len(arguments) if function.most is None else function.most
        if not function.least <= len(arguments) <= most:
            raise self._error(f"{name} doesn't take {len(arguments)} arguments")
        return FunctionCall(function, tuple(arguments))

    def _begins_step(self) -> bool:
        kind, text = self._next()
        return kind == "word" or (kind == "sign" and text in ("@", "*"))

    def _steps(self, *, anywhere: bool = False) -> tuple[LocationStep, ...]:
        """Parse steps up to the end of the path; ``anywhere``: those behind ``//``."""
        steps = [_EVERY] if anywhere else []
        steps.append(self._step())
        while separator := self._accept("/", "//"):
            if not self._begins_step():
                raise self._error("A location step was expected following the '/' or '//' token.")
            if separator == "//":
                if steps[-1].axis.startswith("descendant"):
                    raise NotSupportedError(f"XPath's // behind the axis {steps[-1].axis} is not supported")
                steps.append(_EVERY)
            steps.append(self._step())
        return tuple(steps)

    def _step(self) -> LocationStep:
        for abbreviation, axis in ((".", "self"), ("..", "parent")):
            if self._accept(abbreviation):
                if self._next() == ("sign", "["):
                    raise self._error(f"'{abbreviation}[predicate]' is illegal syntax.")
                return LocationStep(axis, NodeTest(any_kind=True))
        if not self._begins_step():
            raise self._error(f"A location path was expected, but found: {self._next()[1] or 'the end'}")
        axis = "attribute" if self._accept("@") else "child"
        if self._next(1) == ("sign", "::"):
            axis = self._take_word()
            if axis == "namespace":
                raise NotSupportedError("The XPath axis namespace is not supported")
            if axis not in AXES:
                raise self._error(f"illegal axis name: {axis}")
            self._expect("::")
        return LocationStep(axis, self._test(), self._predicates())

    def _test(self) -> NodeTest:
        if self._accept("*"):
            return NodeTest()
        name = self._take_word()
        if self._next() != ("sign", "("):
            # Without namespaces nothing has a name with a prefix.
            return NodeTest("" if ":" in name else name)
        test = _NODE_TYPES.get(name)
        if test is None:
            raise self._error(f"unknown type of nodes: {name}")
        self._expect("(")
        kind, text = self._next()
        if name == "processing-instruction" and kind == "literal":
            self._place += 1
            test = NodeTest(text[1:-1], NodeKind.INSTRUCTION)
        self._expect(")")
        return test

    def _predicates(self) -> tuple[XPathExpression, ...]:
        found = []
        while self._accept("["):
            found.append(self._expression())
            self._expect("]")
        return tuple(found)

    def _take_word(self) -> str:
        kind, text = self._next()
        if kind != "word" or not (text[0].isalpha() or text[0] == "_"):
            raise self._error(f"A name was expected, but found: {text or 'the end'}")
        self._place += 1
        return text


def _searching(steps: tuple[LocationStep, ...], *, absolute: bool) -> tuple[LocationStep, ...]:
    """Return the steps of a path. If the path is nothing but ``//name`` or ``.//name``, the JDK looks for the
    whole name, though it looks for names behind their prefixes otherwise."""
    last = steps[-1]
    before = steps[:-1] if absolute else steps[1:-1] if steps[0] == _HERE else None
    is_search = before == (_EVERY,) and last.axis == "child"
    is_search = is_search or (absolute and before == () and last.axis == "descendant")
    if not is_search or last.predicates or last.test.name is None:
        return steps
    return (*steps[:-1], replace(last, whole_names=True))


def _tokens(text: str) -> list[_Token]:
    found = []
    stripped = text.rstrip()
    place = 0
    while place < len(stripped):
        match = _TOKENS.match(stripped, place)
        assert match is not None
        assert match.lastgroup is not None
        found.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return found
