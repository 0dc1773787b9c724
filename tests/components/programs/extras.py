"""Smaller programs for load and failure tests: built on the first call, started by the tests that want them."""

from pathlib import Path

from components.programs.cache import cached
from components.programs.golang import build_programs, install_program


def toxiproxy_program() -> Path:
    """Toxiproxy: connections that are slow, cut or reset; controlled by its HTTP API (`-host`, `-port`)."""
    return _installed("toxiproxy", "github.com/Shopify/toxiproxy/v2/cmd/server", "v2.12.0")


def alertmanager_program() -> Path:
    """Alertmanager 0.27.0, the last whose module has its built web assets (contributing.md#real-components)."""
    return _installed("alertmanager", "github.com/prometheus/alertmanager/cmd/alertmanager", "v0.27.0")


def kwok_program() -> Path:
    """kwok: thousands of Ready nodes and Running pods on a real API server."""
    return _installed("kwok", "sigs.k8s.io/kwok/cmd/kwok", "v0.8.0")


def helm_program() -> Path:
    """Helm, which renders and lints the chart."""
    return _installed("helm", "helm.sh/helm/v3/cmd/helm", "v3.22.0")


def kubeconform_program() -> Path:
    """kubeconform: manifests against schemas of a folder."""
    return _installed("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0")


def actionlint_program() -> Path:
    """actionlint: the workflows of the release, whose expressions and keys GitHub would refuse at a tag."""
    return _installed("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", "v1.7.12")


def promtool_program() -> Path:
    """Prometheus' promtool, which checks and tests rules."""
    module, version = "github.com/prometheus/prometheus", "v0.55.1"
    folder = cached(
        "promtool", version, lambda unfinished: build_programs(module, version, ["cmd/promtool"], unfinished)
    )
    return folder / "bin/promtool"


def _installed(name: str, package: str, version: str) -> Path:
    folder = cached(name, version, lambda unfinished: install_program(package, version, unfinished))
    return folder / "bin" / package.rsplit("/", 1)[-1]
