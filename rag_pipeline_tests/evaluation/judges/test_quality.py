import pytest
from sklearn.metrics import f1_score, roc_auc_score

from rag_pipeline.evaluation.answer_labels import load_answer_set
from rag_pipeline.evaluation.judges import lexical, quality
from rag_pipeline.evaluation.judges.base import Judgement
from rag_pipeline.evaluation.judges.lexical import LexicalJudge
from rag_pipeline.evaluation.judges.quality import judge_quality, quality_of
from rag_pipeline.evaluation.split import Half
from rag_pipeline.settings.bundled import bundled_answer_set
from rag_pipeline_tests.evaluation.answers import answer_set
from rag_pipeline_tests.evaluation.judges.judges import ScriptedJudge

# Labels by sentence: True, or the fault. Scores of the scripted judge by sentence.
LABELS = {
    "a": (True, True),
    "b": (True, "number"),
    "c": ("name",),
    "d": (True,),
}
SCORES = {"a": (1.0, 0.8), "b": (0.7, 0.2), "c": (0.9,), "d": (0.4,)}


@pytest.fixture
def answers(tmp_path):
    return answer_set(tmp_path, LABELS)


def scripted(answers, scores=SCORES, **options):
    return ScriptedJudge({a.text: scores[a.id] for a in answers.answers}, **options)


def by_sentence(asked, judgements):
    """Score and label of every sentence that was judged."""
    rows = [
        (verdict[0], sentence.faithful)
        for answer, judgement in zip(asked, judgements, strict=True)
        for sentence in answer.sentences
        if (verdict := quality._verdict(sentence, judgement)) is not None
    ]
    return [score for score, _ in rows], [label for _, label in rows]


def test_by_sentence_by_answer_and_by_fault(answers):
    found = judge_quality(scripted(answers), answers, half=Half.BOTH)
    sentences = found.by_sentence
    # faithful 1.0 0.8 0.7 0.4 against unfaithful 0.2 0.9: pairs won 4 + 1 of 8
    assert (sentences.n, sentences.unfaithful, sentences.auroc) == (6, 2, 5 / 8)
    # called unfaithful below 0.5: 0.2 (right) and 0.4 (wrong); 0.9 was missed
    assert (sentences.precision, sentences.recall, sentences.f1) == (0.5, 0.5, 0.5)
    # shares a 1, d 0 against b 0.5, c 1: won 1 and a tie of 4
    assert (found.by_answer.n, found.by_answer.unfaithful, found.by_answer.auroc) == (4, 2, 1.5 / 4)
    # called unfaithful: b (right), d (wrong); c was missed
    assert (found.by_answer.precision, found.by_answer.recall, found.by_answer.f1) == (0.5, 0.5, 0.5)
    assert {kind: (r.found, r.n) for kind, r in found.faults.items()} == {"name": (0, 1), "number": (1, 1)}
    assert sentences.auroc_low <= sentences.auroc <= sentences.auroc_high
    assert sentences.f1_low <= sentences.f1 <= sentences.f1_high


def test_a_perfect_judge_an_inverted_one_and_a_constant_one(answers):
    perfect = {"a": (1.0, 1.0), "b": (1.0, 0.0), "c": (0.0,), "d": (1.0,)}
    found = judge_quality(scripted(answers, perfect), answers, half=Half.BOTH)
    assert (found.by_sentence.auroc, found.by_sentence.f1, found.by_sentence.auroc_low) == (1.0, 1.0, 1.0)
    inverted = {key: tuple(1 - s for s in scores) for key, scores in perfect.items()}
    assert judge_quality(scripted(answers, inverted), answers, half=Half.BOTH).by_sentence.auroc == 0.0
    same = judge_quality(scripted(answers, dict.fromkeys(LABELS, 1.0)), answers, half=Half.BOTH)
    assert (same.by_answer.auroc, same.by_answer.f1, same.by_sentence, same.faults) == (0.5, 0.0, None, {})


