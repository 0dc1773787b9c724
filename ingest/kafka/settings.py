"""The address of Kafka, and the settings of our topics."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import PositiveInt

from common.settings import Section
from common.tls import RotatingContext, RotatingPassword
from ingest.model.topics import PARTITIONS, RETENTION_HOURS, Topic, Topics, changelogs, topics


class KafkaSettings(Section):
    """The brokers, how they are reached, and the topics."""

    bootstrap_servers: Annotated[str, pydantic.Field(pattern=r"^[^,\s:]+:\d{1,5}(,[^,\s:]+:\d{1,5})*$")] = (
        "localhost:9092"
    )
    """`host:port`, several separated by commas."""
    topic_prefix: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")] = "leadsman"
    """Prefix of topics and consumer groups: two installations that share Kafka need different ones."""
    partitions: PositiveInt = PARTITIONS
    """Number of partitions of every topic, and the largest useful number of workers.

    It cannot change once the topics exist.
    """
    retention_hours: PositiveInt = RETENTION_HOURS
    replication_factor: PositiveInt = 1
    min_insync_replicas: PositiveInt | None = None
    """Number of replicas that must have a message before it is acknowledged; by default one less than
    replication_factor.
    """
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    username: str | None = None
    password: pydantic.SecretStr | None = None
    password_file: Path | None = None
    """File with the password, instead of `password`; with SCRAM it is reread for each connection."""
    ca_file: Path | None = None
    """CA that the brokers' certificates are checked against; the system's if not set."""
    certificate_file: Path | None = None
    """Our certificate as PEM, if the brokers require one (mTLS); it and the CA are reread for each connection."""
    key_file: Path | None = None
    """Key of our certificate, if `certificate_file` does not contain it."""

    unacknowledged_messages: PositiveInt = 10_000
    """Number of messages that wait in memory for Kafka; beyond it, their sources wait, too."""

    @property
    def is_given(self) -> bool:
        """Tell whether brokers were named, rather than left to the default."""
        return "bootstrap_servers" in self.model_fields_set

    def topics(self) -> Topics:
        return topics(
            self.topic_prefix,
            partitions=self.partitions,
            retention_hours=self.retention_hours,
            min_insync_replicas=self.min_insync_replicas or max(1, self.replication_factor - 1),
        )

    def every_topic(self, flat: Iterable[str] = ()) -> Sequence[Topic]:
        """Return all topics: the catalogue, the workers' changelogs, and the topics of tables that are published
        flat.
        """
        known = self.topics()
        return (*known, *changelogs(self.work_group(), known), *map(known.flat, flat))

    def work_group(self) -> str:
        return f"{self.topic_prefix}-work"

    def client_options(self) -> dict[str, Any]:
        """Return options of every aiokafka client other than the servers. Raises FilesUnusable."""
        options: dict[str, Any] = {"security_protocol": self.security_protocol}
        if self.security_protocol.endswith("SSL"):
            options["ssl_context"] = RotatingContext.of(self.ca_file, self.certificate_file, self.key_file)
        if self.security_protocol.startswith("SASL"):
            options |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self._password(),
            }
        return options

    def _password(self) -> str | None:
        if self.password_file:
            return RotatingPassword.of(self.password_file)
        return self.password.get_secret_value() if self.password else None

    @pydantic.model_validator(mode="after")
    def _fit_together(self) -> "KafkaSettings":
        """Refuse a setting that would be ignored, because a user who sets a password expects it to be used."""
        protocol, given = self.security_protocol, self.model_fields_set
        if self.password and self.password_file:
            raise ValueError("password and password_file exclude each other")
        if protocol.startswith("SASL") and not (self.username and (self.password or self.password_file)):
            raise ValueError(f"{protocol} needs username and password, or password_file")
        if (self.min_insync_replicas or 1) > self.replication_factor:
            raise ValueError("min_insync_replicas is more than replication_factor: Kafka would acknowledge nothing")
        if self.key_file and not self.certificate_file:
            raise ValueError("key_file needs certificate_file")
        unused = set() if protocol.startswith("SASL") else {"username", "password", "password_file"}
        if not protocol.endswith("SSL"):
            unused |= {"ca_file", "certificate_file", "key_file"}
        if vain := sorted(name for name in unused & given if getattr(self, name) is not None):
            raise ValueError(f"security_protocol {protocol} does not use {', '.join(vain)}")
        return self
