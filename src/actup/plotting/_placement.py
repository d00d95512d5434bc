"""Find places for names on a map: on their cluster or beside it, inside the frame, never over each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top
Segment: TypeAlias = tuple[tuple[float, float], tuple[float, float]]

_CELL = 4.0  # pixels: the side of the cells in which points are counted
_DIRECTIONS = 24  # in which a name beside its cluster is tried
_STEPS = 36  # distances tried per direction
_FREE_SHARE = 0.06  # a box in which no more cells than this hold points is free
_MIN_DENSITY = 0.5  # of the densest place: a name does not stand where its cluster is thinner
_FREE_COVER = 0.2  # share of its own cluster that a name may cover at no cost, if that has ...
_MANY_MEMBERS = 100  # ... so many points; the fewer there are, the more each of them counts
_COVER_COST = 4.0  # of covering the whole cluster
_THIN_COST = 0.5  # of standing where the cluster is thin
_OFF_CENTER_COST = 0.35  # of standing as far from the cluster's middle as its points do on average
_BESIDE_COST = 0.8  # of standing beside the cluster
_GAP_COST = 0.3  # per line height between the name and the cluster
_POINTS_COST = 4.0  # of standing beside the cluster where all cells hold points
_MAX_GAP = 8.0  # line heights between a name and its cluster; farther away, it would not be found
_LEADER_GAP = 0.75  # a name farther from its cluster than this multiple of a line's height has a leader line
_MIN_OWN_SHARE = 0.6  # of the points under and right beside a name that are of any cluster


class ClusterPoints:
    """The points of all clusters by their cells, to count those under a name.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        In pixels.
    codes : ndarray of shape (n,)
        Cluster of every point. Those of negative codes have no name: they are parts of coarser clusters.
    """

    def __init__(self, points: np.ndarray, codes: np.ndarray) -> None:
        columns, rows = np.floor(points / _CELL).astype(np.int64).T
        order = np.lexsort((columns, rows))
        self._points, self._codes = points[order], codes[order]
        self._columns = columns[order]
        self._first_row = int(rows[order[0]]) if len(order) else 0
        counts = np.bincount(rows - self._first_row) if len(order) else np.zeros(0, np.int64)
        self._row_starts = np.concatenate([[0], np.cumsum(counts)])

    def own_share(self, box: Box, code: int, parent: int) -> float:
        """Share of the points in a box that are of a cluster; 1 if there are no points.

        Points of its parent that are of no cluster do not count, but a box with no others has a share of 0.
        """
        found = [self._in_row(row, box) for row in self._rows(box)]
        codes = np.concatenate(found) if found else np.zeros(0)
        own = np.count_nonzero(codes == code)
        counted = np.count_nonzero(codes != parent)
        return own / counted if counted else float(not len(codes))

    def _rows(self, box: Box) -> range:
        """The rows of cells that a box meets, of those that hold points."""
        first, last = (math.floor(side / _CELL) - self._first_row for side in (box[1], box[3]))
        return range(max(first, 0), min(last + 1, len(self._row_starts) - 1))

    def _in_row(self, row: int, box: Box) -> np.ndarray:
        """Clusters of the points in the part of a row of cells that is in a box."""
        begin, end = self._row_starts[row : row + 2]
        ends = (math.floor(box[0] / _CELL), math.floor(box[2] / _CELL) + 1)
        begin, end = begin + np.searchsorted(self._columns[begin:end], ends)
        x, y = self._points[begin:end].T
        return np.asarray(self._codes[begin:end][(x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])])


@dataclass(frozen=True)
class Request:
    """A name that needs a place. All lengths are pixels.

    Attributes
    ----------
    width, height : float
        Of its text.
    anchors : ndarray of shape (k, 2)
        Places on the cluster, the best first.
    members : ndarray of shape (m, 2)
        Points of the cluster, or some of them.
    may_stand_apart : bool
        Whether the name may stand some way from its cluster, with a leader line, and among points of others
        where there is no room. All names may stand right beside their cluster.
    line_height : float
        Of one line of the text.
    clusters : ClusterPoints
        The points of its cluster and of others, which the name should not seem to belong to.
    code, parent : int
        Its cluster among them, and the points of its parent that are of no cluster.
    """

    width: float
    height: float
    anchors: np.ndarray
    members: np.ndarray
    may_stand_apart: bool
    line_height: float
    clusters: ClusterPoints
    code: int
    parent: int

    @property
    def core(self) -> np.ndarray:
        """The half of the members that is nearest to the best place: strays far away do not belong to it."""
        distance = ((self.members - self.anchors[0]) ** 2).sum(axis=1)
        return np.asarray(self.members[distance <= np.median(distance)])

    def own_share(self, box: Box, has_leader: bool) -> float:
        """Share of its own points among those under the name and, unless a leader line tells, beside it."""
        under = self.clusters.own_share(box, self.code, self.parent)
        if has_leader or under < _MIN_OWN_SHARE:
            return under
        near = _LEADER_GAP * self.line_height
        around = (box[0] - near, box[1] - near, box[2] + near, box[3] + near)
        return min(under, self.clusters.own_share(around, self.code, self.parent))


@dataclass(frozen=True)
class Place:
    """Where a name stands: the centre of its box, and the leader line to its cluster if it needs one."""

    x: float
    y: float
    box: Box
    leader: Segment | None


class Board:
    """The frame with the points and all names placed so far.

    Parameters
    ----------
    frame : Box
    points : ndarray of shape (n, 2)
        In pixels: the points that names should not cover.
    taken : list of Box
        Boxes of other texts.
    radius : float
        Of the discs around the points.
    """

    def __init__(self, frame: Box, points: np.ndarray, taken: list[Box], radius: float) -> None:
        self._frame = frame
        self._radius = radius
        self._taken = list(taken)
        self._leaders: list[Segment] = []
        columns = max(math.ceil((frame[2] - frame[0]) / _CELL), 1)
        rows = max(math.ceil((frame[3] - frame[1]) / _CELL), 1)
        cells = ((points - frame[:2]) / _CELL).astype(np.intp)
        cells = cells[((cells >= 0) & (cells < (columns, rows))).all(axis=1)]
        occupied = np.zeros((columns + 1, rows + 1))
        occupied[cells[:, 0] + 1, cells[:, 1] + 1] = 1.0
        self._sums = occupied.cumsum(axis=0).cumsum(axis=1)  # of all cells to the left and below

    def place(self, request: Request) -> Place | None:
        """Return the cheapest free place for a name and keep it free of others; None if there is none.

        Most points under the name are its own. A name that may stand apart and has no such place stands where
        the share of its own points is largest.
        """
        best: tuple[float, Place] | None = None
        for candidate in self._free_places(request):
            share = request.own_share(candidate.box, candidate.leader is not None)
            if best is None or share > best[0]:
                best = share, candidate
            if share >= _MIN_OWN_SHARE:
                break
        if best is None or (best[0] < _MIN_OWN_SHARE and not request.may_stand_apart):
            return None
        place = best[1]
        self._taken.append(place.box)
        if place.leader is not None:
            self._leaders.append(place.leader)
        return place

    def _free_places(self, request: Request) -> Iterator[Place]:
        """Places that cross no other name or leader line, the cheapest first."""
        boxes, costs = self._on_cluster(request)
        on_cluster = len(boxes)
        more = self._beside(request)
        boxes, costs = np.vstack([boxes, more[0]]), np.concatenate([costs, more[1]])
        for index in np.argsort(costs, kind="stable"):
            left, bottom, right, top = boxes[index].tolist()
            box = (left, bottom, right, top)
            if not math.isfinite(costs[index]) or any(overlap(box, other) for other in self._taken):
                continue
            leader = None if index < on_cluster else _leader(box, request)
            if not self._crosses(box, leader):
                yield Place((left + right) / 2, (bottom + top) / 2, box, leader)

    def _on_cluster(self, request: Request) -> tuple[np.ndarray, np.ndarray]:
        """Boxes around the anchors and their costs: a name must not cover much of its own cluster."""
        boxes = self._boxes(request.anchors, request)
        own = _covered_share(boxes, request.members, self._radius)
        density = own / max(float(own.max(initial=0.0)), 1e-12)
        moved = np.abs((boxes[:, :2] + boxes[:, 2:]) / 2 - request.anchors).sum(axis=1) / request.width
        free = _FREE_COVER * min(len(request.members) / _MANY_MEMBERS, 1.0) ** 2
        middle = np.median(request.members, axis=0)
        spread = np.linalg.norm(request.members - middle, axis=1).mean()
        off_center = np.linalg.norm(request.anchors - middle, axis=1) / max(spread, request.height)
        cost = _COVER_COST * np.maximum(own - free, 0.0) + _THIN_COST * (1.0 - density) + moved
        cost += _OFF_CENTER_COST * off_center
        return boxes, np.where(density >= _MIN_DENSITY, cost, np.inf)

    def _beside(self, request: Request) -> tuple[np.ndarray, np.ndarray]:
        """Boxes beside the cluster: in every direction the first one that covers no points, or hardly any."""
        angles = 2 * math.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
        reach = 0.5 * request.line_height * (1 + np.arange(_STEPS)) * np.linspace(1.0, 2.0, _STEPS)
        steps = np.column_stack([np.cos(angles), np.sin(angles)])[:, None, :] * reach[:, None]
        # Reaching to the side, a box clears its anchor only by half of its own width.
        steps[:, :, 0] += np.sign(steps[:, :, 0]) * np.abs(np.cos(angles))[:, None] * request.width / 2
        centers = (request.anchors[0] + steps).reshape(-1, 2)
        boxes = self._boxes(centers, request)
        covered = np.where(self._is_taken(boxes), np.inf, self._occupied_share(boxes))
        covered = covered.reshape(_DIRECTIONS, _STEPS)
        chosen = np.concatenate([_first_below(covered, share) for share in (0.0, _FREE_SHARE)])
        gap = np.array([_gap(box, request.core) for box in boxes[chosen]])
        cost = _BESIDE_COST + _GAP_COST * gap / request.line_height + _POINTS_COST * covered.ravel()[chosen]
        largest = _MAX_GAP if request.may_stand_apart else _LEADER_GAP
        cost = np.where(gap <= largest * request.line_height, cost, np.inf)
        # A little preference for above and below, where a name is nearest to the middle of its cluster.
        own = _covered_share(boxes[chosen], request.members, self._radius)
        return boxes[chosen], cost + 0.1 * np.tile(np.abs(np.cos(angles)), 2) + 0.5 * own

    def _boxes(self, centers: np.ndarray, request: Request) -> np.ndarray:
        """Boxes around centers, moved into the frame."""
        half = np.array([request.width / 2, request.height / 2])
        low, high = np.array(self._frame[:2]) + half, np.array(self._frame[2:]) - half
        centers = np.clip(centers, low, np.maximum(high, low))
        return np.hstack([centers - half, centers + half])

    def _occupied_share(self, boxes: np.ndarray) -> np.ndarray:
        """Share of the cells under each box that hold points."""
        boxes = boxes + self._radius * np.array([-1, -1, 1, 1])
        cells = (boxes - np.tile(self._frame[:2], 2)) / _CELL
        largest = np.array(self._sums.shape) - 1
        left, bottom = np.clip(np.floor(cells[:, :2]), 0, largest).astype(np.intp).T
        right, top = np.clip(np.ceil(cells[:, 2:]), 0, largest).astype(np.intp).T
        sums = self._sums
        held = sums[right, top] - sums[left, top] - sums[right, bottom] + sums[left, bottom]
        return np.asarray(held / np.maximum((right - left) * (top - bottom), 1))

    def _is_taken(self, boxes: np.ndarray) -> np.ndarray:
        """Whether each box overlaps one of another name."""
        left, bottom, right, top = (boxes[:, [side]] for side in range(4))
        others = np.array(self._taken).reshape(-1, 4)
        meets = (
            (left < others[:, 2]) & (others[:, 0] < right) & (bottom < others[:, 3]) & (others[:, 1] < top)
        )
        return np.asarray(meets.any(axis=1))

    def _crosses(self, box: Box, leader: Segment | None) -> bool:
        """Whether a name or its leader line crosses those of another name."""
        if any(_meets(segment, box) for segment in self._leaders):
            return True
        if leader is None:
            return False
        return any(_meets(leader, other) for other in self._taken) or any(
            _intersect(leader, segment) for segment in self._leaders
        )


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share an area."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _first_below(covered: np.ndarray, share: float) -> np.ndarray:
    """Return for every row the flat index of the first entry of at most ``share``, or of the smallest one."""
    free = covered <= share
    first = np.where(free.any(axis=1), free.argmax(axis=1), covered.argmin(axis=1))
    return np.asarray(np.arange(len(covered)) * covered.shape[1] + first)


def _covered_share(boxes: np.ndarray, members: np.ndarray, radius: float) -> np.ndarray:
    """Share of the points whose discs each box covers, at least in part."""
    boxes = boxes + radius * np.array([-1, -1, 1, 1])
    inside = (members[:, 0] > boxes[:, [0]]) & (members[:, 0] < boxes[:, [2]])
    inside &= (members[:, 1] > boxes[:, [1]]) & (members[:, 1] < boxes[:, [3]])
    return np.asarray(inside.mean(axis=1))


def _nearest(box: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the point nearest to a box, and the place on the box nearest to that point."""
    places = np.clip(members, box[:2], box[2:])
    best = int(np.argmin(((members - places) ** 2).sum(axis=1)))
    return members[best], places[best]


