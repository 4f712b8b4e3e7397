/* The guard against stray input. A record accepts keys, clicks, taps and submits only after it has been visible for a
   moment, so that input meant for the record before decides nothing. A burst of keys is dropped to its end: keys that
   follow a dropped one without a pause are dropped, too. The second click of a double-click, repeating keys, and input
   while a request for the screen is running decide nothing either. */

import { keys } from "../keys.js";
import { one, screenEvents } from "./form.js";

const SIGN_MS = 2000;
// Everything that scores, decides or undoes. The style sheet keeps the pointer off it while [data-fresh="yes"].
const DECIDES = "#screen :is(#scores, #reviews, .actions, form, dialog), #messages form";
const CONTROL = "button, a, label, input, select, summary";
let watched = null; // the screen that this is about: htmx swaps a screen in before it is shown
let visibleSince = Infinity;
let droppedAt = -Infinity; // the last dropped key
let clicked = null; // the screen of the first click of a double-click
let pressedOn = null; // the target of the last key that did not repeat
let timer = 0;

const pause = () => Number(one("#screen")?.dataset.guard ?? 0);
const isEarly = (event) => one("#screen") !== watched || event.timeStamp - visibleSince < pause();
const isBusy = () => Boolean(one("#screen[aria-busy='true']"));

/** Start the pause at the first frame that shows the screen. A hidden page has no frames. */
function watch() {
  const screen = one("#screen");
  watched = screen;
  visibleSince = Infinity;
  screen.dataset.fresh = "yes";
  requestAnimationFrame(() => {
    if (screen !== one("#screen")) return;
    visibleSince = performance.now();
    setTimeout(() => { screen.dataset.fresh = "no"; }, pause());
  });
}

function drop(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Show for a moment that input was dropped. A burst counts once, so screen readers announce it once. */
function showSign() {
  const sign = one("#ignored");
  const shown = one("#screen").dataset.pk ? "record" : "page";
  if (!sign.textContent) sign.textContent = isBusy() ? "Ignored while submitting." : `Ignored: this ${shown} has just opened.`;
  clearTimeout(timer);
  timer = setTimeout(() => { sign.textContent = ""; }, SIGN_MS);
}

/** Whether a key can score, decide or open something: not while typing, except for Ctrl+Enter. */
function isCommand(event) {
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (event.key === "Enter" && hasModifier) return true;
  return !hasModifier && (event.key === "Enter" || event.key.length === 1) && (isBusy() || !keys.isText(event.target));
}

const scrolls = (event) => event.key === " " && !event.target.closest(`${CONTROL}, #scores`);

/** Whether a key that opened a text field is still held down: its repeats would be typed. */
function isHeldCommand(event) {
  if (!event.repeat) pressedOn = event.target;
  return event.repeat && keys.isText(event.target) && pressedOn !== event.target;
}

function onKey(event) {
  if (isHeldCommand(event)) drop(event);
  if (!one("#screen") || !isCommand(event)) return;
  const isBurst = event.timeStamp - droppedAt < pause();
  if (!isBurst && scrolls(event)) return;
  if (!event.repeat) {
    if (!isBurst && !isBusy() && !isEarly(event)) return;
    droppedAt = event.timeStamp;
    showSign();
  }
  drop(event);
}

function onClick(event) {
  if (!event.isTrusted) return; // a command clicks for a key that has passed
  const screen = one("#screen");
  if (event.detail <= 1) clicked = screen;
  const control = event.target.closest(CONTROL);
  const decides = Boolean(control?.closest(DECIDES));
  const isSecond = event.detail > 1 && (clicked !== screen || control?.type === "submit");
  if (decides && (isSecond || isBusy() || isEarly(event))) {
    drop(event);
    showSign();
  } else if (screen && isEarly(event) && event.target.contains(screen.firstElementChild)) showSign();
}

function onSubmit(event) {
  if (event.target.closest(DECIDES) && (isBusy() || isEarly(event))) drop(event);
}

// On the window in the capture phase, before all other listeners.
window.addEventListener("keydown", onKey, true);
window.addEventListener("click", onClick, true);
window.addEventListener("submit", onSubmit, true);
screenEvents.addEventListener("shown", watch);
// Until it is shown, htmx gives a new screen the attributes of the old one.
document.addEventListener("htmx:afterSwap", () => {
  const screen = one("#screen");
  if (screen && screen !== watched) screen.dataset.fresh = "yes";
});
