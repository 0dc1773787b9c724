// The page's behaviour. Whatever a cluster named reaches the document as text only.
(() => {
  'use strict';
  const { signal } = window.leadsman;
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const root = document.documentElement;

  // ---- light and dark -------------------------------------------------------------------------------------------
  const THEMES = ['auto', 'light', 'dark'];
  const themeButton = $('#theme');
  const theme = () => root.dataset.theme || 'auto';
  const showTheme = () => { themeButton.textContent = `Theme: ${theme()}`; };
  const nextTheme = () => {
    const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
    if (next === 'auto') delete root.dataset.theme; else root.dataset.theme = next;
    try { localStorage.setItem('leadsman-theme', next); } catch { /* not kept */ }
    showTheme();
  };
  if (themeButton) { showTheme(); themeButton.addEventListener('click', nextTheme, { signal }); }

  // ---- the table of nodes: filter, sort, keys -------------------------------------------------------------------
  const table = $('#node-table');
  const filter = $('#filter');
  const urgent = $('#urgent');
  const counted = $('#counted');
  const rows = table ? all('tbody tr', table) : [];
  const form = $('#narrow[data-whole]');
  const site = root.dataset.site === 'yes';
  const remember = () => {
    if (!site) return;
    const address = new URL(location.href);
    const set = (name, value) => { if (value) address.searchParams.set(name, value); else address.searchParams.delete(name); };
    set('q', filter.value);
    set('show', urgent.getAttribute('aria-pressed') === 'true' ? 'attention' : '');
    history.replaceState(null, '', address);
  };
  const more = $('#more');
  let most = 12;
  const narrow = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = urgent.getAttribute('aria-pressed') === 'true';
    let found = 0;
    for (const row of rows) {
      const text = row.dataset.text;
      const fits = !(only && !row.dataset.urgent) && words.every((word) => text.includes(word));
      if (fits) found += 1;
      row.hidden = !fits || found > most;
    }
    const shown = Math.min(found, most);
    const whole = `${rows.length} ${rows.length === 1 ? 'node' : 'nodes'}`;
    counted.textContent = `${found < rows.length ? `${found} of ` : ''}${whole}${shown < found ? `, ${shown} shown` : ''}`;
    more.hidden = shown === found;
    more.textContent = `Show all ${found}`;
  };
  if (form) {
    for (const row of rows) row.dataset.text = `${row.textContent} ${row.cells[0].title}`.toLowerCase();
    form.addEventListener('submit', (event) => event.preventDefault());
    filter.addEventListener('input', () => { narrow(); remember(); });
    urgent.addEventListener('click', () => {
      urgent.setAttribute('aria-pressed', String(urgent.getAttribute('aria-pressed') !== 'true'));
      narrow(); remember();
    });
    more.addEventListener('click', () => { most = Infinity; narrow(); });
    narrow();
    all('th button', table).forEach((button) => button.addEventListener('click', () => {
      const head = button.closest('th');
      const place = [...head.parentElement.children].indexOf(head);
      const down = head.getAttribute('aria-sort') === 'ascending';
      all('th', table).forEach((each) => each.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = (row) => row.children[place].dataset.v ?? row.children[place].textContent;
      const number = (text) => (text === '' || Number.isNaN(Number(text)) ? null : Number(text));
      rows.sort((one, other) => {
        const [a, b] = [key(one), key(other)];
        const [x, y] = [number(a), number(b)];
        const order = x !== null && y !== null ? x - y : x !== null ? -1 : y !== null ? 1 : a.localeCompare(b);
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
      narrow();
    }));
  }
  let at = -1;
  const step = (by) => {
    const shown = rows.filter((row) => !row.hidden);
    if (!shown.length) return;
    at = Math.min(Math.max(at + by, 0), shown.length - 1);
    rows.forEach((row) => row.classList.remove('at'));
    shown[at].classList.add('at');
    const link = $('a', shown[at]);
    if (link) link.focus();
    shown[at].scrollIntoView({ block: 'nearest' });
  };

  // ---- keys ------------------------------------------------------------------------------------------------------
  const help = $('#keys');
  const helpButton = $('#help');
  if (helpButton) helpButton.addEventListener('click', () => help.showModal(), { signal });
  const keys = {
    '/': () => { ($('#find') ?? filter)?.focus(); },
    f: () => { filter?.focus(); },
    j: () => step(1),
    k: () => step(-1),
    t: () => nextTheme(),
    l: () => { $('#live')?.click(); },
    '?': () => help.showModal(),
  };
  document.addEventListener('keydown', (event) => {
    const typing = event.target.matches('input, select, textarea');
    if (event.key === 'Escape') {
      if (typing) event.target.blur();
      all('details.pick[open]').forEach((each) => { each.open = false; });
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || $('dialog[open]')) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  }, { signal });
})();
