"""Places for names: never over each other, inside the frame, not over small clusters."""

import numpy as np
import pytest

from actup.plotting._placement import Board, ClusterPoints, Request, _intersect, _meets, overlap

FRAME = (0.0, 0.0, 400.0, 300.0)


def request(center, width=60.0, height=14.0, spread=3.0, count=30, apart=True, others=()):
    """A request of a round cluster with the code 0; others: points of clusters from 1 on."""
    members = np.random.default_rng(0).normal(center, spread, (count, 2))
    points = np.vstack([members, *others])
    codes = np.repeat(np.arange(1 + len(others)), [count, *map(len, others)])
    clusters = ClusterPoints(points, codes)
    return Request(width, height, np.array([center, *members[:10]]), members, apart, height, clusters, 0, -1)


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


def test_names_that_must_stay_at_their_cluster_may_find_no_place():
    full = board()
    places = [full.place(request((200.0, 150.0), apart=False, spread=0.5)) for _ in range(30)]
    placed = [place for place in places if place is not None]
    assert 1 <= len(placed) < 30
    assert all(place.leader is None for place in placed)


def test_a_small_cluster_is_not_covered_by_a_name_that_must_stay_at_it():
    small = request((200.0, 150.0), apart=False)
    left, bottom, right, top = board(small.members).place(small).box
    covered = (small.members > (left, bottom)).all(axis=1) & (small.members < (right, top)).all(axis=1)
    assert not covered.any()


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_name_does_not_stand_on_a_neighbouring_cluster(side, apart):
    # A cluster narrower than its name between others that are as dense.
    generator = np.random.default_rng(2)
    other = generator.normal((200.0 + side * 45, 150.0), (15, 40), (2000, 2))
    narrow = request((200.0, 150.0), width=70.0, spread=8.0, count=400, apart=apart, others=[other])
    place = board(np.vstack([narrow.members, other])).place(narrow)
    left, bottom, right, top = place.box
    own, foreign = (
        np.count_nonzero((points > (left, bottom)).all(axis=1) & (points < (right, top)).all(axis=1))
        for points in (narrow.members, other)
    )
    assert foreign <= own


def test_a_name_that_must_stay_at_its_cluster_is_left_out_among_points_of_others():
    crowd = np.random.default_rng(1).uniform((100, 50), (300, 250), (20_000, 2))
    lost = request((200.0, 150.0), apart=False, others=[crowd])
    assert board(np.vstack([crowd, lost.members])).place(lost) is None
    important = request((200.0, 150.0), others=[crowd])
    assert board(np.vstack([crowd, important.members])).place(important) is not None


def test_shares_of_points_under_a_box():
    points = np.array([[1.0, 1.0], [2.0, 9.0], [30.0, 5.0], [6.0, 6.0], [-7.0, 3.0]])
    clusters = ClusterPoints(points, np.array([0, 1, 0, -3, 0]))
    assert clusters.own_share((0, 0, 10, 10), 0, -1) == pytest.approx(1 / 3)
    assert clusters.own_share((0, 0, 10, 10), 0, -3) == pytest.approx(1 / 2)
    assert clusters.own_share((-10, 0, 40, 10), 0, -3) == pytest.approx(3 / 4)
    assert clusters.own_share((5, 5, 7, 7), 0, -3) == 0  # only the parent's points
    assert clusters.own_share((50, 50, 60, 60), 0, -3) == 1
    assert ClusterPoints(np.zeros((0, 2)), np.zeros(0, int)).own_share((0, 0, 1, 1), 0, -1) == 1


def test_other_texts_are_kept_free():
    note = (300.0, 0.0, 400.0, 20.0)
    place = Board(FRAME, np.zeros((0, 2)), [note], 1.0).place(request((350.0, 10.0)))
    assert not overlap(place.box, note)
