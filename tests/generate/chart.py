"""Describes every value of the chart, in its README and in the comments of `values.yaml`, as its schema does."""

import json
import re
import textwrap
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


_COMMENT: Final = (
    "# Values of the chart. `make generate` writes these comments from values.schema.json, which checks the values."
)
_WIDTH: Final = 118
_KEY: Final = re.compile(r"( *)([A-Za-z]+):")


def chart_values() -> str:
    """Return the whole page."""
    return _HEAD + "".join(f"| `{name}` | {_default(value)} | {meaning} |\n" for name, value, meaning in _every())


def commented_values() -> str:
    """Return `values.yaml` with the meaning of each value above it, which `helm show values` prints."""
    meanings = {name: each["description"] for name, each in _schema()["properties"].items()}
    meanings |= {name: meaning for name, _, meaning in _every()}
    lines, path = [_COMMENT, ""], list[str]()
    for line in _values().splitlines():
        if line.lstrip().startswith("#") or line == lines[-1] == "":
            continue
        if found := _KEY.match(line):
            indent, key = found.groups()
            path = [*path[: len(indent) // 2], key]
            meaning = textwrap.wrap(meanings.get(".".join(path), ""), _WIDTH - len(indent))
            lines += [f"{indent}# {each}" for each in meaning]
        lines.append(line)
    return "\n".join(lines) + "\n"


def _values() -> str:
    return (ROOT / CHART / "values.yaml").read_text("utf-8")


def _schema() -> Any:
    return json.loads((ROOT / CHART / "values.schema.json").read_text("utf-8"))


def _every() -> Iterator[tuple[str, Any, str]]:
    return documented(_schema(), yaml.safe_load(_values()))


def documented(schema: Mapping[str, Any], values: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield every value with its default and meaning. Raises KeyError for one that has no description."""
    for name, default in values.items():
        described = schema["properties"][name]
        if inside := described.get("properties"):
            yield from documented({"properties": inside}, default, f"{at}{name}.")
        else:
            *others, last = ("", *(f"`{each}`" for each in described.get("enum", ())))
            choices = f" One of {', '.join(others[1:])} or {last}." if last else ""
            yield f"{at}{name}", default, described["description"] + choices


def _default(value: Any) -> str:
    return f"`{json.dumps(value)}`" if value not in ("", [], {}) else ""
