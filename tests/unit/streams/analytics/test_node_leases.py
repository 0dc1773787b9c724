"""The age of Leases is reported (rules: nodes-that-do-not-report)."""

import json
from pathlib import Path

import pytest

from ingest.files.sources import read_sources
from ingest.model.observation import Observed
from ingest.model.records import NodeLeaseRecord
from ingest.normalize.normalize import normalize
from streams.analytics.stateless import NODE_LEASES
from streams.fold.findings import NodeLease


def ages(file: Path, **renewed: str) -> dict[str, float | None]:
    """Return the ages of Leases that `kubectl get lease -n kube-node-lease -o json` saved."""
    items = [
        {"kind": "Lease", "metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": {"renewTime": at}}
        for name, at in renewed.items()
    ]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    found: dict[str, float | None] = {}
    for entry in read_sources([file]):
        assert isinstance(entry, Observed)
        for record in normalize(entry.observation):
            assert isinstance(record, NodeLeaseRecord)
            _, rows = NODE_LEASES.step(NODE_LEASES.state(), record)
            found |= {row.node: row.age_seconds for row in rows if isinstance(row, NodeLease)}
    return found


def test_a_lease_that_is_the_newest_of_a_saved_file_is_of_unknown_age(tmp_path: Path) -> None:
    """When the file was saved is not in it: alone, that of a node that has been gone for a day would be fresh."""
    file = tmp_path / "leases.json"
    assert ages(file, gone="2026-11-23T10:00:00.000000Z") == {"gone": None}
    assert ages(file, gone="2026-11-23T10:00:00.000000Z", n1="2026-11-23T10:01:00.500000Z") == {
        "gone": 60.5,
        "n1": None,
    }


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59.999999-23:59", "0001-01-01T00:00:00+23:59"])
def test_no_time_of_a_lease_is_too_odd(tmp_path: Path, at: str) -> None:
    assert ages(tmp_path / "leases.json", odd=at, n1="2026-11-23T10:00:00Z")["n1"] is None
