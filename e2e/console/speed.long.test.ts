import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { noBrowser, until, untilLoaded } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// Measures how soon a cached page renders. console.test.ts counts what the first page loads.

const tasksTotal = 200;
/** The design's limit for the warm first paint. */
const paintMsMax = 1_000;
/** The limit for the first visible task, which takes two requests after the paint. */
const tasksMsMax = 2_000;
const loads = 7;

describe('a page that was open before', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
    const make = (n: number) => world.baton.tasks.create({ title: `Task ${n}` });
    for (let n = 0; n < tasksTotal; n += 20)
      await Promise.all(Array.from({ length: 20 }, (_, more) => make(n + more)));
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  for (const [view, path] of [
    ['list', '/'],
    ['board', '/?view=board'],
  ] as const)
    test(`the ${view} with ${tasksTotal} tasks is painted within a second`, async (t) => {
      const { page } = await world.signedIn(path);
      await page.addInitScript(`
        const look = () => {
          if (document.querySelector('main li a') === null) return requestAnimationFrame(look);
          requestAnimationFrame((at) => { window.tasksAtMs = at; });
        };
        requestAnimationFrame(look);`);
      const paints: number[] = [];
      const tasks: number[] = [];
      await untilLoaded(page);
      for (let n = 0; n < loads; n += 1) {
        await page.goto(world.url + path);
        await until(page, 'window.tasksAtMs !== undefined');
        const [paint, shown, transferred] = (await page.evaluate(`[
          performance.getEntriesByName('first-contentful-paint')[0].startTime,
          window.tasksAtMs,
          performance.getEntriesByType('resource').filter(({ name }) => name.includes('/assets/'))
            .reduce((sum, { transferSize }) => sum + transferSize, 0),
        ]`)) as [number, number, number];
        assert.equal(transferred, 0, 'a file of the console was loaded again');
        paints.push(paint);
        tasks.push(shown);
      }
      t.diagnostic(`first paint ${formatTimes(paints)}; first task ${formatTimes(tasks)}`);
      assert.ok(median(paints) <= paintMsMax, `first paint ${formatTimes(paints)}`);
      assert.ok(median(tasks) <= tasksMsMax, `first task ${formatTimes(tasks)}`);
    });
});

/** The median, because other programs may delay single loads. */
function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const formatTimes = (values: readonly number[]) =>
  `${Math.round(median(values))} ms (${values.map((value) => Math.round(value)).join(', ')})`;
