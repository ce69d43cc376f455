import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rag_pipeline.errors import ReleaseRefused
from rag_pipeline.evaluation.results import read_gate_verdict
from rag_pipeline.release.pointer import pin_champion
from rag_pipeline.release.reproduce import reproduce
from rag_pipeline.release.reproduce_quality import reproduce_quality
from rag_pipeline.release.rollback import rollback
from rag_pipeline.release.verdict import read_verdict
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.retrieval.retrieve import retrieve
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.gate import GateSettings, PinnedQuery
from rag_pipeline_tests.evaluation.builders import write_set
from rag_pipeline_tests.release.candidates import Wiki, pages, sentence, sound, word

OWN = CollectionSettings(gate=GateSettings(resamples=999))


@pytest.fixture
def wiki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wiki:
    return Wiki(tmp_path, monkeypatch, OWN)


def in_service(wiki: Wiki, query: str) -> str:
    return retrieve(query, collection="wiki", home=wiki.home.root).release_id


def test_a_first_release_is_judged_by_its_floors(wiki):
    release = wiki.candidate(pages(), name="one")
    judged = wiki.judge(release)
    assert judged.gate.outcome == "first release"
    assert judged.verdict == read_verdict(wiki.paths.release(release.release_id))
    assert (judged.verdict.decision, judged.verdict.baseline) == ("publish", None)
    assert {"quality_floors", "quality_loss", "pinned_queries", "latency_within_budget", "build_verifies"} <= set(
        judged.verdict.checks
    )
    high = OWN.model_copy(update={"gate": OWN.gate.model_copy(update={"floors": {"ndcg_at_10": 1.01}})})
    refused = wiki.judge(release, high).verdict
    assert refused.decision == "refuse" and "below the floor" in refused.reason


def test_shuffled_embeddings_are_refused_and_the_release_in_service_goes_on_answering(wiki):
    good = wiki.serve(pages())
    bad = wiki.candidate(pages(), name="shuffled", shuffled=True)
    judged = wiki.judge(bad)
    assert (judged.verdict.decision, judged.verdict.baseline) == ("refuse", good.release_id)
    assert not judged.verdict.checks["quality_loss"]
    with pytest.raises(ReleaseRefused, match="the verdict refuses it"):
        wiki.publish(bad)
    assert in_service(wiki, sentence(3, 1)) == good.release_id


def test_a_refusal_names_the_questions_that_got_worse_with_both_rankings(wiki):
    wiki.serve(pages())
    judged = wiki.judge(wiki.candidate(pages(), name="shuffled", shuffled=True))
    worst = judged.worse[0]
    assert worst.before > worst.after
    assert worst.ranking_before != worst.ranking_after
    assert all(".md:" in place for place in worst.ranking_before)
    assert worst.text in judged.verdict.reason and worst.ranking_before[0] in judged.verdict.reason
    assert f"and {len(judged.worse) - 5} more" in judged.verdict.reason
    folder = wiki.paths.evaluation(judged.verdict.release_id, judged.verdict.eval_set_hash)
    assert len(read_gate_verdict(folder).comparisons[0].comparison.worse) == len(judged.worse) > 5


def test_an_equal_release_passes_and_keeps_its_verdict_once_it_serves(wiki):
    good = wiki.serve(pages())
    edited = pages()
    edited[4] = replace(edited[4], text=edited[4].text.replace("rests", "leans"))
    equal = wiki.candidate(edited, name="edited")
    judged = wiki.judge(equal)
    assert (judged.verdict.decision, judged.verdict.baseline) == ("publish", good.release_id)
    wiki.publish(equal)
    again = wiki.judge(equal)
    assert again.verdict.reason.startswith("it is in service already") and again.gate is None
    assert read_verdict(wiki.paths.release(equal.release_id)) == judged.verdict


def test_what_a_person_put_into_service_past_its_verdict_says_so(wiki):
    good = wiki.serve(pages())
    bad = wiki.candidate(pages(), name="shuffled", shuffled=True)
    refused = wiki.judge(bad).verdict
    wiki.publish(bad, force_reason="a demonstration")
    again = wiki.judge(bad).verdict
    assert again.decision == "publish"
    assert re.match("it is in service already .forced on .* by .*: a demonstration.*; past: hybrid lost", again.reason)
    assert read_verdict(wiki.paths.release(bad.release_id)) == refused
    rollback(wiki.paths, good.release_id, reason="it was", verify=sound)
    assert wiki.judge(good).verdict.reason.startswith("it is in service already (there is no release to compare with")


def test_a_verdict_is_void_when_another_release_came_into_service_meanwhile(wiki):
    wiki.serve(pages())
    mine = wiki.candidate(pages(21), name="mine")
    wiki.judge(mine)
    wiki.serve(pages(22), name="theirs")
    with pytest.raises(ReleaseRefused, match="void"):
        wiki.publish(mine)
    wiki.judge(mine)
    assert wiki.publish(mine).current == mine.release_id


