"""Errors come back as what they were."""

import pytest

from sqlfront_cluster.codec import ErrorData, decode, encode
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_values.errors import (
    DataError,
    Error,
    InternalError,
    OperationalError,
    ProgrammingError,
    spark_error,
)
from sqlfront_values.room import TooLargeError
from sqlfront_values.spark_conditions import SQLSTATES

#: Arguments of classes that need more than a message.
FURTHER: dict[type[Error], tuple[object, ...]] = {TooLargeError: (1,), SpoolDamaged: ("is damaged",)}


def travelled(error: BaseException) -> Error:
    return decode(encode(ErrorData.of(error)), ErrorData).error()


def all_classes(kind: type[Error]) -> set[type[Error]]:
    return {kind}.union(*map(all_classes, kind.__subclasses__()))


@pytest.mark.parametrize("kind", sorted(all_classes(Error), key=str))
def test_every_class_comes_back(kind: type[Error]) -> None:
    """One that another room has for itself comes back as the class of the hierarchy that it is one of."""
    further = next((more for base, more in FURTHER.items() if issubclass(kind, base)), ())
    error = kind("so it is", *further)
    back = travelled(error)

    assert type(back) is next(base for base in kind.__mro__ if base.__module__ == Error.__module__)
    assert str(back) == str(error)


def test_every_condition_comes_back() -> None:
    for condition in SQLSTATES:
        error = spark_error(condition, "reason")
        back = travelled(error)

        assert (type(back), str(back)) == (type(error), str(error))


def test_all_that_an_error_knows_comes_back() -> None:
    error = ProgrammingError("wrong", condition="C", sqlstate="42000", position=(7, 8))
    error.locate("select ä\nfrom t")
    error.vertex, error.member = "scan", "member-1"
    error.add_note("a note")

    back = travelled(error)

    assert vars(back) == vars(error)
    assert str(back) == str(error)
    assert "LINE 1" in str(back)


def test_a_connectors_own_class_travels_as_the_one_that_it_extends() -> None:
    class LostTableError(DataError):
        pass

    assert type(travelled(LostTableError("gone"))) is DataError


def test_the_world_and_bugs_travel_with_their_type_and_text() -> None:
    world, bug = travelled(FileNotFoundError(2, "No such file", "a.csv")), travelled(KeyError("k"))

    assert type(world) is OperationalError
    assert str(world) == "FileNotFoundError: [Errno 2] No such file: 'a.csv'"
    assert type(bug) is InternalError
    assert str(bug) == "KeyError: 'k'"


def test_a_bug_takes_its_traceback_along() -> None:
    try:
        dict[str, int]()["k"]
    except KeyError as error:
        back = travelled(error)

    assert "test_failures.py" in back.__notes__[-1]


def test_text_that_cannot_be_encoded_is_no_second_error() -> None:
    assert str(travelled(OSError("\ud800"))) == "OSError: ?"


def test_an_unknown_class_is_malformed() -> None:
    with pytest.raises(OperationalError, match="malformed ErrorData"):
        decode(encode(("SystemExit", "now")), ErrorData)
