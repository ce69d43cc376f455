"""Into a real MLflow database, and out of it again with MLflow's own client."""

import json
import shutil
import socket
import time
from dataclasses import replace

import pytest

from rag_pipeline.evaluation.comparison import compare
from rag_pipeline.evaluation.gate import Compared, judge_release
from rag_pipeline.evaluation.results import write_gate_verdict, write_value
from rag_pipeline.schema import Principal
from rag_pipeline.settings.tracking import TrackingSettings
from rag_pipeline.tracking import log, parameters
from rag_pipeline.tracking.state import read_state
from rag_pipeline_tests.tracking.conftest import ASKED, FAST, Evaluated
from rag_pipeline_tests.tracking.test_answer_metrics import quality

EXPERIMENT = "rag-pipeline/test"


def runs(client, **tags: str):
    experiment = client.get_experiment_by_name(EXPERIMENT)
    condition = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    return list(client.search_runs([experiment.experiment_id], filter_string=condition))


def everything(client) -> tuple[list, list]:
    """Parents, children."""
    found = runs(client)
    return (
        [run for run in found if "mlflow.parentRunId" not in run.data.tags],
        [run for run in found if "mlflow.parentRunId" in run.data.tags],
    )


def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_one_run_for_the_evaluation_and_one_below_it_for_each_strategy(evaluated: Evaluated):
    logged = evaluated.log()
    assert (logged.state, logged.error, logged.notes) == ("sent", None, ())
    ((parent,), children) = evaluated.read(everything)
    assert parent.info.run_id == logged.run_id
    assert {c.info.run_name: c.info.run_id for c in children} == dict(logged.children)
    assert {c.data.tags["mlflow.parentRunId"] for c in children} == {logged.run_id}
    assert {c.data.params["strategy"] for c in children} == {"hybrid", "bm25"}
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}


def test_runs_say_what_they_were_made_from(evaluated: Evaluated):
    record, logged = evaluated.record(), evaluated.log()
    parent = evaluated.read(lambda client: client.get_run(logged.run_id))
    expected = {
        "release": evaluated.release_id,
        "build_key": record.release.build_key,
        "embedding_model": "words",
        "embedding_fingerprint": "words-64-256",
        "eval_set": "pumps",
        "eval_set_version": "7",
        "eval_set_hash": ASKED.content_hash,
        "half": "both",
        "code": record.experiment.code,
        "default_strategy": "hybrid",
    }
    assert expected.items() <= parent.data.params.items()
    assert json.loads(parent.data.params["gate"])["metric"] == "ndcg_at_10"
    if (commit := parameters.git_commit()) is not None:
        assert parent.data.params["git_commit"] == parent.data.tags["mlflow.source.git.commit"] == commit
    (dataset,) = parent.inputs.dataset_inputs
    assert (dataset.dataset.name, dataset.dataset.digest) == ("pumps", ASKED.content_hash[:8])
    (bm25,) = evaluated.read(lambda client: runs(client, **{"rag_pipeline.strategy": "bm25"}))
    assert bm25.data.params["strategy.vector_weight"] == "0.0"
    assert bm25.data.params["strategy.reranker_options.window"] == "128"
    assert bm25.data.metrics["ndcg_at_10"] == 1.0
    assert bm25.data.metrics["tag.identifier.recall_at_5"] == 1.0


def test_what_mlflow_shows_first_is_the_leaderboard(evaluated: Evaluated):
    logged = evaluated.log()

    def read(client):
        return client.get_run(logged.run_id), [client.get_run(run) for run in dict(logged.children).values()]

    parent, children = evaluated.read(read)
    note = parent.data.tags["mlflow.note.content"]
    assert "| hybrid | 1.000 | 1.000 to 1.000 |" in note and "| bm25 |" in note and evaluated.release_id in note
    notes = {child.info.run_name: child.data.tags["mlflow.note.content"] for child in children}
    assert notes["hybrid"].endswith("on 3 questions; reference.") and "against hybrid" in notes["bm25"]


