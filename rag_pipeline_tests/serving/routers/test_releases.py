from starlette.testclient import TestClient

from rag_pipeline.release.history import catch_up, read_history
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import ask, bearer, serving
from rag_pipeline_tests.stages import document


def publish_two(served: Served) -> tuple[str, str]:
    catch_up(served.paths)
    first = served.paths.current.read_text().strip()
    second = served.publish([document("new.md", "Something new.")], name="2").release_id
    catch_up(served.paths)
    return first, second


def test_the_list(client: TestClient, served: Served) -> None:
    first, second = publish_two(served)
    body = client.get("/api/releases").json()
    assert (body["collection"], body["current"], body["stale"]) == ("test", second, None)
    assert {row["release_id"]: row["current"] for row in body["releases"]} == {first: False, second: True}
    assert {row["state"] for row in body["releases"]} == {"good"}
    assert str(served.home.root) not in client.get("/api/releases").text


def test_going_back_serves_the_earlier_release_at_once(client: TestClient, served: Served) -> None:
    first, second = publish_two(served)
    assert ask(client, "something new").json()["release"] == second
    reply = client.post("/api/releases/rollback", json={"reason": "worse"})
    assert reply.json() == {"success": True, "collection": "test", "previous": second, "current": first, "skipped": []}
    assert ask(client, "pump oil").json()["release"] == first
    change = read_history(served.paths)[-1]
    assert (change.action, change.who, change.reason) == ("rolled_back", "api key local", "worse")


def test_nothing_to_go_back_to(client: TestClient, served: Served) -> None:
    catch_up(served.paths)
    reply = client.post("/api/releases/rollback", json={})
    assert (reply.status_code, reply.json()["error"]["type"]) == (409, "NothingToRollBackTo")


def test_an_unknown_release(client: TestClient, served: Served) -> None:
    reply = client.post("/api/releases/rollback", json={"release_id": "0" * 20})
    assert (reply.status_code, reply.json()["error"]["type"]) == (404, "UnknownRelease")
    assert client.post("/api/releases/rollback", json={"release_id": "../../etc"}).status_code == 422
    assert client.post("/api/releases/rollback").status_code == 422  # a bare POST rolls nothing back


def test_a_damaged_release_is_refused_and_no_path_is_told(client: TestClient, served: Served) -> None:
    first, second = publish_two(served)
    key = next(row["build_key"] for row in client.get("/api/releases").json()["releases"] if row["release_id"] == first)
    damaged = served.paths.build(key) / "vectors.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\x7f")
    reply = client.post("/api/releases/rollback", json={"release_id": first})
    assert (reply.status_code, reply.json()["error"]["type"]) == (409, "ReleaseRefused")
    assert "does not verify" in reply.text and str(served.home.root) not in reply.text
    assert served.paths.current.read_text().strip() == second


def test_scopes(keyed: TestClient) -> None:
    assert keyed.get("/api/releases", headers=bearer("ruth")).status_code == 200
    assert keyed.get("/api/releases", headers=bearer("boss")).status_code == 403
    assert keyed.post("/api/releases/rollback", json={}, headers=bearer("ruth")).status_code == 403


def test_an_unknown_collection(served: Served) -> None:
    with serving(served) as client:
        assert client.get("/api/releases", params={"collection": "other"}).status_code == 404
        assert client.post("/api/releases/rollback", json={"collection": "other"}).status_code == 404
