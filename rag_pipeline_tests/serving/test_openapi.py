import json

from starlette.testclient import TestClient

from rag_pipeline.serving.answer_models import AnswerRequest
from rag_pipeline.serving.models import FeedbackRequest, ReindexRequest, RetrieveRequest, RollbackRequest


def test_it_needs_no_key_and_has_examples(keyed: TestClient) -> None:
    described = keyed.get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    for model in (RetrieveRequest, AnswerRequest, FeedbackRequest, RollbackRequest, ReindexRequest):
        examples = schemas[model.__name__]["examples"]
        assert examples
        for example in examples:
            model.model_validate(example)
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"


def test_every_guarded_route_asks_for_the_key_and_lists_its_errors(keyed: TestClient) -> None:
    for path, operations in keyed.get("/openapi.json").json()["paths"].items():
        for operation in operations.values():
            guarded = path.startswith(("/api/", "/metrics"))
            assert bool(operation.get("security")) is guarded, path
            if guarded:
                assert {"401", "403", "429", "500", "503", "504"} <= operation["responses"].keys()
                assert "ErrorReply" in json.dumps(operation["responses"]["401"])


def test_pages_that_load_code_from_elsewhere_are_off(keyed: TestClient) -> None:
    assert keyed.get("/docs").status_code == keyed.get("/redoc").status_code == 404
