/* The reviewer's reason: a text of its own for each criterion, under the judge's words. */

import { isEdited, one, rows, screenEvents, write } from "./form.js";

const setAside = new WeakMap(); // row -> the reason that gave way to the judge's words

/** Open the reason of a row, and put the cursor in it. */
export function openReason(row) {
  if (!row) return;
  one(".reason", row).open = true;
  write(one("textarea", row));
}

/** Set the reason aside for the judge's words, or bring it back. */
function swapWords(row) {
  const text = one("textarea", row);
  const reason = isEdited(row) ? "" : setAside.get(row);
  setAside.set(row, text.value);
  text.value = reason;
  text.dispatchEvent(new Event("input", { bubbles: true }));
  text.focus();
}

function label() {
  for (const row of rows()) {
    const button = one("[data-swap-words]", row);
    if (!button) continue;
    button.hidden = !isEdited(row) && !setAside.get(row)?.trim();
    button.textContent = isEdited(row) ? "Use the judge's words" : "Restore my reason";
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-swap-words]");
  if (button) swapWords(button.closest(".criterion"));
  const opener = event.target.closest(".reason:not([open]) > summary");
  if (!opener) return;
  event.preventDefault(); // without a script, the browser opens it and leaves the focus where letters are commands
  openReason(opener.closest(".criterion"));
});
for (const name of ["shown", "changed"]) screenEvents.addEventListener(name, label);
