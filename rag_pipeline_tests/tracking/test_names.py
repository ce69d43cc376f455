import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.tracking.names import LONGEST, Metrics, metric_name


def test_a_plain_name_stays():
    assert metric_name("tag", "other-language", "recall_at_5") == "tag.other-language.recall_at_5"
    assert metric_name("tag", "日本語", "n") == "tag.日本語.n"


def test_tags_that_differ_by_a_forbidden_sign_keep_their_own_metrics():
    names = {metric_name("tag", tag, "n") for tag in ("a@b", "a_b", "a:b", "a/b", "a b", "a" * 400, "a" * 401)}
    assert len(names) == 7


@given(st.text(max_size=400))
def test_any_tag_gives_a_name_that_mlflow_takes(tag):
    name = metric_name("tag", tag, "recall_at_5")
    assert re.fullmatch(r"[/\w.\- :]+", name) and len(name) <= LONGEST
    assert posixpath.normpath(name) == name and not name.startswith("/")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None])
def test_what_is_no_finite_number_is_counted_and_not_logged(value):
    metrics = Metrics()
    metrics.add(0.5, "ndcg_at_10")
    metrics.add(value, "recall_at_5")
    assert metrics.values == {"ndcg_at_10": 0.5, "metrics_missing": 1.0}
    assert metrics.missing == ["recall_at_5"]
