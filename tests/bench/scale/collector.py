"""One OpenTelemetry Collector for all stub kubelets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from components.processes import HOST, Process, free_port
from components.programs.collector import collector_program
from components.secured import Authority

from .ground import figures
from .nodes import INTERVAL_SECONDS
from .stubs import address

_BATCH: Final = {"timeout": "5s", "send_batch_size": 100_000}


class Collector:
    """One that runs, with its telemetry."""

    def __init__(self, folder: Path, kubelets: Mapping[str, Any], export: Mapping[str, Any]) -> None:
        folder.mkdir()
        self._port = free_port()
        config = folder / "collector.yaml"
        config.write_text(yaml.safe_dump(_config(kubelets, export, self._port)))
        self.process = Process(
            "collector", [str(collector_program()), f"--config={config}"], folder / "collector.log"
        )

    def start(self) -> None:
        self.process.start()
        self.process.await_ready(lambda: bool(self.figures()))

    def figures(self) -> Mapping[tuple[str, ...], float]:
        return figures(self._port)


def _config(kubelets: Mapping[str, Any], export: Mapping[str, Any], port: int) -> dict[str, Any]:
    """Batches only where something takes them; of telemetry, what it has anyway."""
    reader = {"pull": {"exporter": {"prometheus": {"host": HOST, "port": port}}}}
    batched = "nop" not in export
    pipeline = {"receivers": list(kubelets), "exporters": list(export)}
    return {
        "receivers": dict(kubelets),
        "exporters": dict(export),
        **({"processors": {"batch": _BATCH}} if batched else {}),
        "service": {
            "telemetry": {"logs": {"level": "warn"}, "metrics": {"level": "normal", "readers": [reader]}},
            "pipelines": {"metrics": pipeline | ({"processors": ["batch"]} if batched else {})},
        },
    }


def kubelets_of(folder: Path, port: int, count: int) -> dict[str, Any]:
    """A receiver for each node, with all its groups, over TLS that believes every certificate, as Leadsman's does.

    They begin one after the other over an interval.
    """
    authority = Authority(folder, "collector")
    certificate, key = map(str, authority.issue("collector"))
    return {
        f"kubeletstats/{node}": {
            "collection_interval": f"{INTERVAL_SECONDS:g}s",
            "initial_delay": f"{node * round(INTERVAL_SECONDS * 1000) // count + 1}ms",
            "auth_type": "tls",
            "ca_file": str(authority.ca_file),
            "cert_file": certificate,
            "key_file": key,
            "insecure_skip_verify": True,
            "endpoint": f"https://{address(node)}:{port}",
            "metric_groups": ["node", "pod", "container", "volume"],
        }
        for node in range(count)
    }
