// Before anything is drawn: the reader's choice of light or dark, or none for the system's.
(() => {
  'use strict';
  try {
    const chosen = localStorage.getItem('leadsman-theme');
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  } catch { /* storage is refused: the system decides */ }
  document.documentElement.classList.add('js');
  // A live page runs its scripts again for new content: what listens outside of that content ends by `signal`.
  window.leadsman = new AbortController();
})();
