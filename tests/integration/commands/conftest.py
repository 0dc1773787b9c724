"""Fixtures of several commands."""

from pathlib import Path

import pytest

KUBECONFIG = """\
current-context: c
clusters: [{name: k, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """It can be read, and nothing answers at its address."""
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    return file
