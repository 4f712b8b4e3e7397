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
/** Whether digits are scores. Causes and the scores of reviewers are picked with Shift then. */
export const digitsScore = () => Boolean(one("#criteria[data-digits]"));
export const rows = () => all("#criteria > .criterion");
const level = (row) => one("[name$='-score']:checked", row)?.closest(".level");
export const numberOf = (row) => one(".number-field [type=number]", row);
const track = (row) => one(".number-field .track", row);
const score = (row) => level(row)?.dataset.level ?? (numberOf(row)?.validity.valid ? numberOf(row).value : "");
const isRemoved = (row) => one("[name$='-removed']", row).checked;
const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

// ---- the state of the form

/** Whether the reviewer's reason takes the place of the judge's justification. */
export const isEdited = (row) => one("textarea", row).value.trim() !== "";

function isBlank(row) {
  const name = one(".name input", row);
  return Boolean(name) && !name.value.trim() && !score(row) && !one("textarea", row).value.trim();
}

function isChanged(row) {
  if (one(".name input", row)) return !isBlank(row);
  return isRemoved(row) || !isJudged(row) || isEdited(row);
}

/** Whether the score is the judge's. Numbers may be spelled differently. */
function isJudged(row) {
  const [ours, judges] = [score(row), row.dataset.judged];
  return ours === judges || Boolean(numberOf(row) && !level(row) && ours && judges && Number(ours) === Number(judges));
}

/** Whether the score differs from the judge's. */
export const isOverridden = (row) => Boolean(row.dataset.judged && score(row) && !isJudged(row));

/** The chosen score: its level, its amount in a mean, its rank, and whether a verdict skips it. */
function chosen(row) {
  const data = level(row)?.dataset;
  if (data) return { counts: data.counts, amount: data.amount, rank: data.rank, isSkipped: "skipped" in data };
  if (!score(row)) return { counts: "", amount: "", rank: "" };
  const limits = JSON.parse(one(".number-field", row).dataset.thresholds);
  const sign = limits.lower_is_better ? -1 : 1;
  const reaches = (limit) => limit !== null && sign * Number(score(row)) >= sign * limit;
  const counts = limits.pass_from === null ? "" : reaches(limits.pass_from) ? "yes" : reaches(limits.partial_from) ? "partial" : "no";
  return { counts, amount: score(row), rank: String(sign * Number(score(row))) };
}

/** How the score compares with the judge's: raised, lowered or same; empty if they differ without an order. */
export function direction(row) {
  if (!isOverridden(row)) return "same";
  const [ours, judges] = [chosen(row).rank, row.dataset.rank];
  if (!ours || !judges || Number(ours) === Number(judges)) return "";
  return Number(ours) > Number(judges) ? "raised" : "lowered";
}

const isInvalid = (row) => Boolean(numberOf(row) && !numberOf(row).validity.valid);

/** The entries when the screen was shown, to find out in a spot check whether the lead changes the decision. */
let entries = "";
const snapshot = () => JSON.stringify([...new FormData(form())].filter(([name]) => /^(comments|criteria-)/.test(name)));

/** Whether the form of a spot check is still equal to the decision, so that submitting it agrees. */
function isUntouched() {
  const submit = one("#submit[data-unchanged]:not([data-touched])");
  return Boolean(submit) && snapshot() === entries;
}

export function missing() {
  if (isUntouched()) return [];
  const kept = rows().filter((row) => !isRemoved(row));
  return kept.filter((row) => !score(row) && (isInvalid(row) || !("optional" in row.dataset)) && !(isBlank(row) && kept.length > 1));
}

function verdict() {
  const rule = JSON.parse(form().dataset.rule);
  const counted = rows().filter((row) => !isRemoved(row) && !isBlank(row) && !("optional" in row.dataset && !score(row)))
    .map((row) => ({ ...chosen(row), weight: rule.rule === "weighted" ? Number(row.dataset.weight) : 1 }))
    .filter((said) => !said.isSkipped);
  if (!counted.length || rule.rule === "none") return "incomplete";
  if (rule.rule === "worst") {
    if (counted.some((said) => !said.counts)) return "incomplete";
    return VERDICTS[["no", "partial", "yes"].find((value) => counted.some((said) => said.counts === value))];
  }
  if (counted.some((said) => !said.amount)) return "incomplete";
  const weights = counted.reduce((sum, said) => sum + said.weight, 0);
  if (!weights) return "incomplete";
  const sum = counted.reduce((total, said) => total + said.weight * Number(said.amount), 0);
  const mean = Math.round((sum / weights) * 1e9) / 1e9; // as the server rounds it
  if (mean >= (rule.pass_from ?? Infinity)) return "Pass";
  return mean >= (rule.partial_from ?? Infinity) ? "Partial" : "Fail";
}

