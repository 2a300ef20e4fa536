import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { livenessBounds } from '@baton/kernel/testing/liveness/liveness';
import { percentile, runLoad } from '@baton/kernel/testing/liveness/liveness-load';
import { type ProbedProcess, startProbed } from '@baton/kernel/testing/liveness/liveness-process';
import type { Sent } from '@baton/kernel/testing/matrix/matrix-client';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { applyDocuments, newKey, sourceOf } from '../../testing/packages/package-sources.ts';

// One tenant sends the most expensive packages in parallel, without pausing.

const parallel = 24;
const lastsMs = 1500;
const { blockedMsMax, growthBytesMax, p99MsFloor, p99TimesMax } = livenessBounds;

let baton: TestCoordination;
let service: ProbedProcess;
before(async () => {
  baton = await startCoordination();
  const main = join(import.meta.dirname, '../../app/main.ts');
  service = await startProbed({ main, portSetting: 'CP_PORT', readyPath: '/health/ready', env: baton.env });
});
after(async () => {
  await service?.stop();
  await baton.close();
});

const sentBy = (actor: Actor, path: string, body: object): Sent => ({
  method: 'POST',
  path: `/api/v1${path}`,
  headers: { authorization: `Bearer ${actor.token}`, 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Task types with schemas of 60 kB each. */
function largeTypes(count: number) {
  const names = Array.from({ length: 800 }, (_, n) => `property_${n}`);
  const field = { type: 'string', maxLength: 100, enum: ['a', 'b'] };
  const fieldSchema = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, field])) };
  return Array.from({ length: count }, () => ({
    kind: 'TaskType',
    key: newKey('t'),
    spec: { displayName: 'T', fieldSchema },
  }));
}

const someHash = `sha256:${'0'.repeat(64)}`;

test('a package of the largest task types never blocks the event loop for long', async () => {
  for (const [path, more, expected] of [
    ['/packages:plan', {}, 200],
    ['/packages:test', {}, 200],
    ['/packages:apply', { planHash: someHash }, 409],
  ] as const) {
    const source = sourceOf({ key: newKey('p') }, largeTypes(100));
    const { headers = {}, body = '' } = sentBy(baton.admin, path, { package: source, ...more });
    await service.measure();
    const answer = await fetch(`${service.url}/api/v1${path}`, { method: 'POST', headers, body });
    assert.equal(answer.status, expected);
    await answer.arrayBuffer();
    const { blockedMs } = await service.measure();
    assert.ok(blockedMs <= blockedMsMax, `${path} took ${blockedMs} ms of one turn`);
  }
});

test('many small requests that compare a large package do not slow down others', async () => {
  const named = { key: newKey('p') };
  await applyDocuments(baton.admin, named, largeTypes(40));
  const left = sourceOf(named, []);
  const hostile = [
    sentBy(baton.admin, '/packages:plan', { package: left }),
    sentBy(baton.admin, '/packages:apply', { package: left, planHash: someHash }),
  ];
  const ordinary = [sentBy(baton.otherAdmin, '/tasks', { title: 'An ordinary task' })];
  const { url } = service;
  const { rssBytes } = await service.measure();
  const quiet = await runLoad({ url, hostile: [], parallel: 0, ordinary, lastsMs, samplesMin: 50 });
  const loaded = await runLoad({ url, hostile, parallel, ordinary, lastsMs, samplesMin: 50 });
  const { blockedMs, rssMaxBytes } = await service.measure();
  const { statuses, ms } = loaded.bystander;
  const shown = JSON.stringify({
    blockedMs,
    growthMiB: (rssMaxBytes - rssBytes) / 2 ** 20,
    hostile: [...loaded.hostile.statuses],
  });
  assert.deepEqual([...statuses.keys()], [201], shown);
  assert.ok((loaded.hostile.statuses.get(503) ?? 0) > 0, shown);
  assert.equal(loaded.hostile.statuses.get(500), undefined, shown);
  assert.ok(blockedMs <= blockedMsMax, shown);
  assert.ok(rssMaxBytes - rssBytes <= growthBytesMax, shown);
  const p99MsMax = Math.max(p99TimesMax * percentile(quiet.bystander.ms, 0.99), 2 * p99MsFloor);
  assert.ok(percentile(ms, 0.99) <= p99MsMax, shown);
  // The requests that were queued are also processed.
  await done(baton.otherAdmin.post('/packages:plan', { package: left }));
});
