/* The palette, opened by Ctrl+K or ⌘K: commands of the screen and pages of the navigation, filtered here, and runs, records and
   people, found by the server. Arrow keys move, Enter chooses, Escape closes. */

import { keys } from "./keys.js";

const palette = document.querySelector("#palette");
const input = document.querySelector("#palette-words");
const list = document.querySelector("#palette-list");
const isMac = /^Mac|^iP/.test(navigator.platform);
// These need a second key, a list or a text field behind the palette.
const WITHOUT_MEANING = new Set(["go", "search", "down", "up"]);
// The others need a record, which the page of a queue does not have.
const WITHOUT_RECORD = new Set(["start", "undo", "keys"]);
let numbered = 0; // the options that have an id for screen readers

const options = () => [...list.querySelectorAll(".option")].filter((option) => option.checkVisibility());

/** Whether all words of the search are in the text. */
const matches = (text) => input.value.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));

/** Whether a command does something on this page. */
function isOffered(command) {
  if (!(command in keys.commands) || WITHOUT_MEANING.has(command)) return false;
  return WITHOUT_RECORD.has(command) || !document.querySelector("#screen:not([data-record])");
}

function fill() {
  const section = document.querySelector("#palette-pages").parentElement;
  for (const option of section.querySelectorAll(".option")) option.remove();
  for (const link of document.querySelectorAll(".site-header :is(.site-nav, #user-menu) a")) {
    if (section.querySelector(`.option[href="${CSS.escape(link.href)}"]`)) continue; // in two menus
    const option = Object.assign(document.createElement("a"), { className: "option", href: link.href, role: "option", tabIndex: -1 });
    option.append(Object.assign(document.createElement("span"), { textContent: link.firstChild.textContent.trim() }));
    if (keys.isOn && link.dataset.go) option.append(" ", Object.assign(document.createElement("kbd"), { textContent: `G ${link.dataset.go.toUpperCase()}` }));
    section.append(option);
  }
}

function activate(option) {
  for (const other of list.querySelectorAll("[aria-selected=true]")) other.removeAttribute("aria-selected");
  input.removeAttribute("aria-activedescendant");
  if (!option) return;
  option.id ||= `palette-option-${++numbered}`;
  option.setAttribute("aria-selected", "true");
  input.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

function filter() {
  for (const option of list.querySelectorAll("[data-command]")) {
    option.hidden = !isOffered(option.dataset.command) || !matches(option.textContent);
  }
  for (const option of list.querySelectorAll("#palette-pages ~ .option")) option.hidden = !matches(option.textContent);
  for (const section of list.querySelectorAll("section")) section.hidden = !section.querySelector(".option:not([hidden])");
  activate(options()[0]);
}

function open() {
  if (document.querySelector("dialog[open]")) return;
  fill();
  input.value = "";
  palette.showModal();
  filter();
  input.dispatchEvent(new Event("open"));
}

function choose(option) {
  palette.close();
  const { command } = option.dataset;
  if (command) keys.commands[command]?.();
}

function onKey(event) {
  const all = options();
  const at = all.findIndex((option) => option.ariaSelected === "true");
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: event.ctrlKey ? 0 : undefined, End: event.ctrlKey ? -1 : undefined }[event.key];
  if (to !== undefined) activate(all.at(to === all.length ? 0 : to));
  else if (event.key === "Enter" && !event.isComposing) all[at]?.click();
  else if (event.key === "Escape") palette.close(); // a field for searches would only become empty
  else return;
  event.preventDefault();
}

if (palette) {
  const opener = document.querySelector("#open-palette");
  opener.querySelector("kbd").textContent = isMac ? "⌘K" : "Ctrl K";
  opener.addEventListener("click", (event) => { event.preventDefault(); open(); });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || event.shiftKey || event.altKey || !(isMac ? event.metaKey : event.ctrlKey)) return;
    event.preventDefault();
    if (palette.open) palette.close();
    else open();
  });
  input.addEventListener("input", filter);
  input.addEventListener("keydown", onKey);
  list.addEventListener("click", ({ target }) => { const option = target.closest(".option"); if (option) choose(option); });
  palette.addEventListener("click", ({ target }) => { if (target === palette) palette.close(); });
  palette.addEventListener("htmx:afterSwap", () => {
    const before = list.querySelector("[aria-selected=true]");
    if (!before) activate(options()[0]);
    document.querySelector("#palette-nothing").textContent = options().length ? "" : "Nothing found.";
  });
}
