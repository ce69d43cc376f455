"""The labelled corpora a benchmark runs on, and how to build one without Dagster; not a benchmark itself."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rag_pipeline.chunking.corpus import chunk_corpus
from rag_pipeline.embedding.base import describe_embedder
from rag_pipeline.embedding.corpus import embed_corpus
from rag_pipeline.embedding.registry import load_embedder
from rag_pipeline.evaluation.eval_set import EvalSet, Query
from rag_pipeline.evaluation.experiment import Retrieve
from rag_pipeline.evaluation.labels import load_eval_set, read_eval_set
from rag_pipeline.evaluation.resolve import Corpus
from rag_pipeline.index.build import build_index
from rag_pipeline.index.open import open_build
from rag_pipeline.parquet import read_rows
from rag_pipeline.paths import Home
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.retrieve import retrieve_from
from rag_pipeline.schema import Document, Release, RetrievalResult, Section
from rag_pipeline.settings.bundled import bundled_corpus, bundled_eval_set
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import load_settings
from rag_pipeline.sources.snapshot import take_snapshot

DATA = Path(os.environ.get("RAG_PIPELINE_SHARED", "../shared/data"))

# Where labels name documents, one document can fill many sections of a ranking.
SECTIONS = 50


@dataclass(frozen=True, slots=True)
class Labelled:
    """A folder of documents with questions in BEIR's form."""

    name: str
    documents: str
    """Folder below the shared data that is indexed."""
    suffix: str = ""
    """What a document's id has more than the judgements say."""
    chunker: str = "sections"
    metric: str = "document_ndcg_at_10"
    """The one that comparisons are about: the labels name documents, or sections."""


LABELLED = {
    c.name: c
    for c in (
        Labelled("kubernetes-qa", "kubernetes-qa/corpus", suffix=".md"),
        Labelled("scifact", "scifact", chunker="whole_document"),
        Labelled("product-docs-qa", "product-docs-qa"),
    )
}

BUNDLED = Labelled("agent_platform", str(bundled_corpus()), metric="ndcg_at_10")
"""What ships with the package: its labels name sections."""

CORPORA = {**LABELLED, BUNDLED.name: BUNDLED}


@dataclass(frozen=True, slots=True)
class Built:
    opened: OpenRelease
    corpus: Corpus
    home: Home
    chunks: int
    seconds: float


def build(
    name: str, source: Path, home: Home, *, chunking: Mapping[str, object], strategies: Mapping[str, object]
) -> Built:
    """Source folder to an open release; stages that were run before are reused."""
    own = CollectionSettings.model_validate({"sources": [{"path": str(source)}], "chunking": dict(chunking)})
    paths = home.collection(name)
    embedder = load_embedder(own.embedding, home.models)
    described = describe_embedder(embedder)
    snapshot = take_snapshot(own, paths)
    chunked = chunk_corpus(snapshot.folder, own.chunking, embedder.tokenizer, limit=embedder.max_tokens, paths=paths)
    vectors = embed_corpus(chunked.folder, embedder, cache=home.embeddings(embedder.fingerprint), paths=paths)
    built = build_index(
        snapshot.folder, chunked.folder, vectors.folder, settings=own.index, embedder=described, builds=paths.builds
    )
    known = {n: s.model_dump() for n, s in load_settings(environ={}).strategies.items()}
    release = Release(f"bench-{built.key}", name, built.key, described, {**known, **strategies}, "hybrid", "")
    documents = list(read_rows(snapshot.folder / "documents.parquet", Document))
    corpus = Corpus.of(
        {d.doc_id: d.text for d in documents},
        read_rows(chunked.folder / "sections.parquet", Section),
        canonical={d.doc_id: d.canonical_id for d in documents if d.canonical_id},
    )
    return Built(OpenRelease(release, open_build(built.folder)), corpus, home, built.chunks, built.seconds)


def asked(built: Built, strategy: str, **override: object) -> Retrieve:
    """Answers questions by one strategy, `SECTIONS` deep. Strictly: what could not run is a failure, not a ranking; and
    a reranker may take its time, since one that a busy machine cut off would be measured as none."""

    def retrieve(query: Query) -> RetrievalResult:
        return retrieve_from(
            built.opened,
            query.text,
            models=built.home.models,
            strategy=strategy,
            filters=query.filters,
            principal=query.principal,
            **{"top_k": SECTIONS, "strict": True, "reranker_options": {"seconds": 120}, **override},
        )

    return retrieve


def questions(labelled: Labelled, *, split: str = "test") -> EvalSet:
    """Its questions, tagged with their kind where the file says one."""
    if labelled is BUNDLED:
        return load_eval_set(bundled_eval_set())
    folder = DATA / labelled.name
    eval_set, _ = read_eval_set(folder, split=split)
    kinds = {}
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        kinds[row["_id"]] = (row["kind"],) if "kind" in row else ()
    return replace(
        eval_set,
        queries=tuple(replace(q, tags=kinds[q.id]) for q in eval_set.queries),
        judgements=tuple(replace(j, document=j.document + labelled.suffix) for j in eval_set.judgements),
    )
