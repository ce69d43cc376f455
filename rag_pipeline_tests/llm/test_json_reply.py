import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.llm.json_reply import Choice, Number, Text, Texts, parse_object, repair_object, schema

SCORE = {"score": Number(0, 1)}


@pytest.mark.parametrize("score", [0, 1, 0.8, 1.0])
def test_one_object_of_the_shape(score: float) -> None:
    assert parse_object(json.dumps({"score": score}), SCORE).value == {"score": score}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('Sure! {"score": 0.8}', "not one JSON object"),
        ('```json\n{"score": 0.8}\n```', "not one JSON object"),
        ('{"score": 0.8} Hope it helps', "not one JSON object"),
        ('{"score": 0.8}{"score": 0.2}', "not one JSON object"),
        ('{"score": 0.8, "score": 0.1}', "occurs twice"),
        ('{"score": NaN}', "NaN"),
        ('{"score": 1e999}', "0 to 1"),
        ('{"score": "0.8"}', "number, not str"),
        ('{"score": "0.8/1"}', "number, not str"),
        ('{"score": true}', "number, not bool"),
        ('{"score": null}', "number, not NoneType"),
        ('{"score": -1}', "0 to 1"),
        ('{"score": 7}', "0 to 1"),
        ("{}", "'score' is missing"),
        ('{"score": 1, "why": "x"}', "'why' is unknown"),
        ("[0.8]", "not list"),
        ("0.8", "not float"),
        ("", "not one JSON object"),
        ("[" * 100_000, "not one JSON object"),
    ],
)
def test_anything_else_is_a_problem_and_never_a_value(text: str, problem: str) -> None:
    parsed = parse_object(text, SCORE)
    assert parsed.value is None
    assert parsed.problem is not None and problem in parsed.problem


@pytest.mark.parametrize(
    "text", ['Sure! {"score": 0.8}', '```json\n{"score": 0.8}\n```', '{"score": 0.8} Hope it helps', '{"score": 0.8}']
)
def test_the_one_object_is_cut_out(text: str) -> None:
    assert repair_object(text, SCORE).value == {"score": 0.8}


@pytest.mark.parametrize(
    "text",
    [
        'Sure! {"score": "0.8"}',
        '{"score": 0.8} or {"score": 0.2}',
        "no object",
        "a { brace",
        '{"score": 0.8',
        "{" * 50_000,
        '{"a":' * 50_000,
    ],
)
def test_what_is_wrong_stays_wrong(text: str) -> None:
    assert repair_object(text, SCORE).value is None


@given(st.text())
def test_any_text_gives_a_value_or_a_problem(text: str) -> None:
    for parsed in (parse_object(text, SCORE), repair_object(text, SCORE)):
        assert (parsed.value is None) != (parsed.problem is None)


def test_texts_and_choices() -> None:
    shape = {"queries": Texts(most=2, max_chars=5), "verdict": Choice(("yes", "no")), "why": Text(3, empty=True)}
    good = {"queries": ["a", "b"], "verdict": "no", "why": ""}
    assert parse_object(json.dumps(good), shape).value == good
    for bad in (
        {"queries": ["a"] * 3},
        {"queries": ["abcdef"]},
        {"queries": [1]},
        {"queries": "a"},
        {"queries": [" "]},
    ):
        assert parse_object(json.dumps({**good, **bad}), shape).value is None
    assert parse_object(json.dumps({**good, "verdict": "maybe"}), shape).value is None
    assert parse_object(json.dumps({**good, "why": "long"}), shape).value is None


def test_the_schema_says_the_same() -> None:
    assert schema(SCORE) == {
        "type": "object",
        "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}},
        "required": ["score"],
        "additionalProperties": False,
    }
