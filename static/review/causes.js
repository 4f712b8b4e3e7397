/* The causes of an override: those that fit the change of the score, six at a time, numbered from 1. */

import { all, changed, direction, go, one, rows, screenEvents } from "./form.js";

const SHOWN = 6; // as on the server
const pages = new WeakMap(); // row -> the page of causes that it shows
const seen = new WeakMap(); // row -> the direction that its causes were offered for

const options = (row) => all(".cause[data-cause-key]", row);
const checked = (row) => one(".cause :checked", row);
const titleOf = (input) => one("span", input.closest(".cause")).textContent;

function fits(cause, ours) {
  const { directions } = cause.dataset;
  return !directions || directions.split(" ").includes(ours);
}

function offer(row) {
  const ours = direction(row);
  if (seen.get(row) !== ours) {
    // A cause that was chosen for another change of the score goes; one that came from the server stays.
    if (seen.has(row)) options(row).filter((cause) => !fits(cause, ours)).forEach((cause) => { one("input", cause).checked = false; });
    seen.set(row, ours);
    pages.set(row, 0);
  }
  const fitting = options(row).filter((cause) => fits(cause, ours));
  const from = pages.get(row) * SHOWN;
  for (const cause of options(row)) {
    const place = fitting.indexOf(cause) - from;
    cause.hidden = place < 0 || place >= SHOWN;
    cause.dataset.causeKey = cause.hidden ? "" : place + 1;
    const key = one("kbd", cause);
    if (key) key.textContent = cause.dataset.causeKey;
  }
  one("[data-more]", row).hidden = fitting.length <= SHOWN;
  one(".why .chosen", row).textContent = checked(row) ? titleOf(checked(row)) : "Add a cause";
  one("[data-no-cause]", row).hidden = !checked(row);
}

/** Show the next causes that fit, after the last ones the first. */
export function showMore(row) {
  const fitting = options(row).filter((cause) => fits(cause, direction(row)));
  pages.set(row, (pages.get(row) + 1) % Math.ceil(fitting.length / SHOWN));
  offer(row);
}

function offerAll() {
  for (const row of rows()) if (one(".why", row)) offer(row);
}

/** Take the cause away; the button that did it goes as well, so the focus moves to the row. */
function removeCause(row) {
  checked(row).checked = false;
  changed();
  go(rows().indexOf(row));
}

document.addEventListener("click", (event) => {
  const row = event.target.closest(".criterion");
  if (event.target.closest("[data-more]")) showMore(row);
  else if (event.target.closest("[data-no-cause]")) removeCause(row);
});
for (const name of ["shown", "changed"]) screenEvents.addEventListener(name, offerAll);
