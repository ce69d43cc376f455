"""Assets `documents` and `chunks`: sources to a snapshot, a snapshot to sections and chunks."""

from collections.abc import Callable
from dataclasses import replace

import dagster as dg

from rag_pipeline.checks import CheckResult
from rag_pipeline.chunking import checks as chunk_checks
from rag_pipeline.chunking.corpus import CHUNKER_VERSION, chunk_corpus
from rag_pipeline.chunking.kept_counts import KeptCounts
from rag_pipeline.chunking.staged import StagedChunking
from rag_pipeline.defs.collecting import collect
from rag_pipeline.defs.collection import CollectionDefs, latest
from rag_pipeline.defs.convert import check_result, counts_table, table
from rag_pipeline.defs.kept import stage_check
from rag_pipeline.defs.progress import reporter
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.defs.run_embedder import run_embedder
from rag_pipeline.durable import write_text
from rag_pipeline.sources import checks as source_checks
from rag_pipeline.sources.ledger import entry_cells, not_indexed
from rag_pipeline.sources.snapshot import READER_VERSION, take_snapshot

GROUP = "corpus"
NOT_INDEXED_SHOWN = 100
"""Rows of metadata; ledger.parquet has all of them."""


def corpus_definitions(c: CollectionDefs) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition]:
    @c.asset(
        "documents",
        group=GROUP,
        kinds={"python", "parquet"},
        code_version=str(READER_VERSION),
        # Remote sources time out. What a retry can't mend is raised as Failure(allow_retries=False).
        retry_policy=dg.RetryPolicy(max_retries=2, delay=10, backoff=dg.Backoff.EXPONENTIAL),
    )
    def documents(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """Every source document after repair, with its metadata, and the ledger of what became of every input."""
        paths = data.collection(c.name)
        with c.writing(paths):
            # Here and not after publishing alone: refused candidates would pile up night after night.
            collect(context, paths, keep=c.own.keep_releases)
            before = paths.latest("snapshots")
            previous = paths.snapshot(before.read_text("utf-8").strip()) if before.is_file() else None
            info = take_snapshot(c.own, paths, previous=previous, progress=reporter(context))
            write_text(before, info.key)
        for problem in info.problems:
            context.log.warning(problem)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(info.key),
            metadata={
                "documents": info.documents,
                **{f"inputs_{outcome}": n for outcome, n in info.counts.items()},
                "ledger": counts_table(info.rules, name="outcome and rule"),
                "not_indexed": table([entry_cells(entry) for entry in not_indexed(info.folder)[:NOT_INDEXED_SHOWN]]),
                **{change: len(getattr(info, change)) for change in ("added", "changed", "moved", "deleted")},
                "not_parsed_again": info.reused,
                "kept_and_not_usable": "; ".join(info.problems) or "none",
                "folder": dg.MetadataValue.path(info.folder),
            },
        )

    @c.asset(
        "chunks",
        group=GROUP,
        after=["documents"],
        kinds={"python", "parquet"},
        code_version=str(CHUNKER_VERSION),
    )
    def chunks(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """Parent sections and child chunks with exact offsets, and why every other piece was rejected."""
        paths = data.collection(c.name)
        with c.writing(paths):
            embedder = run_embedder(context.run.run_id, c.own.embedding, data.home.models)
            snapshot = paths.snapshot(latest(paths, "snapshots", made_by="documents"))
            info = chunk_corpus(
                snapshot,
                c.own.chunking,
                embedder.tokenizer,
                limit=embedder.max_tokens,
                paths=paths,
                progress=reporter(context),
            )
            write_text(paths.latest("chunkings"), info.key)
        for problem in info.problems:
            context.log.warning(problem)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(info.key),
            metadata={
                "documents": info.documents,
                "sections": info.sections,
                "chunks": info.chunks,
                "longest_search_text_tokens": info.max_tokens,
                "truncated": info.truncated,
                "rejected": counts_table(info.rejected, name="rule"),
                "reused": info.reused,
                "documents_not_chunked_again": info.documents if info.reused else info.kept,
                "kept_and_not_usable": "; ".join(info.problems) or "none",
                "folder": dg.MetadataValue.path(info.folder),
            },
        )

    return [documents, chunks, *_document_checks(c), *_chunk_checks(c)]


