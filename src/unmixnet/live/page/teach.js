// Teaching: record labelled examples, train with progress, compare with the nearest neighbour, use.

import { $, el, handled, request, setText, show } from "./dom.js";
import { clock, points, recipe } from "./numbers.js";
import { Parts, Picks } from "./parts.js";
import { begin } from "./record.js";

let parts = null;
let picks = null;
let canRelease = false;
let running = null;

export function start() {
  parts = new Parts($("example-parts"), $("example-more"), { free: true });
  picks = new Picks($("teach-list"), (recording) => recording.name.startsWith("example: "));
  $("example-form").addEventListener("submit", handled(() => {
    const label = parts.value();
    return begin({ name: `example: ${recipe(label.map((part) => ({ ...part, share: part.share / 100 })))}`.slice(0, 80), label, seconds: Number($("example-seconds").value), release: $("example-release").checked && canRelease });
  }));
  $("teach-form").addEventListener("submit", handled(() => request("/api/lesson", { name: $("teach-name").value.trim(), recordings: picks.chosen() })));
  setInterval(() => drawLesson(running), 1000); // the server may not send progress for a while
  $("lesson-stop").addEventListener("click", handled(() => request("/api/lesson/stop")));
}

export function drawState(value) {
  canRelease = value.source.can_release;
  show($("example-release").parentElement, canRelease);
  const fit = value.recordings.filter((recording) => recording.fits && recording.label.length && !recording.clean_air);
  const known = fit.flatMap((recording) => recording.label.map((part) => part.name));
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
  setText($("lesson-status"), `Training ${lesson.name}: ${lesson.stage}${lesson.of > 1 ? `, epoch ${lesson.done} of ${lesson.of}` : ""}; ${clock(Date.now() / 1000 - lesson.started)} so far.`);
  $("lesson-progress").value = lesson.of ? lesson.done / lesson.of : 0;
}

const SCORES = ["leave-one-out error", "of 1-NN", "of the mean recipe"];

function drawModels({ lessons }) {
  const using = (id) => lessons.used === id;
  const row = (id, name, note, scores) => el("tr", {},
    el("td", {}, el("span", { class: "name" }, name), el("span", { class: "soft" }, note)),
    ...scores.map((score, i) => el("td", { class: "n", "data-label": SCORES[i] }, score === null ? null : points(score))),
    el("td", {}, el("div", { class: "acts" }, using(id)
      ? el("b", { class: "closes" }, "in use")
      : el("button", { type: "button", on: { click: handled(() => request(`/api/models/${id ?? "first"}/use`)) } }, "Use it"))));
  const head = el("tr", {}, el("th", {}, "model"), ...SCORES.map((name) => el("th", { class: "n" }, name)), el("th"));
  const first = row(null, lessons.first, "the one that this session began with", [null, null, null]);
  const taught = lessons.models.map((model) => row(model.id, model.name, `${model.components.join(", ")}; ${model.recordings} recordings, ${model.how}`, [model.leave_one_out, model.nearest, model.mean]));
  const failed = lessons.failed ? [el("p", { class: "note bad", role: "alert" }, lessons.failed)] : [];
  $("models").replaceChildren(...failed, el("div", { class: "scroll" }, el("table", {}, head, first, ...taught)));
}
