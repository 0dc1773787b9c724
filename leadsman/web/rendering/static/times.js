// Times in the reader's zone, which is named: without this they are UTC, which is named too.
(() => {
  'use strict';
  const two = (number) => String(number).padStart(2, '0');
  const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const zone = (at) => new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(at)
    .find((each) => each.type === 'timeZoneName').value;
  const short = (at) => `${at.getDate()} ${at.toLocaleString('en-GB', { month: 'short' })} ${clock(at).slice(0, 5)}`;
  const FORMS = { clock, short, moment: (at) => `${day(at)} ${clock(at)}` };
  window.leadsmanTime = (seconds) => { const at = new Date(seconds * 1000); return `${clock(at)} ${zone(at)}`; };
  let last = new Date();
  for (const each of document.querySelectorAll('time[data-form], .zone')) {
    if (each.matches('.zone')) { each.textContent = zone(last); continue; }
    last = new Date(each.dateTime);
    each.textContent = FORMS[each.dataset.form](last);
  }
  for (const each of document.querySelectorAll('.local')) {
    each.textContent = clock(new Date(each.dataset.iso)).slice(0, 5);
  }
  const DAY = 86400;
  for (const tick of document.querySelectorAll('.tick')) {
    const step = Number(tick.dataset.step);
    const at = new Date(tick.dataset.at * 1000);
    const text = tick.querySelector('text');
    const midnight = at.getHours() === 0 && at.getMinutes() === 0;
    if (step >= DAY) text.textContent = midnight ? day(at).slice(5) : `${day(at).slice(5)} ${two(at.getHours())}h`;
    else text.textContent = step < 60 ? clock(at) : clock(at).slice(0, 5);
  }
})();
