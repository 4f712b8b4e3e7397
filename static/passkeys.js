/* Passkeys: a form with data-passkey="create" or "get" is sent with what the browser's authenticator answers.
   The server's options stand in data-options, or come from the form's own address. A hidden form is shown
   where the browser knows passkeys at all. */
"use strict";

(() => {
  const knowsPasskeys = Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);

  async function optionsOf(form) {
    if (form.dataset.options) return JSON.parse(form.dataset.options).publicKey;
    const response = await fetch(form.action, { headers: { Accept: "application/json" } });
    if (!response.ok) throw new Error("the site did not answer");
    return (await response.json()).request_options.publicKey;
  }

  async function create(form, options) {
    const alone = form.elements.passwordless.checked;
    Object.assign(options.authenticatorSelection, {
      residentKey: alone ? "required" : "discouraged",
      requireResidentKey: alone,
      ...(alone && { userVerification: "required" }),
    });
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return navigator.credentials.create({ publicKey });
  }

  async function get(options) {
    return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  }

  async function answer(form) {
    const options = await optionsOf(form);
    const credential = form.dataset.passkey === "create" ? await create(form, options) : await get(options);
    form.elements.credential.value = JSON.stringify(credential);
    form.submit();
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const alert = form.querySelector("[role=alert]");
    if (knowsPasskeys) form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      alert.textContent = "";
      if (!knowsPasskeys) {
        alert.textContent = "This browser cannot use passkeys here.";
        return;
      }
      answer(form).catch((error) => {
        alert.textContent = error.name === "SecurityError"
          ? "Passkeys need https and a site with a name; on this machine, open it as localhost."
          : `No passkey was used: ${error.message}`;
      });
    });
  }
})();
