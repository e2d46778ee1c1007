"""The README's code runs and does what it says."""

import re
from pathlib import Path

import numpy as np

from unmixnet import example_recording

README = Path(__file__).parents[1] / "README.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_two_lines_that_unmix_a_file_do_so():
    own = {"smellnet-mixture": "simulated", "a.csv": str(example_recording())}
    code = re.sub("|".join(map(re.escape, own)), lambda name: own[name[0]], blocks()[0])
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    answer = names["answer"]
    assert answer.verdict == "mixture"
    np.testing.assert_allclose(answer.ratios.sum(), 1, atol=1e-5)


def test_the_ten_lines_that_train_and_predict_do_so():
    code = blocks()[1]
    quick = code.replace("epochs=100, schooling=2000", "epochs=1, closure=False")
    assert quick != code
    names: dict = {}
    exec(compile(quick, "README.md", "exec"), names)
    shares = names["model"].predict(names["X_new"])
    assert shares.shape == names["y_new"].shape
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)


def test_the_simulation_runs_and_its_slopes_have_the_signs_of_the_sensors():
    code = blocks()[2]
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["batch"].shape == (32, 360, 4)
    assert names["slopes"].shape == (4, 3)
    assert np.all(names["slopes"][0] < 0), "the oxidising channel falls"
    assert names["slopes"][1, 0] > 0, "the ethanol channel rises with ethanol"


def test_every_file_that_the_readme_links_to_exists():
    links = re.findall(r"\]\(((?!http)[^)#]+)", README.read_text(encoding="utf-8"))
    assert len(links) > 10
    missing = [link for link in links if not (README.parent / link).exists()]
    assert not missing
