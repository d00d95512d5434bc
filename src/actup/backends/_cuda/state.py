"""What every kernel of the layout reads: constants, the schedule, and the state the device changes."""

from __future__ import annotations

import math

import numpy as np

from actup._engine import engine
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.relabelled import NO_BOX, RelabelledGraph, measure_box
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
        *((name, np.float32) for name in ("gradient_clip", "rested_momentum", "repeats", "horizon")),
        *((name, np.float32) for name in ("p_max", "non_edge_weight", "mean_strength")),
    ]
)
STATE = np.dtype(
    [
        ("epoch", np.int32),
        ("rested", np.int32),
        ("rule", np.float32, 11),
        ("stop", np.int32),
        ("box", np.int32, (3, 4)),
    ]
)


class LayoutState:
    """Arrays on the device that all kernels of a layout are given.

    Attributes
    ----------
    constants, state, schedule : cupy.ndarray
    mass : cupy.ndarray of shape (n,), float32
        What a point's unnormalised repulsion is proportional to.
    """

    def __init__(self, graph: RelabelledGraph, recipe: Recipe, seed: int):
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
        for name in ("repulsion_rate", "repulsion_epsilon", "force_scale"):
            constants[name] = getattr(recipe, name)
        constants["gradient_clip"] = math.inf if recipe.gradient_clip is None else recipe.gradient_clip
        constants["rested_momentum"] = schedule.rested_momentum
        constants["repeats"] = 2 if recipe.symmetric_attraction else 1
        constants["rate_in_points"] = recipe.learning_rate_unit is LearningRateUnit.POINTS
        constants["horizon"] = recipe.horizon or 0.0
        self.constants = _upload(constants)
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
        rows = ("learning_rate", "momentum", "exaggeration", "step_cap", "stiffness_floor")
        self.schedule = cp.asarray(np.stack([getattr(schedule, name) for name in rows]))
        strong = recipe.repulsion_mass is RepulsionMass.STRENGTH
        self.mass = graph.strength if strong else graph.degree.astype(np.float32)
        self.state = _first_state(graph.points)


def _first_state(points):
    """Epoch 0, and the box of the points, of which the first two axes count; on the device."""
    state = np.zeros((), STATE)
    state["box"] = NO_BOX
    state = _upload(state)
    measure_box(points, state[STATE.fields["box"][1] :])
    return state


def from_ordered(bits: np.ndarray) -> np.ndarray:
    """The floats of integers that order as they do: ordered() of kernels/layout.h."""
    return np.where(bits >= 0, bits, bits ^ 0x7FFFFFFF).astype(np.int32).view(np.float32)


def _upload(record: np.ndarray):
    """A record's bytes on the device."""
    return cupy().asarray(np.frombuffer(record.tobytes(), np.uint8))


def force_macros(recipe: Recipe) -> dict[str, int]:
    """The macros of kernels/layout.h."""
    a, b = recipe.kernel()
    shape = 2 if recipe.dof != 1 else 1 if (a, b) != (1.0, 1.0) else 0
    return {
        "DIMENSIONS": recipe.n_components,
        "SHAPE": shape,
        "LOSS": engine.Loss[recipe.loss.value].value,
    }
