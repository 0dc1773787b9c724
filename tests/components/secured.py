"""A Kafka that asks who is there: listeners for each of Kafka's security protocols, with certificates made here."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from components.kafka import Kafka
from components.processes import HOST, free_port
from components.programs.cache import tool

USER: Final = "leadsman"
PASSWORD: Final = "canary-password-1c9e"  # noqa: S105  # it must not be seen in any log
_LOGIN: Final = "org.apache.kafka.common.security"


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key, self.ca_file = folder / f"{name}-ca.key", folder / f"{name}-ca.crt"
        self._make("req", "-x509", "-days", "2", "-subj", f"/CN={name}", *self._new_key(self._key), self.ca_file)

    def issue(self, name: str, of: str = f"IP:{HOST}") -> tuple[Path, Path]:
        """A certificate under this name for 127.0.0.1, or another subject, and its key."""
        key, request, certificate = (self._folder / f"{name}.{kind}" for kind in ("key", "csr", "crt"))
        self._make("req", "-subj", f"/CN={name}", *self._new_key(key), request)
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={of}\n")
        signed = ["-CA", self.ca_file, "-CAkey", self._key, "-CAcreateserial", "-days", "2"]
        self._make("x509", "-req", "-in", request, *signed, "-extfile", extensions, "-out", certificate)
        return certificate, key

    @staticmethod
    def _new_key(key: Path) -> list[object]:
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out"]

    @staticmethod
    def _make(*arguments: object) -> None:
        subprocess.run([tool("openssl"), *map(str, arguments)], check=True, capture_output=True)


class SecuredKafka:
    """`kafka` with a listener for each protocol; `settings_of(protocol)` is what a client of it has to say."""

    def __init__(self, folder: Path, authority: Authority) -> None:
        self.authority = authority
        self._ports = {name: free_port() for name in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")}
        self.client_certificate, self.client_key = authority.issue("client")
        self.kafka = Kafka(folder, self._server(folder), format_flags=_scram(PASSWORD))
        self.kafka.bootstrap_servers = f"{HOST}:{self._ports['PLAINTEXT']}"
        self.kafka.port = self._ports["PLAINTEXT"]

    def settings_of(self, protocol: str, mechanism: str = "SCRAM-SHA-256") -> dict[str, Any]:
        """Return the settings under `kafka`."""
        given: dict[str, Any] = {
            "bootstrap_servers": f"{HOST}:{self._ports[protocol]}",
            "security_protocol": protocol,
        }
        if protocol.endswith("SSL"):
            given["ca_file"] = str(self.authority.ca_file)
        if protocol == "SSL":
            given |= {"certificate_file": str(self.client_certificate), "key_file": str(self.client_key)}
        if protocol.startswith("SASL"):
            given |= {"sasl_mechanism": mechanism, "username": USER, "password": PASSWORD}
        return given

    def change_password(self, password: str) -> None:
        """Change the password of USER for SCRAM-SHA-256; existing connections stay."""
        user = ["--entity-type", "users", "--entity-name", USER]
        change = f"SCRAM-SHA-256=[password={password}]"
        self.kafka.tool("kafka.admin.ConfigCommand", "--alter", *user, "--add-config", change)

    def _server(self, folder: Path) -> dict[str, str]:
        certificate, key = self.authority.issue("broker")
        store = folder / "broker.pem"
        store.write_text(key.read_text() + certificate.read_text())
        controller = free_port()
        listeners = ",".join(f"{name}://{HOST}:{port}" for name, port in self._ports.items())
        return {
            "listeners": f"{listeners},CONTROLLER://{HOST}:{controller}",
            "advertised.listeners": listeners,
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "listener.security.protocol.map": ",".join(f"{name}:{name}" for name in self._ports)
            + ",CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.ca_file),
            "listener.name.ssl.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            **{
                f"listener.name.{listener}.{name}.sasl.jaas.config": login
                for listener in ("sasl_ssl", "sasl_plaintext")
                for name, login in _logins().items()
            },
        }


def _logins() -> dict[str, str]:
    scram = f"{_LOGIN}.scram.ScramLoginModule required;"
    plain = f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    return {"plain": plain, "scram-sha-256": scram, "scram-sha-512": scram}


def _scram(password: str) -> Sequence[str]:
    return [
        flag for bits in (256, 512) for flag in ("--add-scram", f"SCRAM-SHA-{bits}=[name={USER},password={password}]")
    ]
