import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { UndeliveredEvent } from '@baton/sdk';
import {
  type Answers,
  all,
  click,
  exampleOf,
  fill,
  isThere,
  itemOf,
  type Others,
  open,
  pageOf,
  Refusal,
  see,
  seen,
  submit,
  test,
  until,
} from '../testing/page.ts';

const { readFigures, readHealth } = await import('./figures.ts');

const metrics =
  (text: string, type = 'text/plain; version=0.0.4') =>
  () =>
    new Response(text, { headers: { 'content-type': type } });
const figures =
  'active_claims 3\norphaned_runs 1\noutbox_waiting 12345\njournal_horizon_age_seconds 4.2\noutbox_oldest_age_seconds 7300\n# HELP x\nlabelled{a="b"} 9\n';
const ready: Others = {
  '/iam/readyz': { database: true, signingKey: true },
  '/health/ready': { revision: '0042' },
  '/metrics': metrics(figures),
};
const quiet: Answers = {
  'operations.getContextAdapter': exampleOf('operations.getContextAdapter', { cursor: null }),
};
const undelivered = (other: Partial<UndeliveredEvent> = {}): UndeliveredEvent =>
  itemOf('operations.listUndeliveredEvents', {
    id: 'd1',
    type: 'task.completed',
    sink: 'billing',
    attempts: 3,
    lastError: 'HTTP 500',
    nextAttemptAt: null,
    ...other,
  });
const openSystem = (answers: Answers = {}, others: Others = {}, permissions?: string[]) =>
  open('/system', {
    answers: { ...quiet, ...answers },
    others: { ...ready, ...others },
    ...(permissions && { me: { permissions } }),
  });
const card = (name: string) =>
  seen(all('article').find((one) => one.querySelector('h2')?.textContent === name));
const unready = (body: object) => () => Response.json(body, { status: 503 });
const dead = (...items: UndeliveredEvent[]): Answers => ({
  'operations.listUndeliveredEvents': ({ query }) => pageOf(...(query['status'] === 'dead' ? items : [])),
});

describe('the services', () => {
  test('that are ready are shown as ready', async () => {
    await openSystem();
    assert.equal(
      card('Identity'),
      'Identity\nReady\nThe database is responding.\nA signing key is configured.',
    );
    assert.equal(card('Coordination'), 'Coordination\nReady\nDatabase schema: migration 0042.');
  });

  for (const [body, sentence] of [
    [{ reason: 'database_unreachable' }, 'The database is not responding.'],
    [
      { reason: 'migrations_pending', dbRevision: 3, headRevision: 4 },
      'The database schema is at migration 3 of 4. Run the migrations.',
    ],
    [
      { detail: { horizonHolder: { pid: 77, ageSeconds: 12.4, database: 'x' } } },
      'A transaction of database process 77, open for 12 s, delays the readers of the journal.',
    ],
    [
      { detail: { memory: { circuitsOpen: 2 } } },
      'The memory service is failing for 2 tenants. Requests to it are paused.',
    ],
  ] as const)
    test(`one that is not ready shows: ${sentence}`, async () => {
      await openSystem({}, { '/health/ready': unready(body) });
      assert.equal(card('Coordination'), `Coordination\nNot ready\n${sentence}`);
    });

  test('identity without a key shows the consequence', async () => {
    await openSystem({}, { '/iam/readyz': unready({ database: false, signingKey: false }) });
    assert.equal(
      card('Identity'),
      'Identity\nNot ready\nThe database is not responding.\nNo signing key is configured, so no access tokens can be issued.',
    );
  });

  test('one that does not respond is reported, and the page stays intact', async () => {
    await openSystem({}, { '/iam/readyz': () => Promise.reject(new TypeError('fetch failed')) });
    assert.equal(card('Identity'), 'Identity\nNot ready\nThe service is not responding.');
    assert.ok(!isThere('alert'));
  });

  test('a query that the page has cancelled is no failure of a service', async (t) => {
    const stop = AbortSignal.abort();
    t.mock.method(globalThis, 'fetch', () => Promise.reject(stop.reason as Error));
    await assert.rejects(readHealth('/health/ready', stop), { name: 'AbortError' });
  });
});

