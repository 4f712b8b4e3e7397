/* The link of small screens between the evidence and the scores, which are not next to each other there. */

import { one, screenEvents } from "./form.js";

// The scores are reached once they are in the upper half of the window.
const observer = new IntersectionObserver(([entry]) => {
  const link = one(".jump");
  if (!link || !entry.target.isConnected) return;
  link.hash = entry.isIntersecting ? "evidence" : "scores";
  link.textContent = entry.isIntersecting ? "Evidence" : "Scores";
}, { rootMargin: "0px 0px -50%" });

screenEvents.addEventListener("shown", () => {
  observer.disconnect();
  if (one(".jump")) observer.observe(one("#scores"));
});
document.addEventListener("click", (event) => {
  const link = event.target.closest(".jump");
  if (!link) return;
  event.preventDefault(); // the address stays that of the record
  one(link.hash).scrollIntoView();
});
