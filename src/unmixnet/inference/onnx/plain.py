"""A traced program in plain operations that ONNX has: calls inlined, complex numbers in pairs, constants folded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend import core

from unmixnet.errors import UnmixError

__all__ = ["ExportError", "plain"]


class ExportError(UnmixError):
    """A model that could not be exported, or whose export differs from it."""


_CALLS = {"jit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "remat2": "jaxpr"}
"""Operations that only call a program, and the parameter that holds it."""


@dataclass(frozen=True)
class _Pair:
    """A complex number."""

    re: Any
    im: Any


def plain(f: Callable[..., Any], *like: jax.ShapeDtypeStruct) -> Callable[..., tuple[Any, ...]]:
    """f, from arrays like these to a flat tuple of arrays, as plain operations."""
    traced = jax.make_jaxpr(f)(*like)
    return _folded(jax.make_jaxpr(lambda *given: tuple(_call(traced, given)))(*like))


def _folded(closed: core.ClosedJaxpr) -> Callable[..., tuple[Any, ...]]:
    """The program with everything computed that does not depend on its input."""
    jaxpr, fixed, rest = closed.jaxpr, [], []
    known = set(jaxpr.constvars)
    for eqn in jaxpr.eqns:
        sized = all(isinstance(length, int) for v in eqn.outvars for length in v.aval.shape)
        if sized and all(isinstance(v, core.Literal) or v in known for v in eqn.invars):
            fixed.append(eqn)
            known.update(eqn.outvars)
        else:
            rest.append(eqn)
    used = [*(v for eqn in rest for v in eqn.invars), *jaxpr.outvars]
    wanted = [v for v in dict.fromkeys(v for v in used if not isinstance(v, core.Literal)) if v in known]

    def before(consts: Sequence[Any]) -> list[Any]:
        return _evaluate(fixed, dict(zip(jaxpr.constvars, consts, strict=True)), wanted)

    values = [np.asarray(value) for value in jax.jit(before)(closed.consts)]

    def after(*given: Any) -> tuple[Any, ...]:
        env = dict(zip([*wanted, *jaxpr.invars], [*values, *given], strict=True))
        return tuple(_evaluate(rest, env, jaxpr.outvars))

    return after


def _evaluate(eqns: Sequence[Any], env: dict[Any, Any], wanted: Sequence[Any]) -> list[Any]:
    """Bind operations as they are."""
    for eqn in eqns:
        outputs = eqn.primitive.bind(*(_read(env, v) for v in eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, outputs if eqn.primitive.multiple_results else [outputs], strict=True))
    return [_read(env, v) for v in wanted]


def _read(env: dict[Any, Any], v: Any) -> Any:
    return v.val if isinstance(v, core.Literal) else env[v]


# ---------------------------------------------------------------- rewriting


def _call(closed: Any, given: Sequence[Any]) -> list[Any]:
    """Run a program with every operation rewritten."""
    jaxpr, consts = (closed.jaxpr, closed.consts) if hasattr(closed, "consts") else (closed, ())
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *given], strict=True))
    for eqn in jaxpr.eqns:
        outputs = _rewritten(eqn, [_read(env, v) for v in eqn.invars])
        env.update(zip(eqn.outvars, outputs, strict=True))
    return [_read(env, v) for v in jaxpr.outvars]


def _rewritten(eqn: Any, given: list[Any]) -> Sequence[Any]:
    name, params = eqn.primitive.name, eqn.params
    if name in _CALLS:
        return _call(params[_CALLS[name]], given)
    if name in _RULES:
        return _RULES[name](params, given)
    if any(isinstance(value, _Pair) for value in given):
        return [_complex(name, *map(_pair, given))]
    outputs = eqn.primitive.bind(*given, **params)
    return outputs if eqn.primitive.multiple_results else [outputs]


def _linear_solve(params: Any, given: list[Any]) -> list[Any]:
    many = params["const_lengths"]
    start, end = many.matvec + many.vecmat, sum(many)
    return _call(params["jaxprs"].solve, [*given[start : start + many.solve], *given[end:]])


def _scan(params: Any, given: list[Any]) -> list[Any]:
    first, count = params["num_consts"], params["num_carry"]
    consts, start, along = given[:first], given[first : first + count], given[first + count :]

    def body(carry: Sequence[Any], x: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        outputs = _call(params["jaxpr"], [*consts, *carry, *x])
        return tuple(outputs[:count]), tuple(outputs[count:])

    end, saved = lax.scan(body, tuple(start), tuple(along), length=params["length"], reverse=params["reverse"])
    return [*end, *saved]


def _while(params: Any, given: list[Any]) -> list[Any]:
    a, b = params["cond_nconsts"], params["body_nconsts"]
    tested, used, start = given[:a], given[a : a + b], given[a + b :]
    if _holds(params["body_jaxpr"].jaxpr, "lu"):
        return start

    def going(carry: Sequence[Any]) -> Any:
        return _call(params["cond_jaxpr"], [*tested, *carry])[0]

    def turn(carry: Sequence[Any]) -> tuple[Any, ...]:
        more, outputs = going(carry), _call(params["body_jaxpr"], [*used, *carry])
        return tuple(_kept(more, new, old) for new, old in zip(outputs, carry, strict=True))

    def any_going(carry: Sequence[Any]) -> Any:
        more = going(carry)
        return lax.reduce_or(more, tuple(range(more.ndim)))

    return list(lax.while_loop(any_going, turn, tuple(start)))


def _kept(more: Any, new: Any, old: Any) -> Any:
    """The new state of the loops that go on, the old one of the others."""
    return lax.select(lax.broadcast_in_dim(more, new.shape, range(more.ndim)), new, old) if more.ndim else new


def _holds(jaxpr: Any, name: str) -> bool:
    """Whether an operation is anywhere in a program."""
    inner = [getattr(value, "jaxpr", value) for eqn in jaxpr.eqns for value in jax.tree.leaves(eqn.params, is_leaf=_is)]
    return any(eqn.primitive.name == name for eqn in jaxpr.eqns) or any(
        _holds(program, name) for program in inner if _is(program)
    )


def _is(value: Any) -> bool:
    return hasattr(value, "eqns")


def _no_lu(params: Any, given: list[Any]) -> list[Any]:
    raise ExportError(
        "the solver of this model factorises dense matrices at every step, for which ONNX has no operator",
        remedy="Export the encoder alone; with the solver, only diffusion = 'exact', 'fick' or 'unconstrained' with "
        "edgewise = false can be exported",
    )


def _pair(value: Any) -> _Pair:
    if isinstance(value, _Pair):
        return value
    return _Pair(value.real, value.imag) if np.iscomplexobj(value) else _Pair(value, np.zeros((), value.dtype))


def _complex(name: str, p: _Pair, q: _Pair) -> _Pair:
    if name == "mul":
        return _Pair(p.re * q.re - p.im * q.im, p.re * q.im + p.im * q.re)
    if name == "div":
        size = 1 / (q.re * q.re + q.im * q.im)
        return _Pair((p.re * q.re + p.im * q.im) * size, (p.im * q.re - p.re * q.im) * size)
    raise ExportError(f"there is no rule for {name} of complex numbers", remedy="Export the encoder alone")


def _log1p(x: Any) -> Any:
    u = 1 + x
    tiny = lax.eq(u, lax.full_like(u, 1))
    return lax.select(tiny, x, lax.log(u) * (x / lax.select(tiny, lax.full_like(u, 1), u - 1)))


_RULES: dict[str, Callable[[Any, list[Any]], Sequence[Any]]] = {
    "stop_gradient": lambda _, given: given,
    "custom_linear_solve": _linear_solve,
    "scan": _scan,
    "while": _while,
    "lu": _no_lu,
    "complex": lambda _, given: [_Pair(*given)],
    "real": lambda _, given: [given[0].re],
    "imag": lambda _, given: [given[0].im],
    "logistic": lambda _, given: [1 / (1 + lax.exp(-given[0]))],
    "log1p": lambda _, given: [_log1p(given[0])],
    "expm1": lambda _, given: [lax.tanh(0.5 * given[0]) * (lax.exp(given[0]) + 1)],
}
