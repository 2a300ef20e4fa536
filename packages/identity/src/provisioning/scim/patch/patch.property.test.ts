import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { Refusal } from '@baton/kernel/http/refusal';
import { processorMsOf } from '@baton/kernel/testing/process/processor-time';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import type { JsonObject } from '@baton/values/wire';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning } from '../../../testing/provisioning.ts';
import { patchUrn, type ScimClient, scimClient } from '../../../testing/scim-client.ts';
import { isPrimary, parseDocument } from '../protocol/documents.ts';
import { userKind } from '../protocol/schemas.ts';
import type { Resource } from '../testing/filters.ts';
import { hostileOperations, NoTarget, patchSteps } from '../testing/patches.ts';
import { parseOperations } from './operations.ts';
import { patchDocument } from './patch.ts';

/**
 * Generated PATCH bodies: 40,000 well-formed ones change a document and a naive model of it, 20,000 more are malformed,
 * and a sample of both is sent over HTTP. `npm test` runs a twentieth, with a new seed each time.
 * `IAM_TEST_SCIM_RUNS` multiplies all of them; `IAM_TEST_SCIM_SEED` repeats a failed run.
 */
const times = Number(process.env['IAM_TEST_SCIM_RUNS'] ?? 1);
const runsOf = (count: number) => Math.ceil((count * times) / byDepth(20, 1));
const seedText = process.env['IAM_TEST_SCIM_SEED'];
const seed = seedText === undefined ? {} : { seed: Number(seedText) };
/** No request and no change may take longer, even if many processes share a core. */
const answerMsMax = 5000;
const changeMsMax = 2000;

let identity: TestIdentity;
let client: ScimClient;
let token: string;
before(async () => {
  identity = await startIdentity({ IAM_LOG_LEVEL: 'error' });
  ({ token } = await makeProvisioning(identity));
  client = scimClient(identity, token);
});
after(() => identity.close());

const start: JsonObject = {
  userName: 'ada',
  active: true,
  emails: [
    { value: 'a@x', type: 'work', primary: true },
    { value: 'b@x', type: 'Home' },
  ],
  name: { givenName: 'Ada' },
};

function patched(document: JsonObject, operations: unknown): JsonObject {
  let changed = document;
  const tookMs = processorMsOf(() => {
    changed = patchDocument(document, parseOperations(userKind, { Operations: operations } as JsonObject));
  });
  assert.ok(tookMs < changeMsMax, `took ${tookMs} ms`);
  return changed;
}

const anyBody = fc.oneof(
  patchSteps.map((all): unknown => all.map(({ operation }) => operation)),
  hostileOperations,
);

// Runs first, because the other tests block this process for seconds, during which its server would close idle
// connections.
test('generated PATCH bodies are answered over HTTP with 200, 400 or 409, and leave a user that reads like the answer', async () => {
  const { id } = await made(client.post('/Users', { ...start, externalId: 'one' }));
  await made(client.post('/Users', { userName: 'n', externalId: 'two' }));
  let current = (await client.get(`/Users/${id}`)).body;
  await fc.assert(
    fc.asyncProperty(anyBody, async (operations) => {
      const text = JSON.stringify({ schemas: [patchUrn], Operations: operations });
      fc.pre(text.length < 900_000);
      const before = performance.now();
      const { status, body } = await identity.request('PATCH', `/scim/v2/Users/${id}`, {
        body: text,
        headers: { authorization: `Bearer ${token}` },
      });
      assertTookLess(before, answerMsMax);
      assert.ok([200, 400, 409].includes(status), `${status} ${text.slice(0, 2000)}`);
      const after = (await client.get(`/Users/${id}`)).body;
      assert.deepEqual(after, status === 200 ? body : current);
      current = after;
      assert.equal(({} as Resource)['polluted'], undefined);
    }),
    { numRuns: runsOf(700), ...seed },
  );
});

test('40,000 generated PATCH bodies change a document as a naive model does', () => {
  fc.assert(
    fc.property(patchSteps, (all) => {
      const model: Resource = structuredClone(start);
      const operations = all.map(({ operation }) => operation);
      try {
        for (const { apply } of all) apply(model);
      } catch (error) {
        assert.ok(error instanceof NoTarget, String(error));
        assert.throws(() => patched(start, operations), { code: 'scim_no_target' });
        return;
      }
      const untouched = structuredClone(start);
      const result = patched(start, operations);
      assert.deepEqual(result, model, JSON.stringify(operations));
      assert.deepEqual(start, untouched);
      // Applying the operations one by one, each in its own PATCH, has the same result.
      assert.deepEqual(
        operations.reduce((document, operation) => patched(document, [operation]), start),
        result,
      );
    }),
    { numRuns: runsOf(40_000), ...seed },
  );
});

test('a malformed body is refused, or leaves a document that the schemas allow', () => {
  fc.assert(
    fc.property(hostileOperations, (operations) => {
      const untouched = structuredClone(start);
      let result: JsonObject;
      try {
        result = patched(start, operations);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        assert.match(error.code, /^scim_(invalid_(value|path|syntax)|no_target|mutability|too_many)$/);
        return;
      } finally {
        assert.deepEqual(start, untouched);
        assert.equal(({} as Resource)['polluted'], undefined);
      }
      assert.deepEqual(parseDocument(userKind, result), result);
      for (const value of Object.values(result))
        if (Array.isArray(value)) assert.ok(value.filter(isPrimary).length <= 1);
    }),
    { numRuns: runsOf(20_000), ...seed },
  );
});
