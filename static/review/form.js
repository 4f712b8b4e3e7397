/* The form of the review screen: its rows, their scores and verdict, and the current row. */

import { keys } from "../keys.js";

/** Dispatches "shown" when a screen is shown, and "changed" when its form is (`detail.isText` while typing). */
export const screenEvents = new EventTarget();

const VERDICTS = { yes: "Pass", partial: "Partial", no: "Fail" };
let current = 0;
let shown = null;

export const one = (selector, root = document) => root.querySelector(selector);
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const dispatch = (name, detail) => screenEvents.dispatchEvent(new CustomEvent(name, { detail }));
export const form = () => one("#review-form");
export const rows = () => all("#criteria > .criterion");
const level = (row) => one("[name$='-score']:checked", row)?.closest(".level");
const score = (row) => level(row)?.dataset.level ?? "";
const isRemoved = (row) => one("[name$='-removed']", row).checked;
const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

// ---- the state of the form

function isEdited(row) {
  const text = one("textarea", row);
  return text.value !== text.defaultValue || "edited" in text.dataset;
}

function isBlank(row) {
  const name = one(".name input", row);
  return Boolean(name) && !name.value.trim() && !score(row) && !one("textarea", row).value.trim();
}

function isChanged(row) {
  if (one(".name input", row)) return !isBlank(row);
  return isRemoved(row) || score(row) !== row.dataset.judged || isEdited(row);
}

/** Whether the score differs from the judge's. */
export const isOverridden = (row) => Boolean(row.dataset.judged && level(row) && !("judge" in level(row).dataset));

export function missing() {
  const kept = rows().filter((row) => !isRemoved(row));
  return kept.filter((row) => !score(row) && !(isBlank(row) && kept.length > 1));
}

function verdict() {
  const rule = JSON.parse(form().dataset.rule);
  const levels = rows().filter((row) => !isRemoved(row) && !isBlank(row)).map(level);
  const said = levels.map((chosen) => chosen?.dataset[rule.kind === "mean" ? "number" : "counts"]);
  if (!said.length || said.some((value) => !value)) return "incomplete";
  if (rule.kind === "worst") return VERDICTS[["no", "partial", "yes"].find((value) => said.includes(value))];
  const mean = said.reduce((sum, number) => sum + Number(number), 0) / said.length;
  return mean >= rule.pass ? "Pass" : mean >= rule.partial ? "Partial" : "Fail";
}

function refresh() {
  if (!form()) return;
  for (const row of rows()) {
    row.classList.toggle("changed", isChanged(row));
    row.classList.toggle("edited", isEdited(row));
    row.classList.toggle("removed", isRemoved(row));
    const chosen = isOverridden(row) ? one("span", level(row)).textContent : "";
    one(".change strong", row).textContent = chosen && `${row.dataset.word} → ${chosen}`;
  }
  const output = one("#verdict");
  const before = output.dataset.judged;
  const after = verdict();
  output.textContent = ["", after].includes(before) || after === "incomplete" ? after : `${before} → ${after}`;
  labelSubmit();
}

function labelSubmit() {
  const submit = one("#submit");
  if (!submit) return;
  const lacking = missing().length;
  const changes = rows().filter(isChanged).length;
  const isOffered = one(".criterion[data-judged]:not([data-judged=''])", form());
  submit.setAttribute("aria-disabled", String(lacking > 0));
  one("span", submit).textContent = lacking ? `${counted(lacking, "score")} missing`
    : submit.dataset.label || (!isOffered ? "Submit & next"
      : changes ? `Submit ${counted(changes, "change")}` : "Agree & next");
}

export function changed(isText = false) {
  refresh();
  dispatch("changed", { isText });
}

// ---- the current row

export function go(index) {
  const list = rows();
  if (!list.length) return;
  current = Math.max(0, Math.min(index, list.length - 1));
  mark();
  list[current].focus({ preventScroll: true });
  list[current].scrollIntoView({ block: "nearest" });
}

function mark() {
  rows().forEach((row, index) => {
    row.toggleAttribute("data-current", index === current);
    row.removeAttribute("data-waiting");
  });
  light(current);
}

/** Highlight the part of the raw output that a row was extracted from. */
function light(index) {
  all("#raw [data-span]").forEach((span) => span.classList.toggle("lit", Number(span.dataset.span) === index));
}

export function edit() {
  const row = rows()[current];
  if (!row) return;
  one("details.edit", row).open = true;
  const text = one("textarea", row);
  text.focus();
  if (!isEdited(row)) text.select();
}

export function addRow() {
  const number = rows().length;
  const html = one("#blank-row").innerHTML.replaceAll("__n__", number).replaceAll("__place__", number + 1);
  one("#criteria").insertAdjacentHTML("beforeend", html);
  const row = rows()[number];
  window.htmx.process(row);
  return row;
}

// ---- a new screen

/** Show a notice from the server above the record. */
export function notice(html) {
  one("#notices").innerHTML = html;
  window.htmx.process(one("#notices"));
}

/** Replace the screen with another one. */
export function show(screen) {
  one("#screen").replaceWith(screen);
  window.scrollTo(0, 0);
  begin();
}

function begin() {
  const screen = one("#screen");
  if (!screen || screen === shown) return;
  shown = screen;
  current = 0;
  const button = one("#show-keys");
  if (button) button.hidden = false;
  if (form()) {
    mark();
    refresh();
  }
  const target = one("[aria-invalid='true']", screen) || one("[data-focus]", screen);
  target?.focus({ preventScroll: !target.matches("[aria-invalid]") });
  dispatch("shown");
}

document.addEventListener("input", (event) => {
  if (event.target.form && event.target.form === form()) changed(keys.isText(event.target));
});
document.addEventListener("focusin", (event) => {
  const index = rows().indexOf(event.target.closest(".criterion"));
  if (index >= 0 && index !== current) { current = index; mark(); }
  else if (!event.target.closest("[data-waiting]")) mark();
});
document.addEventListener("mouseover", (event) => {
  const index = rows().indexOf(event.target.closest(".criterion"));
  light(index >= 0 ? index : current);
});
document.addEventListener("click", (event) => {
  if (event.target.closest("button")?.id !== "add") return;
  event.preventDefault();
  const row = addRow();
  go(rows().length - 1);
  one(".name input", row).focus();
  refresh();
});
document.addEventListener("htmx:afterSettle", begin);
document.addEventListener("DOMContentLoaded", begin);

export const currentIndex = () => current;
