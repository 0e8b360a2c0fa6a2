"""Texts in Java's form, in UTF-16, and well-formed texts, without lone surrogates, which UTF-8 can't hold."""


def well_formed(text: str) -> str:
    """Replace each pair of surrogates by its character, and each lone surrogate by a question mark, as Java
    does in UTF-8.

    >>> well_formed("a\\ud83d\\ude00"), well_formed("\\ude00\\ud83d")
    ('a😀', '??')
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return paired.encode("utf-8", "replace").decode()
    return text


def split_surrogates(text: str) -> str:
    """Return the text in Java's form, each character above U+FFFF as two surrogates, so that lengths and
    places are Java's.

    >>> len(split_surrogates("a😀"))
    3
    """
    if text.isascii() or max(text) <= "\uffff":
        return text
    data = text.encode("utf-16-le")
    return "".join(chr(data[place] | data[place + 1] << 8) for place in range(0, len(data), 2))
