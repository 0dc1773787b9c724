"""What a person says about the live pipeline: a YAML file, the environment over it, flags over both."""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import pydantic
import yaml
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from common.text import plain
from common.tls import RotatingContext, RotatingPassword
from ingest.model.settings import LiveSettings
from ingest.model.topics import PARTITIONS, RETENTION_HOURS, Topics, topics

PREFIX: Final = "LEADSMAN_"
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")

Positive: TypeAlias = Annotated[int, pydantic.Field(ge=1)]


class SettingsError(ValueError):
    """The settings cannot be used; the message names each setting and what is wrong with it."""


class _Section(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class KafkaSettings(_Section):
    """Where Kafka is, and how our topics are made."""

    bootstrap_servers: Annotated[str, pydantic.Field(pattern=r"^[^,\s:]+:\d{1,5}(,[^,\s:]+:\d{1,5})*$")] = (
        "localhost:9092"
    )
    """`host:port`, several with commas between them."""
    topic_prefix: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")] = "leadsman"
    """Also of the consumer groups: two Leadsmans on one Kafka have different ones."""
    partitions: Positive = PARTITIONS
    """Of every topic, and the most workers that have something to do. Never changes after the topics were made."""
    retention_hours: Positive = RETENTION_HOURS
    replication_factor: Positive = 1
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    username: str | None = None
    password: pydantic.SecretStr | None = None
    password_file: Path | None = None
    """Holds the password, instead of `password`; with SCRAM it is read again for each connection."""
    ca_file: Path | None = None
    """What the brokers' certificates are checked against; the system's where it is not given."""
    certificate_file: Path | None = None
    """Ours, where the brokers ask for one (mTLS), as PEM; it and the CA are read again for each connection."""
    key_file: Path | None = None
    """Of our certificate, where `certificate_file` does not hold it."""

    unacknowledged_messages: Positive = 10_000
    """So many wait in memory for Kafka to take them; then their sources wait too."""

    def topics(self) -> Topics:
        """The catalogue under these names."""
        return topics(self.topic_prefix, partitions=self.partitions, retention_hours=self.retention_hours)

    def client_options(self) -> dict[str, Any]:
        """What every client of aiokafka is told beside the servers. Raises FilesUnusable."""
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
        """What would silently not be used is refused: who gives a password means to be safe."""
        protocol, given = self.security_protocol, self.model_fields_set
        if self.password and self.password_file:
            raise ValueError("password and password_file exclude each other")
        if protocol.startswith("SASL") and not (self.username and (self.password or self.password_file)):
            raise ValueError(f"{protocol} needs username and password, or password_file")
        if self.key_file and not self.certificate_file:
            raise ValueError("key_file needs certificate_file")
        unused = set() if protocol.startswith("SASL") else {"username", "password", "password_file"}
        if not protocol.endswith("SSL"):
            unused |= {"ca_file", "certificate_file", "key_file"}
        if vain := sorted(name for name in unused & given if getattr(self, name) is not None):
            raise ValueError(f"security_protocol {protocol} does not use {', '.join(vain)}")
        return self


class TelemetrySettings(_Section):
    """Where `/healthz`, `/readyz` and `/metrics` of a running command are."""

    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 0
    """0 is off. Of `up`: the parts take the ports behind it, in the order land, work, watch."""
    host: str = "127.0.0.1"
    """The address that is listened on; in a pod `0.0.0.0`. The figures name topics and resources, and no secrets."""


class WorkSettings(_Section):
    """A worker."""

    instance: str | None = None
    """Its name among the workers, the host's where it is not given: it takes up its partitions at once after a
    restart. Two workers that run have different ones.
    """


class LandSettings(_Section):
    """Landing: what was received is inserted when the first of these is reached."""

    instance: str | None = None
    """As of a worker."""
    batch_messages: Positive = 20_000
    """Of a partition."""
    batch_bytes: Positive = 16 * 1024 * 1024
    batch_seconds: Annotated[float, pydantic.Field(gt=0)] = 2.0
    """A portion costs ClickHouse one insert a table, however few rows it has."""
    buffered_bytes: Positive = 64 * 1024 * 1024
    """Of all partitions: nothing more is fetched before some of it is stored."""


class AlertSettings(_Section):
    """When alerts are raised, and who is told of them."""

    rules: Path | None = None
    """Rules of your own as YAML; what it leaves out is as in the packaged streams/alerting/defaults.yaml."""
    to: tuple[pydantic.SecretStr, ...] = ()
    """As `leadsman alert --to`: the address of a webhook can be a secret."""
    webhook_secret: pydantic.SecretStr | None = None
    """With which messages to webhooks are signed."""


class Settings(BaseSettings):
    """All settings of the live pipeline."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True
    )

    db: pydantic.SecretStr = pydantic.SecretStr("chdb://leadsman-db")
    """DSN of the database: it may hold a password."""
    kafka: KafkaSettings = KafkaSettings()
    work: WorkSettings = WorkSettings()
    land: LandSettings = LandSettings()
    alerts: AlertSettings = AlertSettings()
    log: Literal["text", "json"] = "text"
    """How running parts log."""
    telemetry: TelemetrySettings = TelemetrySettings()
    watch: LiveSettings | None = None
    """Which cluster is watched, and how; the defaults where nothing is said."""

    def watched(self) -> LiveSettings:
        """What `watch`, `capture` and `up` do."""
        return self.watch or LiveSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then the environment, then the file (which `load` puts in)."""
        del settings_cls, dotenv_settings, file_secret_settings
        return (init_settings, env_settings, _FileSource(cls))


class _FileSource(PydanticBaseSettingsSource):
    """The YAML file that is being loaded."""

    values: dict[str, Any] = {}  # noqa: RUF012  # replaced for each load, never changed

    def get_field_value(self, field: pydantic.fields.FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Unused: all values come at once."""
        del field
        return self.values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return self.values


def load(file: Path | None = None, **flags: Any) -> Settings:
    """The settings in force; a flag that is None was not given.

    `${NAME}` and `${NAME:-default}` in the file's texts are taken from the environment. Raises SettingsError.
    """
    _FileSource.values = _read(file) if file else {}
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except pydantic.ValidationError as error:
        raise SettingsError(_explain(error, file)) from None
    finally:
        _FileSource.values = {}


def shown(settings: Settings) -> str:
    """The settings as YAML; of secrets, only that there is one."""
    return yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def _read(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text())
    except OSError as error:
        raise SettingsError(f"{plain(file)}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{plain(file)}: no YAML: {plain(error)}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"{plain(file)}: settings are `name: value`, this is a {type(values).__name__}")
    return {str(name): _filled(value, f"{file}: {name}") for name, value in values.items()}


def _filled(value: Any, where: str) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _variable(found, where), value)
        case dict():
            return {name: _filled(each, f"{where}.{name}") for name, each in value.items()}
        case list():
            return [_filled(each, where) for each in value]
        case _:
            return value


def _variable(found: re.Match[str], where: str) -> str:
    name, default = found.groups()
    value = os.environ.get(name, default)
    if value is None:
        raise SettingsError(f"{plain(where)}: the environment has no {name}. Set it, or write ${{{name}:-default}}")
    return value


def _explain(error: pydantic.ValidationError, file: Path | None) -> str:
    problems = [
        f"{'.'.join(map(str, each['loc'])) or 'settings'}: {each['msg']}"
        for each in error.errors(include_input=False, include_url=False)
    ]
    source = f"{plain(file)} or the environment ({PREFIX}...)" if file else f"the environment ({PREFIX}...) or flags"
    return f"settings cannot be used, from {source}: {'; '.join(problems)}"
