"""Parts of symbfiles that wait for others, in whatever way they come."""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings, strategies as st

from gsym.server.settings import Limits
from gsym.server.symbfiles.pending import PendingUpload, PendingUploads
from gsym.server.symbfiles.protocol import PartError, PartHeader
from gsym.store.directory import Store
from gsym.symbfile.file_id import FileId
from tests.clock import Clock

pytestmark = pytest.mark.long

ID = FileId(bytes(16))
SECONDS = 1000.0
ECHO_SECONDS = 300


class Receiver:
    """Takes parts as an endpoint does, but for publishing them."""

    def __init__(self, folder: Path, size: int = 1 << 20) -> None:
        self.clock = Clock()
        self.store = Store(folder)
        with self.store.temporary_folder():
            pass  # it exists from now on
        limits = Limits(
            max_symbfile=size,
            max_pending_of_key=2,
            max_pending_symbfiles=3,
            symbfile_time=SECONDS,
        )
        self.pending = PendingUploads(self.store, limits, self.clock)

    def open(self, owner: str = "owner", name: str = "name") -> PendingUpload:
        return self.pending.open(owner, name)

    def add(self, upload: PendingUpload, header: PartHeader, body: bytes) -> bool:
        with self.store.temporary_folder() as folder:
            path = Path(folder, "part")
            path.write_bytes(body)
            return upload.add(header, sha256(body).hexdigest(), str(path))

    def take(self, part: int, parts: int | None, body: bytes) -> list[bytes]:
        """The bytes of all parts, once they are there."""
        with self.open() as upload:
            assert upload.try_lock()
            self.add(upload, PartHeader(ID, part, parts, len(body)), body)
            return [Path(path).read_bytes() for path in upload.all_parts()]

    def publish(self, *bodies: bytes) -> None:
        """Take all parts of an upload, and finish it."""
        for part, body in enumerate(bodies):
            self.take(part, len(bodies), body)
        with self.open() as upload:
            assert upload.try_lock()
            assert upload.all_parts()
            upload.finish("added")


@pytest.fixture
def receiver(tmp_path: Path) -> Receiver:
    return Receiver(tmp_path / "store")


@st.composite
def sendings(draw: st.DrawFn) -> tuple[list[bytes], list[tuple[int, bool]]]:
    """Parts, and in which order they are sent, some of them several times.

    Each sending tells how many parts there are, or does not.
    """
    bodies = draw(st.lists(st.binary(min_size=1), min_size=1, max_size=6))
    order = draw(st.permutations(range(len(bodies))))
    again = draw(st.lists(st.sampled_from(order), max_size=6))
    sent = [
        (part, draw(st.booleans())) for part in draw(st.permutations(order + again))
    ]
    return bodies, sent


@settings(max_examples=40)
@given(sendings())
def test_an_upload_is_complete_with_all_parts_and_their_number(
    case: tuple[list[bytes], list[tuple[int, bool]]],
) -> None:
    bodies, sent = case
    came: set[int] = set()
    is_told = False
    # What waits for the disk would take most of the time.
    no_wait = mock.patch("gsym.server.symbfiles.pending.sync")
    with tempfile.TemporaryDirectory() as folder, no_wait:
        receiver = Receiver(Path(folder))
        for part, tells in sent:
            whole = receiver.take(part, len(bodies) if tells else None, bodies[part])
            came.add(part)
            is_told |= tells
            is_whole = is_told and len(came) == len(bodies)
            assert whole == (bodies if is_whole else [])


def test_an_upload_expires(receiver: Receiver) -> None:
    assert receiver.take(0, 2, b"x") == []
    receiver.clock.now += SECONDS - 1
    assert receiver.pending.forget_old() == 0
    receiver.clock.now += 1
    assert receiver.pending.forget_old() == 1
    assert receiver.take(1, 2, b"y") == []


def test_a_locked_upload_does_not_expire(receiver: Receiver) -> None:
    receiver.take(0, 2, b"x")
    receiver.clock.now += SECONDS
    with receiver.open() as upload:
        assert upload.try_lock()
        assert upload.is_old()
        assert receiver.pending.forget_old() == 0
    assert receiver.pending.forget_old() == 1


def test_one_works_on_an_upload_at_a_time(receiver: Receiver) -> None:
    with receiver.open() as one, receiver.open() as other:
        assert one.try_lock()
        assert not other.try_lock()
    with receiver.open() as other:
        assert other.try_lock()


