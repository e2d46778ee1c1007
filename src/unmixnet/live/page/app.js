// The live page: one stream from the server, drawn a few times a second.

import * as calibrate from "./calibrate.js";
import { Chamber } from "./chamber.js";
import { $, setText, show, toast } from "./dom.js";
import * as file from "./file.js";
import { Gauges, drawLaws } from "./gauges.js";
import { factor, unbroken } from "./numbers.js";
import * as record from "./record.js";
import { Bars, History, hue } from "./shares.js";
import * as teach from "./teach.js";
import { Traces } from "./traces.js";

const SHOWN_S = 120;
const TABS = ["live", "calibrate", "teach", "file"];

let state = null;
let estimate = null;
let samples = { time_s: [], values: [] };
let marks = [];
let waiting = false;

const bars = new Bars($("bars"));
const history = new History($("history"), $("history-keys"), () => marks);
const traces = new Traces($("traces"), { marks: () => marks });
const gauges = new Gauges($("gauges"));
const chamber = new Chamber($("chamber"));
bars.draw([], false);
drawLaws($("laws"), null);
record.start(file.unmixRecording);
calibrate.start();
teach.start();
file.start();

// ---------------------------------------------------------------- the stream

const handlers = {
  state(value) {
    if (state?.source.problem && !value.source.problem) toast("Every reading that waited is saved.");
    state = value;
    marks = value.marks;
    drawSource();
    for (const part of [record, calibrate, teach]) part.drawState(value);
    drawTrouble();
    value.model.components.forEach(hue);
    traces.name(value.source.channels);
    drawWords();
  },
  history(value) {
    samples = { time_s: value.time_s, values: value.values };
    estimate = value.estimate;
    history.reset(state.model.components, value.shares);
    drawEstimate();
    soon();
  },
  samples(value) {
    const last = samples.time_s.at(-1) ?? -Infinity; // the history that came first may hold some of these already
    const from = value.time_s.findIndex((time) => time > last);
    if (from < 0) return;
    samples.time_s.push(...value.time_s.slice(from));
    samples.values.push(...value.values.slice(from));
    const first = samples.time_s.findIndex((time) => time >= samples.time_s.at(-1) - SHOWN_S);
    samples = { time_s: samples.time_s.slice(first), values: samples.values.slice(first) };
    count(value);
    soon();
  },
  counts(value) {
    count(value);
    if (!state) return;
    drawSource();
    drawWords();
  },
  estimate(value) {
    estimate = value;
    history.add(value);
    drawEstimate();
  },
  event(value) {
    marks = [...marks, value].slice(-60);
    if (state) state.marks = marks;
    record.drawMarks(marks);
  },
  truth: (value) => record.drawTruth(value),
  lesson: (value) => teach.drawLesson(value),
  problem: (value) => toast(value.text),
  missed: () => {},
};

function count({ stored, rejected, waiting, rate_Hz }) {
  if (state) Object.assign(state.source, { stored, rejected, waiting, rate_Hz });
}

function connect() {
  const stream = new EventSource("/api/stream");
  for (const [kind, act] of Object.entries(handlers)) stream.addEventListener(kind, (event) => act(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    $("dot").className = "pulse off";
    setText($("source"), "the server does not answer; trying again");
    if (stream.readyState === EventSource.CLOSED) setTimeout(again, 3000);
  });
}

// A restarted server has no session for this browser.
async function again() {
  const answer = await fetch("/api/state").catch(() => null);
  if (answer?.status === 401) setText($("source"), "the server was restarted: open the new link from its terminal");
  else connect();
}

// ---------------------------------------------------------------- drawing

function soon() {
  if (waiting) return;
  waiting = true;
  setTimeout(() => requestAnimationFrame(drawSamples), 100);
}

