"""Assets `retrieval_quality`, `latency` and `leaderboard`: what the candidate does on the collection's questions."""

import dagster as dg

from rag_pipeline.defs.collection import CollectionDefs, latest_candidate
from rag_pipeline.defs.convert import check_result, table
from rag_pipeline.defs.kept import LATENCY, kept_pinned, measured_before, measured_now, of_release, told
from rag_pipeline.defs.progress import reporter
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.evaluation.history_machine import TIMING, machine
from rag_pipeline.evaluation.latency import latency_of
from rag_pipeline.evaluation.leaderboard import Row, strategy_rows, tag_rows
from rag_pipeline.evaluation.leaderboard import leaderboard as leaderboard_rows
from rag_pipeline.evaluation.measure import measure_release
from rag_pipeline.evaluation.questions import Questions, questions_for
from rag_pipeline.release.candidate_checks import LATENCY as WITHIN_BUDGET
from rag_pipeline.release.candidate_checks import PINNED, latency_check
from rag_pipeline.release.stored import load_release

GROUP = "evaluation"
LEADERBOARD = "leaderboard"


def compare_job_name(collection: str) -> str:
    return f"{collection}_compare_strategies"


def evaluation_definitions(c: CollectionDefs) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition]:
    @c.asset(
        "retrieval_quality",
        group=GROUP,
        after=["candidate_release"],
    )
    def retrieval_quality(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """Ranking metrics of the candidate on the collection's questions, by strategy and by tag."""
        paths = data.collection(c.name)
        with c.writing(paths):
            release_id = latest_candidate(paths)
            questions = questions_for(paths, release_id, c.own)
            measured = measure_release(
                paths, release_id, questions.eval_set, models=data.home.models, progress=reporter(context)
            )
        default = next(iter(measured.runs.values()))
        return dg.MaterializeResult(
            metadata={
                "release": release_id,
                **_about(questions),
                "strategies": table(strategy_rows(measured, settings=c.own.gate)),
                "tags": table(tag_rows(default, settings=c.own.gate)),
                "folder": dg.MetadataValue.path(paths.evaluation(release_id, measured.eval_set_hash)),
            }
        )

    @c.asset(
        "latency",
        group=GROUP,
        after=["candidate_release"],
    )
    def latency(data: DataDirectory) -> dg.MaterializeResult:
        """Milliseconds of every stage of an answer, after warm-up, on questions that were not asked before.

        Of the release in service the last measurement stands; how it does night by night is the regression's to tell.
        """
        paths = data.collection(c.name)
        with c.writing(paths):
            release_id = latest_candidate(paths)
            questions = questions_for(paths, release_id, c.own)
            here = {key: value for key, value in machine().items() if key in TIMING}
            asked = {**of_release(paths, release_id), "eval_set": questions.eval_set.content_hash, "machine": here}
            before = measured_before(paths, LATENCY, asked)
            report = latency_of(paths, release_id, questions.eval_set, models=data.home.models, again=before is None)
            if before is None:
                measured_now(paths, LATENCY, asked)
        rows: list[Row] = [
            {"stage": s, "n": p.n, "p50": p.p50, "p95": p.p95, "p99": p.p99} for s, p in report.stages.items()
        ]
        return dg.MaterializeResult(
            metadata={
                "release": release_id,
                "strategy": report.strategy,
                "stages": table(rows),
                "warm_up_calls": report.warm_up,
                "cold_start_ms": report.cold_ms if report.cold_ms is not None else "none",
                "failed_calls": report.failed,
                "measured": told(before),
            }
        )

    @c.asset(
        LEADERBOARD,
        group=GROUP,
        after=["retrieval_quality"],
    )
    def leaderboard(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """Every strategy of the candidate on the same questions, each against the default one."""
        paths = data.collection(c.name)
        with c.writing(paths):
            release_id = latest_candidate(paths)
            release = load_release(paths, release_id)
            questions = questions_for(paths, release_id, c.own)
            measured = measure_release(
                paths,
                release_id,
                questions.eval_set,
                models=data.home.models,
                strategies=tuple(release.strategies),
                progress=reporter(context),
            )
        rows = leaderboard_rows(measured, reference=release.default_strategy, settings=c.own.gate)
        return dg.MaterializeResult(
            metadata={
                "release": release_id,
                "reference": release.default_strategy,
                **_about(questions),
                LEADERBOARD: table(rows),
            }
        )

    return [retrieval_quality, latency, leaderboard, *_checks(c)]


def _checks(c: CollectionDefs) -> list[dg.AssetChecksDefinition]:
    @dg.asset_check(asset=c.key("candidate_release"), name=PINNED, blocking=True)
    def pinned(data: DataDirectory) -> dg.AssetCheckResult:
        """The collection's pinned queries have their expected answers."""
        paths = data.collection(c.name)
        return check_result(kept_pinned(paths, latest_candidate(paths), c.own, models=data.home.models))

    @dg.asset_check(asset=c.key("latency"), name=WITHIN_BUDGET)
    def within_budget(data: DataDirectory) -> dg.AssetCheckResult:
        """Answers come within the budget at the 95th percentile; the gate refuses a release where they don't."""
        paths = data.collection(c.name)
        release_id = latest_candidate(paths)
        return check_result(
            latency_check(paths, release_id, c.own, models=data.home.models), severity=dg.AssetCheckSeverity.WARN
        )

    return [pinned, within_budget]


def _about(questions: Questions) -> dict[str, str | int]:
    return {
        "eval_set": questions.eval_set.name,
        "eval_set_hash": questions.eval_set.content_hash,
        "questions": len(questions.eval_set.queries),
        "questions_made": questions.kept_from or "in this run, or given as labels",
    }
