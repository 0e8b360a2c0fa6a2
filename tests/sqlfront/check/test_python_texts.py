"""The SQL that a program runs, as far as its text tells."""

import pytest

from sqlfront.check.python_texts import PythonText, python_texts

AN_F_STRING = "the fields of the f-string aren't known before the program runs"


def texts(source: str) -> list[tuple[int, str | None]]:
    return [(found.line, found.text) for found in python_texts(source).texts]


def only(source: str) -> PythonText:
    (found,) = python_texts(source).texts
    return found


@pytest.mark.parametrize(
    "call",
    [
        "spark.sql('SELECT 1')",
        "spark.sql(sqlQuery='SELECT 1')",
        "cursor.execute('SELECT 1', [])",
        "rows = connection.cursor().execute(operation='SELECT 1').fetchall()",
        "lookup = connection.prepare('SELECT 1')",
        "print(len(spark.sql('SEL' 'ECT 1').collect()))",
        "spark.sql('SELECT ' + '1')",
        "n = '1'; spark.sql(f'SELECT {n}')",
        "q = 'SELECT 1'; spark.sql(q)",
        "q: str = 'SELECT 1'; spark.sql(q)",
        "from sqlfront import sql; sql('SELECT 1')",
    ],
)
def test_texts_that_are_constants_are_known(call: str) -> None:
    assert only(call).text == "SELECT 1"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("spark.sql(f'SELECT {n}')", AN_F_STRING),
        ("n = '1'; spark.sql(f'SELECT {n:>3}')", AN_F_STRING),
        ("spark.sql('SELECT ' + n)", "a part of the text isn't known before the program runs"),
        ("spark.sql('SELECT {}'.format(n))", "the text isn't known before the program runs"),
        ("spark.sql(query)", "the value of `query` isn't known before the program runs"),
        ("spark.sql('SELECT * FROM {df}', df=df)", "the value of {df} isn't known before the program runs"),
        ("def run(q): spark.sql(q)", "the value of `q` isn't known before the program runs"),
        ("q = 'a'\nfor q in more: spark.sql(q)", "the value of `q` isn't known before the program runs"),
        ("q = 'a'\nif late: q = 'b'\nspark.sql(q)", "the value of `q` isn't known before the program runs"),
        ("q = 'a'\nq += more\nspark.sql(q)", "the value of `q` isn't known before the program runs"),
        (
            "q = 'a'\nwhile True:\n  spark.sql(q)\n  q = q + 'b'",
            "the value of `q` isn't known before the program runs",
        ),
        ("q = 'a'\n[spark.sql(q) for q in more]", "the value of `q` isn't known before the program runs"),
    ],
)
def test_what_the_program_decides_is_not_known(source: str, why: str) -> None:
    found = only(source)

    assert (found.text, found.why) == (None, why)


def test_a_name_is_what_was_assigned_last() -> None:
    source = (
        "q = 'a'\nspark.sql(q)\nq = 'b'\nif late:\n    q = 'c'\n    spark.sql(q)\nelse:\n    spark.sql(q)\n"
    )

    assert texts(source) == [(2, "a"), (6, "c"), (8, "b")]


def test_functions_know_what_the_module_assigns_once() -> None:
    source = """
def run(spark, late):
    spark.sql(LATE)
    spark.sql(TWICE)
    with spark.sql(f"{LATE}er") as rows:
        late = "b"
        spark.sql(late)
LATE = "a"
TWICE = "b"
TWICE = "c"
"""
    assert texts(source) == [(3, "a"), (4, None), (5, "aer"), (7, "b")]


def test_what_takes_no_text_is_none() -> None:
    assert texts("pool.execute(1)\nsql('SELECT 1')\nspark.sql()\nprint('SELECT 1')") == []


def test_arguments_that_are_constants_are_known() -> None:
    assert only("s.sql('?', [1, n, 'x'])").arguments == {0: 1, 2: "x"}
    assert only("s.sql(':a', args={'a': 1, 'b': n, **more})").arguments == {"a": 1}
    assert only("s.sql(':a', args={'a': {[]: 1}, 'b': 1})").arguments == {"b": 1}
    assert only("s.sql(':a', given)").arguments == {}


def test_texts_over_several_lines_have_those_of_the_program() -> None:
    found = only('s.sql(\n    dedent("""\n        SELECT 1\n    """).strip())')

    assert (found.line, found.lines) == (2, True)
    assert not only("s.sql('SELECT\\n 1')").lines


def test_names_that_the_program_makes_are_noted() -> None:
    found = python_texts("c.register('scores', frame)\nVIEW = 'v'\ndf.createOrReplaceTempView(VIEW)\n")

    assert sorted([*found.registered, *found.views]) == ["scores", "v"]
