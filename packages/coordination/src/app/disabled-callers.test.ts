import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { endpointName } from '@baton/kernel/http/service';
import { collectFixtures, makeFixtureRequest } from '@baton/kernel/testing/matrix/matrix-fixtures';
import type { SampleRequest } from '@baton/kernel/testing/matrix/matrix-service';
import { isLongProof } from '@baton/testing/depth';
import { type IdentityService, startIdentityService } from '../testing/access/identity-service.ts';
import type { FixtureTenant } from '../testing/app/fixtures.ts';
import type { Actor, Answer, TestCoordination } from '../testing/coordination.ts';
import { startWithMemory, type WithMemory } from '../testing/memory/contexts.ts';
import { untilBlockedBy } from '../testing/wait-until.ts';
import { endpoints } from './endpoints.ts';

// No write of a principal succeeds after its disable was acknowledged. A disable takes the principal's lock
// exclusively; a command that does not share that lock may be in progress and commit later. So each writing endpoint is
// called while another connection has the lock: it must wait and then be refused. See
// docs/reference/sessions.md#consequences-of-an-end.

const fixtures = await collectFixtures<FixtureTenant>(join(import.meta.dirname, '..'));
const writing = endpoints.filter(
  ({ id, method, auth, transaction }) =>
    // `getContext` is a read; the transaction in which it stores data for a claim begins like any other.
    method !== 'GET' && auth === undefined && transaction !== 'none' && id !== 'getContext',
);

let identity: IdentityService;
let started: WithMemory;
let baton: TestCoordination;
before(async () => {
  identity = await startIdentityService();
  started = await startWithMemory({
    CP_OAUTH_REDIRECT_URI: 'http://localhost:8000/callback',
    CP_PUBLIC_URL: 'http://localhost:8000',
    CP_SLACK_ENABLED: 'true',
    ...identity.env,
  });
  ({ baton } = started);
});
after(async () => {
  await started.close();
  await identity.close();
});

type Endpoint = (typeof endpoints)[number];

function pathOf({ path }: Endpoint, { params }: SampleRequest): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params?.[name] ?? '');
}

async function headersOf(endpoint: Endpoint, request: SampleRequest, actor: Actor) {
  const given = { ...request.headers };
  if (endpoint.idempotency === 'required') given['idempotency-key'] = randomUUID();
  if (endpoint.ifMatch !== undefined && given['if-match'] === undefined)
    given['if-match'] = await tagAt(actor, pathOf(endpoint, request).replace(/:[\w-]+$/, ''));
  return given;
}

/** The ETag of the object at a path, or of its parent. */
async function tagAt(actor: Actor, path: string): Promise<string> {
  assert.notEqual(path, '', 'an object with a version');
  const { headers } = await actor.get(path);
  return headers.get('etag') ?? tagAt(actor, path.slice(0, path.lastIndexOf('/')));
}

const eventsBy = async ({ principalId }: Actor) =>
  (
    await baton.pool.row<{ count: number }>(
      sql`select count(*) as count from events where actor_id = ${principalId}`,
    )
  )?.count;

// All endpoints share the code for idempotency keys, so `npm test` tries a key with only every tenth endpoint.
for (const [at, endpoint] of writing.entries())
  for (const keyed of isLongProof || at % 10 === 0 ? [false, true] : [false])
    test(`${endpointName(endpoint)}${keyed ? ' with a key' : ''} waits for a disable of its caller and is refused`, async () => {
      // A human, because some permissions are for humans only.
      const actor = await baton.actor({ kind: 'human' });
      const request = await makeFixtureRequest(fixtures, endpoint, { baton, actor });
      const headers = await headersOf(endpoint, request, actor);
      if (keyed) headers['idempotency-key'] = randomUUID();
      const before = await eventsBy(actor);
      const { answer } = await baton.pool.transaction(async (tx) => {
        await tx.run(sql`select pg_advisory_xact_lock(principal_lock(${actor.principalId}))`);
        await tx.run(sql`update principals set status = 'disabled' where id = ${actor.principalId}`);
        const answer = baton.request(endpoint.method, `/api/v1${pathOf(endpoint, request)}`, {
          token: actor.token,
          headers,
          ...(request.body === undefined ? {} : { body: request.body }),
        });
        await untilBlockedBy(tx, baton, answer);
        return { answer };
      });
      const { status, body }: Answer = await answer;
      assert.deepEqual([status, body.error?.code], [403, 'principal_not_active'], JSON.stringify(body));
      assert.equal(await eventsBy(actor), before);
    });
