"""An OpenTelemetry Collector with what kubelets and ClickHouse take, by the collector's own builder."""

from pathlib import Path
from typing import Final

import yaml

from components.programs.cache import cached, run_step
from components.programs.golang import GO, install_program

VERSION: Final = "v0.149.0"
_PROVIDERS: Final = "v1.55.0"
_CORE: Final = "go.opentelemetry.io/collector"
_CONTRIB: Final = "github.com/open-telemetry/opentelemetry-collector-contrib"
_MANIFEST: Final = {
    "dist": {"name": "otelcol", "output_path": "./source", "version": VERSION.removeprefix("v")},
    "receivers": [{"gomod": f"{_CONTRIB}/receiver/kubeletstatsreceiver {VERSION}"}],
    "processors": [{"gomod": f"{_CORE}/processor/batchprocessor {VERSION}"}],
    "exporters": [
        {"gomod": f"{_CORE}/exporter/nopexporter {VERSION}"},
        {"gomod": f"{_CONTRIB}/exporter/clickhouseexporter {VERSION}"},
    ],
    "providers": [
        {"gomod": f"{_CORE}/confmap/provider/envprovider {_PROVIDERS}"},
        {"gomod": f"{_CORE}/confmap/provider/fileprovider {_PROVIDERS}"},
    ],
}


def collector_program() -> Path:
    """OpenTelemetry Collector v0.149.0, of which every module is to be had; later ones lack some."""
    return cached("otelcol", VERSION, _build) / "source" / "otelcol"


def _build(folder: Path) -> None:
    install_program(f"{_CORE}/cmd/builder", VERSION, folder)
    (folder / "manifest.yaml").write_text(yaml.safe_dump(_MANIFEST))
    build = [f"{folder}/bin/builder", "--config=manifest.yaml"]
    run_step(f"OpenTelemetry Collector {VERSION}: building", build, folder, {"GOFLAGS": f"{GO['GOFLAGS']} -p=1"})
