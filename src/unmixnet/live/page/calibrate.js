// Calibrating: record clean air and references, fit, see before and after, undo.

import { $, el, handled, request, setText, show } from "./dom.js";
import { factor, points, recipe } from "./numbers.js";
import { Parts, Picks } from "./parts.js";
import { begin } from "./record.js";

let parts = null;
let picks = null;
let state = null;

export function start() {
  parts = new Parts($("reference-parts"), $("reference-more"));
  picks = new Picks($("calibrate-list"), (recording) => recording.clean_air || recording.name.startsWith("reference: "));
  $("air-form").addEventListener("submit", handled(() => begin({ name: "clean air", label: [{ name: "clean air", share: 1 }], seconds: Number($("air-seconds").value), release: state.source.can_release })));
  $("reference-form").addEventListener("submit", handled(() => {
    const label = parts.value();
    return begin({ name: `reference: ${recipe(label.map((part) => ({ ...part, share: part.share / 100 })))}`.slice(0, 80), label, seconds: Number($("reference-seconds").value), release: $("reference-release").checked && state.source.can_release });
  }));
  $("calibrate-form").addEventListener("submit", handled(calibrate));
}

async function calibrate() {
  const chosen = new Set(picks.chosen());
  const numbers = (air) => state.recordings.filter((recording) => chosen.has(recording.id) && recording.clean_air === air).map((recording) => recording.id);
  setText($("calibrate-status"), "Fitting gains and offsets …");
  try {
    await request("/api/calibration", { references: numbers(false), clean_air: numbers(true) });
    setText($("calibrate-status"), "Done.");
  } catch (error) {
    setText($("calibrate-status"), "");
    throw error;
  }
}

export function drawState(value) {
  state = value;
  parts.offerNames(value.model.components);
  show($("reference-release").parentElement, value.source.can_release);
  for (const id of ["air-seconds", "reference-seconds"]) atLeast($(id), Math.ceil(value.model.window_s + 0.5));
  const known = new Set(value.model.components);
  const fits = (recording) => recording.fits && recording.label.length && (recording.clean_air || recording.label.every((part) => known.has(part.name)));
  const offered = value.recordings.filter(fits);
  picks.draw(offered, "No recording of clean air or of a known mixture yet.");
  $("calibrate-go").disabled = value.calibration.busy || !offered.length;
  drawActive(value.calibration.active);
}

// A recording must be at least one window long.
function atLeast(input, seconds) {
  if (Number(input.min) === seconds) return;
  Object.assign(input, { min: seconds, value: seconds });
}

const METHODS = {
  none: "no gain or offset improves the references, so none is applied",
  offset: "offsets from the references",
  prototype: "offsets towards the expected signals",
  gain: "gains and offsets from the references",
  ridge: "a mixing of the sensors from the references",
  solver: "gains and offsets fitted through the physics",
  "clean-air": "offsets from clean air",
};

function drawActive(active) {
  const host = $("calibration");
  if (!active) {
    if (!state.calibration.busy) setText($("calibrate-status"), "");
    host.replaceChildren(el("h2", {}, "Not calibrated"), el("p", { class: "small" }, "The model reads the sensors as they are. Readings are counts."));
    return;
  }
  const changed = active.method !== "none";
  const number = (title, value) => el("div", {}, el("span", {}, title), el("b", {}, points(value)));
  const signed = (value) => `${value < 0 ? "−" : "+"} ${factor(Math.abs(value))}`;
  const rows = active.channels.map((name, m) => el("tr", {}, el("td", {}, name), el("td", { class: "n" }, `× ${factor(active.gain[m])}`), el("td", { class: "n" }, signed(active.offset[m]))));
  const head = el("tr", {}, el("th", {}, "sensor"), el("th", { class: "n" }, "gain"), el("th", { class: "n" }, "offset [training sd]"));
  const scores = active.before === null
    ? el("p", { class: "small" }, "Clean air alone cannot show how much this helps; a reference can.")
    : el("div", { class: "beside" }, number("mean error of the shares before", active.before), number(active.left_out ? "after, on references left out of the fit" : "after, on the same reference", active.after));
  host.replaceChildren(
    el("h2", {}, changed ? "Calibrated" : "Checked, and nothing to change"),
    el("p", { class: "small" }, `${when(active.date)} · ${active.device} · ${METHODS[active.method] ?? active.method}.`),
    scores,
    el("ul", { class: "plain" }, ...active.references.map((reference) => el("li", {}, shorter(reference)))),
    ...(changed ? [el("div", { class: "scroll" }, el("table", {}, head, ...rows))] : []),
    el("p", { class: "row" }, el("button", { type: "button", id: "calibration-undo", on: { click: handled(() => request("/api/calibration/undo")) } }, "Undo")),
  );
}

// "clean air (clean air)" → "clean air", "reference: mango (mango 100 %)" → "mango 100 %"
const shorter = (reference) => reference.replace(/^(.*) \(\1\)$/, "$1").replace(/^reference: .*\((.*)\)$/, "$1");

function when(date) {
  const known = new Date(date);
  return Number.isNaN(known.getTime()) ? date : known.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}
