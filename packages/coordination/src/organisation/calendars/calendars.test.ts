import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
let reader: Actor;
before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: [] });
});
after(() => baton.close());

const year = { year: 2026 };
const plain = { displayName: 'Office', timezone: 'Europe/Berlin', years: [year] };
const hours = { intervals: [{ from: '09:00', to: '17:00' }] };
const office = { ...plain, workingHours: hours };
const newKey = () => `c${newId()}`;
const publish = (spec: object, key = newKey()) => baton.admin.post('/calendars', { key, spec });
const made = async (spec: object = office, key = newKey()) => done(publish(spec, key), 201);
const typesOf = async (id: string) => (await eventsOf(baton, id)).map(({ type }) => type);

describe('POST /calendars', () => {
  test('returns 201 with the whole record in canonical order, and writes calendar.published', async () => {
    const key = newKey();
    const calendar = await made(
      {
        ...plain,
        weekend: [7, 6],
        years: [
          { year: 2027, provisional: true, source: 'draft', holidays: ['2027-12-25', '2027-01-01'] },
          { year: 2026, workdays: ['2026-01-10', '2026-01-10'], shortDays: ['2026-12-24'] },
        ],
      },
      key,
    );
    const { id, createdAt, calendarHash, ...rest } = calendar;
    assert.match(calendarHash, /^sha256:[0-9a-f]{64}$/);
    assert.ok(createdAt);
    assert.deepEqual(rest, {
      tenantId: baton.tenantId,
      key,
      version: 1,
      latestVersion: 1,
      spec: {
        displayName: 'Office',
        timezone: 'Europe/Berlin',
        weekend: [6, 7],
        workingHours: null,
        years: [
          {
            year: 2026,
            provisional: false,
            source: null,
            holidays: [],
            workdays: ['2026-01-10'],
            shortDays: ['2026-12-24'],
          },
          {
            year: 2027,
            provisional: true,
            source: 'draft',
            holidays: ['2027-01-01', '2027-12-25'],
            workdays: [],
            shortDays: [],
          },
        ],
      },
      provisionalYears: [2027],
      status: 'active',
      retired: null,
      createdBy: baton.admin.principalId,
      package: null,
    });
    const [event] = await eventsOf(baton, id);
    assert.deepEqual(event && [event.type, event.payload], [
      'calendar.published',
      { key, version: 1, calendarHash, previousVersion: null, years: [2026, 2027], provisionalYears: [2027] },
    ]);
  });

  test('the same content in another order returns 200 with the existing version, and writes nothing', async () => {
    const key = newKey();
    const two = [year, { year: 2027, holidays: ['2027-01-01', '2027-05-01'] }];
    const first = await made({ ...office, years: two }, key);
    const turned = [{ year: 2027, holidays: ['2027-05-01', '2027-01-01'] }, year];
    assert.deepEqual(await done(publish({ ...office, years: turned }, key)), first);
    assert.deepEqual(await typesOf(first.id), ['calendar.published']);
  });

  test('different content creates the next version, even the content of an older one; published versions remain', async () => {
    const key = newKey();
    const first = await made(office, key);
    const second = await made(plain, key);
    assert.deepEqual([second.version, second.latestVersion], [2, 2]);
    const third = await made(office, key);
    assert.deepEqual([third.version, third.calendarHash], [3, first.calendarHash]);
    const [event] = await eventsOf(baton, third.id);
    assert.equal((event?.payload as any).previousVersion, 2);
    const read = await done(reader.get(`/calendars/${key}@1`));
    assert.deepEqual(read, { ...first, latestVersion: 3 });
  });

  const wrong: [string, string, object][] = [
    ['unknown_timezone', 'spec.timezone', { timezone: 'Europe/Atlantis' }],
    ['unknown_timezone', 'spec.timezone', { timezone: '+01:00' }],
    ['duplicate_calendar_year', 'spec.years.1.year', { years: [year, year] }],
    [
      'calendar_date_outside_year',
      'spec.years.0.workdays.1',
      { years: [{ ...year, workdays: ['2026-01-03', '2027-01-02'] }] },
    ],
    [
      'calendar_day_conflict',
      'spec.years.0.workdays.0',
      { years: [{ ...year, holidays: ['2026-01-01'], workdays: ['2026-01-01'] }] },
    ],
    [
      'calendar_day_conflict',
      'spec.years.0.shortDays.0',
      { years: [{ ...year, holidays: ['2026-01-01'], shortDays: ['2026-01-01'] }] },
    ],
    ...(
      [
        ['intervals.0.from', { intervals: [{ from: '9:00', to: '17:00' }] }],
        ['intervals.0.from', { intervals: [{ from: '24:00', to: '24:00' }] }],
        ['intervals.0.to', { intervals: [{ from: '09:00', to: '24:01' }] }],
        ['intervals.0.to', { intervals: [{ from: '09:00', to: '09:00' }] }],
        ['intervals.1.from', { intervals: [hours.intervals[0], { from: '16:59', to: '18:00' }] }],
        ['weekdays.5.0.to', { ...hours, weekdays: { 5: [{ from: '09:00', to: 'noon' }] } }],
        ['shortDayReduction', { ...hours, shortDayReduction: '1 hour' }],
        ['shortDayReduction', { ...hours, shortDayReduction: 'PT' }],
        ['shortDayReduction', { ...hours, shortDayReduction: 'PT481M' }],
      ] as const
    ).map(([path, workingHours]): [string, string, object] => [
      'invalid_working_hours',
      `spec.workingHours.${path}`,
      { workingHours },
    ]),
  ];
  for (const [code, path, more] of wrong)
    test(`${code} returns 422 invalid_calendar at ${path}: ${JSON.stringify(more)}`, async () => {
      const details = await refused(publish({ ...plain, ...more }), 422, 'invalid_calendar');
      assert.deepEqual(details, { code, path });
    });

  test('of two defects the first in the documented order is reported', async () => {
    const faults = [
      { timezone: 'Nowhere/City' },
      { years: [{ year: 2026, holidays: ['2025-01-01'] }, year] },
      { workingHours: { intervals: [{ from: 'x', to: 'y' }] } },
    ];
    const codeOf = async (of: readonly object[]) =>
      (await refused(publish(Object.assign({ ...plain }, ...of)), 422, 'invalid_calendar')).code;
    assert.equal(await codeOf(faults), 'unknown_timezone');
    assert.equal(await codeOf(faults.slice(1)), 'duplicate_calendar_year');
    const outside = {
      years: [{ year: 2026, holidays: ['2025-01-01', '2026-01-01'], workdays: ['2026-01-01'] }],
    };
    assert.equal(await codeOf([outside, faults[2] as object]), 'calendar_date_outside_year');
    const conflict = { years: [{ year: 2026, holidays: ['2026-01-01'], workdays: ['2026-01-01'] }] };
    assert.equal(await codeOf([conflict, faults[2] as object]), 'calendar_day_conflict');
  });

  test('a malformed body returns 400, a document beyond the limits 422', async () => {
    const forms: object[] = [
      { displayName: '' },
      { timezone: 'x'.repeat(65) },
      { weekend: [6, 6] },
      { weekend: [0] },
      { years: [] },
      { years: [{ year: 1999 }] },
      { years: [{ year: 2101 }] },
      { years: [{ year: 2026, source: 's'.repeat(501) }] },
      { years: [{ year: 2026, holidays: ['2026-02-30'] }] },
      { workingHours: { intervals: [] } },
      { workingHours: { intervals: Array.from({ length: 11 }, () => hours.intervals[0]) } },
      { workingHours: { ...hours, weekdays: { 8: [] } } },
    ];
    for (const more of forms) await refused(publish({ ...plain, ...more }), 400, 'invalid_request');
    for (const key of ['', 'Upper', '-a', 'a'.repeat(64)])
      await refused(publish(plain, key), 400, 'invalid_request');
    const days = Array.from({ length: 350 }, () => '2026-01-01');
    const years = Array.from({ length: 15 }, (_, n) => ({ year: 2026 + n, holidays: days }));
    const details = await refused(publish({ ...plain, years }), 422, 'payload_too_large');
    assert.equal(details.field, 'spec');
  });

  test('needs calendars.write', async () => {
    const details = await refused(
      reader.post('/calendars', { key: newKey(), spec: plain }),
      403,
      'permission_denied',
    );
    assert.deepEqual(details.required, ['calendars.write']);
  });
});