def test_a_strategy_takes_its_own_time_and_the_evaluation_all_of_it(evaluated: Evaluated):
    record = evaluated.record()
    runs = {name: tuple(replace(q, seconds=10.0) for q in run) for name, run in record.experiment.runs.items()}
    record = replace(record, experiment=replace(record.experiment, runs=runs))
    log.log_evaluation(record, settings=evaluated.settings, environ={})
    ((parent,), children) = evaluated.read(everything)
    took = [(run.info.end_time - run.info.start_time) / 1000 for run in (parent, *children)]
    assert took == [80, 40, 40]  # four questions each


def test_files_that_go_elsewhere_than_the_settings_say_are_told(evaluated: Evaluated, tmp_path):
    """MLflow keeps the place where an experiment was made, also in a data directory that was copied."""
    assert evaluated.log().notes == ()
    copied = tmp_path / "copy"
    shutil.copytree(tmp_path / "home", copied)
    settings = evaluated.settings.model_copy(update={"home": copied})
    record = replace(evaluated.record(), settings=FAST.model_copy(update={"margin": 0.5}))
    (evaluated.folder / "tracking.json").unlink()
    logged = log.log_evaluation(record, settings=settings, environ={})
    assert logged.state == "sent"
    (note,) = logged.notes
    assert str(tmp_path / "home" / "mlartifacts") in note and "tracking.experiment" in note


def test_the_table_of_questions_is_one_that_mlflow_reads_and_joins(evaluated: Evaluated, monkeypatch):
    logged = evaluated.log()
    children = dict(logged.children)
    # MLflow's reader of tables looks its runs up through the fluent interface, whichever client it belongs to.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", logged.destination)

    def read(client):
        experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
        table = client.load_table(experiment, "per_query.json", extra_columns=["run_id"])
        tag = client.get_run(children["hybrid"]).data.tags["mlflow.loggedArtifacts"]
        return table, json.loads(tag)

    table, tag = evaluated.read(read)
    assert tag == [{"path": "per_query.json", "type": "table"}]
    assert set(table["run_id"]) == set(children.values())
    hybrid = table[table["run_id"] == children["hybrid"]].set_index("query_id")
    assert list(hybrid.index) == ["oil", "agent", "cafe", "nothing"]
    assert hybrid.loc["agent", "question"] == "create_agent"
    assert hybrid.loc["agent", "ndcg_at_10"] == 1.0
    assert hybrid.loc["agent", "found"].split("\n")[0].startswith("agents.md:")
    assert hybrid["ndcg_at_10"].isna().to_dict()["nothing"]


def test_the_files_are_there_but_none_that_quotes_documents(evaluated: Evaluated, tmp_path):
    """Whoever may open the MLflow server sees them, whatever the documents' access lists say."""
    write_value(evaluated.folder, "answers", quality("extractive"))
    logged = evaluated.log()

    def files(client):
        folders = ("evaluation", "build", "plots")
        return {f.path for folder in folders for f in client.list_artifacts(logged.run_id, folder)}

    assert evaluated.read(files) == {"evaluation/retrieval.json", "build/manifest.json", "plots/recall_at_k.svg"}
    artifacts = [file for file in (tmp_path / "home" / "mlartifacts").rglob("*") if file.is_file()]
    assert "manifest.json" in {file.name for file in artifacts}
    for text in ("Call create_agent to make an agent.", "Band four begins"):
        assert not [file for file in artifacts if text in file.read_text("utf-8")]


def test_questions_asked_as_somebody_are_counted_but_not_shown(evaluated: Evaluated, tmp_path):
    record = evaluated.record()
    hidden = tuple(replace(q, principal=Principal("ann")) if q.id == "agent" else q for q in ASKED.queries)
    record = replace(record, questions=replace(ASKED, queries=hidden))
    logged = log.log_evaluation(record, settings=evaluated.settings, environ={})
    assert logged is not None and logged.state == "sent"
    texts = shown(tmp_path)
    assert len(texts["per_query.json"]) == 2 and len(texts["retrieval.json"]) == 1
    for text in (*texts["per_query.json"], *texts["retrieval.json"]):
        assert "create_agent" not in text and '"agent"' not in text and "pump oil valve" in text
    for run in (logged.run_id, *dict(logged.children).values()):
        found = evaluated.read(lambda client, run=run: client.get_run(run)).data
        assert (found.tags["rag_pipeline.questions_withheld"], found.metrics["questions"]) == ("1", 4)


