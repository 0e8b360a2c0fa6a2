"""The libraries that come in by SQLAlchemy: its ORM, pandas, polars."""

import datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa
from sqlalchemy import Engine, Integer, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlfront.sqlalchemy.types import ARRAY, STRUCT


class _Base(DeclarativeBase):
    pass


class _Order(_Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str | None]
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    at: Mapped[datetime.datetime | None]
    paid: Mapped[bool] = mapped_column(default=False)


def test_orm_sessions_insert_read_change_and_delete(engine: Engine) -> None:
    _Base.metadata.create_all(engine)
    at = datetime.datetime(2020, 1, 1, 12)
    with Session(engine) as session:
        session.add_all(
            _Order(id=number, customer=f"c{number % 3}", price=Decimal(number), at=at) for number in range(10)
        )
        session.commit()
    with Session(engine) as session:
        order = session.get(_Order, 7)
        assert order is not None
        assert (order.customer, order.price, order.at, order.paid) == ("c1", Decimal("7.00"), at, False)
        order.paid, order.customer = True, None
        session.delete(session.get_one(_Order, 8))
        session.commit()
    with Session(engine) as session:
        session.execute(sa.update(_Order).where(_Order.customer == "c0").values(price=_Order.price * 2))
        session.execute(sa.delete(_Order).where(_Order.id.in_([1, 2])))
        session.commit()
        rows = session.execute(
            select(_Order.customer, sa.func.sum(_Order.price), sa.func.count())
            .group_by(_Order.customer)
            .order_by(_Order.customer.nulls_first())
        ).all()

    assert [tuple(row) for row in rows] == [(None, 7, 1), ("c0", 36, 4), ("c1", 4, 1), ("c2", 5, 1)]
    _Base.metadata.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == []


def test_pandas_replaces_and_reads_a_table_with_capitals(engine: Engine) -> None:
    frame = pd.DataFrame({"A": [1, 2]})
    with engine.connect() as connection:
        frame.to_sql("MyTable", connection, index=False)
        frame.to_sql("MyTable", connection, index=False, if_exists="replace")

        pd.testing.assert_frame_equal(pd.read_sql_table("MyTable", connection), frame)


def _pandas_frame(rows: int) -> pd.DataFrame:
    moments = pd.date_range("2020-01-01", periods=rows, freq="h").as_unit("us")
    return pd.DataFrame(
        {
            "Whole": range(rows),
            "small": pd.array([None if n % 5 == 0 else n for n in range(rows)], dtype="Int16"),
            "a double": [n / 7 for n in range(rows)],
            "text%": [None if n % 3 == 0 else f"it's {n} \\ 😀" for n in range(rows)],
            "flag": [n % 2 == 0 for n in range(rows)],
            "naive": moments,
            "aware": moments.tz_localize("UTC"),
            "day": [moment.date() for moment in moments],
            "bytes": [bytes([n % 256]) for n in range(rows)],
        }
    )


@pytest.mark.parametrize(("chunk", "method"), [(None, None), (7, None), (7, "multi")])
def test_pandas_writes_and_reads_every_type(engine: Engine, chunk: int | None, method: str | None) -> None:
    frame = _pandas_frame(40)
    kinds = {"bytes": sa.LargeBinary}  # pandas takes bytes for texts
    assert frame.to_sql("t", engine, index=False, chunksize=chunk, method=method, dtype=kinds) == 40
    back = pd.read_sql("SELECT * FROM t ORDER BY whole", engine)

    assert list(back.columns) == list(frame.columns)
    assert str(back["aware"].dtype) == "datetime64[ns, UTC]"
    for name in frame.columns:
        wanted = [None if pd.isna(value) else value for value in frame[name]]
        assert [None if pd.isna(value) else value for value in back[name]] == wanted, name


def test_pandas_replaces_appends_and_refuses(engine: Engine) -> None:
    frame = _pandas_frame(5)[["Whole", "text%"]]
    frame.to_sql("t", engine, index=False)
    with pytest.raises(ValueError, match="already exists"):
        frame.to_sql("t", engine, index=False)
    frame.to_sql("t", engine, index=False, if_exists="append")
    assert len(pd.read_sql_table("t", engine)) == 10
    frame.to_sql("t", engine, if_exists="replace", index_label="place")
    parts = list(
        pd.read_sql(sa.text("SELECT * FROM t WHERE whole >= :low"), engine, params={"low": 2}, chunksize=2)
    )

    assert [len(part) for part in parts] == [2, 1]
    assert list(parts[0].columns) == ["place", "Whole", "text%"]
    assert [each["name"] for each in sa.inspect(engine).get_indexes("t")] == ["ix_t_place"]


def test_polars_reads_structs_and_writes_frames(engine: Engine) -> None:
    frame = pl.DataFrame(
        {
            "id": [1, 2],
            "text": ["x", None],
            "at": [datetime.datetime(2020, 1, 1), None],
            "person": [{"name": "a", "tags": ["x"]}, {"name": None, "tags": []}],
        }
    )
    person = STRUCT({"name": sa.String, "tags": ARRAY(sa.String)})
    kinds = {"engine_options": {"dtype": {"person": person}}, "engine": "sqlalchemy"}
    frame.write_database("t", engine, **kinds)  # type: ignore[arg-type]
    with engine.connect() as connection:
        back = pl.read_database("SELECT * FROM t ORDER BY id", connection)

    assert back["id"].to_list() == [1, 2]
    assert back["text"].to_list() == ["x", None]
    assert back["at"].to_list() == [datetime.datetime(2020, 1, 1), None]
    assert [
        tuple(each.values()) if isinstance(each, dict) else tuple(each) for each in back["person"].to_list()
    ] == [
        ("a", ["x"]),
        (None, []),
    ]


def test_pandas_says_which_column_holds_values_that_need_a_type() -> None:
    engine = create_engine("sqlfront://")
    frame = pd.DataFrame({"s": [{"a": 1}]})
    with pytest.raises(sa.exc.ProgrammingError, match="INVALID_SQL_ARG"):
        frame.to_sql("t", engine, index=False)
    frame.to_sql("t", engine, index=False, if_exists="replace", dtype={"s": STRUCT({"a": Integer})})
    assert pd.read_sql("SELECT s.a AS a FROM t", engine)["a"].to_list() == [1]
    engine.dispose()