describe('GET /calendars', () => {
  test('lists the newest version of each key, newest first, to any principal of the tenant', async () => {
    const [old, other] = [newKey(), newKey()];
    await made(office, old);
    const second = await made(office, other);
    const newest = await made(plain, old);
    const page = await done(reader.get('/calendars?limit=1'));
    assert.deepEqual(page.items, [newest]);
    const next = await done(reader.get(`/calendars?limit=1&cursor=${page.nextCursor}`));
    assert.deepEqual(next.items, [second]);
    const all = await done(reader.get('/calendars?limit=200'));
    assert.equal(all.items.filter(({ key }: any) => key === old).length, 1);
    assert.equal((await done(baton.otherAdmin.get('/calendars'))).items.length, 0);
    await refused(reader.get('/calendars?cursor=nonsense'), 422, 'invalid_cursor');
    assert.deepEqual((await done(reader.get('/calendars?package=x'))).items, []);
  });

  test('reads the newest version by its key, any by key@version, and refuses others', async () => {
    const calendar = await made();
    assert.deepEqual(await done(reader.get(`/calendars/${calendar.key}`)), calendar);
    assert.deepEqual(await done(reader.get(`/calendars/${calendar.key}@1`)), calendar);
    for (const ref of [newKey(), `${calendar.key}@2`, `${calendar.key}@0`, 'No-key'])
      await refused(reader.get(`/calendars/${ref}`), 404, 'not_found');
    await refused(baton.otherAdmin.get(`/calendars/${calendar.key}`), 404, 'not_found');
  });
});