def test_a_verdict_does_not_show_them_either(evaluated: Evaluated, tmp_path):
    record = evaluated.record()
    found = record.experiment.runs["hybrid"]
    lost = tuple(replace(q, metrics=dict.fromkeys(q.metrics, 0.0)) for q in found)
    compared = Compared("hybrid", "in service", "r0", compare(found, lost, settings=FAST), 1.0)
    verdict = judge_release(record.experiment, baseline=None, champion=None, settings=FAST)
    verdict = replace(verdict, comparisons=(compared,))
    write_gate_verdict(evaluated.folder, verdict)
    hidden = tuple(replace(q, principal=Principal("ann")) if q.id == "agent" else q for q in ASKED.queries)
    record = replace(evaluated.record(), questions=replace(ASKED, queries=hidden))
    assert record.gate is not None
    log.log_evaluation(record, settings=evaluated.settings, environ={})
    (text,) = shown(tmp_path)["gate.json"]
    assert "pump oil valve" in text and "create_agent" not in text


def test_nothing_is_shown_where_it_is_not_known_who_asked(evaluated: Evaluated, tmp_path):
    (evaluated.folder / "questions.json").unlink()
    logged = evaluated.log()
    assert logged.state == "sent"
    texts = shown(tmp_path)
    assert "per_query.json" not in texts
    assert not any("create_agent" in text for text in texts["retrieval.json"])
    parent = evaluated.read(lambda client: client.get_run(logged.run_id))
    assert parent.data.tags["rag_pipeline.questions_withheld"] == "4"


def shown(tmp_path) -> dict[str, list[str]]:
    """Texts of the logged files by name."""
    texts: dict[str, list[str]] = {}
    for file in (tmp_path / "home" / "mlartifacts").rglob("*.json"):
        texts.setdefault(file.name, []).append(file.read_text("utf-8"))
    return texts


def test_the_same_evaluation_is_logged_once(evaluated: Evaluated, monkeypatch):
    first = evaluated.log()
    with monkeypatch.context() as patch:
        patch.setattr(log, "open_client", lambda destination: pytest.fail("MLflow was opened for nothing"))
        assert evaluated.log() == first
    (evaluated.folder / "tracking.json").unlink()
    again = evaluated.log()
    assert (again.run_id, again.children) == (first.run_id, first.children)
    parents, children = evaluated.read(everything)
    assert (len(parents), len(children)) == (1, 2)


def test_strategies_measured_later_join_the_run_that_is_there(evaluated: Evaluated):
    first = evaluated.log()
    evaluated.measure("hybrid", "bm25", "rrf")
    second = evaluated.log()
    assert second.run_id == first.run_id
    assert dict(first.children).items() < dict(second.children).items()
    parents, children = evaluated.read(everything)
    assert len(parents) == 1 and {c.info.run_name for c in children} == {"hybrid", "bm25", "rrf"}
    assert parents[0].data.metrics["strategies"] == 3


def test_a_run_that_was_cut_short_is_finished_and_not_doubled(evaluated: Evaluated, monkeypatch):
    from rag_pipeline.tracking import runs as module

    real = module._finish

    def killed(client, run, record, content, **more):
        if content == record.content_of("bm25"):
            raise ConnectionError("the server went away")
        real(client, run, record, content, **more)

    monkeypatch.setattr(module, "_finish", killed)
    broken = evaluated.log()
    assert broken.state == "not_sent" and "the server went away" in broken.error
    monkeypatch.setattr(module, "_finish", real)
    whole = evaluated.log()
    assert whole.state == "sent"
    parents, children = evaluated.read(everything)
    assert len(parents) == 1 and sorted(c.info.run_name for c in children) == ["bm25", "hybrid"]
    assert all("rag_pipeline.content" in c.data.tags for c in (*parents, *children))


