"""Releases made bad on purpose, and what the gate says: prints one line each, exits 1 if one got into service.

    python -m benchmarks.bad_releases [--home /tmp/rag_pipeline_bench] [--pages 400]

On kubernetes-qa, in a collection of its own that is made anew each time; vectors come from the home's cache where they
are there. Bad are children of 40 characters, the embeddings of other chunks' texts, and a strategy whose reranker turns
the order round. An edited page must pass. Latency has no budget here: machines that run benchmarks are shared.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import DATA, LABELLED, questions
from rag_pipeline.checks import CheckResult
from rag_pipeline.chunking.corpus import chunk_corpus
from rag_pipeline.embedding.base import Embedder, describe_embedder
from rag_pipeline.embedding.corpus import embed_corpus
from rag_pipeline.errors import ReleaseRefused
from rag_pipeline.evaluation.eval_set import EvalSet
from rag_pipeline.index.build import build_index
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.release.candidate_checks import candidate_checks
from rag_pipeline.release.create import create_release
from rag_pipeline.release.judge import Judged, judge_candidate
from rag_pipeline.release.publish import publish
from rag_pipeline.reranking import registry
from rag_pipeline.reranking.base import Passage, Ranked, best_first
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.retrieval.retrieve import retrieve
from rag_pipeline.schema import Release
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import load_settings
from rag_pipeline.sources.snapshot import take_snapshot

COLLECTION = "bad_releases"
CRUMBS: Mapping[str, object] = {"section_tokens": 16, "child_tokens": 10, "min_chars": 1, "prefix_tokens": 0}
"""Ten tokens are about forty characters."""
INVERTING = "inverting"


class InvertingReranker:
    """Says of the first stage's order that it is the wrong way round."""

    name = INVERTING

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        return best_first([(passage.id, float(place)) for place, passage in enumerate(passages)], top_k=top_k)


@dataclass(frozen=True, slots=True)
class Workshop:
    """Makes, judges and publishes releases of one collection, without Dagster."""

    home: Home
    own: CollectionSettings
    embedder: Embedder

    @property
    def paths(self) -> CollectionPaths:
        return self.home.collection(COLLECTION)

    def release(
        self,
        source: Path,
        *,
        chunking: Mapping[str, object] | None = None,
        shuffled: bool = False,
        strategy: Mapping[str, object] | None = None,
    ) -> Release:
        """Of the folder `source`; `strategy` overrides fields of the default one."""
        own = self.own.model_copy(
            update={
                "sources": CollectionSettings.model_validate({"sources": [{"path": str(source)}]}).sources,
                "chunking": self.own.chunking.model_validate({**self.own.chunking.model_dump(), **(chunking or {})}),
            }
        )
        described = describe_embedder(self.embedder)
        snapshot = take_snapshot(own, self.paths)
        chunked = chunk_corpus(
            snapshot.folder, own.chunking, self.embedder.tokenizer, limit=self.embedder.max_tokens, paths=self.paths
        )
        vectors = embed_corpus(
            chunked.folder, self.embedder, cache=self.home.embeddings(self.embedder.fingerprint), paths=self.paths
        ).folder
        built = build_index(
            snapshot.folder,
            chunked.folder,
            mixed_up(vectors) if shuffled else vectors,
            settings=own.index,
            embedder=described,
            builds=self.paths.builds,
        )
        settings = load_settings(environ={})
        default = settings.strategy(settings.default_strategy)
        changed = {**settings.strategies, settings.default_strategy: default.model_copy(update=dict(strategy or {}))}
        return create_release(
            self.paths,
            collection=COLLECTION,
            build_key=built.key,
            embedder=described,
            settings=settings.model_copy(update={"strategies": changed}),
        )

    def judge(self, release: Release, *, checks: Mapping[str, CheckResult] | None = None) -> Judged:
        """With all checks that a re-index asks for, or with these alone."""
        models = self.home.models
        if checks is None:
            checks = candidate_checks(self.paths, release.release_id, self.own, models=models)
        return judge_candidate(self.paths, release.release_id, self.own, models=models, checks=checks)

    def publish(self, release: Release) -> bool:
        """Whether it came into service."""
        try:
            publish(self.paths, release.release_id)
        except ReleaseRefused:
            return False
        return read_current(self.paths) == release.release_id

    def answering(self, question: str) -> str:
        """The release that answers."""
        result = retrieve(question, collection=COLLECTION, home=self.home.root)
        return result.release_id if result.hits else "nothing"


