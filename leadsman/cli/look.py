"""`leadsman look`: reports once what is wrong with a cluster or in files, and stores nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from common.amounts import counted
from common.text import argument
from ingest.apiserver.kubeconfig import check
from leadsman.cli import options
from leadsman.cli.exits import EXIT_BAD_INPUT, EXIT_NO_KUBELETS, EXIT_NO_SOURCE, EXIT_WRONG, fail, note
from leadsman.cli.given import PIPED, readable_sources

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from leadsman.cli.present.findings import Findings
    from leadsman.run.settings import Settings
    from leadsman.web.reading.settings import PageSettings
    from sql.database.open import Database

_KUBELETS: Final = """
SELECT
    (SELECT count() FROM nodes),
    (SELECT count() FROM node_samples),
    (SELECT argMin(error, (ts, node)) FROM source_errors WHERE resource = 'stats/summary')
"""
FAIL_ON: Final = ("warning", "critical")
_OTHERWISE: Final = {
    "direct": "Ask them through the API server (--kubelet proxy), or not at all (--kubelet off)",
    "proxy": "Ask them at their own port (--kubelet direct). The account lacks `get` of nodes/proxy, with which "
    "anyone can run commands in every pod",
}


@click.command(
    "look",
    epilog="Examples: leadsman look; leadsman look examples/troubled-cluster.json; "
    "leadsman look --context prod -n shop --for 5m --open; "
    "leadsman look examples/late-joiners.jsonl.gz --fail-on critical; "
    "kubectl get pods,nodes,events -A -o json | leadsman look -",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=options.FILE, callback=readable_sources)
@click.option(
    "--for",
    "seconds",
    type=options.duration,
    default="60s",
    metavar="TIME",
    help="How long to watch a live cluster after the first complete lists.",
)
@options.namespace
@options.output
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="Exit with status 1 if a finding is at least this severe, for example in CI.",
)
@click.option("--report", type=options.FILE, metavar="FILE", help="Also write the report of all namespaces to FILE.")
@click.option("--open", "open_", is_flag=True, help="Open the report in a browser.  [default file: report.html]")
@options.config
@options.live_by_context
def command(
    *,
    paths: tuple[Path, ...],
    seconds: float,
    namespace: str,
    form: str,
    fail_on: str | None,
    report: Path | None,
    open_: bool,
    config: Path | None,
    **flags: Any,
) -> None:
    """Print what is wrong in your kubeconfig's cluster, or in captures and dumps (`-` is standard input).

    For a live cluster, it first summarises the listed objects on standard error. In JSON, YAML and CSV, each finding
    has its severity, kind, start and next step. With `or_earlier`, it started by `since`. With `is_bounded`, it
    happened between `since` and `until`. With both, it happened by `until`.
    """
    from leadsman.cli.live import live_settings, watch_flags
    from sql.database.open import connect

    settings = live_settings(config, watch=watch_flags(**flags))
    with ExitStack() as stack:
        settings, dsn = stack.enter_context(_temporary(settings))
        if paths:
            database, refused = stack.enter_context(_read(settings, dsn, paths))
        else:
            _watch(settings, seconds, namespace)
            database, refused = stack.enter_context(connect(dsn, read_only=True)), ""
        found = _print(database, form, namespace, _stored_by(paths))
        if report or open_:
            _write(database, report or Path("report.html"), settings.page, open_=open_)
        blind = "" if paths else _blind(database, settings.live().kubelet.access)
    if refused:
        fail(refused, EXIT_BAD_INPUT)
    if not found:
        note("nothing was observed: no node, pod, Event or sample")
    if not found and not paths:
        fail("watch it longer (--for 5m), or see what is wrong: leadsman doctor", EXIT_NO_SOURCE)
    if blind:
        fail(blind, EXIT_NO_KUBELETS)
    severities = [item.severity.word for each in found for item in each.items]
    severe = [each for each in severities if fail_on is not None and each in FAIL_ON[FAIL_ON.index(fail_on) :]]
    if severe:
        fail(" and ".join(f"{severe.count(each)} {each}" for each in FAIL_ON[::-1] if each in severe), EXIT_WRONG)


@contextmanager
def _temporary(settings: Settings) -> Iterator[tuple[Settings, str]]:
    """Yield the settings with a temporary database, which is deleted after the block."""
    from tempfile import TemporaryDirectory

    import pydantic

    with TemporaryDirectory(prefix="leadsman-") as folder:
        dsn = f"chdb://{folder}/db"
        yield settings.model_copy(update={"db": pydantic.SecretStr(dsn)}), dsn


def _watch(settings: Settings, seconds: float, namespace: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from sql.database.open import preload

    check(settings.live().kubeconfig)
    dsn = settings.db.get_secret_value()
    preload(dsn)
    with ThreadPoolExecutor(1) as meanwhile:
        making = meanwhile.submit(lambda: _made(dsn).close())  # mostly without the interpreter's lock

        from common.tasks import in_thread
        from leadsman.cli.live import run_served, until_signal
        from leadsman.run.in_process import Glance, run_in_process
        from leadsman.run.permissions import reachable

        async def look(stop: asyncio.Event) -> None:
            watch = await reachable(settings.live(), namespace)
            await in_thread(making.result)
            glance = Glance(timedelta(seconds=seconds), partial(_print_first, namespace=namespace))
            await run_in_process(settings.model_copy(update={"watch": watch}), glance, None, note, stop)

        run_served(settings, "look", until_signal(look))


def _print_first(database: Database, namespace: str) -> None:
    """Print findings from the first lists to standard error; standard output gets only the result."""
    from leadsman.cli.console import err
    from leadsman.cli.present.story import print_first

    print_first(database, err, namespace)


@contextmanager
def _read(settings: Settings, dsn: str, paths: tuple[Path, ...]) -> Iterator[tuple[Database, str]]:
    from concurrent.futures import ThreadPoolExecutor

    from sql.database.open import preload

    preload(dsn)
    with ExitStack() as stack:
        making = stack.enter_context(ThreadPoolExecutor(1)).submit(_opened, dsn)  # mostly without the GIL
        stack.callback(_close, making)

        from ingest.files.ahead import read_ahead
        from ingest.files.progress import progress_bar
        from leadsman.cli.piped import begun, files_in_part, kinds, on_disk
        from leadsman.cli.present import story  # noqa: F401 - needed at the end, and imported while nothing else is done
        from leadsman.run.replay import replay

        skipped: Counter[str] = Counter()
        with on_disk(paths) as files, progress_bar(quiet=False) as progress:
            items = begun(read_ahead(files, cluster=settings.live().cluster, progress=progress, skipped=skipped))
            replayed, refused = replay(making.result(), items, settings, is_last=True)
        if refused is not None and not replayed.read:
            raise refused
        if skipped:
            note(f"skipped kinds that Leadsman does not use: {kinds(skipped)}")
        bad = replayed.dead_letters.total()
        in_part = files_in_part(replayed.in_part)
        problems = [f"skipped {counted(bad, 'bad piece')} of input: {in_part}"] if bad else []
        yield making.result(), "; ".join([*problems, *([str(refused)] if refused else [])])


def _made(dsn: str) -> Database:
    from sql.database.open import connect
    from sql.schema.migrate import migrate

    with ExitStack() as stack:
        database = stack.enter_context(connect(dsn))
        migrate(database)
        stack.pop_all()
    return database


def _opened(dsn: str) -> Database:
    from sql.database.open import connect
    from sql.schema.statements import LazyDatabase

    return LazyDatabase(connect(dsn))


def _close(making: Future[Database]) -> None:
    if making.exception() is None:
        making.result().close()


def _blind(database: Database, access: str) -> str:
    """Return why no kubelet could be read, if there are kubelets and none answered."""
    ((nodes, samples, error),) = database.query(_KUBELETS).rows
    if samples or not (nodes or error) or access not in _OTHERWISE:
        return ""
    return f"no kubelet could be read: {error or 'none answered in time'}. {_OTHERWISE[access]}"


def _stored_by(paths: tuple[Path, ...]) -> str:
    """Return the command that stores the same in a database to query, piped text from a FILE."""
    given = ("FILE" if each == PIPED else argument(each) for each in paths)
    return f"leadsman replay {' '.join(given)}" if paths else "leadsman up"


def _print(database: Database, form: str, namespace: str, stored_by: str) -> list[Findings]:
    from leadsman.cli.console import out
    from leadsman.cli.present.findings import finding_rows, findings_in
    from leadsman.cli.present.story import EVERY_LINE, LINES, print_story
    from leadsman.cli.present.tables import raw_rows, show, show_document
    from leadsman.web.reading.overview import read_spans

    if form in options.FOR_PEOPLE:
        return print_story(database, None, out, None, LINES if form == "table" else EVERY_LINE, namespace, stored_by)
    found = [findings_in(database, span, namespace) for span in read_spans(database)]
    rows = [row for each in found for row in finding_rows(each)]
    if form == "csv":
        show(raw_rows(list(rows[0]) if rows else (), [list(row.values()) for row in rows]), form)
    else:
        show_document(rows, form)
    return found


def _write(database: Database, file: Path, settings: PageSettings, *, open_: bool) -> None:
    import webbrowser

    from leadsman.cli.present.report_file import save_report
    from leadsman.web.reading.scope import RequestedRange

    save_report(database, file, RequestedRange(), settings)
    note(f"wrote the report to {file}")
    if open_ and not webbrowser.open(file.absolute().as_uri()):
        note("no browser was found; open the report yourself")
