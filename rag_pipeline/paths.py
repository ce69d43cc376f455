"""Where everything lies under the data directory; names only, no I/O."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Home:
    """The data directory (`RAG_PIPELINE_HOME`)."""

    root: Path

    def collection(self, name: str) -> "CollectionPaths":
        return CollectionPaths(self.root / name)

    def embeddings(self, fingerprint: str) -> Path:
        """Content-addressed vectors of one model, shared by all collections."""
        return self.root / "embeddings" / fingerprint

    @property
    def models(self) -> Path:
        """Exported models, one folder a fingerprint."""
        return self.root / "models"

    @property
    def transform_replies(self) -> Path:
        """What a language model made of queries, by the hash of what it was asked; no collection can have this name."""
        return self.root / "transform-replies"

    @property
    def query_log(self) -> Path:
        """Questions that a server was told to record, one file a day; no collection can have this name."""
        return self.root / "query-log"

    @property
    def tracking_database(self) -> Path:
        """MLflow's, where no server is configured; `mlartifacts` beside it holds the files of its runs."""
        return self.root / "mlflow.db"

    @property
    def tracking_artifacts(self) -> Path:
        return self.root / "mlartifacts"

    @property
    def tracking_lock(self) -> Path:
        """Held while an evaluation is logged, by all collections."""
        return self.root / "mlflow.lock"


@dataclass(frozen=True, slots=True)
class CollectionPaths:
    root: Path

    @property
    def builds(self) -> Path:
        return self.root / "builds"

    def build(self, key: str) -> Path:
        return self.builds / key

    @property
    def releases(self) -> Path:
        return self.root / "releases"

    def release(self, release_id: str) -> Path:
        return self.releases / release_id

    def evaluation(self, release_id: str, eval_set_hash: str) -> Path:
        """What a release did on one set of questions: questions.json, retrieval.json, latency.json, gate.json."""
        return self.release(release_id) / "evaluations" / eval_set_hash[:20]

    @property
    def current(self) -> Path:
        """One line, the release in service; the only file that is ever changed."""
        return self.root / "CURRENT"

    @property
    def champion(self) -> Path:
        """One line, the release that a person pinned as the one to measure against; absent until then."""
        return self.releases / "CHAMPION"

    @property
    def history(self) -> Path:
        """One JSON line for every change of CURRENT: who, when, what and why; only ever appended to."""
        return self.releases / "history.jsonl"

    @property
    def build_lock(self) -> Path:
        return self.root / "build.lock"

    @property
    def publish_lock(self) -> Path:
        return self.root / "publish.lock"

    @property
    def regression(self) -> Path:
        """What the release in service did night by night: history.jsonl, and the last nights in full."""
        return self.root / "regression"

    @property
    def benchmarks(self) -> Path:
        """How fast the release in service was, run by run: history.jsonl, and where it was logged."""
        return self.root / "benchmarks"

    @property
    def verdicts(self) -> Path:
        """What language models said as judges of answers, by content, one folder a judge; shared by all releases."""
        return self.root / "verdicts"

    @property
    def runs(self) -> Path:
        """One folder a re-index that the API started: its state and its log."""
        return self.root / "runs"

    @property
    def leases(self) -> Path:
        """One file a build; readers hold a shared lock on it, gc asks for the exclusive one."""
        return self.root / "leases"

    def lease(self, build_key: str) -> Path:
        return self.leases / f"{build_key}.lock"

    @property
    def staging(self) -> Path:
        """What assets hand to each other before a build exists."""
        return self.root / "staging"

    def snapshot(self, key: str) -> Path:
        """documents.parquet, ledger.parquet, snapshot.json."""
        return self.staging / "snapshots" / key

    def chunking(self, key: str) -> Path:
        """sections.parquet, chunks.parquet, ledger.parquet, chunking.json."""
        return self.staging / "chunkings" / key

    def vectors(self, key: str) -> Path:
        """vectors.npy, ledger.parquet, vectors.json; row i belongs to row i of chunks.parquet."""
        return self.staging / "vectors" / key

    def latest(self, what: str) -> Path:
        """One line: the key that was written last.

        `what` is snapshots, chunkings, vectors, candidate_build or candidate_release.
        """
        return self.staging / f"{what}.latest"

    def kept(self, what: str) -> Path:
        """What a run found out and the next one need not find out again, with all that it depends on."""
        return self.staging / f"{what}.kept"
