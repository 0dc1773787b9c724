"""Splits pasted text at the commands in it, without the marks that pages and tools put around lines.

A command has facts that the text below it lacks: the namespace of a table, the name of an object whose head was cut
off, the paths of columns (rules: pasted-text).
"""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple

_BLANKS: Final = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_STARRED: Final = re.compile(rb"^\* ==> ", re.MULTILINE)
_STAR: Final = re.compile(rb"^\* ?", re.MULTILINE)
"""Prefix of each line of `minikube logs` before 1.15."""
_QUOTE: Final = re.compile(r"^(?:> )+(?!\s*(?:kubectl|oc)\b)", re.MULTILINE)
_CODE: Final = re.compile(r"^([ \t]*)`([^`\n]{20,4000})`[^`\n]{0,200}$", re.MULTILINE)
"""A table row that a page shows as code within a sentence."""
_PIPED: Final = re.compile(r"^[ \t]*\|((?:[^|\n]*\|){3,64})[ \t]*$", re.MULTILINE)
"""A row of a table in Markdown."""
_TABBED: Final = re.compile(r"^([^\t\n]*(?:\t[^\t\n]*){2,64})$", re.MULTILINE)
"""A row of a table from a web page or a spreadsheet."""
_TABBED_HEAD: Final = re.compile(
    r"^(?:[A-Z][A-Z0-9() -]*(?:\t[A-Z][A-Z0-9() -]*){2,64}|[A-Z][A-Za-z ]*(?:\t(?:[A-Z][A-Za-z ]*|)){6,64})$",
    re.MULTILINE,
)
"""The head of such a table; Lens writes its headings in mixed case, and may leave one empty."""
_WIDEST: Final = 300
"""Characters of a cell with which the cells above and below are aligned."""
_WIDEST_ROW: Final = 1_000
_MOST_TIMES: Final = 4
"""Limits of an aligned table: characters of a row, and its length as a multiple of its text's."""
_FRAME: Final = re.compile("^[ \\t]*[┌└├╭╰][─┬┴┼ ].*$", re.MULTILINE)
_SIDE: Final = re.compile("^[ \\t]*[│┃║] ?", re.MULTILINE)
_BOX: Final = re.compile("[│┃║↑↓●]")
"""Matches lines that k9s draws around and inside a table."""
_FENCE: Final = re.compile(r"\s*(?:```|~~~|==> .{1,200} <==\s*$).*")
_TOOL: Final = r"(?:minikube kubectl --|(?:k3s|microk8s) kubectl|microk8s\.kubectl|kubectl(?:\.exe)?|kubecolor|oc|k)"
_OTHERS: Final = r"(?:argocd|calicoctl|cilium|crictl|docker|eksctl|flux|git|helm|istioctl|please|pls|podman|velero)"
"""Verbs of kubectl that other commands and prose also use."""
_LISTED: Final = (
    r"(?:all|no(?:des?)?|po(?:ds?)?|ev(?:ents?)?|deploy(?:ments?)?|rs|replicasets?|sts|statefulsets?|ds|daemonsets?"
    r"|jobs?|cj|cronjobs?|svc|services?|ns|namespaces?|pvc?|pdb|hpa|vpa|leases?|machines?|nodeclaims?|nodepools?)"
)
"""Resources by the names that kubectl accepts."""
_PROMPTED: Final = (
    r"(?:\[[^\]\n]{1,80}\]|[^\s`]{1,60}@[^\n`]{1,80}?|[\w.-]{1,32}:[~/][^\s`]{0,80})(?:[#$%][ \t]*|>)"
    rf"(?!{_OTHERS}\b)[a-z]{{1,16}}[ \t]+(?=(?:get|describe)[ \t]+{_LISTED}(?:[ \t/,;|.]|$))"
)
"""A prompt before a person's own alias for kubectl. Quotes and e-mail addresses also end in `>`, before a blank."""
_VERBS: Final = r"(?:get|describe|events|top|drain|adm|cordon|logs|delete|apply|exec|-)"
_TYPED: Final = re.compile(
    rf"(?:[^\n`]{{0,100}}?[$#>%»\u276f\u279c~]\**[ \t]*|[ \t*]*)(?:sudo )?{_TOOL}[ \t]+(?P<args>{_VERBS}.{{0,2000}})"
)
_ALIAS: Final = re.compile(rf"{_PROMPTED}(?P<args>.{{0,2000}})")
_HOSTED: Final = re.compile(r"^[ \t]*([\w.-]{1,32}@[\w.-]{1,64}):[^\n`]{0,80}?[#$%>]", re.MULTILINE)
"""Matches a prompt at the start of a line."""
_GLUED: Final = re.compile(
    r"(?:(?<=[^\s`'\"(])(?=[ \t]{0,8}(?:(?<![\w-])[a-z_][\w-]{0,31}@[\w.-]{1,64}:[~/][^\s`]{0,80}[#$%>]"
    r"|\[[\w.-]{1,32}@[\w.-]{1,64} [^\]\s]{1,80}\][#$%])@)|(?<=[.}])(?=\$@))".replace(
        "@)", rf"[ \t]+(?:sudo )?(?:{_TOOL}[ \t]+{_VERBS}|cat|ssh|journalctl|kubectx)\b)"
    )
)
"""Matches the end of output without a newline, before the next prompt."""
_GLUED_LAST: Final = re.compile(
    r"(?<=[.}])[ \t]{0,8}(?:[a-z_][\w-]{0,31}@[\w.-]{1,64}:[~/][^\s`]{0,80}"
    r"|\[[\w.-]{1,32}@[\w.-]{1,64} [^\]\s]{1,80}\])"
    r"[#$%>][ \t]*$",
    re.MULTILINE,
)
"""Matches the prompt behind the last output."""
_GLUED_NAME: Final = re.compile(r"(?P<word>[\w.-]{1,96})(?P<host>@[\w.-]{1,64}):[~/][^\s`]{0,80}[#$%>][ \t]+(?=\w)")
"""Matches a prompt, perhaps with the end of the output before its name."""
_VALUED: Final = re.compile(r"[ \t]+\"?[\w./-]{1,317}\"?:[ \t]|\([^)\n]{1,120}\)")
"""Matches the start of a line of an object, or of a prompt with a context or an environment."""
_ANY_PROMPT: Final = re.compile(r"\s*(?:\[[^\]\n]{1,80}\]|[\w.@:~/-]{0,80} ?)[$#%>\u276f\u279c](?:\s.*)?")
"""Matches a line of a terminal, with or without a command."""
_INLINE: Final = re.compile(rf"`(?:sudo )?{_TOOL}[ \t]+(?P<args>{_VERBS}[^`\n]{{0,2000}})`")
_END: Final = re.compile(r"\||>|;|&&|`|\*\*")
"""Matches the end of a command's own arguments."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,252}")
_RESOURCES: Final = {
    each: name
    for name in ("nodes", "pods", "events")
    for each in (name, name[:-1], {"nodes": "no", "pods": "po", "events": "ev"}[name])
}
_WITH_VALUE: Final = frozenset(
    {
        "-l",
        "--selector",
        "--field-selector",
        "--sort-by",
        "--context",
        "--kubeconfig",
        "-L",
        "--for",
        "--types",
        "-c",
        "--as",
    }
)
_COLUMNS: Final = "custom-columns="
_MOST_CONTINUED: Final = 20
_TEMPLATE: Final = re.compile(r"jsonpath=(.{1,2000})", re.DOTALL)
_GO: Final = re.compile(r"(?:go-)?template=(.{1,2000})", re.DOTALL)
_TRIMMED: Final = re.compile(r"\{\{-? ?((?:[^{}]|\{(?!\{))*?) ?-?\}\}")
_OF_JQ: Final = re.compile(
    r"\|\s*jq(?:\s+-\w{1,9})*\s+['\"]?(\.(?:status|spec)\b[\w.]{0,200}(?:\[\])?)(?:\s*\|\s*select\([^\n']{0,300}\))?['\"]?\s*\Z"
)
"""Matches the end of a command that prints part of one object."""


class Command(NamedTuple):
    """The parts of a kubectl command that the text below it needs; each is empty if the command lacks it."""

    verb: str = ""
    resource: str = ""
    name: str = ""
    """The object, if the command is about a single one."""
    namespace: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    """Headings of custom columns, with their paths."""
    template: str = ""
    """The expression of `-o jsonpath`, or of the part that `jq` prints."""


class Fragment(NamedTuple):
    command: Command
    lines: list[str]
    start: int
    """The number of its first line, from 0."""


def strip_marks(text: str) -> str:
    """Return text without quote marks and table pipes, with spaces for other blanks, and the same number of lines."""
    text = split_prompts(text.replace("\r\n", "\n"))
    if not text.isascii():
        text = _BLANKS.sub(" ", text)
    if _FRAME.search(text):
        text = _BOX.sub(" ", _SIDE.sub("", _FRAME.sub("", text)))
    text = _CODE.sub(r"\1\2", _QUOTE.sub("", text))
    text = _align_cells(text, _PIPED, "|") if "|" in text else text
    return _align_cells(text, _TABBED, "\t") if _TABBED_HEAD.search(text) else text


def _align_cells(text: str, row: re.Pattern[str], mark: str) -> str:
    """Return text in which cells of tables are aligned by spaces, in place of a mark between them.

    A table whose cells tabs separate begins with its head.
    """
    pieces, end = list[str](), 0
    for run in _runs(text, row):
        first = next(
            (number for number, each in enumerate(run) if mark == "|" or _TABBED_HEAD.fullmatch(each[0])), None
        )
        if first is not None:
            head, *rows = _without_marks(run[first:], mark).split("\n")
            head = head if mark == "|" else head.upper()
            pieces += text[end : run[first].start()], "\n".join((head, *rows))
            end = run[-1].end()
    return "".join((*pieces, text[end:]))


def _runs(text: str, row: re.Pattern[str]) -> Iterator[list[re.Match[str]]]:
    """Yield the rows of each table: consecutive lines."""
    run = list[re.Match[str]]()
    for found in row.finditer(text):
        if run and found.start() != run[-1].end() + 1:
            yield run
            run = []
        run.append(found)
    if run:
        yield run


def _without_marks(run: list[re.Match[str]], mark: str) -> str:
    """Return the rows of a table. Cells are not aligned if that makes the rows far longer."""
    rows = [[cell.strip() for cell in found[1].split(mark)] for found in run]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip_longest(*rows, fillvalue="")]
    is_long = sum(widths) > _WIDEST_ROW or len(rows) * sum(widths) > _MOST_TIMES * sum(len(each[0]) for each in run)
    if is_long:
        widths = [0] * len(widths)
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def strip_stars(data: bytes) -> bytes:
    """Return `minikube logs` without the star before each line."""
    return _STAR.sub(b"", data) if _STARRED.search(data) else data


def split_prompts(text: str) -> str:
    """Return text in which each prompt begins a line: jsonpath and `--raw` print no newline at the end.

    A name glued to a word is cut off only if it is that of another prompt.
    """
    if not any(each in text for each in ("kubectl", "oc ", "_manager_state")):
        return text
    text = _cut(text, ((found.start(), found.end(), "\n") for found in _GLUED.finditer(text)))
    text = _cut(text, ((found.start(), found.end(), "") for found in _GLUED_LAST.finditer(text)))
    hosts = set(_HOSTED.findall(text))
    ends = (_end_of_output(found, hosts) for found in _GLUED_NAME.finditer(text)) if hosts else ()
    return _cut(text, ((end, end, "\n") for end in ends if end is not None))


def _end_of_output(found: re.Match[str], hosts: Collection[str]) -> int | None:
    """Return the start of the longest known name in a prompt that does not begin a line."""
    word, host = found["word"], found["host"]
    number = next((number for number in range(len(word)) if word[number:] + host in hosts), None)
    start = found.start() if number is None else found.start() + number
    before = found.string[start - 1 : start]
    return None if number is None or not before.strip("`'\"( \t\n") else start


def _cut(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return text with other text in place of spans, except inside quotes and lines of objects."""
    pieces, end, quotes, is_valued = list[str](), 0, 0, _VALUED.match(text) is not None
    for start, after, instead in spans:
        begin = text.rfind("\n", end, start) + 1
        quotes = text.count('"', begin, start) if begin else quotes + text.count('"', end, start)
        is_valued = _VALUED.match(text, begin) is not None if begin else is_valued
        is_inside = quotes % 2 == 1 or is_valued
        pieces += text[end:start], text[start:after] if is_inside else instead
        end = after
    return "".join((*pieces, text[end:]))


