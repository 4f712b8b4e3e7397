/* Keys in a list of records: J and K or the arrows move the current row, Enter opens it, X selects it, and Shift+X the
   rows since the last one. The current row is remembered until the tab is closed, so that one finds it again after
   reading a record. Backspace and Delete remove a chip. */

import { keys } from "./keys.js";

const place = () => `row ${location.pathname}${location.search}`;
const rows = () => [...document.querySelectorAll("[data-row]")];
const current = () => document.querySelector("[data-row][aria-current]");
const linkOf = (row) => row?.querySelector("a[href]");

/** Make a row the current one. A "current" event tells other modules. */
export function mark(row) {
  if (!row || row === current()) return;
  current()?.removeAttribute("aria-current");
  row.setAttribute("aria-current", "true");
  row.dispatchEvent(new CustomEvent("current", { bubbles: true }));
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

Object.assign(keys.commands, { down: () => step(1), up: () => step(-1), escalate: () => pickCurrent(false) });
keys.shifted.escalate = () => pickCurrent(true);

// Selected rows. They count with the whole page swapped, too: the boxes are the state.
const picks = () => [...document.querySelectorAll("[data-pick]")];
let lastPick = null; // the value of the box that was changed last

function showPicked() {
  const count = document.querySelector("[data-picked]");
  if (!count) return;
  const all = picks();
  const picked = all.filter((box) => box.checked).length;
  const ofPage = document.querySelector("[data-pick-page]");
  count.hidden = !picked;
  count.textContent = `${picked} selected`;
  ofPage.hidden = false;
  ofPage.checked = picked === all.length;
  ofPage.indeterminate = picked > 0 && picked < all.length;
}

function pickRange(box) {
  const all = picks();
  const from = all.findIndex((one) => one.value === lastPick);
  const to = all.indexOf(box);
  if (from >= 0) for (const one of all.slice(Math.min(from, to), Math.max(from, to) + 1)) one.checked = box.checked;
}

function pickCurrent(isRange) {
  const row = current() ?? rows()[0];
  const box = row?.querySelector("[data-pick]");
  if (!box) return;
  mark(row);
  box.checked = isRange || !box.checked;
  if (isRange) pickRange(box);
  lastPick = box.value;
  showPicked();
}

document.addEventListener("click", (event) => {
  if (event.target.matches("[data-pick]")) {
    if (event.shiftKey) pickRange(event.target);
    lastPick = event.target.value;
  } else if (event.target.matches("[data-pick-page]")) {
    for (const box of picks()) box.checked = event.target.checked;
  } else {
    return;
  }
  showPicked();
});
document.addEventListener("reset", () => setTimeout(showPicked));

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
let searched = null; // the text of the search that Enter started

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches(".finder input[type=search]")) searched = event.target.value;
});

/** After a search, move from its field to the rows that it found, where letters are commands. */
function leaveSearch() {
  const field = document.activeElement;
  const isUnchanged = field.matches(".finder input[type=search]") && field.value === searched;
  searched = null;
  if (isUnchanged && rows().length) document.querySelector("[data-rows]").focus({ preventScroll: true });
}

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (searched !== null) leaveSearch();
  // Another request may settle first.
  if (removed && detail.requestConfig?.elt === removed.link) {
    (chips()[removed.at] ?? chips().at(-1) ?? document.querySelector("#filter-q"))?.focus();
    removed = null;
  }
  remember();
  showPicked();
});
remember();
showPicked();
