"""Hostile text on its way to a terminal, a log, or a program."""

import json
import shlex
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import argument, plain, plain_json

UNSAFE = [*"\x1b\x07\r\t\x7f\x85\x9b\u061c\u180e\u200e\u202e\u2066\ufeff\U000e0041\U000e0100\ufe0f\u034f\u3164\u2800"]


@pytest.mark.parametrize("letter", UNSAFE)
def test_what_steers_a_terminal_or_turns_text_round_becomes_its_escape(letter: str) -> None:
    shown = plain(f"a{letter}b")
    assert shown.isascii()
    assert shown.encode().decode("unicode_escape") == f"a{letter}b"


@given(st.text(min_size=1) | st.from_regex(r"\A--?[a-z]+=?[a-z]*\Z"))
def test_a_name_is_one_argument_of_a_command_and_never_an_option(name: str) -> None:
    before, given, after = shlex.split(f"kubectl {argument(name)} end")
    assert (before, after) == ("kubectl", "end")
    assert not given.startswith("-")
    assert given.removeprefix(" ") == plain(name).removeprefix(" ")


@pytest.mark.parametrize("name", ["worker-1.example", "gke_a-b:c/d", "node.kubernetes.io/out-of-service"])
def test_an_ordinary_name_is_copied_as_it_is(name: str) -> None:
    assert argument(name) == name


@given(st.text())
def test_plain_text_has_no_control_and_no_format_character_of_direction(text: str) -> None:
    for letter in plain(text, 10_000):
        assert unicodedata.category(letter) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(letter) not in {
            "RLO",
            "LRO",
            "RLE",
            "LRE",
            "PDF",
            "RLI",
            "LRI",
            "FSI",
            "PDI",
        }


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_is_safe_to_show_and_means_the_same(value: object) -> None:
    document = msgspec.json.encode(value)
    shown = plain_json(document)
    assert json.loads(shown) == json.loads(document)
    assert plain(shown, len(shown)) == shown


@pytest.mark.parametrize("letter", UNSAFE)
def test_json_has_what_is_unsafe_as_escapes(letter: str) -> None:
    shown = plain_json(msgspec.json.encode({letter: [letter]}))
    assert shown.isascii()
    assert json.loads(shown) == {letter: [letter]}
