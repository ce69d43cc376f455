from collections.abc import Iterable
from dataclasses import dataclass, field

from rag_pipeline.evaluation.from_log import RecordedQuestion, recorded_questions
from rag_pipeline.querylog.asker import asker_of
from rag_pipeline.querylog.read import LogRows
from rag_pipeline.querylog.records import LoggedFeedback, LoggedQuery, LoggedResult, Rating
from rag_pipeline.schema import Principal

KEY = b"k" * 32
RUTH = Principal("ruth", ("finance",))
BOB = Principal("bob")
OPEN = "# Open\n\nThe answer is here.\n\nAnother part."
SECRET = "# Secret\n\nNine million."


@dataclass
class Texts:
    """Two releases; `secret.md` is for ruth alone."""

    release_id: str = "now"
    texts: dict[str, dict[str, str]] = field(
        default_factory=lambda: {
            "then": {"open.md": "Intro.\n\n" + OPEN, "gone.md": "x", "secret.md": SECRET},
            "now": {"open.md": OPEN, "secret.md": SECRET},
        }
    )
    asked_for: list[tuple[str, str]] = field(default_factory=list)

    def text(self, release_id: str, doc_id: str) -> str | None:
        self.asked_for.append((release_id, doc_id))
        return self.texts.get(release_id, {}).get(doc_id)

    def readable(self, doc_id: str, principal: Principal | None) -> bool:
        return doc_id == "open.md" or (doc_id == "secret.md" and principal == RUTH)


class Log:
    def __init__(self) -> None:
        self.queries: list[LoggedQuery] = []
        self.feedback: dict[str, tuple[LoggedFeedback, ...]] = {}

    def ask(
        self,
        text: str,
        *places: tuple[str, int, int],
        who: Principal | None = None,
        said: Iterable[tuple[Rating, int | None]] = (),
        release: str = "now",
        filters: dict[str, object] | None = None,
    ) -> None:
        number = f"id{len(self.queries)}"
        results = tuple(LoggedResult(n, d, f"{d}#{s}", s, e, 1.0) for n, (d, s, e) in enumerate(places, start=1))
        self.queries.append(
            LoggedQuery(
                number,
                f"t{len(self.queries)}",
                asker_of(who, KEY),
                text,
                "c",
                release,
                "hybrid",
                None,
                filters or {},
                results,
            )
        )
        self.feedback[number] = tuple(LoggedFeedback(number, "t", rating, rank) for rating, rank in said)

    def questions(self, **options) -> tuple[RecordedQuestion, ...]:
        self.stored = options.pop("stored", Texts())
        rows = LogRows(tuple(self.queries), self.feedback, 0)
        return recorded_questions(rows, stored=self.stored, asker_of=lambda who: asker_of(who, KEY), **options)


ANSWER, OTHER = ("open.md", 8, 27), ("open.md", 29, 42)
USEFUL_FIRST: tuple[tuple[Rating, int | None], ...] = (("useful", 1),)


def test_the_same_question_is_one_and_counted() -> None:
    log = Log()
    for text in ("What is it?", "what  is it", "what is it", "WHAT IS IT"):
        log.ask(text, ANSWER)
    log.ask("What is it?", ANSWER, filters={"category": "x"})
    log.ask("Something else")
    first, *others = log.questions()
    assert (first.query.text, first.asked, first.first, first.last) == ("What is it?", 4, "t0", "t3")
    assert first.query.tags == ("from_log",) and first.query.principal is None and first.labels == ()
    assert {(q.query.text, q.asked) for q in others} == {("What is it?", 1), ("Something else", 1)}
    assert [q.query.filters for q in others if q.query.text == "What is it?"] == [{"category": "x"}]
    assert len({q.query.id for q in (first, *others)}) == 3


