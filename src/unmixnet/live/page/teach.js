// Teaching: record labelled examples, train with progress, compare with the nearest neighbour, use.

import { $, ask, doing, el, say, show } from "./dom.js";
import { clock, points, recipe } from "./numbers.js";
import { Parts, Picks } from "./parts.js";
import { begin } from "./record.js";

let parts = null;
let picks = null;
let canRelease = false;
let running = null;

export function start() {
  parts = new Parts($("example-parts"), $("example-more"), { free: true });
  picks = new Picks($("teach-list"), (one) => one.name.startsWith("example: "));
  $("example-form").addEventListener("submit", doing(() => {
    const label = parts.value();
    return begin({ name: `example: ${recipe(label.map((part) => ({ ...part, share: part.share / 100 })))}`.slice(0, 80), label, seconds: Number($("example-seconds").value), release: $("example-release").checked && canRelease });
  }));
  $("teach-form").addEventListener("submit", doing(() => ask("/api/lesson", { name: $("teach-name").value.trim(), recordings: picks.chosen() })));
  setInterval(() => drawLesson(running), 1000); // it may be a while before the server has news
  $("lesson-stop").addEventListener("click", doing(() => ask("/api/lesson/stop")));
}

export function drawState(value) {
  canRelease = value.source.can_release;
  show($("example-release").parentElement, canRelease);
  const fit = value.recordings.filter((one) => one.fits && one.label.length && !one.clean_air);
  const known = fit.flatMap((one) => one.label.map((part) => part.name));
  parts.offerNames([...new Set([...known, ...(canRelease ? value.source.releases : [])])]);
  picks.draw(fit, "No labelled example yet.");
  drawLesson(value.lessons.running);
  $("teach-go").disabled = Boolean(value.lessons.running);
  drawModels(value);
}

export function drawLesson(lesson) {
  running = lesson;
  show($("lesson"), Boolean(lesson));
  if (!lesson) return;
  say($("lesson-told"), `Training ${lesson.name}: ${lesson.stage}${lesson.of > 1 ? `, epoch ${lesson.done} of ${lesson.of}` : ""}; ${clock(Date.now() / 1000 - lesson.started)} so far.`);
  $("lesson-progress").value = lesson.of ? lesson.done / lesson.of : 0;
}

const SCORES = ["leave-one-out error", "of 1-NN", "of the mean recipe"];

function drawModels({ lessons }) {
  const using = (id) => lessons.used === id;
  const row = (id, name, told, scores) => el("tr", {},
    el("td", {}, el("span", { class: "name" }, name), el("span", { class: "soft" }, told)),
    ...scores.map((score, i) => el("td", { class: "n", "data-label": SCORES[i] }, score === null ? null : points(score))),
    el("td", {}, el("div", { class: "acts" }, using(id)
      ? el("b", { class: "closes" }, "in use")
      : el("button", { type: "button", on: { click: doing(() => ask(`/api/models/${id ?? "first"}/use`)) } }, "Use it"))));
  const head = el("tr", {}, el("th", {}, "model"), ...SCORES.map((name) => el("th", { class: "n" }, name)), el("th"));
  const first = row(null, lessons.first, "the one that this session began with", [null, null, null]);
  const taught = lessons.models.map((one) => row(one.id, one.name, `${one.components.join(", ")}; ${one.recordings} recordings, ${one.how}`, [one.leave_one_out, one.nearest, one.mean]));
  const failed = lessons.failed ? [el("p", { class: "told bad", role: "alert" }, lessons.failed)] : [];
  $("models").replaceChildren(...failed, el("div", { class: "scroll" }, el("table", {}, head, first, ...taught)));
}
