// A recipe as a form: names and percentages, as many as needed; and a list of recordings to choose from.

import { el } from "./dom.js";
import { clock, recipe } from "./numbers.js";

let lists = 0;

export class Parts {
  // `names` offers the model's components; without it any name may be typed.
  constructor(host, more, { free = false } = {}) {
    Object.assign(this, { host, free, names: [], rows: [], list: `names-${(lists += 1)}` });
    this.offer = el("datalist", { id: this.list });
    host.after(this.offer);
    more.addEventListener("click", () => this.add().focus());
    this.add();
  }

  offerNames(names) {
    if (JSON.stringify(names) === JSON.stringify(this.names)) return;
    this.names = names;
    this.offer.replaceChildren(...names.map((name) => el("option", { value: name })));
    if (!this.free) this.rows.forEach((row) => this.fill(row.name));
  }

  fill(select) {
    const chosen = select.value;
    select.replaceChildren(...this.names.map((name) => el("option", { value: name }, name)));
    if (this.names.includes(chosen)) select.value = chosen;
  }

  add() {
    const rank = this.rows.length + 1;
    const name = this.free
      ? el("input", { maxlength: 80, list: this.list, placeholder: "substance", "aria-label": `Substance ${rank}`, autocomplete: "off" })
      : el("select", { "aria-label": `Substance ${rank}` });
    const share = el("input", { type: "number", min: 0, max: 100, step: "any", value: rank === 1 ? 100 : 50, "aria-label": `Percentage of substance ${rank}` });
    if (!this.free) this.fill(name);
    this.rows.push({ name, share });
    this.host.append(el("div", { class: "part" }, name, el("span", { class: "percent" }, share, "%")));
    return name;
  }

  value() {
    const parts = this.rows.map(({ name, share }) => ({ name: name.value.trim(), share: Number(share.value) }));
    const label = parts.filter((part) => part.name && part.share > 0);
    if (!label.length) throw new Error("Name at least one substance.");
    return label;
  }
}

export class Picks {
  // `first(recording)`: whether it is chosen by default.
  constructor(host, first) {
    Object.assign(this, { host, first, choices: new Map(), shown: "" });
  }

  draw(recordings, empty) {
    const shown = JSON.stringify(recordings.map((recording) => recording.id));
    if (shown === this.shown) return;
    this.shown = shown;
    const rows = recordings.map((recording) => {
      const box = el("input", { type: "checkbox", value: recording.id });
      box.checked = this.choices.get(recording.id) ?? this.first(recording);
      box.addEventListener("change", () => this.choices.set(recording.id, box.checked));
      const from = recording.name.includes(recipe(recording.label)) ? recording.name.split(": ")[0] : recording.name;
      return el("label", { class: "pick" }, box, el("b", {}, recipe(recording.label)), el("span", { class: "from" }, from === recipe(recording.label) ? "" : from), el("span", { class: "n" }, clock(recording.seconds)));
    });
    this.host.replaceChildren(rows.length ? el("div", { class: "picks", tabindex: 0, role: "group", "aria-label": "Recordings" }, ...rows) : el("p", { class: "empty small" }, empty));
  }

  chosen() {
    return [...this.host.querySelectorAll("input:checked")].map((box) => Number(box.value));
  }
}
