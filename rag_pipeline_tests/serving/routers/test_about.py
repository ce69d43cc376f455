from starlette.testclient import TestClient

from rag_pipeline_tests.served import STRATEGIES, Served
from rag_pipeline_tests.serving.api import bearer, serving


def test_without_keys(client: TestClient, served: Served) -> None:
    body = client.get("/api/about").json()
    assert (body["key"], body["identity"], body["scopes"]) == ("local", None, ["operate", "read"])
    (collection,) = body["collections"]
    assert collection["name"] == "test"
    assert collection["release"] == served.paths.current.read_text().strip()
    assert collection["strategies"] == sorted(STRATEGIES)
    assert "category" in body["filters"]


def test_with_a_key(keyed: TestClient) -> None:
    body = keyed.get("/api/about", headers=bearer("ruth")).json()
    assert (body["key"], body["identity"], body["scopes"]) == ("ruth", "ruth", ["read"])
    headers = {**bearer("bot"), "X-Act-As": "maria"}
    assert keyed.get("/api/about", headers=headers).json()["identity"] == "maria"


def test_a_collection_without_a_release_is_listed(empty: Served) -> None:
    with serving(empty) as client:
        (collection,) = client.get("/api/about").json()["collections"]
    assert (collection["name"], collection["release"], collection["strategies"]) == ("test", None, [])
