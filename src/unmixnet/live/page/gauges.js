// How far to trust the answer, in numbers and plain words; and whether the physics closes.

import { el, setText } from "./dom.js";
import { factor, percent, power, times } from "./numbers.js";

const clamp = (value) => 100 * Math.min(Math.max(value, 0), 1);
const logAt = (value, low, high) => (value > 0 ? clamp(Math.log(value / low) / Math.log(high / low)) : 0);

// name, shaded part, and the description of an estimate: [number, place of the dot in %, words]
const TILES = [
  {
    name: "Strength",
    shade: (e) => logAt(e.background ?? 0, 0.02, 5),
    describe: (e) => [`${times(e.strength)}×`, logAt(e.strength ?? 0, 0.02, 5), strengthWords(e)],
  },
  {
    name: "Familiarity",
    shade: () => clamp(1 + Math.log10(0.05) / 3),
    describe: (e) => e.status === "nothing" ? ["–", 0, "There is no signal to compare."] : [percent(e.novelty), clamp(1 + Math.log10(Math.max(e.novelty ?? 0, 1e-3)) / 3), familiarWords(e)],
  },
  {
    name: "Fit",
    shade: () => 0,
    describe: (e) => [`±${factor(e.residual)}`, clamp(1 - (e.residual ?? 1)), fitWords(e)],
  },
  {
    name: "Drift",
    shade: () => 0,
    describe: (e) => describeDrift(e),
  },
];

function strengthWords({ strength, background }) {
  if (strength === null || strength === undefined) return "Not known yet.";
  const like = strength >= 0.8 && strength <= 1.25 ? "As strong as a typical training recording" : `${times(strength)} times a typical training recording`;
  return background === null || background === undefined ? `${like}.` : `${like}; under ${factor(background)} nothing is claimed.`;
}

function familiarWords({ novelty }) {
  if (novelty === null || novelty === undefined) return "How strange it looks is not known.";
  const kind = novelty < 0.05 ? "strange" : novelty < 0.2 ? "unusual" : "ordinary";
  return `Looks ${kind}: ${novelty <= 0 ? "none" : percent(novelty)} of the known recordings look at least as strange.`;
}

function fitWords({ status, residual }) {
  if (status === "nothing") return "There is no signal to explain.";
  if (residual === null || residual === undefined) return "Not known yet.";
  const kind = residual < 0.15 ? "closely" : residual < 0.4 ? "roughly" : "badly";
  return `The physics follows the sensors ${kind}: a typical miss is ${factor(residual)} times the spread in training.`;
}

function describeDrift({ drift, channels }) {
  const sizes = (drift ?? []).map((value) => Math.abs(value ?? 0));
  if (!sizes.length) return ["–", 0, "The level of clean air is not known yet."];
  const worst = sizes.indexOf(Math.max(...sizes));
  const size = sizes[worst];
  const name = channels?.[worst] || "one sensor";
  const words = size < 0.5 ? "The level of clean air has not moved." : size < 1.5 ? `The level of clean air has moved a little, most of all at ${name}.` : `The level of clean air has moved at ${name}: record clean air and calibrate.`;
  return [factor(size), clamp(size / 3), words];
}

export class Gauges {
  constructor(host) {
    this.tiles = TILES.map((tile) => {
      const parts = { tile, number: el("b", { class: "big" }, "–"), shade: el("i", { class: "shade" }), dot: el("i", { class: "dot", hidden: true }), words: el("p") };
      parts.card = el("div", { class: "card tile" }, el("h3", {}, tile.name), parts.number, el("div", { class: "gauge", "aria-hidden": "true" }, parts.shade, parts.dot), parts.words);
      return parts;
    });
    host.replaceChildren(...this.tiles.map((parts) => parts.card));
  }

  draw(estimate) {
    for (const { tile, number, shade, dot, words } of this.tiles) {
      const [big, at, text] = tile.describe(estimate);
      setText(number, big);
      setText(words, text);
      dot.hidden = big === "–";
      dot.style.left = `${at}%`;
      shade.style.width = `${tile.shade(estimate)}%`;
    }
  }
}

const LAWS = [
  ["mass_error", "No odorant appears or vanishes"],
  ["flux_residual", "Diffusion obeys Maxwell and Stefan"],
  ["flux_sum", "What diffuses one way comes back as air"],
  ["simplex_error", "Every sensor site is empty or taken once"],
];

export function drawLaws(host, closure) {
  if (!host.children.length) {
    host.append(...LAWS.map(() => el("li", {}, el("b"), el("span"))));
  }
  LAWS.forEach(([key, words], i) => {
    const value = closure?.[key];
    const known = typeof value === "number";
    const state = !known ? "" : value <= 1e-4 ? "closes" : value <= 1e-2 ? "nearly" : "open";
    const [title, text] = host.children[i].children;
    setText(title, `${{ closes: "✓ ", nearly: "≈ ", open: "✗ ", "": "" }[state]}${words}`);
    title.className = state;
    setText(text, known ? `relative error ${power(value)}` : "not known yet");
  });
}
