import re

import pytest
from starlette.testclient import TestClient

from rag_pipeline.serving.routers.page import FILES


def test_the_page_needs_no_key_and_names_only_own_files(keyed: TestClient) -> None:
    page = keyed.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"https?://", page.text)
    assert not re.search(r"\son\w+=|<style|style=|<script(?! type=\"module\" src=\"/page/)", page.text)


@pytest.mark.parametrize("name", FILES)
def test_the_files(keyed: TestClient, name: str) -> None:
    reply = keyed.get(f"/page/{name}")
    assert (reply.status_code, reply.headers["content-type"]) == (200, FILES[name])
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", reply.text)
    assert "innerHTML" not in reply.text  # documents are put in as text


@pytest.mark.parametrize("name", ["app.py", "..%2Fapp.py", "index.html", "%2e%2e/keys.py", ""])
def test_nothing_else_is_served(keyed: TestClient, name: str) -> None:
    assert keyed.get(f"/page/{name}").status_code == 404
