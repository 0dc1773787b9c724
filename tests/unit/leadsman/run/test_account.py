"""An API server that does not know who asks, and one that answers nothing: each is another sentence."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from common.errors import CredentialsRefused, SourceUnusable
from fakes.apiserver import Answer, FakeApiServer, refusal
from ingest.live.settings import LiveSettings
from leadsman.run.in_process import Glance, run_in_process
from leadsman.run.permissions import REVIEWS
from leadsman.run.settings import Settings

EXPIRED = refusal(401, "Unauthorized", "Unauthorized")
NOTHING = Answer(b'{"status": {"allowed": false}}', 201)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("answer", "kind", "advice"),
    [
        (EXPIRED, CredentialsRefused, "log in again"),
        (NOTHING, SourceUnusable, "list nodes: not allowed: give the account this verb"),
    ],
)
async def test_where_nothing_can_be_asked_the_error_is_about_the_account_or_the_cluster(
    answer: Answer, kind: type[Exception], advice: str, tmp_path: Path
) -> None:
    async with FakeApiServer().running() as server:
        server.script[REVIEWS] = [answer]
        file = tmp_path / "kubeconfig"
        file.write_text(
            f"current-context: c\nclusters: [{{name: k, cluster: {{server: '{server.url}'}}}}]\n"
            "users: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
        )
        settings = Settings(watch=LiveSettings(kubeconfig=file))
        with pytest.raises(SourceUnusable, match=advice) as failure:
            await run_in_process(
                settings, Glance(timedelta(seconds=60), lambda _: None), None, lambda _line: None, asyncio.Event()
            )
    assert type(failure.value) is kind
