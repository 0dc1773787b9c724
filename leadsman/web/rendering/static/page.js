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
    drawAgain();
  };
  if (themeButton) { showTheme(); themeButton.addEventListener('click', nextTheme, { signal }); }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawAgain(), { signal });

  // ---- charts ---------------------------------------------------------------------------------------------------
  const holder = $('#chart-data');
  const charts = holder ? JSON.parse(holder.textContent) : { since: 0, until: 0, charts: [] };
  const drawn = new Map();
  const colour = (name) => {
    const probe = document.createElement('span');
    probe.className = `c-${name}`;
    probe.hidden = true;
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  };
  const BYTES = [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]];
  const COUNTS = [['G', 1e9], ['M', 1e6], ['k', 1e4]];
  const amount = (value, unit) => {
    if (value === null || value === undefined) return '';
    for (const [name, scale] of unit === 'bytes' ? BYTES : COUNTS) {
      if (Math.abs(value) >= scale) return `${Number((value / scale).toPrecision(4))} ${name}`;
    }
    return `${Math.round(value)}${unit === 'bytes' ? ' B' : ''}`;
  };
  const two = (number) => String(number).padStart(2, '0');
  const clock = (seconds) => {
    const at = new Date(seconds * 1000);
    return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  };
  const spread = (values, length) => (values.length === 1 ? Array(length).fill(values[0]) : values);
  const series = (data) => {
    const ahead = data.forecast;
    const at = [...data.at];
    const hard = spread(data.hard, at.length);
    const soft = spread(data.soft, at.length);
    const lowest = [...data.lowest];
    const forecast = Array(at.length).fill(null);
    if (ahead.length) {
      forecast[at.length - 1] = ahead[0][1];
      at.push(ahead[1][0]); lowest.push(null); forecast.push(ahead[1][1]);
      hard.push(hard.at(-1)); soft.push(soft.at(-1));
    }
    return [at, lowest, hard, soft, forecast];
  };
  const tipFor = (box, data) => {
    const tip = document.createElement('div');
    tip.className = 'tip';
    tip.hidden = true;
    return {
      hooks: {
        init: (plot) => { plot.over.append(tip); },
        setCursor: (plot) => {
          const index = plot.cursor.idx;
          const value = index === null ? null : plot.data[1][index] ?? plot.data[4][index];
          tip.hidden = value === null || value === undefined;
          if (tip.hidden) return;
          tip.textContent = `${clock(plot.data[0][index])}  ${amount(value, data.unit)}`;
          const left = plot.valToPos(plot.data[0][index], 'x');
          tip.style.left = `${Math.min(Math.max(left, 60), plot.over.clientWidth - 60)}px`;
          tip.style.top = `${Math.max(plot.valToPos(value, 'y'), 26)}px`;
        },
      },
    };
  };
  const draw = (box) => {
    const data = charts.charts[Number(box.dataset.chart)];
    const values = series(data);
    const until = Math.max(charts.until, values[0].at(-1));
    const axis = { stroke: colour('axis'), font: '11px system-ui, sans-serif', grid: { stroke: colour('grid'), width: 1 }, ticks: { show: false } };
    const long = charts.until - charts.since > 36 * 3600;
    const time = (seconds) => {
      const at = new Date(seconds * 1000);
      if (long) return `${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())} ${two(at.getUTCHours())}h`;
      return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
    };
    const inBase = data.unit === 'bytes';
    const plot = new uPlot({
      width: Math.max(120, box.clientWidth),
      height: box.clientHeight,
      padding: [8, 16, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { time: true, range: () => [charts.since, until] }, y: { range: (_, low, high) => [low > high * 0.6 ? low - (high - low || high) * 0.25 : 0, high + (high - (low > high * 0.6 ? low : 0) || 1) * 0.08] } },
      axes: [
        { ...axis, size: 26, space: long ? 80 : 46, values: (_, splits) => splits.map(time) },
        {
          ...axis, size: 66, space: 34, values: (_, splits) => splits.map((each) => amount(each, data.unit)),
          incrs: inBase ? Array.from({ length: 44 }, (_, power) => 2 ** power) : undefined,
        },
      ],
      series: [
        {},
        { stroke: colour('line'), width: 1.7, fill: colour('fill'), points: { show: values[0].length < 3 } },
        { stroke: colour('hard'), width: 1.5, dash: [7, 4], points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) },
        { stroke: colour('soft'), width: 1.5, dash: [2, 3], points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) },
        { stroke: colour('line'), width: 1.7, dash: [5, 4], points: { show: false }, spanGaps: true },
      ],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'UTC'),
      plugins: [tipFor(box, data)],
    }, values, box);
    drawn.set(box, plot);
  };
  const drawAgain = () => {
    for (const [box, plot] of [...drawn]) { plot.destroy(); drawn.delete(box); draw(box); }
  };
  if (window.uPlot) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
    }, { rootMargin: '300px' });
    const sized = new ResizeObserver((entries) => {
      for (const entry of entries) {
        const plot = drawn.get(entry.target);
        const width = Math.floor(entry.contentRect.width);
        if (plot && width > 0 && Math.abs(plot.width - width) > 1) plot.setSize({ width, height: entry.target.clientHeight });
      }
    });
    for (const box of all('[data-chart]')) { seen.observe(box); sized.observe(box); }
  }

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
  let most = 50;
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
    '/': () => { if (filter) filter.focus(); },
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
