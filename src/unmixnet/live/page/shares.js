// The mixture: bars with intervals now, and the same shares over time. A component has one colour wherever it is shown.

import { Chart, axes, clear, colour, markLines } from "./charts.js";
import { el, setText } from "./dom.js";
import { interval, percent } from "./numbers.js";

const COLOURS = 12;
const ROWS = 5;

const hues = new Map();

// Index of a colour, by the order in which names were first met; a model names all of its components at once.
export function hue(name) {
  if (!hues.has(name)) hues.set(name, hues.size % COLOURS);
  return hues.get(name);
}

export function ranked(components) {
  return [...components].sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
}

// components: [{name, share, low, high}]
export class Bars {
  constructor(host, rows = ROWS) {
    this.list = el("div", { class: "bars", role: "list" });
    this.others = el("p", { class: "others" });
    this.rows = [];
    this.most = rows;
    host.replaceChildren(this.list, this.others);
  }

  draw(components, trusted, none = "No shares yet.") {
    const order = ranked(components);
    const shown = order.filter((component, rank) => rank === 0 || component.share >= 0.03 || component.presence >= 0.5).slice(0, this.most);
    const rest = order.filter((component) => !shown.includes(component)).reduce((sum, component) => sum + (component.share ?? 0), 0);
    while (this.rows.length < shown.length) this.rows.push(this.row());
    while (this.rows.length > shown.length) this.rows.pop().row.remove();
    shown.forEach((component, rank) => this.fill(this.rows[rank], component));
    this.list.classList.toggle("grey", !trusted);
    const hidden = order.length - shown.length;
    setText(this.others, hidden > 0 ? `${hidden} more, together ${percent(rest)}` : order.length ? "" : none);
  }

  row() {
    const parts = {
      name: el("span", { class: "name" }), bar: el("i", { class: "fill" }), reach: el("i", { class: "reach" }),
      share: el("span", { class: "n share" }), interval: el("span", { class: "n interval", title: "90 % interval" }),
    };
    parts.row = el("div", { class: "bar", role: "listitem" }, parts.name, el("span", { class: "track", "aria-hidden": "true" }, parts.bar, parts.reach), parts.share, parts.interval);
    this.list.append(parts.row);
    return parts;
  }

  fill(parts, { name, share, low, high }) {
    setText(parts.name, name || "(no name)");
    parts.name.title = name;
    setText(parts.share, percent(share));
    setText(parts.interval, interval(low, high));
    parts.bar.className = `fill hue${hue(name)}`;
    const width = (value) => `${100 * Math.min(Math.max(value ?? 0, 0), 1)}%`;
    parts.bar.style.width = width(share);
    parts.reach.style.left = width(low);
    parts.reach.style.width = width((high ?? 0) - (low ?? 0));
  }
}

const LINES = 4;

export class History {
  constructor(host, keys, marks) {
    Object.assign(this, { keys, marks, components: [], rows: [], shown: [] });
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", "Shares of the largest components over time");
    this.chart = new Chart(host, 216, () => this.options());
  }

  reset(components, rows) {
    this.components = components;
    this.rows = rows.filter((row) => row.ratios?.length === components.length);
    this.draw();
  }

  add(estimate) {
    if (estimate.ratios?.length !== this.components.length) return;
    this.rows.push(estimate);
    this.rows = this.rows.filter((row) => row.time_s > estimate.time_s - 300);
    this.draw();
  }

  draw() {
    const claimed = this.rows.filter((row) => row.status === "mixture");
    const tops = this.components.map((_, k) => Math.max(0, ...claimed.map((row) => row.ratios[k])));
    const order = tops.map((top, k) => [top, k]).sort((a, b) => b[0] - a[0]).slice(0, LINES);
    const shown = order.filter(([top]) => top >= 0.1).map(([, k]) => k).sort((a, b) => a - b);
    if (String(shown) !== String(this.shown)) {
      this.shown = shown;
      this.chart.clear();
      this.keys.replaceChildren(...shown.map((k) => el("li", {}, el("i", { class: `hue${hue(this.components[k])}` }), this.components[k])));
    }
    if (!this.rows.length) return this.chart.clear();
    const column = (name, k) => this.rows.map((row) => (row.status === "mixture" ? row[name][k] : null));
    this.chart.draw([this.rows.map((row) => row.time_s), ...shown.flatMap((k) => [column("ratios", k), column("low", k), column("high", k)])]);
  }

  options() {
    const hex = (k) => colour(`--c${hue(this.components[k])}`);
    const none = { stroke: "transparent", width: 0, points: { show: false } };
    return {
      axes: axes((value) => `${Math.round(100 * value)} %`),
      scales: { x: { time: false }, y: { range: [0, 1] } },
      series: [{}, ...this.shown.flatMap((k) => [{ stroke: hex(k), width: 2.2, points: { show: false } }, none, none])],
      bands: this.shown.map((k, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: clear(hex(k), 0.16) })),
      hooks: { draw: [markLines(this.marks)] },
    };
  }
}
