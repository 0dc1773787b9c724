"""`/var/lib/kubelet/cpu_manager_state`: read and verified (rules: cpu-checkpoint).

Kubernetes: pkg/kubelet/cm/cpumanager/state/checkpoint.go.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from common.errors import BadValue
from common.text import type_in_words
from ingest.model.cpuset import InvalidCpuSet, parse_cpuset
from ingest.model.numbers import UINT64_MAX

Version: TypeAlias = Literal[1, 2, 3]

_FNV_OFFSET: Final = 2166136261
_FNV_PRIME: Final = 16777619
_V3_TYPES: Final = ("CPUManagerCheckpointV3", "CPUManagerCheckpoint")
"""The kubelet's own test vector 2284712151 hashes V3 under this name (rules: cpu-checkpoint)."""


class BadCheckpoint(BadValue):
    """A checkpoint that is not a JSON object, or has a wrong checksum, CPU list or field type."""


class CpuManagerState(NamedTuple):
    """A `cpu_manager_state`. CPU lists keep the file's text, because its checksum is over that text."""

    policy: str
    """`none` or `static`."""
    default_cpuset: str
    """The shared pool. It contains the reserved CPUs unless `strict-cpu-reservation`; empty with policy none."""
    entries: dict[str, dict[str, str]]
    """CPU lists by pod uid, then container. V1 has no pods: its container ids are under the pod uid ``""``."""
    pod_entries: dict[str, str]
    """CPU lists by pod uid (V3 only)."""
    version: Version

    def exclusive_cpus(self) -> frozenset[int]:
        """Return the union of all entries: ended init containers' CPUs are under two keys (rules: cpu-checkpoint)."""
        lists = [cpus for containers in self.entries.values() for cpus in containers.values()]
        return frozenset().union(*map(parse_cpuset, [*lists, *self.pod_entries.values()]))

    def all_cpus(self) -> frozenset[int]:
        """Return all online CPUs, without reserved ones under `strict-cpu-reservation`; empty with policy none."""
        return parse_cpuset(self.default_cpuset) | self.exclusive_cpus()


def fnv1a_32(text: str) -> int:
    """Return the 32-bit FNV-1a hash of the text's UTF-8."""
    value = _FNV_OFFSET
    for byte in text.encode(errors="surrogatepass"):
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return value


def spew_map(entries: Mapping[str, str]) -> str:
    """Return a Go map as the kubelet prints it before hashing: keys sorted, separated by spaces, `map[]` if empty."""
    return f"map[{' '.join(f'{key}:{value}' for key, value in sorted(entries.items()))}]"


def checksum(state: CpuManagerState) -> int:
    """Return the checksum that the kubelet writes for this state in its version's format."""
    return fnv1a_32(_spew(state, _V3_TYPES[0]))


def parse_cpu_manager_state(text: str) -> CpuManagerState:
    """Parse the state, with keys in any case, and verify its checksum (0 or absent passes for V1 and V2).

    If the entries do not show the version, it is the one whose checksum fits. Raises BadCheckpoint.
    """
    fields = json_fields(text, ("policyname", "defaultcpuset", "entries", "podentries", "checksum"))
    entries, is_v1 = _entries(fields.get("entries"))
    pod_entries = {
        uid: typed(folded(entry).get("cpuset"), str, "", f"podEntries of {uid!r}")
        for uid, entry in typed(fields.get("podentries"), dict, {}, "podEntries").items()
    }
    stored = typed(fields.get("checksum"), int, 0, "checksum")
    versions: tuple[Version, ...] = (1,) if is_v1 else (3,) if pod_entries else (2, 3) if entries else (2, 1, 3)
    for version in versions:
        state = CpuManagerState(
            policy=typed(fields.get("policyname"), str, "", "policyName"),
            default_cpuset=typed(fields.get("defaultcpuset"), str, "", "defaultCpuSet"),
            entries=entries,
            pod_entries=pod_entries,
            version=version,
        )
        _check_lists(state)
        if _fits(state, stored):
            return state
    raise BadCheckpoint(f"cpu_manager_state has checksum {stored}, its content does not")


def json_fields(text: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the members of a JSON object by lower-case name, as Go matches them; null counts as absent.

    Raises BadCheckpoint if `text` is not a JSON object or has none of `names`.
    """
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise BadCheckpoint(f"checkpoint is not JSON: {error}") from None
    fields = folded(document)
    if not any(name in fields for name in names):
        raise BadCheckpoint(f"checkpoint has none of {', '.join(names)}")
    return fields


def folded(value: object) -> dict[str, Any]:
    """Return the members of a JSON object by lower-case name; raises BadCheckpoint for any other value."""
    if not isinstance(value, dict):
        raise BadCheckpoint(f"checkpoint has {type_in_words(type(value))} where an object belongs")
    return {str(key).lower(): member for key, member in value.items() if member is not None}


def typed(value: object, kind: type, default: Any, name: str) -> Any:
    """Return `value` if it is of `kind`, `default` if absent. Raises BadCheckpoint otherwise, and beyond uint64."""
    if value is None:
        return default
    if type(value) is not kind or (isinstance(value, int) and not 0 <= value <= UINT64_MAX):
        raise BadCheckpoint(f"{name} is {value!r:.80}, not {type_in_words(kind)}")
    return value


def _entries(value: object) -> tuple[dict[str, dict[str, str]], bool]:
    raw = typed(value, dict, {}, "entries")
    if raw and all(isinstance(member, str) for member in raw.values()):
        return {"": dict(raw)}, True
    entries = {
        uid: {name: typed(cpus, str, "", f"entry of {name!r}") for name, cpus in typed(c, dict, {}, "entry").items()}
        for uid, c in raw.items()
    }
    return entries, False


def _check_lists(state: CpuManagerState) -> None:
    try:
        state.all_cpus()
    except InvalidCpuSet as error:
        raise BadCheckpoint(f"cpu_manager_state has an impossible CPU list: {error}") from None


def _fits(state: CpuManagerState, stored: int) -> bool:
    if stored == 0:
        return state.version != 3  # noqa: PLR2004  the version's own number
    names = _V3_TYPES if state.version == 3 else ("CPUManagerCheckpoint",)  # noqa: PLR2004  the version's own number
    return any(fnv1a_32(_spew(state, name)) == stored for name in names)


def _spew(state: CpuManagerState, v3_type: str) -> str:
    go_type, entries_type, entries, pods = "CPUManagerCheckpoint", "map[string]map[string]string", "", ""
    match state.version:
        case 1:
            entries_type, entries = "map[string]string", spew_map(state.entries.get("", {}))
        case 2 | 3:
            entries = spew_map({uid: spew_map(containers) for uid, containers in state.entries.items()})
    if state.version == 3:  # noqa: PLR2004  the version's own number
        go_type = v3_type
        by_pod = {uid: _spew_cpus(cpus) for uid, cpus in state.pod_entries.items()}
        pods = f" PodEntries:(state.PodCPUAssignments){spew_map(by_pod)}"
    return (
        f"(*state.{go_type}){{PolicyName:(string){state.policy} DefaultCPUSet:(string){state.default_cpuset} "
        f"Entries:({entries_type}){entries}{pods} Checksum:(checksum.Checksum)0}}"
    )


def _spew_cpus(cpus: str) -> str:
    elements = " ".join(f"{cpu}:{{}}" for cpu in sorted(parse_cpuset(cpus)))
    return f"{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}})map[{elements}]}}}}"
