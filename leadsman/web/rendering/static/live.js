// A live page: the site sends an event when something changed, and the content is replaced without a reload.
// It is live only while events arrive and the content could be fetched; else it says so, and of when it is.
(() => {
  'use strict';
  const $ = (selector, within = document) => within.querySelector(selector);
  const button = $('#live');
  const state = $('#live-state');
  if (!button) return;
  const SILENT = 25000;  // three heartbeats and a long answer of the database
  const AGAIN = 5000;
  const OLD = 60000;  // a page that nothing changes is fetched anew: its data gets older, and it has to say so
  const wanted = button.getAttribute('aria-pressed') === 'true';
  button.addEventListener('click', () => {
    const address = new URL(location.href);
    if (wanted) address.searchParams.delete('live'); else address.searchParams.set('live', '1');
    location.assign(address);
  });
  if (!wanted || !window.EventSource) return;

  let source = null;
  let heard = 0;     // when the last event arrived
  let pending = false;
  let fetching = false;
  let renewed = Date.now();
  const made = () => window.leadsmanTime(Number($('#main').dataset.made));
  const show = (live, text) => {
    document.documentElement.dataset.live = live ? 'yes' : 'lost';
    button.setAttribute('aria-pressed', String(live));
    button.textContent = live ? 'Live' : 'Not live';
    if (state.textContent !== text) state.textContent = text;
  };
  const well = () => show(true, `updated ${made()}`);
  const lost = (why) => show(false, `${why}. This is of ${made()}. Trying again.`);

  // A reader at work is not disturbed: the content waits until a field, a dialog or a selection is left.
  const atWork = () => {
    const held = document.activeElement;
    return $('dialog[open]') || (held?.matches('input, select, textarea') && $('#main').contains(held))
      || String(getSelection()) !== '' || $('#main :active');
  };
  const openOf = (main) => [...main.querySelectorAll('details')].map((each) => each.open);
  const replace = (text) => {
    const fresh = new DOMParser().parseFromString(text, 'text/html');
    const [before, after] = [$('#main'), $('#main', fresh)];
    const open = openOf(before);
    const details = [...after.querySelectorAll('details')];
    if (details.length === open.length) details.forEach((each, place) => { each.open = open[place]; });
    const focused = document.activeElement?.id;
    before.replaceWith(document.adoptNode(after));
    const [data, freshData] = [$('#chart-data'), $('#chart-data', fresh)];
    if (data && freshData) data.textContent = freshData.textContent;
    document.title = fresh.title;
    if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
    runAgain();
  };
  const runAgain = () => {
    window.leadsman.abort();
    window.leadsman = new AbortController();
    for (const old of document.querySelectorAll('body script[src]:not([src$="live.js"])')) {
      const script = document.createElement('script');
      script.src = old.src;
      script.async = false;  // in their order
      old.replaceWith(script);
    }
  };
  const renew = async () => {
    if (fetching || !pending || atWork()) return;
    fetching = true;
    try {
      const answer = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(SILENT) });
      if (!answer.ok) throw new Error(String(answer.status));
      const text = await answer.text();
      if (!atWork()) { replace(text); renewed = Date.now(); pending = false; well(); }
    } catch {
      lost('The page could not be renewed');
    } finally { fetching = false; }
  };

  const listen = () => {
    source?.close();
    heard = Date.now();
    source = new EventSource(`/events?cluster=${button.dataset.cluster}`);
    source.addEventListener('changed', () => { heard = Date.now(); pending = true; renew(); });
    source.addEventListener('same', () => { heard = Date.now(); if (!pending) well(); if (heard - renewed > OLD) { pending = true; renew(); } });
    source.addEventListener('down', () => { heard = Date.now(); lost('The database does not answer'); });
    source.addEventListener('error', () => lost('The connection is lost'));
  };
  setInterval(() => {
    if (source.readyState === EventSource.CLOSED || Date.now() - heard > SILENT) {
      lost('The connection is lost');
      listen();
    } else if (pending && source.readyState === EventSource.OPEN) renew();
  }, AGAIN);
  addEventListener('pagehide', () => source.close());
  show(true, 'connecting');
  listen();
})();
