/* The keyboard shortcuts of the review screen.

   A score key scores the current criterion and goes to the next. If it overrides the judge's score, the row opens its
   causes and waits for one more key: a digit picks the cause, 0 shows more, Esc skips the cause. All other keys keep their meaning, and a score key applies
   to the next row, so scoring four criteria by hand takes four keys, whatever the judge scored. No letter starts a text:
   Enter opens the reviewer's reason. Where a lead adjudicates, a digit takes the score of that review, and with Shift all
   of it; where digits enter numbers, Shift and a digit take the score. Where digits are scores, they are score keys:
   Shift and a digit picks the cause. */

import { keys } from "../keys.js";
import { toggleMathSource } from "../math.js";
import { takeSide } from "./adjudication.js";
import { showMore } from "./causes.js";
import { showPane } from "./evidence.js";
import { all, changed, currentIndex, digitsScore, form, go, isOverridden, missing, numberOf, one, rows, screenEvents, write } from "./form.js";
import { afterSaving } from "./next.js";
import { openReason } from "./reason.js";

let showsDiff = false;

const click = (selector) => () => one(selector)?.click();
/** The digit on a key. With Shift, and on French keyboards without it, the key types another sign. */
const digitOn = (event) => (event.key.length === 1 ? /^(?:Digit|Numpad)([0-9])$/.exec(event.code)?.[1] : undefined);
/** The digit that picks something other than a score. */
const digitOf = (event) => (event.shiftKey === digitsScore() ? digitOn(event) : undefined);
const waiting = () => one("#criteria > [data-waiting]");

// ---- scores and causes

const levelAt = (row, key) => one(`.level[data-key="${CSS.escape(key)}"] input`, row);

function scoreAll(key) {
  for (const row of rows()) {
    const radio = levelAt(row, key);
    if (radio) radio.checked = true;
  }
  changed();
  go(currentIndex());
}

function scoreCurrent(key) {
  const list = rows();
  const index = Math.min(currentIndex() + (waiting() ? 1 : 0), list.length - 1);
  const radio = levelAt(list[index], key);
  if (!radio) return;
  radio.checked = true;
  changed();
  if (!wait(list[index], index)) go(index + 1);
}

/** Open the causes of an override, so that the next key picks one; return false if there are none to pick. */
function wait(row, index) {
  return isOverridden(row) && openCauses(row, index);
}

function openCauses(row, index) {
  const causes = one(".why", row);
  if (!causes) return false;
  go(index);
  row.focus({ preventScroll: true }); // not its number: a digit picks the cause
  row.setAttribute("data-waiting", "");
  causes.open = true;
  return true;
}

function toggleCauses(row) {
  const index = rows().indexOf(row);
  if (row === waiting()) go(index);
  else openCauses(row, index);
}

function answer(event, key) {
  const digit = digitOf(event);
  if (digit === "0") {
    showMore(waiting());
  } else if (digit) {
    const cause = one(`.cause[data-cause-key="${digit}"] input`, waiting());
    if (cause) {
      cause.checked = true;
      changed();
      go(currentIndex() + 1);
    }
  } else if (key === "escape") {
    go(currentIndex() + 1);
  } else {
    return false;
  }
  event.preventDefault();
  return true;
}

/** In a number, digits and arrows change it, and Enter goes to the next criterion. */
function onNumberKey(event) {
  if (event.key === "Enter") {
    event.preventDefault();
    const list = rows();
    const index = list.findIndex((row) => numberOf(row) === event.target);
    if (!event.target.validity.valid) event.target.reportValidity();
    else if (!wait(list[index], index)) go(index + 1);
    return true;
  }
  return /^([0-9.,+-]|Arrow.*|Backspace|Delete|Home|End|Tab)$/.test(event.key);
}

keys.before = (event, key) => {
  if (event.target.matches(".number-field [type=number]") && onNumberKey(event)) return true;
  // Each pane scrolls on its own; on the heading, scrolling keys apply to the evidence.
  if (event.target.matches("body, h1") && /^(Arrow|Page|Home|End| )/.test(event.key)) one("#evidence")?.focus();
  if (!form()) return false;
  if (event.target.matches(".criterion") && /^Arrow(Up|Down)$/.test(event.key)) {
    event.preventDefault();
    keys.commands[event.key === "ArrowDown" ? "down" : "up"]();
    return true;
  }
  const digit = digitOn(event);
  const level = (digitsScore() && digit) || key;
  const isLevel = level.length === 1 && Boolean(one(`#criteria .level[data-key="${CSS.escape(level)}"]`));
  if (waiting() && (!isLevel || digitOf(event)) && answer(event, key)) return true;
  if (digit > 0 && (event.shiftKey || !digitsScore()) && takeSide(digit, event.shiftKey)) {
    event.preventDefault();
    return true;
  }
  if (!isLevel && !(digit && (digitsScore() || (digit > 0 && !event.shiftKey)))) return false;
  event.preventDefault();
  if (isLevel) (event.shiftKey ? scoreAll : scoreCurrent)(level);
  else if (!digitsScore()) go(Number(digit) - 1); // a digit off the scale does nothing
  return true;
};

