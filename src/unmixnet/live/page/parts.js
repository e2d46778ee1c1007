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
    if (!label.length) throw new Error("Say what it is first.");
    return label;
  }
}

export class Picks {
  // `first` says which recordings are chosen before somebody chooses.
  constructor(host, first) {
    Object.assign(this, { host, first, said: new Map(), shown: "" });
  }

  draw(recordings, empty) {
    const shown = JSON.stringify(recordings.map((one) => one.id));
    if (shown === this.shown) return;
    this.shown = shown;
    const rows = recordings.map((one) => {
      const box = el("input", { type: "checkbox", value: one.id });
      box.checked = this.said.get(one.id) ?? this.first(one);
      box.addEventListener("change", () => this.said.set(one.id, box.checked));
      const from = one.name.includes(recipe(one.label)) ? one.name.split(": ")[0] : one.name;
      return el("label", { class: "pick" }, box, el("b", {}, recipe(one.label)), el("span", { class: "from" }, from === recipe(one.label) ? "" : from), el("span", { class: "n" }, clock(one.seconds)));
    });
    this.host.replaceChildren(rows.length ? el("div", { class: "picks", tabindex: 0, role: "group", "aria-label": "Recordings" }, ...rows) : el("p", { class: "empty small" }, empty));
  }

  chosen() {
    return [...this.host.querySelectorAll("input:checked")].map((box) => Number(box.value));
  }
}