def test_a_server_that_is_down_costs_seconds_and_the_evaluation_is_sent_later(evaluated: Evaluated):
    before = (evaluated.folder / "retrieval.json").read_bytes()
    began = time.monotonic()
    logged = evaluated.log(closed_port())
    assert time.monotonic() - began < 30  # MLflow's own patience is four minutes
    assert logged.state == "not_sent" and "refused" in logged.error and logged.run_id is None
    assert read_state(evaluated.folder) == logged
    assert (evaluated.folder / "retrieval.json").read_bytes() == before
    assert evaluated.log().state == "sent"
    assert read_state(evaluated.folder).state == "sent"


def test_a_server_that_never_answers_is_given_up(evaluated: Evaluated):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(8)
        began = time.monotonic()
        logged = evaluated.log(f"http://127.0.0.1:{deaf.getsockname()[1]}")
        assert time.monotonic() - began < 30
    assert logged.state == "not_sent" and "timed out" in logged.error


def test_a_folder_store_is_told_and_the_results_stay(evaluated: Evaluated):
    logged = evaluated.log("./mlruns")
    assert logged.state == "not_sent" and "is a folder" in logged.error
    assert (evaluated.folder / "retrieval.json").is_file()
    assert read_state(evaluated.folder) == logged


def test_switched_off_is_nothing_at_all(evaluated: Evaluated):
    off = evaluated.settings.model_copy(update={"tracking": TrackingSettings(enabled=False)})
    assert log.log_evaluation(evaluated.record(), settings=off, environ={}) is None
    assert read_state(evaluated.folder) is None


def test_a_metric_that_is_nan_is_logged_as_missing_with_its_count(evaluated: Evaluated):
    """MLflow's database takes NaN and shows it as 0."""
    record = evaluated.record()
    run = tuple(
        replace(q, metrics={**q.metrics, "ndcg_at_10": float("nan"), "mrr_at_10": float("inf")})
        for q in record.experiment.runs["hybrid"]
        if q.state == "scored"
    )
    broken = replace(record, experiment=replace(record.experiment, runs={"hybrid": run}))
    logged = log.log_evaluation(broken, settings=evaluated.settings, environ={})
    assert logged.state == "sent"
    child = evaluated.read(lambda client: client.get_run(dict(logged.children)["hybrid"]))
    assert "ndcg_at_10" not in child.data.metrics and "mrr_at_10" not in child.data.metrics
    assert child.data.metrics["recall_at_5"] == 1.0
    assert child.data.metrics["metrics_missing"] >= 2
    assert {"ndcg_at_10", "mrr_at_10"} <= set(child.data.tags["rag_pipeline.metrics_missing"].split(", "))


def test_an_experiment_that_a_person_deleted_is_told(evaluated: Evaluated):
    evaluated.log()
    evaluated.read(lambda c: c.delete_experiment(c.get_experiment_by_name(EXPERIMENT).experiment_id))
    (evaluated.folder / "tracking.json").unlink()
    logged = evaluated.log()
    assert logged.state == "not_sent" and "restore the experiment" in logged.error


def test_what_is_gone_is_a_note_and_no_failure(evaluated: Evaluated):
    shutil.rmtree(evaluated.paths.builds)
    record = evaluated.record()
    runs = {name: tuple(replace(q, recall_curve=()) for q in run) for name, run in record.experiment.runs.items()}
    old = replace(record, experiment=replace(record.experiment, runs=runs))
    logged = log.log_evaluation(old, settings=evaluated.settings, environ={})
    assert logged is not None and logged.state == "sent"
    assert len(logged.notes) == 2 and "manifest" in logged.notes[0] and "recall curve" in logged.notes[1]
