import pytest

from rag_pipeline import errors
from rag_pipeline.paths import Home
from rag_pipeline.release.stored import release_ids

pytestmark = pytest.mark.model


def test_one_is_made_and_can_be_compared(run, published):
    home = ("-c", "site", "--home", str(published))
    served = run("release", "show", "--json", *home).json["release_id"]
    asked = ("variant", "--set", "chunking.child_tokens=24", "--set", "strategies.deep.candidates=99", *home)
    made = run(*asked, "--json").json
    assert made["of"] == served != made["release"]
    assert made["differs"] == {"chunking.child_tokens": 24, "strategies.deep.candidates": 99}
    told = run(*asked)
    assert told.out.splitlines()[0] == made["release"]
    assert "0 embedded anew" in told.out
    assert run("release", "show", "--json", *home).json["release_id"] == served
    assert "good, variant" in run("release", "list", *home).out
    assert run("compare", "--release", made["release"], "--strategies", "hybrid,deep", *home).code == 0


def test_a_preset(run, published):
    home = ("-c", "site", "--home", str(published))
    made = run("variant", "--preset", "30/100 words", "--set", "chunking.min_chars=20", *home, "--json").json
    assert made["differs"]["chunking.unit"] == "words" and made["differs"]["chunking.min_chars"] == 20


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["--set", "chunk.child_tokens=24"], errors.UnknownName),
        (["--set", "chunking.child_token=24"], errors.InvalidSettings),
        (["--set", "chunking.child_tokens=many"], errors.InvalidSettings),
        (["--set", "strategies.hybrid.fusion=sum"], errors.InvalidSettings),
        (["--set", "child_tokens"], errors.InvalidSettings),
        (["--preset", "huge"], errors.UnknownName),
        (["--preset", "default", "--of", "0" * 20], errors.UnknownName),
    ],
)
def test_what_cannot_be_made(run, published, arguments, kind):
    before = release_ids(Home(published).collection("site"))
    answer = run("variant", *arguments, "-c", "site", "--home", str(published))
    assert answer.code == kind.exit_code, answer.err
    assert release_ids(Home(published).collection("site")) == before


def test_nothing_that_differs_is_wrong_usage(run, published):
    assert run("variant", "-c", "site", "--home", str(published)).code == 2
