"""Measurements in processes of their own (`studies.bench.case`), one after the other."""

import json
import os
import subprocess
import sys

__all__ = ["answers"]


def answers(*, limit_s: float = 600.0, float64: bool = False, **request: object) -> tuple[list[dict], bool]:
    """What a measurement printed until it ended or until the limit, and whether it ended.

    BLAS gets one thread per call, with which the plain path and Radau are fastest.
    """
    precision = {"JAX_ENABLE_X64": str(int(float64))}
    environment = {**os.environ, **precision, "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "studies.bench.case", json.dumps(request)]
    try:
        done = subprocess.run(command, env=environment, timeout=limit_s, stdout=subprocess.PIPE, check=True)
        printed, ended = done.stdout, True
    except subprocess.TimeoutExpired as stopped:
        printed, ended = stopped.stdout or b"", False
    # a line that the limit cut off has no end
    return [json.loads(line) for line in printed.decode().splitlines(keepends=True) if line.endswith("\n")], ended
