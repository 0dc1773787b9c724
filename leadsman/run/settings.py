"""All settings together, with their names. Flags override the environment, which overrides a YAML file."""

import ast
import inspect
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args
from urllib.parse import urlsplit, urlunsplit

import pydantic
import yaml
from pydantic_core import ErrorDetails

from common.settings import Section, SettingsError, TelemetrySettings
from common.text import match, plain, type_in_words
from ingest.kafka.settings import KafkaSettings
from ingest.live.settings import LiveSettings
from ingest.messages.modes import Redact
from leadsman.web.reading.settings import PageSettings
from sql.database.dsn import parse_dsn
from sql.database.errors import BadDsn
from streams.alerting.settings import AlertSettings
from streams.kafka.settings import LandSettings, WorkSettings

PREFIX: Final = "LEADSMAN_"
HIDDEN: Final = "**********"
FLAGS: Final = {
    "db": "--db",
    "kafka.bootstrap_servers": "--kafka",
    "watch.cluster": "--cluster",
    "watch.context": "--context",
    "watch.namespace": "--namespace",
    "watch.kubelet.access": "--kubelet",
    "watch.kubelet.addresses": "--kubelet-address",
    "watch.kubelet.ca_file": "--kubelet-ca",
    "watch.kubelet.summary_seconds": "--every",
    "watch.kubelet.metrics_seconds": "--every",
}
"""Flags whose values are validated as settings; an error names the flag that gave the value."""
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
DELIMITER: Final = "__"
"""Separator of a section and its setting, in a variable's name."""
_SERVICE_VARIABLE: Final = re.compile(r".*_SERVICE_(HOST|PORT.*)|.*_PORT_[0-9]+_(TCP|UDP|SCTP).*")
_SERVICE_VALUES: Final = ("tcp://", "udp://", "sctp://")
"""Kubernetes sets variables with these names, or with values that begin so, for each Service of a pod's namespace."""
_PYDANTIC_SHOULD: Final = re.compile(r"^[A-Z][a-z]+ should ")
_WIDTH: Final = 100
_HEAD: Final = """\
## Settings of Leadsman, for every command that has --config.
## A line with one # is a setting with its default. To change it, remove the # there and before its section.
## ${NAME} and ${NAME:-default} come from the environment. Variables such as LEADSMAN_KAFKA__BOOTSTRAP_SERVERS
## override this file, and flags override both. `leadsman validate --config FILE` checks it.
"""


class Setting(NamedTuple):
    path: tuple[str, ...]
    default: Any
    """None for a section."""
    section: bool
    model: type[pydantic.BaseModel]

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def meaning(self) -> str:
        return _meanings(self.model).get(self.path[-1], "")


