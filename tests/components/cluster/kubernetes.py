"""A Kubernetes control plane: etcd, kube-apiserver, kube-scheduler and kube-controller-manager on loopback ports."""

import json
import os
import secrets
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from components.processes import HOST, Process, free_port
from components.programs.cache import cached, tool
from components.programs.debian import unpacked
from components.programs.golang import build_programs
from waiting import PATIENCE_SECONDS

NEWEST: Final = "1.36.3"
VERSION: Final = os.environ.get("COMPONENTS_KUBERNETES", NEWEST)
"""Version that is built and run; `COMPONENTS_KUBERNETES=1.33.13` selects another."""
PROGRAMS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet")
VERSION_FLAG: Final = f"-s -w -X k8s.io/component-base/version.gitVersion=v{VERSION}"

THRIFTY: Final = {"GOMAXPROCS": "1", "GOGC": "400"}
"""Environment of programs that share the machine's processors, and have memory instead."""

USERS: Final[Mapping[str, str]] = {
    "admin": "system:masters",
    "system:kube-scheduler": "",
    "leadsman": "",
    "nobody": "",
}
"""Users and their groups. `leadsman` may do nothing until a test grants it; `nobody` stays so."""


def kubernetes_programs() -> Path:
    """The folder of kube-apiserver, kubelet and the others, built on the first call (about 10 minutes)."""

    def build(folder: Path) -> None:
        packages = [f"cmd/{program}" for program in PROGRAMS]
        build_programs("k8s.io/kubernetes", f"v{VERSION}", packages, folder, VERSION_FLAG)

    return cached("kubernetes", VERSION, build) / "bin"


def etcd_program() -> Path:
    """The etcd of this machine's Debian release."""
    return unpacked("etcd", ["etcd-server"]) / "usr" / "bin" / "etcd"


