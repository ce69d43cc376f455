from dataclasses import replace

import numpy as np
import pytest

from rag_pipeline.errors import InvalidEvalSet, UnknownName
from rag_pipeline.evaluation.comparison import assess
from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.gate import judge_release
from rag_pipeline.evaluation.ruling import rule
from rag_pipeline.evaluation.split import Half
from rag_pipeline.release.verdict import Verdict, refusal
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import experiment, scored

SETTINGS = GateSettings(resamples=999)
STRICT = GateSettings(resamples=999, policy="strict")
FLAT = [0.5] * 200


def judge(candidate, baseline=None, champion=None, *, settings=SETTINGS):
    """Experiments from the scores of one strategy, called "new", "old" and "best"."""

    def of(name, values):
        return None if values is None else experiment(name, {"hybrid": scored(values)})

    return judge_release(
        of("new", candidate), baseline=of("old", baseline), champion=of("best", champion), settings=settings
    )


def noisy(n, changed, seed=1):
    after = np.full(n, 0.5)
    after[:changed] = np.random.default_rng(seed).choice([0.0, 1.0], changed)
    return list(after)


class TestOutcomes:
    def test_an_equal_release_is_not_worse(self):
        found = judge(FLAT, FLAT)
        assert (found.decision, found.outcome) == ("publish", "not worse")
        assert all(found.checks.values())
        assert (found.release_id, found.baseline, found.champion) == ("new", "old", None)

    def test_a_better_one_is_better(self):
        assert judge([0.5] * 180 + [1.0] * 20, FLAT).outcome == "better"

    def test_a_loss_above_the_margin_is_refused(self):
        found = judge([0.5] * 190 + [0.0] * 9 + [1.0], FLAT)
        assert (found.decision, found.outcome, found.checks["loss"]) == ("refuse", "refused", False)
        assert "hybrid lost 0.020 ndcg_at_10 against the release in service (0.500 -> 0.480 on 200" in found.reason
        assert "Look at the questions that got worse" in found.reason
        assert len(found.comparisons[0].comparison.worse) == 9

    def test_a_small_loss_that_is_no_chance_is_refused(self):
        found = judge([0.5] * 190 + [0.45] * 10, FLAT)
        assert found.decision == "refuse"
        assert "not by chance (p = 0.000977)" in found.reason
        assert "more than the margin" not in found.reason

    @pytest.mark.parametrize(("settings", "decision"), [(SETTINGS, "publish"), (STRICT, "refuse")])
    def test_insufficient_evidence_follows_the_policy_and_states_what_could_be_found(self, settings, decision):
        found = judge([0.5] * 80 + [0.0] * 10 + [1.0] * 10, [0.5] * 100, settings=settings)
        assert (found.decision, found.outcome) == (decision, "insufficient evidence")
        assert found.checks["evidence"] is (decision == "publish")
        assert found.detectable == pytest.approx(0.0635, abs=0.0005)
        assert "the smallest loss that 100 questions can find is 0.063, the margin is 0.02" in found.reason
        assert "bring the eval set to about 1009 questions" in found.reason

    @pytest.mark.parametrize("candidate", [[1.0] * 3, [0.0] * 3, [1.0, 1.0, 0.0]])
    def test_three_questions_are_insufficient_evidence_whatever_they_say(self, candidate):
        found = judge(candidate, [1.0] * 3)
        assert (found.decision, found.outcome) == ("publish", "insufficient evidence")
        assert found.detectable > 0.5
        assert judge(candidate, [1.0] * 3, settings=STRICT).decision == "refuse"

    def test_noise_as_large_as_the_effect_does_not_refuse_the_same_build(self):
        """Two measurements of one build by a noisy judge differ; a gate on any decline would refuse every other run."""
        decisions = [judge(noisy(200, 20, seed), noisy(200, 20, seed + 100)).decision for seed in range(12)]
        assert decisions.count("publish") >= 10

    def test_the_same_index_measured_twice_gives_the_same_verdict(self):
        candidate, baseline = noisy(120, 60), noisy(120, 60, seed=2)
        assert judge(candidate, baseline) == judge(candidate, baseline)


class TestFirstRelease:
    def test_without_floors_it_passes_and_says_so(self):
        found = judge(FLAT)
        assert (found.decision, found.outcome, found.baseline, found.detectable) == (
            "publish",
            "first release",
            None,
            None,
        )
        assert "no floor is set; set `floors` under [collections.<name>.gate]" in found.reason

    @pytest.mark.parametrize(("floor", "decision"), [(0.5, "publish"), (0.51, "refuse")])
    def test_floors_alone_decide(self, floor, decision):
        found = judge([0.5] * 3, settings=GateSettings(floors={"ndcg_at_10": floor}))
        assert found.decision == decision
        assert found.floors == {"hybrid": {"ndcg_at_10": 0.5}}
        assert found.checks["floors"] is (decision == "publish")

    def test_a_floor_on_a_metric_nobody_measured_refuses(self):
        found = judge(FLAT, settings=GateSettings(floors={"recall_at_10": 0.1}))
        assert (found.decision, found.floors) == ("refuse", {"hybrid": {"recall_at_10": None}})
        assert "has no recall_at_10" in found.reason


