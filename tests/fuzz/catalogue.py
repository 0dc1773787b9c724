"""All fuzz targets, and what was found with them."""

from pathlib import Path
from typing import Final

from fuzz import decoding, extremes, live, reading, rules
from fuzz.target import Target

TARGETS: Final[tuple[Target, ...]] = (
    *reading.TARGETS,
    *decoding.TARGETS,
    *live.TARGETS,
    *rules.TARGETS,
    *extremes.TARGETS,
)
FOUND: Final = Path(__file__).parent / "found"
"""A folder for each target, of inputs that once broke its property."""


def inputs(target: Target) -> list[bytes]:
    """Return the first inputs of a target: its seeds, and everything that was ever found."""
    found = sorted((FOUND / target.name).glob("*"))
    return [*target.seeds(), *(path.read_bytes() for path in found)]
