"""`deploy/helm/leadsman/README.md`: every value of the chart with its default, of the schema's descriptions."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from paths import ROOT

CHART: Final = "deploy/helm/leadsman"
_HEAD: Final = """# The Helm chart

```sh
kubectl create namespace leadsman
kubectl -n leadsman create secret generic leadsman-db \\
  --from-literal=LEADSMAN_DB=http://USER:PASSWORD@clickhouse:8123/leadsman
kubectl -n leadsman create secret generic leadsman-page \\
  --from-literal=LEADSMAN_DB=http://READER:PASSWORD@clickhouse:8123/leadsman \\
  --from-literal=token=$(openssl rand -hex 32)
helm install leadsman deploy/helm/leadsman --namespace leadsman --set cluster=prod \\
  --set kafka.bootstrapServers=kafka.leadsman:9092 --set image.repository=registry.example/leadsman
```

USER and READER are [users of ClickHouse](../../../docs/sre.md#database). Kafka and ClickHouse are yours, and so is
the image until it is published. In a second cluster on the same Kafka, install only `watch` and `agent`, with another
`cluster`: `--set work.enabled=false,land.enabled=false,alert.enabled=false,serve.enabled=false`. `deploy/kubernetes`
is this chart with its default values, rendered by `make manifests`.

## Values

Written by `make generate` from `values.schema.json` and `values.yaml`; do not edit.

| value | default | meaning |
|---|---|---|
"""


def chart_values() -> str:
    """The whole page."""
    schema = json.loads((ROOT / CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((ROOT / CHART / "values.yaml").read_text("utf-8"))
    return _HEAD + "".join(
        f"| `{name}` | {_default(default)} | {meaning} |\n" for name, default, meaning in documented(schema, values)
    )


def documented(schema: Mapping[str, Any], values: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any, str]]:
    """Every value with its default and meaning. Raises KeyError for one that has no description."""
    for name, default in values.items():
        described = schema["properties"][name]
        if inside := described.get("properties"):
            yield from documented({"properties": inside}, default, f"{at}{name}.")
        else:
            choices = " or ".join(f"`{each}`" for each in described.get("enum", ()))
            yield f"{at}{name}", default, described["description"] + (f" One of {choices}." if choices else "")


def _default(value: Any) -> str:
    return f"`{json.dumps(value)}`" if value not in ("", [], {}) else ""
