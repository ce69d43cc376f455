import pytest

from rag_pipeline_tests.chunking.support import assert_sound, chunk, document, paths

PYTHON = '''"""Module."""
import os

# About the pump.
@cached
class Pump:
    """Doc of the pump."""

    size = 1

    # Starts it.
    def start(self):
        return "é"

    async def stop(self):
        return 2


def main():
    """Entry."""
    return Pump()
'''


def test_a_class_that_fits_stays_whole() -> None:
    source = document(PYTHON, format="python", title="pump.py")
    made = chunk(source)
    assert paths(made) == [("pump.py",), ("pump.py", "Pump"), ("pump.py", "main")]
    pump = made.sections[1]
    assert source.text[pump.start : pump.end].startswith("# About the pump.\n@cached\nclass Pump:")
    assert source.text[pump.start : pump.end].endswith("return 2")
    assert {s.kind for s in made.sections} == {"code"}
    assert_sound(source, made, limit=256)


def test_a_class_that_does_not_fit_is_split_by_method() -> None:
    source = document(PYTHON, format="python", title="pump.py")
    made = chunk(source, section_tokens=30, child_tokens=30)
    assert ("pump.py", "Pump", "start") in paths(made)
    assert ("pump.py", "Pump", "stop") in paths(made)
    start = next(s for s in made.sections if s.headers[-1][1] == "start")
    assert source.text[start.start : start.end].startswith("    # Starts it.\n    def start(self):")
    assert_sound(source, made, limit=256)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "sql",
            "-- Orders.\nCREATE TABLE shop.orders (id INT);\n\nCREATE OR REPLACE VIEW v AS SELECT 1;\n\nSELECT 2;\n",
            [("f", "CREATE TABLE shop.orders"), ("f", "CREATE VIEW v"), ("f",)],
        ),
        (
            "javascript",
            "import a from 'b';\n/** doc */\nexport function f() { return 1 }\nconst g = () => 2;\nconst x = 1;\n",
            [("f",), ("f", "f"), ("f", "g"), ("f",)],
        ),
        (
            "typescript",
            "interface I { a: string }\nexport abstract class A { m(): void {} }\ntype T = I;\n",
            [("f", "I"), ("f", "A"), ("f", "T")],
        ),
        ("tsx", "export function C() { return <a/> }\n", [("f", "C")]),
        ("bash", "#!/bin/sh\n\n# Greets.\nhello() {\n  echo hi\n}\nhello\n", [("f",), ("f", "hello"), ("f",)]),
        (
            "yaml",
            "# top\nname: x\nsteps:\n  - a: 1\n---\nother: {b: 2}\n",
            [("f", "name"), ("f", "steps"), ("f", "other")],
        ),
    ],
)
def test_definitions_of_every_language(language: str, text: str, expected: list[tuple[str, ...]]) -> None:
    source = document(text, format=language, title="f")
    made = chunk(source)
    assert paths(made) == expected
    assert_sound(source, made, limit=256)


def test_offsets_count_code_points_not_bytes() -> None:
    source = document("x = '日本語🎉'\n\n\ndef f():\n    return '日'\n", format="python", title="f")
    made = chunk(source)
    assert [source.text[s.start : s.end] for s in made.sections] == ["x = '日本語🎉'", "def f():\n    return '日'"]


def test_code_that_does_not_parse_is_kept() -> None:
    source = document("def broken(:\n  ???\n%%% words that stay\n", format="python")
    assert_sound(source, chunk(source), limit=256)