describe('the figures', () => {
  test('are shown by name, in seconds, minutes and hours, with alarms highlighted', async () => {
    await openSystem();
    const tiles = Object.fromEntries(
      [...document.querySelectorAll('dl > div')].map((tile) => [
        tile.querySelector('dt')?.textContent,
        tile.querySelector('dd'),
      ]),
    );
    assert.equal(tiles['Claimed tasks']?.textContent, '3');
    assert.equal(tiles['Pending deliveries']?.textContent, '12,345');
    assert.equal(tiles['Journal reader lag']?.textContent, '4 s');
    assert.equal(tiles['Oldest pending delivery']?.textContent, '2 h');
    assert.equal(tiles['Orphaned runs']?.className, 'alarm');
    assert.equal(tiles['Claimed tasks']?.className, '');
  });

  test('that are withheld from browsers are reported', async () => {
    await openSystem({}, { '/metrics': () => new Response('', { status: 404 }) });
    await see('/metrics is not available to browsers');
    await see('Ready');
  });

  test('an HTML page in their place is ignored', async (t) => {
    t.mock.method(globalThis, 'fetch', async () => metrics('<html>', 'text/html')());
    assert.equal(await readFigures(new AbortController().signal), null);
  });

  test('that the database did not return are reported', async () => {
    await openSystem({}, { '/metrics': metrics('process_cpu_seconds_total 4\n') });
    await see('The database did not respond in time. Some metrics are unavailable.');
  });

  test('exclude those with labels', async (t) => {
    t.mock.method(globalThis, 'fetch', async () => metrics(figures)());
    assert.deepEqual(Object.keys((await readFigures(new AbortController().signal)) ?? {}), [
      'active_claims',
      'orphaned_runs',
      'outbox_waiting',
      'journal_horizon_age_seconds',
      'outbox_oldest_age_seconds',
    ]);
  });
});

describe('deliveries', () => {
  test('without any, there is an empty state', async () => {
    await openSystem();
    await see('No dead letters.');
    await see('No pending deliveries.');
    await see('CP_CONTEXT_PROVIDER');
  });

  test('a dead letter is shown with its sink, attempts and last error', async () => {
    await openSystem(dead(undelivered()));
    await see(/task\.completed to billing\n3 attempts · HTTP 500/);
  });

  test('one without an attempt is reported', async () => {
    await openSystem(
      dead(undelivered({ attempts: 0, lastError: null, nextAttemptAt: '2026-03-02T09:00:00.000Z' })),
    );
    await see('No attempts · retrying now');
  });

  test('is made again', async () => {
    const service = await openSystem({
      ...dead(undelivered()),
      'operations.redriveUndeliveredEvent': exampleOf('operations.redriveUndeliveredEvent'),
    });
    service.answer(dead());
    await click('button', 'Redeliver');
    await see('No dead letters.');
    assert.deepEqual(service.askedFor('operations.redriveUndeliveredEvent')[0]?.ids, ['d1']);
  });

  test('is dropped with a reason for the journal', async () => {
    const service = await openSystem({
      ...dead(undelivered()),
      'operations.dropUndeliveredEvent': exampleOf('operations.dropUndeliveredEvent'),
    });
    await click('button', 'Discard …');
    await fill('textbox', 'Reason (recorded in the journal)', ' Billing is closed ');
    await submit('textbox', 'Reason (recorded in the journal)');
    const [asked] = service.askedFor('operations.dropUndeliveredEvent');
    assert.deepEqual([asked?.ids, asked?.body], [['d1'], { reason: 'Billing is closed' }]);
  });

  test('several are retried one after the other, up to the first rejected one', async () => {
    const items = ['d1', 'd2', 'd3'].map((id) => undelivered({ id }));
    const service = await openSystem({
      ...dead(...items),
      'operations.redriveUndeliveredEvent': ({ ids: [id] }) =>
        id === 'd2'
          ? new Refusal(403, 'permission_denied', 'Not this.')
          : exampleOf('operations.redriveUndeliveredEvent'),
    });
    await click('button', 'Redeliver all 3');
    await see('Not this.');
    assert.deepEqual(
      service.askedFor('operations.redriveUndeliveredEvent').map(({ ids: [id] }) => id),
      ['d1', 'd2'],
    );
  });

  test('with read permission only, actions are hidden', async () => {
    await openSystem(dead(undelivered()), {}, ['operations.read']);
    await see('task.completed to billing');
    assert.ok(!isThere('button', 'Redeliver') && !isThere('button', 'Discard …'));
  });

  test('without the permission, the permission is shown and no request is sent', async () => {
    const service = await openSystem({}, {}, ['tasks.read']);
    await see('Deliveries require the permission operations.read.');
    assert.equal(service.askedFor('operations.listUndeliveredEvents').length, 0);
    assert.ok(!isThere('heading', 'Dead letters'));
  });

  test('an event that the memory service rejects is shown, and retried', async () => {
    const parked = exampleOf('operations.getContextAdapter', {
      cursor: 'ec1_x',
      parked: true,
      parkedReason: 'it refused',
      failureCount: 4,
      deliveredTotal: 1234,
      lagEvents: 7,
      lagCapped: true,
      lastDeliveryAt: null,
      nextAttemptAt: null,
    });
    const service = await openSystem({
      'operations.getContextAdapter': parked,
      'operations.redriveContextAdapter': exampleOf('operations.redriveContextAdapter'),
    });
    await see('1,234 events delivered; more than 7 pending.');
    await see('after 4 failures: it refused');
    await click('button', 'Retry now');
    await until(() => service.askedFor('operations.redriveContextAdapter').length > 0);
    assert.deepEqual(service.askedFor('operations.redriveContextAdapter')[0]?.ids, [parked.tenantId]);
  });
});
