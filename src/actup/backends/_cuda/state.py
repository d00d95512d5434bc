"""The arrays that every kernel of the layout reads: constants, the schedule, and the state that changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actup._engine import engine
from actup._typing import Array
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.constants import BOX_AXES
from actup.backends._cuda.relabelled import EMPTY_BOX, RelabelledGraph, measure_box
from actup.recipe._recipe import Recipe
from actup.recipe._switches import LearningRateUnit, NonEdgeWeight, Repulsion, RepulsionMass

# The structs of kernels/layout.h, field by field.
_CONSTANTS = np.dtype(
    [
        ("seed", np.uint64),
        ("partition", np.float64),
        *((name, np.int32) for name in ("n", "epochs", "run_length", "expansion_begin", "expansion_end")),
        *((name, np.int32) for name in ("sampling", "rate_in_points")),
        ("curve", np.float32, 3),
        *((name, np.float32) for name in ("repulsion_rate", "repulsion_epsilon", "force_scale")),
        *((name, np.float32) for name in ("gradient_clip", "momentum_after_stop", "repeats", "horizon")),
        *((name, np.float32) for name in ("p_max", "non_edge_weight", "mean_strength")),
    ]
)
STATE = np.dtype(
    [
        ("epoch", np.int32),
        ("expansion_ended", np.int32),
        ("rule", np.float32, 12),
        ("stop", np.int32),
        ("box", np.int32, (3, 2 * BOX_AXES)),
    ]
)
# From this many points on, the tree is faster than the sum over all pairs.
TREE_MIN_POINTS = 10_000
# The rows of the schedule, as kernels/layout.h numbers them.
_SCHEDULE_ROWS = ("learning_rate", "momentum", "exaggeration", "step_cap", "stiffness_floor", "dilation")


class LayoutState:
    """Arrays on the device that are arguments of all kernels of a layout.

    Attributes
    ----------
    constants, state, schedule : cupy.ndarray
    mass : cupy.ndarray of shape (n,), float32
        The factor of each point's unnormalised repulsion.
    mobility : cupy.ndarray of shape (n,), float32
        The factor of each point's moves; one value that no kernel reads if all points are free.
    limits_moves : bool
        Whether some point is not free.
    """

    def __init__(self, graph: RelabelledGraph, recipe: Recipe, seed: int, mobility: np.ndarray | None = None):
        cp = cupy()
        n = len(graph)
        schedule = recipe.schedule(n)
        sampled = recipe.repulsion_for(n) is Repulsion.SAMPLED
        constants = np.zeros((), _CONSTANTS)
        constants["seed"] = seed
        constants["n"] = n
        constants["epochs"] = max(1, len(schedule))
        constants["partition"] = recipe.partition or 0.0
        constants["run_length"] = min(recipe.negatives, n) if sampled else n
        constants["expansion_begin"], constants["expansion_end"] = schedule.expansion
        constants["sampling"] = engine.Sampling[recipe.sampling.value].value
        constants["curve"] = *recipe.kernel(), recipe.dof
        # The rate belongs to the unnormalised setting; steer() multiplies it in both.
        self._repulsion_rate = np.float32(1 if recipe.normalized else recipe.repulsion_rate)
        constants["repulsion_rate"] = self._repulsion_rate
        for name in ("repulsion_epsilon", "force_scale"):
            constants[name] = getattr(recipe, name)
        constants["gradient_clip"] = math.inf if recipe.gradient_clip is None else recipe.gradient_clip
        constants["momentum_after_stop"] = schedule.momentum_after_stop
        constants["repeats"] = 2 if recipe.symmetric_attraction else 1
        constants["rate_in_points"] = recipe.learning_rate_unit is LearningRateUnit.POINTS
        constants["horizon"] = recipe.horizon or 0.0
        self.constants = upload(constants)
        load_kernels("layout_graph").get_function("derive")(
            (1,),
            (1024,),
            (
                self.constants,
                graph.strength,
                graph.offsets[-1:],
                np.int32(recipe.non_edge_weight is NonEdgeWeight.MEAN),
            ),
        )
        self._exaggeration = schedule.exaggeration
        self.schedule = cp.asarray(np.stack([getattr(schedule, name) for name in _SCHEDULE_ROWS]))
        by_strength = recipe.repulsion_mass is RepulsionMass.STRENGTH
        self.mass = graph.strength if by_strength else graph.degree.astype(np.float32)
        self.limits_moves = mobility is not None and bool((mobility != 1).any())
        self.mobility = (
            cp.asarray(mobility).take(graph.order) if self.limits_moves else cp.ones(1, np.float32)
        )
        self.state = _first_state(graph.points)

    def steer(self, exaggeration: float, repulsion: float) -> None:
        """Multiply what later epochs read by factors, in the arrays that the recorded launches read."""
        cp = cupy()
        steered = self._exaggeration * np.float32(exaggeration)
        self.schedule[_SCHEDULE_ROWS.index("exaggeration")] = cp.asarray(steered)
        assert _CONSTANTS.fields is not None
        begin = _CONSTANTS.fields["repulsion_rate"][1]
        self.constants[begin : begin + 4].view(np.float32)[...] = self._repulsion_rate * np.float32(repulsion)

    def measure_replaced(self, points: Array, epoch: int) -> None:
        """Make the box before this epoch that of the points, which have been replaced."""
        assert STATE.fields is not None
        begin = STATE.fields["box"][1] + EMPTY_BOX.nbytes * (epoch % 3)
        box = self.state[begin : begin + EMPTY_BOX.nbytes].view(np.int32)
        box[...] = cupy().asarray(EMPTY_BOX)
        measure_box(points, box)


def _first_state(points: Array) -> Array:
    """The state before epoch 0, with the bounding box of the points' first axes; on the device."""
    record = np.zeros((), STATE)
    record["box"] = EMPTY_BOX
    state = upload(record)
    assert STATE.fields is not None
    measure_box(points, state[STATE.fields["box"][1] :])
    return state


