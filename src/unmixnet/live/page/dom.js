// Elements by description. Text is only ever set as text: nothing here, or anywhere on the page, parses markup.

export const $ = (id) => document.getElementById(id);

export function el(tag, given = {}, ...children) {
  return fill(document.createElement(tag), given, children);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, given = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), given, children);
}

function fill(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function show(element, visible) {
  element.hidden = !visible;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let hiding = 0;

export function toast(text) {
  const box = $("toast");
  setText(box, text);
  show(box, true);
  clearTimeout(hiding);
  hiding = setTimeout(() => show(box, false), 6000);
}

// A request that changes something; the error of a refused one has the server's message.
export async function request(path, body = {}, method = "POST") {
  const answer = await fetch(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return resultOf(answer);
}

export async function resultOf(answer) {
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(value.error || `The server answered ${answer.status}.`);
  return value;
}

// An event handler for a click or a form that shows errors as a toast.
export function handled(act) {
  return async (event) => {
    event?.preventDefault();
    try {
      await act(event);
    } catch (error) {
      toast(error.message);
    }
  };
}
