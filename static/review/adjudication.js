/* Adjudication: take one reviewer's score of a criterion, or a whole review, with its reasons and causes. */

import { keys } from "../keys.js";
import { all, changed, currentIndex, digitsScore, go, missing, numberOf, one, rows, screenEvents } from "./form.js";

/** The comparison of independent reviews beside an open form. */
const table = () => one("#reviews[data-takes]");
const nameOf = (row) => one("[name$='-name']", row).value;
const rowOf = (button) => rows().find((row) => nameOf(row) === button.closest("tr").dataset.criterion);
const buttonOf = (row, side) => all("tr[data-criterion]", table()).filter((line) => line.dataset.criterion === nameOf(row))
  .map((line) => one(`.take[data-side="${side}"]`, line))[0];

const scoreOf = (row) => one("[name$='-score']:checked", row)?.value || numberOf(row)?.value || "";

/** Whether a row has the score of a button: `excluded` where its reviewer excluded the criterion. */
function isTaken(row, { score }) {
  const isExcluded = one("[name$='-removed']", row).checked;
  return score ? !isExcluded && scoreOf(row) === score : isExcluded;
}

function fill(row, { score, cause, reason, who }) {
  one("[name$='-removed']", row).checked = !score;
  for (const radio of all("[type=radio][name$='-score']", row)) radio.checked = radio.value === score;
  if (numberOf(row)) numberOf(row).value = one("[name$='-score'][type=radio]:checked", row) ? "" : score;
  for (const radio of all("[type=radio][name$='-cause']", row)) radio.checked = Boolean(cause) && radio.value === cause;
  const text = one("textarea", row);
  text.value = reason;
  const author = one("[data-words-of]", row);
  author.hidden = !reason;
  one("strong", author).textContent = who;
  one(".reason", row).open = Boolean(reason || !score);
  text.dispatchEvent(new CustomEvent("input", { bubbles: true, detail: "taken" })); // shows its preview
}

/** Take one score, and go to the next criterion without one. */
function takeOne(button) {
  const row = rowOf(button);
  if (!row) return;
  fill(row, button.dataset);
  changed();
  const list = rows();
  const open = missing().map((each) => list.indexOf(each));
  go(open.find((index) => index > list.indexOf(row)) ?? open[0] ?? list.indexOf(row));
}

function takeAll(button) {
  const { side, comment } = button.dataset;
  for (const row of rows()) {
    const found = buttonOf(row, side);
    if (found) fill(row, found.dataset);
  }
  const field = one("#comments");
  const known = all("thead .take", table()).map((each) => each.dataset.comment);
  if (!field.value.trim() || known.includes(field.value)) field.value = comment;
  changed();
  go(rows().indexOf(missing()[0]) >= 0 ? rows().indexOf(missing()[0]) : currentIndex());
}

/** Whether digits enter a number or are scores, so that a side is taken with Shift. */
const digitsAreScores = () => digitsScore() || rows().some((row) => numberOf(row));

/** Take a side by its number, for the current criterion, or with Shift for all; return false if there is no such side.
    In a rubric with numbers, Shift takes the side for the current criterion. */
export function takeSide(side, isShifted) {
  if (!table()) return false;
  const isWhole = isShifted && !digitsAreScores();
  const button = isWhole ? one(`thead .take[data-side="${side}"]`, table()) : buttonOf(rows()[currentIndex()], side);
  if (!button) return !isWhole;
  (isWhole ? takeAll : takeOne)(button);
  return true;
}

function show() {
  if (!table()) return;
  for (const button of all(".take", table())) {
    button.hidden = false;
    const key = one("kbd", button);
    if (key && digitsAreScores()) {
      key.hidden = Boolean(button.closest("thead"));
      key.textContent = `⇧${button.dataset.side}`;
    }
    if (!button.closest("tbody")) continue;
    const row = rowOf(button);
    button.setAttribute("aria-pressed", String(Boolean(row) && isTaken(row, button.dataset)));
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("#reviews .take");
  if (button) (button.closest("tbody") ? takeOne : takeAll)(button);
});
document.addEventListener("input", (event) => {
  const row = keys.isText(event.target) && event.detail !== "taken" && event.target.closest(".criterion");
  const author = row && one("[data-words-of]", row);
  if (author) author.hidden = true; // the words are the lead's now
});
screenEvents.addEventListener("shown", () => {
  const first = table() && missing()[0];
  if (first) go(rows().indexOf(first));
});
for (const name of ["shown", "changed"]) screenEvents.addEventListener(name, show);
