"""JSON schemas for kubeconform, of what the real API server serves."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from components.cluster.kubernetes import Cluster


def write_schemas(cluster: Cluster, kinds: Iterable[str], folder: Path) -> str:
    """A file for each kind and version; gives kubeconform's schema location. Fields that a kind lacks are refused."""
    definitions = cluster.request("GET", "/openapi/v2")["definitions"]
    for definition in definitions.values():
        _be_strict(definition)
    wanted = {kind.lower() for kind in kinds}
    for name, definition in definitions.items():
        for each in definition.get("x-kubernetes-group-version-kind", ()):
            if each["kind"].lower() in wanted:
                parts = [each["kind"].lower(), each["group"].partition(".")[0], each["version"]]
                schema = {"$ref": f"#/definitions/{name}", "definitions": definitions}
                (folder / f"{'-'.join(filter(None, parts))}.json").write_text(json.dumps(schema))
    return f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"


def _be_strict(definition: Any) -> None:
    if definition.get("format") == "int-or-string":
        definition["type"] = ["string", "integer"]
    if "properties" in definition:
        definition.setdefault("additionalProperties", False)
