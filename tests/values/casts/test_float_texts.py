"""Floats as Java 17 prints them. All expectations are Spark's answers."""

import pytest

from sqlfront_values.java.floats import float_text


@pytest.mark.parametrize(
    "text",
    [
        *("9.999999999999999E22", "1.9999999999999998E23", "7.0000000000000004E22", "4.1958000000000003E21"),
        *("2.3648585699999998E19", "1.5999999999999999E24", "6.731699999999999E20", "9.3771753206403584E16"),
    ],
)
def test_digits_between_two_numbers_give_back_neither(text: str) -> None:
    assert float_text(float(text)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2.0**-1074, "4.9E-324"),
        (2.0**-1073, "1.0E-323"),
        (2.0**-1060, "8.0948E-320"),
        (2.0**-1030, "8.6916947597938E-311"),
        (2.0**-1024, "5.562684646268003E-309"),
        (2.0**145, "4.4601490397061246E43"),
        (2.0**160, "1.4615016373309029E48"),
        (2.0**130, "1.3611294676837539E39"),
    ],
)
def test_powers_of_two_have_the_digits_of_java(number: float, text: str) -> None:
    assert float_text(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (4.598597592338489e25, "4.5985975E25"),
        (9.949219096706201e-44, "1.0E-43"),
        (1.793662034335766e-43, "1.794E-43"),
        (7.866999683783066e16, "7.8669997E16"),
    ],
)
def test_floats_have_the_digits_of_java(number: float, text: str) -> None:
    assert float_text(number, single=True) == text
