"""The pictures of `docs/architecture.md`: the layers, from the import contracts, and the data flow."""

import tomllib
from collections.abc import Iterator
from html import escape
from typing import Any, Final, NamedTuple

from paths import ROOT

WIDTH: Final = 760
_TIER: Final = 36
_GAP: Final = 10
_STYLE: Final = """<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2933; text-anchor: middle; dominant-baseline: central }
  .layer { fill: #f3f5f7; stroke: #b8c2cc } .name { font-weight: 600; text-anchor: start }
  .package { fill: #fff; stroke: #3e6fb0 } .topic { fill: #fdf3d8; stroke: #b8860b }
  .other { fill: #eee; stroke: #888 }
  .note { font-size: 11.5px; fill: #52606d } line { stroke: #52606d; stroke-width: 1.5 }
  #tip path { fill: #52606d }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } .note { fill: #9aa5b1 } .layer { fill: #1f2933; stroke: #52606d } line { stroke: #9aa5b1 }
    .package { fill: #243b53; stroke: #7fa7dd } .topic { fill: #4a3b0d; stroke: #d9a520 } .other { fill: #3a4149 }
    #tip path { fill: #9aa5b1 }
  }
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
  <path d="M0 0 8 4 0 8z"/></marker></defs>"""

NOTES: Final = {
    "leadsman.cli": "commands",
    "leadsman.run": "settings and wiring",
    "common": "time, text, processes, telemetry, TLS",
}
"""Modules of a layer that has no packages."""


