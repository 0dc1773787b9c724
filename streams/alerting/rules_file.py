"""Reads alert rules from a YAML file; a mistake is reported with its line and what is allowed.

The model is built from the settings that each alert declares. Defaults are in `defaults.yaml`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar

import pydantic
import yaml

from common.errors import WrongUsage
from common.text import plain, type_in_words
from streams.alerting import alerts
from streams.alerting.definition import AnyAlert
from streams.alerting.rule_settings import Model, RuleSettings, seconds

DEFAULTS: Final = Path(__file__).with_name("defaults.yaml")
PACKAGED: Final[dict[str, Any]] = yaml.load(DEFAULTS.read_text("utf-8"), yaml.CSafeLoader)
_WORD_BEGINS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def module_name(alertname: str) -> str:
    """Return the module of an alert: `image_gc_restart_loop` for `ImageGCRestartLoop`."""
    return _WORD_BEGINS.sub("_", alertname).lower()


def discover() -> tuple[AnyAlert, ...]:
    """Return the `ALERT` of each alert's module. Raises ImportError if an alert with defaults has no module."""
    names = PACKAGED["alerts"]
    found: list[AnyAlert] = [import_module(f"{alerts.__name__}.{module_name(name)}").ALERT for name in names]
    for name, alert in zip(names, found, strict=True):
        if alert.name != name:
            raise ImportError(f"{alerts.__name__}.{module_name(name)} defines {alert.name}, but should define {name}")
    return tuple(found)


ALERTS: Final = discover()
M = TypeVar("M", bound=Model)


class AlertRules(Model):
    """A whole rules file; `MODEL` extends it with a field for each alert."""

    runbooks: Annotated[str, pydantic.Field(pattern=r"^https?://\S+/$")]
    """Address of the runbooks; each alert's runbook is at its name there."""
    alerts: Model
    """The settings of each alert, by its name."""

    def of(self, alertname: str) -> Any:
        """Return the settings of an alert, with the type that it declares."""
        settings: RuleSettings = getattr(self.alerts, alertname)
        return settings

    def runbook_url(self, alertname: str) -> str:
        return f"{self.runbooks}{alertname}"


_SETTINGS: Final[dict[str, Any]] = {alert.name: (alert.settings, ...) for alert in ALERTS}
MODEL: Final = pydantic.create_model(
    "AlertRules", __base__=AlertRules, alerts=(pydantic.create_model("Alerts", __base__=Model, **_SETTINGS), ...)
)
ALERT_NAMES: Final = tuple(_SETTINGS)


_FIRST_LINE: Final = 1
_Place: TypeAlias = tuple[str | int, ...]


class BadRules(WrongUsage):
    """The rules cannot be used; the message names file, line, setting and what is allowed."""


class _Settings(NamedTuple):
    values: dict[str, Any]
    lines: Mapping[_Place, int]
    """Line number of every setting, counted from 1."""


@cache
def default_rules() -> AlertRules:
    """Return the packaged rules without validation, which takes longer to set up than replaying a small dump."""
    return _made(MODEL, PACKAGED)


def _made(model: type[M], values: Mapping[str, Any]) -> M:
    """Build a model from values that are known to be valid, with the conversions of its fields."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        value = values[field.alias or name]
        kind: Any = field.annotation
        if any(isinstance(each, pydantic.BeforeValidator) for each in field.metadata):
            value = seconds(value)
        if isinstance(value, dict):
            value = _made(kind, value)
        fields[name] = float(value) if kind is float else value
    return model.model_construct(**fields)


def read_rules(file: Path) -> AlertRules:
    """Read the rules of a file; settings that it omits are those of the packaged file. Raises BadRules."""
    values, lines = _read(file)
    try:
        return MODEL.model_validate(_merged(PACKAGED, values))
    except pydantic.ValidationError as error:
        problems = [_problem(each, lines) for each in error.errors(include_url=False)]
        raise BadRules(f"{plain(file)}: {'; '.join(problems)}") from None


def _read(file: Path) -> _Settings:
    try:
        text = file.read_text("utf-8")
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except OSError as error:
        raise BadRules(f"{plain(file)}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadRules(f"{plain(file)}: is not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else _FIRST_LINE
        raise BadRules(
            f"{plain(file)}: line {line}: not valid YAML: {plain(error.problem or error.context)}"
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadRules(f"{plain(file)}: not valid YAML: {plain(error)}") from None
    if values is None:
        return _Settings({}, {})
    if not isinstance(values, dict):
        raise BadRules(f"{plain(file)}: line 1: rules are `name: value`, this is {type_in_words(type(values))}")
    _refuse_doubles(tree, file)
    return _Settings(values, dict(_lines(tree, ())))


def _merged(base: Any, override: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(override, dict)):
        return override
    return {**base, **{name: _merged(base.get(name), value) for name, value in override.items()}}


def _lines(node: Any, place: _Place) -> Iterator[tuple[_Place, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*place, key.value)
            yield below, key.start_mark.line + 1
            yield from _lines(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*place, number), value.start_mark.line + 1
            yield from _lines(value, (*place, number))


def _refuse_doubles(node: Any, file: Path) -> None:
    """Refuse a repeated setting, because YAML would silently take the last one."""
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if key.value in seen:
            raise BadRules(f"{plain(file)}: line {key.start_mark.line + 1}: {plain(key.value)} occurs twice")
        seen.add(key.value)
        _refuse_doubles(value, file)


def _problem(error: Any, lines: Mapping[_Place, int]) -> str:
    place: _Place = tuple(error["loc"])
    line = next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), _FIRST_LINE)
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        message = f"there is no such setting; there are {', '.join(_settings_at(place[:-1]))}"
    elif "input" in error and not isinstance(error["input"], dict):
        shown = repr(plain(error["input"], 80))
        message += "" if shown in message else f", not {shown}"
    return f"line {line}: {plain('.'.join(map(str, place)))}: {message}"


def _settings_at(place: _Place) -> list[str]:
    model: type[pydantic.BaseModel] = MODEL
    for name in place:
        found = model.model_fields[str(name)].annotation
        if not (isinstance(found, type) and issubclass(found, pydantic.BaseModel)):
            break
        model = found
    return [field.alias or name for name, field in model.model_fields.items()]
