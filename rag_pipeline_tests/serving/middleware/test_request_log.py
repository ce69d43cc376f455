import logging
from typing import Any

import pytest
from starlette.testclient import TestClient

from rag_pipeline.serving.routers import retrieve as retrieve_router
from rag_pipeline_tests.serving.api import SECRET_WORD, ask, bearer


def test_an_error_nobody_expected_is_a_plain_500_with_its_number(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError(f"while reading /srv/rag/secret.md: {SECRET_WORD}")

    monkeypatch.setattr(retrieve_router, "ask", broken)
    reply = ask(client)
    assert reply.status_code == 500
    number = reply.headers["x-request-id"]
    assert reply.json()["error"] == {
        "type": "InternalError",
        "message": f"something went wrong on the server; report the request id {number}",
    }
    failed = next(record for record in caplog.records if record.levelno == logging.ERROR)
    assert number in failed.getMessage() and failed.exc_info is not None
    assert client.get("/health").status_code == 200


def test_a_line_tells_the_key_and_never_the_question(keyed: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "rag_pipeline.serving"):
        ask(keyed, f"where is {SECRET_WORD}", key="ruth")
        keyed.get("/api/document", params={"id": "secret.md"}, headers={**bearer("bot"), "X-Act-As": "maria"})
        keyed.get(f"/{SECRET_WORD}", headers=bearer("ruth"))
    lines = [record.getMessage() for record in caplog.records if record.name == "rag_pipeline.serving"]
    assert any("POST /api/rag/retrieve 200" in line and line.endswith("ruth") for line in lines)
    assert any("GET /api/document 404" in line and line.endswith("bot") for line in lines)
    assert any("GET none 404" in line for line in lines)
    text = "\n".join(lines)
    assert not any(word in text for word in (SECRET_WORD, "secret.md", "maria", "rpk_"))


def test_every_reply_has_another_number(client: TestClient) -> None:
    numbers = {client.get(path).headers["x-request-id"] for path in ("/", "/health", "/nowhere", "/api/about")}
    assert len(numbers) == 4


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [("GET", "/nowhere", 404, "NotFound"), ("PUT", "/api/rag/retrieve", 405, "MethodNotAllowed")],
)
def test_the_frameworks_own_errors_have_the_same_form(
    client: TestClient, method: str, path: str, status: int, kind: str
) -> None:
    reply = client.request(method, path)
    assert (reply.status_code, reply.json()["error"]["type"]) == (status, kind)
