"""Well-formed texts: without lone surrogates, which Java's strings may hold and UTF-8 can't."""


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
