"""Connects to the API server: kubeconfig or service account, always with the current token."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import yaml
from kubernetes_asyncio.client.configuration import Configuration
from kubernetes_asyncio.config.config_exception import ConfigException
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger, load_kube_config

from common.errors import ContextUnknown, KubeconfigUnusable
from common.text import plain
from ingest.apiserver.client_fixes import KubeconfigToken
from ingest.apiserver.kubeconfig import SETTING, existing, in_a_pod, named

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


async def configuration(kubeconfig: Path | None = None, context: str | None = None) -> Configuration:
    """Read how to reach the API server; tokens are reread for each request.

    Without a path: the service account inside a pod, else `$KUBECONFIG`, else `~/.kube/config`. Raises
    KubeconfigUnusable.
    """
    if in_a_pod(kubeconfig):
        return in_cluster(SERVICE_ACCOUNT)
    result = Configuration()
    result.refresh_api_key_hook = KubeconfigToken(await _load(kubeconfig, context, result))
    return result


async def context_name(kubeconfig: Path | None = None, context: str | None = None) -> str:
    """Return the name of the context that `configuration` uses; empty inside a pod. Raises KubeconfigUnusable."""
    if in_a_pod(kubeconfig):
        return ""
    loader = await _load(kubeconfig, context, Configuration())
    return str((loader.current_context or {}).get("name", ""))


def contexts(kubeconfig: Path | None = None) -> list[str]:
    """Return the names of a kubeconfig's contexts; none if it cannot be read."""
    return _contexts(named(kubeconfig))[1]


async def _load(kubeconfig: Path | None, context: str | None, into: Configuration) -> KubeConfigLoader:
    path = existing(kubeconfig)
    try:
        return await load_kube_config(path, context, into, persist_config=False)
    except Exception as error:
        # the loader raises any error for the file's content
        chosen, known = _contexts(path)
        wanted = context or chosen
        if known and wanted not in known:
            lacks = f"no context {plain(repr(wanted))}" if wanted else "no current context: name one with --context"
            raise ContextUnknown(f"kubeconfig {plain(path)} has {lacks}: it has {plain(', '.join(known))}") from error
        raise KubeconfigUnusable(f"kubeconfig {plain(path)} {_why(error)}: check the file") from error


def _why(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"is not YAML: {plain(error.problem)}{line}"
    if isinstance(error, ConfigException | OSError):
        return f"cannot be used: {plain(error)}"
    return "is not a kubeconfig"


def _contexts(path: str) -> tuple[str, list[str]]:
    """Return a file's current context, empty if it names none, and all names; no names for an unreadable file."""
    with suppress(Exception):  # as above
        if merged := KubeConfigMerger(path).config:
            return str(merged.value.get("current-context") or ""), [
                str(each["name"]) for each in merged.value["contexts"]
            ]
    return "", []


def in_cluster(directory: Path) -> Configuration:
    """Use the service account of the pod in which Leadsman runs; raises KubeconfigUnusable."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise KubeconfigUnusable(
            "KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set: name a file by --kubeconfig or"
            f"{SETTING} instead"
        )
    result = Configuration()
    result.host = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    result.ssl_ca_cert = str(directory / "ca.crt")

    def hook(target: Configuration) -> None:
        """Read the projected token before each request: the kubelet replaces it about every 50 minutes."""
        target.api_key["BearerToken"] = "Bearer " + (directory / "token").read_text(encoding="ascii").strip()

    try:
        hook(result)
        (directory / "ca.crt").read_bytes()
    except OSError as error:
        raise KubeconfigUnusable(
            f"service account: {error}: mount its token, or name a file by --kubeconfig or{SETTING}"
        ) from error
    result.refresh_api_key_hook = hook
    return result
