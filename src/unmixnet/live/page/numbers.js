// Numbers as people read them; the same rules as the report's (answer/numbers.py).

const known = (value) => typeof value === "number" && Number.isFinite(value);

export function percent(share) {
  if (!known(share)) return "–";
  if (share > 0 && share < 0.005) return "<1 %";
  if (share > 0.995 && share < 1) return ">99 %";
  return `${Math.round(100 * share)} %`;
}

// An error of shares: 0.123 → 12 points
export function points(error) {
  if (!known(error)) return "–";
  const value = 100 * error;
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} points`;
}

export function interval(low, high) {
  if (!known(low) || !known(high)) return "–";
  const [a, b] = [Math.round(100 * low), Math.round(100 * high)];
  return a === b ? `${a} %` : `${a}–${b} %`;
}

export function factor(value) {
  if (!known(value)) return "–";
  const rounded = Number(value.toPrecision(2));
  return Math.abs(rounded) >= 10 ? rounded.toFixed(0) : String(Number(rounded.toFixed(6)));
}

// A strength over a typical one; far below it the digits mean nothing.
export function times(value) {
  return known(value) && value < 0.01 ? "<0.01" : factor(value);
}

// "62 %" never breaks before its sign.
export const unbroken = (text) => text.replaceAll(" %", "\u00a0%");

export function scientific(value) {
  if (!known(value)) return "–";
  if (value === 0 || Math.abs(value) >= 0.01) return factor(value);
  return value.toExponential(0).replace("e", " × 10^");
}

// 3 × 10⁻¹⁶
export function power(value) {
  const raised = { "-": "⁻", "+": "", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const [digits, exponent] = scientific(value).split("^");
  return exponent === undefined ? digits : digits + [...exponent].map((sign) => raised[sign]).join("");
}

export function reading(value) {
  if (!known(value)) return "–";
  return Math.abs(value) >= 100 ? value.toFixed(0) : Number(value.toPrecision(3)).toString();
}

// 75 → 1:15
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value) => String(value).padStart(2, "0");
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

// [{name, share}] → "20 % mango, 80 % strawberry"
export function recipe(label) {
  if (!label.length) return "no label";
  if (label.length === 1) return label[0].name;
  return label.map((part) => `${percent(part.share)} ${part.name}`).join(", ");
}