describe('POST /calendars/{key}:retire', () => {
  const retire = (key: string, query = '') =>
    baton.admin.post(`/calendars/${key}:retire${query}`, { reason: 'closed' });

  test('retires all versions of the key; a repeated call changes nothing', async () => {
    const first = await made();
    const newest = await made(plain, first.key);
    const { retired: none, ...facts } = newest;
    assert.equal(none, null);
    const { retired, ...rest } = await done(retire(first.key));
    assert.deepEqual(rest, { ...facts, status: 'retired' });
    assert.deepEqual([retired.by, retired.reason], [baton.admin.principalId, 'closed']);
    assert.equal((await done(reader.get(`/calendars/${first.key}@1`))).status, 'retired');
    assert.deepEqual((await done(retire(first.key))).retired, retired);
    const events = await eventsOf(baton, newest.id);
    const said = { key: first.key, latestVersion: 2, reason: 'closed' };
    assert.deepEqual(
      events.map(({ type }) => type),
      ['calendar.published', 'calendar.retired'],
    );
    assert.deepEqual(events[1]?.payload, said);
  });

  test('dryRun writes nothing; a missing key returns 404; the reason has 1 to 500 characters', async () => {
    const calendar = await made();
    assert.deepEqual(await done(retire(calendar.key, '?dryRun=true')), calendar);
    assert.equal((await done(reader.get(`/calendars/${calendar.key}`))).status, 'active');
    await refused(retire(newKey()), 404, 'not_found');
    for (const reason of ['', 'r'.repeat(501)])
      await refused(
        baton.admin.post(`/calendars/${calendar.key}:retire`, { reason }),
        400,
        'invalid_request',
      );
    await refused(
      reader.post(`/calendars/${calendar.key}:retire`, { reason: 'r' }),
      403,
      'permission_denied',
    );
  });

  test('publishing reactivates it: the same content with 200, other content with 201', async () => {
    const first = await made();
    await done(retire(first.key));
    assert.deepEqual(await done(publish(office, first.key)), first);
    assert.deepEqual(await typesOf(first.id), [
      'calendar.published',
      'calendar.retired',
      'calendar.restored',
    ]);
    await done(retire(first.key));
    const second = await made(plain, first.key);
    assert.deepEqual([second.status, second.retired], ['active', null]);
    const [published, restored] = await eventsOf(baton, second.id);
    assert.deepEqual(
      [published?.type, restored?.type, restored?.payload],
      ['calendar.published', 'calendar.restored', { key: first.key, latestVersion: 2 }],
    );
  });
});

