"""The code that fixes of upstream faults override or rely on is unchanged since they were written.

After an upgrade that changes one of these functions, read the change and the issue, see whether the fix is still
needed and still right, and write the new digest here.
"""

import hashlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Final, NamedTuple, cast

import pytest

from ingest.apiserver import client_fixes
from ingest.kafka import aiokafka_fixes
from paths import ROOT
from streams.kafka import faust_fixes

DOORS: Final = (aiokafka_fixes, client_fixes, faust_fixes)
FIXED: Final = {"aiokafka", "faust-streaming", "kubernetes-asyncio", "mode-streaming"}


class Upstream(NamedTuple):
    """A function of another project's, `module:name`, or a file that it is compiled from, `package:file`."""

    name: str
    used_by: str
    """The fix, whose description has the address of the issue."""
    digest: str
    """The first 16 digits of SHA-256 of its source."""


SOURCES: Final = {
    "ingest.kafka.aiokafka_fixes:partition": {
        "aiokafka.partitioner:DefaultPartitioner.__call__": "4911320054e76343",
        "aiokafka.partitioner:murmur2": "62179ca184949379",
    },
    "ingest.kafka.aiokafka_fixes:failure": {
        "aiokafka.client:AIOKafkaClient._md_synchronizer": "e0421bffa9a7735a",
        "aiokafka.consumer.fetcher:Fetcher._fetch_requests_routine": "2a8ec5932644c9b0",
        "aiokafka.consumer.fetcher:Fetcher.fetched_records": "be4348896b9b66af",
        "aiokafka.producer.sender:Sender._fail_all": "5a67e3b6f87be0c5",
    },
    "ingest.kafka.aiokafka_fixes:discard": {
        "aiokafka.producer.producer:AIOKafkaProducer.stop": "43ef97147111893b",
        "aiokafka.producer.producer:AIOKafkaProducer.__del__": "785f6702b00b23af",
        "aiokafka.producer.sender:Sender.close": "f60b3d023d2526f4",
        "aiokafka.producer.message_accumulator:MessageAccumulator.fail_all": "f1e12e8100bfcb8c",
        "aiokafka.client:AIOKafkaClient.close": "02119d4d618ae493",
    },
    "ingest.kafka.aiokafka_fixes:hand_on": {
        "aiokafka.client:AIOKafkaClient._md_synchronizer": "e0421bffa9a7735a",
        "aiokafka.client:AIOKafkaClient.force_metadata_update": "cb7befef21c8f3f9",
    },
    "ingest.kafka.aiokafka_fixes:_pausing": {
        "aiokafka.consumer.fetcher:Fetcher._proc_fetch_request": "59bf948fff47eed5",
    },
    "ingest.kafka.aiokafka_fixes:_retried": {
        "aiokafka.errors:for_code": "26ee938899466abc",
    },
    "ingest.kafka.aiokafka_fixes:_to_any": {
        "aiokafka.admin.client:AIOKafkaAdminClient._send_request": "1ed126f126dd917a",
        "aiokafka.admin.client:AIOKafkaAdminClient.find_coordinator": "f843b36169d56bae",
        "aiokafka.client:AIOKafkaClient.ready": "79d9637f40fc070e",
    },
    "ingest.kafka.aiokafka_fixes:_paced": {
        "aiokafka.client:AIOKafkaClient._metadata_update": "06dc51ed3e0d38b8",
        "aiokafka.producer.sender:Sender._sender_routine": "2380dc5e333d9ebd",
    },
    "ingest.kafka.aiokafka_fixes:stop": {
        "aiokafka.consumer.consumer:AIOKafkaConsumer.stop": "bc5da9c98595299a",
        "aiokafka.consumer.fetcher:Fetcher.close": "1cd24bc1c442149e",
    },
    "ingest.kafka.aiokafka_fixes:observe": {
        "aiokafka.consumer.group_coordinator:CoordinatorGroupRebalance._send_sync_group_request": "7429ca078ddf9bb7",
        "aiokafka.consumer.group_coordinator:CoordinatorGroupRebalance.perform_group_join": "ff2c2109b2e9868d",
        "aiokafka.consumer.group_coordinator:GroupCoordinator._do_commit_offsets": "c3a3ea5613f39cac",
        "aiokafka.consumer.group_coordinator:GroupCoordinator._maybe_leave_group": "016cd88a16e6c4b5",
        "aiokafka.consumer.group_coordinator:GroupCoordinator._send_req": "fa4b12e914ce9fcf",
        "aiokafka.consumer.group_coordinator:GroupCoordinator._do_heartbeat": "dc1d6632aaa68e96",
        "aiokafka.consumer.group_coordinator:GroupCoordinator._heartbeat_routine": "61d01028952239d0",
        "aiokafka.consumer.group_coordinator:GroupCoordinator.close": "f30d831089456312",
        "aiokafka.consumer.group_coordinator:GroupCoordinator.ensure_active_group": "33c84c1a93012e81",
        "aiokafka.consumer.group_coordinator:GroupCoordinator.reset_generation": "537aa37c531b4de9",
    },
    "ingest.kafka.aiokafka_fixes:send_when": {
        "aiokafka.client:AIOKafkaClient._get_conn": "68ce5d8391719d33",
        "aiokafka.client:AIOKafkaClient.ready": "79d9637f40fc070e",
        "aiokafka.client:AIOKafkaClient.send": "246b277687d7b687",
        "aiokafka.conn:AIOKafkaConnection.send": "5909ea32f4efca49",
        "aiokafka.producer.sender:SendProduceReqHandler.do": "2dccd3d56b1607fb",
        "aiokafka.producer.sender:Sender._sender_routine": "2380dc5e333d9ebd",
    },
    "ingest.kafka.aiokafka_fixes:committed": {
        "aiokafka.admin.client:AIOKafkaAdminClient.list_consumer_group_offsets": "63aad3c2197d4867",
    },
    "ingest.kafka.aiokafka_fixes:leaderless": {
        "aiokafka.admin.client:AIOKafkaAdminClient.describe_topics": "50fbc1eab95be2e4",
        "aiokafka.consumer.fetcher:Fetcher._proc_offset_requests": "96978550f836842f",
    },
    "ingest.kafka.aiokafka_fixes:leader_connection": {
        "aiokafka.client:AIOKafkaClient._get_conn": "68ce5d8391719d33",
        "aiokafka.consumer.fetcher:Fetcher._get_actions_per_node": "1dab2cf937d165d0",
        "aiokafka.consumer.fetcher:Fetcher._proc_fetch_request": "59bf948fff47eed5",
    },
    "ingest.kafka.aiokafka_fixes:probe": {
        "aiokafka.client:AIOKafkaClient.bootstrap": "198943b004e55849",
        "aiokafka.conn:AIOKafkaConnection.close": "28f164aa1e4f0bbc",
        "aiokafka.conn:AIOKafkaConnection.connect": "b0f9ba7f0cf6b432",
    },
    "ingest.apiserver.client_fixes:ignore_redirects_and_cookies": {
        "kubernetes_asyncio.client.rest:RESTClientObject.request": "c516f572917bf1c2",
    },
    "ingest.apiserver.client_fixes:KubeconfigToken": {
        "kubernetes_asyncio.config.kube_config:KubeConfigLoader._load_authentication": "38ba28fe4fff103c",
        "kubernetes_asyncio.config.kube_config:KubeConfigLoader.load_from_exec_plugin": "c661d3a2ebbfa543",
    },
    "streams.kafka.faust_fixes:App": {
        "faust.app.base:App._create_directories": "a9f571c3b04abec3",
        "faust.app.base:App.on_start": "480d70c6c72d042d",
        "mode.services:ServiceCallbacks.on_shutdown": "c00b1dbba64a95c2",
    },
    "streams.kafka.faust_fixes:ConsumerThread": {
        "faust.transport.drivers.aiokafka:AIOKafkaConsumerThread.on_start": "38b4e8bd1e10723a",
        "faust.transport.drivers.aiokafka:AIOKafkaConsumerThread.on_thread_stop": "8dfc004e258b6c25",
        "faust.transport.drivers.aiokafka:Consumer._new_consumer_thread": "0870ec53dea75083",
    },
    "streams.kafka.faust_fixes:Consumer.pause_partitions": {
        "faust.transport.consumer:Consumer.getmany": "4b168d84882a70d6",
        "faust.transport.consumer:Consumer.on_buffer_drop": "4b57e8a418d5ad9c",
        "faust.transport.consumer:Consumer.on_buffer_full": "c8961679e0bcdce5",
        "mode.utils.queues:FlowControlQueue.maybe_endorse_pressure_drop": "dafd855ef5a0f61d",
    },
    "streams.kafka.faust_fixes:Consumer.resume_flow": {
        "faust.transport.consumer:Consumer.pause_partitions": "27a1c94bdacd54de",
        "faust.transport.consumer:Consumer.resume_partitions": "afe6b7c02a41d63c",
        "faust.transport.consumer:Consumer.resume_flow": "db59630f25b5819b",
        "faust.tables.recovery:Recovery._resume_streams": "d986a6710c1aca98",
        "faust.tables.recovery:Recovery._restart_recovery": "6bd8a8558a2dffe4",
        "faust.tables.recovery:Recovery.on_recovery_completed": "6ef567acf072e46d",
    },
    "streams.kafka.faust_fixes:Consumer.seek_to_committed": {
        "faust.transport.consumer:ThreadDelegateConsumer.seek_to_committed": "f1d483b861b0328b",
        "faust.transport.consumer:Consumer.perform_seek": "0e8c130ff4b0afd8",
    },
    "streams.kafka.faust_fixes:Consumer.verify_all_partitions_active": {
        "faust.transport.consumer:Consumer._commit_livelock_detector": "af196ff46fd42a14",
        "faust.transport.consumer:Consumer.verify_all_partitions_active": "4e0e46f5c297305d",
        "faust.transport.drivers.aiokafka:AIOKafkaConsumerThread.verify_event_path": "b983e7735f647cb3",
    },
    "streams.kafka.faust_fixes:Consumer._add_gap": {
        "faust.transport.consumer:Consumer._add_gap": "4df2573ded7c1c2c",
        "faust.transport.consumer:Consumer._drain_messages": "44a2500309e83c63",
    },
    "streams.kafka.faust_fixes:Consumer._getmany": {
        "faust.transport.consumer:ThreadDelegateConsumer._getmany": "f9d47aa9010b5ff2",
        "faust.transport.consumer:Consumer.getmany": "4b168d84882a70d6",
    },
    "streams.kafka.faust_fixes:Consumer.wait_first": {
        "mode.services:Service.wait_first": "feade6a31f8a6789",
        "faust.transport.consumer:Consumer._drain_messages": "44a2500309e83c63",
    },
    "streams.kafka.faust_fixes:Assignor": {
        "faust.assignor.partition_assignor:PartitionAssignor._perform_assignment": "1e0bf2c5c8f42574",
        "faust.assignor.partition_assignor:PartitionAssignor._get_copartitioned_groups": "82b7a3764ad596f6",
    },
    "streams.kafka.faust_fixes:raise_on_crash": {
        "mode.services:Service.crash": "14980000465df0af",
        "mode.services:Service._crash": "7bc0c709a151d556",
    },
    "streams.kafka.faust_fixes:Store": {
        "faust.stores.memory:Store.apply_changelog_batch": "71863e3cd727aac2",
        "faust.stores.memory:Store.on_recovery_completed": "a00bef343e139602",
        "faust.tables.base:Collection.apply_changelog_batch": "b980a78d3ae9b1e8",
        "faust.tables.base:Collection._new_store": "914a2bda605d38f5",
        "faust.tables.base:Collection.send_changelog": "3dd3884e1b5fc0e1",
        "faust.tables.recovery:Recovery._slurp_changelogs": "7825c7e50f766d5a",
        "faust.tables.table:Table.on_key_set": "a370e35ca55c2c7e",
    },
    "streams.kafka.agent:": {
        "faust.streams:Stream.events": "c62f4dd3a73fe7aa",
        "faust.streams:Stream.ack": "32d7171a89b0931d",
        "faust._cython:streams.pyx": "0041622f4a251188",
    },
}
"""Digests by the fix, then by what it overrides or relies on."""
RELIED_ON: Final = [Upstream(name, fix, digest) for fix, names in SOURCES.items() for name, digest in names.items()]


