// The state of the page: a scenario's tables, what is known of its two worlds, and the stream of answers that says so.
import { batch, computed, signal } from "./html.js";

export const start = signal(null); // metrics, choices, lessons: what the server has
export const scenario = signal(null); // tables, as in TOML
export const network = signal(null);
export const worlds = signal({ unpaced: null, paced: null }); // the longest run of the first seed of each
export const compared = signal(null); // rows of means and differences, and how many seeds
export const resting = signal(false);
export const repeated = signal(false); // every seed gives the same run
export const errors = signal([]);
export const lesson = signal(null);
export const latency = signal(null); // of the last change that was answered: ms until both worlds' frame, and its number
export const rested = signal(0); // counts the states whose whole run is known: packets are asked for then
export const core = computed(() => network.value?.links.find((link) => link.name === network.value.core) ?? null);

const page = Math.random().toString(36).slice(2);
const ADDRESS_MS = 250;
let stream = null; // of the answers that are being read
let waiting = false; // another state is to be run once the first answer is there
let busy = false;
let changedAt = 0;
let changes = 0;
let addressTimer = 0;

export async function post(path, body, { raw = false, signal } = {}) {
  const response = await fetch(`api/${path}`, {
    method: "POST",
    body: raw ? body : JSON.stringify({ page, ...body }),
    signal,
  });
  if (!response.ok) {
    const told = await response.json().catch(() => ({ errors: [`${response.status} ${response.statusText}`] }));
    throw new Error(told.errors.join("\n"));
  }
  return response;
}

export async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}

// A text as a file of whoever looks.
export function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// What stands at keys in the tables; undefined where nothing does.
export const at = (keys, tables = scenario.value) => keys.reduce((table, key) => table?.[key], tables);

// The scenario with a value at these keys; undefined takes the key away.
export function put(keys, value) {
  const tables = structuredClone(scenario.value);
  let table = tables;
  for (const key of keys.slice(0, -1)) table = table[key] ??= {};
  const last = keys.at(-1);
  if (value === undefined) delete table[last];
  else table[last] = value;
  change(tables);
}

// Another state: it runs at once, or as soon as the state before has its first answer.
export function change(tables, ofLesson = null) {
  batch(() => {
    scenario.value = tables;
    lesson.value = ofLesson ?? (lesson.value && same(tables, lesson.value.document) ? lesson.value : null);
  });
  changedAt = performance.now();
  changes += 1;
  clearTimeout(addressTimer);
  addressTimer = setTimeout(keepInAddress, ADDRESS_MS);
  if (busy) waiting = true;
  else run();
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

async function run() {
  stream?.abort();
  const mine = (stream = new AbortController());
  busy = true;
  waiting = false;
  const [began, number] = [changedAt, changes];
  const answered = new Set();
  let held = []; // of the first answer: both worlds are shown together, and drawn once
  try {
    const response = await fetch("api/run", {
      method: "POST",
      body: JSON.stringify({ page, document: scenario.value }),
      signal: mine.signal,
    });
    if (!response.ok) {
      const told = await response
        .json()
        .catch(() => ({ errors: ["the studio does not answer; is its command still running?"] }));
      errors.value = told.errors;
      return;
    }
    for await (const answer of lines(response)) {
      if (mine !== stream) return;
      held.push(answer);
      if (answer.kind === "run") answered.add(answer.world);
      if (busy && answered.size === 1 && answer.kind === "run") continue;
      batch(() => held.forEach(take));
      held = [];
      if (busy && (answered.size === 2 || answer.kind === "error")) {
        busy = false;
        const shown = () => (latency.value = { ms: performance.now() - began, number });
        if (answered.size === 2) requestAnimationFrame(shown);
        if (waiting) return void run();
      }
    }
  } catch (error) {
    if (mine === stream && error.name !== "AbortError")
      errors.value = ["the studio does not answer; is its command still running?"];
  } finally {
    if (mine === stream) {
      busy = false;
      if (waiting) run();
    }
  }
}

function take(answer) {
  batch(() => {
    if (answer.kind === "error") {
      errors.value = answer.errors;
      resting.value = true;
    } else if (answer.kind === "network") {
      errors.value = [];
      resting.value = repeated.value = false;
      network.value = answer.network;
    } else if (answer.kind === "run") {
      if (answer.curves) {
        worlds.value = { ...worlds.value, [answer.world]: answer };
        compared.value = null; // was of a shorter run, or of another state
      }
    } else if (answer.kind === "compared") {
      compared.value = answer;
      if (answer.seeds === 1) rested.value += 1;
    } else if (answer.kind === "rest") {
      resting.value = true;
      repeated.value = answer.repeated;
    }
  });
}

// The scenario in letters of an address: JSON, deflated.
export async function encoded(tables) {
  const deflated = new Blob([JSON.stringify(tables)]).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `#s=${btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
}

async function keepInAddress() {
  if (location.protocol === "about:") return; // a cell of a notebook has no address
  const hash = await encoded(scenario.value);
  if (location.hash !== hash) history.replaceState(null, "", hash);
}

// A scenario's text, or a link to one, in the place of the state. What is wrong with it goes into `wrong`.
export async function read(body, wrong = errors) {
  try {
    const told = await (await post("read", body)).json();
    wrong.value = errors.value = [];
    change(told.document);
    return true;
  } catch (error) {
    wrong.value = error.message.split("\n");
    return false;
  }
}

export async function begin() {
  const told = await (await fetch("api/start")).json();
  start.value = told;
  const first = told.lessons.find((one) => same(one.document, told.document)) ?? null;
  if (location.hash.startsWith("#s=") && (await read({ link: location.hash }))) return;
  change(told.document, first);
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#s=")) read({ link: location.hash });
});
