import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import {
  applyDocuments,
  newKey,
  planDocuments,
  sourceOf,
  type TestDocument,
} from '../../testing/packages/package-sources.ts';
import { makeProcessAgent, setStep, specOf } from '../../testing/processes/process-instances.ts';
import { ruleBody } from '../../testing/rules/rules.ts';

/**
 * Tests objects that are created under a key that a package no longer contains (docs/reference/packages.md#ownership).
 */

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/** The document of each kind, the request that creates an object with the same key, and the request that reads it. */
interface Kind {
  spec(title: string): Promise<object>;
  make(key: string, title: string): Promise<unknown>;
  read(key: string): Promise<{ package: { key: string } | null; title: string; isActive: boolean }>;
}

const calendarSpec = (displayName: string) => ({
  displayName,
  timezone: 'Europe/Berlin',
  years: [{ year: 2027 }],
});
const ruleSpec = (description: string) => {
  const { key: _, ...spec } = ruleBody({ status: 'disabled', description }) as { key: string };
  return spec;
};
let author: Promise<{ key: string }> | undefined;
let version = 0;
async function processSpec(displayName: string) {
  author ??= makeProcessAgent(baton);
  const { key } = await author;
  version += 1;
  return specOf(key, [setStep('a', { x: '1' })], {
    version,
    displayName,
    start: { on: { observation: 'never' }, key: 'event.id' },
  });
}
const firstOf = async (path: string) => (await done(baton.admin.get(path))).items[0];

const kinds: Readonly<Record<string, Kind>> = {
  TaskType: {
    spec: async (displayName) => ({ displayName }),
    make: (key, displayName) => done(baton.admin.post('/task-types', { key, displayName }), 201),
    async read(key) {
      const { package: of, displayName, status } = await firstOf(`/task-types?key=${key}`);
      return { package: of, title: displayName, isActive: status === 'active' };
    },
  },
  WorkRule: {
    spec: async (description) => ruleSpec(description),
    make: (key, description) => done(baton.admin.post('/rules', { key, ...ruleSpec(description) }), 201),
    async read(key) {
      const { package: of, description, status } = await firstOf(`/rules?key=${key}`);
      return { package: of, title: description, isActive: status !== 'archived' };
    },
  },
  Calendar: {
    spec: async (displayName) => calendarSpec(displayName),
    async make(key, displayName) {
      const { status } = await baton.admin.post('/calendars', { key, spec: calendarSpec(displayName) });
      // Publishing the same content restores a retired calendar.
      assert.ok(status === 200 || status === 201);
    },
    async read(key) {
      const { package: of, spec, status } = await done(baton.admin.get(`/calendars/${key}`));
      return { package: of, title: spec.displayName, isActive: status === 'active' };
    },
  },
  Process: {
    spec: processSpec,
    make: async (key, title) =>
      done(baton.admin.post('/process-definitions', { key, spec: await processSpec(title) }), 201),
    async read(key) {
      const { package: of, spec, status } = await done(baton.admin.get(`/process-definitions/${key}`));
      return { package: of, title: spec.displayName, isActive: status === 'active' };
    },
  },
};

