"""CPUs for a container over the NUMA nodes of a node, by what is free on each; None where they do not fit."""


def on_one(free: list[int], cpus: int, *, fullest_first: bool) -> list[int] | None:
    fitting = [i for i, available in enumerate(free) if available >= cpus]
    if not fitting:
        return None
    chosen = min(fitting, key=lambda i: (free[i] if fullest_first else -free[i], i))
    return [cpus if i == chosen else 0 for i in range(len(free))]


def split_widest(free: list[int], cpus: int) -> list[int] | None:
    shares = [0] * len(free)
    for i in sorted(range(len(free)), key=lambda i: (-free[i], i)):
        shares[i] = min(cpus, free[i])
        cpus -= shares[i]
    return None if cpus else shares


def split_evenly(free: list[int], cpus: int) -> list[int] | None:
    if sum(free) < cpus:
        return None
    shares = [0] * len(free)
    while cpus:
        left = sorted((i for i in range(len(free)) if free[i] > shares[i]), key=lambda i: (shares[i] - free[i], i))
        share = max(1, cpus // len(left))
        for i in left:
            part = min(share, free[i] - shares[i], cpus)
            shares[i] += part
            cpus -= part
    return shares
