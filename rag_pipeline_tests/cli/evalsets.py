"""What the tests of the commands about eval sets share: a served collection, and the command line with an input."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.schema import Document
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document

SECRET = "The budget of the board is nine million and nobody else may know it."
CARE = "The pump is oiled every thirty days by the night shift. "


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str


Run = Callable[..., Said]


def pages() -> list[Document]:
    return [
        document(
            "pump.md", CARE + "It runs at noon, and again at midnight when the tariff is low. " * 4, "Wear gloves."
        ),
        document(
            "valve.md", "A valve closes when the pressure falls below two bar. " + "It has a spring of steel. " * 8
        ),
        document(
            "secret.md", SECRET + " It was decided in spring by all of them together. " * 4, access=("group:board",)
        ),
    ]


def runner(served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*arguments: object, typed: str = "") -> Said:
        stdin: Any = io.TextIOWrapper(io.BytesIO(typed.encode()))
        monkeypatch.setattr("sys.stdin", stdin)
        with pytest.raises(SystemExit) as ended:
            main(["evalset", *(str(a) for a in arguments), "-c", "test", "--home", str(served.home.root)])
        captured = capsys.readouterr()
        return Said(int(str(ended.value.code)), captured.out, captured.err)

    return command
