/* Keys in a list of records: J and K or the arrows move the current row, Enter opens it. The current row is remembered
   until the tab is closed, so that one finds it again after reading a record. Backspace and Delete remove a chip. */

import { keys } from "./keys.js";

const place = () => `row ${location.pathname}${location.search}`;
const rows = () => [...document.querySelectorAll("[data-row]")];
const current = () => document.querySelector("[data-row][aria-current]");
const linkOf = (row) => row?.querySelector("a[href]");

function mark(row) {
  if (!row || row === current()) return;
  current()?.removeAttribute("aria-current");
  row.setAttribute("aria-current", "true");
  try { sessionStorage.setItem(place(), row.dataset.row); } catch { /* not remembered */ }
}

function remember() {
  let key = null;
  try { key = sessionStorage.getItem(place()); } catch { /* nothing remembered */ }
  const row = key && rows().find((one) => one.dataset.row === key);
  if (!row) return;
  mark(row);
  if (row.matches("tr")) row.scrollIntoView({ block: "nearest" }); // the home page begins with other things
}

function step(by) {
  const list = rows();
  const from = list.indexOf(current());
  const row = list[from < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(from + by, 0), list.length - 1)];
  mark(row);
  linkOf(row)?.focus();
}

Object.assign(keys.commands, { down: () => step(1), up: () => step(-1) });

keys.before = (event, key) => {
  if (event.shiftKey || !event.target.matches("body, main, h1, [data-row] *, [data-rows]")) return false;
  const by = { arrowdown: 1, arrowup: -1 }[key];
  if (by && rows().length) step(by);
  else if (key === "enter" && current() && !event.target.matches("a, button")) linkOf(current()).click();
  else return false;
  event.preventDefault();
  return true;
};

const chips = () => [...document.querySelectorAll(".chip-remove")];
let removed = null; // the chip that a key removes: its link and its place

document.addEventListener("keydown", (event) => {
  if (!["Backspace", "Delete"].includes(event.key) || event.repeat) return;
  if (event.target.matches(".chip-remove")) {
    removed = { link: event.target, at: chips().indexOf(event.target) };
    event.target.click();
  } else if (event.key === "Backspace" && event.target.matches("#filter-q") && !event.target.value) {
    chips().at(-1)?.click();
  }
});

document.addEventListener("focusin", (event) => mark(event.target.closest?.("[data-row]")));
document.addEventListener("pointerdown", (event) => mark(event.target.closest?.("[data-row]")));
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  // Another request may settle first.
  if (removed && detail.requestConfig?.elt === removed.link) {
    (chips()[removed.at] ?? chips().at(-1) ?? document.querySelector("#filter-q"))?.focus();
    removed = null;
  }
  remember();
});
remember();
