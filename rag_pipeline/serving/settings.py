"""Settings of the server: the `[serving]` table of the settings file, read strictly, and where it may listen."""

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.settings.base import Strict, explain
from rag_pipeline.settings.load import Settings

SHARED_METRICS = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus_client's name for the folder where the processes of one server keep their numbers. Set for workers only.
"""


class ServingSettings(Strict):
    host: str = "127.0.0.1"
    """Loopback unless there is a key file."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8470
    keys: Path | None = None
    """TOML or JSON file of hashed keys; see `keys.py`. Without one, whoever reaches loopback may read and operate."""
    cors_origins: tuple[str, ...] = ()
    """Origins of web pages that may call the API, as "https://wiki.example.org"; none by default."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 1_000_000
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Processes that answer. One makes little use of a second core; one a core is a good number."""
    requests_per_minute: Annotated[int, Field(ge=0)] = 600
    """Of one key, or of one address where no key is given; 0 = no limit.

    Each of several workers allows its equal share, and of `burst` too, rounded up. A connection that is kept open stays
    with one worker, so whoever asks over a single one has a single share.
    """
    burst: Annotated[int, Field(ge=1)] = 120
    """How many of them may come at once."""
    request_seconds: Annotated[float, Field(gt=0)] = 30.0
    answer_seconds: Annotated[float, Field(gt=0, le=600)] = 60.0
    """Of an answer from its question to its last word, streamed or not."""
    answer_threads: Annotated[int, Field(ge=1)] = 8
    """Answers by a language model that are written at once; as many again may wait."""
    operate_seconds: Annotated[float, Field(gt=0)] = 600.0
    """Of listing releases and rolling back, which read whole builds."""
    threads: Annotated[int, Field(ge=1)] = 4
    """Retrievals that run at once in each worker; with one worker a core, two threads are enough."""
    queue: Annotated[int, Field(ge=0)] = 64
    """Retrievals that may wait for a thread; the next is told to come back later."""
    max_chunks: Annotated[int, Field(ge=1, le=1000)] = 50
    max_tokens: Annotated[int, Field(ge=1)] = 32_000
    """Largest context that may be asked for."""
    document_characters: Annotated[int, Field(ge=1000)] = 200_000
    """Most text of one document in one reply."""
    query_log: bool = False
    """Record every question and its result ids under the data directory, so that real questions can become an eval set.
    """
    query_log_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Older records are removed, also once `query_log` is off again."""
    query_log_bytes: Annotated[int, Field(ge=100_000)] = 256_000_000
    """Of all records together; beyond it the oldest days go."""
    dagster_url: str | None = None
    """GraphQL endpoint, as "http://dagster:3000/graphql"; None runs a re-index in a child process."""
    dagster_location: str = "rag_pipeline"
    """Name of the code location there."""


def serving_settings(settings: Settings, **given: object) -> ServingSettings:
    """The `[serving]` table with `given` on top; a None there means "not given". Raises InvalidSettings."""
    data = {**settings.serving, **{name: value for name, value in given.items() if value is not None}}
    try:
        return ServingSettings.model_validate(data)
    except ValidationError as error:
        raise InvalidSettings(explain(error, "[serving]") + "; correct the table or the option") from error


def check_listen(serving: ServingSettings) -> None:
    """Raises InvalidSettings where anyone on the network could ask without a key."""
    if serving.keys is None and not is_loopback(serving.host):
        raise InvalidSettings(
            f"refusing to listen on {serving.host} without keys: make a key with `rag-pipeline serve --new-key NAME`"
            " and name its file with --keys, or listen on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Of a name or an address without brackets; a name other than localhost is never loopback."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