def the(name: str) -> object:
    """Return the source of `module:name`."""
    module, _, path = name.partition(":")
    found: object = import_module(module)
    for part in path.split(".") if path else ():
        found = getattr(found, part)
    return getattr(found, "fun", found)  # of a task of mode's


def source(name: str) -> str:
    package, _, path = name.partition(":")
    if path.endswith(".pyx"):
        return (Path(import_module(package).__path__[0]) / path).read_text()
    return inspect.getsource(cast("FunctionType", the(name)))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def issue(fix: str) -> str:
    """The last address in a fix's description."""
    lines = (inspect.getdoc(the(fix)) or "").split()
    return next((line for line in reversed(lines) if line.startswith("https://github.com/")), "")


def change(upstream: Upstream, text: str) -> str:
    """Return the complaint about changed source; empty if it is unchanged."""
    if digest(text) == upstream.digest:
        return ""
    fix = upstream.used_by
    return f"{upstream.name} is not what it was when {fix} was written: {issue(fix)} (now {digest(text)})"


@pytest.mark.parametrize("upstream", RELIED_ON, ids=lambda upstream: str(upstream.name))
def test_what_a_fix_relies_on_is_what_it_was(upstream: Upstream) -> None:
    assert change(upstream, source(upstream.name)) == ""


