"""JSON values as variants.

A text is read by Python's JSON reader, which is quick, and anew by the tokens of Jackson
(:mod:`sqlfront_values.functions.json.tokens`) if Python's reader refuses it: Jackson reads no further than
the end of the first value. Both give a tree of Python values, which is then encoded."""

import json
from collections.abc import Callable
from typing import Final, NoReturn

from sqlfront_values.functions.json.scanner import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NAME,
    JsonSyntaxError,
    Liberties,
)
from sqlfront_values.functions.json.tokens import JsonTokens, Token
from sqlfront_values.functions.json.typed.text_tokens import TextTokens
from sqlfront_values.stacks import deep
from sqlfront_values.variants import building

_STANDARD: Final = Liberties(single_quotes=False, words_for_numbers=False)


#: The members of an object, repeated names included.
_Members = tuple[tuple[str, object], ...]


def _refuse(word: str) -> NoReturn:
    raise JsonSyntaxError(word)


def _number(text: str) -> bytes:
    """Encode a number."""
    if len(text) > MAX_DIGITS and sum(map(str.isdigit, text)) > MAX_DIGITS:
        raise JsonSyntaxError("a number is too long")
    return building.number(text)


#: A reader whose values are None, bool, int and str, other numbers in bytes, encoded, lists for arrays, and
#: tuples of members for objects.
_DECODER: Final = json.JSONDecoder(object_pairs_hook=tuple, parse_float=_number, parse_constant=_refuse)


def variant_of_text(text: str) -> bytes:
    """Return the row (:mod:`sqlfront_values.arrow.variant_rows`) of the variant that a JSON text is.

    Raises JsonSyntaxError for a text that is not JSON, VariantKeyError and VariantSizeError.
    """
    try:
        return _row(_DECODER.decode(text))
    except (building.VariantKeyError, building.VariantSizeError):
        raise
    except (ValueError, RecursionError):
        tokens = TextTokens(text.encode(errors="surrogatepass"), _STANDARD)
        tokens.advance()
        return variant_of_tokens(tokens)


def variant_of_tokens(tokens: JsonTokens) -> bytes:
    """Return the row of the variant that begins with the current token, and advance to its last token. Raises
    the errors of :func:`variant_of_text`."""
    return _row(_tree(tokens))


def _row(tree: object) -> bytes:
    builder = building.VariantBuilder()
    return builder.row(_encoded(tree, builder, 0))


def _encoded(value: object, builder: building.VariantBuilder, depth: int) -> bytes:
    """Encode a value as :data:`_DECODER` gives it; ``depth``: the objects and arrays around the value."""
    encode = _ATOMS.get(type(value))
    return _encoded_items(value, builder, depth) if encode is None else encode(value)


@deep
def _encoded_items(value: object, builder: building.VariantBuilder, depth: int) -> bytes:
    """Encode an object or array."""
    if depth >= MAX_DEPTH:
        raise JsonSyntaxError("nested too deep")
    if type(value) is tuple:
        fields = []
        for name, item in value:
            if len(name) > MAX_NAME:
                raise JsonSyntaxError("a name is too long")
            number = builder.id_of(name)
            fields.append((name, number, _encoded(item, builder, depth + 1)))
        return builder.object(fields)
    assert isinstance(value, list)
    return building.array([_encoded(item, builder, depth + 1) for item in value])


def _integer(value: int) -> bytes:
    return building.integer(value) if -(1 << 63) <= value < 1 << 63 else _number(str(value))


_ATOMS: Final[dict[type, Callable[..., bytes]]] = {
    bytes: lambda value: value,
    str: building.string,
    bool: building.boolean,
    int: _integer,
    type(None): lambda value: building.NULL,
}


def _tree(tokens: JsonTokens) -> object:
    """Return the value that begins with the current token, in the form of :data:`_DECODER`; advance to its
    last token."""
    open_values: list[list[object]] = []
    names: list[str | None] = []
    while True:
        match tokens.token:
            case Token.NAME:
                if names:
                    names[-1] = _paired(tokens.name or "")
            case Token.START_OBJECT | Token.START_ARRAY:
                open_values.append([])
                names.append("" if tokens.token is Token.START_OBJECT else None)
            case token:
                value: object
                if token is Token.END_OBJECT or token is Token.END_ARRAY:
                    items = open_values.pop()
                    names.pop()
                    value = tuple(items) if token is Token.END_OBJECT else items
                else:
                    value = _atom(tokens)
                if not open_values:
                    return value
                name = names[-1]
                open_values[-1].append(value if name is None else (name, value))
        tokens.advance()


def _paired(text: str) -> str:
    """Return the text with each pair of surrogates as one character. Raises UnicodeDecodeError for half a
    pair, which Spark refuses."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _atom(tokens: JsonTokens) -> object:
    match tokens.token:
        case Token.STRING:
            return _paired(tokens.text())
        case Token.INTEGER | Token.FRACTION:
            return _number(tokens.text())
        case Token.TRUE | Token.FALSE:
            return tokens.token is Token.TRUE
        case Token.NULL:
            return None
        case _:
            raise JsonSyntaxError("no value")
