// Opens pages in a real browser and tells what was seen. Started with the paths of Chromium and of the modules, it reads
// a list of steps a line, and writes {seen: [ONE ENTRY A STEP]} or {error} a line. A step:
// {url, width, height, scheme, zone, scripts, actions, picture, axe: [SCHEME], offset, kept: the document is the one
// that an earlier step had at this address of a site; what it asks for comes from the site}.
// An action: ["press", KEY] | ["go", KEY, ADDRESS THAT IT LEADS TO] | ["type", TEXT] | ["click", SELECTOR] |
// ["drag", SELECTOR, FROM, TO: parts of its width, PIXELS FROM ITS TOP; it leads elsewhere] |
// ["follow", SELECTOR, ADDRESS THAT IT LEADS TO] | ["wait", MS] | ["until", JS] | ["pdf", FILE] |
// ["reached", FILE THAT IS MADE] | ["reload"] | ["read", NAME, JS].
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [executablePath, modules] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(`${modules}/playwright-core/index.mjs`));
const axe = readFileSync(`${modules}/axe-core/axe.min.js`, 'utf8');
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});

const holds = async (page, condition) => {  // the page's own policy forbids to wait within it
  const deadline = Date.now() + 300000;
  while (!await page.evaluate(condition)) {
    if (Date.now() > deadline) throw new Error(`never: ${condition}`);
    await page.waitForTimeout(50);
  }
};

const act = async (page, [name, ...values], read) => {
  if (name === 'press') await page.keyboard.press(values[0]);
  else if (name === 'go') await Promise.all([page.waitForURL(values[1]), page.keyboard.press(values[0])]);
  else if (name === 'type') await page.keyboard.type(values[0]);
  else if (name === 'click') await page.click(values[0]);
  else if (name === 'drag') {
    await page.locator(values[0]).scrollIntoViewIfNeeded();
    const place = await page.locator(values[0]).boundingBox();
    const x = (part) => place.x + place.width * part;
    const y = place.y + (values[3] ?? 60);
    await page.mouse.move(x(values[1]), y);
    await page.mouse.down();
    await page.mouse.move(x(values[2]), y, { steps: 4 });
    await Promise.all([page.waitForNavigation(), page.mouse.up()]);
  } else if (name === 'wait') await page.waitForTimeout(values[0]);
  else if (name === 'until') await holds(page, values[0]);
  else if (name === 'follow') await Promise.all([page.waitForURL(values[1]), page.click(values[0])]);
  else if (name === 'reached') writeFileSync(values[0], '');
  else if (name === 'pdf') await page.pdf({ path: values[0], printBackground: true, preferCSSPageSize: true });
  else if (name === 'reload') await page.reload();
  else if (name === 'read') read[values[0]] = await page.evaluate(values[1]);
  else throw new Error(`no action is named ${name}`);
  if (name !== 'read') await page.waitForLoadState();
};

const documents = new Map();

const see = async (context, step) => {
  context.setDefaultTimeout(300000);  // only what fails waits for so long
  const page = await context.newPage();
  const seen = { console: [], errors: [], requests: [], dialogs: [], read: {}, violations: [] };
  page.on('console', (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => seen.errors.push(error.message));
  page.on('request', (request) => seen.requests.push(request.url()));
  page.on('dialog', (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
  const document = step.kept && documents.get(step.url);
  if (document) await page.route(({ href }) => href === step.url, (route) => route.fulfill(document), { times: 1 });
  const answer = await page.goto(step.url);
  if (!document && step.url.startsWith('http')) {
    const { 'content-encoding': _, ...headers } = await answer.allHeaders();  // the body is read without it
    documents.set(step.url, { headers, body: await answer.body() });
  }
  if (step.scripts !== false) await page.evaluate(async () => {  // what is drawn only when it comes into view
    document.documentElement.style.scrollBehavior = 'auto';
    for (let top = 0; top < document.body.scrollHeight; top += 600) {
      scrollTo(0, top);
      await new Promise((done) => setTimeout(done, 60));
    }
    scrollTo(0, 0);
  });
  for (const action of step.actions ?? []) await act(page, action, seen.read);
  seen.url = page.url();
  seen.width = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  seen.text = await page.evaluate(() => document.body.innerText);
  if (step.axe?.length) await page.evaluate(axe);
  for (const [nth, colorScheme] of (step.axe ?? []).entries()) {
    await page.emulateMedia({ colorScheme });
    const rules = nth ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {};  // what depends on colours
    const found = await page.evaluate((rules) => axe.run(document, { resultTypes: ['violations'], ...rules }), rules);
    seen.violations.push(...found.violations.map((each) => ({
      scheme: colorScheme, id: each.id, impact: each.impact,
      nodes: each.nodes.slice(0, 5).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`),
    })));
  }
  if (step.picture) {
    if (step.offset) { await page.evaluate((top) => scrollTo(0, top), step.offset); await page.waitForTimeout(300); }
    await page.screenshot({ path: step.picture });
  }
  return seen;
};

const seeAll = async (steps) => {
  const seen = [];
  for (const step of steps) {
    const context = await browser.newContext({
      viewport: { width: step.width ?? 1440, height: step.height ?? 900 }, colorScheme: step.scheme ?? 'light',
      timezoneId: step.zone ?? 'UTC', javaScriptEnabled: step.scripts ?? true,
    });
    try {
      seen.push(await see(context, step));
    } finally {
      await context.close();
    }
  }
  return { seen };
};

for await (const line of createInterface({ input: process.stdin })) {
  const told = await seeAll(JSON.parse(line)).catch((error) => ({ error: error.stack }));
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
await browser.close();
