"""One self-contained page from measured experiments: what was compared, what was found, and on what it stands.

Lives here: which tables and plots the page has and in which order. Values become tables in `tables`, tests in
`against`, plots in `plots`; how it looks is in the two files of package data. Everything is escaped by the template.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from rag_pipeline.errors import MissingExtra
from rag_pipeline.evaluation.arms import Arm, arms_of, reference_of
from rag_pipeline.evaluation.experiment import Experiment
from rag_pipeline.evaluation.leaderboard import COULD_NOT_RUN, SHOWN, Row, board
from rag_pipeline.evaluation.report import plots
from rag_pipeline.evaluation.report.against import Against, all_against
from rag_pipeline.evaluation.report.tables import Table, heat_map, rows_table, significance
from rag_pipeline.evaluation.side_by_side import WorseQuestion
from rag_pipeline.settings.gate import GateSettings

MOVED = 10
"""Questions of each kind that are shown for each arm."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """One arm against its reference, ready for the template."""

    label: str
    reference: str
    finding: str
    compared: int
    left_out: int
    tests: Table
    lost: tuple[WorseQuestion, ...]
    won: tuple[WorseQuestion, ...]
    more_lost: int
    more_won: int


def html_report(
    experiments: Sequence[Experiment],
    *,
    reference: str,
    settings: GateSettings,
    title: str = "Comparison of retrieval strategies",
    notes: Sequence[str] = (),
) -> str:
    """The page as text. Arms are compared with the `reference` strategy of the first release on the same questions.

    Raises MissingExtra without matplotlib and jinja2, UnknownName for a reference that was not measured, InvalidEvalSet
    for experiments of different code.
    """
    arms = arms_of(experiments)
    arms_ran = tuple(arm for arm in arms if arm.could_not_run is None)
    found = all_against(arms, reference=reference, settings=settings)
    rows = board(experiments, reference=reference, settings=settings)
    return _render(
        title=title,
        notes=tuple(notes),
        about=_about(experiments),
        settings=settings,
        reference=sorted({reference_of(a, arms, strategy=reference).label for a in arms}),
        leaderboard=rows_table([_told_below(row) for row in rows], _columns(experiments, settings)),
        refused=[(a.label, a.could_not_run) for a in arms if a.could_not_run is not None],
        detectable=[(f.arm.label, f.comparison.overall) for f in found],
        heat=heat_map(arms_ran, metric=settings.metric) if arms_ran else None,
        figures=_figures(arms_ran, settings) if arms_ran else [],
        pairs=[_pair(f) for f in found],
    )


def _figures(arms: Sequence[Arm], settings: GateSettings) -> list[tuple[str, str, Table]]:
    """(caption, SVG, the same numbers as a table)."""
    curves = rows_table(
        [
            {"": arm.label, **{f"@{k}": value for k, value in enumerate(plots.recall_curve(arm), start=1)}}
            for arm in arms
        ],
        ("", *(f"@{k}" for k in range(1, 11))),
    )
    times = []
    for arm in arms:
        found = sorted(plots.milliseconds(arm))
        at = {p: found[min(len(found) - 1, int(len(found) * p / 100))] for p in (50, 95, 99)} if found else {}
        times.append({"": arm.label, "n": len(found), **{f"p{p} ms": value for p, value in at.items()}})
    latency = rows_table(times, ("", "n", "p50 ms", "p95 ms", "p99 ms"))
    tradeoff = plots.quality_against_latency(
        arms, metric=settings.metric, resamples=settings.resamples, seed=settings.seed
    )
    return [
        ("Recall at k: the share of the labelled sections among the first k", plots.recall_curves(arms), curves),
        (
            "Latency of an answer: quartiles, and whiskers from the 5th to the 95th percentile; "
            "what strategies share is charged to each of them",
            plots.latency_boxes(arms),
            latency,
        ),
        (f"Quality against latency: mean {settings.metric} with its 95 % interval", tradeoff, latency),
    ]


def _pair(found: Against) -> _Pair:
    return _Pair(
        label=found.arm.label,
        reference=found.reference.label,
        finding=found.comparison.overall.finding,
        compared=found.comparison.compared,
        left_out=len(found.comparison.left_out),
        tests=significance(found),
        lost=found.lost[:MOVED],
        won=found.won[:MOVED],
        more_lost=max(0, len(found.lost) - MOVED),
        more_won=max(0, len(found.won) - MOVED),
    )


def _told_below(row: Row) -> Row:
    """Why a strategy could not run has a list of its own on the page."""
    short = str(row["verdict"]).startswith(f"{COULD_NOT_RUN}:")
    return {**row, "verdict": COULD_NOT_RUN} if short else row


def _about(experiments: Sequence[Experiment]) -> Table:
    rows = [
        {
            "release": e.release_id,
            "build key": e.build_key,
            "eval set": e.eval_set + (f" {e.eval_set_version}" if e.eval_set_version else ""),
            "eval set hash": e.eval_set_hash[:20],
            "half": e.half.value.replace("_", " "),
            "questions": len(next(iter(e.runs.values()), ())),
            "code": e.code or "unknown",
        }
        for e in experiments
    ]
    return rows_table(rows, ("release", "build key", "eval set", "eval set hash", "half", "questions", "code"))


def _columns(experiments: Sequence[Experiment], settings: GateSettings) -> tuple[str, ...]:
    shown = [SHOWN.get(settings.metric, settings.metric), *SHOWN.values()]
    means = tuple(dict.fromkeys(shown))
    where = []
    if len({e.release_id for e in experiments}) > 1:
        where.append("release")
    if len({e.eval_set_hash for e in experiments}) > 1:
        where.append("eval set")
    first, *others = means
    return (
        "strategy",
        *where,
        first,
        f"{first} 95 %",
        "change",
        "change interval",
        "verdict",
        *others,
        "p50 ms",
        "p95 ms",
        "n",
        "coverage",
        "failed",
    )


def _render(**values: Any) -> str:
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtra("jinja2", "eval") from error
    folder = resources.files("rag_pipeline.evaluation.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(folder.joinpath("page.html").read_text("utf-8"))
    style = Markup(folder.joinpath("page.css").read_text("utf-8"))
    values["figures"] = [(caption, Markup(svg), table) for caption, svg, table in values["figures"]]
    return template.render(style=style, **values)
