// Recording, marking, releasing; the list of recordings.

import { $, el, handled, request, setText, show, toast } from "./dom.js";
import { clock, percent, recipe } from "./numbers.js";

let now = 0;
let state = null;

export function start(onAnswer) {
  $("record-form").addEventListener("submit", handled(toggle));
  $("mark-form").addEventListener("submit", handled(mark));
  $("rec-stop").addEventListener("click", handled(stop));
  $("release-form").addEventListener("submit", handled(release));
  $("release-air").addEventListener("click", handled(() => request("/api/release", { parts: [] })));
  for (const id of ["release-a", "release-b", "release-share"]) $(id).addEventListener("input", showRelease);
  $("air-now").addEventListener("click", handled(async () => {
    await request("/api/air");
    toast("Clean-air level set.");
  }));
  $("add-device").addEventListener("click", handled(async () => setText($("device-link"), `Open this once on the other device: ${(await request("/api/links")).link}`)));
  document.addEventListener("keydown", keys);
  unmixRecording = onAnswer;
}

let unmixRecording = () => {};

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  if (event.key === "m" || event.key === "M") handled(mark)(event);
  if (event.key === "r" || event.key === "R") handled(toggle)(event);
}

async function mark() {
  const text = $("mark-text").value.trim() || `mark ${1 + (state?.marks ?? []).filter((event) => event.kind === "mark").length}`;
  await request("/api/marks", { text });
  toast(`Marked: ${text}`);
}

async function toggle() {
  if (state?.recording) return stop();
  const name = $("record-name").value.trim() || `recording ${1 + (state?.recordings ?? []).length}`;
  return begin({ name });
}

export const begin = (recording) => request("/api/recording", recording);

async function stop() {
  await request("/api/recording/stop");
  toast("Recorded.");
}

// ---------------------------------------------------------------- release

function showRelease() {
  const share = Number($("release-share").value) / 100;
  const [a, b] = [$("release-a").value, $("release-b").value];
  setText($("release-recipe"), a === b ? `all ${a}` : `${percent(share)} ${a}, ${percent(1 - share)} ${b}`);
}

async function release() {
  const share = Number($("release-share").value);
  const [a, b] = [$("release-a").value, $("release-b").value];
  const parts = a === b ? [{ name: a, share: 1 }] : [{ name: a, share }, { name: b, share: 100 - share }];
  await request("/api/release", { parts: parts.filter((part) => part.share > 0) });
}

export function options(select, names, chosen) {
  if (select.dataset.names === JSON.stringify(names)) return;
  select.dataset.names = JSON.stringify(names);
  select.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
  if (names.includes(chosen)) select.value = chosen;
}

// ---------------------------------------------------------------- state from the server

export function drawState(value) {
  state = value;
  show($("release-form"), value.source.can_release);
  show($("air-now"), !value.source.can_release);
  drawTruth(value.source.truth);
  if (value.source.can_release) {
    options($("release-a"), value.source.releases, "mango");
    options($("release-b"), value.source.releases, "strawberry");
    showRelease();
  }
  const button = $("record-go");
  button.firstChild.textContent = value.recording ? "Stop " : "Record ";
  show($("recbar"), Boolean(value.recording));
  if (value.recording) setText($("rec-name"), value.recording.name);
  drawTime(now);
  drawMarks(value.marks);
  drawRecordings(value.recordings);
}

// The true mixture in the simulated chamber.
export function drawTruth(truth) {
  show($("truth"), Boolean(state?.source.can_release));
  setText($("truth"), `True mixture in the simulated chamber: ${truth.length ? recipe(truth) : "clean air"}.`);
}

export function drawTime(time) {
  now = time;
  const take = state?.recording;
  if (!take) return;
  const whole = take.until_s === null ? null : take.until_s - take.start_s;
  const past = Math.max(0, now - take.start_s);
  setText($("rec-time"), whole === null ? clock(past) : `${clock(past)} of ${clock(whole)}`);
  show($("rec-progress"), whole !== null);
  $("rec-progress").value = whole ? Math.min(past / whole, 1) : 0;
}

export function drawMarks(marks) {
  const rows = marks.slice(-8).reverse().map((mark) => el("li", {}, el("span", { class: "n" }, clock(mark.time_s)), el("span", {}, mark.text)));
  $("marks").replaceChildren(...(rows.length ? rows : [el("li", { class: "soft" }, "None yet. Press Mark, or the key M, when something happens.")]));
}

function drawRecordings(recordings) {
  const host = $("recordings");
  if (!recordings.length) {
    host.replaceChildren(el("p", { class: "empty" }, "None yet. Press Record, or the key R, to start and stop one."));
    return;
  }
  const rows = recordings.slice(-8).reverse().map((recording) => el("tr", {},
    el("td", {}, el("span", { class: "name" }, recording.name), el("span", { class: "soft" }, `${recipe(recording.label)}, ${clock(recording.seconds)}`)),
    el("td", {}, el("div", { class: "acts" },
      el("button", { type: "button", class: "quiet", on: { click: handled(() => unmixRecording(recording)) } }, "Unmix"),
      el("a", { class: "button quiet", href: `/api/recordings/${recording.id}/recording.csv`, download: true }, "CSV"),
      el("a", { class: "button quiet", href: `/api/recordings/${recording.id}/recording.osmell`, download: true }, ".osmell"),
      el("button", { type: "button", class: "quiet", "aria-label": `Remove ${recording.name}`, on: { click: handled(() => request(`/api/recordings/${recording.id}`, {}, "DELETE")) } }, "Remove")))));
  host.replaceChildren(el("table", {}, ...rows));
}
