"""How often the gate refuses, by simulation: prints two Markdown tables.

    python benchmarks/gate_operating_curves.py [--trials 2000] [--walks 100]

The model is described in rag_pipeline/evaluation/simulate.py. Needs no data and no model; ten minutes.
"""

import argparse

from rag_pipeline.evaluation.simulate import drift, operating_point
from rag_pipeline.settings.gate import GateSettings

RESAMPLES = 999
"""Instead of 9,999: a test with fewer resamples is as honest, only coarser."""


def curves(trials: int) -> None:
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
    options = parser.parse_args()
    curves(options.trials)
    drifts(options.walks)
