/* Passkeys: a form with data-passkey="create" or "get" is submitted with the authenticator's credential. The server's
   options are in data-options, or are fetched from the form's action. A hidden form is shown if the browser supports
   passkeys. */

const supportsPasskeys = Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);

async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options).publicKey;
  const response = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error("the server did not respond");
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
  if (supportsPasskeys) form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    alert.textContent = "";
    if (!supportsPasskeys) {
      alert.textContent = "This browser does not support passkeys here.";
      return;
    }
    answer(form).catch((error) => {
      alert.textContent = error.name === "SecurityError"
        ? "Passkeys need HTTPS and a host name. On this machine, open the site as localhost."
        : `The passkey could not be used: ${error.message}`;
    });
  });
}
