import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.evaluation.judges.terms import terms, without_marks

NUMBERS = {
    "1,000 rows": "1000",
    "1_000 rows": "1000",
    "1.000 Zeilen": "1000",
    "17,4 Millionen": "17.4",
    "0.50 USD": "0.5",
    "USD 3": "3",
    "52.4 %": "52.4",
    "14:21 UTC": "14:21",
    "release 3.4.1": "3.4.1",
    "due 2026-03-01": "2026",
    "two approvals": "2",
    "zwölf Tage": "12",
}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_known_by_its_value(text):
    assert any(NUMBERS[text] in readings for readings in terms(text).numbers)


def test_a_number_with_two_readings_is_supported_by_either():
    (number,) = terms("1.000 rows").numbers
    assert number == {"1", "1000"}
    assert number & terms("1000 rows").supporting
    assert not number & terms("10 rows").supporting


def test_a_date_in_words_is_supported_by_the_same_date_in_digits_and_the_other_way():
    iso, words = terms("since 2026-03-01"), terms("since 1 March 2026")
    assert all(n & words.supporting for n in iso.numbers)
    assert all(n & iso.supporting for n in words.numbers)


def test_words_that_may_mean_another_thing_support_a_number_and_claim_none():
    assert terms("both of them").numbers == frozenset()
    assert "2" in terms("both of them").supporting


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The key E-4021 names create_agent and AgentFactory.", {"e-4021", "create_agent", "agentfactory"}),
        ("Only Ines Halvorsen may do it.", {"ines", "halvorsen"}),
        ("Ines Halvorsen may do it.", {"ines", "halvorsen"}),
        ("Nobody may do it.", set()),
        ("Das Pseudonym der Person wechselt mit der Zuordnung der Kennung im Betrieb.", set()),
        ("See docs/errors.md at host.example.org for TLS.", {"docs/errors.md", "host.example.org", "tls"}),
    ],
)
def test_names_are_identifiers_and_capitals_inside_a_sentence(text, names):
    assert terms(text).names == names


def test_content_words_are_stems_without_function_words_numbers_and_negations():
    assert terms("The 3 pumps are not running.").content == ("pump", "run")
    assert terms("The 3 pumps are not running.").negations == 1
    assert terms("It can't run").negations == 1


def test_marks_go_and_what_a_document_wrote_stays():
    assert without_marks(r"It holds [1], see \[3] and [2, 4].") == r"It holds, see \[3] and."


@given(st.text(max_size=200))
def test_any_text_has_terms_and_supports_its_own_numbers_and_names(text):
    found = terms(text)
    assert all(n & found.supporting for n in found.numbers)
    assert found.names <= found.words
