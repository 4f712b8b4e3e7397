/* The inbox in two panes, on wide screens: the item of the current row is beside the list. Digits press its buttons,
   the key for reasons goes to its text field, and Ctrl+Enter there presses the primary button. */

import { keys } from "./keys.js";
import { mark } from "./list.js";

const isWide = matchMedia("(min-width: 68.75rem)");
const pane = document.querySelector("#inbox-pane");
const current = () => document.querySelector("[data-row][aria-current]");

async function show() {
  const row = current();
  if (!row || !isWide.matches || row.dataset.row === pane.dataset.place) return;
  pane.dataset.place = row.dataset.row;
  const url = new URL(location.href);
  url.searchParams.set("item", row.dataset.row);
  pane.setAttribute("aria-busy", "true");
  await window.htmx.ajax("GET", url.pathname + url.search, { source: pane, target: pane, swap: "innerHTML" }).catch(() => {});
  pane.removeAttribute("aria-busy");
  pane.scrollTop = 0;
}

function choose(event, key) {
  const button = /^[1-9]$/.test(key) && isWide.matches && pane.querySelector(`[data-choice="${key}"]`);
  if (!button || pane.hasAttribute("aria-busy")) return false;
  event.preventDefault();
  button.click();
  return true;
}

if (pane) {
  const before = keys.before;
  keys.before = (event, key) => choose(event, key) || before(event, key);
  keys.commands.reason = () => pane.querySelector("[data-words]")?.focus();
  pane.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.matches("[data-words]")) return;
    event.preventDefault();
    event.target.form.querySelector(".primary").click();
  });
  document.addEventListener("current", show);
  isWide.addEventListener("change", show);
  // A click on an item shows it beside the list. Enter on its link, and clicks for a new tab, open it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-row] a[href]");
    if (!link || !event.detail || !isWide.matches || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
  });
  if (isWide.matches && !current()) {
    mark([...document.querySelectorAll("[data-row]")].find((row) => row.dataset.row === pane.dataset.place));
  }
  show();
}
