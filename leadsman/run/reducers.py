"""Selects reducers and alert rules by the settings."""

from collections.abc import Sequence
from datetime import timedelta

from leadsman.run.settings import Settings
from streams.alerting.engine import alert_reducers
from streams.alerting.rules_file import AlertRules, default_rules, read_rules
from streams.analytics.registry import analytics
from streams.fold.reducer import AnyReducer


def all_reducers(settings: Settings) -> Sequence[AnyReducer]:
    """Return the analytics, and the alerts by their rules. Raises BadRules."""
    known = analytics(timedelta(seconds=settings.work.late_joiner_gap_seconds))
    return (*known, *alert_reducers(rules_of(settings)))


def rules_of(settings: Settings) -> AlertRules:
    """Return the rules; runbooks are at the page's public address unless the rules name another. Raises BadRules."""
    file, page = settings.alerts.rules, settings.page.address.rstrip("/")
    rules = default_rules() if file is None else read_rules(file)
    if not page or rules.runbooks != default_rules().runbooks:
        return rules
    return rules.model_copy(update={"runbooks": f"{page}/runbooks/"})
