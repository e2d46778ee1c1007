// One panel per sensor: measured and reconstructed.

import { Chart, axes, colour, markLines } from "./charts.js";
import { el, setText } from "./dom.js";
import { reading } from "./numbers.js";

const HEIGHT = 150;

export class Traces {
  constructor(host, { marks = () => [] } = {}) {
    Object.assign(this, { host, marks, panels: [], names: "" });
  }

  // Panels for these channels; the same channels keep theirs.
  name(channels) {
    const names = JSON.stringify(channels);
    if (names === this.names) return;
    this.names = names;
    this.panels.forEach((panel) => panel.chart.remove());
    this.host.replaceChildren();
    this.panels = channels.map((channel) => this.panel(channel));
  }

  panel(channel) {
    const now = el("span");
    const chart = el("div", { class: "chart", role: "img", "aria-label": `Measured and reconstructed signal of ${channel || "(no name)"}` });
    this.host.append(el("div", { class: "card panel" }, el("header", {}, el("h3", { title: channel }, channel || "(no name)"), now), chart));
    return { now, chart: new Chart(chart, HEIGHT, () => this.options()) };
  }

  options() {
    const line = { width: 1.6, spanGaps: true, points: { show: false } };
    return {
      axes: axes(),
      series: [{}, { ...line, stroke: colour("--measured") }, { ...line, stroke: colour("--accent"), width: 2 }],
      hooks: { draw: [markLines(this.marks)] },
    };
  }

  // measured: time_s (T), values (T × M); reconstructed the same, on its own times, or null.
  draw(measured, reconstructed, unit = "") {
    this.panels.forEach((panel, m) => {
      const seen = [measured.time_s, measured.values.map((row) => row[m] ?? null)];
      const made = reconstructed ? [reconstructed.time_s, reconstructed.values.map((row) => row[m] ?? null)] : [[], []];
      panel.chart.draw(uPlot.join([seen, made]));
      setText(panel.now, unit && seen[1].length ? `${reading(seen[1].at(-1))} ${unit}` : "");
    });
  }
}
