import json

import pytest

from rag_pipeline.errors import (
    BuildBusy,
    CorruptBuild,
    InvalidQuery,
    MissingExtra,
    ModelUnavailable,
    RagPipelineError,
    StageFailed,
    TooManyFailures,
    UnknownName,
)
from rag_pipeline.serving.problems import INTERNAL, MOST_CHARACTERS, STATUS, Problem, problem_of, public_text, respond


@pytest.mark.parametrize(
    ("error", "status", "kind", "message"),
    [
        (InvalidQuery("write a word"), 400, "InvalidQuery", "write a word"),
        (UnknownName("unknown filter 'x'"), 422, "UnknownName", "unknown filter 'x'"),
        (BuildBusy("busy"), 409, "BuildBusy", "busy"),
        (CorruptBuild("/srv/rag/x: the secret plan"), 503, "CorruptBuild", "can't be read"),
        (ModelUnavailable("/root/models/x"), 503, "ModelUnavailable", "not on this server"),
        (MissingExtra("flashrank", "rerank"), 503, "MissingExtra", "not installed on this server"),
        (StageFailed("rerank", "timeout", "try later"), 503, "StageFailed", "could not run (timeout)"),
        (TooManyFailures("secret.md"), 500, "InternalError", INTERNAL),
        (RagPipelineError("secret.md"), 500, "InternalError", INTERNAL),
    ],
)
def test_status_and_message(error: RagPipelineError, status: int, kind: str, message: str) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.kind) == (status, kind)
    assert message in problem.message
    assert "secret" not in problem.message and "/srv" not in problem.message


def test_the_table_names_errors_that_exist() -> None:
    known = {kind.__name__ for kind in RagPipelineError.__subclasses__()}
    assert STATUS.keys() <= known


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/srv/rag/data/x.toml: broken", "…/x.toml: broken"),
        ("'/srv/my/docs': no such folder", "'…/docs': no such folder"),
        (r"C:\rag\data\x.toml: broken", "…/x.toml: broken"),
        ("~/rag/x: broken", "…/x: broken"),
        ("see https://example.org/a/b/c", "see https://example.org/a/b/c"),
        ("guide/setup.md and 1/2", "guide/setup.md and 1/2"),
        ("lone \ud800", "lone \ufffd"),
    ],
)
def test_no_folder_is_named(text: str, expected: str) -> None:
    assert public_text(text) == expected


def test_a_message_is_bounded() -> None:
    assert len(public_text("x" * 1_000_000)) == MOST_CHARACTERS
    assert len(public_text("/a/b" * 1_000_000)) <= MOST_CHARACTERS


def test_the_form() -> None:
    response = respond(Problem(429, "TooManyRequests", "later", headers={"Retry-After": "2"}))
    assert response.status_code == 429
    assert response.headers["retry-after"] == "2"
    assert json.loads(bytes(response.body)) == {"error": {"type": "TooManyRequests", "message": "later"}}