def is_typed(line: str) -> bool:
    """Tell whether a line is a prompt with a kubectl command."""
    return (_TYPED.fullmatch(line) or _ALIAS.fullmatch(line)) is not None


def is_prompt(line: str) -> bool:
    """Tell whether a line is a prompt, with or without a command."""
    return _ANY_PROMPT.fullmatch(line) is not None


def is_fence(line: str) -> bool:
    """Tell whether a line is a fence of Markdown."""
    return line.count("```") % 2 == 1 or line.strip().startswith("~~~")


def fragments(lines: Sequence[str]) -> list[Fragment]:
    """Split text at the commands in it. Lines with fences become empty, because nothing continues across one.

    A describe command that names no object belongs to the describe command before it, because people paste one text
    in pieces.
    """
    found = list(_commands(lines))
    fragments = [Fragment(Command(), list(_lines(lines, 0, found[0][0] if found else len(lines))), 0)]
    for (_, start, command), (end, *_) in pairwise([*found, (len(lines), 0, Command())]):
        before = fragments[-1]
        if command.verb == before.command.verb == "describe" and not command.name and before.command.name:
            fragments[-1] = before._replace(lines=[*before.lines, "", *_lines(lines, start, end)])
        else:
            fragments.append(Fragment(command, list(_lines(lines, start, end)), start))
    return fragments