class ApiError(RuntimeError):
    """The API server refused; `status` is its HTTP status."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"HTTP {status}: {body}")
        self.status = status


class Cluster:
    """A control plane without nodes; everything it keeps is in `folder`.

    `flags` go over those of kube-apiserver (`{"watch-cache": "false"}`). `url`, `ca_file`, `token(user)` and
    `kubeconfig(user)` are for clients, `scheduler_url` and `scheduler_ca_file` for those of its scheduler; `kubectl`
    and `request` are for tests, as admin. One that is not `managed` has neither scheduler nor controllers.
    """

    def __init__(
        self,
        folder: Path,
        flags: Mapping[str, str] | None = None,
        nodes: tuple[str, ...] = (),
        *,
        managed: bool = True,
    ) -> None:
        self.folder = folder
        self._programs = kubernetes_programs()
        self._etcd_url = f"http://{HOST}:{free_port()}"
        self.port = free_port()
        self.url = f"https://{HOST}:{self.port}"
        self.ca_file = folder / "pki" / "apiserver.crt"
        groups = {**USERS, **{f"system:node:{node}": "system:nodes" for node in nodes}}
        self._tokens = {user: secrets.token_hex(16) for user in groups}
        lines = [f'{self._tokens[user]},{user},{user},"{group}"\n' for user, group in groups.items()]
        (folder / "tokens.csv").write_text("".join(lines))
        self._service_account_key = folder / "service-account.pem"
        self.etcd = Process("etcd", self._etcd_command(), folder / "etcd.log", THRIFTY)
        command = self._api_server_command(flags or {})
        self.api_server = Process("kube-apiserver", command, folder / "apiserver.log", THRIFTY)
        scheduler_port = str(free_port())
        self.scheduler_url = f"https://{HOST}:{scheduler_port}"
        self.scheduler_ca_file = folder / "scheduler-pki" / "kube-scheduler.crt"
        serving = {"secure-port": scheduler_port, "cert-dir": str(self.scheduler_ca_file.parent)}
        self._managers = [self._manager("kube-scheduler", serving), self._controller_manager()] if managed else []

    def start(self) -> "Cluster":
        """Start all; returns when the API server is ready and the default service account exists, which pods need."""
        self._make_service_account_key()
        self._start_etcd()
        self.start_api_server()
        for user in self._tokens:
            self._write_kubeconfig(user)
        for manager in self._managers:
            manager.start()
        for manager in self._managers:
            manager.await_ready(lambda: self._exists("/api/v1/namespaces/default/serviceaccounts/default"))
        return self

    def stop(self) -> None:
        """Stop all, the API server before etcd."""
        for process in (*reversed(self._managers), self.api_server, self.etcd):
            process.stop(timeout_seconds=10)

    def start_api_server(self) -> None:
        """Start it again, on the same port, with the same certificate and tokens."""
        self.api_server.start()
        self.api_server.await_ready(lambda: self.ca_file.exists() and self._exists("/readyz"))

    def restart_api_server(self) -> None:
        """A new API server with an empty watch cache; open watches end."""
        self.api_server.stop(timeout_seconds=3)  # with open watches it would take its time
        self.start_api_server()

    def keep(self, snapshot: Path) -> None:
        """Take a snapshot of etcd, which is away meanwhile."""
        self.etcd.stop()
        shutil.copytree(self.folder / "etcd", snapshot)
        self._start_etcd()

    def restore(self, snapshot: Path) -> None:
        """Restore etcd, with an API server that remembers nothing else."""
        self.api_server.stop(timeout_seconds=3)
        self.etcd.stop()
        shutil.rmtree(self.folder / "etcd")
        shutil.copytree(snapshot, self.folder / "etcd")
        self._start_etcd()
        self.start_api_server()

    def compact(self) -> int:
        """Compact etcd to its newest revision and return that: watches from older versions get 410.

        The API server's watch cache still knows older versions until it is restarted.
        """
        newest = int(self._etcd("kv/range", {"key": "AA=="})["header"]["revision"])
        self._etcd("kv/compaction", {"revision": newest, "physical": True})
        return newest

    def token(self, user: str = "admin") -> str:
        return self._tokens[user]

    def kubeconfig(self, user: str = "admin") -> Path:
        return self.folder / f"{user.replace(':', '-')}.kubeconfig"

    def kubectl(self, *arguments: str, stdin: str = "", user: str = "admin") -> str:
        """Return kubectl's output; CalledProcessError with its stderr if it fails."""
        command = [str(self._programs / "kubectl"), f"--kubeconfig={self.kubeconfig(user)}", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout

    def request(
        self, method: str, path: str, body: object = None, *, user: str = "admin", patch: str = "merge"
    ) -> Any:
        """One call of the API, JSON in and out; ApiError when it refuses. `patch`: merge or strategic-merge."""
        kind = f"application/{patch}-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._tokens[user]}", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310  # always https
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS, context=self._tls()) as answer:  # noqa: S310  # see above
                raw = answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                raise ApiError(refused.code, refused.read().decode(errors="replace")) from None
        return json.loads(raw) if raw[:1] in (b"{", b"[") else raw.decode()

    def make_namespace(self, name: str, **metadata: object) -> None:
        """Create a namespace where pods can be created at once."""
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, **metadata}})
        with suppress(ApiError):  # pods need it; the controller that makes it may have been faster, or be slow
            self.request("POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})

    def program(self, name: str) -> Path:
        """The path of one of PROGRAMS."""
        return self._programs / name

    def _start_etcd(self) -> None:
        self.etcd.start()
        self.etcd.await_ready(lambda: _answers(f"{self._etcd_url}/health"))

    def _exists(self, path: str) -> bool:
        try:
            self.request("GET", path)
        except (ApiError, OSError):
            return False
        return True

    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca_file))

    def _etcd(self, call: str, body: Mapping[str, object]) -> Any:
        data = json.dumps(body).encode()
        with urllib.request.urlopen(f"{self._etcd_url}/v3/{call}", data, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310  # http
            return json.load(answer)

    def _etcd_command(self) -> list[str]:
        peer = f"http://{HOST}:{free_port()}"
        flags = {
            "data-dir": str(self.folder / "etcd"),
            "listen-client-urls": self._etcd_url,
            "advertise-client-urls": self._etcd_url,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
        }
        return [str(etcd_program()), *_as_flags(flags)]

    def _api_server_command(self, more: Mapping[str, str]) -> list[str]:
        flags = {
            "etcd-servers": self._etcd_url,
            "bind-address": HOST,
            "advertise-address": HOST,
            "endpoint-reconciler-type": "none",  # it would refuse to publish a loopback address
            "secure-port": str(self.port),
            "cert-dir": str(self.folder / "pki"),
            "token-auth-file": str(self.folder / "tokens.csv"),
            "authorization-mode": "Node,RBAC",
            "service-account-issuer": "https://leadsman.example",
            "service-account-signing-key-file": str(self._service_account_key),
            "service-account-key-file": str(self._service_account_key),
            "service-cluster-ip-range": "10.96.0.0/24",
            **more,
        }
        return [str(self.program("kube-apiserver")), *_as_flags(flags)]

    def _controller_manager(self) -> Process:
        key, certificate = str(self._service_account_key), str(self.ca_file)
        return self._manager(
            "kube-controller-manager",
            {
                "service-account-private-key-file": key,
                "root-ca-file": certificate,
                "flex-volume-plugin-dir": str(self.folder / "volume-plugins"),
            },
            user="admin",
        )

    def _manager(self, program: str, more: Mapping[str, str], user: str = "system:kube-scheduler") -> Process:
        config = str(self.kubeconfig(user))
        flags = {
            "kubeconfig": config,
            "authentication-kubeconfig": config,
            "authorization-kubeconfig": config,
            "bind-address": HOST,
            "secure-port": str(free_port()),
            "leader-elect": "false",
            **more,
        }
        argv = [str(self.program(program)), *_as_flags(flags)]
        return Process(program, argv, self.folder / f"{program}.log", THRIFTY)

    def _make_service_account_key(self) -> None:
        if not self._service_account_key.exists():
            make = [tool("openssl"), "genrsa", "-out", str(self._service_account_key), "2048"]
            subprocess.run(make, check=True, capture_output=True)

    def _write_kubeconfig(self, user: str) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {"name": "test", "cluster": {"server": self.url, "certificate-authority": str(self.ca_file)}},
            ],
            "users": [{"name": user, "user": {"token": self._tokens[user]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        }
        self.kubeconfig(user).write_text(json.dumps(config, indent=1))


def _as_flags(flags: Mapping[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310  # http on loopback
            return bool(answer.status == 200)
    except OSError:
        return False
