"""Every public object can be asked what it is: ``help``, ``inspect.signature``."""

import inspect
import pydoc

import pytest

import sqlfront

#: The public names that stand for classes and functions of ours: PEP 249's constructors are Python's own.
OURS = [
    name
    for name in sqlfront.__all__
    if callable(getattr(sqlfront, name))
    and getattr(sqlfront, name).__module__.startswith("sqlfront")
    # A class of exceptions without a constructor of its own has no signature in Python.
    and getattr(sqlfront, name) is not sqlfront.Warning
]
CLASSES = [name for name in OURS if inspect.isclass(getattr(sqlfront, name))]


def test_the_package_shows_its_help() -> None:
    assert "Three entry points" in pydoc.render_doc(sqlfront)


@pytest.mark.parametrize("name", sqlfront.__all__)
def test_a_public_name_shows_its_help(name: str) -> None:
    value = getattr(sqlfront, name)
    if not isinstance(value, str | int):  # PEP 249's constants
        assert pydoc.render_doc(value)


@pytest.mark.parametrize("name", OURS)
def test_a_public_callable_has_a_signature(name: str) -> None:
    assert inspect.signature(getattr(sqlfront, name)).parameters


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_have_signatures(name: str) -> None:
    for _, method in inspect.getmembers(getattr(sqlfront, name), inspect.isfunction):
        assert inspect.signature(method).parameters
