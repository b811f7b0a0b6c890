// Twelve guided experiments: each is a state of the page and three sentences.
import { html } from "./html.js";
import { change, lesson, start } from "./state.js";

export function Lessons() {
  const all = start.value.lessons;
  const here = lesson.value;
  const number = here ? all.findIndex((one) => one.key === here.key) : -1;
  const go = (to) => change(structuredClone(all[to].document), all[to]);
  return html`<section class="lesson" aria-labelledby="lesson-title">
    <h2 id="lesson-title">Lessons</h2>
    <label class="spoken" for="lesson">Lesson</label>
    <select id="lesson" value=${here?.key ?? ""}
      onChange=${(event) => go(all.findIndex((one) => one.key === event.target.value))}>
      <option value="" disabled>Choose one of ${all.length}</option>
      ${all.map((one, index) => html`<option value=${one.key} key=${one.key}>${index + 1}. ${one.title}</option>`)}
    </select>
    ${
      here &&
      html`<ol class="sentences"
      aria-live="polite">${here.sentences.map((text) => html`<li>${text}</li>`)}</ol>`
    }
    <p class="pager">
      <button type="button" disabled=${number <= 0} onClick=${() => go(number - 1)}>Previous</button>
      <button type="button" disabled=${number === all.length - 1} onClick=${() => go(number + 1)}>
        ${number < 0 ? "First lesson" : "Next"}
      </button>
    </p>
  </section>`;
}