def mixed_up(vectors: Path) -> Path:
    """A copy of the stage folder in which every chunk has the vector of another one."""
    copy = vectors.with_name(f"{vectors.name[:10]}shuffled00")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(vectors, copy)
    rows = np.load(vectors / "vectors.npy")
    np.save(copy / "vectors.npy", np.roll(rows, max(1, len(rows) // 3), axis=0))
    return copy


def edited(source: Path, target: Path) -> Path:
    """A copy of the corpus in which one page has one more sentence."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    page = min(target.rglob("*.md"))
    page.write_text(page.read_text("utf-8") + "\nThis sentence was added after the first release.\n", "utf-8")
    return target


def cases(source: Path, work: Path) -> list[tuple[str, bool, dict[str, Any]]]:
    """(name, whether it may be published, how it is made)."""
    return [
        ("children of 40 characters", False, {"source": source, "chunking": CRUMBS}),
        ("embeddings of shuffled texts", False, {"source": source, "shuffled": True}),
        (
            "a reranker that inverts the order",
            False,
            {"source": source, "strategy": {"reranker": INVERTING, "rerank_weight": 1.0}},
        ),
        ("one page edited", True, {"source": edited(source, work / "edited")}),
    ]


def write_questions(eval_set: EvalSet, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    asked = [{"id": q.id, "text": q.text, "tags": list(q.tags)} for q in eval_set.queries]
    labels = [{"query_id": j.query_id, "document": j.document, "grade": j.grade} for j in eval_set.judgements]
    for name, rows in (("queries", asked), ("judgements", labels)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def some_pages(corpus: Path, labelled: set[str], most: int, target: Path) -> Path:
    """The labelled pages and others by name, `most` in all."""
    target.mkdir(parents=True)
    pages = sorted(corpus.rglob("*.md"), key=lambda page: (page.relative_to(corpus).as_posix() not in labelled, page))
    for page in pages[: max(most, len(labelled))]:
        place = target / page.relative_to(corpus)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, place)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    parser.add_argument("--pages", type=int, default=400)
    arguments = parser.parse_args()
    from rag_pipeline.embedding.registry import load_embedder

    home = Home(arguments.home)
    work = arguments.home / COLLECTION
    shutil.rmtree(work, ignore_errors=True)
    labelled = LABELLED["kubernetes-qa"]
    eval_set = questions(labelled)
    folder = write_questions(eval_set, work / "work" / "questions")
    documents = {judgement.document for judgement in eval_set.judgements}
    source = some_pages(DATA / labelled.documents, documents, arguments.pages, work / "work" / "pages")
    gate = {"metric": "document_ndcg_at_10", "latency_p95_ms": {}}
    # Exact search is what so few chunks get anyway; HNSW over tens of thousands of crumbs would be most of the work.
    own = CollectionSettings.model_validate({"eval_set": str(folder), "gate": gate, "index": {"hnsw": False}})
    workshop = Workshop(home, own, load_embedder(own.embedding, home.models))
    registry.RERANKERS[INVERTING] = lambda options: InvertingReranker()  # type: ignore[index]
    return report(workshop, source, work / "work", eval_set.queries[0].text)


def report(workshop: Workshop, source: Path, work: Path, question: str) -> int:
    good = workshop.release(source)
    workshop.judge(good)
    if not workshop.publish(good):
        print("the sound release was not published; nothing else can be shown")
        return 1
    wrong = 0
    for name, may, made in cases(source, work):
        release = workshop.release(**made)
        before = read_current(workshop.paths)
        judged = workshop.judge(release)
        published = workshop.publish(release)
        answering = workshop.answering(question)
        right = published is may and answering == (release.release_id if may else before)
        wrong += not right
        print(
            f"{'ok' if right else 'WRONG'}: {name}: {'published' if published else 'refused'}; {answering} answers\n"
            f"    {judged.verdict.reason[:400]}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
