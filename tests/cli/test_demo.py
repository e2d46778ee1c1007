"""The demo unmixes a recording whose mixture is known, with the bundle that ships."""

import json

from typer.testing import CliRunner

from unmixnet.cli import app


def test_the_demo_finds_the_mixture_and_writes_its_report(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "demo"), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    found = {one["name"]: one for one in told["components"]}
    assert {one["name"] for one in told["components"][:2]} == {"peach", "garlic"}
    for name in ("peach", "garlic"):
        assert found[name]["low"] <= 0.5 <= found[name]["high"]
    assert (tmp_path / "demo" / "index.html").is_file()
