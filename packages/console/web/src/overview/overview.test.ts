import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Holding } from '@baton/sdk';
import {
  type Answer,
  type Answers,
  address,
  all,
  click,
  everything,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  notSeen,
  open,
  pageOf,
  Refusal,
  see,
  seen,
  settled,
  sockets,
  test,
  until,
} from '../testing/page.ts';
import { graceId } from '../testing/tasks.ts';

const { durationText, moneyText } = await import('./figures.ts');
const { lanesOf } = await import('./lanes.ts');

const evil = '<img src=x onerror="window.ran=1">';
const workspace = exampleOf('workspaces.get', { name: `Web shop ${evil}`, status: 'active' });
const times = (p50Seconds: number | null, p90Seconds = p50Seconds) => ({
  count: p50Seconds === null ? 0 : 2,
  p50Seconds,
  p90Seconds,
});
const range = { from: '2026-11-27', to: '2026-11-28', timeZone: 'UTC' };
const work: Answer<'statistics.getWork'> = {
  ...range,
  created: 9,
  completed: 5,
  leadTime: times(7200, 90_000),
  cycleTime: times(600, 3600),
  days: [
    { date: '2026-11-27', created: 4, completed: 2, leadTime: times(60), cycleTime: times(30) },
    { date: '2026-11-28', created: 5, completed: 3, leadTime: times(7200), cycleTime: times(null) },
  ],
};
const waits: Answer<'statistics.getWaits'> = {
  ...range,
  waitingSeconds: 5400,
  requested: 3,
  decided: 2,
  pending: 1,
  decisionTime: times(300),
  days: [
    { date: '2026-11-27', waitingSeconds: 3600, requested: 1, decided: 1, decisionTime: times(300) },
    { date: '2026-11-28', waitingSeconds: 1800, requested: 2, decided: 1, decisionTime: times(300) },
  ],
};
const leases: Answer<'statistics.getLeases'> = {
  ...range,
  lost: 4,
  refusedWrites: 7,
  days: [
    { date: '2026-11-27', lost: 1, refusedWrites: 0 },
    { date: '2026-11-28', lost: 3, refusedWrites: 7 },
  ],
  holders: [],
};
const used = (costMicros: number) => ({
  inputTokens: 20_000,
  outputTokens: 500,
  costs: [{ currency: 'USD', costMicros }],
});
type Group = Answer<'statistics.getUsage'>['groups'][number];
const group = (other: Partial<Group>): Group => ({
  principalId: null,
  workspaceId: null,
  week: null,
  runs: 3,
  usage: used(420_000),
  ...other,
});
const groups: Record<string, Group[]> = {
  principal: [group({ principalId: graceId })],
  workspace: [group({ workspaceId: workspace.id }), group({ usage: used(0) })],
  week: [group({ week: '2026-11-16', usage: used(20_000) }), group({ week: '2026-11-23' })],
};
const holding = (other: Partial<Holding> = {}): Holding => ({
  claimId: '0190b2c4-0000-7000-8000-000000000c01',
  taskId: '0190b2c4-0000-7000-8000-000000000001',
  publicId: 'TASK-000007',
  title: `Fix the race ${evil}`,
  workspaceId: null,
  holderId: graceId,
  acquiredAt: new Date(Date.now() - 7_200_000).toISOString(),
  endedAt: new Date(Date.now() - 3_600_000).toISOString(),
  endReason: 'expired',
  ...other,
});
const answers: Answers = {
  'statistics.getWork': work,
  'statistics.getWaits': waits,
  'statistics.getLeases': leases,
  'statistics.getUsage': ({ query: { groupBy = '' } }) => ({
    ...range,
    groupBy: groupBy as 'week',
    total: used(440_000),
    groups: groups[groupBy] ?? [],
    rest: null,
  }),
  'statistics.getHoldings': ({ query: { from = '', to = '' } }) => ({
    from,
    to,
    items: [holding()],
    isTruncated: false,
  }),
  'workspaces.list': pageOf(workspace),
  'workspaces.get': workspace,
};
const exampleEvent = itemOf('events.list');
const me = { permissions: [...everything, 'workspaces.read'] };
const openOverview = (path = '/overview', more: Answers = {}) =>
  open(path, { me, answers: { ...answers, ...more } });

