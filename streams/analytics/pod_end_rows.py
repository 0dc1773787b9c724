"""Builds a row of `pod_ends` from one witness, and completes it from further ones."""

from datetime import datetime, timedelta
from typing import Final

from ingest.model.objects.event import ObjectReference
from ingest.model.objects.pod import Pod, PodMetadata
from ingest.model.records import EventRecord, PodRecord
from streams.fold.findings import PodEnd
from streams.rules.events.admission import Refusal, parse_refusal
from streams.rules.pod_ends.actors import explains
from streams.rules.pod_ends.causes import EVICTED, WITHOUT_WITNESS, End, exit_code
from streams.rules.pod_ends.when import When, is_refused_again, merge_witnesses

LOG: Final = "log"
"""A line of a kubelet's log: it has the time, but the full text only at high verbosity."""
EVENT_DELAY: Final = timedelta(seconds=2)
"""The longest time from an end to the Event about it, which has whole seconds."""


def new_row(
    record: PodRecord | EventRecord,
    about: PodMetadata | ObjectReference,
    end: End,
    container: str = "",
    attempt: int = 0,
) -> PodEnd:
    pod = record.object if isinstance(record, PodRecord) else None
    owners = (pod and pod.metadata.owner_references) or ()
    owner = next((each for each in owners if each.controller), None)
    when = end.when or When(record.ts)
    refusal = parse_refusal(end.reason, end.message) if end.cause == "admission" else Refusal()
    return PodEnd(
        cluster=record.cluster,
        ts=when.at,
        node=record.node,
        namespace=about.namespace,
        pod=about.name,
        uid=about.uid,
        container=container,
        attempt=attempt,
        cause=end.cause,
        actor=end.actor,
        reason=end.reason,
        message=end.message,
        witness="status" if pod else LOG if isinstance(record, EventRecord) and record.line else "event",
        exit_code=None if pod is None else exit_code(pod),
        restarted=False,
        deleted=pod is not None and record.change == "DELETED",
        owner_kind=owner.kind if owner else "",
        owner_name=owner.name if owner else "",
        updated_at=record.ts,
        time_known=when.is_known,
        earliest=when.earliest,
        latest=when.latest,
        restart_policy=pod.spec.restart_policy if pod else "",
        refused_by=refusal.refused_by,
        resource=refusal.resource,
        requested=refusal.requested,
        available=refusal.available,
        explanation=_words(refusal, end, pod),
    )


def _words(refusal: Refusal, end: End, pod: Pod | None) -> str:
    is_again = end.cause == "admission" and pod is not None and is_refused_again(pod)
    return " ".join(filter(None, (refusal.words, "Its containers had completed before." if is_again else "")))


def with_witness(known: PodEnd, row: PodEnd) -> PodEnd:
    """Return a known end with one more witness: the first one counts, and a later one of the same cause confirms it.

    The first witness that names the actor replaces an end without one, and the first that says why a kubelet evicted
    the pod replaces one that does not.
    """
    if known.cause == "kubelet_eviction" != row.cause and row.cause in EVICTED:
        known = known._replace(
            cause=row.cause,
            message=row.message,
            refused_by=row.refused_by,
            resource=row.resource,
            requested=row.requested,
            available=row.available,
        )
    elif row.cause == "kubelet_eviction" and known.cause in EVICTED:
        row = row._replace(cause=known.cause)
    if _names_actor(row, known):
        return row._replace(
            restarted=known.restarted or row.restarted,
            witness="both",
            owner_kind=known.owner_kind or row.owner_kind,
            owner_name=known.owner_name or row.owner_name,
            exit_code=known.exit_code,
            deleted=known.deleted,
            restart_policy=known.restart_policy,
        )
    if known.witness == LOG and row.witness != LOG and row.cause == known.cause:
        fuller = row._replace(message=max(row.message, known.message, key=len))
        return with_witness(fuller, known) if known.time_known or not row.time_known else fuller
    is_no_more = row.cause != known.cause or row.witness in {LOG, known.witness} or known.witness == "both"
    confirmed = known.witness if is_no_more else "both"
    when, other = (When(each.ts, each.time_known, each.earliest, each.latest) for each in (known, row))
    if row.cause == known.cause:
        dates_it = row.witness == LOG and (not known.time_known or row.ts < known.ts)
        when = merge_witnesses(other, when) if dates_it else merge_witnesses(when, other)
    return known._replace(
        ts=when.at,
        time_known=when.is_known,
        earliest=when.earliest,
        latest=when.latest,
        restart_policy=known.restart_policy or row.restart_policy,
        witness=confirmed,
        exit_code=known.exit_code if row.exit_code is None else row.exit_code,
        restarted=known.restarted or row.restarted,
        explanation=max(known.explanation, row.explanation if row.cause == known.cause else "", key=len),
        deleted=known.deleted or row.deleted,
        owner_kind=known.owner_kind or row.owner_kind,
        owner_name=known.owner_name or row.owner_name,
        updated_at=max(known.updated_at, row.updated_at),
    )


def with_actor(row: PodEnd, cause: str, actor: str, reason: str, message: str, at: datetime) -> PodEnd:
    """Return the end of a pod with its actor, if an announcement at that time explains it."""
    earliest, latest = (row.ts, row.ts) if row.time_known else (row.earliest or row.ts, row.latest or row.ts)
    if not explains(cause, at, row.cause, earliest, latest):
        return row
    return row._replace(cause=cause, actor=actor, reason=reason, message=message, witness="both")


def _names_actor(row: PodEnd, known: PodEnd) -> bool:
    """Tell whether a later witness names the actor, and is not about something after the end."""
    ended_by = known.ts if known.time_known or known.latest is None else known.latest
    # a reboot is only inferred, so an Event about the container takes precedence
    open_to = known.cause in WITHOUT_WITNESS or (known.cause, row.cause) == ("node_reboot", "liveness")
    return open_to and row.cause not in WITHOUT_WITNESS and row.ts <= ended_by + EVENT_DELAY
