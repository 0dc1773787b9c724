"""Which locked versions an advisory is about. Pure."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

_LOCKED: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


class Advisory(NamedTuple):
    """Of one package; `version` is ours where it is a finding, else the affected ones (PEP 440)."""

    name: str
    version: str
    id: str
    cve: str
    text: str
    fixed_in: str


def locked(lock: str) -> set[tuple[str, str]]:
    """Names and versions of a lock as `uv pip compile` writes it."""
    return {(canonicalize_name(name), version) for name, version in _LOCKED.findall(lock)}


def advisories(kept: Mapping[str, Sequence[Mapping[str, Any]]]) -> Mapping[str, Sequence[Advisory]]:
    """By the package's canonical name."""
    by_name: defaultdict[str, list[Advisory]] = defaultdict(list)
    for given, entries in kept.items():
        name = canonicalize_name(given)
        by_name[name] += [
            Advisory(name, each["v"], each["id"], each["cve"], each["advisory"], each["fixed_in"]) for each in entries
        ]
    return by_name


def findings(versions: Collection[tuple[str, str]], by_name: Mapping[str, Sequence[Advisory]]) -> list[Advisory]:
    """Each advisory about a version, by name; one whose range cannot be understood is about every version."""
    return [
        advisory._replace(version=version)
        for name, version in sorted(versions)
        for advisory in by_name.get(name, ())
        if _is_about(advisory, version)
    ]


def _is_about(advisory: Advisory, version: str) -> bool:
    try:
        return SpecifierSet(advisory.version, prereleases=True).contains(version)
    except InvalidSpecifier:
        return True
