"""Finds the clusters of the commands in pasted text, so that two are never read as one (rules: pasted-text)."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ingest.files.texts.enclosed import inside_objects
from ingest.files.texts.fragments import is_fence, is_prompt, split_prompts

_MAY_SWITCH: Final = re.compile(
    rb"--(?:context|cluster|kubeconfig|server)[= ]|KUBECONFIG=|kubectx |use-context |kubie ctx |Switched to context"
    rb"|oc login |get-credentials|update-kubeconfig|\(\W{0,3}\|"
)
_SIGN: Final = "[$#%>\u276f\u279c]"
_TOOL: Final = r"(?:/[\w./-]{1,100}/)?(?:kubectl(?:\.exe)?|kubecolor|oc|k)[ \t]+[a-z-]"
_SWITCH: Final = (
    r"kubectx[ \t]|kubie ctx[ \t]|oc login[ \t]|(?:export|unset)[ \t]+KUBECONFIG\b|KUBECONFIG="
    r"|gcloud container clusters get-credentials[ \t]|aws[ \t][^\n]{0,200}?update-kubeconfig|az aks get-credentials"
)
_PROMPT: Final = re.compile(
    r"(?P<indent>[ \t]*)(?P<prompt>(?:\([^)\n]{0,120}\) ?){0,3}"
    rf"(?:\[[^\]\n]{{1,80}}\]|PS [^\n>]{{0,80}}|[\w.@:~/+-]{{0,80}}(?: [\w.@:~/+-]{{1,60}})? ?){_SIGN})"
    r"[ \t]*(?P<typed>.*)"
)
"""Matches a line with a prompt."""
_BARE: Final = re.compile(
    rf"(?:(?:sudo|time|watch)[ \t]+)?(?:{_TOOL}|{_SWITCH}|for[ \t]+\w+[ \t]+in[ \t]|while[ \t]+read[ \t]).*"
)
"""Matches a command without a prompt, which begins its line."""
_HEADING: Final = re.compile(rf"[^`\"]{{0,100}}`(?P<typed>(?:sudo )?{_TOOL}[^`]{{1,2000}})`:?\s*")
"""Matches a command in a sentence that ends with it."""
_RUNS: Final = re.compile(rf"(?<![\w./-]){_TOOL}")
_SWITCHES: Final = re.compile(rf"(?:sudo )?(?:{_SWITCH}|(?:kubectl|oc)[ \t]+config[ \t]+use-context[ \t])")
_SHOWS: Final = re.compile(r"(?:#|(?:echo|printf|alias|git|e?grep|rg|man|history)\b)")
"""Matches a part of a line that only prints or looks for the text of a command."""
_PARTS: Final = re.compile(r"[;|&]+")
_LOOP: Final = re.compile(r"(?:[^\n]{0,200}[|;&][ \t]*)?(?:for|while|until)[ \t]")
_DONE: Final = re.compile(r"\bdone\b")
_VARIABLE: Final = re.compile(r"\$|\{\}|`")
_VALUE: Final = r"[= ][ \t]*['\"]?([^\s'\"`;&|]{1,253})"
_FLAG: Final = re.compile(rf"--(context|cluster|kubeconfig|server){_VALUE}")
_IN_FRONT: Final = re.compile(r"\bKUBECONFIG=['\"]?([^\s'\";&|]{1,253})")
_SHOWN: Final = re.compile(r"\((?:\u2388 ?|k8s:?)?\|([^\s:)|]{1,253})(?::[^\s)]{0,100})?\)")
"""Matches the context in a prompt of kube-ps1."""
_SWITCHED: Final = re.compile(r"[ \t]*Switched to (?:a new )?context \"([^\"]{1,253})\"\..*")
_STICKY: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("context", re.compile(r"(?:kubectx|kubie ctx|config[ \t]+use-context)[ \t]+['\"]?([^\s'\";&|]{1,253})")),
    ("kubeconfig", re.compile(r"export[ \t]+KUBECONFIG=['\"]?([^\s'\";&|]{1,253})")),
    ("kubeconfig", re.compile(r"KUBECONFIG=['\"]?([^\s'\";&|]{1,253})['\"]?[ \t]*$")),
    ("server", re.compile(r"oc login [^\n]{0,300}?(https?://[^\s'\"`;&|]{1,253})")),
    ("cloud", re.compile(r"clusters get-credentials[ \t]+['\"]?([^\s'\";&|-][^\s'\";&|]{0,252})")),
    ("cloud", re.compile(rf"(?:update-kubeconfig|get-credentials)\b[^\n]{{0,300}}?(?:--name|-n){_VALUE}")),
)
"""Selects a cluster for all commands below."""
_PLACES: Final = (
    ("region", re.compile(rf"[ \t](?:--region|--zone|--location|-z){_VALUE}")),
    ("project", re.compile(rf"[ \t](?:--project|--resource-group|-g){_VALUE}")),
)
"""The place of a cluster in a cloud: two places can have one name."""
_MOST_CONTINUED: Final = 20
_MOST_OF_LOOP: Final = 20


class Selected(NamedTuple):
    """The names by which a command selects its cluster; only names of one kind can be compared."""

    context: str = ""
    cluster: str = ""
    kubeconfig: str = ""
    server: str = ""
    cloud: str = ""
    """The name by which a cloud's own tool knows it."""
    region: str = ""
    project: str = ""


