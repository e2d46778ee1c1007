"""The demo unmixes a recording whose mixture is known, with the bundle that ships."""

from typer.testing import CliRunner

from tests.cli.commands import json_object
from unmixnet.cli import app


def test_the_demo_finds_the_mixture_and_writes_its_report(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "demo"), "--json"])
    assert done.exit_code == 0, done.output
    components = json_object(done.stdout)["components"]
    by_name = {component["name"]: component for component in components}
    assert {component["name"] for component in components[:2]} == {"peach", "garlic"}
    for name in ("peach", "garlic"):
        assert by_name[name]["low"] <= 0.5 <= by_name[name]["high"]
    assert (tmp_path / "demo" / "index.html").is_file()