def _gap(box: np.ndarray, members: np.ndarray) -> float:
    member, place = _nearest(box, members)
    return float(np.hypot(*(member - place)))


def _leader(box: Box, request: Request) -> Segment | None:
    """Return the line from a name to the nearest point of its cluster; None if they are close."""
    edges = np.array(box)
    member, place = _nearest(edges, request.core)
    if np.hypot(*(member - place)) <= _LEADER_GAP * request.line_height:
        return None
    return (float(place[0]), float(place[1])), (float(member[0]), float(member[1]))


def _meets(segment: Segment, box: Box) -> bool:
    """Whether a line passes through a box."""
    (x0, y0), (x1, y1) = segment
    low, high = 0.0, 1.0
    for start, change, least, most in ((x0, x1 - x0, box[0], box[2]), (y0, y1 - y0, box[1], box[3])):
        if change == 0.0:
            if not least < start < most:
                return False
            continue
        ends = sorted(((least - start) / change, (most - start) / change))
        low, high = max(low, ends[0]), min(high, ends[1])
    return low < high


def _intersect(one: Segment, other: Segment) -> bool:
    def side(line: Segment, point: tuple[float, float]) -> float:
        (x0, y0), (x1, y1) = line
        return (x1 - x0) * (point[1] - y0) - (y1 - y0) * (point[0] - x0)

    apart = side(one, other[0]) * side(one, other[1]) < 0
    return apart and side(other, one[0]) * side(other, one[1]) < 0
