/* The end of the session while a record is open. The page stays, with everything entered: people sign in in a new tab,
   and this one goes on. Only the person who opened the page can continue: the server rejects the page's old token
   after a sign-in, and the new one is taken over for the same person only. */

import { all, one, screenEvents } from "./form.js";
import { fetchPart } from "./requests.js";
import { clear, detailsOf, raise, settle } from "./strip.js";

let token = "";

const page = () => one("#strip").dataset;

const isGone = () => detailsOf("signed-out") || detailsOf("someone-else");
const raiseSignedOut = (isCopied) => raise("signed-out", { isCopied, href: page().signIn });

/** The server rejected a request without a session. The person may have signed in since it was sent. */
export function signedOut(isCopied = true) {
  raiseSignedOut(isCopied);
  checkSession();
}

/** Ask the server who is signed in, and show it or go on. Dispatches "continued" on `screenEvents` for the same person. */
export async function checkSession() {
  const response = await fetchPart(page().session).catch(() => null);
  if (!response?.ok) return;
  const answer = JSON.parse(response.text);
  if (!answer.person) {
    raiseSignedOut(detailsOf("signed-out")?.isCopied);
  } else if (answer.person !== Number(page().person)) {
    raise("someone-else", { name: answer.name, href: page().signedIn });
  } else {
    token = answer.token;
    useToken();
    const wasGone = isGone();
    clear("signed-out", "someone-else");
    if (wasGone) settle(); // otherwise the server has another reason not to accept something
    screenEvents.dispatchEvent(new Event("continued"));
  }
}

/** Put the token of the new session into all forms, also into those that are not shown yet. */
function useToken() {
  if (!token) return;
  document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": token }));
  const roots = [document, ...all("template").map((template) => template.content)];
  for (const field of roots.flatMap((root) => all("[name=csrfmiddlewaretoken]", root))) field.value = token;
}

const checkAgain = () => { if (isGone()) checkSession(); };

new BroadcastChannel("session").addEventListener("message", checkAgain);
window.addEventListener("focus", checkAgain);
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") checkAgain(); });
screenEvents.addEventListener("shown", useToken); // an old screen comes back if its submit fails
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { status } = event.detail.xhr;
  if (status === 403) checkSession(); // a form from before a sign-in
  if (status !== 401) return;
  event.preventDefault(); // htmx would go to the login page
  signedOut();
});
