import pytest

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.webhook import LONGEST_MESSAGE, Alert, safe_message, send, webhook
from rag_pipeline_tests.local_server import Answer, local_server

ALERT = Alert("release_refused", "docs", "docs_reindex", "0123456789ab", "publish", ("pinned_queries",), None, "why")
QUICK = HttpPolicy(seconds=5, attempts=3, wait=0.01)


@pytest.mark.parametrize(
    "url", ["https://hooks.example.org/a/b?k=1", "http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:9/"]
)
def test_https_anywhere_and_http_on_this_machine(url):
    assert webhook({"RAG_PIPELINE_ALERT_WEBHOOK": f" {url} "}) == url


@pytest.mark.parametrize(
    "url", ["http://hooks.example.org/k3y", "http://10.0.0.1/k3y", "ftp://x/k3y", "k3y", "https://", "http://[/k3y"]
)
def test_other_addresses_are_refused_and_not_shown(url):
    with pytest.raises(InvalidSettings, match="RAG_PIPELINE_ALERT_WEBHOOK") as refused:
        webhook({"RAG_PIPELINE_ALERT_WEBHOOK": url})
    assert "k3y" not in str(refused.value)


@pytest.mark.parametrize("environ", [{}, {"RAG_PIPELINE_ALERT_WEBHOOK": " "}])
def test_without_an_address_nothing_is_sent(environ):
    assert webhook(environ) is None


def test_the_object_is_small_and_has_a_line_for_people():
    with local_server() as server:
        assert send(ALERT, url=server.url, policy=QUICK).failure is None
        ((body),) = [asked.body for asked in server.asked]
    assert body == {
        "source": "rag_pipeline",
        "kind": "release_refused",
        "collection": "docs",
        "job": "docs_reindex",
        "run_id": "0123456789ab",
        "step": "publish",
        "checks": ["pinned_queries"],
        "error": None,
        "message": "why",
        "text": "docs: docs_reindex (01234567) release refused at publish, pinned_queries: why",
    }


@pytest.mark.parametrize("answer", [Answer(b"ok"), Answer(b"", status=204), Answer(b"queued", status=202)])
def test_any_success_is_one_delivery(answer):
    """Chat services answer "ok" or nothing at all; taking that for a malformed answer would post it three times."""
    with local_server() as server:
        server.script(answer)
        assert send(ALERT, url=server.url, policy=QUICK).failure is None
        assert len(server.asked) == 1


def test_a_busy_service_is_asked_again_and_a_refusal_is_not():
    with local_server() as server:
        server.script(Answer(b"", status=503), Answer(b"ok"))
        assert send(ALERT, url=server.url, policy=QUICK).failure is None
        assert len(server.asked) == 2
        server.asked.clear()
        server.script(Answer(b"", status=403))
        assert send(ALERT, url=server.url, policy=QUICK).failure == "http_403"
        assert len(server.asked) == 1


def test_a_slow_service_is_given_up():
    with local_server() as server:
        server.script(Answer(b"ok", delay=10))
        reply = send(ALERT, url=server.url, policy=HttpPolicy(seconds=0.3, attempts=3, wait=0.01))
    assert reply.failure == "timeout"


def test_questions_and_sentences_stay_here():
    """Probes are sentences of documents; a refusal quotes those that got worse, with the documents they are in."""
    told = safe_message(
        "hybrid lost 0.300 ndcg_at_10 against the release in service (0.9 -> 0.6 on 80 questions). worse: "
        "'Band four begins at 81,500' 1.00 -> 0.00 (was people/salaries.md:3-90; now nothing)",
        environ={},
    )
    assert told == "hybrid lost 0.300 ndcg_at_10 against the release in service (0.9 -> 0.6 on 80 questions)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2 of 9 failed: 'Band four', 'Band five begins at 81,500'", "2 of 9 failed: '...', '...'"),
        ("'the bands\\' \"first\" year' failed", "'...' failed"),
        ('"Band four isn\'t below 81,500 a year" failed', "'...' failed"),
        ("it's 'Band four isn't below 81,500 a year' now", "it's '...' now"),
        ("failed: 'Band four begins at 81,500 a", "failed: '...'"),
        ("it can't be read; the builder's file isn't there", "it can't be read; the builder's file isn't there"),
    ],
)
def test_what_is_quoted_is_taken_out_and_nothing_else(text, told):
    assert safe_message(text, environ={}) == told


def test_secrets_and_addresses_stay_here():
    environ = {"RAG_PIPELINE_LLM_KEY": "sk-123456", "MY_TOKEN": "tok", "PATH": "/usr/bin"}
    told = safe_message("POST https://me:pw@host/v1?key=abc failed with sk-123456 in /usr/bin", environ=environ)
    assert told == "POST https://... failed with *** in /usr/bin"


def test_a_message_is_short():
    assert len(safe_message("word " * 1000, environ={})) == LONGEST_MESSAGE
