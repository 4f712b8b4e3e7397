/* Texts of a form that could not be sent because the session had ended: the server answers with the login page. They are
   filled in again when the same person is back at the form. The review screen has drafts instead. */

const KEY = "kept texts";
const TEXTS = "textarea[name], input[type=text][name], input:not([type])[name]";
const SIGN_IN = "[autocomplete=current-password], [autocomplete=one-time-code]";

const person = () => document.querySelector("[popovertarget=user-menu]")?.textContent.trim();
const textsOf = (form) => [...form.querySelectorAll(TEXTS)].map(({ name, value }) => [name, value]);
/** The address of a form and what it is about. */
const nameOf = (form) => {
  const hidden = [...form.querySelectorAll("[type=hidden]")].filter(({ name }) => name !== "csrfmiddlewaretoken");
  return JSON.stringify([form.action, ...hidden.map(({ name, value }) => [name, value])]);
};

const keptOne = () => JSON.parse(sessionStorage.getItem(KEY) || "null");

function keep(kept) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // The browser's storage is full or turned off: its Back button still has the texts.
  }
}

function restore() {
  const kept = keptOne();
  if (!kept) return;
  if (document.querySelector(SIGN_IN)) return keep({ ...kept, isUnsent: true });
  if (kept.isUnsent && !person()) return; // an error page
  if (!kept.isUnsent || kept.person !== person()) return sessionStorage.removeItem(KEY);
  const form = [...document.forms].find((one) => nameOf(one) === kept.form);
  if (!form) return; // it may be loaded later
  for (const [name, value] of kept.texts) if (form.elements[name]) form.elements[name].value = value;
  sessionStorage.removeItem(KEY);
}

document.addEventListener("submit", ({ target }) => {
  if (target.method !== "post" || target.closest("#screen") || target.querySelector(SIGN_IN)) return;
  const texts = textsOf(target);
  if (texts.some(([, value]) => value.trim())) keep({ person: person(), form: nameOf(target), texts });
});
document.addEventListener("htmx:afterSettle", () => {
  // Until the next page, nobody knows whether a form was sent.
  if (keptOne()?.isUnsent) restore();
});
restore();