describe('POST /calendars/{key}:compute', () => {
  const compute = (key: string, body: object) => reader.post(`/calendars/${key}:compute`, body);

  test('adds working minutes over a night, a weekend and a holiday', async () => {
    const { key } = await made({ ...office, years: [{ ...year, holidays: ['2026-04-03', '2026-04-06'] }] });
    const body = { from: '2026-04-02T16:00:00+02:00', addWorkingMinutes: 120 };
    assert.deepEqual(await done(compute(key, body)), { to: '2026-04-07T08:00:00.000Z' });
    const back = { from: '2026-04-02T16:00:00+02:00', to: '2026-04-07T08:00:00.000Z' };
    assert.deepEqual(await done(compute(key, back)), { workingMinutes: 120 });
    assert.deepEqual(await done(compute(key, { from: back.to, to: back.from })), { workingMinutes: -120 });
    assert.deepEqual(await done(compute(key, { from: back.to, to: back.to })), { workingMinutes: 0 });
  });

  test('computes with the named version, also of a retired calendar', async () => {
    const { key } = await made();
    await made({ ...office, timezone: 'UTC' }, key);
    await done(baton.admin.post(`/calendars/${key}:retire`, { reason: 'r' }));
    const body = { from: '2026-06-01T00:00:00Z', addWorkingMinutes: 1 };
    assert.deepEqual(await done(compute(key, body)), { to: '2026-06-01T09:01:00.000Z' });
    assert.deepEqual(await done(compute(`${key}@1`, body)), { to: '2026-06-01T07:01:00.000Z' });
  });

  test('both forms together, neither, and negative amounts return 400', async () => {
    const { key } = await made();
    const [from, to] = ['2026-06-01T00:00:00Z', '2026-06-02T00:00:00Z'];
    for (const body of [
      { from },
      { to },
      { from, to, addWorkingMinutes: 1 },
      { from, addWorkingMinutes: -1 },
      { from, addWorkingMinutes: 1.5 },
      { from: 'tomorrow', to },
    ])
      await refused(compute(key, body), 400, 'invalid_request');
    await refused(compute(newKey(), { from, to }), 404, 'not_found');
    await refused(baton.otherAdmin.post(`/calendars/${key}:compute`, { from, to }), 404, 'not_found');
  });

  test('a calendar without hours, or a range beyond 50 years, returns 422 with the reason', async () => {
    const [bare, { key }] = [await made(plain), await made()];
    const never = await made({ ...office, weekend: [1, 2, 3, 4, 5, 6, 7] });
    const from = '2026-06-01T00:00:00Z';
    const code = async (of: string, body: object) =>
      (await refused(compute(of, { from, ...body }), 422, 'invalid_calendar')).code;
    assert.equal(await code(bare.key, { addWorkingMinutes: 1 }), 'calendar_without_hours');
    assert.equal(await code(bare.key, { to: from }), 'calendar_without_hours');
    assert.equal(await code(never.key, { addWorkingMinutes: 1 }), 'calendar_scan_limit');
    assert.equal(await code(key, { to: '2076-06-03T00:00:00Z' }), 'calendar_scan_limit');
    assert.equal(await code(key, { from: '1949-12-31T00:00:00Z', to: from }), 'calendar_scan_limit');
    assert.ok((await done(compute(key, { from, to: '2076-05-31T00:00:00Z' }))).workingMinutes > 6_000_000);
  });

  test('stores no response under an Idempotency-Key', async () => {
    const { key } = await made();
    const asked = { from: '2026-06-01T00:00:00Z', addWorkingMinutes: 1 };
    const headers = { 'idempotency-key': newId() };
    await done(reader.post(`/calendars/${key}:compute`, asked, headers));
    const other = await reader.post(`/calendars/${key}:compute`, { ...asked, addWorkingMinutes: 2 }, headers);
    assert.equal(other.status, 200);
    const kept = await baton.pool.rows(
      sql`select from idempotency_keys where key = ${headers['idempotency-key']}`,
    );
    assert.equal(kept.length, 0);
  });
});

test('concurrent publications get one version each, and equal content creates only one', async () => {
  const key = newKey();
  const specs = Array.from({ length: 12 }, (_, n) => ({ ...office, displayName: `Office ${n % 6}` }));
  const answers = await Promise.all(specs.map((spec) => publish(spec, key)));
  const versions = answers
    .filter(({ status }) => status === 201)
    .map(({ body }) => body.version)
    .sort((a, b) => a - b);
  assert.deepEqual(
    versions,
    Array.from({ length: versions.length }, (_, n) => n + 1),
  );
  const same = newKey();
  const statuses = (await Promise.all(specs.map(() => publish(office, same)))).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [...Array<number>(11).fill(200), 201]);
});

test('concurrent retirements and publications leave events that match the stored state', async () => {
  for (let round = 0; round < byDepth(10, 100); round += 1) {
    const { key, id } = await made();
    await Promise.all([
      done(baton.admin.post(`/calendars/${key}:retire`, { reason: 'r' })),
      done(publish(office, key)),
    ]);
    const { status } = await done(reader.get(`/calendars/${key}`));
    const last = (await typesOf(id)).at(-1);
    assert.equal(last, status === 'retired' ? 'calendar.retired' : 'calendar.restored');
  }
});
