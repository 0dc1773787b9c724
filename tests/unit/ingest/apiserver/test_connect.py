"""Kubeconfig and service account; tokens are read again for each request (delivery.md#watching)."""

import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.errors import ContextUnknown, KubeconfigUnusable
from ingest.apiserver.client_fixes import CredentialsError
from ingest.apiserver.connect import configuration, in_cluster

pytestmark = pytest.mark.asyncio


def _kubeconfig(path: Path, user: dict[str, Any]) -> Path:
    path.write_bytes(
        msgspec.json.encode(
            {
                "current-context": "c",
                "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            }
        )
    )
    return path


async def _token(access: Any) -> str:
    return str(await access.get_api_key_with_prefix("BearerToken"))


async def test_a_token_file_is_read_again_for_each_request(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    access = await configuration(_kubeconfig(tmp_path / "config", {"tokenFile": str(token)}))
    assert await _token(access) == "Bearer one"
    token.write_text("two\n")
    assert await _token(access) == "Bearer two"


async def test_a_credential_plugin_is_asked_again_when_its_token_expired(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "import json, pathlib\n"
        f"count = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "number = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(number))\n"
        "status = {'token': f't{number}', 'expirationTimestamp': '2020-01-01T00:00:00Z'}\n"
        "api = 'client.authentication.k8s.io/v1'\n"
        "print(json.dumps({'apiVersion': api, 'kind': 'ExecCredential', 'status': status}))\n"
    )
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(plugin)],
            "interactiveMode": "Never",
        }
    }
    access = await configuration(_kubeconfig(tmp_path / "config", user))
    assert await _token(access) == "Bearer t2"
    plugin.unlink()
    with pytest.raises(CredentialsError):
        await _token(access)


async def test_a_service_account_token_is_read_again_for_each_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "token").write_text("one\n")
    (tmp_path / "ca.crt").write_text("ca")
    access = in_cluster(tmp_path)
    (tmp_path / "token").write_text("two\n")
    assert access.host == "https://[fd00::1]:443"
    assert await _token(access) == "Bearer two"


async def test_a_service_account_without_a_token_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(KubeconfigUnusable, match="mount its token"):
        in_cluster(tmp_path)


async def test_a_kubeconfig_that_does_not_exist_says_which_flag_and_setting(tmp_path: Path) -> None:
    """`leadsman validate` and `doctor` have no such flag."""
    with pytest.raises(
        KubeconfigUnusable, match=r"missing does not exist: name a file by --kubeconfig .*watch\.kubeconfig"
    ):
        await configuration(tmp_path / "missing")


@pytest.mark.parametrize("content", ["", "{", "[]", "5", "current-context: x", '{"clusters": 5}'])
async def test_an_invalid_kubeconfig_is_a_clear_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(KubeconfigUnusable, match="check the file"):
        await configuration(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not a kubeconfig"),
        ("a: b\nnot: [yaml", "is not YAML: expected ',' or ']', but got '<stream end>', line 2"),
        ("current-context: x", "cannot be used: "),
    ],
)
async def test_an_invalid_kubeconfig_is_described_without_pythons_words(
    tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(KubeconfigUnusable, match=re.escape(words)) as failure:
        await configuration(path)
    assert "NoneType" not in str(failure.value)
    with pytest.raises(KubeconfigUnusable, match="is not a file: name a file by --kubeconfig"):
        await configuration(tmp_path)


async def test_without_a_current_context_the_contexts_are_named(tmp_path: Path) -> None:
    path = _kubeconfig(tmp_path / "config", {"token": "one"})
    path.write_text(path.read_text().replace('"current-context":"c",', ""))
    with pytest.raises(ContextUnknown, match="has no current context: name one with --context: it has "):
        await configuration(path)


async def test_an_unknown_context_is_a_clear_error(tmp_path: Path) -> None:
    path = _kubeconfig(tmp_path / "config", {"token": "one"})
    with pytest.raises(KubeconfigUnusable, match="nowhere"):
        await configuration(path, "nowhere")
