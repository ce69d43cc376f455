from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import LOCAL, ask, bearer, serving, token, write_keys

GUARDED = (
    ("POST", "/api/rag/retrieve"),
    ("POST", "/api/rag/answer"),
    ("POST", "/api/rag/feedback"),
    ("GET", "/api/document"),
    ("GET", "/api/about"),
    ("GET", "/api/releases"),
    ("POST", "/api/releases/rollback"),
    ("POST", "/api/documents/reindex-all"),
    ("GET", f"/api/documents/reindex/{'0' * 32}"),
    ("GET", "/metrics"),
    ("GET", "/api/no/such/thing"),
)


def test_every_route_that_holds_something_is_guarded(keyed: TestClient) -> None:
    routes = {path for path, _ in keyed.app.openapi()["paths"].items()}  # type: ignore[attr-defined]
    open_to_all = {"/health", "/ready"}
    named = {path.replace("0" * 32, "{run}") for _, path in GUARDED}
    assert routes - open_to_all <= named


@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer wrong", "Bearer", f"Basic {token('ruth')}", f"Bearer {token('ruth')}x", "Bearer \xff"],
)
def test_without_a_known_key_nothing_is_even_read(keyed: TestClient, authorization: str | None) -> None:
    headers = {} if authorization is None else {b"Authorization": authorization.encode("latin-1")}
    for method, path in GUARDED:
        reply = keyed.request(method, path, content=b"{broken", headers=headers)  # type: ignore[arg-type]
        assert reply.status_code == 401, path
        assert reply.headers["www-authenticate"] == "Bearer"
        assert reply.json()["error"]["type"] == "Unauthorized"


def test_a_key_reads_as_its_principal(keyed: TestClient) -> None:
    def found(key: str, **headers: str) -> list[str]:
        reply = keyed.post(
            "/api/rag/retrieve",
            json={"query": "budget nine million", "strategy": "bm25"},
            headers={**bearer(key), **headers},
        )
        assert reply.status_code == 200
        return [chunk["document"] for chunk in reply.json()["result"]["chunks"]]

    assert found("ruth") == ["secret.md", "budget.md"]
    assert found("bob") == found("public") == found("bot") == ["budget.md"]
    as_finance = {"X-Act-As": "maria", "X-Act-As-Groups": "finance"}
    assert found("bot", **as_finance) == ["secret.md", "budget.md"]
    # A key that may read everything reads as little as the user it names.
    assert found("all") == ["secret.md", "budget.md"]
    assert found("all", **{"X-Act-As": "maria"}) == ["budget.md"]
    assert found("all", **{"X-Act-As": "system"}) == ["budget.md"]


def test_scopes(keyed: TestClient) -> None:
    assert ask(keyed, key="boss").status_code == 403
    reply = keyed.post("/api/rag/retrieve", json={"query": "x"}, headers={**bearer("ruth"), "X-Act-As": "maria"})
    assert (reply.status_code, reply.json()["error"]["type"]) == (403, "Forbidden")


def test_a_revoked_key_stops_at_once(served: Served, tmp_path: Path) -> None:
    file = write_keys(tmp_path / "keys.toml")
    with serving(served, keys=file) as client:
        assert ask(client, key="ruth").status_code == 200
        write_keys(file, ["bob"])
        assert ask(client, key="ruth").status_code == 401
        assert ask(client, key="bob").status_code == 200
        file.write_text("broken")
        reply = ask(client, key="bob")
        assert (reply.status_code, reply.json()["error"]["type"]) == (503, "KeysUnreadable")
        assert str(tmp_path) not in reply.text


def test_rate_by_key_and_by_address(served: Served, tmp_path: Path) -> None:
    with serving(served, keys=write_keys(tmp_path / "k.toml"), requests_per_minute=60, burst=2) as client:
        assert [ask(client, key="ruth").status_code for _ in range(3)] == [200, 200, 429]
        assert ask(client, key="bob").status_code == 200  # another key has its own
        assert [ask(client).status_code for _ in range(3)] == [401, 401, 429]  # guessing keys is slow
        reply = ask(client, key="ruth")
        assert reply.headers["retry-after"] == "1"
        assert reply.json()["error"]["type"] == "TooManyRequests"
        assert client.get("/health").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_without_keys_other_sites_cannot_use_the_browser(client: TestClient, headers: dict[str, str]) -> None:
    """A page on another site could re-index and roll back by a plain form, because nothing but loopback was asked."""
    for method, path in (("GET", "/"), ("POST", "/api/documents/reindex-all"), ("GET", "/api/about")):
        reply = client.request(method, path, headers=headers)
        assert (reply.status_code, reply.json()["error"]["type"]) == (403, "Forbidden")


def test_with_keys_any_host_name_will_do(served: Served, tmp_path: Path) -> None:
    options = {"keys": write_keys(tmp_path / "k.toml"), "host": "0.0.0.0"}
    with serving(served, base_url="https://rag.example.org", **options) as client:
        assert ask(client, key="ruth").status_code == 200


def test_cors_is_off(client: TestClient) -> None:
    reply = client.get("/health", headers={"Origin": LOCAL})
    assert "access-control-allow-origin" not in reply.headers


def test_cors_for_named_origins_only(served: Served) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    with serving(served, cors_origins=("https://wiki.example.org",)) as client:
        allowed = client.options("/api/rag/retrieve", headers={"Origin": "https://wiki.example.org", **asked})
        assert allowed.headers["access-control-allow-origin"] == "https://wiki.example.org"
        other = client.options("/api/rag/retrieve", headers={"Origin": "https://evil.example", **asked})
        assert "access-control-allow-origin" not in other.headers
        cross = {"Origin": "https://wiki.example.org", "Sec-Fetch-Site": "cross-site"}
        reply = client.post("/api/rag/retrieve", json={"query": "pump"}, headers=cross)
        assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, "https://wiki.example.org")
