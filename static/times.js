/* Show the times of a page in the reader's time zone, with UTC in the title: <time datetime="...">, with [data-clock]
   for the time of day alone. Without this script they read in UTC. */

const pad = (number) => String(number).padStart(2, "0");

/** The local time of day, "19:05". */
export function clock(moment) {
  const local = new Date(moment);
  return `${pad(local.getHours())}:${pad(local.getMinutes())}`;
}

function day(moment) {
  const local = new Date(moment);
  return `${local.getFullYear()}-${pad(local.getMonth() + 1)}-${pad(local.getDate())}`;
}

/** Show a time in an element: `moment` is anything that Date takes. */
export function showTime(element, moment) {
  const utc = new Date(moment).toISOString();
  element.dateTime = utc;
  element.title = `${utc.slice(0, 10)} ${utc.slice(11, 16)} UTC`;
  element.textContent = "clock" in element.dataset ? clock(moment) : `${day(moment)} ${clock(moment)}`;
}

/** Show all times in `root` that have not been converted yet. */
export function showTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([title])")) showTime(element, element.dateTime);
}

// "Today" on pages is the reader's day.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) document.cookie = `timezone=${zone};path=/;max-age=31536000;samesite=lax${location.protocol === "https:" ? ";secure" : ""}`;

const refresh = () => showTimes(document);
refresh();
document.addEventListener("htmx:afterSwap", refresh);
document.addEventListener("htmx:oobAfterSwap", refresh);
