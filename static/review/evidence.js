/* The evidence: the question pinned at its top, and its panes. */

import { keys } from "../keys.js";
import { all, one, screenEvents } from "./form.js";

// ---- the question

const QUESTION = "open question"; // in the session: the task whose question is open
let passing = null;
let fitting = null;

const toggle = () => one("#question-open");
const task = () => one("#evidence").dataset.task;

/** Open the question if it was open for the last record of the task, and follow its size and position. */
function beginQuestion() {
  passing?.disconnect();
  fitting?.disconnect();
  const question = one("#question");
  if (!question) return;
  toggle().checked = sessionStorage.getItem(QUESTION) === task();
  // Once most of the text is scrolled away, its beginning appears in the bar.
  passing = new IntersectionObserver(([entry]) => {
    one("#question-bar")?.toggleAttribute("data-passed", entry.intersectionRatio < .5);
  }, { threshold: .5 });
  passing.observe(question);
  fitting = new ResizeObserver(() => {
    if (!toggle()?.checked) question.toggleAttribute("data-fits", question.scrollHeight <= question.clientHeight + 1);
  });
  fitting.observe(one(".question-body", question));
}

function rememberQuestion() {
  if (toggle().checked) sessionStorage.setItem(QUESTION, task());
  else sessionStorage.removeItem(QUESTION);
}

// ---- panes

const tabs = () => all("[name=pane]");
const shownTab = () => tabs().find((tab) => tab.checked);
let lastPane = "";

/** Show a pane; if it is shown already, the one before it. */
export function showPane(name) {
  const shown = shownTab()?.value;
  const before = lastPane || tabs().find((tab) => tab.defaultChecked)?.value;
  const tab = tabs().find((one) => one.value === (shown === name ? before : name));
  if (!tab || tab.checked) return;
  tab.click();
  lastPane = shown;
}

function toggleRaw() {
  showPane("raw");
  const raw = one("#raw");
  if (raw?.checkVisibility()) (one(".lit", raw) || raw).scrollIntoView({ block: "nearest" });
}

Object.assign(keys.commands, {
  question: () => toggle()?.click(),
  compare: () => showPane("compare"),
  model: () => showPane("model"),
  ideal: () => showPane("ideal"),
  raw: toggleRaw,
  others: () => one("#siblings > summary")?.click(),
});

document.addEventListener("change", (event) => {
  if (event.target === toggle()) rememberQuestion();
});
screenEvents.addEventListener("shown", () => {
  lastPane = "";
  if (one("#evidence")) beginQuestion();
});
