/* An answer of a lead that was in view is gone from the next record: see includes/answers.html. */

import { all, one, screenEvents } from "./form.js";

document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.successful && detail.elt.matches(".answers .banner")) detail.elt.dataset.read = "";
});
screenEvents.addEventListener("shown", () => {
  for (const banner of all(".answers [data-read]")) banner.remove();
  if (!one(".answers .banner")) one(".answers")?.remove();
});