def test_a_floor_refuses_a_release_that_is_better_than_a_bad_one():
    found = judge([0.2] * 200, [0.1] * 200, settings=GateSettings(floors={"ndcg_at_10": 0.3}, resamples=999))
    assert (found.decision, found.checks["floors"], found.checks["loss"]) == ("refuse", False, True)


class TestChampion:
    champion = [1.0] * 200
    in_service = [1.0] * 197 + [0.0] * 3  # 0.015 below

    def test_small_losses_can_not_add_up(self):
        """Each release loses less than the margin against the one before it; together they lose more."""
        candidate = [1.0] * 195 + [0.0] * 5
        assert judge(candidate, self.in_service).decision == "publish"
        found = judge(candidate, self.in_service, self.champion)
        assert found.decision == "refuse"
        assert "against the champion" in found.reason
        assert found.champion == "best"

    @pytest.mark.parametrize(
        ("before", "settings", "decision"),
        [
            (0, SETTINGS, "publish"),
            (1, SETTINGS, "refuse"),
            (1, GateSettings(resamples=999, unproven=2), "publish"),
            (0, GateSettings(resamples=999, unproven=0), "refuse"),
            (0, STRICT, "refuse"),
        ],
    )
    def test_what_is_not_proven_passes_only_so_many_times_in_a_row(self, before, settings, decision):
        equal = [0.5] * 80 + [0.0] * 10 + [1.0] * 10

        def found(champion):
            of = {name: experiment(name, {"hybrid": scored(v)}) for name, v in (("new", equal), ("old", [0.5] * 100))}
            best = experiment("best", {"hybrid": scored([0.5] * 100)}) if champion == "measured" else None
            count = before if champion else None
            return judge_release(of["new"], baseline=of["old"], champion=best, settings=settings, unproven=count)

        assert found(champion="could not be measured").decision == decision
        verdict = found(champion="measured")
        assert (verdict.decision, verdict.outcome, verdict.unproven) == (decision, "insufficient evidence", before + 1)
        assert verdict.checks["evidence"] is (decision == "publish")
        assert ("rag-pipeline release champion" in verdict.reason) is (decision == "refuse" and settings != STRICT)
        assert found(champion=None).decision == ("publish" if settings.policy == "lenient" else "refuse")

    def test_an_index_in_which_nothing_moved_is_no_step_of_a_drift(self):
        of = {name: experiment(name, {"hybrid": scored([0.5] * 3)}) for name in ("new", "old", "best")}
        found = judge_release(of["new"], baseline=of["old"], champion=of["best"], settings=SETTINGS, unproven=1)
        assert (found.decision, found.outcome, found.unproven) == ("publish", "insufficient evidence", 1)

    def test_proof_starts_the_count_anew(self):
        of = {name: experiment(name, {"hybrid": scored(FLAT)}) for name in ("new", "old", "best")}
        found = judge_release(of["new"], baseline=of["old"], champion=of["best"], settings=SETTINGS, unproven=7)
        assert (found.decision, found.outcome, found.unproven) == ("publish", "not worse", 0)

    def test_a_champion_in_service_is_compared_once(self):
        runs = {"hybrid": scored(self.champion)}
        found = judge_release(
            experiment("new", runs),
            baseline=experiment("old", runs),
            champion=experiment("old", runs),
            settings=SETTINGS,
        )
        assert [c.reference for c in found.comparisons] == ["in service"]

    def test_a_champion_counts_where_nothing_is_in_service(self):
        assert judge([0.0] * 200, None, self.champion).decision == "refuse"


class TestStrategies:
    def test_one_that_loses_is_enough(self):
        old = {"hybrid": scored(FLAT), "bm25": scored(FLAT)}
        new = {"hybrid": scored([0.6] * 200), "bm25": scored([0.4] * 200)}
        found = judge_release(experiment("n", new), baseline=experiment("o", old), champion=None, settings=SETTINGS)
        assert found.decision == "refuse"
        assert "bm25 lost 0.100" in found.reason
        assert "hybrid lost" not in found.reason

    def test_a_new_one_has_floors_only(self):
        new = {"hybrid": scored(FLAT), "rerank": scored([0.1] * 200)}
        old = experiment("o", {"hybrid": scored(FLAT)})
        assert judge_release(experiment("n", new), baseline=old, champion=None, settings=SETTINGS).decision == "publish"
        floor = GateSettings(floors={"ndcg_at_10": 0.3}, resamples=999)
        found = judge_release(experiment("n", new), baseline=old, champion=None, settings=floor)
        assert "rerank reaches 0.100 ndcg_at_10, below the floor of 0.3" in found.reason

    @pytest.mark.parametrize(
        ("strategies", "reason"), [({"rerank": 1}, "no strategy in common"), ({}, "no strategy was")]
    )
    def test_nothing_to_compare_is_a_refusal(self, strategies, reason):
        new = experiment("n", dict.fromkeys(strategies, scored(FLAT)))
        old = experiment("o", {"hybrid": scored(FLAT)})
        found = judge_release(new, baseline=old, champion=None, settings=SETTINGS)
        assert (found.decision, found.checks["coverage"]) == ("refuse", False)
        assert reason in found.reason

    def test_many_comparisons_are_corrected_for(self):
        """Five chances at 5 % each would refuse an equal release one time in four."""
        before = np.full(60, 0.5)
        after = before.copy()
        after[:5] = 0.4  # p = 1/32
        effect = assess(before, after, settings=SETTINGS)
        equal = assess(before, before, settings=SETTINGS)
        assert rule({("in service", "a"): effect}, settings=SETTINGS).losses
        both = rule({("in service", "a"): effect, ("in service", "b"): equal}, settings=SETTINGS)
        assert not both.losses
        assert both.p_adjusted["in service", "a"] == 2 / 32