def test_what_was_called_useful_becomes_a_quote() -> None:
    log = Log()
    log.ask("a", ANSWER, OTHER, said=USEFUL_FIRST)
    (found,) = log.questions()
    (label,) = found.labels
    assert (label.document, label.quote, label.start, label.grade) == ("open.md", "The answer is here.", None, 3)
    assert (found.useful, found.not_useful, found.restricted) == (1, 0, False)


def test_most_votes_decide_and_a_rating_of_all_names_no_passage() -> None:
    log = Log()
    log.ask("a", ANSWER, OTHER, said=[("useful", 1)])
    log.ask("A", ANSWER, OTHER, said=[("not_useful", 1), ("useful", 2), ("useful", 2)])
    log.ask("a", OTHER, said=[("not_useful", 1), ("useful", None), ("not_useful", None)])
    (found,) = log.questions()
    assert [label.quote for label in found.labels] == ["Another part."]
    assert (found.useful, found.not_useful) == (4, 3)


def test_a_passage_of_an_earlier_release_is_looked_for_in_the_one_in_service() -> None:
    log = Log()
    log.ask("moved", ("open.md", 16, 35), said=USEFUL_FIRST, release="then")
    log.ask("edited", ("open.md", 0, 6), said=USEFUL_FIRST, release="then")
    log.ask("collected", ANSWER, said=USEFUL_FIRST, release="long ago")
    log.ask("deleted", ("gone.md", 0, 1), said=USEFUL_FIRST, release="then")
    found = {q.query.text: q for q in log.questions()}
    assert [label.quote for label in found["moved"].labels] == ["The answer is here."]
    assert found["edited"].unlabelled == {"the passage has changed since": 1}
    assert found["collected"].unlabelled == {"the release that answered is no longer stored": 1}
    assert found["deleted"].unlabelled == {"not readable by the one who is named, or gone": 1}
    assert all(not found[name].labels for name in ("edited", "collected", "deleted"))


def test_a_document_with_an_access_list_is_quoted_for_its_reader_alone() -> None:
    secret = ("secret.md", 10, 23)
    log = Log()
    log.ask("budget", secret, who=RUTH, said=USEFUL_FIRST)
    (found,) = log.questions()
    assert found.labels == () and found.query.principal is None and found.asker == "other"
    assert log.stored.asked_for == []  # not even read
    (found,) = log.questions(principal=BOB)
    assert found.labels == () and found.asker == "other"
    (found,) = log.questions(principal=RUTH)
    assert [label.quote for label in found.labels] == ["Nine million."]
    assert found.restricted and found.query.principal == RUTH and found.asker == "named"


def test_naming_a_reader_gives_nobody_elses_question_to_it() -> None:
    """Someone saw the document before it had its list: naming ruth must not quote it for that question."""
    log = Log()
    log.ask("budget", ("secret.md", 10, 23), who=None, said=USEFUL_FIRST)
    log.ask("budget", ("secret.md", 10, 23), who=BOB, said=USEFUL_FIRST)
    found = log.questions(principal=RUTH)
    assert {q.asker for q in found} == {"public", "other"} and all(not q.labels for q in found)
    assert len({q.query.id for q in found}) == 2


def test_rated_ones_alone() -> None:
    log = Log()
    log.ask("rated", ANSWER, said=[("not_useful", None)])
    log.ask("not rated", ANSWER)
    assert [q.query.text for q in log.questions(rated_only=True)] == ["rated"]
    assert len(log.questions()) == 2


def test_a_passage_twice_in_a_document_has_offsets() -> None:
    stored = Texts(texts={"now": {"open.md": "same\n\nsame"}})
    log = Log()
    log.ask("a", ("open.md", 6, 10), said=USEFUL_FIRST)
    log.ask("b", ("open.md", 4, 6), said=USEFUL_FIRST)
    found = {q.query.text: q for q in log.questions(stored=stored)}
    (label,) = found["a"].labels
    assert (label.quote, label.start, label.end) == ("same", 6, 10)
    assert found["b"].unlabelled == {"the passage is blank": 1}