def test_a_constant_judge_is_flagged(tmp_path):
    many = answer_set(tmp_path, {f"q{n}": (True if n % 2 else "number",) for n in range(20)})
    assert judge_quality(ScriptedJudge({a.text: 1.0 for a in many.answers}), many, half=Half.BOTH).constant
    telling = ScriptedJudge({a.text: float(a.faithful) for a in many.answers})
    assert not judge_quality(telling, many, half=Half.BOTH).constant


def test_failed_rows_are_counted_in_no_figure_and_too_many_make_it_invalid(answers):
    found = judge_quality(scripted(answers, {**SCORES, "b": "timeout"}), answers, half=Half.BOTH)
    assert (found.judged, found.answers, found.valid, found.failures) == (3, 4, False, {"timeout": 1})
    assert (found.by_sentence.n, found.by_answer.n) == (4, 3)
    none = judge_quality(scripted(answers, dict.fromkeys(SCORES, "http_500")), answers, half=Half.BOTH)
    assert (none.judged, none.by_answer, none.by_sentence, none.valid) == (0, None, None, False)


def test_the_judge_sees_the_passages_and_the_question(answers):
    judge = scripted(answers)
    judge_quality(judge, answers, half=Half.BOTH)
    assert judge.asked[0] == (answers.answers[0].text, ("passage of a",), "question a?")


def test_halves_are_apart_and_the_same_run_gives_the_same_figures():
    answers = load_answer_set(bundled_answer_set())
    judge = LexicalJudge()
    tuning, held_out, both = (judge_quality(judge, answers, half=half, resamples=200) for half in Half)
    assert tuning.answers + held_out.answers == both.answers == 96
    assert held_out == judge_quality(judge, answers, half=Half.HELD_OUT, resamples=200)
    of = {a.id: {p.document for p in a.passages} for a in answers.answers}
    sides = [{d for i, docs in of.items() if answers.half_of[i] is half for d in docs} for half in list(Half)[:2]]
    assert not sides[0] & sides[1]


def test_areas_and_f1_as_scikit_learn_has_them_on_the_bundled_set():
    answers = load_answer_set(bundled_answer_set())
    judgements = [LexicalJudge().judge(a.text, [p.quote for p in a.passages]) for a in answers.answers]
    found = quality_of(LexicalJudge(), answers, answers.answers, judgements, half=Half.BOTH, resamples=50)
    scores, faithful = by_sentence(answers.answers, judgements)
    assert found.by_sentence.auroc == pytest.approx(roc_auc_score(faithful, scores))
    called = [s >= lexical.THRESHOLD for s in scores]
    assert found.by_sentence.f1 == pytest.approx(f1_score([not y for y in faithful], [not c for c in called]))


def test_the_lexical_threshold_is_the_best_of_the_tuning_half():
    answers = load_answer_set(bundled_answer_set())
    asked = [a for a in answers.answers if answers.half_of[a.id] is Half.TUNING]
    judgements = [LexicalJudge().judge(a.text, [p.quote for p in a.passages]) for a in asked]
    scores, faithful = by_sentence(asked, judgements)
    unfaithful = [not label for label in faithful]
    best = max((n / 20 for n in range(1, 20)), key=lambda t: f1_score(unfaithful, [s < t for s in scores]))
    assert best == lexical.THRESHOLD


def test_words_alone_do_not_win_on_the_bundled_set():
    """Faithful and unfaithful answers are written alike: the share of common words says little, the rules say more."""
    answers = load_answer_set(bundled_answer_set())
    found = judge_quality(LexicalJudge(), answers, half=Half.BOTH, resamples=50)
    assert found.by_sentence.auroc > 0.68


def test_a_label_takes_the_verdict_that_overlaps_it(answers):
    one = next(a for a in answers.answers if a.id == "a")
    judgement = ScriptedJudge({one.text: (1.0, 0.3)}).judge(one.text, ())
    assert by_sentence([one], [judgement]) == ([1.0, 0.3], [True, True])
    assert by_sentence([one], [Judgement(0.5)]) == ([], [])
