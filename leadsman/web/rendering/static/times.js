// Times in the reader's zone, which is named: without this, and on paper, they are UTC, which is named too.
(() => {
  'use strict';
  const { signal } = window.leadsman;
  const two = (number) => String(number).padStart(2, '0');
  const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const zone = (at) => new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(at)
    .find((each) => each.type === 'timeZoneName').value;
  const short = (at) => `${at.getDate()} ${at.toLocaleString('en-GB', { month: 'short' })} ${clock(at).slice(0, 5)}`;
  const timestamp = (at) => `${day(at)} ${clock(at)}`;
  const FORMS = { clock, short, timestamp };
  let paper = false;
  window.leadsmanTime = (seconds) => {
    const at = new Date(seconds * 1000);
    return paper ? `${at.toISOString().slice(11, 19)} UTC` : `${clock(at)} ${zone(at)}`;
  };
  const utc = (at) => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const changed = [];
  const put = (where, field, text) => { changed.push([where, field, where[field], text]); where[field] = text; };

  // ---- in sentences, whoever wrote them: text of a cluster stays text ---------------------------------------------
  const MOMENT = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?: to (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d))? UTC/g;
  const ends = ([, day1, clock1, day2, clock2]) => {
    const found = [new Date(`${day1}T${clock1}Z`), ...(day2 ? [new Date(`${day2}T${clock2}Z`)] : [])];
    return found.some(Number.isNaN) ? [] : found;
  };
  const words = (at) => `${at.map(timestamp).join(' to ')} ${zone(at.at(-1))}`;
  const local = (text) => text.replace(MOMENT, (...match) => { const at = ends(match); return at.length ? words(at) : match[0]; });
  const timed = (node) => {
    const parts = [];
    let end = 0;
    for (const match of node.data.matchAll(MOMENT)) {
      const at = ends(match);
      if (!at.length) continue;
      const made = document.createElement('time');
      made.textContent = match[0];
      made.title = at.map(utc).join(' to ');
      put(made, 'textContent', words(at));
      parts.push(node.data.slice(end, match.index), made);
      end = match.index + match[0].length;
    }
    if (parts.length) node.replaceWith(...parts, node.data.slice(end));
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) if (walk.currentNode.data.includes(' UTC')) found.push(walk.currentNode);
  for (const node of found) {
    const within = node.parentElement;
    if (within.closest('pre, code, textarea, script, style, .answer')) continue;
    if (within.closest('svg')) put(node, 'data', local(node.data)); else timed(node);
  }
  for (const each of document.querySelectorAll('[title*=" UTC"]:not(time)')) put(each, 'title', local(each.title));

  // ---- where the page has them by itself --------------------------------------------------------------------------
  let last = new Date();
  for (const each of document.querySelectorAll('time[data-form], .zone')) {
    if (each.matches('.zone')) {
      put(each, 'textContent', zone(last));
      continue;
    }
    last = new Date(each.dateTime);
    each.title = utc(last);
    put(each, 'textContent', FORMS[each.dataset.form](last));
  }
  for (const each of document.querySelectorAll('.local')) {
    put(each, 'textContent', clock(new Date(each.dataset.iso)).slice(0, 5));
  }
  const DAY = 86400;
  for (const tick of document.querySelectorAll('.tick')) {
    const step = Number(tick.dataset.step);
    const at = new Date(tick.dataset.at * 1000);
    const midnight = at.getHours() === 0 && at.getMinutes() === 0;
    const inside = step < 60 ? clock(at) : clock(at).slice(0, 5);
    const outside = midnight ? day(at).slice(5) : `${day(at).slice(5)} ${two(at.getHours())}h`;
    put(tick.querySelector('text'), 'textContent', step >= DAY ? outside : inside);
  }
  for (const each of document.querySelectorAll('input[data-utc]')) {
    const at = new Date(each.dataset.utc);
    const minutes = -at.getTimezoneOffset();
    const offset = `${minutes < 0 ? '-' : '+'}${two(Math.trunc(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
    each.value = `${day(at)}T${clock(at)}${offset}`;
  }

  // ---- on paper: whoever is given it may be elsewhere -------------------------------------------------------------
  for (const [event, place] of [['beforeprint', 2], ['afterprint', 3]]) {
    addEventListener(event, () => { paper = place === 2; for (const each of changed) each[0][each[1]] = each[place]; }, { signal });
  }
})();
