"""Assets `candidate_release`, `gate_verdict` and `published_release`: what would be served, may it be, and is it."""

import json
from pathlib import Path

import dagster as dg

from rag_pipeline.defs.collecting import collect
from rag_pipeline.defs.collection import CollectionDefs, latest, latest_candidate
from rag_pipeline.defs.convert import check_result, table
from rag_pipeline.defs.kept import build_verifier, kept_calibration, kept_pinned, told, with_contents
from rag_pipeline.defs.progress import reporter
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.durable import write_text
from rag_pipeline.evaluation.gate_rows import comparison_rows, tag_change_rows
from rag_pipeline.evaluation.side_by_side import WorseQuestion
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.release.candidate_checks import candidate_checks
from rag_pipeline.release.create import create_release, draft_release
from rag_pipeline.release.judge import judge_candidate
from rag_pipeline.release.publish import publish
from rag_pipeline.release.verify import served_release_verifies

GROUP = "release"


def release_definitions(c: CollectionDefs) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition]:
    @c.asset(
        "candidate_release",
        group=GROUP,
        after=["candidate_index"],
    )
    def candidate_release(data: DataDirectory) -> dg.MaterializeResult:
        """The candidate build together with the strategies that would query it."""
        paths = data.collection(c.name)
        with c.writing(paths):
            build_key = latest(paths, "candidate_build", made_by="candidate_index")
            embedder = read_manifest(paths.build(build_key)).embedder
            draft = draft_release(collection=c.name, build_key=build_key, embedder=embedder, settings=c.settings)
            labels = Path(c.own.eval_set) if c.own.eval_set else None
            calibration, kept = kept_calibration(paths, draft, labels, models=data.home.models)
            release = create_release(
                paths,
                collection=c.name,
                build_key=build_key,
                embedder=embedder,
                settings=c.settings,
                calibration=calibration,
            )
            write_text(paths.latest("candidate_release"), release.release_id)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(release.release_id),
            metadata={
                "release": release.release_id,
                "build_key": release.build_key,
                "default_strategy": release.default_strategy,
                "strategies": table([{"strategy": n, **_cells(s)} for n, s in release.strategies.items()]),
                "calibration_error_held_out": json.dumps(calibration["held_out_ece"]) if calibration else "no labels",
                "calibrated": told(kept),
            },
        )

    @c.asset(
        "gate_verdict",
        group=GROUP,
        after=["retrieval_quality", "latency"],
        code_version="2",
    )
    def gate_verdict(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """Whether exactly this release may replace exactly the one in service: structure, answers, speed, quality."""
        paths = data.collection(c.name)
        models = data.home.models
        with c.writing(paths):
            release_id = latest_candidate(paths)
            verify = build_verifier(paths)
            checks = candidate_checks(paths, release_id, c.own, models=models, verify=verify, pinned=kept_pinned)
            judged = judge_candidate(paths, release_id, c.own, models=models, checks=checks, progress=reporter(context))
        verdict = judged.verdict
        return dg.MaterializeResult(
            metadata={
                "decision": verdict.decision,
                "reason": verdict.reason,
                "release": verdict.release_id,
                "baseline": verdict.baseline or "none",
                "eval_set_hash": verdict.eval_set_hash or "none",
                "checks": table([{"check": name, "passed": ok} for name, ok in verdict.checks.items()]),
                "comparisons": table(comparison_rows(judged.gate) if judged.gate else []),
                "tags": table(tag_change_rows(judged.gate) if judged.gate else []),
                "questions_that_got_worse": table([_worse_cells(w) for w in judged.worse]),
                "not_measured": "; ".join(judged.notes) or "none",
                "contents_compared": verify.contents_from or "in this run",
            }
        )

    @c.asset(
        "published_release",
        group=GROUP,
        after=["gate_verdict"],
        kinds={"duckdb"},
    )
    def published_release(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """The release in service: swapped in only under its own verdict, and only if the baseline has not moved."""
        paths = data.collection(c.name)
        with c.writing(paths):
            release_id = latest_candidate(paths)
            published = publish(paths, release_id)
            collected = collect(context, paths, keep=c.own.keep_releases)
        context.log.info(f"{c.name}: {published.previous or 'nothing'} -> {published.current}")
        return dg.MaterializeResult(
            data_version=dg.DataVersion(published.current),
            metadata={
                "release": published.current,
                "previous": published.previous or "none",
                "changed": published.current != published.previous,
                **collected,
            },
        )

    @dg.asset_check(asset=c.key("published_release"))
    def served_release_is_sound(data: DataDirectory) -> dg.AssetCheckResult:
        """CURRENT names a complete release whose build agrees with its manifest."""
        paths = data.collection(c.name)
        verify = build_verifier(paths)
        return check_result(with_contents(served_release_verifies(paths, verify=verify), verify))

    return [candidate_release, gate_verdict, published_release, served_release_is_sound]


def _cells(strategy: object) -> dict[str, str | int | float | bool | None]:
    assert isinstance(strategy, dict)
    return {k: v if isinstance(v, str | int | float | bool) else str(v) for k, v in strategy.items()}


def _worse_cells(worse: WorseQuestion) -> dict[str, str | int | float | bool | None]:
    return {
        "question": worse.text,
        "before": worse.before,
        "after": worse.after,
        "in service": "\n".join(worse.ranking_before),
        "candidate": "\n".join(worse.ranking_after),
    }
