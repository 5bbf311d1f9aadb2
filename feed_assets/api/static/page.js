// The page reads well without this. It keeps relative times true while the page is open, and "/" goes to the search field.
"use strict";
const units = [[90, 1, "s"], [5400, 60, "min"], [129600, 3600, "h"], [Infinity, 86400, "days"]];
function relative(moment) {
  const seconds = (moment - Date.now()) / 1000;
  const [, unit, word] = units.find(([limit]) => Math.abs(seconds) < limit);
  const amount = `${Math.round(Math.abs(seconds) / unit)} ${word}`;
  return seconds > 0 ? `in ${amount}` : `${amount} ago`;
}
function tick() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    element.textContent = relative(Date.parse(element.dateTime));
  }
}
setInterval(tick, 10000);
document.addEventListener("keydown", (event) => {
  const field = document.getElementById("q");
  if (event.key === "/" && field && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    field.focus();
    field.select();
  }
});
