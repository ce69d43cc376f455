"""What every router needs, made once an app: settings, data directory, threads, keys, metrics, runs."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Header, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.querylog.log import QueryLog
from rag_pipeline.retrieval.reader import collections
from rag_pipeline.serving.caller import Caller, acting_as
from rag_pipeline.serving.metrics import Metrics
from rag_pipeline.serving.middleware.send import headers_of
from rag_pipeline.serving.pool import Pool
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.readiness import Readiness
from rag_pipeline.serving.reindex.runs import Reindexer
from rag_pipeline.serving.settings import ServingSettings
from rag_pipeline.settings.base import suggestion
from rag_pipeline.settings.load import Settings

# For the API's description only: the gate has read the key before a router is chosen.
_SCHEME = HTTPBearer(auto_error=False, description="A key of the server's key file; none on a server without keys.")
Described = Annotated[HTTPAuthorizationCredentials | None, Security(_SCHEME)]


@dataclass(frozen=True, slots=True)
class Service:
    settings: Settings
    serving: ServingSettings
    retrievals: Pool
    operations: Pool
    """A pool of its own, so that a long check of a build never delays a question."""
    answers: Pool
    """For language models that write answers: slow, and little work here."""
    metrics: Metrics
    reindexer: Reindexer
    readiness: Readiness
    query_log: QueryLog | None = None
    """None: questions are not recorded."""

    @property
    def home(self) -> Home:
        return Home(self.settings.home)

    def collection(self, name: str | None) -> CollectionPaths:
        """Of the default collection where no name is given. Raises Problem (404)."""
        name = name or self.settings.default_collection
        known = collections(self.home)
        if name not in known:
            listed = ", ".join(known) or "none"
            raise Problem(
                404, "UnknownCollection", f"unknown collection {name!r}{suggestion(name, known)}; known: {listed}"
            )
        return self.home.collection(name)


async def service_of(request: Request) -> Service:
    return cast("Service", request.app.state.service)


async def caller_of(request: Request, _: Described = None) -> Caller:
    """Whoever has passed the gate."""
    return cast("Caller", request.state.caller)


async def reader_of(
    request: Request,
    caller: Annotated[Caller, Depends(caller_of)],
    x_act_as: Annotated[
        str | None,
        Header(max_length=1000, description="User to read as, percent-encoded; needs a key with the scope act-as."),
    ] = None,
    x_act_as_groups: Annotated[
        str | None, Header(max_length=8000, description="That user's groups, comma-separated, each percent-encoded.")
    ] = None,
) -> Caller:
    """A caller that may read, as the user it names."""
    del x_act_as, x_act_as_groups  # declared for the API's description; read where they are decided upon
    caller.require("read")
    return acting_as(caller, headers_of(request.scope))


async def operator_of(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    caller.require("operate")
    return caller


TheService = Annotated[Service, Depends(service_of)]
AnyCaller = Annotated[Caller, Depends(caller_of)]
Reader = Annotated[Caller, Depends(reader_of)]
Operator = Annotated[Caller, Depends(operator_of)]
