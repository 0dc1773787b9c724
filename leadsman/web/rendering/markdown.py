"""Renders a runbook as HTML: saved questions become links if the page can ask them, other commands stay text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from common.text import argument, plain
from leadsman.web.attention.item import Step
from leadsman.web.rendering.links import Links
from sql.questions.queries import SavedQuery, chosen, names, saved_query
from streams.alerting.runbook import Runbook, runbooks

_COMMAND: Final = re.compile(r"(?P<command>[^#]*?)\s*(?:#\s*(?P<note>.*))?")
_QUESTION: Final = re.compile(r"leadsman query (?P<name>\w+)(?P<given>(?: --(?:param \w+=|by |depth )\S+)*)")
_WITHIN: Final = re.compile(r"leadsman query \w+(?: --(?:param \w+=|by )\S*[^\s.])*")
_KUBECTL: Final = re.compile(r"kubectl (?:&#?\w+;|[^\s.:;,]|[.:;,](?=\S)|\s(?!and\b|or\b|before\b))+")
"""A command in escaped text, up to punctuation or a word that continues the sentence."""
_GIVEN: Final = re.compile(r"--(?:param )?(\w+)[= ](\S+)")
_CODE: Final = re.compile(r"`([^`]+)`")
_NODE: Final = re.compile(r"\bNODE\b")
_PART: Final = re.compile(r"^(?=## )", re.MULTILINE)
_CLUSTER: Final = re.compile(r"\bCLUSTER\b")
"""Placeholder for a node's name in a runbook's command."""
LEVELS: Final = 6
MOST_STEP: Final = 600


class _Rendered(RendererHTML):
    """Differences from plain HTML; `env` has the links, and the number of levels by which headings are lowered."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Mapping[str, Any]) -> str:
        """Render commands, one on each line, with the title of the saved question or the comment."""
        del options
        lines = [line for line in tokens[idx].content.splitlines() if line.strip()]
        return str(Markup('<ul class="commands">{}</ul>').format(Markup("").join(_lines(lines, env["links"]))))

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Mapping[str, Any]) -> str:
        del options
        text = tokens[idx].content
        found = _question(text)
        address = env["links"].ask(*found) if found else ""
        shown = Markup("<code>{}</code>").format(_about(text, found, env["links"]))
        return str(Markup('<a href="{}">{}</a>').format(address, shown) if address else shown)

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Mapping[str, Any]) -> str:
        """Render text, and link names of other alerts to their runbooks."""
        del options

        def linked(match: re.Match[str]) -> str:
            name = match.group()
            address = env["links"].runbook(name) if name != env["name"] else ""
            return str(Markup('<a href="{}">{}</a>').format(address, name)) if address else name

        return _names().sub(linked, str(escape(tokens[idx].content)))

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Mapping[str, Any]) -> str:
        del options
        return f"<{_level(tokens[idx], env)}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Mapping[str, Any]) -> str:
        del options
        return f"</{_level(tokens[idx], env)}>\n"


def runbook_html(runbook: Runbook, links: Links, deeper: int = 0) -> Markup:
    """Render a runbook, with headings `deeper` levels lower. Its part "Do" comes first."""
    env = {"links": links, "deeper": deeper, "name": runbook.name}
    intro, *parts = (Markup(_parser().render(part, env)) for part in _PART.split(runbook.text))  # noqa: S704 - HTML in the text is escaped by the parser
    parts.sort(key=lambda part: ">Do<" not in part.partition("\n")[0])
    return intro + Markup('<div class="parts">{}</div>').format(
        Markup("").join(Markup("<div>{}</div>").format(part) for part in parts)
    )


def step_html(step: Step, links: Links, nodes: Sequence[str] = ()) -> Markup:
    """Format the next step as a link to its question, for the only node if there is one. A text may contain
    commands.
    """
    node = nodes[0] if len(nodes) == 1 else ""

    def link(command: str, words: str) -> Markup | None:
        question = _question(command)
        address = links.ask(*question, node=node) if question else ""
        return Markup('<a href="{}">{}</a>').format(address, words) if address else None

    def within(found: re.Match[str]) -> str:
        command = Markup(found.group()).unescape()  # noqa: S704  # of escaped text
        question = _question(command)
        if question and (here := links.answer(question[0].name, nodes)):
            return f'<a href="{here}">this report</a>'
        return str(link(command, command) or found.group())

    if step.query and (here := links.answer(step.query.partition(" ")[0], nodes)):
        return Markup('<a href="{}">{}</a>.').format(here, plain(step.words, MOST_STEP))
    if found := link(f"leadsman query {step.query}", plain(step.words, MOST_STEP)):
        return found + "."
    text = str(escape(plain(str(step), MOST_STEP)))
    text = _KUBECTL.sub(r"<code>\g<0></code>", text)
    return Markup(_WITHIN.sub(within, text))  # noqa: S704  # it is escaped


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}, renderer_cls=_Rendered).enable("table")


@cache
def _names() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, runbooks()))})\b")


def _level(token: Token, env: Mapping[str, Any]) -> str:
    return f"h{min(int(token.tag[1:]) + env['deeper'], LEVELS)}"


def _lines(lines: Sequence[str], links: Links) -> Iterator[Markup]:
    for line in lines:
        found = _COMMAND.fullmatch(line.strip())
        command, note = (found["command"], found["note"] or "") if found else (line, "")
        question = _question(command)
        what = chosen(*question)[0].description if question else note
        address = links.ask(*question) if question else ""
        shown = Markup('<a href="{}">{}</a>').format(address, what) if address else _with_code(what)
        more = note if question else ""
        yield Markup("<li>{}<code>{}</code>{}</li>").format(
            Markup("<span>{}</span>").format(shown) if what else "",
            _about(command, question, links),
            Markup('<span class="muted small">{}</span>').format(_with_code(more)) if more else "",
        )


def _with_code(note: str) -> Markup:
    """Return a command's comment as HTML, in which backticks mark code as they do elsewhere."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(note))))  # noqa: S704 - it is escaped


def _about(command: str, question: tuple[SavedQuery, dict[str, str]] | None, links: Links) -> str:
    if links.at_node:
        command = _NODE.sub(lambda _: argument(links.at_node), command)
    if links.at_cluster:
        command = _CLUSTER.sub(lambda _: argument(links.at_cluster), command)
    if question is None:
        return command
    query, given = question
    known = {each.name for each in chosen(query, given)[0].parameters} - given.keys()
    here = {"cluster": links.at_cluster, "node": links.at_node}
    return command + "".join(
        f" --{name} {argument(value)}" for name, value in here.items() if value and name in known
    )


def _question(command: str) -> tuple[SavedQuery, dict[str, str]] | None:
    found = _QUESTION.fullmatch(command)
    if found is None or found["name"] not in names():
        return None
    return saved_query(found["name"]), dict(_GIVEN.findall(found["given"]))