def test_a_candidate_without_a_verdict_of_its_own_is_not_published(wiki):
    """A build made again without its checks must not live off the verdict of the one before."""
    first = wiki.serve(pages())
    other = wiki.candidate(pages(21), name="other")
    with pytest.raises(ReleaseRefused, match="no verdict"):
        wiki.publish(other)
    folder = wiki.paths.release(other.release_id)
    (folder / "verdict.json").write_text((wiki.paths.release(first.release_id) / "verdict.json").read_text())
    with pytest.raises(ReleaseRefused, match="void"):
        wiki.publish(other)


def test_small_losses_are_also_measured_against_the_champion(wiki):
    champion = wiki.serve(pages())
    pin_champion(wiki.paths, champion.release_id)
    bad = wiki.candidate(pages(), name="shuffled", shuffled=True)
    wiki.publish(bad, force_reason="to have something worse in service")
    worse = wiki.candidate(pages(21), name="worse", shuffled=True)
    judged = wiki.judge(worse)
    references = {c.reference: c.comparison.overall.finding for c in judged.gate.comparisons}
    assert references["in service"] != "worse" and references["champion"] == "worse"
    assert judged.verdict.decision == "refuse" and "champion" in judged.verdict.reason


def test_with_a_champion_what_is_not_proven_passes_once_and_pinning_starts_anew(wiki, tmp_path):
    folder = write_set(
        tmp_path / "three",
        [{"id": f"q{p}", "text": sentence(p, 0)} for p in range(3)],
        [{"query_id": f"q{p}", "document": f"page-{p:02}.md", "quote": sentence(p, 0), "grade": 3} for p in range(3)],
    )
    wiki.own = OWN.model_copy(update={"eval_set": str(folder)})
    first = wiki.serve(pages())
    pin_champion(wiki.paths, first.release_id)
    second = wiki.candidate(pages(21), name="second", shuffled=True)
    assert wiki.judge(second).gate.unproven == 1
    wiki.publish(second)
    third = wiki.candidate(pages(22), name="third", shuffled=True)
    refused = wiki.judge(third)
    assert (refused.verdict.decision, refused.gate.unproven) == ("refuse", 2)
    assert "rag-pipeline release champion" in refused.verdict.reason
    again = reproduce_quality(wiki.paths, refused.verdict, models=wiki.home.models)
    assert [c.same for c in again if c.name == "gate decision"] == [True]
    pin_champion(wiki.paths, second.release_id)
    assert wiki.judge(third).verdict.decision == "publish"
    pin_champion(wiki.paths, first.release_id)
    verdict_file = wiki.paths.release(second.release_id) / "verdict.json"
    verdict_file.write_text("{}")
    assert wiki.judge(third).verdict.decision == "refuse", "what can't be read proves nothing"


def test_the_champion_itself_is_no_step_away_from_it(wiki, tmp_path):
    folder = write_set(
        tmp_path / "two",
        [{"id": f"q{p}", "text": sentence(p, 0)} for p in range(2)],
        [{"query_id": f"q{p}", "document": f"page-{p:02}.md", "quote": sentence(p, 0), "grade": 3} for p in range(2)],
    )
    wiki.own = OWN.model_copy(update={"eval_set": str(folder)})
    champion = wiki.candidate(pages(22), name="first", shuffled=True)
    wiki.judge(champion)
    wiki.publish(champion)
    pin_champion(wiki.paths, champion.release_id)
    second = wiki.candidate(pages(), name="second")
    wiki.judge(second)
    wiki.publish(second)
    back = wiki.judge(champion)
    assert back.gate.champion is None and back.gate.unproven_before is None


def test_three_questions_decide_nothing(wiki, tmp_path):
    folder = write_set(
        tmp_path / "three",
        [{"id": f"q{p}", "text": sentence(p, 0)} for p in range(3)],
        [{"query_id": f"q{p}", "document": f"page-{p:02}.md", "quote": sentence(p, 0), "grade": 3} for p in range(3)],
    )
    wiki.own = OWN.model_copy(update={"eval_set": str(folder)})
    wiki.serve(pages())
    other = wiki.candidate(pages(21), name="other")
    lenient = wiki.judge(other)
    assert (lenient.verdict.decision, lenient.gate.outcome) == ("publish", "insufficient evidence")
    assert "smallest loss that 3 questions can find" in lenient.verdict.reason
    strict = wiki.own.model_copy(update={"gate": OWN.gate.model_copy(update={"policy": "strict"})})
    assert wiki.judge(other, strict).verdict.decision == "refuse"