def layers() -> str:
    """The layers from the highest to the lowest, and the packages of each; read from `pyproject.toml`."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    packages = {
        each["containers"][0]: _tiers(each) for each in contracts if each["type"] == "layers" and _inner(each)
    }
    parts: list[str] = []
    y, rank = _GAP, 0
    for layer in next(each["layers"] for each in contracts if each["type"] == "layers" and not _inner(each)):
        tiers = packages.get(layer, [[""]])
        height = len(tiers) * _TIER + 8
        parts.append(_rect("layer", 0, y, WIDTH - 70, height))
        parts.append(text("name", 12, y + height / 2, layer))
        for number, tier in enumerate(tiers):
            parts += _tier(layer, tier, y + 4 + number * _TIER, rank, packages)
            rank += 1
        y += height + _GAP
    parts += _sides(y - _GAP)
    return svg(y, "Seven layers and their packages", parts)


def _inner(contract: dict[str, Any]) -> bool:
    return "containers" in contract


def _tiers(contract: dict[str, Any]) -> list[list[str]]:
    return [[package.strip() for package in layer.split("|")] for layer in contract["layers"]]


def _tier(layer: str, tier: list[str], y: float, rank: int, packages: dict[str, list[list[str]]]) -> Iterator[str]:
    start, width = 126, WIDTH - 70 - 126 - 6
    each_width = width / len(tier)
    for number, package in enumerate(tier):
        name = f"{layer}.{package}" if package else layer
        inner = ", ".join(name for tier in packages.get(name, ()) for name in tier)
        x = start + number * each_width
        data = f' data-package="{name}" data-rank="{rank}"'
        yield _rect("package", x, y + 3, each_width - 6, _TIER - 6, data)
        label = f"{package}: {inner}" if inner else package or NOTES[layer]
        yield text("" if package else "note", x + (each_width - 6) / 2, y + _TIER / 2, label)


def _sides(bottom: float) -> Iterator[str]:
    """On the right: which way data flow, and which way imports point."""
    for x, label, start, end in (
        (WIDTH - 48, "data", bottom - 10, _GAP + 10),
        (WIDTH - 18, "imports", _GAP + 10, bottom - 10),
    ):
        yield f'<line x1="{x}" y1="{start}" x2="{x}" y2="{end}" marker-end="url(#tip)"/>'
        middle = bottom / 2
        yield f'<text class="note" transform="translate({x - 9} {middle:g}) rotate(-90)">{label}</text>'


class Arrow(NamedTuple):
    start: str
    end: str
    at: float | None = None
    """The column that it runs down; the middle of what both boxes share where none is given."""


class Box(NamedTuple):
    """A box on a grid of four columns; `kind` is `package`, `topic` or `other`; `names` are its modules or topics."""

    row: int
    column: int
    columns: int
    kind: str
    names: tuple[str, ...]
    note: str = ""


_COLUMN: Final = WIDTH / 4
_ROW: Final = 62
_BOX: Final = 42
BOXES: Final = {
    "api": Box(0, 0, 1, "other", ("API server",)),
    "kubelets": Box(0, 1, 1, "other", ("kubelets",)),
    "node": Box(0, 2, 1, "other", ("nodes",)),
    "captures": Box(0, 3, 1, "other", ("captures",)),
    "apiserver": Box(1, 0, 1, "package", ("ingest.apiserver",), "list and watch"),
    "kubelet": Box(1, 1, 1, "package", ("ingest.kubelet",), "poll"),
    "agent": Box(1, 2, 1, "package", ("ingest.node",), "agent"),
    "files": Box(1, 3, 1, "package", ("ingest.files",), "captures and dumps"),
    "live": Box(2, 0, 2, "package", ("ingest.live",), "observations of one cluster, without secrets"),
    "normalize": Box(3, 0, 4, "package", ("ingest.normalize",), "observations to records"),
    "publish": Box(4, 0, 3, "package", ("ingest.kafka",), "publish in order, until Kafka has acknowledged"),
    "records": Box(5, 0, 3, "topic", ("leadsman.nodes", "leadsman.cluster"), "one log per node, one log per cluster"),
    "worker": Box(6, 0, 3, "package", ("streams.kafka",), "workers; states in changelogs"),
    "local": Box(6, 3, 1, "package", ("streams.local",), "without a broker"),
    "fold": Box(7, 0, 4, "package", ("streams.fold", "streams.analytics", "streams.alerting"), "records to findings"),
    "alerts": Box(8, 0, 1, "topic", ("leadsman.alerts",)),
    "findings": Box(8, 1, 2, "topic", ("leadsman.findings", "leadsman.dead-letters")),
    "receivers": Box(9, 0, 1, "package", ("streams.alerting.receivers",)),
    "consumer": Box(9, 1, 2, "package", ("streams.kafka.landing",), "intent, insert, commit; samples of nodes, too"),
    "landing": Box(10, 1, 3, "package", ("sql.landing",), "rows into tables"),
    "clickhouse": Box(11, 1, 3, "other", ("ClickHouse",), "tables and views, embedded or a server"),
    "receiver": Box(12, 0, 1, "other", ("Alertmanager, ...",), "webhooks, Slack"),
    "questions": Box(12, 1, 1, "package", ("sql.questions",), "saved queries"),
    "page": Box(12, 2, 1, "package", ("leadsman.web",), "page and report"),
    "grafana": Box(12, 3, 1, "other", ("Grafana",), "dashboards"),
}
ARROWS: Final = (
    Arrow("api", "apiserver"),
    Arrow("kubelets", "kubelet"),
    Arrow("node", "agent"),
    Arrow("captures", "files"),
    Arrow("apiserver", "live"),
    Arrow("kubelet", "live"),
    Arrow("live", "normalize"),
    Arrow("agent", "normalize"),
    Arrow("files", "normalize"),
    Arrow("normalize", "publish"),
    Arrow("normalize", "local"),
    Arrow("publish", "records"),
    Arrow("records", "worker"),
    Arrow("worker", "fold"),
    Arrow("local", "fold"),
    Arrow("fold", "alerts"),
    Arrow("fold", "findings"),
    Arrow("fold", "landing", at=3.5),
    Arrow("alerts", "receivers"),
    Arrow("receivers", "receiver"),
    Arrow("findings", "consumer"),
    Arrow("consumer", "landing"),
    Arrow("landing", "clickhouse"),
    Arrow("clickhouse", "questions"),
    Arrow("clickhouse", "page"),
    Arrow("clickhouse", "grafana"),
)
"""All point down. Where both ends are packages, one imports the other, or a package above imports both."""


def observation() -> str:
    """The data flow, from a source at the top to people at the bottom."""
    parts = [part for arrow in ARROWS for part in _arrow(arrow)]
    parts += [part for box in BOXES.values() for part in _box(box)]
    return svg(13 * _ROW, "The data flow", parts)


def _box(box: Box) -> Iterator[str]:
    x, y, width = box.column * _COLUMN + 6, box.row * _ROW + 8, box.columns * _COLUMN - 12
    yield _rect(box.kind, x, y, width, _BOX)
    middle = x + width / 2
    yield text("", middle, y + (_BOX / 2 if not box.note else 14), ", ".join(box.names))
    if box.note:
        yield text("note", middle, y + 30, box.note)


def _arrow(arrow: Arrow) -> Iterator[str]:
    above, below = BOXES[arrow.start], BOXES[arrow.end]
    left = max(above.column, below.column)
    right = min(above.column + above.columns, below.column + below.columns)
    x = ((left + right) / 2 if arrow.at is None else arrow.at) * _COLUMN
    y1, y2 = above.row * _ROW + 8 + _BOX, below.row * _ROW + 8
    yield f'<line x1="{x:g}" y1="{y1}" x2="{x:g}" y2="{y2}" marker-end="url(#tip)"/>'


def _rect(kind: str, x: float, y: float, width: float, height: float, data: str = "") -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"{data}/>'


def text(kind: str, x: float, y: float, content: str) -> str:
    """One line, in the middle of a point."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:g}" y="{y:g}">{escape(content)}</text>'


def svg(height: float, title: str, parts: list[str]) -> str:
    """A picture in the style of all."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">'
    return "\n".join([head, f"<title>{title}</title>", _STYLE, *parts, "</svg>\n"])