describe('an object that a person creates under a key that a package removed', () => {
  for (const [kind, { spec, make, read }] of Object.entries(kinds)) {
    test(`${kind}: belongs to the person, and no later version of the package changes or retires it`, async () => {
      const named = { key: newKey('p') };
      const key = newKey();
      const theirs = { package: null, title: 'Theirs', isActive: true };
      await applyDocuments(baton.admin, named, [{ kind, key, spec: await spec('Ours') }]);
      assert.equal((await read(key)).package?.key, named.key);
      await applyDocuments(baton.admin, { ...named, version: '2' }, []);
      await make(key, 'Theirs');
      assert.deepEqual(await read(key), theirs);
      const { plan } = await applyDocuments(baton.admin, { ...named, version: '3' }, []);
      assert.deepEqual(plan.changes, []);
      assert.deepEqual(await read(key), theirs);
      await baton.pool.run(
        sql`update package_objects set retired_at = now(), version = '4' where key = ${key}`,
      );
      assert.deepEqual(await read(key), theirs);
      await baton.pool.run(sql`update package_objects set retired_at = null where key = ${key}`);
      assert.equal((await read(key)).package?.key, named.key);
    });

    test(`${kind}: is preserved when the package contains the key again, unless it is overwritten`, async () => {
      const named = { key: newKey('p') };
      const key = newKey();
      await applyDocuments(baton.admin, named, [{ kind, key, spec: await spec('Ours') }]);
      await applyDocuments(baton.admin, { ...named, version: '2' }, []);
      await make(key, 'Ours');
      const documents = [{ kind, key, spec: await spec('Ours, later') }];
      await applyDocuments(baton.admin, { ...named, version: '3' }, documents);
      const { package: of, title } = await read(key);
      assert.deepEqual([of?.key, title], [named.key, 'Ours']);
      const over = { overwriteConsole: true };
      await applyDocuments(baton.admin, { ...named, version: '4' }, documents, over);
      assert.equal((await read(key)).title, 'Ours, later');
    });

    test(`${kind}: is not renamed by the package`, async () => {
      const named = { key: newKey('p') };
      const [key, to] = [newKey(), newKey()];
      await applyDocuments(baton.admin, named, [{ kind, key, spec: await spec('Ours') }]);
      await applyDocuments(baton.admin, { ...named, version: '2' }, []);
      await make(key, 'Theirs');
      const moved = { ...named, version: '3', renames: [{ kind, from: key, to }] };
      const { plan } = await applyDocuments(baton.admin, moved, [
        { kind, key: to, spec: await spec('Ours') },
      ]);
      assert.deepEqual(
        plan.changes.map((change: { action: string }) => change.action),
        ['create'],
      );
      assert.deepEqual(await read(key), { package: null, title: 'Theirs', isActive: true });
    });
  }
});

test('a calendar that another package has retired is not restored', async () => {
  const key = newKey('c');
  const desk: TestDocument = { kind: 'Calendar', key, spec: calendarSpec('Desk') };
  const [first, second] = [{ key: newKey('p') }, { key: newKey('p') }];
  await applyDocuments(baton.admin, first, [desk]);
  await applyDocuments(baton.admin, first, []);
  const { planHash, problems } = await planDocuments(baton.admin, second, [desk]);
  assert.deepEqual(
    problems.map(({ code, severity }: { code: string; severity: string }) => [code, severity]),
    [['calendar_retired', 'warning']],
  );
  const body = { package: sourceOf(second, [desk]), planHash };
  assert.deepEqual(await refused(baton.admin.post('/packages:apply', body), 409, 'calendar_retired'), {
    calendar: key,
  });
  await applyDocuments(baton.admin, first, [desk]);
  assert.equal((await done(baton.admin.get(`/calendars/${key}`))).status, 'active');
});

test('an object recorded for another package after its removal belongs to that package, also in its next version', async () => {
  const [first, second] = [{ key: newKey('p') }, { key: newKey('p'), version: '1' }];
  const key = newKey('t');
  const make = () => done(baton.admin.post('/task-types', { key, displayName: 'Theirs' }), 201);
  const document = (displayName: string) => ({ kind: 'TaskType', key, spec: { displayName } });
  await applyDocuments(baton.admin, first, [document('Ours')]);
  await applyDocuments(baton.admin, first, []);
  assert.equal((await make()).package, null);
  const objects = [{ kind: 'TaskType', key }];
  await done(baton.admin.post('/packages:record', { package: second, objects }));
  assert.equal((await make()).package.key, second.key);
  await applyDocuments(baton.admin, first, []);
  // The first package's document doesn't count for the second package.
  const { plan } = await applyDocuments(baton.admin, second, [document('Second')]);
  const displayName = plan.changes[0].fields.find(({ path }: { path: string }) => path === '/displayName');
  assert.deepEqual([displayName.owner, displayName.applies], ['package', true]);
});
