/* The guideline next to the scores stays open from record to record. The hint of three keys, once dismissed, is on no
   record that was prefetched before. */

import { one, screenEvents } from "./form.js";

let isOpen = false;
let isDismissed = false;

document.addEventListener("toggle", (event) => {
  if (event.target.id === "guideline") isOpen = event.newState === "open";
}, true);
document.addEventListener("submit", (event) => {
  if (event.target.id === "key-hint") isDismissed = true;
}, true);
screenEvents.addEventListener("shown", () => {
  if (isOpen) one("#guideline")?.showPopover();
  if (isDismissed) one("#key-hint")?.remove();
});
