"""The names of all settings: what each is, what was meant by one that is not there, and the file that lists them."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import pydantic
import yaml

from common.nearest import match
from common.settings import SettingsError
from common.text import plain

DELIMITER: Final = "__"
"""Between a section and its setting, in a variable."""
_LINK: Final = re.compile(r".*_SERVICE_(HOST|PORT.*)|.*_PORT_[0-9]+_(TCP|UDP|SCTP).*")
_LINKED: Final = ("tcp://", "udp://", "sctp://")
"""Values that Kubernetes puts into a pod for each Service of its namespace begin with these."""
_WIDTH: Final = 100
_HEAD: Final = """\
## Settings of Leadsman, for every command that has --config.
## A line with one # is a setting with its default: take the # away, and that of its section.
## ${NAME} and ${NAME:-default} are taken from the environment. Variables, as LEADSMAN_KAFKA__BOOTSTRAP_SERVERS, are
## over this file, and flags over both. `leadsman validate --config FILE` tries it.
"""


class Setting(NamedTuple):
    path: tuple[str, ...]
    default: Any
    """None of a section."""
    section: bool
    meaning: str

    @property
    def name(self) -> str:
        return ".".join(self.path)


def every_setting(model: type[pydantic.BaseModel], above: tuple[str, ...] = ()) -> Iterator[Setting]:
    """List settings in the order of the models; a section comes before its settings."""
    for name, field in model.model_fields.items():
        path = (*above, name)
        section = _section(field.annotation)
        default = None if section else field.get_default(call_default_factory=True)
        yield Setting(path, default, section is not None, " ".join((field.description or "").split()))
        if section:
            yield from every_setting(section, path)


def check_variables(model: type[pydantic.BaseModel], prefix: str, environment: Mapping[str, str]) -> None:
    """Raise SettingsError for a variable that looks like a setting and is unknown.

    Other variables of that prefix belong to somebody else: Kubernetes gives them to pods for a Service named
    `leadsman`.
    """
    known = {DELIMITER.join(each.path).upper() for each in every_setting(model)}
    top = {name.upper() for name in model.model_fields}
    for variable, value in environment.items():
        name = variable.removeprefix(prefix)
        section, nested, _ = name.partition(DELIMITER)
        if name == variable or section in top or _LINK.fullmatch(name) or value.startswith(_LINKED):
            continue
        meant = match(name, known) or match(section, top) if nested else match(name, known)
        if meant or nested:
            shown = f"Did you mean {prefix}{meant}?" if meant else "`leadsman config` lists the settings"
            raise SettingsError(f"{plain(variable)} is not a setting. {shown}")


def hint(model: type[pydantic.BaseModel], path: Iterable[object]) -> str:
    """Suggest a setting for an unknown path: a neighbour, or the same name elsewhere."""
    *above, last = map(str, path)
    settings = list(every_setting(model))
    beside = {each.path[-1]: each.name for each in settings if each.path[:-1] == tuple(above)}
    elsewhere = {each.path[-1]: each.name for each in settings}
    for known in (beside, elsewhere):
        if found := match(last, known):
            return f"Did you mean {known[found]}?"
    return ""


def settings_file(model: type[pydantic.BaseModel]) -> str:
    """A YAML file in which nothing is set, with every setting, its default and its meaning."""
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
