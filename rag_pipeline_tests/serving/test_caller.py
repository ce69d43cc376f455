import pytest

from rag_pipeline.schema import Principal
from rag_pipeline.serving.caller import LOCAL, Caller, acting_as, bearer
from rag_pipeline.serving.problems import Problem

BOT = Caller("bot", Principal("bot", ("staff",)), frozenset({"read", "act-as"}))


def test_scopes() -> None:
    BOT.require("read")
    with pytest.raises(Problem, match="no scope 'operate'") as caught:
        BOT.require("operate")
    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("headers", "principal"),
    [
        ({}, BOT.principal),
        ({"x-act-as": "maria"}, Principal("maria")),
        ({"x-act-as": "maria", "x-act-as-groups": "a, b,,"}, Principal("maria", ("a", "b"))),
        ({"x-act-as": "zo%C3%AB%20k", "x-act-as-groups": "a%2Cb"}, Principal("zoë k", ("a,b",))),
        ({"x-act-as": "system"}, Principal("system")),  # a user of that name, not the system
    ],
    ids=str,
)
def test_the_user_named_replaces_the_key(headers: dict[str, str], principal: Principal) -> None:
    assert acting_as(BOT, headers).principal == principal


@pytest.mark.parametrize(
    "headers",
    [
        {"x-act-as": ""},
        {"x-act-as": " "},
        {"x-act-as-groups": "finance"},
        {"x-act-as": "%ff"},
        {"x-act-as": "a%00b"},
        {"x-act-as": "a%0Ab"},
        {"x-act-as": "x" * 201},
        {"x-act-as": "maria", "x-act-as-groups": ",".join(["g"] * 201)},
    ],
    ids=lambda h: str(h)[:40],
)
def test_a_user_that_is_none(headers: dict[str, str]) -> None:
    with pytest.raises(Problem) as caught:
        acting_as(BOT, headers)
    assert caught.value.status == 422


def test_only_with_the_scope() -> None:
    for caller in (LOCAL, Caller("ruth", Principal("ruth"), frozenset({"read", "operate"}))):
        for headers in ({"x-act-as": "maria"}, {"x-act-as-groups": "finance"}):
            with pytest.raises(Problem) as caught:
                acting_as(caller, headers)
            assert caught.value.status == 403


@pytest.mark.parametrize(
    ("value", "expected"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", None), ("Bearer", None), ("Bearer  ", None)],
)
def test_bearer(value: str, expected: str | None) -> None:
    assert bearer({"authorization": value}) == expected
    assert bearer({}) is None
