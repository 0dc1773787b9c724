"""`PYTHONPATH=tests python -m components prepare [NAME ...]`: have the components before the tests run."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from components.cluster.containerd import containerd_programs
from components.cluster.image import worker_archive
from components.cluster.kubelet import why_no_kubelet
from components.cluster.kubernetes import etcd_program, kubernetes_programs
from components.kafka import kafka_classes, kafka_libraries, kafka_storage
from components.page.browser import browser_modules, chromium_program
from components.programs.cache import ComponentMissing, say
from components.programs.extras import (
    actionlint_program,
    alertmanager_program,
    helm_program,
    kubeconform_program,
    kwok_program,
    promtool_program,
    toxiproxy_program,
)
from components.zookeeper import zookeeper_libraries

NEEDED: Final[Mapping[str, Callable[[], Path]]] = {
    "kafka": kafka_libraries,
    "kafka-classes": kafka_classes,
    "kafka-storage": kafka_storage,
    "zookeeper": zookeeper_libraries,
    "chromium": chromium_program,
    "browser": browser_modules,
    "etcd": etcd_program,
    "containerd": containerd_programs,
    "worker-image": worker_archive,
    "toxiproxy": toxiproxy_program,
    "alertmanager": alertmanager_program,
    "helm": helm_program,
    "kubeconform": kubeconform_program,
    "actionlint": actionlint_program,
    "promtool": promtool_program,
    "kubernetes": kubernetes_programs,
}
"""Components that `make test` provides; the slow ones are last."""

ALL: Final = {**NEEDED, "kwok": kwok_program}
"""Also what is provided on request."""


def prepare(names: list[str]) -> int:
    """Provide the components; how many of them cannot be had here is returned, and why is said."""
    missing = 0
    for name in names or NEEDED:
        try:
            say(f"{name}: {ALL[name]()}")
        except ComponentMissing as why:
            missing += 1
            say(f"{name}: MISSING. {why}")
    if reason := why_no_kubelet():
        say(f"the tests with a real kubelet will be skipped: {reason}")
    return missing


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m components", description="The real components of the tests.")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("prepare", help="fetch and build what is not in the cache yet")
    command.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(ALL)}; without one {', '.join(NEEDED)}"
    )
    names = parser.parse_args().names
    if unknown := sorted(set(names) - set(ALL)):
        parser.error(f"no component is named {', '.join(unknown)}; there are {', '.join(ALL)}")
    sys.exit(1 if prepare(names) else 0)


if __name__ == "__main__":
    main()
