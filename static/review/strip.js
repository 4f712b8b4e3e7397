/* The strip under the site header: one sentence and one action about the most urgent trouble. It lies over the page,
   so it never moves a field. Trouble known when a screen is made has a strip in the screen, under this one. */

import { clock, showTimes } from "../times.js";
import { one, screenEvents } from "./form.js";

const kept = (isCopied) => (isCopied ? "Draft saved in this browser" : "This browser's storage is full: keep this tab open");

/* The states, most urgent first. `says` makes the sentence from the details of `raise`; without it, the server made the
   whole strip. `label` names the action. A state that `stays` is about the person, not about the record on the screen. */
const STATES = {
  "someone-else": {
    tone: "bad", label: "Sign in", stays: true,
    says: ({ name }) => `${name} is signed in now. Your draft is kept. Sign in as yourself to continue.`,
  },
  "signed-out": {
    tone: "bad", label: "Sign in", stays: true,
    says: ({ isCopied = true }) => `You've been signed out. ${isCopied ? "Your draft is safe" : kept(false)}. Sign in to continue.`,
  },
  lost: { tone: "bad" },
  newer: { tone: "warn" },
  unsent: {
    tone: "bad", label: "Submit again",
    says: ({ reason }) => (reason ? `Couldn't submit: ${reason}. Your work is kept; try again.` : "This record isn't submitted yet. Your work is kept."),
  },
  failed: { tone: "bad", label: "Try again", says: ({ reason }) => `That didn't go through: ${reason}. Your work is kept; try again.` },
  refused: { tone: "bad", label: "Try again", says: ({ isCopied, reason }) => `The server didn't accept your draft${reason ? `: ${reason}` : ""}. ${kept(isCopied)}.` },
  offline: { tone: "warn", label: "Retry now", says: ({ isCopied }) => (isCopied === undefined ? "You're offline; reconnecting…" : `You're offline. ${kept(isCopied)}; reconnecting…`) },
  failing: { tone: "warn", label: "Retry now", says: ({ isCopied }) => `The server couldn't save your draft. ${kept(isCopied)}; retrying…` },
  notice: { tone: "warn" },
  expiring: { tone: "warn", label: "Keep working", says: ({ until }) => (Date.parse(until) > Date.now() ? `This record will be released at ${clock(until)}.` : `Your claim expired at ${clock(until)}.`) },
  regained: { tone: "ok" },
  aside: {
    tone: "info", label: "Switch to it", isClosable: true,
    says: () => "Another version of this draft is kept in this tab.",
  },
};
const CLOSE = '<button type="button" class="button quiet small" data-dismiss aria-label="Close">✕</button>';
const raised = new Map(); // state -> details
let shown = "";

const place = () => one("#strip");

/** Show a state until it is cleared or, unless it stays, another record is shown. `act` runs the action; `href` links to it. */
export function raise(state, details = {}) {
  raised.set(state, details);
  render();
}

/** Show a strip that the server made. Its element names the state. It replaces a strip of the screen with this state. */
export function raiseFromServer(html) {
  const strip = parsed(html);
  const state = strip?.dataset.state;
  const own = state && one(`#screen > .strip[data-state="${state}"]`);
  if (own) renew(own, strip);
  else if (strip) raise(state, { html: strip.outerHTML });
  return state;
}

const parsed = (html) => new DOMParser().parseFromString(html, "text/html").querySelector(".strip");
const actions = (strip) => [...strip.children].filter((child) => child !== one("p", strip)).map((child) => child.textContent).join();

/** Show another strip with the same state. Actions that stay the same stay in place: a click on them may be under way. */
function renew(own, strip) {
  showTimes(strip);
  if (strip.textContent === own.textContent) return; // it would be announced again
  if (actions(own) === actions(strip)) return one("p", own).replaceWith(one("p", strip));
  own.replaceWith(strip);
  window.htmx.process(strip);
}

export function clear(...states) {
  for (const state of states) raised.delete(state);
  render();
}

/** The details of a state that is raised, or undefined. */
export const detailsOf = (state) => raised.get(state);

/** The network or the server is back: a submit that failed waits for the person to repeat it. */
export function settle() {
  clear("offline", "failing", "refused");
  if (detailsOf("unsent")) raise("unsent", { ...detailsOf("unsent"), reason: "" });
}

function render() {
  if (!place()) return;
  const state = Object.keys(STATES).find((name) => raised.has(name));
  const html = state ? raised.get(state).html || htmlOf(state, raised.get(state)) : "";
  if (html === shown) return; // it would be announced again
  shown = html;
  const own = one(".strip", place());
  if (state && own?.dataset.state === state) return renew(own, parsed(html));
  place().innerHTML = html;
  if (!state) return;
  window.htmx.process(place());
  showTimes(place());
  uncover();
}

function htmlOf(state, details) {
  const { tone, label, says, isClosable } = STATES[state];
  const strip = document.createElement("div");
  strip.className = `strip ${tone}`;
  strip.dataset.state = state;
  strip.setAttribute("role", "alert");
  const sentence = document.createElement("p");
  sentence.textContent = says(details);
  strip.append(sentence);
  if (details.act || details.href) strip.append(actionOf(label, details));
  if (isClosable) strip.insertAdjacentHTML("beforeend", CLOSE);
  return strip.outerHTML;
}

function actionOf(label, details) {
  const action = document.createElement(details.href ? "a" : "button");
  action.className = "button small";
  action.textContent = label;
  if (details.href) Object.assign(action, { href: details.href, target: "_blank", rel: "noopener" });
  else Object.assign(action, { type: "button" }).dataset.act = "";
  return action;
}

/** Scroll the focused field out from under the strip. */
function uncover() {
  const field = document.activeElement;
  const covered = one(".strip", place()).getBoundingClientRect();
  const { top, bottom } = field.getBoundingClientRect();
  if (field.matches("input, textarea") && top < covered.bottom && bottom > covered.top) field.scrollIntoView({ block: "center" });
}

document.addEventListener("click", (event) => {
  const strip = event.target.closest(".strip");
  if (!strip || !place()?.contains(strip)) return;
  if (event.target.closest("[data-dismiss]")) clear(strip.dataset.state);
  else if (event.target.closest("[data-act]")) raised.get(strip.dataset.state)?.act();
});
screenEvents.addEventListener("shown", () => {
  clear(...Object.keys(STATES).filter((state) => !STATES[state].stays));
});
document.addEventListener("htmx:beforeRequest", () => clear("failed"));
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const isForStrip = detail.target === place(); // a conflict
  if (isForStrip) raiseFromServer(detail.serverResponse);
  if (isForStrip || detail.xhr.status >= 500) detail.shouldSwap = false; // the strip explains it
});