class Line(NamedTuple):
    text: str
    selected: Selected
    is_output: bool


NONE: Final = Selected()
SEVERAL: Final = Selected(context="$")
"""The clusters of a loop, or of a line with several commands: which of them printed a line is unknown."""


def selected_lines(data: bytes) -> list[Line]:
    """Return the lines of a text with their clusters; no lines for a text without commands that select one."""
    if not _MAY_SWITCH.search(data):
        return []
    text = split_prompts(data.decode(errors="replace").replace("\r\n", "\n"))
    return list(_Session(text.split("\n")).lines())


class _Session:
    """A text of commands and what they printed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._sticky = self._before = self._now = NONE

    def lines(self) -> Iterator[Line]:
        inside, number = inside_objects(self._lines), 0
        while number < len(self._lines):
            line, end = self._lines[number], number + 1
            typed = None if inside[number] else self._typed(line)
            while typed is not None and typed.endswith("\\") and end < min(len(inside), number + _MOST_CONTINUED):
                typed, end = f"{typed[:-1]} {_continuation(self._lines[end])}", end + 1
            if typed is not None and _LOOP.match(typed):
                end = self._end_of_loop(typed, end)
                typed = "; ".join((typed, *map(_continuation, self._lines[number + 1 : end])))
            if typed is not None:
                self._run(typed, line)
            elif (found := _SWITCHED.fullmatch(line)) is not None:
                self._switch(Selected(context=found[1], kubeconfig=self._sticky.kubeconfig))
            is_output = typed is None and bool(line.strip()) and not (is_prompt(line) or is_fence(line))
            yield from (Line(each, self._now, is_output) for each in self._lines[number:end])
            number = end

    def _typed(self, line: str) -> str | None:
        """Return the command of a line; None for output. A line that is indented needs a prompt, other than `#`."""
        found = _PROMPT.fullmatch(line)
        if found is not None and not (found["indent"] and found["prompt"] in {"#", ">", "%"}):
            return found["typed"]
        if _BARE.fullmatch(line):
            return line
        heading = _HEADING.fullmatch(line)
        return heading["typed"] if heading else None

    def _end_of_loop(self, typed: str, end: int) -> int:
        """Return the line behind a loop; the next one if the loop has no end."""
        if _DONE.search(typed):
            return end
        following = self._lines[end : end + _MOST_OF_LOOP]
        lengths = (number for number, line in enumerate(following, 1) if _DONE.match(_continuation(line)))
        return end + next(lengths, 0)

    def _run(self, typed: str, line: str) -> None:
        """Follow the commands of a line or a loop."""
        in_loop = _LOOP.match(typed) is not None
        shown = _SHOWN.search(line)
        found = list[Selected]()
        for part in map(str.strip, _PARTS.split(typed)):
            command = re.sub(r"^(?:do|then|\{|\()[ \t]+", "", part)
            if _SHOWS.match(command):
                continue
            if _SWITCHES.match(command) and not (command.startswith("KUBECONFIG=") and _RUNS.search(command)):
                self._switch(self._after(command, in_loop=in_loop))
            elif _RUNS.search(command):
                found.append(self._of(command, shown[1] if shown else "", in_loop=in_loop))
        if found:
            self._now = found[0] if len(set(found)) == 1 else SEVERAL

    def _of(self, command: str, shown: str, *, in_loop: bool) -> Selected:
        """Return the cluster of one command: its own flags come before what was selected above it."""
        named = dict(_FLAG.findall(command))
        if (front := _IN_FRONT.search(command)) is not None:
            named.setdefault("kubeconfig", front[1])
        if any(map(_VARIABLE.search, named.values())) and (in_loop or "{}" in named.values()):
            return SEVERAL
        if "kubeconfig" in named:
            return Selected(**named)._replace(kubeconfig=_path(named["kubeconfig"]))
        if "context" in named or "server" in named or "cluster" in named:
            return Selected(**named, kubeconfig=self._sticky.kubeconfig)
        return self._sticky._replace(context=shown) if shown else self._sticky

    def _after(self, command: str, *, in_loop: bool) -> Selected:
        """Return the cluster of the commands below one that switches."""
        for kind, form in _STICKY:
            if (found := form.search(command)) is None:
                continue
            name = found[1]
            if name == "-":  # kubectx goes back
                return self._before
            places = [(each, found[1]) for each, form in _PLACES if (found := form.search(command))]
            places = places if kind == "cloud" else []
            if in_loop and any(_VARIABLE.search(each) for each in (name, *dict(places).values())):
                return SEVERAL
            if kind == "kubeconfig":
                return Selected(kubeconfig=_path(name))
            stated = {each: value for each, value in places if not _VARIABLE.search(value)}
            return Selected(kubeconfig=self._sticky.kubeconfig)._replace(**{kind: name, **stated})
        return NONE if command.startswith("unset") else self._sticky

    def _switch(self, selected: Selected) -> None:
        if selected != self._sticky:
            self._before, self._sticky = self._sticky, selected
        self._now = self._sticky


def _continuation(line: str) -> str:
    """Return a further line of a command, without the second prompt."""
    return line.strip().removeprefix(">").strip()


def _path(name: str) -> str:
    return re.sub(r"^(?:\$HOME|\$\{HOME\})/", "~/", name).removeprefix("./")