def test_labels_that_no_longer_resolve_lower_the_coverage_and_refuse_below_its_floor(wiki, tmp_path):
    def labelled(name: str, gone: int) -> CollectionSettings:
        quotes = [sentence(p, 0) if p >= gone else f"nobody wrote {word('x', p)}" for p in range(20)]
        labels = [
            {"query_id": f"q{p:02}", "document": f"page-{p:02}.md", "quote": q, "grade": 3}
            for p, q in enumerate(quotes)
        ]
        asked = [{"id": f"q{p:02}", "text": sentence(p, 0)} for p in range(20)]
        folder = write_set(tmp_path / name, asked, labels)
        return OWN.model_copy(update={"eval_set": str(folder)})

    release = wiki.candidate(pages(), name="one")
    assert "left out" not in wiki.judge(release, labelled("none-gone", 0)).verdict.reason
    allowed = wiki.judge(release, labelled("two-gone", 2)).verdict
    assert allowed.decision == "publish"
    assert (
        f"2 of 20 questions were left out: `rag-pipeline evalset check --release {release.release_id}" in allowed.reason
    )
    refused = wiki.judge(release, labelled("three-gone", 3)).verdict
    assert refused.decision == "refuse" and "only 85% of the answerable questions" in refused.reason
    assert f"evalset check --release {release.release_id}` names" in refused.reason and "left out" not in refused.reason


def test_deleted_pages_do_not_block_a_collection_without_labels(wiki):
    wiki.serve(pages(20))
    judged = wiki.judge(wiki.candidate(pages(12), name="fewer"))
    assert judged.verdict.decision == "publish"
    assert judged.gate.comparisons[0].comparison.coverage < 0.9
    gone = len(judged.gate.comparisons[0].comparison.left_out)
    assert (
        f"{gone} of {judged.gate.comparisons[0].comparison.answerable} questions were left out" in judged.verdict.reason
    )


def test_a_pinned_query_or_a_slow_answer_refuses_without_asking_the_questions(wiki):
    release = wiki.candidate(pages(), name="one")
    pinned = OWN.model_copy(update={"pinned": (PinnedQuery(query=sentence(1, 1), document="page-02.md"),)})
    refused = wiki.judge(release, pinned)
    assert refused.gate is None and not refused.verdict.checks["pinned_queries"]
    assert "page-01.md" in refused.verdict.reason
    slow = OWN.model_copy(update={"gate": OWN.gate.model_copy(update={"latency_p95_ms": {"total": 0.0001}})})
    assert not wiki.judge(release, slow).verdict.checks["latency_within_budget"]


def test_a_release_in_service_that_cannot_be_opened_is_named_and_does_not_block_a_sound_one(wiki):
    good = wiki.serve(pages())
    vectors = wiki.paths.build(good.build_key) / "vectors.npy"
    vectors.write_bytes(b"short")
    other = wiki.candidate(pages(21), name="other")
    judged = wiki.judge(other)
    assert judged.verdict.decision == "publish" and judged.gate.outcome == "first release"
    assert "could not be measured" in judged.verdict.reason
    strict = OWN.model_copy(update={"gate": OWN.gate.model_copy(update={"policy": "strict"})})
    assert wiki.judge(other, strict).verdict.decision == "refuse"


def test_an_evaluation_reproduces_to_the_last_digit_and_a_changed_one_does_not(wiki):
    wiki.serve(pages())
    release = wiki.serve(pages(21), name="second")
    report = reproduce(wiki.paths, own=OWN, models=wiki.home.models)
    found = {c.name: c for c in report.comparisons}
    assert report.same and report.has_quality
    assert found["questions"].same and found["retrieval hybrid"].same and found["gate decision"].same
    assert "its evaluation was run again" in report.message

    verdict = read_verdict(wiki.paths.release(release.release_id))
    file = wiki.paths.evaluation(release.release_id, verdict.eval_set_hash) / "retrieval.json"
    stored = json.loads(file.read_text())
    run = stored["value"]["runs"]["hybrid"]
    run[5]["metrics"]["ndcg_at_10"] += 1e-15
    file.write_text(json.dumps(stored))
    changed = reproduce(wiki.paths, own=OWN, models=wiki.home.models)
    found = {c.name: c for c in changed.comparisons}
    assert not changed.same and not found["retrieval hybrid"].same
    assert run[5]["query_id"] in found["retrieval hybrid"].note


def test_an_evaluation_that_is_gone_is_said_to_be(wiki):
    release = wiki.serve(pages())
    verdict = read_verdict(wiki.paths.release(release.release_id))
    (wiki.paths.evaluation(release.release_id, verdict.eval_set_hash) / "questions.json").unlink()
    report = reproduce(wiki.paths, own=OWN, models=wiki.home.models)
    (found,) = [c for c in report.comparisons if c.name == "evaluation"]
    assert found.same is None and "questions are not stored" in found.note
    assert read_current(wiki.paths) == release.release_id
