"""One log under alert rules, for tests: rows in, alerts out."""

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
import yaml

from components.rows import T0, row
from ingest.model.records import Record, RejectionRecord
from streams.alerting.engine import alert_reducers
from streams.alerting.rules_file import DEFAULTS, MODEL, AlertRules
from streams.fold.findings import Alert, EvictionSignal, ImageGc, NumaSkew, Row
from streams.fold.reducer import LogFindings

GIB: Final = 1 << 30


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def changed(**by_alert: dict[str, object]) -> AlertRules:
    """The packaged rules with other settings, by their names in YAML."""
    values = yaml.safe_load(DEFAULTS.read_text("utf-8"))
    for alertname, settings in by_alert.items():
        values["alerts"][alertname] |= settings
    return MODEL.model_validate(values)


class AlertLog:
    """The log of a node, or with an empty one of the cluster."""

    def __init__(self, rules: AlertRules | None = None, *, node: str = "n") -> None:
        self._reducer = alert_reducers(rules)[0 if node else 1]
        self._node = node
        self.state = self._reducer.state()
        self.emitted: list[Alert] = []

    def __call__(self, seconds: float, *rows: Row, new_minute: bool = False) -> list[str]:
        """Return what these rows at this time emit, as `status alertname`."""
        return self._step(LogFindings(at(seconds), self._node, new_minute, rows))

    def record(self, record: Record) -> list[str]:
        return self._step(record)

    @property
    def labels(self) -> list[dict[str, str]]:
        return [alert.labels for alert in self.emitted]

    @property
    def summaries(self) -> list[str]:
        return [alert.annotations["summary"] for alert in self.emitted]

    @property
    def descriptions(self) -> list[str]:
        return [alert.annotations["description"] for alert in self.emitted]

    def _step(self, given: LogFindings | Record) -> list[str]:
        before = self.state
        copy = msgspec.msgpack.encode(before)
        self.state, emitted = self._reducer.step(before, given)
        assert msgspec.msgpack.encode(before) == copy, "a step changed its state"
        alerts = [alert for alert in emitted if isinstance(alert, Alert)]
        self.emitted += alerts
        return [f"{alert.status} {alert.alertname}" for alert in alerts]


def signal(name: str = "memory.available", **values: Any) -> EvictionSignal:
    """Half of it available."""
    given = {"available": 5 * GIB, "capacity": 10 * GIB, "hard_threshold": GIB, "node": "n"}
    return row(EvictionSignal, signal=name, **(given | values))


def image_gc(seconds: float, verdict: str, reason: str, **values: Any) -> ImageGc:
    given = {"node": "n", "high_percent": 85, "low_percent": 80, "last_at": at(seconds), "ts": at(0)}
    return row(ImageGc, verdict=verdict, reason=reason, **(given | values))


def skew(scope: str = "node", **values: Any) -> NumaSkew:
    given = {"node": "n" if scope == "node" else "", "exclusive_cpus": 8, "free_cpus": 20, "largest_fit_cpus": 12}
    return row(NumaSkew, scope=scope, **(given | values))


def rejection(seconds: float, target: str = "n", **values: Any) -> RejectionRecord:
    """A pod that `target` rejected because nothing could be aligned on its NUMA nodes."""
    given = {
        "cluster": "c",
        "namespace": "shop",
        "uid": f"p{seconds}",
        "reason": "TopologyAffinityError",
        "message": "Resources cannot be allocated with Topology locality",
        "owner_kind": "ReplicaSet",
        "owner_name": "web-98cbc7457",
    }
    return RejectionRecord(ts=at(seconds), rejected_at=at(seconds), target=target, **(given | values))
