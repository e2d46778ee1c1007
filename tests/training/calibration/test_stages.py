"""The schedule is the supplement's, and a stage has the same name in every process."""

import os
import subprocess
import sys

from unmixnet.training.calibration.losses import JOINT, MIXTURE, PURE, schedule


def test_pure_and_mixture_share_nothing_and_joint_frees_both():
    assert not PURE & MIXTURE
    assert JOINT == PURE | MIXTURE
    pure, mixture, joint = schedule(4, release="rise-decay")
    assert (pure.recordings, mixture.recordings, joint.recordings) == ("pure", "mixtures", "all")
    assert (pure.weights.mix, mixture.weights.H) == (0, 0)


def test_a_constant_release_has_no_time_constants():
    assert not {"rise", "decay"} & schedule(4, release="constant")[-1].free


def test_another_process_calls_a_stage_the_same():
    code = "from unmixnet.training.calibration.losses import schedule\n"
    code += "print(*(s.tag for s in schedule(4, release='constant')))"
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == " ".join(stage.tag for stage in schedule(4, release="constant"))
