"""When a release may replace the one in service."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from rag_pipeline.settings.base import Strict


class GateSettings(Strict):
    """When a release may replace the one in service."""

    metric: str = "ndcg_at_10"
    """The one metric that decides; `document_ndcg_at_10` where labels name whole documents."""
    floors: Mapping[str, float] = {}
    """Metric -> least mean that every served strategy must reach; the only rule for a first release."""
    margin: Annotated[float, Field(gt=0, lt=1)] = 0.02
    """A mean loss larger than this is refused; a loss that is surely smaller is "not worse"."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.04
    """Level of the one-sided paired test. Together with the margin's rule, an equal release is then refused by chance
    in fewer than 5 % of cases; at a level of 0.05 it would be a little more (`benchmarks.gate_operating_curves`)."""
    coverage: Annotated[float, Field(ge=0, le=1)] = 0.9
    """Least share of the answerable questions that must be comparable."""
    max_failed: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Most questions, as a share, that may end in an error."""
    policy: Literal["lenient", "strict"] = "lenient"
    """What "insufficient evidence" means: published with a warning, or refused."""
    unproven: Annotated[int, Field(ge=0)] = 1
    """Under the lenient policy and a pinned champion: releases in a row that may be published on insufficient evidence.
    The next one needs proof that it is not worse, or a new champion. Among many candidates that each lose a little,
    some look good by chance; without this limit twenty of them lose more than the margin together."""
    resamples: Annotated[int, Field(ge=99)] = 9999
    """Of the bootstrap and of the randomisation test."""
    seed: int = 0
    half: Literal["both", "held_out"] = "both"
    """Which questions judge. The gate compares two releases whose settings are fixed, and all questions find smaller
    losses than half of them; "held_out" where settings are tuned often, so that none is judged by what it was tuned on.
    """
    latency_p95_ms: Mapping[str, Annotated[float, Field(gt=0)]] = {"total": 500.0}
    """Stage -> most milliseconds at the 95th percentile under the default strategy; a stage that didn't run is not
    asked."""


class PinnedQuery(Strict):
    """A query whose answer a person knows; a release that answers it otherwise is stopped."""

    query: Annotated[str, Field(min_length=1)]
    expect: str = ""
    """Text that stands in the found section; case doesn't matter."""
    document: str = ""
    """Document id of the found section, as a pattern ("sql/*")."""
    within: Annotated[int, Field(ge=1, le=10)] = 1
    """The expected section is among this many first ones."""

    @model_validator(mode="after")
    def _expects(self) -> "PinnedQuery":
        if not self.expect and not self.document:
            raise ValueError("say what to `expect`, in which `document`, or both")
        return self
