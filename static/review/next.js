/* Submitting, and the record to come. While people read, the next record is fetched, held for them and typeset;
   on submit it is shown at once, while the request is on its way. If that fails, the old record comes back. */
(function () {
  "use strict";

  const { review } = window;
  const { one } = review;
  const IDLE_MS = 300;
  let fetching = null; // aborts the request for a spare that nobody waits for any more
  let asked = null; // that request on its way
  let timer = 0;
  let sending = null; // the submit on its way: one at a time

  const shelf = () => one("#spare").content;
  const spare = () => shelf().firstElementChild;
  const isHeld = (screen) => Date.parse(screen.dataset.claimUntil) > Date.now();

  // ---- the record to come

  async function fetchSpare() {
    const screen = one("#screen");
    const fields = review.form()?.elements;
    if (spare() || sending || !fields || !one("#skip") || !isHeld(screen)) return;
    const body = new FormData();
    for (const name of ["csrfmiddlewaretoken", "queue"]) body.set(name, fields[name].value);
    body.set("beside", screen.dataset.pk);
    fetching = new AbortController();
    const options = { method: "POST", body, headers: { "HX-Request": "true" }, signal: fetching.signal };
    try {
      const response = await fetch(screen.dataset.spare, options);
      if (response.status === 200) prepare(await response.text());
    } catch {
      // Without a spare record the next one comes with the answer to the submit.
    }
  }

  function prepare(html) {
    one("#spare").innerHTML = html;
    const screen = document.adoptNode(one("#screen", shelf()));
    window.typesetMath(screen);
    window.htmx.process(screen);
    shelf().replaceChildren(screen);
  }

  /** The prepared screen, if it is still ours and another than the one that is there. */
  function takeSpare() {
    const screen = spare();
    shelf().replaceChildren();
    return screen && isHeld(screen) && screen.dataset.pk !== one("#screen").dataset.pk ? screen : null;
  }

  // ---- submitting

  function submit(form) {
    if (sending) {
      sending.then(() => { if (form === review.form()) form.requestSubmit(one("#submit")); });
      return;
    }
    sending = send(form);
    sending.finally(() => { sending = null; planSpare(); });
  }

  async function send(form) {
    const old = one("#screen");
    const draft = review.draft();
    const values = new FormData(form);
    fetching?.abort();
    clearTimeout(timer);
    draft.stop();
    one("#unreachable").hidden = true;
    // A commit is answered by the same record.
    const stays = draft.retries || form.hasAttribute("data-stays");
    const next = stays ? null : takeSpare();
    if (next) {
      values.set("next", next.dataset.pk);
      review.show(next);
    } else {
      old.setAttribute("aria-busy", "true");
    }
    await draft.request;
    const status = await post(form, values);
    if (status >= 200 && status < 300) {
      draft.forget();
      if (next?.isConnected) history.replaceState(null, "", next.dataset.url);
      if (next?.isConnected) document.title = next.dataset.title;
    } else if (status !== 409 && status !== 422) {
      comeBack(old, next);
    }
  }

  /** Send a review as htmx would; resolves to the status of the answer, 0 if there was none. */
  async function post(form, values) {
    let status = 0;
    const listen = (event) => { if (event.detail.elt === document.body) status = event.detail.xhr.status; };
    document.body.addEventListener("htmx:afterRequest", listen);
    const context = { target: "#screen", swap: "outerHTML show:window:top", values };
    await window.htmx.ajax("POST", form.getAttribute("action"), context).catch(() => {});
    document.body.removeEventListener("htmx:afterRequest", listen);
    return status;
  }

  function comeBack(old, next) {
    old.removeAttribute("aria-busy");
    if (next) {
      review.show(old);
      shelf().replaceChildren(next);
    } else {
      review.draft()?.resume();
    }
    one("#unreachable").hidden = false;
  }

  /** Resolves when no submit is on its way. */
  review.sent = async () => { await sending; };

  // ---- when

  function planSpare() {
    clearTimeout(timer);
    const ask = () => { asked = fetchSpare().finally(() => { asked = null; }); };
    timer = setTimeout(() => requestIdleCallback(ask, { timeout: IDLE_MS }), IDLE_MS);
  }

  document.addEventListener("submit", (event) => {
    if (event.target !== review.form() || event.submitter?.id !== "submit") return;
    event.preventDefault();
    event.stopPropagation();
    submit(event.target);
  }, true);
  document.addEventListener("review:shown", planSpare);
  document.addEventListener("htmx:confirm", (event) => {
    // What else is asked for waits until the submit is through: an undo must find it.
    if (!sending || event.target === document.body) return;
    event.preventDefault();
    sending.then(() => event.detail.issueRequest(true));
  });
  for (const name of ["htmx:sendError", "htmx:responseError"]) {
    document.addEventListener(name, (event) => {
      const banner = one("#unreachable");
      if (banner && event.target.matches("form")) banner.hidden = false;
    });
  }
  /** Give the spare record back, also from a page that goes away. */
  async function release() {
    const screen = spare();
    if (!screen) return;
    const body = new FormData();
    body.set("csrfmiddlewaretoken", one("[name=csrfmiddlewaretoken]", screen).value);
    shelf().replaceChildren();
    await fetch(screen.dataset.releaseSpares, { method: "POST", body, keepalive: true }).catch(() => {});
  }

  window.addEventListener("pagehide", () => { release(); });
  document.addEventListener("click", async (event) => {
    // To look at a record is not to hold it, and the next one may be the spare.
    const link = event.target.closest("#look-next, #look-previous");
    if (!link || !(spare() || asked) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    await asked;
    await release();
    location.assign(link.href);
  });
})();
