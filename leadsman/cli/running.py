"""`work`, `land`, `up`, `config` and `validate`: the parts of the live pipeline."""

import asyncio
from functools import partial
from typing import Final

import typer

from common.text import plain
from leadsman.cli.console import EXIT_NO_SOURCE, EXIT_SCHEMA, EXIT_USAGE, MESSAGE, fail, out
from leadsman.cli.live import kafka_flags, live_mistakes, live_settings, run_served, until_signal, watch_flags
from leadsman.cli.options import (
    ConfigFile,
    Election,
    Every,
    KafkaServers,
    Kubeconfig,
    KubeContext,
    KubeletAccess,
    KubeletAddress,
    KubeletCa,
    KubeletInsecure,
    LiveDsn,
    Versions,
    Watched,
)

app = typer.Typer()


@app.command(epilog="Example: leadsman work --kafka kafka-1:9092,kafka-2:9092")
def work(config: ConfigFile = None, kafka: KafkaServers = None) -> None:
    """Conclude from what the watchers sent to Kafka, until SIGTERM. Several workers share the nodes."""
    from leadsman.run.parts import run_worker  # noqa: PLC0415 - Faust takes seconds to import

    with live_mistakes():
        settings = live_settings(config, kafka=kafka_flags(kafka))
        run_served(settings, "work", run_worker(settings))


@app.command(
    epilog="Example: leadsman land --kafka localhost:9092 --db http://leadsman:leadsman@localhost:8123/leadsman"
)
def land(config: ConfigFile = None, kafka: KafkaServers = None, db: LiveDsn = None) -> None:
    """Bring what is in Kafka into the database, once, until SIGTERM."""
    from leadsman.run.parts import run_lander  # noqa: PLC0415 - as in work

    with live_mistakes():
        settings = live_settings(config, db=db, kafka=kafka_flags(kafka))
        run_served(settings, "land", run_lander(settings))


@app.command(
    epilog="Example: leadsman up --kafka localhost:9092 --db http://leadsman:leadsman@localhost:8123/leadsman"
)
def up(
    *,
    config: ConfigFile = None,
    kafka: KafkaServers = None,
    db: LiveDsn = None,
    cluster: Watched = None,
    kubeconfig: Kubeconfig = None,
    context: KubeContext = None,
    kubelet: KubeletAccess = None,
    kubelet_address: KubeletAddress = None,
    kubelet_ca: KubeletCa = None,
    kubelet_insecure: KubeletInsecure = None,
    every: Every = None,
    versions: Versions = None,
    leader_election: Election = None,
) -> None:
    """Run watch, work and land together on this machine until SIGTERM; a part that ends is started again.

    It needs Kafka, a database and a kubeconfig, nothing else.
    """
    from common.supervise import PartFailedError  # noqa: PLC0415 - other commands do without
    from leadsman.run.up import run_together  # noqa: PLC0415 - as above

    flags = watch_flags(
        cluster,
        kubeconfig,
        context,
        kubelet,
        kubelet_address,
        kubelet_ca,
        every,
        insecure=kubelet_insecure,
        versions_file=versions,
        leader_election=leader_election,
    )
    with live_mistakes():
        settings = live_settings(config, db=db, kafka=kafka_flags(kafka), watch=flags)
        try:
            run_served(settings, "up", until_signal(partial(run_together, settings, LASTING)))
        except PartFailedError as error:
            fail(str(error), error.status)


@app.command(epilog="Example: leadsman config --config leadsman.yaml")
def config(config: ConfigFile = None, kafka: KafkaServers = None, db: LiveDsn = None) -> None:
    """Print the settings in force, from file, environment and flags; of secrets, only that there is one."""
    from leadsman.run.settings import shown  # noqa: PLC0415 - other commands do without

    with live_mistakes():
        typer.echo(shown(live_settings(config, db=db, kafka=kafka_flags(kafka))), nl=False)


@app.command(epilog="Example: leadsman validate --config leadsman.yaml")
def validate(config: ConfigFile = None, kafka: KafkaServers = None, db: LiveDsn = None) -> None:
    """Check the settings and try every connection that they name; nothing is changed."""
    from leadsman.run.validate import validate as try_connections  # noqa: PLC0415 - other commands do without

    with live_mistakes():
        checked = asyncio.run(try_connections(live_settings(config, db=db, kafka=kafka_flags(kafka))))
    for each in checked:
        told = each.problem or each.note
        verdict = "NOT USABLE" if each.problem else "ok"
        out.print(plain(f"{each.what}: {verdict}{f': {told}' if told else ''}", MESSAGE), soft_wrap=True)
    if any(each.problem for each in checked):
        raise typer.Exit(EXIT_USAGE)


LASTING: Final = frozenset({EXIT_USAGE, EXIT_NO_SOURCE, EXIT_SCHEMA})
"""With which a part of `up` ends when no restart heals it."""
