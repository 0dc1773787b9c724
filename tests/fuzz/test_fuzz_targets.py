"""Every fuzz target holds for its seeds, for all that was ever found, and for these damaged a little.

`make fuzz` looks for more, guided by coverage.
"""

import random
from collections.abc import Iterable

import pytest

from fuzz.catalogue import FOUND, TARGETS, inputs
from fuzz.target import Target
from profiles import EXAMPLES

pytestmark = pytest.mark.costly

DAMAGED = 1 if EXAMPLES < 100 else 3
PIECES = (b"", b"\0", b"\n", b'"', b"\xff", b"{", b"]", b"-1", b"9" * 5000, b"NaN", b"null", b"\\ud800", b"[" * 300)


def damaged(data: bytes, chance: random.Random) -> Iterable[bytes]:
    """The input with a piece of it taken out, and something else in its place."""
    for _ in range(DAMAGED):
        at = chance.randrange(len(data) + 1)
        yield data[:at] + chance.choice(PIECES) + data[at + chance.randrange(4) :]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_earlier_finds_and_their_variants_hold(target: Target) -> None:
    chance = random.Random(target.name)  # noqa: S311  # no secret; the same inputs each time
    given = inputs(target)
    assert given, "a target without inputs proves nothing"
    for data in given:
        target.check(data)
        for each in damaged(data, chance):
            target.check(each)


def test_all_that_was_found_belongs_to_a_target() -> None:
    assert {path.name for path in FOUND.iterdir()} <= {target.name for target in TARGETS}
