import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { livenessBounds } from '@baton/kernel/testing/liveness/liveness';
import { percentile, runLoad } from '@baton/kernel/testing/liveness/liveness-load';
import { type ProbedProcess, startProbed } from '@baton/kernel/testing/liveness/liveness-process';
import type { Sent } from '@baton/kernel/testing/matrix/matrix-client';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { documentOf, largeSnapshotOf, snapshotOf } from '../../testing/memory/knowledge.ts';
import { until } from '../../testing/wait-until.ts';

// One tenant sends snapshots of the maximum size in parallel, without pausing.

const parallel = 24;
const lastsMs = 2000;

/** Accepts any request without parsing it, because parsing would add to the measured load. */
const memory = createServer((req, res) => {
  req.resume().once('end', () => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end('{"dryRun":false,"stateToken":"1","changes":{}}');
  });
});

let baton: TestCoordination;
let service: ProbedProcess;
before(async () => {
  await new Promise<void>((listening) => memory.listen(0, '127.0.0.1', listening));
  baton = await startCoordination({
    CP_CONTEXT_PROVIDER: 'http',
    CP_CONTEXT_BASE_URL: `http://127.0.0.1:${(memory.address() as AddressInfo).port}`,
  });
  const main = join(import.meta.dirname, '../../app/main.ts');
  service = await startProbed({ main, portSetting: 'CP_PORT', readyPath: '/health/ready', env: baton.env });
});
after(async () => {
  await service?.stop();
  await baton.close();
  memory.closeAllConnections();
  memory.close();
});

const sentBy = (actor: Actor, path: string, body: object): Sent => ({
  method: 'POST',
  path: `/api/v1${path}`,
  headers: { authorization: `Bearer ${actor.token}`, 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** 20,000 entities with nearly the maximum number of values. */
function crowdedSnapshotOf(workspaceId: string, source: string) {
  const entities = Array.from({ length: 20_000 }, (_, n) => ({
    kind: 'pod',
    key: `pod:${n}`,
    ...Object.fromEntries(
      Array.from({ length: 8 }, (_unused, at) => [`${at}${n % 500}`, `value-${n}-${'x'.repeat(18)}`]),
    ),
  }));
  return snapshotOf(workspaceId, { source, entities, relations: [] });
}

/** One entity with more names than allowed, and values that take longest to parse. */
function oddSnapshotOf(workspaceId: string) {
  const odd = Object.fromEntries(Array.from({ length: 240_000 }, (_, n) => [`name-${n}`, 1e22]));
  return snapshotOf(workspaceId, { entities: [odd], relations: [] });
}

async function statusOf(url: string, { method, path, headers, body }: Sent): Promise<number> {
  const answer = await fetch(`${url}${path}`, {
    method,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(20_000),
  });
  await answer.arrayBuffer();
  return answer.status;
}

test('a tenant that sends the largest snapshots in parallel is served, and slows down no other tenant', async () => {
  const { id } = await done(baton.admin.post('/workspaces', { slug: 'hostile', name: 'Hostile' }), 201);
  const snapshots = [1, 2, 3].map((n) => crowdedSnapshotOf(id, `source-${n}`));
  const hostile = [
    ...snapshots.map((body) => sentBy(baton.admin, '/knowledge/snapshots', body)),
    sentBy(baton.admin, '/knowledge/snapshots', largeSnapshotOf(id, 8)),
    sentBy(baton.admin, '/knowledge/snapshots', oddSnapshotOf(id)),
    sentBy(
      baton.admin,
      '/knowledge/documents',
      documentOf(id, { chunks: [{ text: '\\'.repeat(4_000_000) }] }),
    ),
  ];
  for (const { body = '' } of hostile)
    assert.ok(body.length > 4_000_000 && body.length <= 8_388_608, `${body.length}`);
  const bystander = baton.otherAdmin;
  const { id: otherId } = await done(bystander.post('/workspaces', { slug: 'other', name: 'Other' }), 201);
  const ordinary = [
    sentBy(bystander, '/tasks', { title: 'An ordinary task' }),
    sentBy(bystander, '/knowledge/snapshots', snapshotOf(otherId)),
  ];
  const { url } = service;
  const quiet = await runLoad({ url, hostile: [], parallel: 0, ordinary, lastsMs: 500 });
  const { rssBytes } = await service.measure();
  const loaded = await runLoad({ url, hostile, parallel, ordinary, lastsMs, samplesMin: 100 });
  const { blockedMs, rssMaxBytes } = await service.measure();
  const { p99TimesMax, p99MsFloor } = livenessBounds;
  const figures = {
    p99MsMax: Math.max(p99TimesMax * percentile(quiet.bystander.ms, 0.99), 2 * p99MsFloor),
    p99Ms: percentile(loaded.bystander.ms, 0.99),
    blockedMs,
    growthMiB: (rssMaxBytes - rssBytes) / 2 ** 20,
    statuses: Object.fromEntries(loaded.bystander.statuses),
    hostile: Object.fromEntries(loaded.hostile.statuses),
    calls: loaded.bystander.ms.length,
  };
  const shown = JSON.stringify(figures);
  assert.deepEqual(
    Object.keys(figures.statuses)
      .map(Number)
      .filter((status) => status >= 400),
    [],
    shown,
  );
  // The parallel requests may still be running: each takes seconds on a busy machine.
  await until(
    async () => (await statusOf(url, hostile[0] as Sent)) === 200,
    'the largest snapshot is accepted',
  );
  assert.equal(loaded.hostile.statuses.get(500), undefined, shown);
  assert.ok(blockedMs <= livenessBounds.blockedMsMax, shown);
  assert.ok(rssMaxBytes - rssBytes <= livenessBounds.growthBytesMax, shown);
  assert.ok(figures.p99Ms <= figures.p99MsMax, shown);
});
