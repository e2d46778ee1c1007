// The chamber as a graph: cells by concentration, lines by flux, rings by coverage. The layout is the report's.

import { svg } from "./dom.js";
import { factor, percent, power } from "./numbers.js";

const WIDE = { width: 760, height: 400, upright: false, margin: 62, tip: 0.5 };
const TALL = { width: 340, height: 540, upright: true, margin: 42, tip: 0.62 };

export class Chamber {
  constructor(host) {
    Object.assign(this, { host, names: "", states: null });
    matchMedia("(max-width: 720px)").addEventListener("change", () => { this.names = ""; this.draw(this.states, this.claimed); });
  }

  // states: {cells, edges, seats, sensors, concentration_ppm (V), flux_mol_m2_s (E), coverage (M)}
  // Without a claim it is drawn empty: cells are shaded by the fullest, and the fullest of nothing looks full.
  draw(states, claimed = true) {
    if (!states || !states.cells.length) return;
    Object.assign(this, { states, claimed });
    const names = JSON.stringify([states.cells, states.edges, states.seats]);
    if (names !== this.names) this.build(states, names);
    const most = claimed ? Math.max(...states.concentration_ppm.map((x) => x ?? 0), 1e-30) : Infinity;
    const widest = claimed ? Math.max(...states.flux_mol_m2_s.map((x) => Math.abs(x ?? 0)), 1e-30) : Infinity;
    this.lines.forEach(({ e, group, line, tip, title, shape }) => {
      const flux = states.flux_mol_m2_s[e] ?? 0;
      const share = Math.abs(flux) / widest;
      const half = share > 0.02 ? 4.5 + 4.5 * share : 0;
      group.setAttribute("opacity", (0.3 + 0.7 * Math.sqrt(share)).toFixed(2));
      line.setAttribute("stroke-width", (1.2 + 4.3 * share).toFixed(1));
      tip.setAttribute("transform", `translate(${shape.x} ${shape.y}) rotate(${shape.angle + (flux < 0 ? 180 : 0)})`);
      tip.setAttribute("d", `M${-half} ${-half}L${half} 0L${-half} ${half}Z`);
      title.textContent = `${states.edges[e]}: ${power(Math.abs(flux))} mol/(m² s)`;
    });
    this.discs.forEach(({ v, disc, title }) => {
      const ppm = Math.max(states.concentration_ppm[v] ?? 0, 0);
      disc.setAttribute("fill-opacity", (0.06 + 0.94 * (ppm / most)).toFixed(3));
      title.textContent = `${states.cells[v]}: ${factor(ppm)} ppm implied`;
    });
    this.rings.forEach(({ m, ring, coverage, around }) => {
      const taken = Math.min(Math.max(states.coverage[m] ?? 0, 0), 1);
      ring.setAttribute("stroke-dasharray", `${(around * taken).toFixed(1)} ${around.toFixed(1)}`);
      coverage.textContent = percent(taken);
    });
  }

  build(states, names) {
    this.names = names;
    const sheet = matchMedia("(max-width: 720px)").matches ? TALL : WIDE;
    const ends = linkEnds(states);
    const { places, radius } = layout(states.cells.length, ends, sheet);
    const about = "The chamber: cells by concentration, lines by flux, rings by coverage of the sensors";
    const drawing = svg("svg", { class: "chamber", viewBox: `0 0 ${sheet.width} ${sheet.height}`, role: "img", "aria-label": about });
    this.lines = ends.flatMap(([a, b], e) => (a < 0 || b < 0 || a === b ? [] : [this.line(e, link(places[a], places[b], places, radius, sheet.tip))]));
    this.discs = places.map((place, v) => this.disc(v, place, radius));
    this.rings = [];
    const words = places.flatMap((place, v) => this.labels(states, v, place, radius, sheet));
    drawing.append(...this.lines.map((shape) => shape.group), ...this.discs.map((shape) => shape.group), ...this.rings.flatMap((ring) => ring.circles), ...words);
    this.host.replaceChildren(drawing);
  }

  line(e, shape) {
    const title = svg("title");
    const line = svg("path", { d: shape.path });
    const tip = svg("path", { class: "tip" });
    return { e, shape, title, line, tip, group: svg("g", { class: "edge" }, title, line, tip) };
  }

  disc(v, [cx, cy], r) {
    const title = svg("title");
    const disc = svg("circle", { class: "cell", cx, cy, r });
    return { v, title, disc, group: svg("g", {}, title, svg("circle", { class: "back", cx, cy, r }), disc) };
  }

