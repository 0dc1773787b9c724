"""All reducers, by the settings."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from streams.alerting.engine import alert_reducers
from streams.alerting.rules_file import read_rules
from streams.analytics.registry import analytics
from streams.fold.reducer import AnyReducer

if TYPE_CHECKING:  # a process that folds has no settings
    from leadsman.run.settings import Settings


class Rules(NamedTuple):
    """The settings that affect findings."""

    alerts: str | None
    """The file."""
    late_joiner_gap_seconds: float

    @classmethod
    def of(cls, settings: "Settings") -> "Rules":
        """Read them from the settings."""
        rules = settings.alerts.rules
        return cls(None if rules is None else str(rules), settings.work.late_joiner_gap_seconds)


def all_reducers(settings: "Settings") -> Sequence[AnyReducer]:
    """The analytics, and the alerts by their rules. Raises BadRules."""
    return reducers_of(Rules.of(settings))


def reducers_of(rules: Rules) -> Sequence[AnyReducer]:
    """The same of a process that was given them. Raises BadRules."""
    known = analytics(timedelta(seconds=rules.late_joiner_gap_seconds))
    return (*known, *alert_reducers(None if rules.alerts is None else read_rules(Path(rules.alerts))))
