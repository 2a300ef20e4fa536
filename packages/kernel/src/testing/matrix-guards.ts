import assert from 'node:assert/strict';
import type { Operation } from '../service.ts';
import {
  assertRefused,
  type Bench,
  formed,
  keyed,
  type MatrixCase,
  pathOf,
  type Prepared,
  sendAs,
} from './matrix-bench.ts';

const keyTooLong = 'k'.repeat(201);
const canary = 'canary-8d1f4c';

/** Everything about it is wrong at once. */
function nonsense(endpoint: Operation): Prepared {
  const params = Object.fromEntries(Object.keys(endpoint.params).map((name) => [name, canary]));
  return { params, query: `?${canary}=1`, headers: { 'idempotency-key': keyTooLong, 'if-match': canary } };
}

/** Who gets in, and what each refusal comes before. */
export const guardCases: readonly MatrixCase[] = [
  {
    name: 'without a credential it answers 401, whatever else is wrong',
    applies: () => true,
    async run(bench, endpoint) {
      const { adapter, service } = bench;
      if (service.headersOf(endpoint, 'anonymous') === undefined) return;
      const rule = adapter.rulesOf(endpoint).unauthenticated;
      assertRefused(bench, await sendAs(bench, endpoint, 'anonymous', formed(endpoint, adapter)), rule);
      const text = endpoint.method === 'GET' ? undefined : '{"broken';
      const junk = await sendAs(bench, endpoint, 'anonymous', nonsense(endpoint), { text });
      assertRefused(bench, junk, rule);
      assert.ok(!junk.text.includes(canary));
    },
  },
  {
    name: 'without the permission it answers 403, and names what would do',
    applies: (endpoint) => endpoint.permission.length > 0,
    async run(bench, endpoint) {
      const { adapter } = bench;
      const received = await sendAs(bench, endpoint, 'powerless', formed(endpoint, adapter));
      assertRefused(bench, received, adapter.rulesOf(endpoint).denied);
      for (const permission of endpoint.permission) assert.ok(received.text.includes(`"${permission}"`));
    },
  },
  {
    name: 'with a token whose scope is too narrow it answers 403',
    applies: (endpoint) => endpoint.permission.length > 0,
    async run(bench, endpoint) {
      const { adapter } = bench;
      const prepared = formed(endpoint, adapter);
      assertRefused(
        bench,
        await sendAs(bench, endpoint, 'narrow', prepared),
        adapter.rulesOf(endpoint).denied,
      );
      assertRefused(
        bench,
        await sendAs(bench, endpoint, 'scopeless', prepared),
        adapter.rulesOf(endpoint).scopeless,
      );
    },
  },
  {
    name: "another tenant's object is absent",
    applies: (endpoint) => Object.keys(endpoint.params).length > 0,
    async run(bench, endpoint) {
      const { adapter, service } = bench;
      for (const name of Object.keys(endpoint.params)) {
        const foreign = await service.foreign(endpoint, name);
        if (foreign === undefined) continue;
        const own = (await service.prepare(endpoint)) ?? formed(endpoint, adapter);
        const before = await service.state();
        const prepared = { ...own, params: { ...own.params, [name]: foreign } };
        const received = await sendAs(bench, endpoint, 'allowed', prepared);
        assert.equal(received.status, 404, received.text);
        // Which of its codes for an absent object is the endpoint's own affair.
        assert.ok(endpoint.errors.includes(adapter.codeOf(received.body) ?? ''), received.text);
        assert.equal(await service.state(), before, 'nothing is changed');
      }
    },
  },
  {
    name: 'another method answers 405 with Allow',
    applies: () => true,
    run: refusesOtherMethods,
  },
  {
    name: 'a body that is declared too large answers 413',
    applies: (endpoint) => endpoint.method !== 'GET',
    async run(bench, endpoint) {
      const { adapter, service } = bench;
      const { tooLarge, unauthenticated } = adapter.rulesOf(endpoint);
      const guarded = service.headersOf(endpoint, 'anonymous') !== undefined;
      const sizeFirst = adapter.sizeBeforeCredential(endpoint) || !guarded;
      assertRefused(bench, await sendTooMuch(bench, endpoint, 'allowed'), tooLarge);
      const anonymous = await sendTooMuch(bench, endpoint, 'anonymous');
      assertRefused(bench, anonymous, sizeFirst ? tooLarge : unauthenticated);
    },
  },
  {
    name: 'a missing Idempotency-Key is refused',
    applies: (endpoint, adapter) => adapter.keyRequired(endpoint),
    async run(bench, endpoint) {
      const { adapter } = bench;
      for (const key of [undefined, '', '   ']) {
        const headers = { 'idempotency-key': key };
        const received = await sendAs(bench, endpoint, 'allowed', formed(endpoint, adapter), { headers });
        assertRefused(bench, received, adapter.rulesOf(endpoint).keyRequired);
      }
    },
  },
  {
    name: 'a key of more than 200 characters is refused, before a missing permission',
    applies: (endpoint, adapter) => keyed(endpoint) || adapter.keyRequired(endpoint),
    async run(bench, endpoint) {
      const { adapter, service } = bench;
      const isKnown = service.headersOf(endpoint, 'powerless') !== undefined;
      const caller = isKnown ? whoGetsPastForm(endpoint) : 'allowed';
      const headers = { 'idempotency-key': keyTooLong };
      const received = await sendAs(bench, endpoint, caller, formed(endpoint, adapter), { headers });
      assertRefused(bench, received, adapter.rulesOf(endpoint).keyTooLong);
    },
  },
  {
    name: 'a missing If-Match answers 428, before a missing permission',
    applies: (endpoint) => endpoint.ifMatch !== undefined,
    async run(bench, endpoint) {
      const { adapter } = bench;
      for (const ifMatch of [undefined, '', '  ']) {
        const headers = { 'if-match': ifMatch };
        const received = await sendAs(bench, endpoint, whoGetsPastForm(endpoint), formed(endpoint, adapter), {
          headers,
        });
        assertRefused(bench, received, adapter.rulesOf(endpoint).ifMatchRequired);
      }
    },
  },
  {
    name: 'an If-Match that names no version of it answers 400',
    applies: (endpoint) => endpoint.ifMatch !== undefined,
    async run(bench, endpoint) {
      const { adapter } = bench;
      const forms = [
        '*',
        '"zebra-1"',
        `"${endpoint.ifMatch}-"`,
        `"${endpoint.ifMatch}-x"`,
        `${endpoint.ifMatch}-1.5`,
        '3',
      ];
      for (const ifMatch of forms) {
        const headers = { 'if-match': ifMatch };
        const received = await sendAs(bench, endpoint, whoGetsPastForm(endpoint), formed(endpoint, adapter), {
          headers,
        });
        assertRefused(bench, received, adapter.rulesOf(endpoint).ifMatchInvalid);
      }
    },
  },
];

