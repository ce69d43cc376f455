"""Whatever is asked, the report holds no text and no name that the principal may not see."""

import json
from dataclasses import asdict

import pytest

from rag_pipeline.evaluation.debug.passage import Expected
from rag_pipeline.evaluation.debug.report import examine
from rag_pipeline.evaluation.debug.values import Asked
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.schema import Principal
from rag_pipeline_tests.served import CONTEXTS, STRATEGIES, Served
from rag_pipeline_tests.stages import document, pumps

SECRET = "zanzibar"
QUESTION = "who moves the oil pump"
EXPECTED = (Expected("pump.md"), Expected("hidden/0.md"), Expected("hidden/0.md", "no such part"), Expected("hiden"))


@pytest.mark.parametrize("context", [None, *CONTEXTS])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strangers_learn_nothing(served: Served, strategy: str, context: str | None) -> None:
    secret = [
        document(f"hidden/{n}.md", f"the {SECRET} moves the oil pump {n}", title=SECRET, access=("group:g",))
        for n in range(3)
    ]
    served.publish([*pumps(), *secret])
    opened = open_current(served.paths)

    def told(principal: Principal | None) -> str:
        asked = Asked(QUESTION, strategy, context, principal=principal)
        report = json.dumps(asdict(examine(opened, asked, models=served.home.models, expected=EXPECTED)))
        return report.replace(json.dumps(SECRET), "")

    assert "hidden/1.md" in told(Principal("ada", ("g",)))
    for reader in (None, Principal("bob"), Principal("g"), Principal("bob", ("h",))):
        report = told(reader)
        assert SECRET not in report
        assert "hidden/1" not in report and "hidden/2" not in report
