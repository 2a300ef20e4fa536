import assert from 'node:assert/strict';
import type { Operation } from '../../http/service.ts';
import {
  assertRefused,
  keyed,
  type Matrix,
  type MatrixCase,
  pathOf,
  type SampleRequest,
  sampleRequest,
  sampleUuid,
  sendAs,
} from './matrix-service.ts';

const keyTooLong = 'k'.repeat(201);
const canary = 'canary-8d1f4c';

/** A request whose parameters, query and headers are all invalid. */
function nonsense(endpoint: Operation): SampleRequest {
  const params = Object.fromEntries(Object.keys(endpoint.params).map((name) => [name, canary]));
  return { params, query: `?${canary}=1`, headers: { 'idempotency-key': keyTooLong, 'if-match': canary } };
}

/** Tests which callers are refused, and which of two refusals takes precedence. */
export const guardCases: readonly MatrixCase[] = [
  {
    name: 'without a credential it answers 401, whatever else is wrong',
    applies: () => true,
    async run(matrix, endpoint) {
      const { adapter, service } = matrix;
      if (service.headersOf(endpoint, 'anonymous') === undefined) return;
      const rule = adapter.rulesOf(endpoint).unauthenticated;
      assertRefused(
        matrix,
        await sendAs(matrix, endpoint, 'anonymous', sampleRequest(endpoint, adapter)),
        rule,
      );
      const text = endpoint.method === 'GET' ? undefined : '{"broken';
      const junk = await sendAs(matrix, endpoint, 'anonymous', nonsense(endpoint), { text });
      assertRefused(matrix, junk, rule);
      assert.ok(!junk.text.includes(canary));
    },
  },
  {
    name: 'without the permission it answers 403, and names what would do',
    applies: (endpoint) => endpoint.permission.length > 0,
    async run(matrix, endpoint) {
      const { adapter } = matrix;
      const received = await sendAs(matrix, endpoint, 'powerless', sampleRequest(endpoint, adapter));
      assertRefused(matrix, received, adapter.rulesOf(endpoint).denied);
      for (const permission of endpoint.deniedAs) assert.ok(received.text.includes(`"${permission}"`));
    },
  },
  {
    name: 'with a token whose scope is too narrow it answers 403',
    applies: (endpoint) => endpoint.permission.length > 0,
    async run(matrix, endpoint) {
      const { adapter } = matrix;
      const request = sampleRequest(endpoint, adapter);
      assertRefused(
        matrix,
        await sendAs(matrix, endpoint, 'narrow', request),
        adapter.rulesOf(endpoint).denied,
      );
      assertRefused(
        matrix,
        await sendAs(matrix, endpoint, 'scopeless', request),
        adapter.rulesOf(endpoint).scopeless,
      );
    },
  },
  {
    name: "another tenant's object is absent, like one that does not exist",
    applies: (endpoint) => Object.keys(endpoint.params).length > 0,
    async run(matrix, endpoint) {
      const { adapter, store } = matrix;
      const own = (await matrix.makeRequest(endpoint)) ?? sampleRequest(endpoint, adapter);
      const foreign = await matrix.makeForeignParams(endpoint);
      const others = [...Object.entries(foreign), ...absentParams(endpoint, Object.keys(foreign))];
      const before = await store.mark();
      for (const [name, value] of others) {
        const request = { ...own, params: { ...own.params, [name]: value } };
        const received = await sendAs(matrix, endpoint, 'allowed', request);
        // The endpoint's own 403 may come first, even for absent objects.
        const isForbidden = received.status === 403 && !refusesAbsence(endpoint);
        assert.ok(received.status === 404 || isForbidden, `{${name}}: ${received.text}`);
        // An endpoint may have more than one code for an absent object.
        assert.ok(endpoint.errors.includes(adapter.codeOf(received.body) ?? ''), received.text);
      }
      assert.deepEqual(await store.changesSince(before), [], 'nothing is changed');
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
    async run(matrix, endpoint) {
      const { adapter, service } = matrix;
      const { tooLarge, unauthenticated } = adapter.rulesOf(endpoint);
      const guarded = service.headersOf(endpoint, 'anonymous') !== undefined;
      const sizeFirst = adapter.sizeBeforeCredential(endpoint) || !guarded;
      assertRefused(matrix, await sendTooMuch(matrix, endpoint, 'allowed'), tooLarge);
      const anonymous = await sendTooMuch(matrix, endpoint, 'anonymous');
      assertRefused(matrix, anonymous, sizeFirst ? tooLarge : unauthenticated);
    },
  },
  {
    name: 'a missing Idempotency-Key is refused',
    applies: (endpoint, adapter) => adapter.keyRequired(endpoint),
    async run(matrix, endpoint) {
      const { adapter } = matrix;
      for (const key of [undefined, '', '   ']) {
        const headers = { 'idempotency-key': key };
        const received = await sendAs(matrix, endpoint, 'allowed', sampleRequest(endpoint, adapter), {
          headers,
        });
        assertRefused(matrix, received, adapter.rulesOf(endpoint).keyRequired);
      }
    },
  },
  {
    name: 'a key of more than 200 characters is refused, before a missing permission',
    applies: (endpoint, adapter) => keyed(endpoint) || adapter.keyRequired(endpoint),
    async run(matrix, endpoint) {
      const { adapter, service } = matrix;
      const isKnown = service.headersOf(endpoint, 'powerless') !== undefined;
      const caller = isKnown ? whoGetsPastForm(endpoint) : 'allowed';
      const headers = { 'idempotency-key': keyTooLong };
      const received = await sendAs(matrix, endpoint, caller, sampleRequest(endpoint, adapter), { headers });
      assertRefused(matrix, received, adapter.rulesOf(endpoint).keyTooLong);
    },
  },
  {
    name: 'a missing If-Match answers 428, before a missing permission',
    applies: (endpoint) => endpoint.ifMatch !== undefined && !endpoint.ifMatchOptional,
    async run(matrix, endpoint) {
      const { adapter } = matrix;
      for (const ifMatch of [undefined, '', '  ']) {
        const headers = { 'if-match': ifMatch };
        const received = await sendAs(
          matrix,
          endpoint,
          whoGetsPastForm(endpoint),
          sampleRequest(endpoint, adapter),
          {
            headers,
          },
        );
        assertRefused(matrix, received, adapter.rulesOf(endpoint).ifMatchRequired);
      }
    },
  },
  {
    name: 'an If-Match that names no version of it answers 400',
    applies: (endpoint) => endpoint.ifMatch !== undefined,
    async run(matrix, endpoint) {
      const { adapter } = matrix;
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
        const received = await sendAs(
          matrix,
          endpoint,
          whoGetsPastForm(endpoint),
          sampleRequest(endpoint, adapter),
          {
            headers,
          },
        );
        assertRefused(matrix, received, adapter.rulesOf(endpoint).ifMatchInvalid);
      }
    },
  },
];