class TestCoverage:
    def test_one_deleted_page_does_not_block(self):
        found = judge([0.5] * 195 + [None] * 5, FLAT)
        assert (found.decision, found.comparisons[0].comparison.compared) == ("publish", 195)

    @pytest.mark.parametrize("baseline", [FLAT, None])
    def test_too_few_comparable_questions_refuse(self, baseline):
        found = judge([0.5] * 170 + [None] * 30, baseline)
        assert (found.decision, found.checks["coverage"]) == ("refuse", False)
        assert "only 85% of the answerable questions could be scored, fewer than 90%" in found.reason

    def test_what_the_baseline_can_not_score_counts_too(self):
        assert judge(FLAT, [0.5] * 170 + [None] * 30).checks["coverage"] is False

    def test_a_question_that_fails_refuses(self):
        """Leaving out questions that raise would let a build pass by failing on the hard ones."""
        run = (*scored(FLAT[:199]), QueryRun("q199", "?", (), "failed", error="OSError: disk"))
        new, old = experiment("n", {"hybrid": run}), experiment("o", {"hybrid": scored(FLAT)})
        found = judge_release(new, baseline=old, champion=None, settings=SETTINGS)
        assert (found.decision, found.checks["failures"]) == ("refuse", False)
        assert "1 of 200 questions failed under hybrid, the first (q199) with: OSError: disk" in found.reason
        tolerant = SETTINGS.model_copy(update={"max_failed": 0.01})
        assert judge_release(new, baseline=old, champion=None, settings=tolerant).decision == "publish"


class TestWhatAVerdictIsAbout:
    def stored(self, found):
        return Verdict(
            release_id=found.release_id,
            baseline=found.baseline,
            decision=found.decision,
            reason=found.reason,
            eval_set_hash=found.eval_set_hash,
            checks=found.checks,
            created="2026-01-01T00:00:00Z",
        )

    def test_it_allows_its_own_release_over_its_own_baseline_and_nothing_else(self):
        verdict = self.stored(judge(FLAT, FLAT))
        assert refusal(verdict, release_id="new", baseline="old") is None
        assert "about release new" in refusal(verdict, release_id="other", baseline="old")
        assert "compared with old" in refusal(verdict, release_id="new", baseline="moved")
        assert "no verdict" in refusal(None, release_id="new", baseline="old")

    def test_a_refusal_stays_one(self):
        assert "refuses" in refusal(self.stored(judge([0.0] * 200, FLAT)), release_id="new", baseline="old")

    def test_insufficient_evidence_under_the_lenient_policy_does_not_contradict_itself(self):
        assert refusal(self.stored(judge([1.0] * 3, [1.0] * 3)), release_id="new", baseline="old") is None


class TestRefusedInputs:
    new = experiment("n", {"hybrid": scored(FLAT)})

    @pytest.mark.parametrize("role", ["baseline", "champion"])
    def test_other_questions(self, role):
        other = experiment("o", {"hybrid": scored(FLAT)}, eval_set_hash="f" * 64)
        references = {"baseline": None, "champion": None, role: other}
        with pytest.raises(InvalidEvalSet, match=r"eeeeeeeeeeee \(both\).*ffffffffffff \(both\); evaluate both"):
            judge_release(self.new, **references, settings=SETTINGS)

    def test_another_half(self):
        with pytest.raises(InvalidEvalSet, match="evaluate both on the same questions"):
            judge_release(self.new, baseline=replace(self.new, half=Half.HELD_OUT), champion=None, settings=SETTINGS)

    def test_the_tuning_half(self):
        with pytest.raises(InvalidEvalSet, match="the tuning half can't judge"):
            judge_release(replace(self.new, half=Half.TUNING), baseline=None, champion=None, settings=SETTINGS)

    @pytest.mark.parametrize("settings", [{"metric": "ndcg@10"}, {"floors": {"ndgc_at_10": 0.5}}])
    def test_a_metric_that_does_not_exist(self, settings):
        with pytest.raises(UnknownName, match="unknown metric"):
            judge_release(self.new, baseline=None, champion=None, settings=GateSettings(**settings))
