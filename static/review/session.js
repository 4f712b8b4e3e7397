/* The end of the session while a record is open. The page stays, with everything entered. */

import { raise } from "./strip.js";

export function signedOut(isCopied = true) {
  const next = encodeURIComponent(location.pathname + location.search);
  raise("signed-out", { isCopied, href: `/login/?next=${next}` });
}

// Without this, htmx would go to the login page.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.status !== 401) return;
  event.preventDefault();
  signedOut();
});
