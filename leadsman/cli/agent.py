"""`leadsman agent`: reads the machine of one node."""

from functools import partial
from pathlib import Path

import click

from ingest.node.agent import SIGN_SECONDS
from leadsman.cli import options
from leadsman.cli.exits import EXIT_NO_SOURCE, EXIT_USAGE, fail


@click.command(
    "agent",
    epilog="Examples: leadsman agent --node node-1 --once; "
    "leadsman agent --node node-1 --root /host --output /captures; "
    "leadsman agent --node node-1 --root /host --into kafka --kafka kafka-1:9092",
)
@click.option(
    "--node", required=True, envvar="NODE_NAME", show_envvar=True, metavar="NAME", help="Name of this machine's Node."
)
@click.option(
    "--root", type=options.FILE, default="/", metavar="DIR", help="Folder with the machine's sys and var/lib/kubelet."
)
@click.option(
    "--into",
    type=click.Choice(["capture", "kafka"]),
    default="capture",
    help="kafka: publish to the topics of the live pipeline.",
)
@click.option(
    "--output",
    "-o",
    type=options.FILE,
    metavar="DIR|FILE",
    help="Folder or file to write, as for capture; by default standard output.",
)
@options.config
@options.kafka
@options.cluster
@click.option(
    "--interval",
    type=click.FloatRange(1, SIGN_SECONDS),
    default=10.0,
    metavar="SECONDS",
    help="Seconds between reads.",
)
@click.option("--once", is_flag=True, help="Read once, and exit.")
def command(
    *,
    node: str,
    root: Path,
    into: str,
    output: Path | None,
    config: Path | None,
    kafka: str | None,
    cluster: str | None,
    interval: float,
    once: bool,
) -> None:
    """Report the NUMA nodes of this machine's exclusive CPUs, memory and devices, as replayable observations."""
    from ingest.node.agent import AgentSettings, run_agent, run_agent_once
    from leadsman.cli.live import live_settings, run_served, until_signal
    from leadsman.run.agent import run_agent_into_kafka

    if into == "kafka" and output is not None:
        fail(
            "--output names a capture to write, and --into kafka writes no capture: give only one of the two",
            EXIT_USAGE,
        )
    settings = live_settings(config, kafka=kafka, watch={"cluster": cluster} if cluster else None)
    agent = AgentSettings(settings.live().cluster, node, root, interval)
    if into == "kafka":
        run_served(settings, "agent", until_signal(partial(run_agent_into_kafka, settings.kafka, agent, once=once)))
        return
    try:
        if once:
            run_agent_once(agent, output)
        else:
            run_served(settings, "agent", run_agent(agent, output))
    except OSError as error:
        fail(f"{output or 'standard output'}: {error.strerror or error}", EXIT_NO_SOURCE)