@pytest.mark.parametrize("upstream", RELIED_ON, ids=lambda upstream: str(upstream.name))
def test_one_character_more_fails_with_the_function_and_the_issue(upstream: Upstream) -> None:
    said = change(upstream, source(upstream.name) + "#")
    assert upstream.name in said
    assert "https://github.com/" in said


def overridden() -> Iterator[str]:
    """Every function of another project's that a class of the doors overrides, as the project has it."""
    for door in DOORS:
        for cls in vars(door).values():
            if not inspect.isclass(cls) or cls.__module__ != door.__name__:
                continue
            for name, ours in vars(cls).items():
                if not isinstance(ours, FunctionType) or name == "__init__":
                    continue
                yield from [
                    f"{base.__module__}:{base.__qualname__}.{name}"
                    for base in cls.__mro__[1:]
                    if base.__module__.partition(".")[0] in {"aiokafka", "faust", "kubernetes_asyncio", "mode"}
                    and isinstance(vars(base).get(name), FunctionType)
                ][:1]


def replaced() -> Iterator[str]:
    """Every function of another project's that a door assigns another one to."""
    for door in DOORS:
        for cls, name in re.findall(r"^([A-Z]\w+)\.(\w+) = ", inspect.getsource(door), re.MULTILINE):
            yield f"{getattr(door, cls).__module__}:{cls}.{name}"


def test_every_override_is_watched() -> None:
    found = {*overridden(), *replaced()}
    assert "aiokafka.client:AIOKafkaClient.send" in found
    assert "mode.services:Service.wait_first" in found
    assert found <= {upstream.name for upstream in RELIED_ON}


def test_what_is_fixed_is_pinned_to_the_version_that_was_read() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {f"{name}=={version(name)}" for name in FIXED} <= set(needed)


@pytest.mark.parametrize("folder", ["common", "ingest", "streams", "sql", "leadsman"])
def test_nobody_else_looks_into_what_is_private(folder: str) -> None:
    """ruff refuses it where it is not excused."""
    excused = [path for path in (ROOT / folder).rglob("*.py") if "SLF001" in path.read_text()]
    assert excused == []
