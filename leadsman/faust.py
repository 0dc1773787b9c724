"""The application of `leadsman work`, for Faust's own command: `faust -A leadsman.faust agents` (agents.md).

Its settings are those of `leadsman work` without a file: the environment and the defaults.
"""

from functools import partial

from leadsman.run.kafka import make_topics
from leadsman.run.settings import load
from leadsman.run.work import worker_of

_settings = load(None)
app = worker_of(_settings).application(partial(make_topics, _settings.kafka))