function refusesAbsence({ errors }: Operation): boolean {
  return errors.some((code) => code.endsWith('not_found'));
}

/**
 * For each parameter, a valid identifier that doesn't exist. Identifiers of objects that no tenant owns are included
 * only if the endpoint declares a refusal for them, because, for example, a list of an unknown tenant may be empty
 * instead.
 */
function absentParams(endpoint: Operation, owned: readonly string[]): [string, string][] {
  const { method, path, params, returns } = endpoint;
  const isRefused = refusesAbsence(endpoint);
  // A PUT that may return 201 creates the object that the end of its path identifies.
  const isMade = (name: string) =>
    method === 'PUT' && returns[201] !== undefined && path.endsWith(`/{${name}}`);
  return Object.entries(params)
    .filter(([name]) => (owned.includes(name) || isRefused) && !isMade(name))
    .flatMap(([name, form]) => {
      const value = [sampleUuid, `absent-${sampleUuid}`, 'absent'].find(
        (text) => form.safeParse(text).success,
      );
      return value === undefined ? [] : [[name, value]];
    });
}

/**
 * The caller with which If-Match and the key are checked: one without the permission, unless the permission is checked
 * first.
 */
function whoGetsPastForm({ permissionFirst }: Operation): 'allowed' | 'powerless' {
  return permissionFirst ? 'allowed' : 'powerless';
}

async function refusesOtherMethods(matrix: Matrix, endpoint: Operation): Promise<void> {
  const { adapter } = matrix;
  const declared = adapter.endpoints
    .filter(({ path, root }) => path === endpoint.path && root === endpoint.root)
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const { params } = sampleRequest(endpoint, adapter);
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    if (declared.includes(method)) continue;
    const received = await sendAs(matrix, { ...endpoint, method }, 'anonymous', { params });
    assertRefused(matrix, received, adapter.rulesOf(endpoint).wrongMethod);
    assert.deepEqual(received.headers.allow?.split(', ').sort(), declared.toSorted());
  }
}

function sendTooMuch(
  { adapter, client, service }: Matrix,
  endpoint: Operation,
  caller: 'allowed' | 'anonymous',
) {
  const { params, headers } = sampleRequest(endpoint, adapter);
  return client.send({
    method: endpoint.method,
    path: pathOf(endpoint, adapter, params),
    headers: { ...headers, ...service.headersOf(endpoint, caller) },
    declaredBytes: adapter.bodyBytesMax(endpoint) + 1,
  });
}
