"""The content of a source, raw for programs."""

from typing import Any

from ingest.files.inspection import Inspection
from leadsman.cli.present.tables import as_objects, raw_rows
from sql.database.open import Result


def counted(inspection: Inspection) -> Result:
    rows = ((*kind, number) for kind, number in sorted(inspection.counts.items()))
    return raw_rows(("source", "resource", "type", "count"), rows)


def document(inspection: Inspection) -> dict[str, Any]:
    nodes = ((*node, version) for node, version in inspection.nodes.items())
    return {
        "observations": inspection.observations,
        "first": inspection.first,
        "last": inspection.last,
        "clusters": inspection.clusters,
        "counts": as_objects(counted(inspection)),
        "nodes": as_objects(raw_rows(("cluster", "node", "kubelet_version"), nodes)),
        **{name: [each._asdict() for each in getattr(inspection, name)] for name in ("gaps", "errors", "unreadable")},
        "largest": inspection.largest._asdict() if inspection.largest else None,
        "skipped": dict(sorted(inspection.skipped.items())),
        "refused": inspection.refused,
    }