@cache
def _meanings(model: type[pydantic.BaseModel]) -> Mapping[str, str]:
    """Return the docstring below each setting, on one line."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    below = pairwise(tree.body) if isinstance(tree, ast.ClassDef) else ()
    return {
        each.target.id: " ".join(text.split())
        for each, after in below
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(text := ast.literal_eval(after.value), str)
    }


def every_setting(model: type[pydantic.BaseModel], above: tuple[str, ...] = ()) -> Iterator[Setting]:
    """List settings in the order of the models; a section comes before its settings."""
    for name, field in model.model_fields.items():
        path = (*above, name)
        section = _section(field.annotation)
        default = None if section else field.get_default(call_default_factory=True)
        yield Setting(path, default, section is not None, model)
        if section:
            yield from every_setting(section, path)


def check_variables(model: type[pydantic.BaseModel], prefix: str, environment: Mapping[str, str]) -> None:
    """Raise SettingsError for a variable that looks like a setting and is unknown.

    Some variables with our prefix are not settings: Kubernetes sets them in pods for a Service named `leadsman`.
    """
    known = {DELIMITER.join(each.path).upper() for each in every_setting(model)}
    top = {name.upper() for name in model.model_fields}
    for variable, value in environment.items():
        name = variable.removeprefix(prefix)
        section, nested, _ = name.partition(DELIMITER)
        if (
            name == variable
            or section in top
            or _SERVICE_VARIABLE.fullmatch(name)
            or value.startswith(_SERVICE_VALUES)
        ):
            continue
        suggestion = match(name, known) or match(section, top) if nested else match(name, known)
        if suggestion or nested:
            help_ = f"Did you mean {prefix}{suggestion}?" if suggestion else "`leadsman config` lists the settings"
            raise SettingsError(f"{plain(variable)} is not a setting. {help_}")


def hint(model: type[pydantic.BaseModel], path: Iterable[object]) -> str:
    """Suggest a setting for an unknown path: a similar name, first in the same section, then anywhere."""
    *above, last = map(str, path)
    settings = list(every_setting(model))
    beside = {each.path[-1]: each.name for each in settings if each.path[:-1] == tuple(above)}
    elsewhere = {each.path[-1]: each.name for each in settings}
    for known in (beside, elsewhere):
        if found := match(last, known):
            return f"Did you mean {known[found]}?"
    return ""


def settings_file(model: type[pydantic.BaseModel]) -> str:
    """Return a YAML file with every setting, its default and its meaning, all commented out."""
    lines = [_HEAD]
    for each in every_setting(model):
        indent = "  " * (len(each.path) - 1)
        if each.section and len(each.path) == 1:
            lines.append("")
        lines += [f"## {indent}{line}" for line in textwrap.wrap(each.meaning, _WIDTH)]
        value = "" if each.section else f" {_yaml(each.default)}"
        lines.append(f"#{indent}{each.path[-1]}:{value}")
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> str:
    raw = value.get_secret_value() if isinstance(value, pydantic.SecretStr) else value
    listed = list(raw) if isinstance(raw, tuple) else str(raw) if isinstance(raw, Path) else raw
    return yaml.safe_dump(listed, default_flow_style=True, width=10_000).removesuffix("\n").removesuffix("\n...")


def _section(annotation: Any) -> type[pydantic.BaseModel] | None:
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, pydantic.BaseModel):
            return each
    return None


class Settings(Section):
    """All settings of Leadsman."""

    db: pydantic.SecretStr = pydantic.SecretStr("chdb://leadsman-db")
    """DSN of the database: it may hold a password."""
    kafka: KafkaSettings = KafkaSettings.model_construct()
    work: WorkSettings = WorkSettings.model_construct()
    land: LandSettings = LandSettings.model_construct()
    alerts: AlertSettings = AlertSettings.model_construct()
    page: PageSettings = PageSettings.model_construct()
    log: Literal["text", "json"] = "text"
    """Log format of running parts: `text` or `json`."""
    telemetry: TelemetrySettings = TelemetrySettings.model_construct()
    watch: LiveSettings | None = None
    """The watched cluster."""
    redact: Redact = "credentials"
    """Redaction of texts before they are stored or sent. `credentials` removes credentials; `strict` also removes
    every text that no known component writes. Use `strict` for captures and topics that leave the company.
    """

    def live(self) -> LiveSettings:
        """Return the settings of `watch`, `capture` and `up`; a strict top-level `redact` wins."""
        watch = self.watch or LiveSettings.model_construct()
        return watch.model_copy(update={"redact": self.redact}) if self.redact == "strict" else watch


def load(file: Path | None = None, **flags: Any) -> Settings:
    """Return the settings in force; a flag that is None was not given.

    `${NAME}` and `${NAME:-default}` in the file's texts are replaced from the environment. Raises SettingsError.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    has_variables = any(name.upper().startswith(PREFIX) for name in os.environ)
    if file is None and not any(map(_is_given, given.values())) and not has_variables:
        return Settings.model_construct()
    from leadsman.run.given_settings import read  # noqa: PLC0415  # takes longer than analysing a small dump

    check_variables(Settings, PREFIX, os.environ)
    try:
        from_file = {} if file is None else _read(file)
        if file is not None:
            _check_sections(file, Settings, from_file)
        return read(from_file, given)
    except pydantic.ValidationError as error:
        raise SettingsError(_explain(error, file, flags)) from None


