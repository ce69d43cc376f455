"""Assets `chunk_embeddings` and `candidate_index`: chunks to vectors, and everything into one immutable build."""

import dagster as dg

from rag_pipeline.defs.collection import CollectionDefs, latest
from rag_pipeline.defs.convert import check_result, counts_table
from rag_pipeline.defs.kept import build_check, build_verifier, with_contents
from rag_pipeline.defs.progress import reporter
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.defs.run_embedder import run_embedder
from rag_pipeline.durable import write_text
from rag_pipeline.embedding.base import describe_embedder
from rag_pipeline.embedding.corpus import embed_corpus
from rag_pipeline.embedding.fingerprint import EMBEDDER_VERSION
from rag_pipeline.index import checks as index_checks
from rag_pipeline.index.build import build_index
from rag_pipeline.index.build_key import INDEX_VERSION
from rag_pipeline.index.snapshot_of import snapshot_of_chunking

GROUP = "index"


def index_definitions(c: CollectionDefs) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition]:
    @c.asset(
        "chunk_embeddings",
        group=GROUP,
        after=["chunks"],
        kinds={"python", "onnx", "numpy"},
        code_version=str(EMBEDDER_VERSION),
    )
    def chunk_embeddings(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """One vector a chunk: from the content-addressed cache where the text is known, else embedded and cached."""
        paths = data.collection(c.name)
        with c.writing(paths):
            embedder = run_embedder(context.run.run_id, c.own.embedding, data.home.models)
            chunking = paths.chunking(latest(paths, "chunkings", made_by="chunks"))
            info = embed_corpus(
                chunking,
                embedder,
                cache=data.home.embeddings(embedder.fingerprint),
                paths=paths,
                progress=reporter(context),
            )
            write_text(paths.latest("vectors"), info.key)
        for problem in info.problems:
            context.log.warning(problem)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(info.key),
            metadata={
                "chunks": info.chunks,
                "embedded": info.embedded,
                "reused": info.reused,
                "rejected": info.rejected,
                "kept_and_not_usable": "; ".join(info.problems) or "none",
                "dimension": info.dimension,
                "model_fingerprint": info.fingerprint,
                "seconds": info.seconds,
                "folder": dg.MetadataValue.path(info.folder),
            },
        )

    @c.asset(
        "candidate_index",
        group=GROUP,
        after=["chunk_embeddings"],
        kinds={"duckdb", "parquet"},
        code_version=str(INDEX_VERSION),
    )
    def candidate_index(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """The immutable build of these chunks and vectors; the same inputs give the same key and no work."""
        paths = data.collection(c.name)
        with c.writing(paths):
            embedder = run_embedder(context.run.run_id, c.own.embedding, data.home.models)
            chunking = paths.chunking(latest(paths, "chunkings", made_by="chunks"))
            info = build_index(
                paths.snapshot(snapshot_of_chunking(chunking)),
                chunking,
                paths.vectors(latest(paths, "vectors", made_by="chunk_embeddings")),
                settings=c.own.index,
                embedder=describe_embedder(embedder),
                builds=paths.builds,
                default_access=c.own.default_access,
                verify=build_verifier(paths),
                progress=reporter(context),
            )
            write_text(paths.latest("candidate_build"), info.key)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(info.key),
            metadata={
                "build_key": info.key,
                "documents": info.documents,
                "sections": info.sections,
                "chunks": info.chunks,
                "reused": info.reused,
                "seconds": info.seconds,
                "size": counts_table(index_checks.file_sizes(info.folder), name="file"),
                "folder": dg.MetadataValue.path(info.folder),
            },
        )

    return [chunk_embeddings, candidate_index, *_vector_checks(c), *_build_checks(c)]


def _vector_checks(c: CollectionDefs) -> list[dg.AssetChecksDefinition]:
    @dg.asset_check(asset=c.key("chunk_embeddings"), blocking=True)
    def every_chunk_has_a_sound_vector(data: DataDirectory) -> dg.AssetCheckResult:
        """No vector was rejected, and all are finite, of unit length and of the model's dimension."""
        paths = data.collection(c.name)
        vectors = paths.vectors(latest(paths, "vectors", made_by="chunk_embeddings"))
        return check_result(index_checks.every_chunk_has_a_sound_vector(vectors))

    return [every_chunk_has_a_sound_vector]


def _build_checks(c: CollectionDefs) -> list[dg.AssetChecksDefinition]:
    def candidate(data: DataDirectory) -> index_checks.Candidate:
        paths = data.collection(c.name)
        key = latest(paths, "candidate_build", made_by="candidate_index")
        return index_checks.Candidate(folder=paths.build(key), allow_empty=c.own.allow_empty)

    @dg.asset_check(asset=c.key("candidate_index"), blocking=True)
    def index_is_not_empty(data: DataDirectory) -> dg.AssetCheckResult:
        """The build has chunks, unless the collection sets `allow_empty`."""
        return check_result(index_checks.index_is_not_empty(candidate(data)))

    @dg.asset_check(asset=c.key("candidate_index"), blocking=True)
    def build_verifies(data: DataDirectory) -> dg.AssetCheckResult:
        """Reopened read-only: checksums, counts, ledger and sidecars agree with the tables."""
        verify = build_verifier(data.collection(c.name))
        return check_result(with_contents(index_checks.build_verifies(candidate(data), verify=verify), verify))

    @dg.asset_check(asset=c.key("candidate_index"), blocking=True)
    def ann_recall_at_10(data: DataDirectory) -> dg.AssetCheckResult:
        """HNSW finds at least 99 % of the exact ten nearest, and the query plan uses the HNSW index."""
        found = candidate(data)
        paths = data.collection(c.name)
        return check_result(
            build_check(paths, "ann_recall", found.folder, lambda: index_checks.ann_recall_at_10(found))
        )

    return [index_is_not_empty, build_verifies, ann_recall_at_10]
