"""The Helm chart: rendered by Helm, and the files of `deploy/kubernetes` that are made of it."""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from components.cluster.kubernetes import NEWEST
from components.programs.extras import helm_program
from paths import ROOT

CHART: Final = ROOT / "deploy" / "helm" / "leadsman"
MANIFESTS: Final = ROOT / "deploy" / "kubernetes"
RELEASE: Final = "leadsman"
_HEAD: Final = "# Rendered from deploy/helm/leadsman by `make manifests`; change it there.\n"


def helm(*arguments: str) -> str:
    """Return Helm's output; CalledProcessError with its stderr if it fails."""
    done = subprocess.run([helm_program(), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def template(*settings: str, release: str = RELEASE) -> dict[str, str]:
    """The chart's manifests by the name of their template; `settings` are `VALUE=...`."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [flag for setting in settings for flag in ("--set", setting)]
        where = [f"--namespace={release}", f"--kube-version={NEWEST}", f"--output-dir={folder}"]
        helm("template", release, str(CHART), *where, *flags)
        return {file.name: file.read_text() for file in sorted(Path(folder).rglob("*.yaml"))}


def manifests() -> Mapping[str, str]:
    """The files of `deploy/kubernetes`: the chart with its own values."""
    rendered = template("namespaces.create=true")
    return {
        name: _HEAD + "".join(line for line in text.splitlines(keepends=True) if not line.startswith("# Source:"))
        for name, text in rendered.items()
    }


def main() -> None:
    """Write them, and delete what the chart does not have."""
    files = manifests()
    for name, text in files.items():
        (MANIFESTS / name).write_text(text)
    for file in set(MANIFESTS.glob("*.yaml")) - {MANIFESTS / name for name in files}:
        file.unlink()


if __name__ == "__main__":
    main()
