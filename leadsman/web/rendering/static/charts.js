// Charts and timeline: the readout, the brush, and what belongs together lights up together.
(() => {
  'use strict';
  const { signal } = window.leadsman;
  const SVG = 'http://www.w3.org/2000/svg';
  const holder = document.querySelector('#chart-data');
  const charts = holder ? JSON.parse(holder.textContent) : [];
  const site = document.documentElement.dataset.site === 'yes';
  const BYTES = [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]];
  const COUNTS = [['G', 1e9], ['M', 1e6], ['k', 1e4]];
  const amount = (value, unit) => {
    for (const [name, scale] of unit === 'bytes' ? BYTES : COUNTS) {
      if (Math.abs(value) >= scale) return `${(value / scale).toFixed(unit === 'bytes' ? 2 : 1)} ${name}`;
    }
    return `${Math.round(value)}${unit === 'bytes' ? ' B' : ''}`;
  };
  const line = (field, name) => {
    const made = document.createElementNS(SVG, name);
    field.append(made);
    return made;
  };
  const bold = (text) => {
    const made = document.createElement('b');
    made.textContent = text;
    return made;
  };
  const part = (name, ...what) => {
    const made = document.createElement('span');
    if (name) made.className = name;
    made.append(...what);
    return made;
  };
  const zoom = (one, other) => {
    const [since, until] = [Math.min(one, other), Math.max(one, other)];
    if (!site || until - since < 1) return;
    const address = new URL(location.href);
    address.searchParams.delete('last');
    address.searchParams.delete('live');
    address.searchParams.set('since', new Date(since * 1000).toISOString());
    address.searchParams.set('until', new Date(until * 1000).toISOString());
    address.hash = '';
    location.assign(address);
  };

  const explore = (box) => {
    const data = charts[Number(box.dataset.chart)];
    const field = box.querySelector('.field');
    const readout = box.querySelector('.readout');
    const scrub = box.querySelector('.scrub');
    const lines = field.querySelector('.lines');
    const top = Number(lines.getAttribute('y'));
    const height = Number(lines.getAttribute('height'));
    const foot = Number(field.getAttribute('height')) - 26;
    const percent = (at) => `${(at - data.since) / (data.end - data.since) * 100}%`;
    const cross = line(field, 'line');
    const dot = line(field, 'circle');
    cross.setAttribute('class', 'cross');
    cross.setAttribute('y1', top);
    cross.setAttribute('y2', foot);
    dot.setAttribute('class', 'dot');
    dot.setAttribute('r', 5);
    let shown = 0;
    const show = (place, keep = false) => {
      shown = place;
      const at = data.at[place];
      const value = data.lowest[place];
      for (const name of ['x1', 'x2']) cross.setAttribute(name, percent(at));
      dot.setAttribute('cx', percent(at));
      dot.setAttribute('cy', top + (data.high - value) / (data.high - data.low) * height);
      const parts = [bold(window.leadsmanTime(at)), part('', bold(amount(value, data.unit)), ' available')];
      for (const [kind, name, steps] of data.thresholds) {
        const bound = steps.filter(([since]) => since <= at).at(-1)?.[1];
        if (bound === null || bound === undefined) continue;
        const below = value < bound;
        const margin = bold(`${amount(Math.abs(value - bound), data.unit)} ${below ? 'below' : 'above'}`);
        parts.push(part(below ? `r-${kind}` : '', kind === 'gc' ? `${name}, ` : `${name} ${amount(bound, data.unit)}, `, margin));
      }
      const under = data.pressure.find(([since, until]) => since <= at && at < until);
      if (under) {
        const held = at - under[0];
        parts.push(part('', `under pressure for ${held < 120 ? `${held} s` : `${Math.round(held / 60)} min`}`));
      }
      readout.replaceChildren(...parts);
      if (scrub) {
        if (!keep) scrub.value = at;
        scrub.setAttribute('aria-valuetext', readout.innerText.replace(/\s+/g, ' '));
      }
    };
    const nearest = (at) => {
      let [low, high] = [0, data.at.length - 1];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (data.at[middle] <= at) low = middle; else high = middle;
      }
      return at - data.at[low] <= data.at[high] - at ? low : high;
    };
    const time = (event) => {
      const place = field.getBoundingClientRect();
      return data.since + Math.min(1, Math.max(0, (event.clientX - place.left) / place.width)) * (data.end - data.since);
    };
    show(nearest(data.readout_at));

    for (const event of ['beforeprint', 'afterprint']) addEventListener(event, () => show(shown, true), { signal });

    let brush = null;
    let began = 0;
    const mark = (at) => {
      brush.setAttribute('x', percent(Math.min(began, at)));
      brush.setAttribute('width', `${Math.abs(at - began) / (data.end - data.since) * 100}%`);
    };
    const begin = (at) => {
      began = at;
      brush = line(field, 'rect');
      brush.setAttribute('class', 'brush');
      brush.setAttribute('y', top);
      brush.setAttribute('height', height);
      mark(at);
    };
    const end = () => { if (brush) brush.remove(); brush = null; };
    field.addEventListener('pointermove', (event) => {
      const at = time(event);
      show(nearest(at));
      if (brush) mark(at);
    });
    if (!site) return;
    field.classList.add('brushed');
    field.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || event.pointerType === 'touch' || event.target.closest('a')) return;
      event.preventDefault();
      field.setPointerCapture(event.pointerId);
      begin(time(event));
    });
    field.addEventListener('pointerup', (event) => {
      if (!brush) return;
      const at = time(event);
      const wide = Math.abs(at - began) / (data.end - data.since) * field.getBoundingClientRect().width;
      end();
      if (wide > 6) zoom(began, Math.min(at, data.until));
    });
    field.addEventListener('pointercancel', end);
    if (!scrub) return;
    scrub.hidden = false;
    scrub.addEventListener('input', () => {
      show(nearest(Number(scrub.value)), true);
      if (brush) mark(Number(scrub.value));
    });
    scrub.addEventListener('keydown', (event) => {
      const at = Number(scrub.value);
      if (event.key === 'Escape') end();
      if (event.key !== 'Enter') return;
      event.preventDefault();
      if (!brush) begin(at);
      else { end(); zoom(began, at); }
    });
  };
  for (const box of document.querySelectorAll('[data-chart]')) explore(box);

  // ---- the strip of a day: its window is drawn, moved and widened, by mouse or by its two ends --------------------
  const choose = (strip) => {
    const field = strip.querySelector('.field');
    const inputs = [...strip.querySelectorAll('input')];
    const [before, after] = strip.querySelectorAll('.veil');
    const [start, finish] = [Number(strip.dataset.since), Number(strip.dataset.until)];
    const chosen = strip.dataset.chosen.split(' ').map(Number);
    let shown = chosen;
    let drag = null;
    const show = (one, other) => {
      shown = [Math.max(start, Math.min(one, other)), Math.min(finish, Math.max(one, other))];
      const [left, right] = shown.map((at) => (at - start) / (finish - start) * 100);
      const put = (each, x, wide) => { each.setAttribute('x', `${x}%`); each.setAttribute('width', `${wide}%`); };
      put(before, 0, left);
      put(after, right, 100 - right);
      put(strip.querySelector('.window'), left, Math.max(0.2, right - left));
      inputs.forEach((each, place) => each.setAttribute('aria-valuetext', window.leadsmanTime(shown[place])));
    };
    const place = (event) => {
      const { left, width } = field.getBoundingClientRect();
      return [start + Math.min(1, Math.max(0, (event.clientX - left) / width)) * (finish - start), width / (finish - start)];
    };
    const grip = (at, scale) => {
      const [since, until] = shown;
      const near = (end) => Math.abs(end - at) * scale < 8;
      if (near(since)) return (now) => [now, until];
      if (near(until)) return (now) => [since, now];
      if (at < since || at > until || until - since > 0.98 * (finish - start)) return (now) => [at, now];
      return (now) => [since, until].map((end) => end + Math.min(finish - until, Math.max(start - since, now - at)));
    };
    show(...chosen);
    strip.querySelector('.hint').hidden = false;
    field.classList.add('brushed');
    field.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      field.setPointerCapture(event.pointerId);
      const [at, scale] = place(event);
      drag = { x: event.clientX, to: grip(at, scale) };
    });
    field.addEventListener('pointermove', (event) => { if (drag) show(...drag.to(place(event)[0])); });
    field.addEventListener('pointerup', (event) => {
      const moved = drag && Math.abs(event.clientX - drag.x) > 4;
      drag = null;
      if (moved) zoom(...shown); else show(...chosen);
    });
    field.addEventListener('pointercancel', () => { drag = null; show(...chosen); });
    const moved = [false, false];
    const ends = () => inputs.map((each, end) => (moved[end] ? Number(each.value) : chosen[end]));
    inputs.forEach((each, end) => {
      each.hidden = false;
      each.addEventListener('input', () => { moved[end] = true; show(...ends()); });
      each.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') { event.preventDefault(); zoom(...shown); }
        if (event.key === 'Escape') { moved.fill(false); inputs.forEach((one, nth) => { one.value = chosen[nth]; }); show(...chosen); }
      });
    });
  };
  if (site) for (const strip of document.querySelectorAll('.overview')) choose(strip);

  // ---- an episode and its marks ----------------------------------------------------------------------------------
  const light = (event, on) => {
    const key = event.target.closest?.('[data-e]')?.dataset.e;
    if (!key) return;
    for (const each of document.querySelectorAll(`[data-e="${CSS.escape(key)}"]`)) each.classList.toggle('on', on);
  };
  for (const [on, off] of [['mouseover', 'mouseout'], ['focusin', 'focusout']]) {
    document.addEventListener(on, (event) => light(event, true), { signal });
    document.addEventListener(off, (event) => light(event, false), { signal });
  }
})();
