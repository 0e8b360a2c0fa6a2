"""Bracketed comments, which may be nested."""


def comment_end(sql: str, start: int) -> int | None:
    """Return the offset after the bracketed comment that begins at the offset ``start``; None if the comment
    isn't closed. A hint (``/*+``) in the comment is plain text, and opens no inner comment.

    >>> comment_end("/*/**/*/ 1", 0), comment_end("/* /*+ a */ 1", 0), comment_end("/* /* */", 0)
    (8, 11, None)
    """
    depth, place = 1, start + 2
    while depth:
        closing, opening = sql.find("*/", place), sql.find("/*", place)
        if closing < 0:
            return None
        if not 0 <= opening < closing:
            depth, place = depth - 1, closing + 2
        elif sql.startswith("+", opening + 2):
            place = opening + 2
        else:
            depth, place = depth + 1, opening + 2
    return place
