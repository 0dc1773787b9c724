"""Finds the clusters of the commands in pasted text, by their contexts, so that two are never read as one (rules:
pasted-text).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from common.text import plain

SEVERAL: Final = "$"
"""Stands for the clusters of a loop: which of them printed a line is unknown."""
_MAY_SWITCH: Final = re.compile(
    rb"--(?:context|cluster|kubeconfig)[= ]|KUBECONFIG=|kubectx |use-context |kubie ctx |Switched to context"
    rb"|oc login |get-credentials|update-kubeconfig|\(\W{0,3}\|"
)
_PROMPT: Final = r"(?:[^\n`\"]{0,100}?[$#>%\u276f\u279c][ \t]*|[ \t]*)(?:sudo )?"
_VALUE: Final = r"[= ]['\"]?(?P<{}>[^\s'\"`|;&]{{1,253}})"
_STICKY: Final = re.compile(
    rf"{_PROMPT}(?:kubectx|kubie ctx|(?:kubectl|oc) config use-context){_VALUE.format('context')}[ \t]*(?:[;&|#].*)?"
    rf"|{_PROMPT}export KUBECONFIG{_VALUE.format('file')}.*"
    rf"|{_PROMPT}oc login .*?(?P<server>https?://[^\s'\"`]{{1,253}}).*"
    r"|[ \t]*Switched to (?:a new )?context \"(?P<switched>[^\"]{1,253})\"\..*"
    rf"|{_PROMPT}gcloud container clusters get-credentials{_VALUE.format('gke')}.*"
    rf"|{_PROMPT}aws eks (?:[^\n]{{0,200}} )?update-kubeconfig .*?--name{_VALUE.format('eks')}.*"
    rf"|{_PROMPT}az aks get-credentials .*?(?:--name|-n){_VALUE.format('aks')}.*"
)
"""Matches what selects a cluster for all commands below it."""
_COMMAND: Final = re.compile(
    rf"{_PROMPT}(?:KUBECONFIG=\S{{1,253}} )?(?:kubectl(?:\.exe)?|kubecolor|oc|k)[ \t]+[a-z-].*"
    rf"|{_PROMPT}(?:for|while)[ \t].{{1,500}}?\bdo[ \t]+(?:kubectl|oc|k)[ \t].*"
)
_LOOP: Final = re.compile(rf"{_PROMPT}(?:[^\n]{{1,200}}\|[ \t]*)?(?:for[ \t]+\w{{1,64}}[ \t]+in|while)[ \t].*")
_LOOP_ENDS: Final = re.compile(r"(?:^|[ \t;>])done\b")
_VARIABLE: Final = re.compile(
    r"(?:--(?:context|cluster|kubeconfig)[= ]|KUBECONFIG=|(?P<sticky>kubectx |kubie ctx |use-context ))['\"]?\$"
)
"""Matches the choice of a cluster by a shell's variable."""
_OF_ONE: Final = re.compile(rf"--(?:context|cluster|kubeconfig){_VALUE.format('name')}")
_IN_FRONT: Final = re.compile(r"\bKUBECONFIG=['\"]?(?P<name>[^\s'\"]{1,253})")
_SHOWN: Final = re.compile(r"\((?:\u2388 ?|k8s:?)?\|(?P<name>[^\s:)|]{1,253})(?::[^\s)]{0,100})?\)")
"""Matches the context in a prompt of kube-ps1."""


def clusters_in(data: bytes) -> set[str]:
    """Return the clusters that the commands in a text name; the empty name for text of no certain one."""
    if not _MAY_SWITCH.search(data):
        return {""}
    return {cluster for cluster, line in _by_line(_lines(data)) if line.strip()} or {""}


def of_cluster(data: bytes, cluster: str) -> bytes:
    """Return a text with only the lines of a cluster, in as many lines."""
    return "\n".join(line if each == cluster else "" for each, line in _by_line(_lines(data))).encode()


def _lines(data: bytes) -> Sequence[str]:
    return data.decode(errors="replace").replace("\r\n", "\n").split("\n")


def _by_line(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each line with its cluster."""
    before = sticky = now = ""
    is_loop = False
    for line in lines:
        is_loop = is_loop or _LOOP.fullmatch(line) is not None
        if is_loop and (chosen := _VARIABLE.search(line)) is not None:
            now = SEVERAL
            sticky = SEVERAL if chosen["sticky"] else sticky
        elif (found := _STICKY.fullmatch(line)) is not None:
            name = next(filter(None, found.groupdict().values()))
            if name == "-":  # kubectx goes back
                before, sticky = sticky, before
            elif name != sticky:
                before, sticky = sticky, name
            now = sticky
        elif _COMMAND.fullmatch(line) is not None:
            of_one = _OF_ONE.search(line) or _IN_FRONT.search(line) or _SHOWN.search(line)
            now = of_one["name"] if of_one else sticky
        is_loop = is_loop and _LOOP_ENDS.search(line) is None
        yield plain(now, 253), line
