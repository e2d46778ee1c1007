"""What a page is told of the source and of the model, as plain values; texts from outside are cut and made visible."""

from typing import TYPE_CHECKING, Any

from unmixnet.inference.report.safe import clipped, plain
from unmixnet.live.recordings import label_json

if TYPE_CHECKING:
    from unmixnet.live.hub import Live

__all__ = ["model_json", "source_json"]


def source_json(live: "Live") -> dict[str, Any]:
    """The source: what it is, what came from it, what it can do."""
    source, heard = live.source, live.listener
    return {
        "name": clipped(plain(source.name), 120),
        "status": heard.status,
        "unit": clipped(plain(source.unit), 40),
        "channels": [clipped(plain(name), 60) for name in heard.channels],
        **heard.told(),
        "room": heard.backlog.most,
        "trouble": heard.trouble,
        "can_release": hasattr(source, "release"),
        "truth": label_json(live.truth),
        "releases": [plain(name) for name in getattr(source, "components", ())],
    }


def model_json(live: "Live") -> dict[str, Any]:
    """The model: what it knows, and whether it answers."""
    bundle = live.bundle
    return {
        "name": clipped(plain(bundle.name), 60),
        "components": [plain(name) for name in bundle.components],
        "channels": [plain(name) for name in bundle.ready.channels],
        "window_s": bundle.config.data.window_s,
        "ready": live.ready,
        "trouble": live.trouble,
    }
