"""Faults in the generators of data for trends."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

DATA = ("tests/generate/test_trend_data.py",)
BLOCKS = ("tests/generate/test_generate.py", *DATA)

GENERATORS = (
    Mutant(
        "generators: a ring stays at its bank",
        "generate/checks.py",
        "step = (first_bank[ring] + second) % circle",
        "step = first_bank[ring] % circle",
        DATA,
    ),
    Mutant(
        "generators: rings share banks",
        "generate/checks.py",
        "np.where(uncovered, ring * circle + step, source)",
        "np.where(uncovered, step, source)",
        DATA,
    ),
    Mutant(
        "generators: a share of checks loses a ring to rounding",
        "generate/checks.py",
        "int(self.rate * self.selectivity * (1 + 1e-12))",
        "int(self.rate * self.selectivity)",
        DATA,
    ),
    Mutant(
        "generators: a covered check stays in its bank",
        "generate/checks.py",
        "(source + 1 + (distances",
        "(source + (distances",
        DATA,
    ),
    Mutant(
        "generators: uncovered checks come first in a second",
        "generate/checks.py",
        "uncovered = (place + 1) * n_uncovered // rate > before",
        "before = np.minimum(place, n_uncovered)\n        uncovered = place < n_uncovered",
        DATA,
    ),
    Mutant(
        "generators: runs start anew in every block",
        "generate/cluster.py",
        "    n_before += counts\n",
        "    n_before += 0 * counts\n",
        BLOCKS,
    ),
    Mutant(
        "generators: CPU does not reach its top",
        "generate/cluster.py",
        "cpu.random(n) * (_MAX_USE + 1)",
        "cpu.random(n) * _MAX_USE",
        DATA,
    ),
    Mutant(
        "generators: exits drawn in a row all count",
        "generate/transport.py",
        "exits = drawn & ((leg - stays) % 2 == 1)",
        "exits = drawn",
        DATA,
    ),
    Mutant(
        "generators: passengers forget over blocks that they stayed",
        "generate/transport.py",
        "np.where(drawn, self._last_stay, leg)",
        "np.where(drawn, first - 2, leg)",
        BLOCKS,
    ),
    Mutant(
        "generators: a trip starts at another station",
        "generate/transport.py",
        "np.where(enters, 0, steps)",
        "steps",
        DATA,
    ),
    Mutant(
        "generators: stops are not in time order",
        "generate/transport.py",
        'np.argsort(second, axis=None, kind="stable")',
        "np.arange(second.size)",
        BLOCKS,
    ),
    Mutant(
        "generators: a session starts with a jump of the heart rate",
        "generate/activity.py",
        "before = np.maximum(place - 1, 0)",
        "before = np.maximum(place - 1, place // 18 * 18)",
        DATA,
    ),
    Mutant(
        "generators: active activities surge, too",
        "generate/activity.py",
        "surges = (activity < len(PASSIVE)) & (u[0] < self._parameters.surges)",
        "surges = u[0] < self._parameters.surges",
        DATA,
    ),
    Mutant(
        "generators: a surge does not come down",
        "generate/activity.py",
        "np.minimum(since_s, 2 * SURGE_S - since_s)",
        "np.minimum(since_s, SURGE_S)",
        DATA,
    ),
)
