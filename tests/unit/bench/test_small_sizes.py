"""`make bench` reports stages that were too short to measure."""

from typing import Final

from bench.faust_path import LEAST_SECONDS, Stage, lines

PUBLISH: Final = Stage("publish", 9000, 20.0, 10.0)
LAND: Final = Stage("land", 9000, 30.0, 5.0)
IDIOMATIC: Final = Stage("idiomatic", 8000, 8.0, 8.0)
OURS: Final = Stage("ours", 9000, 2 * LEAST_SECONDS, 3.0)


def test_a_stage_that_was_too_short_has_no_rate_and_no_ratio() -> None:
    """All was acknowledged at the first look: nothing was left to measure, though a shorter rest was fast."""
    acknowledged = Stage("ours", 0, 0.25, 0.01)
    rest = Stage("ours", 12, 0.25, 0.01)
    reported = list(lines([[PUBLISH, IDIOMATIC, acknowledged, LAND], [PUBLISH, IDIOMATIC, rest, LAND]]))
    assert [line.endswith("take more nodes or samples") for line in reported[1:]] == [False, False, True, False]
    assert not any("times" in line or "48" in line for line in reported)


def test_stages_that_were_long_enough_are_compared() -> None:
    """1,000 a second with 1,000 µs each against 900 with 333."""
    *_, ratio, rounds = lines([[PUBLISH, IDIOMATIC, OURS, LAND]])
    assert ratio.startswith("  in CPU time 3.0 times less; our Faust path is 0.9 times as fast")
    assert rounds == "  The fastest of 3 rounds; idiomatic 1,000, ours 900 a second."
