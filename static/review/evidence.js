/* The evidence: the question pinned at its top, its panes, and peeks at other records of the task. */

import { keys } from "../keys.js";
import { typesetMath } from "../math.js";
import { all, one, screenEvents } from "./form.js";
import { fetchPart } from "./requests.js";

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
  passing = new IntersectionObserver((entries) => {
    one("#question-bar")?.toggleAttribute("data-passed", entries.at(-1).intersectionRatio < .5);
  }, { threshold: .5 });
  passing.observe(question);
  fitting = new ResizeObserver(() => {
    const isCut = question.scrollHeight > question.clientHeight + 1 || Boolean(one("details", question));
    if (!toggle()?.checked) question.toggleAttribute("data-fits", !isCut);
  });
  fitting.observe(one(".question-body", question));
}

function rememberQuestion() {
  if (toggle().checked) sessionStorage.setItem(QUESTION, task());
  else sessionStorage.removeItem(QUESTION);
}

// ---- signals

const openSignal = () => one(".signals [open]");

function closeSignal() {
  const signal = openSignal();
  const hasFocus = signal.contains(document.activeElement);
  signal.open = false;
  if (hasFocus) one("summary", signal).focus();
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

// ---- other records of the task

const FOLDED = "folded others"; // in the session
const links = () => all("#siblings [data-peek]");
let peeked = 0; // the place of the record in the dialog
let asked = 0;

/** Go to the table of other records; from there, fold it. */
function goToOthers() {
  const others = one("#siblings");
  if (!others) return;
  others.open = !(others.open && others.contains(document.activeElement));
  (others.open ? links()[0] : one("summary", others)).focus();
}

/** Fold the table if it was folded last, unless there is little else to read. */
function beginOthers() {
  const others = one("#siblings");
  if (others && one(".pane:not(.raw)")) others.open = !sessionStorage.getItem(FOLDED);
}

function focusLink(place) {
  links().at(Math.max(0, Math.min(place, links().length - 1))).focus();
}

/** Show another record in the dialog. An answer that comes after the next request is dropped. */
async function peek(place) {
  const link = links()[place];
  if (!link) return;
  const request = ++asked;
  const [dialog, body] = [one("#peek"), one("#peek-body")];
  peeked = place;
  one("#peek-title").textContent = `${link.title || link.textContent} · ${place + 1} of ${links().length}`;
  one("#peek-open").href = link.href;
  body.innerHTML = '<p class="skeleton">Loading…</p>';
  body.setAttribute("aria-busy", "true");
  if (!dialog.open) dialog.showModal();
  one("#peek-title").focus();
  const html = await fetchPeek(link.dataset.peek);
  if (request !== asked) return;
  body.innerHTML = html;
  body.removeAttribute("aria-busy");
  body.scrollTop = 0;
  typesetMath();
}

async function fetchPeek(address) {
  try {
    const response = await fetchPart(address);
    if (response.status === 200 && !response.redirected) return response.text;
  } catch {
    // Without a connection, say the same.
  }
  return "<p>This record could not be loaded. Check that you are online and signed in, then try again.</p>";
}

/** In the table, arrows and the keys for next and previous move between rows; in the dialog, between records. */
function onKey(event) {
  if (event.key === "Escape" && openSignal() && !one("dialog[open]") && !keys.isText(event.target)) {
    event.preventDefault();
    event.stopPropagation();
    closeSignal();
    return;
  }
  const isOpen = Boolean(one("#peek[open]"));
  const place = links().indexOf(document.activeElement);
  if (!(isOpen || place >= 0) || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  const name = keys.nameOf(event.key.toLowerCase());
  const scrolls = isOpen && event.target.closest("#peek-body");
  const step = name === "down" || (event.key === "ArrowDown" && !scrolls) ? 1
    : name === "up" || (event.key === "ArrowUp" && !scrolls) ? -1 : 0;
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  if (isOpen) peek(peeked + step);
  else focusLink(place + step);
}

document.addEventListener("keydown", onKey, true);
// "toggle" does not bubble.
document.addEventListener("toggle", (event) => {
  if (event.target.id !== "siblings" || !one(".pane:not(.raw)")) return;
  if (event.target.open) sessionStorage.removeItem(FOLDED);
  else sessionStorage.setItem(FOLDED, "yes");
}, true);
document.addEventListener("click", (event) => {
  if (openSignal() && !event.target.closest(".signals [open]")) closeSignal();
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const step = event.target.closest("#peek [data-step]");
  const link = event.target.closest("#siblings tr")?.querySelector("[data-peek]");
  if (step) peek(peeked + Number(step.dataset.step));
  else if (link && (event.target.closest("a") ?? link) === link) {
    event.preventDefault();
    peek(links().indexOf(link));
  }
});
// "close" does not bubble.
document.addEventListener("close", (event) => {
  if (event.target.id !== "peek") return;
  asked += 1;
  focusLink(peeked);
}, true);

Object.assign(keys.commands, {
  question: () => toggle()?.click(),
  compare: () => showPane("compare"),
  model: () => showPane("model"),
  ideal: () => showPane("ideal"),
  raw: toggleRaw,
  others: goToOthers,
});

document.addEventListener("change", (event) => {
  if (event.target === toggle()) rememberQuestion();
});
screenEvents.addEventListener("shown", () => {
  lastPane = "";
  if (!one("#evidence")) return;
  beginQuestion();
  beginOthers();
});