// ---- commands

function submit() {
  if (!form()) return one("#review-this")?.click();
  const lacking = missing();
  if (lacking.length) go(rows().indexOf(lacking[0]));
  else if (one("#submit")) form().requestSubmit(one("#submit"));
}

function toggleDiff() {
  const box = one("#show-diff");
  if (!box) return;
  const isHidden = !box.checkVisibility();
  if (isHidden) showPane("compare");
  if (!isHidden || !box.checked) box.click();
}

function toggleLayout() {
  const layout = document.body.dataset.layout ? "" : "even";
  document.body.dataset.layout = layout;
  localStorage.setItem("layout", layout);
}

Object.assign(keys.commands, {
  submit,
  skip: click("#skip"),
  flag: click("#flag"),
  escalate: click("#escalate"),
  undo: () => afterSaving(click("#undo")),
  down: () => go(currentIndex() + 1),
  up: () => go(currentIndex() - (waiting() ? 0 : 1)),
  reason: () => openReason(rows()[currentIndex()]),
  comment: () => { if (one("#comments")) write(one("#comments")); },
  guideline: () => one("#guideline")?.togglePopover(),
  diff: toggleDiff,
  source: toggleMathSource,
  layout: toggleLayout,
});
Object.assign(keys.shifted, { down: click("#look-next"), up: click("#look-previous") });

// ---- escalation

function openEscalation(link) {
  const kind = new URL(link.href).searchParams.get("kind");
  const kinds = all("#escalation [name=kind]");
  (kinds.find((radio) => radio.value === kind) || kinds[0]).checked = true;
  one("#escalation").showModal();
  focusEscalation();
}

function focusEscalation() {
  const isQuestion = !one("#escalation .reasons").checkVisibility();
  one(isQuestion ? "#escalation [name=note]" : "#escalation [name=reason]").focus();
}

function onDialogKey(event) {
  const dialog = one("#escalation[open]");
  if (!dialog || event.altKey) return;
  const isText = keys.isText(event.target);
  const hasModifier = event.ctrlKey || event.metaKey;
  if (event.key === "Enter" && (hasModifier || !(isText || event.target.matches("button")))) {
    event.preventDefault();
    one("#escalation-form").requestSubmit();
  }
  const digit = keys.isOn && !isText && !hasModifier && !event.shiftKey && digitOn(event);
  const reason = digit && one(`[data-reason-key="${digit}"] input`, dialog);
  if (reason) {
    event.preventDefault();
    reason.checked = true;
    reason.focus();
  }
}

// ---- shortcuts that work with single keys off

/** Whether Enter does nothing of its own on the target. On a radio button it would press the first button of the form. */
const isFreeForEnter = (target) => target.matches("#criteria [type=radio]") || !target.closest("a, button, summary, input, select, textarea");

function onKey(event) {
  if (event.isComposing || one("dialog[open]")) return onDialogKey(event);
  if (!form()) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    submit();
  } else if (keys.isText(event.target)) {
    // Enter in a name or a reason would press the first button of the form.
    if (event.key === "Enter" && event.target.matches("#check-reason")) { event.preventDefault(); submit(); }
    const isDone = event.key === "Escape" || (event.key === "Enter" && event.target.matches("#criteria input"));
    if (isDone) { event.preventDefault(); go(currentIndex()); }
  } else if (event.key === "Enter" && !event.altKey && !event.shiftKey && isFreeForEnter(event.target)) {
    event.preventDefault();
    if (!event.repeat) openReason(rows()[currentIndex()]);
  }
}

// In the capture phase, before keys.js: a handled key is not looked up as a command.
document.addEventListener("keydown", onKey, true);
document.addEventListener("change", (event) => {
  const row = event.target.matches("[type=radio][name$='-score']") && event.target.closest("#criteria > .criterion");
  if (row) {
    const index = rows().indexOf(row);
    if (wait(row, index)) event.target.focus();
  } else if (event.target.matches("#show-diff")) {
    showsDiff = event.target.checked;
  }
});
document.addEventListener("click", (event) => {
  const summary = event.target.closest(".why > summary");
  if (summary) {
    event.preventDefault(); // without a script, the browser opens and closes it
    toggleCauses(summary.closest(".criterion"));
  } else if (event.detail && event.target.matches(".cause input")) {
    go(currentIndex()); // picked by a pointer; arrow keys click without one
  }
  const control = event.target.closest("button, a");
  if (!control) return;
  if (control.id === "show-keys") keys.commands.keys();
  else if (control.matches("#flag, #escalate") && one("#escalation")) {
    event.preventDefault();
    openEscalation(control);
  } else if (control.id === "submit" && missing().length) {
    event.preventDefault();
    submit();
  }
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "escalation-form") focusEscalation();
});
screenEvents.addEventListener("shown", () => {
  const box = one("#show-diff");
  if (box) box.checked = showsDiff;
});
document.body.dataset.layout = localStorage.getItem("layout") || "";