def _is_given(value: Any) -> bool:
    """Tell whether a flag has a value, or a section contains one that has."""
    return any(map(_is_given, value.values())) if isinstance(value, dict) else True


def redacted_yaml(settings: Settings) -> str:
    """Format the settings as YAML. Database addresses lose their password; receivers keep only kind and host."""
    values = settings.model_dump(mode="json")
    values["db"] = _without_password(settings.db.get_secret_value())
    values["alerts"]["to"] = [_receiver(each.get_secret_value()) for each in settings.alerts.to]
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


def _without_password(dsn: str) -> str:
    """Remove the password. An address that cannot be parsed is hidden completely, because it may contain one."""
    try:
        parse_dsn(dsn)
    except BadDsn:
        return HIDDEN
    parts = urlsplit(dsn)
    if parts.password is None:
        return dsn
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}:{HIDDEN}@{host}"))


def _receiver(text: str) -> str:
    """Return a receiver's kind and host, because the rest of a webhook's address is its secret."""
    kind, equals, address = text.partition("=")
    parts = urlsplit(address)
    return f"{kind}={parts.scheme}://{parts.netloc.rpartition('@')[2]}/{HIDDEN}" if equals and parts.netloc else kind


def _read(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text())
    except OSError as error:
        raise SettingsError(f"{plain(file)}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{plain(file)}: not valid YAML: {plain(error)}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"{plain(file)}: settings are `name: value`, this is {type_in_words(type(values))}")
    return {str(name): _expanded(value, f"{file}: {name}") for name, value in values.items()}


def _check_sections(file: Path, model: type[pydantic.BaseModel], values: Mapping[str, Any], above: str = "") -> None:
    """Refuse a single value for a section: a flag or variable of that section would silently replace it."""
    for name, value in values.items():
        section = _section(model.model_fields[name].annotation) if name in model.model_fields else None
        if section is not None and isinstance(value, dict):
            _check_sections(file, section, value, f"{above}{name}.")
        elif section is not None and value is not None:
            raise SettingsError(
                f"{plain(file)}: {above}{name} is a section: put its settings below it, as `name: value`"
            )


def _expanded(value: Any, where: str) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _variable(found, where), value)
        case dict():
            return {name: _expanded(each, f"{where}.{name}") for name, each in value.items()}
        case list():
            return [_expanded(each, where) for each in value]
        case _:
            return value


def _variable(found: re.Match[str], where: str) -> str:
    name, default = found.groups()
    value = os.environ.get(name, default)
    if value is None:
        raise SettingsError(f"{plain(where)}: the environment has no {name}. Set it, or write ${{{name}:-default}}")
    return value


def _explain(error: pydantic.ValidationError, file: Path | None, flags: Mapping[str, Any]) -> str:
    problems = {
        _flag(each["loc"], flags) or ".".join(map(str, each["loc"])) or "settings": _problem(each)
        for each in error.errors(include_input=False, include_url=False)
    }
    if all(name.startswith("--") for name in problems):
        return "; ".join(f"{name} {problem}" for name, problem in problems.items())
    source = f"{plain(file)} or the environment ({PREFIX}...)" if file else f"the environment ({PREFIX}...) or flags"
    listed = "; ".join(f"{name}: {problem}" for name, problem in problems.items())
    return f"cannot use the settings from {source}: {listed}"


def _flag(loc: Sequence[str | int], flags: Any) -> str:
    """Return the flag that set this value; empty if none did."""
    for depth, part in enumerate(loc, 1):
        flags = flags.get(part) if isinstance(flags, Mapping) else None
        if flags is not None and (flag := FLAGS.get(".".join(map(str, loc[:depth])))):
            return flag
    return ""


def _problem(error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return f"there is no such setting. {hint(Settings, error['loc'])}".rstrip()
    return _PYDANTIC_SHOULD.sub("must ", error["msg"])
