import pytest
from starlette.testclient import TestClient

from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import SECRET_WORD, ask, bearer, documents, serving
from rag_pipeline_tests.stages import document


def test_the_whole_document(client: TestClient, served: Served) -> None:
    body = client.get("/api/document", params={"id": "pump.md"}).json()
    assert body["text"] == documents()[0].text
    assert (body["offset"], body["length"]) == (0, len(documents()[0].text))
    assert (body["title"], body["category"], body["tags"]) == ("Pump", "guide", ["oil"])
    assert body["release"] == served.paths.current.read_text().strip()
    assert body["source"] == "pump.md"


def test_a_hit_lies_where_its_offsets_say(client: TestClient) -> None:
    hit = ask(client, "opens at", strategy="bm25").json()["result"]["chunks"][0]
    text = client.get("/api/document", params={"id": hit["document"]}).json()["text"]
    assert text[hit["offsets"]["start"] : hit["offsets"]["end"]] == hit["content"] == "The café 👩‍🚀 opens at 9."


@pytest.mark.parametrize(("around", "offset"), [(0, 0), (400, 0), (3000, 2500), (9_000_000, 5008)])
def test_a_long_one_is_cut_around_a_place(served: Served, around: int, offset: int) -> None:
    text = "".join(f"{n:05d} " for n in range(1000))[:-1]
    served.publish([document("long.md", text)], name="2")
    whole = f"# Long\n\n{text}"
    with serving(served, document_characters=1000) as client:
        body = client.get("/api/document", params={"id": "long.md", "around": around}).json()
    assert (body["offset"], body["length"]) == (min(offset, len(whole) - 1000), len(whole))
    assert body["text"] == whole[body["offset"] : body["offset"] + 1000]


def test_a_duplicate_shows_the_document_it_stands_for(served: Served) -> None:
    copies = [document("a.md", "same text"), document("b.md", "same text", title="A", canonical_id="a.md")]
    served.publish(copies, name="2")
    with serving(served) as client:
        assert client.get("/api/document", params={"id": "b.md"}).json()["document"] == "a.md"


def test_one_that_may_not_be_read_is_as_unknown_as_none(keyed: TestClient) -> None:
    replies = {
        doc_id: keyed.get("/api/document", params={"id": doc_id}, headers=bearer("bob"))
        for doc_id in ("secret.md", "ghost.md", "../secret.md", "%", "secret.md\x00")
    }
    for reply in replies.values():
        assert reply.status_code == 404
        assert reply.json() == {"error": {"type": "UnknownDocument", "message": "no such document"}}
    found = keyed.get("/api/document", params={"id": "secret.md"}, headers=bearer("ruth"))
    assert SECRET_WORD in found.json()["text"]


def test_offsets_of_a_release_that_is_no_longer_served(client: TestClient, served: Served) -> None:
    old = served.paths.current.read_text().strip()
    assert client.get("/api/document", params={"id": "pump.md", "release": old}).status_code == 200
    served.publish([document("pump.md", "Now shorter.")], name="2")
    reply = client.get("/api/document", params={"id": "pump.md", "release": old})
    assert (reply.status_code, reply.json()["error"]["type"]) == (409, "ReleaseMoved")


def test_parameters_are_checked(client: TestClient) -> None:
    assert client.get("/api/document").status_code == 422
    assert client.get("/api/document", params={"id": "pump.md", "around": -1}).status_code == 422
    assert client.get("/api/document", params={"id": "pump.md", "collection": "other"}).status_code == 404
