"""Decides whether the eviction API evicts a pod (rules: drain)."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from common.amounts import counted
from ingest.model.objects.disruption import PodDisruptionBudget
from streams.rules.scheduling.selectors import Requirement, matches, selector

Leave: TypeAlias = Literal["granted", "in_turn", "refused", "unknown"]
"""`in_turn`: the pod goes once earlier pods of its budget are replaced and Ready."""


class Budget(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The facts that table scheduled_objects stores as JSON: a renamed field loses the value of stored rows."""

    selector: list[Requirement]
    allowed: int = 0
    """Number of healthy pods that may be evicted now."""
    healthy: int = 0
    desired: int = 0
    always_unready: bool = False
    """True if a pod that is not Ready may always be evicted."""
    is_stale: bool = False
    """True if the controller has not evaluated its newest version."""
    disrupted: list[str] = []
    """Pods that are already being evicted, and do not count again."""


class BudgetVerdict(NamedTuple):
    leave: Leave
    why: str = ""


def budget_facts(budget: PodDisruptionBudget) -> Budget:
    status = budget.status
    return Budget(
        selector=selector(budget.spec.selector),
        allowed=status.disruptions_allowed,
        healthy=status.current_healthy,
        desired=status.desired_healthy,
        always_unready=budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
        is_stale=status.observed_generation < budget.metadata.generation,
        disrupted=sorted(status.disrupted_pods or ()),
    )


def covering(
    budgets: Mapping[tuple[str, str], Budget], namespace: str, labels: Mapping[str, str]
) -> list[tuple[str, Budget]]:
    """Return the budgets, given by namespace and name, that select a pod: with their names, by name."""
    return sorted(
        (name, each) for (own, name), each in budgets.items() if own == namespace and matches(each.selector, labels)
    )


def ruling(found: Sequence[tuple[str, Budget]], before: int, lost: int = 0) -> BudgetVerdict:
    """Return the eviction API's answer for a running pod with these budgets. `before` is the number of pods of the
    same budget that go before it, and `lost` that of those among them without a successor.
    """
    if not found:
        return BudgetVerdict("granted")
    if len(found) > 1:
        names = " and ".join(name for name, _ in found)
        return BudgetVerdict("refused", f"budgets {names} both select it, and the API evicts no pod with two")
    ((name, budget),) = found
    if budget.is_stale:
        return BudgetVerdict("unknown", f"budget {name} changed, and its controller has not evaluated it yet")
    if refusal := _refusal(name, budget, lost):
        return BudgetVerdict("refused", f"{refusal}{_unready(budget)}")
    if before >= budget.allowed:
        return BudgetVerdict("in_turn", f"budget {name} lets {budget.allowed} go at a time, until others are Ready")
    return BudgetVerdict("granted")


def _refusal(name: str, budget: Budget, lost: int) -> str:
    if budget.allowed <= 0 and budget.healthy > budget.desired:
        return f"budget {name} lets no pod go now"
    if budget.allowed <= 0:
        return f"budget {name} needs {counted(budget.desired, 'healthy pod')} and has {budget.healthy}"
    gone = counted(lost, "pod that goes before has", "pods that go before have")
    return f"budget {name} lets {budget.allowed} go, and {gone} no Ready successor" if lost >= budget.allowed else ""


def _unready(budget: Budget) -> str:
    may_go = budget.always_unready or 0 < budget.desired <= budget.healthy
    return "; it may go if it is not Ready itself" if may_go else ""
