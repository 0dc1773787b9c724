"""Sentences about several rows."""

from datetime import UTC, datetime
from inspect import signature
from typing import Any, Final

import pytest

from streams.fold.sentences import SENTENCES

QUOTED: Final = ("words", "message", "comment")
"""Parameters with a text of a component or a person, who may have given none."""
NUMBERS: Final = ("pods", "times", "timed", "seconds", "objects", "nodes")
FLAGS: Final = (
    "again",
    "at_least",
    "begins",
    "by_taint",
    "called_off",
    "by_machine_config",
    "has_earliest",
    "has_latest",
)


@pytest.mark.parametrize(
    "name", [name for name, each in SENTENCES.items() if {*signature(each).parameters} & {*QUOTED}]
)
def test_a_text_that_nobody_gave_is_left_out_with_its_punctuation(name: str) -> None:
    for flag in (False, True):
        values: dict[str, Any] = dict.fromkeys(QUOTED, "") | dict.fromkeys(NUMBERS, 1) | dict.fromkeys(FLAGS, flag)
        values |= dict.fromkeys(("earliest", "latest", "until"), datetime(2026, 7, 1, tzinfo=UTC))
        said = SENTENCES[name](**{each: values.get(each, "x") for each in signature(SENTENCES[name]).parameters})
        assert '""' not in said
        assert not said.rstrip(" .").endswith(":")


def test_pods_rejected_for_no_known_condition_have_none() -> None:
    assert SENTENCES["rejected"](pods=1, seconds=0, condition="", owners="") == "1 pod was rejected at admission."