def test_who_waited_learns_what_became_of_the_upload(receiver: Receiver) -> None:
    header, body = PartHeader(ID, 0, 1, 1), b"x"
    digest = sha256(body).hexdigest()
    with receiver.open() as other:
        with receiver.open() as one:
            assert one.try_lock()
            receiver.add(one, header, body)
            one.end(["", "added"])
            assert not one.exists()
        assert other.try_lock()
        assert not other.exists()
        assert other.outcome(header, digest) == ["", "added"]
        assert other.outcome(header._replace(part=1), digest) is None
        assert other.outcome(header, sha256(b"y").hexdigest()) is None


def test_a_waiting_request_restarts_an_expired_upload(
    receiver: Receiver,
) -> None:
    with receiver.open() as one, receiver.open() as other:
        assert one.try_lock()
        one.remove()
        with receiver.open() as new:
            assert new.try_lock()
            assert new.exists()
        assert not other.exists()
        assert other.outcome(PartHeader(ID, 0, 1, 1), "0") is None


def test_repeated_parts_of_a_finished_upload_expire_early(
    receiver: Receiver,
) -> None:
    receiver.publish(b"x", b"y")
    assert receiver.take(1, 2, b"y") == []
    receiver.clock.now += ECHO_SECONDS - 1
    assert receiver.pending.forget_old() == 0
    receiver.clock.now += 1
    assert receiver.pending.forget_old() == 1


def test_parts_of_a_finished_upload_may_begin_another(
    receiver: Receiver,
) -> None:
    receiver.publish(b"x", b"y")
    assert receiver.take(0, 2, b"x") == []
    assert receiver.take(1, 2, b"z") == [b"x", b"z"]


def test_repeated_parts_of_a_finished_upload_are_replaced(
    receiver: Receiver,
) -> None:
    receiver.publish(b"x", b"y")
    assert receiver.take(1, 2, b"y") == []
    assert receiver.take(0, 2, b"a") == [b"a", b"y"]
    assert receiver.take(1, 2, b"b") == [b"a", b"b"]
    with pytest.raises(PartError):
        receiver.take(1, 2, b"y")


def test_a_finished_upload_is_remembered_for_a_time(receiver: Receiver) -> None:
    receiver.publish(b"x", b"y")
    known = Path(receiver.store.path, ".finished-symbfiles")
    receiver.clock.now += SECONDS - 1
    receiver.pending.forget_old()
    assert list(known.iterdir())
    receiver.clock.now += 1
    receiver.take(1, 2, b"y")
    assert not list(known.iterdir())
    with pytest.raises(PartError):
        receiver.take(1, 2, b"z")


@pytest.mark.parametrize("damage", [b"", b"[[]]", b"\xff"])
def test_a_damaged_record_of_a_finished_upload_is_ignored(
    receiver: Receiver, damage: bytes
) -> None:
    receiver.publish(b"x", b"y")
    (known,) = Path(receiver.store.path, ".finished-symbfiles").iterdir()
    known.write_bytes(damage)
    os.utime(known, (receiver.clock.now, receiver.clock.now))
    receiver.take(0, 2, b"x")
    with pytest.raises(PartError):
        receiver.take(0, 2, b"z")


def test_the_size_of_all_parts_is_limited(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path, size=10)
    assert receiver.take(0, 3, b"12345") == []
    with pytest.raises(PartError):
        receiver.take(1, 3, b"123456")
    assert receiver.take(1, 3, b"1234") == []
    assert receiver.take(2, 3, b"1") == [b"12345", b"1234", b"1"]


def test_a_folder_without_a_lock_is_used(receiver: Receiver) -> None:
    """Its maker died before its lock was there."""
    place = Path(receiver.store.path, ".symbfiles", "owner", "name")
    place.mkdir(parents=True)
    assert receiver.take(0, 1, b"x") == [b"x"]


def test_a_folder_without_a_lock_expires(receiver: Receiver) -> None:
    place = Path(receiver.store.path, ".symbfiles", "owner", "name")
    place.mkdir(parents=True)
    for passed in (SECONDS - 1, SECONDS):
        then = receiver.clock.now - passed
        os.utime(place, (then, then))
        receiver.pending.forget_old()
        assert place.exists() == (passed < SECONDS)
