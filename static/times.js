/* Show the times of a page in the reader's time zone, near ones in relation to now ("3 min ago", "10:04", "yesterday 16:20"),
   with the exact time in UTC in the title: <time datetime="...">, with [data-clock] for the time of day alone. Without this script
   they read in UTC. The cookie names the time zone to the server, which counts the decisions of the reader's day. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = { "-1": "yesterday ", 0: "", 1: "tomorrow " };
const REFRESH = 30_000;

const pad = (number) => String(number).padStart(2, "0");
const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());

/** The local time of day, "19:05". */
export function clock(moment) {
  const local = new Date(moment);
  return `${pad(local.getHours())}:${pad(local.getMinutes())}`;
}

/** The local time in relation to now: "just now", "3 min ago", "10:04", "yesterday 16:20", "12 Mar 16:20", "12 Mar 2025 16:20". */
function relative(moment, now = new Date()) {
  const local = new Date(moment);
  const minutes = Math.round((now - local) / 60_000);
  if (minutes === 0) return "just now";
  if (minutes > 0 && minutes < 60) return `${minutes} min ago`;
  if (minutes < 0 && minutes > -60) return `in ${-minutes} min`;
  const days = Math.round((midnight(local) - midnight(now)) / 86_400_000);
  if (days in DAYS) return DAYS[days] + clock(local);
  const year = local.getFullYear() === now.getFullYear() ? "" : ` ${local.getFullYear()}`;
  return `${local.getDate()} ${MONTHS[local.getMonth()]}${year} ${clock(local)}`;
}

/** Show a time in an element: `moment` is anything that Date takes. */
function showTime(element, moment) {
  const utc = new Date(moment).toISOString();
  element.dateTime = utc;
  element.title = `${utc.slice(0, 10)} ${utc.slice(11, 19)} UTC`;
  element.textContent = "clock" in element.dataset ? clock(moment) : relative(moment);
}

/** Show all times in `root` that have not been converted yet. */
export function showTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([title])")) showTime(element, element.dateTime);
}

/** Bring the times in relation to now up to date. Those that read the same stay untouched. */
function renew() {
  for (const element of document.querySelectorAll("time[title]:not([data-clock])")) {
    const words = relative(element.dateTime);
    if (element.textContent !== words) element.textContent = words;
  }
}

// "Today" on pages is the reader's day.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) document.cookie = `timezone=${zone};path=/;max-age=31536000;samesite=lax${location.protocol === "https:" ? ";secure" : ""}`;

const refresh = () => showTimes(document);
refresh();
document.addEventListener("htmx:afterSwap", refresh);
document.addEventListener("htmx:oobAfterSwap", refresh);
setInterval(renew, REFRESH);
