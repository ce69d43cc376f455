"""How often the gate refuses, by simulation: prints three Markdown tables and draws the second one.

    python -m benchmarks.gate_operating_curves [--trials 2000] [--walks 100] [--svg docs/gate_operating_curves.svg]

The model is described in rag_pipeline/evaluation/simulate.py. Needs no data and no model; half an hour on one core.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.evaluation.simulate import drift, operating_point
from rag_pipeline.settings.gate import GateSettings

RESAMPLES = 999
"""Instead of 9,999: a test with fewer resamples is as honest, only coarser."""
LOSS = 0.05
"""The true loss of nDCG@10 that a miss would let through."""
SIZES = (30, 50, 100, 200, 300, 500, 1000)
SHARES = (0.1, 0.2, 0.3, 0.5)
"""Of the rankings, changed."""
MARGINS = (0.01, 0.02, 0.05)
USUAL_SHARE, USUAL_MARGIN = 0.1, 0.02


@dataclass(frozen=True, slots=True)
class Point:
    questions: int
    changed: float
    margin: float
    false_refusals: float
    """Share of equal releases that are refused."""
    misses: float
    """Share of releases with the true loss that are published."""


def verdicts(trials: int) -> None:
    settings = GateSettings(resamples=RESAMPLES)
    print(f"One verdict, margin {settings.margin:g}, one-sided {settings.alpha:.0%}, {trials} trials a row\n")
    print("| questions | rankings changed | strategies | true loss | refused | insufficient evidence | not worse |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    rows = [(n, changed, 1) for n in (50, 100, 300, 1000) for changed in (0.1, 0.3)]
    for questions, changed, strategies in [*rows, (300, 0.1, 2), (300, 0.1, 4)]:
        for loss in (0.0, 0.02, 0.05):
            point = operating_point(
                questions=questions,
                changed=changed,
                loss=loss,
                trials=trials,
                seed=2,
                settings=settings,
                comparisons=strategies,
            )
            print(
                f"| {questions} | {changed:.0%} | {strategies} | {loss:g} | {point.refused:.1%} "
                f"| {point.insufficient:.1%} | {point.not_worse:.1%} |",
                flush=True,
            )


def curves(trials: int) -> list[Point]:
    """Against the number of questions: by share of changed rankings at the usual margin, and the other way round."""
    print(f"\nFalse refusals (no loss) and misses (a true loss of {LOSS:g}), {trials} trials a row\n")
    print("| margin | rankings changed | questions | false refusals | misses |")
    print("|---:|---:|---:|---:|---:|")
    pairs = dict.fromkeys([(s, USUAL_MARGIN) for s in SHARES] + [(USUAL_SHARE, m) for m in MARGINS])
    points = []
    for changed, margin in pairs:
        settings = GateSettings(resamples=RESAMPLES, margin=margin)
        for questions in SIZES:
            refused = [
                operating_point(
                    questions=questions, changed=changed, loss=loss, trials=trials, seed=2, settings=settings
                ).refused
                for loss in (0.0, LOSS)
            ]
            point = Point(questions, changed, margin, refused[0], 1 - refused[1])
            points.append(point)
            print(
                f"| {margin:g} | {changed:.0%} | {questions} | {point.false_refusals:.1%} | {point.misses:.1%} |",
                flush=True,
            )
    return points


def draw(points: Sequence[Point], file: Path) -> None:
    """Two rows (what is varied) by two columns (what goes wrong), as a small SVG with its text as text."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator, PercentFormatter

    colours = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
    markers = "osD^"
    rows = (
        (f"margin {USUAL_MARGIN:g}", [(f"{s:.0%} of rankings changed", s, USUAL_MARGIN) for s in SHARES]),
        (f"{USUAL_SHARE:.0%} of rankings changed", [(f"margin {m:g}", USUAL_SHARE, m) for m in MARGINS]),
    )
    columns = (("an equal release is refused", "false_refusals"), (f"a loss of {LOSS:g} is missed", "misses"))
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gate", "font.size": 9}):
        figure = Figure(figsize=(8.4, 6.2), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True)
        for y, (fixed, lines) in enumerate(rows):
            for x, (title, field) in enumerate(columns):
                axis = axes[y][x]
                for i, (label, changed, margin) in enumerate(lines):
                    shown = [p for p in points if (p.changed, p.margin) == (changed, margin)]
                    axis.plot(
                        [p.questions for p in shown],
                        [getattr(p, field) for p in shown],
                        color=colours[i],
                        marker=markers[i],
                        markersize=4,
                        label=label,
                    )
                if field == "false_refusals":
                    axis.axhline(0.05, color="#777777", linewidth=0.8, linestyle=":")
                axis.set(title=f"{title} ({fixed})", xscale="log", ylim=(0, None))
                axis.set_xticks(SIZES, [str(n) for n in SIZES])
                axis.xaxis.set_minor_locator(NullLocator())
                axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
                axis.grid(visible=True, color="#dddddd", linewidth=0.6)
                if x:
                    axis.legend(frameon=False, fontsize=8)
        for axis in axes[1]:
            axis.set_xlabel("questions")
        file.parent.mkdir(parents=True, exist_ok=True)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing, facecolor="white")
    print(f"\nThe curves are drawn in {file}", flush=True)


def drifts(walks: int) -> None:
    print(f"\nTwenty candidates in a row, 300 questions, 10 % of rankings changed each time, {walks} walks a row\n")
    print("| policy | champion | loss of each | published | loss on the set: mean, worst | true loss: mean, worst |")
    print("|---|---|---:|---:|---:|---:|")
    for policy in ("lenient", "strict"):
        settings = GateSettings(resamples=RESAMPLES, policy=policy)
        for champion in (True, False):
            for loss in (0.0, 0.005, 0.01):
                end = drift(
                    questions=300,
                    changed=0.1,
                    loss=loss,
                    steps=20,
                    trials=walks,
                    seed=2,
                    settings=settings,
                    champion=champion,
                )
                print(
                    f"| {policy} | {'pinned' if champion else 'none'} | {loss:g} | {end.published:.1f} "
                    f"| {end.measured_loss:.3f}, {end.worst_measured_loss:.3f} "
                    f"| {end.true_loss:.3f}, {end.worst_true_loss:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--walks", type=int, default=100)
    parser.add_argument("--svg", type=Path, default=Path("docs/gate_operating_curves.svg"))
    parser.add_argument("--only", choices=("verdicts", "curves", "drifts"))
    options = parser.parse_args()
    if options.only in (None, "verdicts"):
        verdicts(options.trials)
    if options.only in (None, "curves"):
        draw(curves(options.trials), options.svg)
    if options.only in (None, "drifts"):
        drifts(options.walks)
