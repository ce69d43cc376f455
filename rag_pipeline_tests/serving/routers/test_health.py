import pytest
from starlette.testclient import TestClient

from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import ask, bearer, serving
from rag_pipeline_tests.stages import document


def test_alive_and_ready(keyed: TestClient) -> None:
    assert keyed.get("/health").json() == {"status": "ok"}
    assert keyed.get("/ready").json() == {"ready": True, "reasons": []}


def test_not_ready_before_the_first_publish(empty: Served) -> None:
    with serving(empty) as client:
        reply = client.get("/ready")
        assert (reply.status_code, reply.json()) == (503, {"ready": False, "reasons": ["NoRelease"]})
        assert client.get("/health").status_code == 200


def test_not_ready_while_a_release_cannot_answer(served: Served) -> None:
    release = served.paths.current.read_text()
    with serving(served) as client:
        assert client.get("/ready").status_code == 200
        served.paths.current.write_text("0" * 20)
        reply = client.get("/ready")
        assert (reply.status_code, reply.json()["reasons"]) == (503, ["CorruptBuild"])
        assert str(served.home.root) not in reply.text
        served.paths.current.write_text(release)
        assert client.get("/ready").status_code == 200


def test_the_first_look_loads_the_model_and_the_next_do_not(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = served.embedder
    embedder.calls.clear()
    with serving(served) as client:
        for _ in range(3):
            assert client.get("/ready").status_code == 200
    assert embedder.calls == [["ready"]]


def test_metrics(client: TestClient) -> None:
    ask(client)
    ask(client, filters={"language": "xx"})
    client.get("/no/such/page?q=private")
    text = client.get("/metrics").text
    posted = 'rag_pipeline_requests_total{method="POST",route="/api/rag/retrieve",status="200"} 2.0'
    assert posted in text
    assert 'rag_pipeline_retrieval_stage_seconds_count{collection="test",stage="rank",strategy="hybrid"} 1.0' in text
    assert 'rag_pipeline_empty_results_total{collection="test",reason="filter_empty"} 1.0' in text
    assert 'rag_pipeline_release_served{collection="test",release="' in text
    assert 'route="none",status="404"' in text
    assert "private" not in text and "pump" not in text


def test_metrics_name_one_release(client: TestClient, served: Served) -> None:
    ask(client)
    second = served.publish([document("new.md", "Something new.")], name="2").release_id
    ask(client)
    shown = [
        line for line in client.get("/metrics").text.splitlines() if line.startswith("rag_pipeline_release_served{")
    ]
    assert shown == [f'rag_pipeline_release_served{{collection="test",release="{second}"}} 1.0']


def test_metrics_need_any_key(keyed: TestClient) -> None:
    assert keyed.get("/metrics").status_code == 401
    assert keyed.get("/metrics", headers=bearer("boss")).status_code == 200