def _document_checks(c: CollectionDefs) -> list[dg.AssetChecksDefinition]:
    @dg.asset_check(asset=c.key("documents"), blocking=True)
    def ledger_reconciles(data: DataDirectory) -> dg.AssetCheckResult:
        """Every input ends as indexed, filtered, skipped or failed, once, and every indexed one is a document."""
        paths = data.collection(c.name)
        snapshot = paths.snapshot(latest(paths, "snapshots", made_by="documents"))
        files = [snapshot / "documents.parquet", snapshot / "ledger.parquet"]
        return check_result(
            stage_check(paths, "ledger_reconciles", files, lambda: source_checks.ledger_reconciles(snapshot))
        )

    @dg.asset_check(asset=c.key("documents"))
    def no_failed_inputs(data: DataDirectory) -> dg.AssetCheckResult:
        """No input failed; a warning names those that did, so that none is abandoned unseen."""
        paths = data.collection(c.name)
        snapshot = paths.snapshot(latest(paths, "snapshots", made_by="documents"))
        return check_result(source_checks.no_failed_inputs(snapshot), severity=dg.AssetCheckSeverity.WARN)

    return [ledger_reconciles, no_failed_inputs]


def _chunk_checks(c: CollectionDefs) -> list[dg.AssetChecksDefinition]:
    def passed(
        data: DataDirectory, name: str, check: Callable[[StagedChunking], CheckResult], *, tokenizer: str = ""
    ) -> dg.AssetCheckResult:
        """Made on the latest chunking, unless its files have passed it before."""
        paths = data.collection(c.name)
        staged = StagedChunking.open(paths, latest(paths, "chunkings", made_by="chunks"))
        depends = {"tokenizer": tokenizer, "limit": staged.limit}
        return check_result(stage_check(paths, name, staged.files, lambda: check(staged), settings=depends))

    @dg.asset_check(asset=c.key("chunks"), blocking=True)
    def no_empty_or_header_only_chunk(data: DataDirectory) -> dg.AssetCheckResult:
        """Every chunk has text of its own below its heading."""
        return passed(data, "no_empty_chunk", lambda staged: chunk_checks.check_no_empty_chunks(staged.chunks()))

    @dg.asset_check(asset=c.key("chunks"), blocking=True)
    def every_chunk_has_a_parent_and_a_header_path(data: DataDirectory) -> dg.AssetCheckResult:
        """Every chunk lies inside a section, and the section has a header path."""
        return passed(data, "parents", lambda staged: chunk_checks.check_parents(staged.chunks(), staged.sections()))

    @dg.asset_check(asset=c.key("chunks"), blocking=True)
    def search_text_fits_the_model(context: dg.AssetCheckExecutionContext, data: DataDirectory) -> dg.AssetCheckResult:
        """No searched text is longer than the embedding model reads."""
        tokenizer = run_embedder(context.run.run_id, c.own.embedding, data.home.models).tokenizer
        count = KeptCounts(data.collection(c.name), tokenizer)

        def fits(staged: StagedChunking) -> CheckResult:
            result = chunk_checks.check_limit(staged.chunks(), count, limit=staged.limit)
            return replace(result, numbers={**result.numbers, "texts_not_counted_before": count.counted})

        return passed(data, "search_text_fits", fits, tokenizer=tokenizer.fingerprint)

    @dg.asset_check(asset=c.key("chunks"), blocking=True)
    def chunk_text_equals_its_source_span(data: DataDirectory) -> dg.AssetCheckResult:
        """A chunk's text is the document's text between its offsets."""
        return passed(data, "source_spans", lambda staged: chunk_checks.check_spans(staged.chunks(), staged.texts()))

    return [
        no_empty_or_header_only_chunk,
        every_chunk_has_a_parent_and_a_header_path,
        search_text_fits_the_model,
        chunk_text_equals_its_source_span,
    ]
