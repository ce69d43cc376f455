"""What is worth a look in a trace whatever was expected."""

from collections.abc import Iterator

from rag_pipeline.evaluation.debug.trace import Trace
from rag_pipeline.evaluation.debug.values import Alarm
from rag_pipeline.evaluation.debug.words import terms_of, unknown_identifiers
from rag_pipeline.retrieval.relevance import UNCALIBRATED
from rag_pipeline.retrieval.scope import scope

UNLIKELY = 0.5
"""Best calibrated probability below which the collection probably has no answer."""
FAR = 10
"""Depth to which the legs may disagree about the first result."""


def alarms_of(trace: Trace) -> tuple[Alarm, ...]:
    return tuple(_alarms(trace))


def _alarms(trace: Trace) -> Iterator[Alarm]:
    index = trace.opened.index
    if not index.chunks:
        yield Alarm("empty_index", "the build has no chunk at all")
        return
    if trace.found is None:
        yield from _empty_scope(trace)
        return
    if trace.read:
        yield Alarm("read_filters", f"the question was read as a filter: {dict(trace.read)}")
    terms = terms_of(trace, trace.query)
    unknown = [t.token for t in terms if not t.chunks]
    if terms and len(unknown) == len(terms):
        yield Alarm(
            "no_lexical_match",
            "no word of the question stands in a chunk that may be searched; only meaning can find one",
        )
    elif unknown:
        yield Alarm("unknown_words", f"in no chunk that may be searched: {', '.join(unknown)}")
    for word in unknown_identifiers(trace):
        yield Alarm("unknown_identifier", f"{word!r} stands in no chunk that may be searched; check its spelling")
    if dropped := trace.found.counts.get("below_min_relevance"):
        floor = trace.strategy.min_relevance
        yield Alarm("below_min_relevance", f"{dropped} sections are below min_relevance {floor:g} and were dropped")
    yield from _doubtful(trace)
    yield from _disagreement(trace)
    for marker in trace.markers:
        if marker != UNCALIBRATED:
            what = "a stage could not run" if "=skipped" in marker else "a stage worked on less than all of it"
            yield Alarm("marker", f"{marker}: {what}")


def _empty_scope(trace: Trace) -> Iterator[Alarm]:
    asked = trace.asked
    index = trace.opened.index
    mask = scope(index, filters=None, principal=asked.principal)
    if mask is not None and not mask.any():
        yield Alarm("nothing_readable", "this principal may read no chunk of the collection")
        return
    alone = [key for key, value in trace.filters.items() if _is_empty(trace, {key: value})]
    told = f"no chunk has {' or '.join(alone)} as given" if alone else "no chunk passes all of them together"
    yield Alarm("filter_empty", f"the filters leave nothing to search: {told}")


def _is_empty(trace: Trace, filters: dict[str, object]) -> bool:
    mask = scope(trace.opened.index, filters=filters, principal=trace.asked.principal)
    return mask is not None and not mask.any()


def _doubtful(trace: Trace) -> Iterator[Alarm]:
    assert trace.found is not None
    judged = trace.found.handed_on["relevance"].relevance
    if judged and (best := max(judged.values())) < UNLIKELY:
        message = f"the best relevance is {best:.2f}: perhaps the collection does not answer this"
        yield Alarm("low_relevance", message)


def _disagreement(trace: Trace) -> Iterator[Alarm]:
    assert trace.found is not None
    if not {"vector", "bm25"} <= trace.found.candidates.scores.keys() or not trace.found.counts.get("bm25"):
        return
    by_vector, by_bm25 = trace.sections_by("vector"), trace.sections_by("bm25")
    sections = trace.opened.index.layout.section
    first = {int(sections[row]) for row in by_vector[:FAR]}, {int(sections[row]) for row in by_bm25[:FAR]}
    if not first[0] & first[1]:
        yield Alarm("legs_disagree", f"the legs have no section in common among their first {FAR}")
