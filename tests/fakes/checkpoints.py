"""The state files of the kubelet's CPU and memory manager, written as the kubelet writes them."""

import msgspec

from streams.rules.numa.cpu_checkpoint import CpuManagerState, checksum
from streams.rules.numa.memory_checkpoint import (
    _TABLE_FIELDS,
    MemoryBlock,
    MemoryManagerState,
    MemoryNode,
    memory_checksum,
)


def write_cpu_manager_state(state: CpuManagerState) -> str:
    """The file as the kubelet writes it: one line, empty maps left out, the checksum of the state's version."""
    document: dict[str, object] = {"policyName": state.policy, "defaultCpuSet": state.default_cpuset}
    if state.entries:
        document["entries"] = state.entries.get("", {}) if state.version == 1 else state.entries
    if state.pod_entries:
        document["podEntries"] = {uid: {"cpuSet": cpus} for uid, cpus in state.pod_entries.items()}
    return msgspec.json.encode(document | {"checksum": checksum(state)}).decode()


def write_memory_manager_state(state: MemoryManagerState) -> str:
    """The file as the kubelet writes it: one line, with the checksum of the state's version."""
    document: dict[str, object] = {
        "policyName": state.policy,
        "machineState": {str(numa): _node_document(node) for numa, node in state.machine.items()},
        "entries": {
            uid: {name: _block_documents(blocks) for name, blocks in containers.items()}
            for uid, containers in state.entries.items()
        },
    }
    if state.pod_entries:
        document["podEntries"] = {uid: {"memoryBlocks": _block_documents(b)} for uid, b in state.pod_entries.items()}
    return msgspec.json.encode(document | {"checksum": memory_checksum(state)}).decode()


def _node_document(node: MemoryNode) -> dict[str, object]:
    tables = {kind: dict(zip(_TABLE_FIELDS, table, strict=True)) for kind, table in node.tables.items()}
    return {"numberOfAssignments": node.assignments, "memoryMap": tables, "cells": node.cells}


def _block_documents(blocks: tuple[MemoryBlock, ...]) -> list[dict[str, object]]:
    return [{"numaAffinity": b.numa_nodes, "type": b.type, "size": b.size_bytes} for b in blocks]