def from_ordered(bits: np.ndarray) -> np.ndarray:
    """Decode the integers of ordered() of kernels/layout.h, which sort like the floats they encode."""
    return np.where(bits >= 0, bits, bits ^ 0x7FFFFFFF).astype(np.int32).view(np.float32)


def repulsion_on_gpu(recipe: Recipe, n: int) -> Repulsion:
    """How a GPU computes the repulsion of a recipe among n points: among few, exact sums replace the tree."""
    repulsion = recipe.repulsion_for(n)
    return tree_or_exact(n) if repulsion is Repulsion.BARNES_HUT else repulsion


def tree_or_exact(n: int) -> Repulsion:
    """The faster of the methods that know no bounds of the map."""
    return Repulsion.EXACT if n < TREE_MIN_POINTS else Repulsion.BARNES_HUT


def upload(record: np.ndarray) -> Array:
    """Copy the bytes of a record to the device."""
    return cupy().asarray(np.frombuffer(record.tobytes(), np.uint8))


def kernel_shape(recipe: Recipe) -> str:
    """The enumerator of Shape of ``_native/layout/kernel.h`` for a recipe's similarity curve."""
    if recipe.dof != 1:
        return "tailed"
    return "powered" if recipe.kernel() != (1.0, 1.0) else "unit"


def potential_kinds(recipe: Recipe) -> tuple[str, ...]:
    """The potentials whose gradients repel, as names of PotentialKind; some losses have two if normalised."""
    kinds = engine.potential_kinds(engine.Loss[recipe.loss.value], recipe.normalized)
    return tuple(kind.name for kind in kinds)


def force_macros(recipe: Recipe) -> dict[str, Any]:
    """The macros of kernels/layout.h."""
    return {
        "DIMENSIONS": recipe.n_components,
        "SHAPE": f"Shape::{kernel_shape(recipe)}",
        "LOSS": engine.Loss[recipe.loss.value].value,
    }
