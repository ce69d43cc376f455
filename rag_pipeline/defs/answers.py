"""Assets `answer_quality` and `judge_quality`: what the candidate's answers are worth, and what their judges are.

Neither gates a release; both belong to the job that compares strategies.
"""

from collections.abc import Mapping

import dagster as dg

from rag_pipeline.defs.collection import CollectionDefs, latest_candidate
from rag_pipeline.defs.convert import table
from rag_pipeline.defs.progress import reporter
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.evaluation.answer_labels import load_answer_set
from rag_pipeline.evaluation.answer_release import answer_quality as measure_answers
from rag_pipeline.evaluation.answer_release import why_not_asked
from rag_pipeline.evaluation.answer_rows import answer_rows, faithfulness_rows, judge_rows
from rag_pipeline.evaluation.judges.measure import measure_judges, stored_judges
from rag_pipeline.evaluation.questions import questions_for
from rag_pipeline.llm.client import open_llm
from rag_pipeline.release.stored import load_release
from rag_pipeline.settings.bundled import bundled_answer_set

GROUP = "evaluation"
ANSWER_QUALITY = "answer_quality"
JUDGE_QUALITY = "judge_quality"


def answer_definitions(c: CollectionDefs) -> list[dg.AssetsDefinition]:
    @c.asset(
        JUDGE_QUALITY,
        group=GROUP,
        after=["candidate_release"],
    )
    def judge_quality(data: DataDirectory) -> dg.MaterializeResult:
        """How well each judge of faithfulness tells labelled sentences apart, on the half it was not tuned on."""
        paths = data.collection(c.name)
        with c.writing(paths):
            release_id = latest_candidate(paths)
            answers = load_answer_set(bundled_answer_set())
            report = measure_judges(paths, release_id, answers, models=data.home.models, llm=open_llm())
        return dg.MaterializeResult(
            metadata={
                "release": release_id,
                "answer_set": answers.name,
                "answer_set_hash": answers.content_hash,
                "judges": table(judge_rows(report)),
                "not_run": _told(report.not_run),
            }
        )

    @c.asset(
        ANSWER_QUALITY,
        group=GROUP,
        after=["candidate_release", JUDGE_QUALITY],
    )
    def answer_quality(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """Key facts, faithfulness, abstention and cost: of quoted answers, and of a model's if one is configured."""
        paths = data.collection(c.name)
        llm = open_llm()
        metadata: dict[str, dg.RawMetadataValue] = {}
        with c.writing(paths):
            release_id = latest_candidate(paths)
            questions = questions_for(paths, release_id, c.own).eval_set
            judges = stored_judges(paths, release_id, load_answer_set(bundled_answer_set()))
            why_not = why_not_asked(load_release(paths, release_id), questions)
            answerers = () if why_not else ("extractive", "llm") if llm is not None else ("extractive",)
            for answerer in answerers:
                measured = measure_answers(
                    paths,
                    release_id,
                    questions,
                    models=data.home.models,
                    answerer=answerer,
                    llm=llm,
                    progress=reporter(context),
                )
                metadata[answerer] = table(answer_rows(measured))
                metadata[f"{answerer}_faithfulness"] = table(faithfulness_rows(measured, judges))
                metadata[f"{answerer}_failed"] = measured.failed
                metadata[f"{answerer}_not_run"] = _told(measured.not_run)
        return dg.MaterializeResult(
            metadata={
                "release": release_id,
                "eval_set": questions.name,
                "eval_set_hash": questions.content_hash,
                "not_asked": why_not or "none",
                **metadata,
            }
        )

    return [judge_quality, answer_quality]


def _told(not_run: Mapping[str, str]) -> str:
    return "; ".join(f"{judge}: {why}" for judge, why in not_run.items()) or "none"
