"""Any order of making, judging, publishing, rolling back, damaging, holding and collecting."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from rag_pipeline.errors import NoRelease, ReleaseRefused, UnknownName
from rag_pipeline.index.lease import Lease, hold
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import read_history
from rag_pipeline.release.pointer import pin_champion
from rag_pipeline.release.publish import publish
from rag_pipeline.release.retain import gc
from rag_pipeline.release.rollback import rollback
from rag_pipeline.release.stored import load_release, read_champion, release_ids
from rag_pipeline.release.verify import failures, verify_release
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.schema import Release
from rag_pipeline_tests.release.standin import cut, judge, make_release, verify


class Releases(RuleBasedStateMachine):
    made = Bundle("made")

    @initialize()
    def begin(self) -> None:
        self.fsync = os.fsync
        os.fsync = lambda _: None
        self.folder = Path(tempfile.mkdtemp())
        self.paths = CollectionPaths(self.folder / "wiki")
        self.damaged: set[str] = set()
        self.leases: dict[str, Lease] = {}
        self.stack: list[str] = []
        """What one can go back through, the one in service last."""
        self.withdrawn: set[str] = set()
        self.judged: dict[str, str | None] = {}
        """Release -> the baseline it was last allowed against."""

    def teardown(self) -> None:
        for lease in self.leases.values():
            lease.close()
        shutil.rmtree(self.folder)
        os.fsync = self.fsync

    def sound(self, release: Release) -> bool:
        return release.release_id in release_ids(self.paths) and release.build_key not in self.damaged

    def tried(self, action: Callable[[], object]) -> bool:
        """Whether it succeeded; if not, CURRENT must be as before."""
        before = read_current(self.paths)
        try:
            action()
        except (ReleaseRefused, UnknownName, NoRelease):
            assert read_current(self.paths) == before
            return False
        return True

    @rule(target=made, snapshot=st.sampled_from("abcd"), weight=st.sampled_from([0.5, 0.6]))
    def make(self, snapshot: str, weight: float) -> Release:
        return make_release(self.paths, snapshot, weight=weight)

    @rule(release=made)
    def judge_it(self, release: Release) -> None:
        self.judge(release)

    @rule(release=made)
    def publish_it(self, release: Release) -> None:
        self.publish(release)

    def judge(self, release: Release) -> None:
        if release.release_id in release_ids(self.paths):
            judge(self.paths, release)
            self.judged.pop(release.release_id, None)
            if self.sound(release):
                self.judged[release.release_id] = read_current(self.paths)

    def publish(self, release: Release) -> None:
        before = read_current(self.paths)
        allowed = self.sound(release) and (
            before == release.release_id
            or (self.judged.get(release.release_id, "never") == before and release.release_id not in self.withdrawn)
        )
        assert self.tried(lambda: publish(self.paths, release.release_id, verify=verify)) == allowed
        assert not allowed or read_current(self.paths) == release.release_id
        if allowed and before != release.release_id:
            self.put(release.release_id)

    def put(self, release_id: str) -> None:
        """A release came on top."""
        self.stack = [name for name in self.stack if name != release_id] + [release_id]
        self.withdrawn.discard(release_id)

    def back_to(self, release_id: str) -> None:
        if release_id in self.stack:
            at = self.stack.index(release_id) + 1
            self.withdrawn |= set(self.stack[at:])
            self.stack = self.stack[:at]
        else:
            self.put(release_id)
        self.withdrawn.discard(release_id)

    @rule(target=made, snapshot=st.sampled_from("abcd"))
    def make_and_publish(self, snapshot: str) -> Release:
        release = make_release(self.paths, snapshot)
        self.judge(release)
        self.publish(release)
        return release

    @rule(release=made)
    def force(self, release: Release) -> None:
        done = self.tried(lambda: publish(self.paths, release.release_id, force_reason="because", verify=verify))
        assert done == self.sound(release)
        if done:
            self.put(release.release_id)

    @rule()
    def go_back(self) -> None:
        before = read_current(self.paths)
        if self.tried(lambda: rollback(self.paths, verify=verify)):
            current = read_current(self.paths)
            assert current is not None
            assert current != before
            self.back_to(current)

    @rule(release=made)
    def go_back_to(self, release: Release) -> None:
        served = any(change.release_id == release.release_id for change in read_history(self.paths))
        done = self.tried(lambda: rollback(self.paths, release.release_id, verify=verify))
        assert done == (self.sound(release) and served)
        if done and read_history(self.paths)[-1].action == "rolled_back":
            self.back_to(release.release_id)

    @rule(release=made)
    def damage(self, release: Release) -> None:
        """Anything but what is in service or pinned."""
        current = read_current(self.paths)
        served = current and load_release(self.paths, current).build_key == release.build_key
        if self.sound(release) and not served:
            cut(self.paths, release.build_key)
            self.damaged.add(release.build_key)

    @rule(release=made)
    def pin(self, release: Release) -> None:
        self.tried(lambda: pin_champion(self.paths, release.release_id))

    @rule(release=made)
    def read(self, release: Release) -> None:
        if self.paths.build(release.build_key).is_dir() and release.build_key not in self.leases:
            self.leases[release.build_key] = hold(self.paths.lease(release.build_key))

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def finish_reading(self, data: st.DataObject) -> None:
        self.leases.pop(data.draw(st.sampled_from(sorted(self.leases)))).close()

    @rule(keep=st.integers(1, 3))
    def collect(self, keep: int) -> None:
        before = set(release_ids(self.paths))
        done = gc(self.paths, keep=keep, verify=verify)
        assert before - set(done.releases) == set(release_ids(self.paths))
        self.damaged -= set(done.builds)
        self.judged = {name: baseline for name, baseline in self.judged.items() if name not in done.releases}
        assert gc(self.paths, keep=keep, verify=verify).bytes_freed == 0

    @invariant()
    def what_is_in_service_verifies(self) -> None:
        current = read_current(self.paths)
        if current is not None:
            assert failures(verify_release(self.paths, current, verify=verify)) == ""
            assert read_history(self.paths)[-1].release_id == current

    @invariant()
    def every_release_has_its_build(self) -> None:
        for release_id in release_ids(self.paths):
            assert self.paths.build(load_release(self.paths, release_id).build_key).is_dir()

    @invariant()
    def what_is_held_or_pinned_is_there(self) -> None:
        assert all(self.paths.build(key).is_dir() for key in self.leases)
        champion = read_champion(self.paths)
        assert champion is None or champion in release_ids(self.paths)


Releases.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestReleases = Releases.TestCase
