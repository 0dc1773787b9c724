"""All reducers, by the settings."""

from collections.abc import Sequence
from datetime import timedelta

from leadsman.run.settings import Settings
from streams.alerting.engine import alert_reducers
from streams.alerting.rules_file import read_rules
from streams.analytics.registry import analytics
from streams.fold.reducer import AnyReducer


def all_reducers(settings: Settings) -> Sequence[AnyReducer]:
    """Return the analytics, and the alerts by their rules. Raises BadRules."""
    rules = settings.alerts.rules
    known = analytics(timedelta(seconds=settings.work.late_joiner_gap_seconds))
    return (*known, *alert_reducers(None if rules is None else read_rules(rules)))
