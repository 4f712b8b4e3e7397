/* Upload a file in chunks, so that the upload can be resumed after a lost connection, a pause, or a closed page (by
   choosing the same file again). Without this script the form sends the whole file at once. */

const PIECE = 16 * 1024 * 1024;
const RETRY_AFTER_MS = [0, 1000, 3000, 5000, 10000, 20000, 30000];
const form = document.getElementById("upload-form");
const box = document.getElementById("upload-progress");
const bar = box.querySelector("progress");
const state = document.getElementById("upload-state");
const pause = document.getElementById("upload-pause");
const drop = document.getElementById("upload-drop");
const duringUpload = [bar, pause, drop, document.getElementById("upload-hint")];
let upload = null;
let isPaused = false;

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
const say = (text) => { state.textContent = text; };

function showProgress(sent, total) {
  bar.max = total;
  bar.value = sent;
  if (!isPaused) say(sent < total ? `${megabytes(sent)} of ${megabytes(total)} MB` : "Storing the file…");
}

function reasonOf(error) {
  const response = error.originalResponse;
  if (!response) return "The server is unreachable. Choose the file again to resume the upload.";
  const isSentence = (response.getHeader("Content-Type") || "").startsWith("text/plain");
  return isSentence ? response.getBody().trim() : `The server responded with ${response.getStatus()}. Reload the page and try again.`;
}

function showWhileUploading(isUploading) {
  duringUpload.forEach((part) => { part.hidden = !isUploading; });
}

function showForm(message) {
  upload = null;
  form.hidden = false;
  state.className = "banner warn";
  showWhileUploading(false);
  say(message);
}

// The same file for another run, or with another setting, is another upload.
function fingerprint(file, options) {
  const { run, strict } = options.metadata;
  return Promise.resolve(JSON.stringify(["cognireview", file.name, file.size, file.lastModified, run, strict]));
}

function start(file) {
  isPaused = false;
  upload = new window.tus.Upload(file, {
    endpoint: form.dataset.uploads,
    chunkSize: PIECE,
    retryDelays: RETRY_AFTER_MS,
    headers: { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    metadata: { filename: file.name, run: form.elements.run_name.value.trim(), strict: String(form.elements.strict.checked) },
    fingerprint,
    removeFingerprintOnSuccess: true,
    onProgress: showProgress,
    onError: (error) => showForm(reasonOf(error)),
    onSuccess: () => window.location.assign(upload.url),
  });
  upload.findPreviousUploads().then((earlier) => {
    if (earlier.length) upload.resumeFromPreviousUpload(earlier[0]);
    upload.start();
  });
}

function onSubmit(event) {
  const [file] = form.elements.file.files;
  if (!file) return;
  event.preventDefault();
  document.getElementById("upload-name").textContent = file.name;
  form.hidden = true;
  state.className = "small";
  box.hidden = false;
  showWhileUploading(true);
  pause.textContent = "Pause";
  say("Starting…");
  pause.focus();
  start(file);
}

if (window.tus.isSupported) form.addEventListener("submit", onSubmit);

pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.textContent = isPaused ? "Resume" : "Pause";
  if (isPaused) upload.abort().then(() => say("Paused"));
  else upload.start();
});

drop.addEventListener("click", () => {
  upload.abort(true).then(() => showForm("Upload cancelled."), () => showForm("Upload cancelled."));
});
