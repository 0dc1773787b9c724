"""The same reducers over the same records by four frameworks, one process each, one after the other."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

from bench.faust_path import Stage, drain, folding
from bench.generate import observations
from components.clickhouse import ClickHouseHttp
from components.kafka import Kafka
from components.pipeline import Pipeline
from components.processes import Process
from components.programs.cache import cached, run_step
from ingest.model.topics import Headers, encode_record, headers_of, key_of
from ingest.normalize.normalize import normalize
from paths import IMPORTS

from .ground import MIB
from .peer_fold import PROGRESS
from .tables import table

QUIX: Final = "3.28.1"
BYTEWAX: Final = "0.21.1"
OURS: Final = "Leadsman: Faust, a batch at a time"
STATE_SECONDS: Final = 5
"""Between two writes of states: as long as Quix Streams takes between two commits."""
_SITE: Final = "import sysconfig; print(sysconfig.get_path('purelib'))"


class _Records:
    """The messages of both logs, as the watcher would send them."""

    def __init__(self, nodes: int, pods: int, samples: int) -> None:
        self.of_nodes: list[tuple[bytes, bytes, Headers]] = []
        self.of_clusters: list[tuple[bytes, bytes, Headers]] = []
        for place, seen in enumerate(observations(nodes=nodes, pods=pods, samples=samples)):
            for number, record in enumerate(normalize(seen)):
                headers = headers_of(record, f"bench@{place}#{number}")
                message = (key_of(record.cluster, record.node), encode_record(record), headers)
                (self.of_nodes if record.node else self.of_clusters).append(message)


def peers_python() -> Path:
    """Python with the peers; behind them, what our own environment has."""

    def build(folder: Path) -> None:
        uv = [str(Path(sys.executable).with_name("uv"))]
        python = folder / "bin" / "python"
        run_step("peers: an environment", [*uv, "venv", "--quiet", "--allow-existing", str(folder)], folder)
        wanted = [f"quixstreams=={QUIX}", f"bytewax[kafka]=={BYTEWAX}"]
        run_step("peers: installing", [*uv, "pip", "install", "--quiet", "--python", str(python), *wanted], folder)
        own = subprocess.run([python, "-c", _SITE], check=True, capture_output=True, text=True).stdout.strip()
        ours = subprocess.run([sys.executable, "-c", _SITE], check=True, capture_output=True, text=True).stdout
        Path(own, "leadsman-dependencies.pth").write_text(ours)

    return cached("peers", f"quix-{QUIX}-bytewax-{BYTEWAX}", build) / "bin" / "python"


def run(folder: Path, nodes: int, pods: int, samples: int, rounds: int) -> list[Sequence[Stage]]:
    """The rounds of each."""
    python, records = peers_python(), _Records(nodes, pods, samples)
    kafka = Kafka(folder).start()
    try:
        with ClickHouseHttp(folder / "db") as http:
            each = [list(_round(kafka, http, folder / str(n), python, records)) for n in range(rounds)]
    finally:
        kafka.stop()
    return list(zip(*each, strict=True))


def _round(kafka: Kafka, http: ClickHouseHttp, folder: Path, python: Path, records: _Records) -> Iterator[Stage]:
    systems: list[tuple[str, Callable[[Pipeline, Path], tuple[Process, Callable[[], int]]]]] = [
        (OURS, lambda pipeline, _: folding(pipeline, STATE_SECONDS)),
        (
            f"Faust {version('faust-streaming')} as its documentation has it",
            lambda pipeline, at: (
                _process(pipeline, at, Path(sys.executable), "bench.idiomatic"),
                pipeline.waiting_for_work,
            ),
        ),
        (f"Quix Streams {QUIX}, state in RocksDB", lambda pipeline, at: _peer(pipeline, at, python, "peer_quix")),
        (f"Bytewax {BYTEWAX}, state in memory", lambda pipeline, at: _peer(pipeline, at, python, "peer_bytewax")),
    ]
    for number, (name, start) in enumerate(systems):
        at = folder / str(number)
        at.mkdir(parents=True)
        pipeline = Pipeline(kafka, http.dsn(f"peer{number}_{folder.name}"), at)
        of_nodes, of_clusters = pipeline.topics.nodes.name, pipeline.topics.cluster.name
        for topic, messages in ((of_nodes, records.of_nodes), (of_clusters, records.of_clusters)):
            pipeline.send(topic, messages)
        part, waiting = start(pipeline, at)
        yield drain(name, waiting, part)


def _peer(pipeline: Pipeline, at: Path, python: Path, module: str) -> tuple[Process, Callable[[], int]]:
    backlog, progress = pipeline.waiting_for_work(), at / "progress"
    progress.write_text("0")
    return (
        _process(pipeline, at, python, f"bench.scale.{module}"),
        lambda: max(0, backlog - int(progress.read_text())),
    )


def _process(pipeline: Pipeline, at: Path, python: Path, module: str) -> Process:
    env = pipeline.environment("work", "0") | {
        "PYTHONPATH": IMPORTS,
        PROGRESS: str(at / "progress"),
        "LEADSMAN_SCALE_STATE": str(at / "state"),
    }
    return Process(module, [str(python), "-m", module], at / "peer.log", env)


def text(measured: Sequence[Sequence[Stage]]) -> str:
    """The outcome as Markdown: medians, with the least and the most of the rounds."""
    ours = measured[0]
    head = ("", "messages", "a second", "CPU µs each", "MiB", "Leadsman's speed to its", "its CPU to Leadsman's")
    return table(
        head,
        [
            (
                each[0].name,
                f"{each[0].messages:,}",
                _spread(stage.rate for stage in each),
                _spread(stage.cpu_micros for stage in each),
                f"{max(stage.peak_bytes for stage in each) / MIB:,.0f}",
                f"{median(stage.rate for stage in ours) / median(stage.rate for stage in each):.1f}",
                f"{median(stage.cpu_micros for stage in each) / median(stage.cpu_micros for stage in ours):.1f}",
            )
            for each in measured
        ],
    )


def _spread(figures: Iterable[float]) -> str:
    found = list(figures)
    return f"{median(found):,.0f} ({min(found):,.0f} to {max(found):,.0f})"
