"""`capture`, `watch` and `agent`: live sources."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ingest.files.rotate import Rotation
from leadsman.cli.console import EXIT_NO_SOURCE, EXIT_USAGE, fail, say, say_nothing
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
    Versions,
    Watched,
)

app = typer.Typer()


class Compress(StrEnum):
    """How `capture` packs the files of a folder."""

    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


@app.command(
    epilog="Examples: leadsman capture --output incident/; "
    "leadsman capture --output now.jsonl.gz --seconds 600 --kubeconfig ~/.kube/config"
)
def capture(
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR|FILE",
            help="A folder of files that rotate, or one .jsonl, .jsonl.gz, .jsonl.zst.",
        ),
    ],
    config: ConfigFile = None,
    cluster: Watched = None,
    kubeconfig: Kubeconfig = None,
    context: KubeContext = None,
    kubelet: KubeletAccess = None,
    kubelet_address: KubeletAddress = None,
    kubelet_ca: KubeletCa = None,
    kubelet_insecure: KubeletInsecure = None,
    every: Every = None,
    seconds: Annotated[float | None, typer.Option(min=0, help="Stop after so long.")] = None,
    rotate_mib: Annotated[int, typer.Option(min=1, help="Begin a new file at this size.")] = 256,
    rotate_seconds: Annotated[float, typer.Option(min=1, help="Begin a new file after so long.")] = 3600.0,
    keep: Annotated[int | None, typer.Option(min=1, help="Keep so many files; by default all.")] = None,
    compress: Annotated[Compress, typer.Option(help="Of the files of a folder.")] = Compress.NONE,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Record what a cluster and its kubelets tell, without secrets, until Ctrl-C; replay it anywhere.

    A process that is killed loses at most its last line.
    """
    from ingest.live.record import record  # noqa: PLC0415 - its Kubernetes client takes seconds to import

    watch = watch_flags(
        cluster, kubeconfig, context, kubelet, kubelet_address, kubelet_ca, every, insecure=kubelet_insecure
    )
    rotation = Rotation(rotate_mib * 1024 * 1024, rotate_seconds, compress.value, keep)
    tell = say_nothing if quiet else say
    with live_mistakes():
        settings = live_settings(config, watch=watch)
        recording = record(settings.watched(), output, rotation, tell, seconds=seconds)
        try:
            captured = run_served(settings, "capture", recording)
        except OSError as error:
            fail(f"{output}: {error}", EXIT_NO_SOURCE)
    if not captured.observations:
        fail("nothing was captured", EXIT_NO_SOURCE)


@app.command(
    epilog="Example: leadsman watch --cluster prod --kafka kafka-1:9092,kafka-2:9092 "
    "--versions /var/lib/leadsman/versions.json"
)
def watch(
    *,
    config: ConfigFile = None,
    kafka: KafkaServers = None,
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
    """Send what a cluster and its kubelets tell to Kafka, without secrets, until SIGTERM.

    Nothing is acknowledged before Kafka has it. Several replicas can run: the one that has the Lease watches.
    """
    from leadsman.run.watch import run_watcher  # noqa: PLC0415 - as in capture

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
        settings = live_settings(config, kafka=kafka_flags(kafka), watch=flags)
        run_served(settings, "watch", until_signal(partial(run_watcher, settings.kafka, settings.watched())))


class Into(StrEnum):
    """Where `agent` puts what it sees."""

    CAPTURE = "capture"
    KAFKA = "kafka"


@app.command(
    epilog="Examples: leadsman agent --node node-1 --once; leadsman agent --root /host --output /captures; "
    "leadsman agent --root /host --into kafka --kafka kafka-1:9092 (a DaemonSet with NODE_NAME from the downward API)"
)
def agent(
    *,
    node: Annotated[str, typer.Option(envvar="NODE_NAME", help="This machine's name as a Node.")],
    root: Annotated[
        Path, typer.Option(metavar="DIR", help="What holds the machine's sys and var/lib/kubelet.")
    ] = Path("/"),
    into: Annotated[Into, typer.Option(help="kafka: the topics of the live pipeline.")] = Into.CAPTURE,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR|FILE", help="As for capture; by default standard output."),
    ] = None,
    config: ConfigFile = None,
    kafka: KafkaServers = None,
    cluster: Watched = None,
    interval: Annotated[float, typer.Option(min=1, metavar="SECONDS", help="Between two looks.")] = 10.0,
    once: Annotated[bool, typer.Option("--once", help="Look once.")] = False,
) -> None:
    """Tell where this machine's exclusive CPUs, memory and devices lie, as observations that can be replayed."""
    from ingest.node.agent import AgentSettings, run_agent, run_agent_once  # noqa: PLC0415 - gRPC, which no other needs

    if into is Into.KAFKA and output is not None:
        fail("--output is a capture's, and --into kafka writes none: give one of them", EXIT_USAGE)
    with live_mistakes():
        settings = live_settings(config, kafka=kafka_flags(kafka), watch={"cluster": cluster} if cluster else None)
        agent_settings = AgentSettings(settings.watched().cluster, node, root, interval)
        if into is Into.KAFKA:
            from leadsman.run.agent import run_agent_into_kafka  # noqa: PLC0415 - as above

            sending = until_signal(partial(run_agent_into_kafka, settings.kafka, agent_settings, once=once))
            run_served(settings, "agent", sending)
            return
        try:
            if once:
                run_agent_once(agent_settings, output)
            else:
                run_served(settings, "agent", run_agent(agent_settings, output))
        except OSError as error:
            fail(f"{output or 'standard output'}: {error.strerror or error}", EXIT_NO_SOURCE)