function refresh() {
  if (!form()) return;
  for (const row of rows()) {
    row.classList.toggle("changed", isChanged(row));
    row.classList.toggle("edited", isEdited(row));
    row.classList.toggle("removed", isRemoved(row));
    row.classList.toggle("overridden", isOverridden(row));
    const word = isOverridden(row) ? (level(row) ? one("span", level(row)).textContent : score(row)) : "";
    if (one(".why", row)) one(".why .change", row).textContent = word ? `${row.dataset.word} → ${word}` : "Same score";
    showTrack(row);
  }
  showVerdict();
  labelSubmit();
}

function showVerdict() {
  const output = one("#verdict");
  if (!output) return; // the rubric makes no verdict
  const before = output.dataset.judged;
  const after = verdict();
  output.textContent = ["", after].includes(before) || after === "incomplete" ? after : `${before} → ${after}`;
}

/** Show the number on the track. */
function showTrack(row) {
  if (!track(row)) return;
  track(row).hidden = false;
  track(row).value = numberOf(row).value || track(row).min;
  track(row).toggleAttribute("data-empty", !numberOf(row).value);
}

/** Keep the number, its track and the buttons of a row in step: the last one used counts. */
function synchronise(target) {
  const row = target.closest(".criterion");
  if (!row || !numberOf(row)) return;
  if (target === track(row)) numberOf(row).value = target.value;
  if (target === numberOf(row) || target === track(row)) all("[type=radio][name$='-score']", row).forEach((radio) => { radio.checked = false; });
  else if (target.matches("[name$='-score']")) numberOf(row).value = "";
}

function labelSubmit() {
  const submit = one("#submit");
  if (!submit) return;
  const lacking = missing();
  const changes = rows().filter(isChanged).length;
  const isOffered = one(".criterion[data-judged]:not([data-judged=''])", form());
  submit.setAttribute("aria-disabled", String(lacking.length > 0));
  one("span", submit).textContent = lacking.length ? `${counted(lacking.length, "score")} ${lacking.every(isInvalid) ? "off the scale" : "missing"}`
    : isUntouched() ? submit.dataset.unchanged : submit.dataset.label || (!isOffered ? "Submit & next"
      : changes ? `Submit ${counted(changes, "change")}` : submit.dataset.agree);
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
  const number = numberOf(list[current]);
  (number ?? list[current]).focus({ preventScroll: true });
  number?.select();
  list[current].scrollIntoView({ block: "nearest" });
}

function mark() {
  rows().forEach((row, index) => {
    row.toggleAttribute("data-current", index === current);
    row.removeAttribute("data-waiting");
    one(".why", row)?.removeAttribute("open");
  });
  light(current);
}

/** Highlight the part of the raw output that a row was extracted from. */
function light(index) {
  all("#raw [data-span]").forEach((span) => span.classList.toggle("lit", Number(span.dataset.span) === index));
}

/** Put the cursor in a text, at its end unless it was in it before. */
export function write(field) {
  field.focus();
  if (field.selectionEnd === 0) field.setSelectionRange(field.value.length, field.value.length);
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
    entries = snapshot();
    mark();
    refresh();
  }
  const target = one("[aria-invalid='true']", screen) || one("[data-focus]", screen);
  target?.focus({ preventScroll: !target.matches("[aria-invalid]") });
  dispatch("shown");
}

document.addEventListener("input", (event) => {
  if (!event.target.form || event.target.form !== form() || event.target.id === "check-reason") return;
  synchronise(event.target);
  // A text that grows would grow below the bar.
  if (event.target.matches("textarea")) event.target.scrollIntoView({ block: "nearest" });
  changed(keys.isText(event.target));
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
