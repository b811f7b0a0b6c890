// Quantities as scenarios write them, and numbers as people read them.

const FACTORS = {
  rate: { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12 },
  time: { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60 },
  size: { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1048576, GiB: 1073741824, packets: NaN, BDP: NaN },
};
const STEPS = {
  rate: ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
  time: ["ns", "us", "ms", "s"],
  size: ["B", "KB", "MB", "GB"],
};

// { number, unit, value } of a text such as "20 Mbit/s", value in bit/s, s or bytes; null for a range.
export function parsed(kind, text) {
  if (typeof text === "number") return kind === "number" ? { number: text, unit: "", value: text } : null;
  const found = /^\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*(\S*)\s*$/i.exec(text ?? "");
  if (!found) return null;
  const number = Number(found[1]);
  if (kind === "number") return { number, unit: "", value: number };
  const factor = FACTORS[kind][found[2]];
  return factor === undefined ? null : { number, unit: found[2], value: number * factor };
}

// A number that was typed; what is none stays as it is, for the answer to say so.
export function typed(text) {
  const number = Number(text);
  return text === undefined || text === "" || Number.isNaN(number) ? text : number;
}

// A value in bit/s, s or bytes as a scenario writes it, in at most so many significant digits.
export function written(kind, value, digits = 3) {
  if (kind === "number") return Number(value.toPrecision(digits));
  const units = STEPS[kind];
  const rounded = Number(value.toPrecision(digits));
  let unit = units[0];
  for (const one of units) if (rounded >= FACTORS[kind][one] * (1 - 1e-12)) unit = one;
  return `${Number((rounded / FACTORS[kind][unit]).toPrecision(digits))} ${unit}`;
}

const KINDS = { bps: "rate", s: "time", bytes: "size" };

// The unit in which numbers of a metric's kind are read beside each other: its name and what to divide by.
export function unitFor(kind, most) {
  if (kind === "share") return { name: "%", factor: 0.01 };
  if (!KINDS[kind]) return { name: "", factor: 1 };
  const units = STEPS[KINDS[kind]];
  let name = units[0];
  for (const one of units) if (Math.abs(most) >= FACTORS[KINDS[kind]][one]) name = one;
  return { name: name === "us" ? "µs" : name, factor: FACTORS[KINDS[kind]][name] };
}

// So many decimals that three digits of the larger number are there.
export function decimalsFor(most) {
  if (!most) return 0;
  return Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(most)))));
}

// The same for a mean with half an interval, of which a digit at least is there.
export function decimalsWith(mean, half) {
  const decimals = decimalsFor(mean);
  return half && Number(half.toFixed(decimals)) === 0 ? Math.min(12, -Math.floor(Math.log10(half))) : decimals;
}

export function fixed(number, decimals) {
  const text = Math.abs(number).toFixed(decimals);
  return (number < 0 && Number(text) !== 0 ? "−" : "") + text;
}

export function signed(number, decimals) {
  return (number > 0 && Number(number.toFixed(decimals)) !== 0 ? "+" : "") + fixed(number, decimals);
}

// A number with its own unit: "17.4 Mbit/s".
export function shown(kind, value) {
  if (value === null || value === undefined) return "none";
  const unit = unitFor(kind, value);
  const number = value / unit.factor;
  return `${fixed(number, decimalsFor(number))}${unit.name ? " " + unit.name : ""}`;
}

// Seconds to the nanosecond: "5.012345678 s".
export const instant = (ns) => `${(ns / 1e9).toFixed(9)} s`;

export function span(ns) {
  return written("time", ns / 1e9, 4).replace("us", "µs");
}

// Between least and most, evenly by ratio: a slider's place, 0 to 1, and back, in two digits.
export const placeOf = (value, least, most) =>
  Math.log(Math.min(Math.max(value, least), most) / least) / Math.log(most / least);
export const valueAt = (place, least, most) => Number((least * (most / least) ** place).toPrecision(2));
