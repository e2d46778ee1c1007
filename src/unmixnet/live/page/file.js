// A whole recording, from a file or from the list: its answer, and the report on it.

import { $, handled, request, resultOf, setText, show } from "./dom.js";
import { unbroken } from "./numbers.js";
import { Bars } from "./shares.js";
import { Traces } from "./traces.js";

const LARGEST = 20_000_000;

let bars = null;
let traces = null;

export function start() {
  bars = new Bars($("answer-bars"), 6);
  traces = new Traces($("answer-traces"));
  const drop = $("file-form");
  $("file-input").addEventListener("change", handled((event) => upload(event.target.files[0])));
  drop.addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
    });
  }
  drop.addEventListener("drop", handled((event) => upload(event.dataTransfer.files[0])));
}

async function upload(file) {
  if (!file) return;
  if (file.size > LARGEST) return fail(`${file.name} is larger than 20 MB; cut it, or use unmixnet unmix.`);
  await answering(`Unmixing ${file.name} …`, async () => resultOf(await fetch("/api/unmix", { method: "POST", headers: { "X-File-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" }, body: file })));
}

export async function unmixRecording(recording) {
  location.hash = "#file";
  await answering(`Unmixing ${recording.name} …`, () => request(`/api/recordings/${recording.id}/unmix`));
}

function fail(text) {
  show($("answer"), false);
  $("file-status").classList.add("bad");
  setText($("file-status"), text);
}

async function answering(words, work) {
  $("file-status").classList.remove("bad");
  setText($("file-status"), words);
  try {
    draw(await work());
    setText($("file-status"), "");
  } catch (error) {
    fail(error.message);
  }
}

function draw(answer) {
  show($("answer"), true);
  setText($("answer-headline"), unbroken(answer.headline));
  setText($("answer-lead"), [answer.recording, answer.caution, ...answer.findings].filter(Boolean).join(" · "));
  $("answer-page").href = `/api/answers/${answer.id}/report.html`;
  $("answer-zip").href = `/api/answers/${answer.id}/report.zip`;
  bars.draw(answer.components, answer.trusted);
  setText($("answer-unit"), answer.traces.unit);
  traces.name(answer.traces.channels);
  const { time_s, measured, reconstructed } = answer.traces;
  traces.draw({ time_s, values: measured }, { time_s, values: reconstructed });
  $("answer-headline").focus();
}