def _lines(lines: Sequence[str], start: int, end: int) -> Iterator[str]:
    return ("" if _FENCE.fullmatch(line) else line for line in lines[start:end])


def _commands(lines: Sequence[str]) -> Iterator[tuple[int, int, Command]]:
    """Yield each command with its first line and the line after it; a backslash continues a command."""
    for number, line in enumerate(lines):
        command, end = command_in(line), number + 1
        while command is not None and line.endswith("\\") and end < min(len(lines), number + _MOST_CONTINUED):
            line, end = line[:-1] + lines[end].strip(), end + 1  # noqa: PLW2901 - as it was typed
            command = command_in(line)
        if command is not None:
            yield number, end, command


def command_in(line: str) -> Command | None:
    """Return the kubectl command in a line; None if there is none."""
    found = _TYPED.fullmatch(line) or _ALIAS.fullmatch(line)
    if found is None and "`" in line and "  " not in line.strip():
        found = _INLINE.search(line)
    return None if found is None else command_of(found["args"])


def command_of(args: str) -> Command:
    """Parse the arguments of kubectl; unknown ones are left out."""
    args = args.partition("`")[0]
    try:
        words = shlex.split(args)
    except ValueError:
        words = args.split()
    end = next((number for number, word in enumerate(words) if _END.match(word)), len(words))
    values, named = dict[str, str](), list[str]()
    flag = ""
    for word in words[:end]:
        if flag:
            values[flag], flag = word, ""
        elif word in {"-n", "--namespace", "-o", "--output", *_WITH_VALUE}:
            flag = word.lstrip("-")[:1] if word in {"-n", "--namespace", "-o", "--output"} else word
        elif found := re.fullmatch(r"-(?:-namespace=|n=?)(.+)", word):
            values["n"] = found[1]
        elif found := re.fullmatch(r"-(?:-output=|o=?)(.+)", word):
            values["o"] = found[1]
        elif not word.startswith("-"):
            named.append(word.rstrip("`*,"))
    verb, resource, names = (named[0] if named else ""), (named[1] if len(named) > 1 else ""), named[2:]
    if "/" in resource:
        resource, _, name = resource.partition("/")
        names = [name, *names]
    namespace = values.get("n", "")
    return Command(
        verb,
        "events" if verb == "events" else _RESOURCES.get(resource, ""),
        names[0] if len(names) == 1 and _NAME.fullmatch(names[0]) else "",
        namespace if _NAME.fullmatch(namespace) else "",
        _columns(values.get("o", "")),
        _template(args, values.get("o", "")),
    )


def _columns(output: str) -> tuple[tuple[str, str], ...]:
    if not output.startswith(_COLUMNS):
        return ()
    pairs = (each.partition(":") for each in output.removeprefix(_COLUMNS).split(",")[:64])
    return tuple((head.strip(), path.strip().lstrip(".")) for head, _, path in pairs if path)


def _template(args: str, output: str) -> str:
    if found := _GO.fullmatch(output):
        return _TRIMMED.sub(r"{\1}", found[1]).replace("{range .items}", "{range .items[*]}")
    found = _TEMPLATE.fullmatch(output)
    of_jq = None if found else _OF_JQ.search(args)
    return found[1] if found else f"{{{of_jq[1]}}}" if of_jq else ""


def is_about_a_part(line: str) -> bool:
    """Tell whether a line is a command that prints part of one object, such as its conditions."""
    command = command_in(line) if "jsonpath" in line or "jq" in line else None
    return command is not None and bool(command.name) and command.template.startswith(("{.status", "{.spec"))


def spans_left(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the lines outside of the spans, which are sorted; lines inside become empty."""
    left = list(lines)
    for start, end in spans:
        left[start:end] = [""] * (end - start)
    return left
