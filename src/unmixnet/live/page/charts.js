// uPlot with the page's colours and sizes. Names never go into uPlot: legends and titles are ours, set as text.

const charts = new Set();

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const clear = (hex, share) => `${hex}${Math.round(255 * share).toString(16).padStart(2, "0")}`;

const mmss = (value) => {
  const s = Math.round(value);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
};

// A chart that redraws on resize and when the colours change. `options()` is called each time.
export class Chart {
  constructor(host, height, options) {
    Object.assign(this, { host, height, options, data: null, plot: null });
    charts.add(this);
    watcher.observe(host);
  }

  make() {
    this.plot?.destroy();
    this.plot = null;
    const width = this.host.clientWidth;
    if (!this.data || width < 60) return;
    this.plot = new uPlot({ ...base(width, this.height), ...this.options() }, this.data, this.host);
  }

  draw(data) {
    this.data = data;
    if (this.host.clientWidth < 60) return;
    if (!this.plot) this.make();
    else this.plot.setData(data);
  }

  clear() {
    this.plot?.destroy();
    Object.assign(this, { data: null, plot: null });
  }

  remove() {
    charts.delete(this);
    watcher.unobserve(this.host);
    this.plot?.destroy();
    this.plot = null;
  }
}

function base(width, height) {
  return {
    width, height, legend: { show: false }, cursor: { show: false }, padding: [8, 16, 0, 0],
    scales: { x: { time: false } },
  };
}

const STEPS_S = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];
const font = "12px system-ui, sans-serif";

export function axes(format = null) {
  const look = { stroke: colour("--faint"), font, grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false } };
  return [
    { ...look, grid: { show: false }, size: 26, space: 64, incrs: STEPS_S, values: (_, ticks) => ticks.map(mmss) },
    { ...look, size: 48, space: 30, ...(format ? { values: (_, ticks) => ticks.map(format) } : {}) },
  ];
}

// Vertical lines where something happened.
export function markLines(marks) {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour("--faint");
    ctx.setLineDash([3, 3]);
    ctx.lineWidth = devicePixelRatio || 1;
    for (const mark of marks()) {
      const { min, max } = plot.scales.x;
      if (mark.time_s < min || mark.time_s > max) continue;
      const x = Math.round(plot.valToPos(mark.time_s, "x", true));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  };
}

const watcher = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    for (const chart of charts) {
      if (chart.host !== target) continue;
      const width = target.clientWidth;
      if (!chart.plot) chart.make();
      else if (width >= 60 && width !== chart.plot.width) chart.plot.setSize({ width, height: chart.height });
    }
  }
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of charts) chart.make();
});