  // Sensors of a cell with their rings, or else the name of the cell.
  labels(states, v, [cx, cy], radius, sheet) {
    const seated = states.seats.flatMap((seat, m) => (seat === states.cells[v] ? [m] : [])).slice(0, 2);
    const above = seated.length && !sheet.upright && cy < sheet.height / 2;
    const beyond = radius + 4 + (seated.length ? 9 : 0);
    const lift = above ? 15 * (seated.length - 1) : 0;
    // side by side on a phone there is no room for a name and a number in one line
    const apart = sheet.upright && seated.length === 1 ? { x: cx, dy: 14 } : { dx: 5 };
    const text = svg("text", { x: cx, y: above ? cy - beyond - lift : cy + beyond + 11 });
    for (const [i, m] of seated.entries()) {
      const r = radius + 5 + 6 * i;
      const coverage = svg("tspan", { class: "coverage", ...apart });
      const ring = svg("circle", { class: "ring taken", cx, cy, r, transform: `rotate(-90 ${cx} ${cy})` });
      this.rings.push({ m, ring, coverage, around: 2 * Math.PI * r, circles: [svg("circle", { class: "ring", cx, cy, r }), ring] });
      text.append(svg("tspan", { class: "cell-name", x: cx, dy: i ? 15 : 0 }, clip(states.sensors[m] || "(no name)", 9)), coverage);
    }
    if (!seated.length) text.append(svg("tspan", { class: "cell-name" }, clip(states.cells[v], 12)));
    return [text];
  }
}

const clip = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

function linkEnds({ cells, edges }) {
  const index = new Map(cells.map((name, v) => [name, v]));
  return edges.map((name) => {
    const parts = name.split(" → ");
    return parts.length === 2 ? [index.get(parts[0]) ?? -1, index.get(parts[1]) ?? -1] : [-1, -1];
  });
}

function layout(cells, ends, sheet) {
  const depth = depths(cells, ends);
  const levels = Array.from({ length: Math.max(...depth) + 1 }, (_, level) => [...depth.keys()].filter((v) => depth[v] === level));
  const [long, short] = sheet.upright ? [sheet.height, sheet.width] : [sheet.width, sheet.height];
  const places = Array(cells);
  levels.forEach((row, level) => row.forEach((v, rank) => {
    const along = (long * (level + 0.5)) / levels.length;
    const across = row.length === 1 ? short / 2 : sheet.margin + ((short - 2 * sheet.margin) * rank) / (row.length - 1);
    places[v] = sheet.upright ? [across, along] : [along, across];
  }));
  const fullest = Math.max(...levels.map((row) => row.length));
  return { places, radius: Math.min(sheet.upright ? 18 : 22, (0.3 * long) / levels.length, (0.3 * short) / fullest) };
}

function depths(cells, ends) {
  const depth = new Map([[0, 0]]);
  const frontier = [0];
  while (frontier.length) {
    const u = frontier.shift();
    for (const [a, b] of ends) for (const [v, w] of [[a, b], [b, a]]) {
      if (v === u && w >= 0 && !depth.has(w)) {
        depth.set(w, depth.get(u) + 1);
        frontier.push(w);
      }
    }
  }
  const beyond = Math.max(...depth.values()) + 1;
  return Array.from({ length: cells }, (_, v) => depth.get(v) ?? beyond);
}

// A straight line, or a bow where a straight one would run through a third cell.
function link([x0, y0], [x1, y1], places, radius, tip) {
  const angle = (180 / Math.PI) * Math.atan2(y1 - y0, x1 - x0);
  const length2 = (x1 - x0) ** 2 + (y1 - y0) ** 2 || 1;
  const blocked = places.some(([x, y]) => {
    const along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length2;
    const own = (x === x0 && y === y0) || (x === x1 && y === y1);
    return !own && along > 0 && along < 1 && Math.hypot(x - x0 - along * (x1 - x0), y - y0 - along * (y1 - y0)) < radius;
  });
  if (!blocked) return { path: `M${x0} ${y0}L${x1} ${y1}`, x: x0 + tip * (x1 - x0), y: y0 + tip * (y1 - y0), angle };
  const bow = 0.26 * Math.sqrt(length2);
  const [dx, dy] = Math.abs(x1 - x0) < Math.abs(y1 - y0) ? [-bow, 0] : [0, -bow];
  const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return { path: `M${x0} ${y0}Q${x + dx} ${y + dy} ${x1} ${y1}`, x: x + dx / 2, y: y + dy / 2, angle };
}