describe('the overview', () => {
  test('shows the figures of the range, each with a link to the list behind it', async () => {
    const service = await openOverview();
    await see(/Done\n5\n9 created\nFinished tasks/);
    await see(/Lead time\n2 h\n9 of 10 within 1 d/);
    await see(/Cycle time\n10 min\n9 of 10 within 1 h/);
    await see(/Waited for people\n1.5 h\n1 pending now, median decision time 5 min/);
    await see(/Leases lost\n4\n7 late writes refused/);
    await see(/Spent\n\$0.44\n20.5K tokens/);
    const hrefOf = (name: string) => all('link', name)[0]?.getAttribute('href');
    assert.equal(hrefOf('Finished tasks'), '/?category=terminal_success');
    assert.equal(hrefOf('Pending decisions'), '/inbox');
    assert.equal(hrefOf('Lost leases in the journal'), '/journal?types=claim.expired');
    assert.equal(hrefOf('By agent and workspace'), '#spending');
    const [{ query } = { query: {} }] = service.askedFor('statistics.getWork');
    const { from = '', to = '', timeZone, ...rest } = query as Record<string, string>;
    assert.equal((Date.parse(to) - Date.parse(from)) / 86_400_000, 29);
    assert.equal(timeZone, Intl.DateTimeFormat().resolvedOptions().timeZone);
    assert.deepEqual(rest, {});
  });

  test('the range and the workspace are chosen, and are part of the URL', async () => {
    const service = await openOverview();
    await click('button', '7 days');
    assert.equal(address(), '/overview?days=7');
    assert.equal((await find('button', '7 days')).getAttribute('aria-pressed'), 'true');
    await fill('combobox', 'Workspace', workspace.id);
    assert.equal(address(), `/overview?days=7&workspace=${workspace.id}`);
    const { query = {} } = service.askedFor('statistics.getLeases').at(-1) ?? {};
    const { from = '', to = '', ...rest } = query as Record<string, string>;
    assert.equal((Date.parse(to) - Date.parse(from)) / 86_400_000, 6);
    assert.deepEqual([rest['workspaceId'], rest['includeDescendants']], [workspace.id, 'true']);
    assert.equal(
      all('link', 'Finished tasks')[0]?.getAttribute('href'),
      `/?category=terminal_success&workspace=${workspace.id}`,
    );
    await fill('combobox', 'Workspace', '');
    await click('button', '30 days');
    assert.equal(address(), '/overview');
  });

  test('each chart is also a table: always for screen readers, and for everybody with a button', async () => {
    await openOverview();
    for (const [name, cells] of [
      ['Work done per day', ['Day', 'Done', 'Nov 27', '2', 'Nov 28', '3']],
      [
        'Lead time by day of completion',
        ['Day', '9 of 10 within', 'half within', 'Nov 27', '1 min', '1 min', 'Nov 28', '2 h', '2 h'],
      ],
      ['Time spent waiting for people', ['Day', 'Waited', 'Nov 27', '1 h', 'Nov 28', '30 min']],
      [
        'Leases lost and late writes refused',
        ['Day', 'Leases lost', 'Late writes refused', 'Nov 27', '1', '0', 'Nov 28', '3', '7'],
      ],
      ['Spending per week, USD', ['Week of', 'Spent', 'Nov 16', '$0.02', 'Nov 23', '$0.42']],
    ] as const) {
      const chart = await find('region', name);
      const table = chart.querySelector('table') as HTMLTableElement;
      assert.deepEqual(
        [...table.querySelectorAll('th, td')].map((cell) => cell.textContent),
        cells,
        name,
      );
      assert.equal(table.caption?.textContent, name);
      assert.equal(table.parentElement?.className, 'visually-hidden');
      assert.equal(chart.querySelector('svg')?.closest('[aria-hidden]')?.getAttribute('aria-hidden'), 'true');
      await click('button', 'Show as table', chart);
      assert.notEqual(table.parentElement?.className, 'visually-hidden');
      assert.equal(chart.querySelector('svg'), null);
    }
  });

  test('the height of a bar is its share of the highest one', async () => {
    await openOverview();
    const chart = await find('region', 'Leases lost and late writes refused');
    const bars = [...chart.querySelectorAll('g')].map((column) =>
      [...column.querySelectorAll('rect')]
        .slice(1)
        .map((bar) => [bar.getAttribute('y'), bar.getAttribute('height')]),
    );
    assert.deepEqual(bars, [
      [
        ['90', '10'],
        ['90', '0'],
      ],
      [
        ['70', '30'],
        ['0', '70'],
      ],
    ]);
  });

  test('spending is listed by agent and by workspace', async () => {
    await openOverview();
    const agents = await find('region', 'Spending by agent');
    assert.match(seen(agents), /Grace\s*3\s*20.5K\s*\$0.42/);
    assert.equal(all('link', 'Grace', agents)[0]?.getAttribute('href'), `/people/${graceId}`);
    const places = await find('region', 'Spending by workspace');
    assert.match(
      seen(places),
      /Web shop <img .*>\s*3\s*20.5K\s*\$0.42[\s\S]*No workspace\s*3\s*20.5K\s*\$0.00/,
    );
    assert.equal(all('link', /^Web shop/, places)[0]?.getAttribute('href'), `/?workspace=${workspace.id}`);
  });

  test('a strip per agent shows what it held, a day at a time, and can be zoomed', async () => {
    const service = await openOverview();
    const strips = await find('region', 'Who held what');
    const [link] = all('link', /^TASK-000007 Fix the race/, strips);
    assert.equal(link?.getAttribute('href'), '/tasks/TASK-000007');
    assert.match(link?.getAttribute('aria-label') ?? '', /, lost: the lease expired$/);
    const asked = () => {
      const { from = '', to = '' } = service.askedFor('statistics.getHoldings').at(-1)?.query ?? {};
      return [Date.parse(from), Date.parse(to)] as [number, number];
    };
    const [from, to] = asked();
    assert.equal(to - from, 86_400_000);
    await click('button', 'Earlier', strips);
    assert.deepEqual(asked(), [from - 86_400_000, from]);
    await fill('combobox', 'Show', '1');
    assert.deepEqual(asked(), [from - 3_600_000, from]);
    await click('button', 'Later', strips);
    assert.deepEqual(asked(), [from, from + 3_600_000]);
    await click('button', 'Now', strips);
    assert.deepEqual(asked(), [to - 3_600_000, to]);
    await click('button', 'Show as table', strips);
    assert.match(seen(strips), /Grace\s*TASK-000007 Fix the race <img .*>[\s\S]*lost: the lease expired/);
  });

  test('events refetch the figures once a minute, and never while a request is pending', async (t) => {
    const minutes: (() => void)[] = [];
    const { setTimeout: after } = globalThis;
    t.mock.method(globalThis, 'setTimeout', ((act: () => void, ms?: number) => {
      // Others wait for a minute, too.
      if (ms !== 60_000 || !new Error().stack?.includes('refetches.ts')) return after(act, ms);
      minutes.push(act);
      return after(() => undefined, ms);
    }) as typeof setTimeout);
    const service = await openOverview();
    await until(() => sockets.length > 0);
    const count = () => service.askedFor('statistics.getWork').length;
    const brings = () => sockets.at(-1)?.brings({ ...exampleEvent, type: 'task.completed' });
    brings();
    await until(() => minutes.length === 1);
    brings();
    await settled();
    assert.deepEqual([count(), minutes.length], [1, 1]);
    const { promise, resolve } = Promise.withResolvers<void>();
    service.answer({
      'statistics.getWork': async () => {
        await promise;
        return { ...work, completed: 77 };
      },
    });
    minutes.shift()?.();
    await until(() => count() === 2);
    brings();
    await new Promise((done) => after(done, 300));
    assert.deepEqual([count(), minutes.length], [2, 0]);
    resolve();
    await see(/Done\n77/);
    await until(() => minutes.length === 1);
    assert.equal(count(), 2);
    minutes.shift()?.();
    await until(() => count() === 3);
  });

  test('a reason of a caller is text, also with the name of a member that every object has', async () => {
    const items = ['__proto__', 'constructor', 'lunch\u202e'].map((endReason, n) =>
      holding({ claimId: `${n}`, endReason }),
    );
    await openOverview('/overview', {
      'statistics.getHoldings': { from: '', to: '', items, isTruncated: false },
    });
    await click('button', 'Show as table', await find('region', 'Who held what'));
    assert.deepEqual(
      [...document.querySelectorAll('[aria-label="Who held what: table"] td:last-child')].map(
        ({ textContent }) => textContent,
      ),
      ['__proto__', 'constructor', 'lunch⟨U+202E⟩'],
    );
  });

  test('hostile titles and names are text', async () => {
    await openOverview();
    await click('button', 'Show as table', await find('region', 'Who held what'));
    assert.equal(document.querySelector('img'), null);
    assert.equal((window as unknown as { ran?: number }).ran, undefined);
  });

  test('an empty range shows zeros, and that nobody held a task', async () => {
    const none = { created: 0, completed: 0, leadTime: times(null), cycleTime: times(null) };
    await openOverview('/overview', {
      'statistics.getWork': { ...work, ...none, days: work.days.map((day) => ({ ...day, ...none })) },
      'statistics.getUsage': ({ query: { groupBy = '' } }) => ({
        ...range,
        groupBy: groupBy as 'week',
        total: { inputTokens: 0, outputTokens: 0, costs: [] },
        groups: [],
        rest: null,
      }),
      'statistics.getHoldings': { from: '', to: '', items: [], isTruncated: false },
    });
    await see(/Done\n0\n0 created/);
    await see(/Lead time\n–\n9 of 10 within –/);
    await see('No tokens or costs were recorded in this range.');
    await see('No tasks held in this period.');
  });

  test('the permissions decide which parts are shown', async () => {
    const service = await open('/overview', { me: { permissions: ['tasks.read'] }, answers });
    await see(/Done\n5/);
    notSeen('Waited for people');
    notSeen('Lost leases in the journal');
    assert.ok(!isThere('combobox', 'Workspace'));
    assert.equal(service.askedFor('statistics.getWaits').length, 0);
    assert.equal(all('link', undefined, await find('region', 'Spending by agent')).length, 0);
  });

  test('without tasks.read nothing is requested', async () => {
    const service = await open('/overview', { me: { permissions: [] } });
    await see("You don't have access to this page");
    assert.equal(service.asked.filter(({ name }) => name.startsWith('statistics.')).length, 0);
  });

  test('an error is shown once and can be retried', async () => {
    const service = await openOverview('/overview', {
      'statistics.getWork': new Refusal(503, 'unavailable', 'Try again later.'),
    });
    await see('Try again later.');
    assert.equal(all('alert').length, 1);
    service.answer(answers);
    await click('button', 'Try again');
    await see(/Done\n5/);
  });
});

test('durations and amounts are readable', () => {
  assert.deepEqual([null, 0, 5, 59.6, 90, 3600, 9_000, 86_400 * 2.5, 86_400 * 30].map(durationText), [
    '–',
    '0 s',
    '5 s',
    '60 s',
    '1.5 min',
    '1 h',
    '2.5 h',
    '2.5 d',
    '30 d',
  ]);
  assert.deepEqual(
    [moneyText(0, 'USD'), moneyText(420, 'USD'), moneyText(1_234_560_000, 'EUR')],
    ['$0.00', '$0.0004', '€1,234.56'],
  );
});

test('claims that overlap are in different lanes', () => {
  const at = (hour: number) => `2026-11-28T0${hour}:00:00.000Z`;
  const held = [
    holding({ claimId: 'c', acquiredAt: at(3), endedAt: null }),
    holding({ claimId: 'b', acquiredAt: at(2), endedAt: at(4) }),
    holding({ claimId: 'a', acquiredAt: at(1), endedAt: at(2) }),
  ];
  assert.deepEqual(
    lanesOf(held).map((lane) => lane.map(({ claimId }) => claimId)),
    [['a', 'b'], ['c']],
  );
});
