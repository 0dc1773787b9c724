// The map of a fleet by keys: one cell takes part in Tab, arrows walk, and what a cell stands for is written below.
(() => {
  'use strict';
  const map = document.querySelector('#map');
  if (!map) return;
  const groups = [...map.querySelectorAll('.fleetcells')].map((group) => [...group.querySelectorAll('a')]).filter((each) => each.length);
  const cells = groups.flat();
  const readout = document.querySelector('#map-readout');
  const show = (cell) => { if (cell?.title) readout.textContent = cell.title; };
  let at = cells[0];
  const enter = (cell) => {
    if (!cell) return;
    at.tabIndex = -1;
    at = cell;
    at.tabIndex = 0;
    at.focus();
  };
  const below = (by) => {
    const place = groups.findIndex((group) => group.includes(at));
    const group = groups[place];
    const columns = group.findIndex((each) => each.offsetTop > group[0].offsetTop);
    const next = columns < 0 ? -1 : group.indexOf(at) + by * columns;
    if (next >= 0 && next < group.length) return group[next];
    return by > 0 ? groups[place + 1]?.[0] : groups[place - 1]?.at(-1);
  };
  const moves = {
    ArrowRight: () => cells[cells.indexOf(at) + 1],
    ArrowLeft: () => cells[cells.indexOf(at) - 1],
    ArrowDown: () => below(1),
    ArrowUp: () => below(-1),
    Home: () => cells[0],
    End: () => cells.at(-1),
  };
  cells.forEach((cell, place) => { cell.tabIndex = place ? -1 : 0; });
  map.addEventListener('mouseover', (event) => show(event.target));
  map.addEventListener('focusin', (event) => show(event.target));
  map.addEventListener('keydown', (event) => {
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey || !event.target.matches('.fleetcells a')) return;
    event.preventDefault();
    at = event.target;
    enter(move());
  });
})();
