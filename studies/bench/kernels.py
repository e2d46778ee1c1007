"""How many kernels a compiled rollout launches per step, and the arithmetic of its matrix products, from XLA's text.

A *kernel* is an instruction of the scan's body, forward and (if there is one) backward, that does work of its own: a
fusion, a library call, a product, a reduction, a copy or any other operation that was left alone. Names of buffers
(tuples, bitcasts, parameters, constants) are none. A loop inside counts its body as often as it runs if the compiler
knows that; if not, once: the conjugate gradients take one iteration at the benchmark's odorant fraction. A loop of
unknown length that factorises matrices replaces an iteration that failed; it does not run here (`direct_solves` of the
row is zero) and is not counted.
"""

import math
import re
from dataclasses import dataclass

__all__ = ["Work", "work_per_step"]

_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"}
_HEADER = re.compile(r"^(?:ENTRY )?%?(\S+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?(\S+) = (\(.*?\)|\S+) ([a-z][a-z0-9-]*)\((.*)$")
_TRIPS = re.compile(r'known_trip_count[^0-9]*"?(\d+)')
_SHAPE = re.compile(r"\[([\d,]*)\]")
_CALLED = re.compile(r"(?:calls|to_apply|body|true_computation|false_computation)=%?([^\s,}]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")


@dataclass(frozen=True)
class Work:
    """Kernels launched, and floating-point operations of matrix products."""

    kernels: int = 0
    product_flop: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.kernels + other.kernels, self.product_flop + other.product_flop)

    def times(self, count: int) -> "Work":
        """Of `count` repetitions."""
        return Work(count * self.kernels, count * self.product_flop)


@dataclass(frozen=True)
class _Instruction:
    shape: str
    opcode: str
    rest: str
    """Operands and attributes."""

    @property
    def called(self) -> list[str]:
        """Computations that the instruction runs."""
        branches = [name.strip(" %") for group in _BRANCHES.findall(self.rest) for name in group.split(",")]
        return [*_CALLED.findall(self.rest), *branches]

    @property
    def trips(self) -> int | None:
        found = _TRIPS.search(self.rest)
        return int(found[1]) if found else None


_Computation = dict[str, _Instruction]


def work_per_step(program: str, n_steps: int) -> Work:
    """Work of one step of a scan over `n_steps`, from the text of a compiled program."""
    computations, entry = _parsed(program)
    scans = _scans(computations, entry, n_steps)
    return sum((_work(computations, body) for body in scans), Work())


def _parsed(program: str) -> tuple[dict[str, _Computation], str]:
    """Instructions by computation, and the name of the entry."""
    computations: dict[str, _Computation] = {}
    current, entry = "", ""
    for line in program.splitlines():
        if header := _HEADER.match(line):
            current = header[1]
            computations[current] = {}
            entry = current if line.startswith("ENTRY") else entry
        elif current and (found := _INSTRUCTION.match(line)):
            computations[current][found[1]] = _Instruction(*found.groups()[1:])
    return computations, entry


def _scans(computations: dict[str, _Computation], name: str, n_steps: int) -> list[str]:
    """Bodies of the outermost loops over the steps."""
    found = []
    for instruction in computations[name].values():
        if instruction.opcode == "while" and instruction.trips == n_steps:
            found += instruction.called
        elif instruction.opcode in ("while", "call", "conditional"):
            for called in instruction.called:
                found += _scans(computations, called, n_steps)
    return found


def _work(computations: dict[str, _Computation], name: str) -> Work:
    return sum((_of(computations, name, instruction) for instruction in computations[name].values()), Work())


def _of(computations: dict[str, _Computation], where: str, instruction: _Instruction) -> Work:
    inside = [_work(computations, called) for called in instruction.called if called in computations]
    match instruction.opcode:
        case "while":
            body = sum(inside, Work())
            if instruction.trips is not None:
                return body.times(instruction.trips)
            return Work() if any(_factorises(computations, called) for called in instruction.called) else body
        case "call":
            return sum(inside, Work())
        case "conditional":
            return max(inside, key=lambda work: work.kernels)
        case "dot":
            return Work(1, _flop(computations[where], instruction))
        case opcode if opcode in _FREE:
            return Work()
    return Work(1, sum(work.product_flop for work in inside))


def _factorises(computations: dict[str, _Computation], name: str) -> bool:
    """Whether a computation, or one that it runs, calls LAPACK."""
    return any(
        "lapack_" in each.rest or any(_factorises(computations, c) for c in each.called if c in computations)
        for each in computations[name].values()
    )


def _flop(computation: _Computation, dot: _Instruction) -> int:
    """Two operations per entry of the result and contracted index."""
    left = dot.rest.split(",")[0].split(")")[0].split()[-1].lstrip("%")
    sizes = _sizes(computation[left].shape)
    contracted = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", dot.rest)
    axes = [int(axis) for axis in contracted[1].split(",") if axis] if contracted else []
    return 2 * math.prod(_sizes(dot.shape)) * math.prod(sizes[axis] for axis in axes)


def _sizes(shape: str) -> list[int]:
    found = _SHAPE.search(shape)
    return [int(size) for size in found[1].split(",") if size] if found else []
