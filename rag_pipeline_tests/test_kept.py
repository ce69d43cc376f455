import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.checks import CheckResult
from rag_pipeline.kept import KEPT_FROM, kept_check, recall, remember

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Check:
    """Passes or fails as told, and counts how often it is made."""

    def __init__(self, *, passed: bool = True) -> None:
        self.passed = passed
        self.made = 0

    def __call__(self) -> CheckResult:
        self.made += 1
        return CheckResult(self.passed, f"made {self.made} times", {"made": self.made, "share": 0.1})


@given(binding=st.dictionaries(st.text(), JSON, max_size=3), value=JSON)
def test_a_value_comes_back_exactly_for_its_binding_alone(
    binding: dict[str, object], value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "value.kept"
    remember(file, binding, value)
    found = recall(file, binding)
    assert found is not None
    assert found.value == value
    assert recall(file, {**binding, "more": 1}) is None


def test_nothing_is_known_at_first(tmp_path: Path) -> None:
    assert recall(tmp_path / "none.kept", {}) is None


def test_what_is_remembered_replaces_what_was(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "a.kept"
    remember(file, {"n": 1}, "one")
    remember(file, {"n": 2}, "two")
    assert recall(file, {"n": 1}) is None
    assert [path.name for path in file.parent.iterdir()] == ["a.kept"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"binding": {}, "at": "x"}', b"\xff\xfe"])
def test_a_damaged_file_is_nothing(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "a.kept").write_bytes(damage)
    assert recall(tmp_path / "a.kept", {}) is None


def test_a_changed_value_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.kept"
    remember(file, {"n": 1}, 17)
    stored = json.loads(file.read_text())
    file.write_text(json.dumps({**stored, "value": 18}))
    assert recall(file, {"n": 1}) is None
    file.write_text(json.dumps({**stored, "at": "2000-01-01T00:00:00Z"}))
    assert recall(file, {"n": 1}) is None


def test_a_passed_check_is_kept_and_says_so(tmp_path: Path) -> None:
    file, check = tmp_path / "a.kept", Check()
    first = kept_check(file, {"n": 1}, check)
    second = kept_check(file, {"n": 1}, check)
    assert (first.message, second.message, check.made) == ("made 1 times", "made 1 times", 1)
    assert KEPT_FROM not in first.numbers
    known = recall(file, {"n": 1})
    assert known is not None
    assert dict(second.numbers) == {"made": 1, "share": 0.1, KEPT_FROM: known.at}
    assert kept_check(file, {"n": 2}, check).message == "made 2 times"


def test_a_failed_check_is_made_again(tmp_path: Path) -> None:
    check = Check(passed=False)
    for made in (1, 2):
        assert not kept_check(tmp_path / "a.kept", {}, check).passed
        assert check.made == made
    check.passed = True
    assert kept_check(tmp_path / "a.kept", {}, check).passed
