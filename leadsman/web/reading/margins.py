"""Reports the distance of each eviction signal to its threshold."""

from collections.abc import Iterable
from math import isnan
from typing import Final, NamedTuple

from common.durations import ahead_in_words, spread_in_words
from leadsman.web.reading.ask import RowDict, by_node
from leadsman.web.reading.words import amount
from streams.fold.titles import near
from streams.rules.eviction.signals import describe_signal
from streams.rules.eviction.thresholds import first_met

SOON_SECONDS: Final = 3600.0
"""A threshold that is met within this time is near."""
FAR: Final = 2.0
"""Margin of a signal that has no threshold: larger than every real one."""


class Margin(NamedTuple):
    """A signal of a node at its last sample; amounts are in the signal's unit."""

    signal: str
    available: int
    capacity: int
    hard: int | None
    soft: int | None
    hard_met: bool
    soft_met: bool
    """True if the soft threshold was met at the last sample, like the hard one above."""
    seconds_to_hard: float | None
    seconds_to_soft: float | None
    gc_first: bool
    assumed: bool
    hard_band: tuple[float, float] | None = None
    """The earliest and the latest number of seconds, if known."""
    soft_band: tuple[float, float] | None = None
    acts_first: str = ""

    @property
    def threshold(self) -> int | None:
        """Return the threshold that is met first."""
        first: int | None = first_met(self.hard, self.soft)
        return first

    @property
    def room(self) -> float:
        """Return the remaining amount above the threshold as a share of the maximum:

        1 is all of it, 0 at the threshold, negative below it.
        """
        if self.threshold is None:
            return FAR
        return (self.available - self.threshold) / max(1, self.capacity - self.threshold)

    @property
    def seconds(self) -> float | None:
        """Return the seconds until a threshold is met; None if the signal approaches none."""
        known = [each for each in (self.seconds_to_hard, self.seconds_to_soft) if each is not None]
        return min(known) if known else None

    @property
    def met(self) -> bool:
        return self.hard_met or self.soft_met

    @property
    def near(self) -> bool:
        """Tell whether a threshold is not met, but soon will be."""
        return not self.met and self.seconds is not None and self.seconds <= SOON_SECONDS

    @property
    def words(self) -> str:
        """Format the margin, for example "14.4 GiB available, threshold 15.0 GiB"."""
        available = f"{amount(self.available, self.signal)} available"
        if self.threshold is None:
            return available
        return f"{available}, threshold {amount(self.threshold, self.signal)}"

    @property
    def nearest(self) -> str:
        """Return a sentence, without a full stop, about the threshold that is met or will be met first."""
        return f"{describe_signal(self.signal)}: {self.stands}"

    @property
    def stands(self) -> str:
        """Return the same without the signal."""
        is_hard = self.hard_met if self.met else self.seconds == self.seconds_to_hard
        return near(
            self.signal,
            self.available,
            self.hard if is_hard else self.soft,
            is_hard=is_hard,
            when=self._when(is_hard=is_hard),
        )

    @property
    def ahead(self) -> str:
        """Say when a threshold will be met; empty if none will."""
        if self.met or self.seconds is None:
            return ""
        is_hard = self.seconds == self.seconds_to_hard
        return f"{'hard' if is_hard else 'soft'} threshold {self._when(is_hard=is_hard)}"

    @property
    def likely(self) -> str:
        """Return the threshold that is met first with its likely time, such as "soft in 5 min"; empty if none will be
        met.
        """
        if self.met or self.seconds is None:
            return ""
        is_hard = self.seconds == self.seconds_to_hard
        return f"{'hard' if is_hard else 'soft'} {ahead_in_words(None, self.seconds, None)}"

    @property
    def spread(self) -> str:
        """Return the range of that time, such as "3 min to 9 min"; empty if it has no width."""
        is_hard = self.seconds == self.seconds_to_hard
        return spread_in_words(*((self.hard_band if is_hard else self.soft_band) or (None, None)))

    def _when(self, *, is_hard: bool) -> str:
        if self.met or self.seconds is None:
            return ""
        earliest, latest = (self.hard_band if is_hard else self.soft_band) or (None, None)
        return ahead_in_words(earliest, self.seconds, latest)


def margins(now: Iterable[RowDict]) -> dict[str, list[Margin]]:
    """Read rows of `signals_now`; for each node, the signal nearest to its threshold comes first."""
    return {
        node: sorted(map(_margin, rows), key=lambda margin: (margin.room, margin.signal))
        for node, rows in by_node(now).items()
    }


def _margin(row: RowDict) -> Margin:
    available, hard, soft = row["available"], row["hard"], row["soft"]
    return Margin(
        row["signal"],
        available,
        row["capacity"],
        hard,
        soft,
        hard is not None and available < hard,
        soft is not None and available < soft,
        _known(row["seconds_to_hard"]),
        _known(row["seconds_to_soft"]),
        bool(row["gc_first"]),
        bool(row["assumed"]),
        _band(row["hard_earliest"], row["hard_latest"]),
        _band(row["soft_earliest"], row["soft_latest"]),
        row["acts_first"],
    )


def _known(seconds: float) -> float | None:
    """Return None for NaN, which the roll-up stores for null: its aggregate would skip a null and use an older
    number.
    """
    return None if isnan(seconds) else seconds


def _band(earliest: float, latest: float) -> tuple[float, float] | None:
    return None if isnan(earliest) or isnan(latest) else (earliest, latest)
