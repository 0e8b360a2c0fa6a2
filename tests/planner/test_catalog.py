"""The session's catalog."""

import threading

import pyarrow as pa
import pytest

from sqlfront_connectors.arrow import ArrowTable
from sqlfront_planner.catalog import Catalog, TableEntry, ViewEntry
from sqlfront_values.errors import ProgrammingError


def table(name: str, *, temporary: bool = False) -> TableEntry:
    return TableEntry(name, ArrowTable(name, pa.table({"a": [1]})), temporary)


def test_names_do_not_know_case() -> None:
    catalog = Catalog()
    entry = table("Flights")
    catalog.add(entry)

    assert catalog.lookup(("FLIGHTS",)) is entry
    assert catalog.lookup(("Default", "flights")) is entry
    assert catalog.lookup(("spark_catalog", "default", "flights")) is entry
    assert catalog.lookup(("other", "flights")) is None


def test_a_temporary_view_hides_a_table() -> None:
    catalog = Catalog()
    lasting, temporary = table("t"), ViewEntry("t", "select 1", temporary=True)
    catalog.add(lasting)
    catalog.add(temporary)

    assert catalog.lookup(("t",)) is temporary
    assert catalog.lookup(("default", "t")) is lasting


def test_a_taken_name_is_refused_and_nothing_changes() -> None:
    catalog = Catalog()
    entry = table("t")
    catalog.add(entry)
    version = catalog.version

    with pytest.raises(ProgrammingError) as caught:
        catalog.add(table("T"))

    assert caught.value.condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert catalog.lookup(("t",)) is entry
    assert catalog.version == version


def test_replacing_gives_back_what_was_there() -> None:
    catalog = Catalog()
    first, second = table("t"), table("t")
    catalog.add(first)

    assert catalog.add(second, replace=True) is first
    assert catalog.lookup(("t",)) is second


def test_removing_takes_the_temporary_one_first() -> None:
    catalog = Catalog()
    lasting, temporary = table("t"), table("t", temporary=True)
    catalog.add(lasting)
    catalog.add(temporary)

    assert catalog.remove(("t",)) is temporary
    assert catalog.remove(("t",)) is lasting
    assert catalog.remove(("t",)) is None


def test_every_change_is_a_new_version() -> None:
    catalog = Catalog()
    versions = [catalog.version]
    catalog.add(table("t"))
    versions.append(catalog.version)
    catalog.remove(("t",))
    versions.append(catalog.version)

    assert versions == sorted(set(versions))


def test_changes_from_many_threads_are_all_kept() -> None:
    catalog = Catalog()

    def add(first: int) -> None:
        for number in range(first, first + 50):
            catalog.add(table(f"t{number}"))

    threads = [threading.Thread(target=add, args=(first,)) for first in range(0, 400, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(catalog.entries()) == 400
    assert catalog.version == 400
