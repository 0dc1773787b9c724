"""`leadsman completion`: offers completions to a shell."""

import re
from functools import partial

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "leadsman"
_PLAIN = re.compile(r"[\w./:@+,][\w./:@%+=,-]*")
VARIABLE = "_LEADSMAN_COMPLETE"
"""The variable that click's completion script sets."""


@click.command(
    "completion",
    epilog="Examples: leadsman completion bash >> ~/.bashrc; leadsman completion zsh >> ~/.zshrc; "
    "leadsman completion fish > ~/.config/fish/completions/leadsman.fish",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script that lets your shell complete commands, options, saved questions, nodes and clusters.

    `kubectl leadsman` needs no script: kubectl asks kubectl_complete-leadsman, which is installed with it.
    """
    found = get_completion_class(shell)
    if found is not None:
        click.echo(found(ctx.find_root().command, {}, PROGRAM, VARIABLE).source())


def for_kubectl(app: click.Command, program: str, words: list[str], begun: str) -> str:
    """Return the choices for a word of `program` in the form that kubectl takes from a plugin.

    Each choice is a line, with its meaning after a tab. The last line says whether files are choices too: `:0` if
    they are, `:4` if not.
    """
    found = ShellComplete(app, {}, program, VARIABLE).get_completions(words, begun)
    choices = [item for item in found if item.type == "plain"]
    lines = [f"{item.value}\t{item.help}" if item.help else str(item.value) for item in choices]
    return "".join(f"{line}\n" for line in (*lines, f":{4 if choices else 0}"))


def questions(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    from sql.questions.queries import saved_queries

    del ctx, param
    return [
        CompletionItem(each.name, help=each.description) for each in saved_queries() if each.name.startswith(begun)
    ]


def parameters(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete `K=` of the question on the command line, and the values of a node or cluster."""
    from sql.questions.queries import saved_queries

    name, equals, value = begun.partition("=")
    if equals:
        known = {"node": nodes, "cluster": clusters, "namespace": namespaces}.get(name)
        return [CompletionItem(f"{name}={each.value}") for each in (known(ctx, param, value) if known else ())]
    question = {each.name: each for each in saved_queries()}.get(_question(ctx))
    return [CompletionItem(f"{each.name}=", help=each.meaning) for each in (question.parameters if question else ())]


def forms(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the values of `--by` of the question on the command line."""
    from sql.questions.queries import saved_queries

    del param
    known = next((each.forms for each in saved_queries() if each.name == _question(ctx)), {})
    return [CompletionItem(by, help=each.description) for by, each in known.items() if by.startswith(begun)]


def _question(ctx: click.Context) -> str:
    """Return the question on the command line. While an option lacks its value, click has it among other words."""
    return ctx.params.get("name") or next(iter(ctx.args), "")


def contexts(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    from ingest.apiserver.connect import contexts as known

    del param
    return [CompletionItem(name) for name in known(ctx.params.get("kubeconfig")) if _fits(name, begun)]


def _named(column: str, table: str, ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return no choices if the database cannot be queried: an error would appear in the middle of the user's line."""
    from leadsman.cli.database import existing_database
    from leadsman.cli.given import DEFAULT_DSN
    from sql.database.errors import DatabaseError

    del param
    sql = (
        f"SELECT DISTINCT {column} AS name FROM {table} WHERE startsWith(name, {{begun:String}}) ORDER BY 1 LIMIT 100"
    )
    try:
        with existing_database(ctx.params.get("db") or DEFAULT_DSN) as database:
            found = [str(name) for (name,) in database.query(sql, {"begun": begun}).rows]
    except DatabaseError:
        return []
    return [CompletionItem(name) for name in found if _fits(name, begun)]


nodes, clusters = partial(_named, "node", "nodes"), partial(_named, "cluster", "nodes")
namespaces = partial(_named, "namespace", "pod_bindings")


def _fits(name: str, begun: str) -> bool:
    """Tell whether a name continues what was typed and needs no quoting in any shell."""
    return name.startswith(begun) and _PLAIN.fullmatch(name) is not None
