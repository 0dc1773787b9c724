"""Finds the kubeconfig without reading it, before slow imports: a wrong name is the most common mistake."""

import os
from pathlib import Path
from typing import Final

from common.errors import KubeconfigUnusable
from common.text import plain

DEFAULT: Final = "~/.kube/config"
SETTING: Final = " as watch.kubeconfig in the settings"
"""The other way to name a file: `leadsman validate` and `doctor` have no --kubeconfig."""


def in_a_pod(kubeconfig: Path | None) -> bool:
    """Tell whether the pod's service account is used, and no kubeconfig."""
    return kubeconfig is None and bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def named(kubeconfig: Path | None) -> str:
    return str(kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT)


def existing(kubeconfig: Path | None) -> str:
    """Return the path, or several as $KUBECONFIG lists them, of which one exists. Raises KubeconfigUnusable."""
    path = named(kubeconfig)
    parts = [Path(part).expanduser() for part in path.split(os.pathsep)]
    if not any(part.is_file() for part in parts):
        what = "is not a file" if any(part.exists() for part in parts) else "does not exist"
        remedy = f"name a file by --kubeconfig or KUBECONFIG, or{SETTING}"
        raise KubeconfigUnusable(f"kubeconfig {plain(path)} {what}: {remedy}")
    return path


def check(kubeconfig: Path | None) -> None:
    """Raises KubeconfigUnusable if a kubeconfig is needed and does not exist."""
    if not in_a_pod(kubeconfig):
        existing(kubeconfig)
