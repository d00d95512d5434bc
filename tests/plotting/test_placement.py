"""Places for names: never over each other, inside the frame, not over small clusters."""

import numpy as np
import pytest

from actup.plotting._placement import Board, Request, _intersect, _meets, overlap

FRAME = (0.0, 0.0, 400.0, 300.0)


def request(center, width=60.0, height=14.0, spread=3.0, count=30, beside=True):
    members = np.random.default_rng(0).normal(center, spread, (count, 2))
    return Request(width, height, np.array([center, *members[:10]]), members, beside, height)


def board(points=(), radius=1.0):
    return Board(FRAME, np.array(points, float).reshape(-1, 2), [], radius)


def inside(box):
    return box[0] >= FRAME[0] and box[1] >= FRAME[1] and box[2] <= FRAME[2] and box[3] <= FRAME[3]


def test_a_large_cluster_carries_its_name():
    wide = request((200.0, 150.0), spread=50.0, count=400)
    place = board(wide.members).place(wide)
    assert place.leader is None
    assert np.hypot(place.x - 200, place.y - 150) < 50


def test_a_small_cluster_is_not_covered_by_its_name():
    small = request((200.0, 150.0))
    place = board(small.members).place(small)
    left, bottom, right, top = place.box
    covered = (small.members > (left, bottom)).all(axis=1) & (small.members < (right, top)).all(axis=1)
    assert not covered.any()
    assert np.hypot(place.x - 200, place.y - 150) < 70


def test_a_name_far_from_its_cluster_has_a_leader_line():
    crowd = np.random.default_rng(1).uniform((120, 80), (280, 220), (5000, 2))
    small = request((200.0, 150.0), width=50.0)
    place = board(np.vstack([crowd, small.members])).place(small)
    assert place.leader is not None
    (x, y), (end_x, end_y) = place.leader
    assert np.hypot(end_x - 200, end_y - 150) < 15
    assert place.box[0] - 1e-9 <= x <= place.box[2] + 1e-9 and place.box[1] - 1e-9 <= y <= place.box[3] + 1e-9


@pytest.mark.parametrize("corner", [(1.0, 1.0), (399.0, 1.0), (399.0, 299.0), (1.0, 299.0)])
def test_names_at_corners_stay_inside(corner):
    place = board().place(request(corner, width=120.0))
    assert inside(place.box)


def test_crowded_names_never_overlap_and_lines_never_cross():
    generator = np.random.default_rng(0)
    crowded = board(generator.uniform(0, 300, (2000, 2)))
    places = [crowded.place(request(tuple(generator.uniform(20, 280, 2)))) for _ in range(80)]
    placed = [place for place in places if place is not None]
    assert len(placed) > 40
    leaders = [place.leader for place in placed if place.leader]
    for index, place in enumerate(placed):
        assert inside(place.box)
        for other in placed[index + 1 :]:
            assert not overlap(place.box, other.box)
        for leader in leaders:
            assert leader == place.leader or not _meets(leader, place.box)
    for index, leader in enumerate(leaders):
        assert not any(_intersect(leader, other) for other in leaders[index + 1 :])


def test_names_that_must_stay_on_their_cluster_may_find_no_place():
    full = board()
    first = full.place(request((200.0, 150.0), beside=False, spread=0.5))
    assert first is not None
    assert full.place(request((200.0, 150.0), beside=False, spread=0.5)) is None


def test_other_texts_are_kept_free():
    note = (300.0, 0.0, 400.0, 20.0)
    place = Board(FRAME, np.zeros((0, 2)), [note], 1.0).place(request((350.0, 10.0)))
    assert not overlap(place.box, note)