function drawSamples() {
  waiting = false;
  if (!samples.time_s.length) return;
  const made = estimate?.reconstructed ?? null;
  traces.draw(samples, made && clipped(made, samples.time_s[0]), state?.source.unit ?? "");
  record.drawTime(samples.time_s.at(-1));
  drawSource();
}

function clipped({ time_s, values }, first) {
  const from = time_s.findIndex((time) => time >= first);
  return from < 0 ? null : { time_s: time_s.slice(from), values: values.slice(from) };
}

function drawSource() {
  const { name, status, stored, rejected, rate_Hz, channels } = state.source;
  const live = status === "connected" || status === "reconnected";
  $("dot").className = `pulse ${live ? "on" : status === "lost" ? "off" : ""}`;
  const counts = stored ? ` · ${channels.length} sensors at ${factor(rate_Hz)} Hz · ${stored.toLocaleString("en")} samples` : ` · ${status}`;
  const bad = rejected ? ` · ${rejected.toLocaleString("en")} bad lines` : "";
  setText($("source"), `${name}${counts}${bad}${stored && !live ? ` · ${status}` : ""}`);
  drawUnstored();
  setText($("unit"), state.source.unit || "unknown");
  setText($("model"), `Model: ${state.model.name}, ${state.model.components.length} components.`);
}

// Rows that wait in memory while the store cannot be written, e.g. on a full disk.
function drawUnstored() {
  const { problem, waiting, room } = state.source;
  show($("unstored"), Boolean(problem));
  if (!problem) return;
  const many = (number) => number.toLocaleString("en");
  setText($("unstored-text"), problem);
  setText($("unstored-count"), waiting < room
    ? `${many(waiting)} rows wait in memory and are saved as soon as that is possible; there is room for ${many(room)}. Do not stop the program until then.`
    : `${many(waiting)} rows wait in memory and no more can: new readings are lost until the others are saved.`);
}

function drawTrouble() {
  const { problem } = state.model;
  show($("problem"), Boolean(problem));
  setText($("problem-title"), "The sensors are recorded, but the model cannot read them");
  setText($("problem-text"), problem);
}

function drawEstimate() {
  if (!estimate || !state) return;
  drawWords();
  const names = state.model.components;
  const nothing = estimate.status === "nothing";
  const known = estimate.ratios?.length === names.length && !nothing;
  bars.draw(known ? names.map((name, k) => componentOf(name, k)) : [], estimate.status === "mixture", nothing ? "Too little signal to estimate shares." : undefined);
  gauges.draw({ ...estimate, channels: state.source.channels });
  if (estimate.states) chamber.draw({ ...estimate.states, sensors: state.model.channels }, !nothing);
  drawLaws($("laws"), estimate.closure);
}

function componentOf(name, k) {
  return { name, share: estimate.ratios[k], low: estimate.low[k], high: estimate.high[k], presence: estimate.presence[k] };
}

function drawWords() {
  if (!state) return;
  const { model, source } = state;
  if (estimate) {
    const [first, ...rest] = estimate.words;
    setText($("kicker"), estimate.waited_s > 0 ? "Since the air was last clean" : "Now in the air");
    setText($("headline"), unbroken(first));
    setText($("lead"), unbroken(rest.slice(0, 2).join(" ")));
  } else if (source.stored) {
    setText($("headline"), model.problem ? "Recording without a model" : model.ready ? "Warming up" : "Opening the model");
    setText($("lead"), model.problem ? "" : "The sensors are already being recorded.");
  } else if (source.rejected) {
    setText($("headline"), "The board sends lines, but no readings");
    setText($("lead"), "None of its lines could be read as named numbers. The usual cause is a wrong baud rate: set --baud as the board’s program does.");
  }
}

// ---------------------------------------------------------------- tabs

function tab() {
  const chosen = TABS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "live";
  for (const name of TABS) show($(`tab-${name}`), name === chosen);
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.hash === `#${chosen}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  scrollTo(0, 0);
}

addEventListener("hashchange", tab);
tab();
connect();
