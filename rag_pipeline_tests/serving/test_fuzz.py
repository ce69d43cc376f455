"""The API fuzzed from its own description: never a 500, and never an answer that the description does not know."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rag_pipeline.serving.app import create_app
from rag_pipeline.serving.settings import ServingSettings
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import bearer, documents, settings_of, write_keys
from rag_pipeline_tests.serving.live import listening

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 40


@pytest.fixture(scope="module")
def api_schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[schemathesis.BaseSchema]:
    folder = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        served = Served(folder / "home", patch)
        served.publish(documents())
        # No collection is known to the settings, so that a fuzzed re-index starts nothing.
        own = settings_of(served).model_copy(update={"collections": {}})
        keys = write_keys(folder / "keys.toml")
        app = create_app(
            own, serving=ServingSettings(keys=keys, requests_per_minute=0, max_body_bytes=20_000, query_log=True)
        )
        with listening(app) as address:
            yield schemathesis.openapi.from_url(f"{address}/openapi.json")


OPERATIONS = (
    ("POST", "/api/rag/retrieve"),
    ("POST", "/api/rag/answer"),
    ("POST", "/api/rag/feedback"),
    ("GET", "/api/document"),
    ("GET", "/api/about"),
    ("GET", "/api/releases"),
    ("POST", "/api/releases/rollback"),
    ("POST", "/api/documents/reindex-all"),
    ("GET", "/api/documents/reindex/{run}"),
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/metrics"),
)


def test_nothing_is_left_out(api_schema: schemathesis.BaseSchema) -> None:
    found = {(o.ok().method.upper(), o.ok().path) for o in api_schema.get_all_operations()}
    assert found == set(OPERATIONS)


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [(*operation, GenerationMode.POSITIVE) for operation in OPERATIONS]
    # There is no wrong way to ask for what takes nothing.
    + [(*operation, GenerationMode.NEGATIVE) for operation in OPERATIONS if operation[1] not in {"/health", "/ready"}],
)
def test_no_request_breaks_it(
    api_schema: schemathesis.BaseSchema, method: str, path: str, mode: GenerationMode
) -> None:
    operation = api_schema[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    def fuzz(case: schemathesis.Case) -> None:
        case.call_and_validate(headers=bearer("all"), checks=CHECKS)

    fuzz()
