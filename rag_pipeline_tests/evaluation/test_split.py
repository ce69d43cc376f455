from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.evaluation.split import Half, select, split_halves
from rag_pipeline_tests.evaluation.builders import eval_set

SINGLES = eval_set({f"q{i}": [f"d{i}"] for i in range(400)})


def test_roughly_half_and_the_same_every_time():
    split = split_halves(SINGLES)
    sizes = Counter(split.half_of.values())
    assert set(sizes) == {Half.TUNING, Half.HELD_OUT}
    assert 160 <= sizes[Half.TUNING] <= 240
    assert split == split_halves(replace(SINGLES, queries=SINGLES.queries[::-1], judgements=SINGLES.judgements[::-1]))
    assert split.notices == ()


def test_groups_of_several_documents_go_to_both_sides_alike():
    """The least of several hashes is small, so a side chosen by it alone would be nearly always the same."""
    grouped = eval_set({f"q{i}": [f"d{i}-{j}" for j in range(6)] for i in range(300)})
    assert 120 <= Counter(split_halves(grouped).half_of.values())[Half.TUNING] <= 180


def test_unanswerable_questions_are_split_too():
    split = split_halves(eval_set({f"q{i}": [] for i in range(200)}))
    assert 70 <= Counter(split.half_of.values())[Half.TUNING] <= 130


def test_questions_of_one_document_stay_together_also_through_others():
    labels = {"a": ["d1"], "b": ["d1", "d2"], "c": ["d2", "d3"], "d": ["d3"]}
    half_of = split_halves(eval_set({**labels, **{f"q{i}": [f"e{i}"] for i in range(40)}})).half_of
    assert len({half_of[q] for q in "abcd"}) == 1


def test_a_large_group_is_balanced_by_the_others_and_reported():
    labels = {**{f"big{i}": ["hub"] for i in range(40)}, **{f"q{i}": [f"d{i}"] for i in range(60)}}
    split = split_halves(eval_set(labels))
    side = split.half_of["big0"]
    assert all(split.half_of[f"big{i}"] is side for i in range(40))
    assert 40 <= sum(half is side for half in split.half_of.values()) <= 62
    assert len(split.notices) == 1
    assert "40 of 100 questions hang together" in split.notices[0]


def test_one_group_of_everything_is_on_one_side():
    split = split_halves(eval_set({f"q{i}": ["hub"] for i in range(10)}))
    assert len(set(split.half_of.values())) == 1
    assert split.notices


def test_adding_questions_moves_few_of_the_others():
    more = eval_set({**{f"q{i}": [f"d{i}"] for i in range(400)}, **{f"new{i}": [f"n{i}"] for i in range(40)}})
    before, after = split_halves(SINGLES).half_of, split_halves(more).half_of
    assert all(after[q] is half for q, half in before.items())


def test_halves_are_selected_with_their_labels():
    tuning, held_out = select(SINGLES, Half.TUNING), select(SINGLES, Half.HELD_OUT)
    assert select(SINGLES, Half.BOTH) is SINGLES
    assert {q.id for q in tuning.queries}.isdisjoint(q.id for q in held_out.queries)
    assert len(tuning.queries) + len(held_out.queries) == 400
    assert {j.query_id for j in tuning.judgements} == {q.id for q in tuning.queries}


@given(st.dictionaries(st.text("abc", min_size=1), st.lists(st.sampled_from("uvwxyz"), max_size=3), max_size=25))
def test_no_document_is_on_both_sides(labels):
    small = eval_set(labels)
    half_of = split_halves(small).half_of
    assert set(half_of) == set(labels)
    sides = {}
    for judgement in small.judgements:
        sides.setdefault(judgement.document, set()).add(half_of[judgement.query_id])
    assert all(len(found) == 1 for found in sides.values())
