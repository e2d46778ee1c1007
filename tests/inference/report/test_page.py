"""The page needs nothing but itself, says what the answer says, and keeps every name text."""

import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.files.printable import printable
from unmixnet.inference.report import headline
from unmixnet.inference.report.bars import axis_end, component_bars
from unmixnet.inference.report.page import render_page

from .hostile import HOSTILE
from .synthetic_answers import made_up

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Skeleton(HTMLParser):
    """Tags and attribute names in order, all visible text, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.words: list[str] = []
        self.titles: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.titles += [value for name, value in attrs if name == "title" and value is not None]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words).replace("\u00a0", " ")


def references(page: str) -> list[str]:
    """Whatever would make a browser fetch or run something that is not in the page."""
    found = re.findall(r"""(?:src|srcset|href|action|data|poster)\s*=\s*["']?([^"'>\s]+)""", page)
    outside = [target for target in found if target not in {"answer.json", "traces.csv", "states.csv"}]
    return outside + re.findall(r"@import|url\(|<script|<iframe|<link|\bon\w+=|https?://", page)


@pytest.mark.parametrize("kind", ["mixture", "nothing", "unlike", "empty"])
def test_the_page_is_whole_and_refers_to_nothing_outside(every_kind, kind):
    page = render_page(every_kind[kind])
    assert references(page) == []
    assert Skeleton(page).open == []
    assert not re.search(r"\bnan\b|\binf\b|None", Skeleton(page).text.split("How to read it")[0])


@pytest.mark.parametrize(
    "bad", ['<img src="https://x.org/a.png">', "<script>1</script>", "@import 'x'", "<b onclick=x>"]
)
def test_twin_an_outside_reference_is_seen(mixture, bad):
    assert references(render_page(mixture).replace("</main>", f"{bad}</main>"))


@pytest.mark.parametrize("kind", ["mixture", "nothing", "unlike"])
def test_the_page_says_the_verdict_and_greys_what_is_not_trusted(every_kind, kind):
    answer = every_kind[kind]
    page = render_page(answer)
    assert headline(answer) in Skeleton(page).text
    assert ('<main class="grey">' in page) == (kind != "mixture")
    assert ('class="banner"' in page) == (kind != "mixture")
    assert ("should not be trusted" in page) == (kind != "mixture")


def bars(drawn: str) -> list[tuple[float, float, float]]:
    """Width of each bar, start and end of its interval [% of the track]."""
    pattern = r'class="fill" style="width:([\d.]+)%".*?class="reach" style="left:([\d.]+)%;width:([\d.]+)%"'
    return [(float(w), float(a), float(a) + float(b)) for w, a, b in re.findall(pattern, drawn)]


def drawn_as_they_are(answer, drawn: str) -> bool:
    order, full = answer.ranking, axis_end(answer)
    said = np.array([answer.ratios[order], answer.low[order], answer.high[order]]).T
    return bool(np.allclose(np.array(bars(drawn)) * full / 100, said, atol=2e-4))


@given(seed=st.integers(0, 2**32 - 1), K=st.sampled_from([1, 2, 12, 50]))
def test_the_widths_of_the_bars_are_the_numbers(seed, K):
    rng = np.random.default_rng(seed)
    ratios = rng.dirichlet(np.full(K, 0.3))
    base = BASES[K]
    low, high = ratios * rng.uniform(0, 1, K), ratios + (1 - ratios) * rng.uniform(0, 1, K)
    answer = dataclasses.replace(base, ratios=ratios, low=low, high=high)
    assert drawn_as_they_are(answer, component_bars(answer))


BASES = {K: made_up(np.full(K, 1 / K), tuple(f"c{k}" for k in range(K))) for K in (1, 2, 12, 50)}


def test_twin_a_bar_of_another_width_is_seen(mixture):
    drawn = component_bars(mixture)
    assert drawn_as_they_are(mixture, drawn)
    assert not drawn_as_they_are(mixture, drawn.replace('"width:62.00%"', '"width:64.00%"'))


@pytest.mark.parametrize("K", [1, 50])
def test_one_or_fifty_components_and_sixteen_sensors_fit(K):
    answer = made_up(np.full(K, 1 / K), tuple(f"food {k}" for k in range(K)), tuple(f"R{m}" for m in range(16)))
    page = render_page(answer)
    read = Skeleton(page)
    assert read.open == [] and len(bars(page)) == K
    assert all(name in read.text for name in (*answer.components, *answer.channels))
    assert ("more components" in page) == (K == 50) and "8 more sensors" in page


def named_after(base, name: str):
    """The answer with the name in every place that a user or a model can write to."""
    states = dataclasses.replace(base.states, cells=(name, *base.states.cells[1:]), seats=())
    edges = tuple(f"{name} → {edge}" for edge in base.states.edges)
    return dataclasses.replace(
        base,
        components=(name, *base.components[1:]),
        channels=(name, *base.channels[1:]),
        recording=name,
        model=name,
        model_digest=name,
        unit=name,
        findings=(name,),
        confidence_note=name,
        states=dataclasses.replace(states, edges=edges),
    )


PURE = made_up(np.array([0.9, 0.1]), ("strawberry", "mango"))
CALM = Skeleton(render_page(named_after(PURE, "calm")))


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(name):
    page = render_page(named_after(PURE, name))
    page.encode("utf-8")
    read = Skeleton(page)
    assert read.tags == CALM.tags and read.open == []
    assert printable(name) in read.text
    assert not re.search("[\x00-\x08\x0e-\x1f\x7f\u202a-\u202e]", page)


@given(name=st.text(max_size=60))
def test_any_name_stays_text(name):
    assert Skeleton(render_page(named_after(PURE, name))).tags == CALM.tags


def test_twin_a_name_that_is_not_escaped_is_seen():
    bad = "<img src=x onerror=alert(1)>"
    page = render_page(named_after(PURE, bad)).replace("&lt;img src=x onerror=alert(1)&gt;", bad, 1)
    with pytest.raises(AssertionError):
        read = Skeleton(page)
        assert read.tags == CALM.tags


def test_every_colour_is_defined_for_light_and_for_dark(every_kind):
    page = "".join(render_page(answer) for answer in every_kind.values())
    sheet = page[page.index("<style>") : page.index("</style>")]
    light, dark = sheet.split("prefers-color-scheme: dark")[:2]
    dark = dark[: dark.index(".grey")]
    used = set(re.findall(r"var\((--[\w-]+)\)", page)) - {"--hue"}
    assert len(used) > 20
    for block in (light, dark):
        assert used <= set(re.findall(r"(--[\w-]+):", block))


def test_figures_take_their_colours_from_the_page(mixture):
    page = render_page(mixture)
    drawings = re.findall(r"<svg(?! viewBox=\"0 0 2[24] 2[24]\").*?</svg>", page, flags=re.DOTALL)
    assert len(drawings) >= 10
    assert not any(re.search(r"#[0-9a-fA-F]{3,6}\b|rgb\(", drawing) for drawing in drawings)


FIELDS = ("measured", "reconstructed", "window_ratios", "ratios", "low", "high", "presence")


def unsaid(page: str) -> bool:
    """No number that does not exist was written down as a word."""
    return not re.search(r"(?<![a-z])(nan|inf)(?![a-z])", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def test_twin_a_number_that_does_not_exist_is_seen(mixture):
    page = render_page(mixture)
    assert unsaid(page) and not unsaid(re.sub(r'd="M[\d.]+', 'd="Mnan', page, count=1))


@pytest.mark.parametrize("field", FIELDS)
def test_missing_numbers_leave_gaps_and_not_words(mixture, field):
    lost = dataclasses.replace(mixture, **{field: np.full_like(getattr(mixture, field), np.nan)})
    page = render_page(lost)
    assert Skeleton(page).open == [] and unsaid(page)


def test_missing_states_and_scalars_leave_gaps_and_not_words(mixture):
    states = mixture.states
    holed = {f: np.full_like(getattr(states, f), np.nan) for f in ("concentration_ppm", "flux_mol_m2_s", "coverage")}
    lost = dataclasses.replace(
        mixture,
        states=dataclasses.replace(states, **holed),
        strength=np.nan,
        background=np.nan,
        novelty=np.nan,
        fit=np.nan,
    )
    page = render_page(lost)
    assert Skeleton(page).open == [] and unsaid(page)


def test_a_page_alone_links_to_no_file_that_is_not_beside_it(every_kind):
    mixture = every_kind["mixture"]
    assert "href=" in render_page(mixture) and "href=" not in render_page(mixture, alone=True)
