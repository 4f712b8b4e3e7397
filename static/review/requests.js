/* Requests in the background, and what the server says. Without a complete response in time, one has failed, as without a connection: a network
   may drop packets for minutes before the browser gives up. */

const PATIENCE_MS = 20 * 1000;

/** Fetch a fragment. Resolves to the parts of the response, with its body in `text`, and rejects without them. */
export async function fetchPart(url, options = {}) {
  const sent = { ...options, headers: { "HX-Request": "true", ...options.headers }, signal: AbortSignal.timeout(PATIENCE_MS) };
  const response = await fetch(url, sent);
  const { status, ok, redirected, headers } = response;
  return { status, ok, redirected, headers, text: await response.text() };
}

/** What a message or an error page of the server says first, for the middle of a sentence; empty for anything else. */
export function saidIn(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const said = page.querySelector(".toast > p, [data-said]")?.textContent.split(".")[0] ?? "";
  return said.charAt(0).toLowerCase() + said.slice(1);
}
