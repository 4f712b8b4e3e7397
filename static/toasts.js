/* Toasts: messages in #messages, on every page. One that reports a success, or that nothing was there to undo, leaves after
   six seconds; the time stops while the pointer or the focus is on a toast, and while the page is hidden. Others stay until
   they are dismissed. */

import { keys } from "./keys.js";

const SHOWN_MS = 6000;
const TICK_MS = 250;
const MOST = 2; // older successes leave first: more would cover what a fast reviewer reads
const region = document.querySelector("#messages");
const ages = new WeakMap();

const toasts = () => [...region.querySelectorAll(".toast")];
const leaving = () => toasts().filter((toast) => "leaves" in toast.dataset);

function remove(toast) {
  const hadFocus = toast.contains(document.activeElement);
  toast.remove();
  if (hadFocus) (document.querySelector("[data-focus]") ?? document.querySelector("#main")).focus({ preventScroll: true });
}

function arrange() {
  const texts = new Set();
  for (const toast of toasts().reverse()) {
    const text = toast.querySelector("p").textContent;
    if (texts.has(text) && !toast.dataset.event) remove(toast);
    texts.add(text);
  }
  leaving().slice(0, -MOST).forEach(remove);
}

function tick() {
  if (document.hidden || region.matches(":hover, :focus-within")) return;
  for (const toast of leaving()) {
    const age = (ages.get(toast) ?? 0) + TICK_MS;
    if (age < SHOWN_MS) ages.set(toast, age);
    else remove(toast);
  }
}

region.addEventListener("click", (event) => {
  if (event.target.closest("[data-dismiss]")) remove(event.target.closest(".toast"));
});
region.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  remove(event.target.closest(".toast"));
});
document.addEventListener("htmx:afterRequest", (event) => {
  const undone = event.detail.xhr?.getResponseHeader("X-Undone");
  if (undone) toasts().filter((toast) => toast.dataset.event === undone).forEach(remove);
});
// The review screen has a command of its own.
keys.commands.undo ??= () => document.querySelector("#undo")?.click();
new MutationObserver(arrange).observe(region, { childList: true });
arrange();
setInterval(tick, TICK_MS);
