import pytest

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.llm.settings import llm_settings

BASE = {"RAG_PIPELINE_LLM_URL": "http://127.0.0.1:8080/v1/", "RAG_PIPELINE_LLM_MODEL": "m"}


def test_nothing_set_is_no_model() -> None:
    assert llm_settings({}) is None
    assert llm_settings({"RAG_PIPELINE_LLM_KEY": "k"}) is None


def test_url_and_model_are_enough() -> None:
    found = llm_settings(BASE)
    assert found is not None
    assert (found.url, found.model, found.key, found.wire) == ("http://127.0.0.1:8080/v1", "m", "", "openai")


def test_anthropics_host_has_its_own_wire_unless_told_otherwise() -> None:
    by_host = llm_settings({**BASE, "RAG_PIPELINE_LLM_URL": "https://api.anthropic.com"})
    told = llm_settings({**BASE, "RAG_PIPELINE_LLM_WIRE": "anthropic"})
    assert by_host is not None and by_host.wire == "anthropic"
    assert told is not None and told.wire == "anthropic"


def test_the_key_is_never_shown() -> None:
    found = llm_settings({**BASE, "RAG_PIPELINE_LLM_KEY": "s3cret"})
    assert found is not None and found.key == "s3cret"
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"RAG_PIPELINE_LLM_URL": "127.0.0.1:8080"}, "RAG_PIPELINE_LLM_URL"),
        ({"RAG_PIPELINE_LLM_URL": "file:///etc/passwd"}, "RAG_PIPELINE_LLM_URL"),
        ({"RAG_PIPELINE_LLM_URL": "https://user:pw@host/v1"}, "RAG_PIPELINE_LLM_KEY"),
        ({"RAG_PIPELINE_LLM_MODEL": ""}, "RAG_PIPELINE_LLM_MODEL"),
        ({"RAG_PIPELINE_LLM_WIRE": "grpc"}, "openai, anthropic"),
        ({"RAG_PIPELINE_LLM_JSON": "yes"}, "schema, object, none"),
        ({"RAG_PIPELINE_LLM_KEY": "a\nb"}, "RAG_PIPELINE_LLM_KEY"),
    ],
)
def test_what_cannot_be_used_names_its_variable(changed: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidSettings, match=named) as raised:
        llm_settings({**BASE, **changed})
    assert "pw" not in str(raised.value)