/** Without the permission, If-Match and key are judged all the same, unless the endpoint asks for the permission first. */
function whoGetsPastForm({ permissionFirst }: Operation): 'allowed' | 'powerless' {
  return permissionFirst ? 'allowed' : 'powerless';
}

async function refusesOtherMethods(bench: Bench, endpoint: Operation): Promise<void> {
  const { adapter } = bench;
  const declared = adapter.endpoints
    .filter(({ path, root }) => path === endpoint.path && root === endpoint.root)
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const { params } = formed(endpoint, adapter);
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    if (declared.includes(method)) continue;
    const received = await sendAs(bench, { ...endpoint, method }, 'anonymous', { params });
    assertRefused(bench, received, adapter.rulesOf(endpoint).wrongMethod);
    assert.deepEqual(received.headers.allow?.split(', ').sort(), declared.toSorted());
  }
}

function sendTooMuch(
  { adapter, client, service }: Bench,
  endpoint: Operation,
  caller: 'allowed' | 'anonymous',
) {
  const { params, headers } = formed(endpoint, adapter);
  return client.send({
    method: endpoint.method,
    path: pathOf(endpoint, adapter, params),
    headers: { ...headers, ...service.headersOf(endpoint, caller) },
    declaredBytes: adapter.bodyBytesMax(endpoint) + 1,
  });
}
