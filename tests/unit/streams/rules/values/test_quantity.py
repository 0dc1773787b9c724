"""The grammar and the printing of apimachinery's quantities (rules: quantities)."""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.values.quantity import (
    INT64_MAX,
    NANO,
    Format,
    InvalidQuantity,
    base_units,
    format_quantity,
    millicores,
    nano_units,
)

MULTIPLIERS = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(1024),
    "Mi": Decimal(1024) ** 2,
    "Gi": Decimal(1024) ** 3,
    "Ti": Decimal(1024) ** 4,
    "Pi": Decimal(1024) ** 5,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("100m", Fraction(1, 10)),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("1.", 1),
        ("+2", 2),
        ("-2k", -2000),
        ("007", 7),
        ("1k", 1000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1u", Fraction(1, 10**6)),
        ("1n", Fraction(1, 10**9)),
        ("1Ki", 2**10),
        ("1Mi", 2**20),
        ("1Gi", 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("1.5Gi", 3 * 2**29),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("1.25e-2", Fraction(1, 80)),
        ("24684096Ki", 25276514304),
    ],
)
def test_every_form_of_the_grammar_is_read_exactly(text: str, value: Fraction | int) -> None:
    assert nano_units(text) == value * NANO


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        " 1",
        "1\n",
        "1 Gi",
        "+",
        ".",
        "Gi",
        "m",
        "1i",
        "1K",
        "1ki",
        "1mi",
        "1ni",
        "1KiB",
        "1GB",
        "1.1.1",
        "1..",
        "--1",
        "1e",
        "1e1.5",
        "1e3k",
        "1Ki3",
        "0x10",
        "1_000",
        "٣",
        "1²",
        "nan",
        "inf",
        "1,5",
    ],
)
def test_a_text_outside_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        nano_units(text)


@pytest.mark.parametrize(
    "text",
    ["1e129", "1e-129", "1e999999999999", "9" * 129, "0." + "0" * 127, 10**4000, float("nan"), float("inf")],
)
def test_a_hostile_size_is_refused_and_not_computed(text: str | float) -> None:
    with pytest.raises(InvalidQuantity):
        nano_units(text)


def test_the_error_names_the_text_escaped_and_shortened() -> None:
    with pytest.raises(InvalidQuantity, match=r"'12\\n34' is not a Kubernetes quantity"):
        nano_units("12\n34")
    with pytest.raises(InvalidQuantity) as caught:
        nano_units("x" * 5_000_000)
    assert len(str(caught.value)) < 200
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("number", "value"), [(2, 2), (0, 0), (-3, -3), (0.5, Fraction(1, 2)), (1e-5, Fraction(1, 10**5)), (1e22, 10**22)]
)
def test_a_number_in_a_manifest_keeps_its_value(number: float, value: Fraction | int) -> None:
    assert nano_units(number) == value * NANO


def test_amounts_below_a_nano_unit_are_rounded_up_to_one() -> None:
    assert nano_units("0.1n") == 1
    assert nano_units("1e-100") == 1
    assert nano_units("-0.1n") == -1
    assert nano_units("0e-100") == 0


def test_a_binary_quantity_is_capped_at_64_bits_and_a_decimal_one_is_not() -> None:
    assert nano_units("8Ei") == (2**63 - 1) * NANO
    assert nano_units("-1024Ei") == -(2**63 - 1) * NANO
    assert nano_units("10E") == 10**19 * NANO


@pytest.mark.parametrize(
    ("text", "base", "milli"),
    [
        ("100m", 1, 100),
        ("1001m", 2, 1001),
        ("1", 1, 1000),
        ("0", 0, 0),
        ("1u", 1, 1),
        ("1500u", 1, 2),
        ("-100m", -1, -100),
        ("100Mi", 104857600, 104857600000),
        ("100E", 2**63 - 1, 2**63 - 1),
        ("-100E", -(2**63), -(2**63)),
    ],
)
def test_integers_are_rounded_away_from_zero_within_64_bits(text: str, base: int, milli: int) -> None:
    assert base_units(text) == base
    assert millicores(text) == milli


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (2722654248, "2722654248"),
        (100 * 2**20, "100Mi"),
        (17348 * 1024, "17348Ki"),
        (1023, "1023"),
        (1000, "1k"),
        (1024, "1Ki"),
        (1025, "1025"),
        (2000, "2000"),
        (-(2**20), "-1Mi"),
        (0, "0"),
        (2**60, "1Ei"),
        (2**63 - 1, "9223372036854775807"),
        (Fraction(1, 2), "500m"),
        (1024 + Fraction(1, 2), "1024500m"),
    ],
)
def test_bytes_print_as_the_kubelet_prints_them(value: int, printed: str) -> None:
    """The first three were seen in messages of real kubelets (rules: quantities)."""
    assert format_quantity(value, "BinarySI") == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0, "0"),
        (5, "5"),
        (5000, "5k"),
        (5000000, "5M"),
        (500000, "500k"),
        (2621440, "2621440"),
        (Fraction(1, 10), "100m"),
        (Fraction(15, 10), "1500m"),
        (Fraction(1, 10**9), "1n"),
        (Fraction(1, 10**10), "1n"),
        (-1500, "-1500"),
        (10**18, "1E"),
        (10**21, "1000E"),
    ],
)
def test_decimal_quantities_print_with_the_largest_suffix_that_loses_nothing(
    value: Fraction | int, printed: str
) -> None:
    assert format_quantity(value, "DecimalSI") == printed


numbers = st.from_regex(r"[+-]?[0-9]{1,12}(\.[0-9]{0,6})?", fullmatch=True)


@given(numbers, st.sampled_from(sorted(MULTIPLIERS)))
def test_values_agree_with_decimal_arithmetic(number: str, suffix: str) -> None:
    with localcontext(prec=80):
        expected = Decimal(number) * MULTIPLIERS[suffix]
        nanos = (abs(expected) * 10**9).to_integral_value(rounding="ROUND_CEILING")
        cap = Decimal(2**63 - 1) * 10**9
        nanos = min(nanos, cap) if suffix.endswith("i") else nanos
    assert nano_units(number + suffix) == (-int(nanos) if expected < 0 else int(nanos))


@given(st.integers(-INT64_MAX * NANO, INT64_MAX * NANO), st.sampled_from(get_args(Format)))
def test_printing_loses_nothing_and_has_no_fraction(nanos: int, form: Format) -> None:
    printed = format_quantity(Fraction(nanos, NANO), form)
    assert nano_units(printed) == nanos
    assert "." not in printed


@given(st.text(max_size=40) | st.text(alphabet="0123456789.eE+-KMGiIkmnu", max_size=12))
def test_any_text_is_a_whole_number_of_nano_units_or_refused(text: str) -> None:
    try:
        value = nano_units(text)
    except InvalidQuantity:
        return
    assert isinstance(value, int)
