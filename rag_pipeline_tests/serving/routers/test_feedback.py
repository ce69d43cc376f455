import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.querylog.asker import VARIABLE
from rag_pipeline.serving.app import create_app
from rag_pipeline.serving.settings import ServingSettings
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import ask, bearer, serving, settings_of, write_keys


@pytest.fixture
def recording(served: Served, tmp_path: Path) -> Iterator[TestClient]:
    with serving(served, keys=write_keys(tmp_path / "keys.toml"), query_log=True) as client:
        yield client


def say(client: TestClient, key: str, headers: dict[str, str] | None = None, **body: Any) -> Any:
    return client.post("/api/rag/feedback", json=body, headers={**bearer(key), **(headers or {})})


def lines(served: Served) -> list[dict[str, Any]]:
    files = sorted(served.home.query_log.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def test_off_by_default(client: TestClient, served: Served) -> None:
    reply = ask(client)
    assert reply.status_code == 200 and reply.json()["query_id"] is None
    refused = client.post("/api/rag/feedback", json={"query_id": f"20260912-{'0' * 32}", "rating": "useful"})
    assert (refused.status_code, refused.json()["error"]["type"]) == (409, "QueryLogOff")
    assert "query_log = true" in refused.json()["error"]["message"]
    assert not served.home.query_log.exists()
    assert client.get("/api/about").json()["query_log"] is False


def test_a_question_is_recorded_as_it_was_answered(recording: TestClient, served: Served) -> None:
    reply = ask(recording, "budget", key="ruth", filters={"category": "finance"}, strategy="bm25").json()
    (record,) = lines(served)
    assert record["query_id"] == reply["query_id"]
    assert (record["query"], record["collection"], record["strategy"]) == ("budget", "test", "bm25")
    assert (record["release_id"], record["filters"]) == (reply["release"], {"category": "finance"})
    assert [r["doc_id"] for r in record["results"]] == ["secret.md"]
    assert "ruth" not in json.dumps(record) and "finance" not in record["asker"]
    assert record["timings_ms"]["total"] > 0
    (segment,) = served.home.query_log.glob("*.jsonl")
    assert segment.stat().st_mode & 0o777 == 0o600 and served.home.query_log.stat().st_mode & 0o777 == 0o700
    assert recording.get("/api/about", headers=bearer("bob")).json()["query_log"] is True


def test_what_was_refused_is_not_recorded(recording: TestClient, served: Served) -> None:
    assert ask(recording, "   ", key="bob").status_code == 400
    assert ask(recording, "x", key="bob", strategy="nope").status_code == 422
    assert lines(served) == []


def test_who_asked_says_what_was_right(recording: TestClient, served: Served) -> None:
    asked = ask(recording, "budget", key="ruth").json()
    assert say(recording, "ruth", query_id=asked["query_id"], rating="useful", rank=1, comment="yes").status_code == 200
    section = lines(served)[0]["results"][1]["section_id"]
    assert say(recording, "ruth", query_id=asked["query_id"], rating="not_useful", section=section).status_code == 200
    assert say(recording, "ruth", query_id=asked["query_id"], rating="not_useful").status_code == 200
    said = [line for line in lines(served) if line["kind"] == "feedback"]
    assert [(s["rating"], s["rank"], s["comment"]) for s in said] == [
        ("useful", 1, "yes"),
        ("not_useful", 2, None),
        ("not_useful", None, None),
    ]
    metrics = recording.get("/metrics", headers=bearer("all")).text
    assert 'rag_pipeline_query_log_records_total{kind="feedback"} 3.0' in metrics
    assert 'rag_pipeline_query_log_records_total{kind="query"} 1.0' in metrics


def test_another_learns_nothing_from_an_id(recording: TestClient) -> None:
    """The same status and the same words for a question of someone else and one that never was."""
    asked = ask(recording, "budget", key="ruth").json()["query_id"]
    never = asked[:-4] + "0000"
    for key in ("bob", "public", "bot", "all"):
        theirs = say(recording, key, query_id=asked, rating="useful", rank=1)
        none = say(recording, key, query_id=never, rating="useful", rank=1)
        assert theirs.status_code == none.status_code == 404
        assert theirs.json() == none.json()
        # Not even whether such a result was there.
        assert say(recording, key, query_id=asked, rating="useful", rank=900).json() == none.json()


def test_a_chatbot_speaks_for_the_user_it_named(recording: TestClient) -> None:
    maria = {"X-Act-As": "maria", "X-Act-As-Groups": "people"}
    headers = {**bearer("bot"), **maria}
    asked = recording.post("/api/rag/retrieve", json={"query": "oil"}, headers=headers).json()["query_id"]
    assert say(recording, "bot", query_id=asked, rating="useful", rank=1).status_code == 404
    assert say(recording, "bot", {"X-Act-As": "ruth"}, query_id=asked, rating="useful", rank=1).status_code == 404
    assert say(recording, "bot", {"X-Act-As": "maria"}, query_id=asked, rating="useful", rank=1).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"rank": 1, "section": "s"},
        {"rank": 999},
        {"section": "unknown"},
        {"rank": 0},
        {"rating": "great"},
        {"comment": "x" * 2001},
        {"section": ""},
        {"more": 1},
    ],
)
def test_what_can_not_be_meant_is_refused(recording: TestClient, served: Served, body: dict[str, Any]) -> None:
    asked = ask(recording, "budget", key="ruth").json()["query_id"]
    reply = say(recording, "ruth", **{"query_id": asked, "rating": "useful", **body})
    assert (reply.status_code, reply.json()["error"]["type"]) == (422, "InvalidRequest")
    assert len(lines(served)) == 1


@pytest.mark.parametrize("query_id", ["", "x", "../../asker.key", f"20260912-{'g' * 32}", None, 7])
def test_what_is_no_id_is_refused(recording: TestClient, query_id: object) -> None:
    assert say(recording, "ruth", query_id=query_id, rating="useful").status_code == 422


def test_a_failed_write_is_counted_and_the_answer_goes_out(
    recording: TestClient, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    before = ask(recording, "budget", key="ruth").json()["query_id"]
    shutil.rmtree(served.home.query_log)
    served.home.query_log.write_text("in the way")
    with caplog.at_level(logging.ERROR):
        reply = ask(recording, "zebra pump", key="ruth")
        said = say(recording, "ruth", query_id=before, rating="useful")
    assert reply.status_code == 200 and reply.json()["query_id"] is None
    assert reply.json()["result"]["chunks"]
    assert (said.status_code, said.json()["error"]["type"]) == (503, "NotRecorded")
    metrics = recording.get("/metrics", headers=bearer("all")).text
    assert 'rag_pipeline_query_log_failures_total{kind="query",reason="os_error_20"} 1.0' in metrics
    assert "a question was not recorded (os_error_20)" in caplog.text and "zebra" not in caplog.text


def test_old_records_go_at_the_start_even_with_the_log_off(served: Served) -> None:
    served.home.query_log.mkdir()
    (served.home.query_log / "2020-01-01.jsonl").write_text("{}\n")
    with serving(served) as client:
        for _ in range(200):
            client.get("/health")
            if not list(served.home.query_log.iterdir()):
                break
    assert list(served.home.query_log.iterdir()) == []


def test_a_key_that_is_too_short_is_told_at_the_start(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(InvalidSettings, match=VARIABLE):
        create_app(settings_of(served), serving=ServingSettings(query_log=True))
