"""How a query is answered (strategies), and for whom (contexts)."""

from typing import Annotated, Literal

from pydantic import Field

from rag_pipeline.settings.base import Strict


class RerankerSettings(Strict):
    """Which model a reranker opens, and how long it may take; each reads what it knows."""

    model: str = ""
    """A model's name or a folder; "" = the reranker's own default."""
    url: str = ""
    """Where a FlashRank model is fetched from, or where a hosted reranker answers."""
    sha256: str = ""
    """Of what is fetched, or of the weights in the folder of a "cross_encoder" or "colbert"; a release fills the latter
    in, and another model under that path is then refused."""
    download: bool = False
    """Allow a cross-encoder or a FlashRank model to be downloaded."""
    window: Annotated[int, Field(ge=16, le=512)] = 128
    """Tokens around the hit that "maxsim" and "colbert" read."""
    precision: Literal["fp32", "bf16", "int8"] = "fp32"
    """Of the token vectors of "maxsim", whatever the release's own vectors are. "int8" reads a small
    form of the model that its export writes beside it (two thirds of the layers) in a third of the time; "bf16" takes
    half, and needs openvino and a processor that has it."""
    cache_mb: Annotated[int, Field(ge=0, le=65_536)] = 64
    """Most memory in which "maxsim" keeps the token vectors of passages that it read; scores don't depend on it."""
    seconds: Annotated[float, Field(gt=0, le=120)] = 5.0
    """A query waits no longer; then the first stage's order stands, with a marker."""


class StrategySettings(Strict):
    """How a query is answered."""

    transform: str = "none"
    """What is searched for besides the query: "template" (offline), or by a language model "rewrite", "hyde",
    "multi_query", "decompose"."""
    transform_weight: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Share of the variants together in the fused score; the query as it was asked has the rest."""
    transform_seconds: Annotated[float, Field(gt=0, le=120)] = 8.0
    """A query waits no longer for the language model."""
    read_filters: Literal["none", "rules", "llm"] = "none"
    """Whether limits said in the query ("german pages", "changes since 2026-03") become filters: by rules, or by the
    language model, whose reading is checked and gives way to the rules where it can't be used."""

    vector_weight: Annotated[float, Field(ge=0, le=1)] = 0.6
    """1 = vector leg alone, 0 = BM25 leg alone."""
    fusion: Literal["convex", "rrf"] = "convex"
    rrf_k: Annotated[int, Field(ge=1)] = 60
    candidates: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Candidates of each leg."""
    evidence: Annotated[float, Field(ge=0)] = 0.5
    """Share of the evidence of a document, how well it matches as a whole and how strong its three best chunks are,
    that is added to each of its chunks; 0 = off."""
    exact: Annotated[float, Field(ge=0, le=1)] = 1.0
    """How far chunks that hold the query's identifiers (`create_agent`, `E-4021`) word for word are put in front: at 1
    a query that is nothing else is answered by them first; 0 = off."""
    search: Literal["auto", "exact", "lists", "hnsw"] = "auto"
    """How the vector leg searches where no filter and no access list narrows it; a narrowed search is exact."""
    exact_limit: Annotated[int, Field(ge=0)] = 30_000
    """`auto` searches exactly up to this many chunks, above that by inverted lists."""
    probes: Annotated[int, Field(ge=0)] = 0
    """Lists that are read; 0 = as many as were measured to be enough when the build was made. More cost time and find
    more."""
    reranker: str = "none"
    """"maxsim", "colbert", "lexical", "flashrank", "cross_encoder", "cohere", "voyage", "jina"."""
    reranker_options: RerankerSettings = RerankerSettings()
    rerank_candidates: Annotated[int, Field(ge=1, le=1000)] = 20
    """Best sections that are reranked; the others stay behind them in their order."""
    rerank_top: Annotated[int | None, Field(ge=1)] = None
    """How many go on after reranking; None = all."""
    rerank_weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    """1 = the reranker alone, 0 = the first stage alone."""
    min_relevance: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Floor on the calibrated probability; without a calibration it is skipped visibly."""
    diversity: Annotated[float, Field(ge=0, le=1)] = 0.0
    """1 - lambda of maximal marginal relevance; 0 = order by score alone."""
    top_k: Annotated[int, Field(ge=1, le=1000)] = 5
    """Sections returned."""
    strict: bool = False
    """A transform, reranker or floor that could not run is an error instead of a marker."""


class ContextSettings(Strict):
    """A preset for one kind of caller: how to search, and what to make of what was found."""

    strategy: str = "hybrid"
    vector_weight: Annotated[float | None, Field(ge=0, le=1)] = None
    """In place of the strategy's; the keyword leg has the rest."""
    expand: bool = False
    """Search for more than the query: the strategy's transform, or "template" where it has none. False = no transform.
    """
    rerank: bool = False
    """The strategy's reranker, or "maxsim" where it has none. False = no reranker."""
    parents: bool = True
    """Present whole sections, as far as the budget allows, instead of the chunks that were found."""
    diversity: Annotated[float, Field(ge=0, le=1)] = 0.0
    min_relevance: Annotated[float | None, Field(ge=0, le=1)] = None
    """In place of the strategy's."""
    max_chunks: Annotated[int, Field(ge=1, le=1000)] = 5
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 1500
    """Of the whole formatted context."""
    form: Literal["markdown", "json"] = "markdown"
    tokenizer: str = ""
    """A tokenizer.json that counts the budget; "" = the embedding model's own."""
    strict: bool | None = None
    """In place of the strategy's."""
