import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { adminHeader, startIdentity, type TestIdentity } from '../testing/identity.ts';

/**
 * Every bound of a field or query parameter, on both sides. Accepted and refused values are distinguished by the list
 * of problems: a valid request reaches the next check and is refused there, because its tenant is unknown or no signing
 * key is configured.
 */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

const tenant = `/api/v1/tenants/${randomUUID()}`;
const principal = `${tenant}/principals/${randomUUID()}`;

/** Whether the form of the request is accepted; if not, the problem must name the field. */
async function fits(path: string, body: object, field: string): Promise<boolean> {
  const headers = { ...adminHeader, 'idempotency-key': randomUUID() };
  const answer = await identity.request('POST', path, { headers, body });
  if (!Array.isArray(answer.body?.detail)) return true;
  assert.deepEqual(
    answer.body.detail.map(({ loc }: { loc: string[] }) => loc),
    [['body', field]],
  );
  return false;
}

type Bounds = Record<string, readonly [min: number, max: number]>;

/** The path, a valid body, and the bounds of its fields in characters. */
const texts: readonly [string, object, Bounds][] = [
  ['/api/v1/tenants', { slug: 'the-only-one', name: 'x' }, { name: [1, 200] }],
  [`${tenant}/principals`, { kind: 'agent', displayName: 'x' }, { displayName: [1, 200] }],
  [
    `${principal}/external-identities`,
    { issuer: 'x', subject: 'x' },
    { issuer: [1, 500], subject: [1, 500] },
  ],
  [`${principal}/authentication-contexts`, { issuer: 'x' }, { issuer: [1, 500], acr: [0, 200] }],
  [`${principal}/platform-access-tokens`, { name: 'x', audiences: ['x'] }, { name: [1, 200] }],
  [
    `${tenant}/legacy-credentials:import`,
    {
      principalId: randomUUID(),
      name: 'x',
      keyPrefix: 'a'.repeat(12),
      keyHash: 'a'.repeat(64),
      audience: 'x',
      expiresInSeconds: 60,
    },
    { name: [1, 200], keyPrefix: [12, 12], keyHash: [64, 64], audience: [1, 120] },
  ],
  [`${tenant}/groups`, { key: 'abc', name: 'x' }, { name: [1, 200] }],
  [`${tenant}/service-accounts`, { displayName: 'x', audiences: ['x'] }, { displayName: [1, 200] }],
  [
    `${tenant}/identity-providers`,
    { key: 'abc', issuer: 'https://x', audience: 'x' },
    {
      issuer: [1, 500],
      audience: [1, 200],
      subjectClaim: [1, 80],
      externalIdClaim: [0, 80],
      groupClaim: [0, 80],
    },
  ],
  [
    `${tenant}/provisioning-sources`,
    { key: 'abc', identityProvider: 'x' },
    { identityProvider: [1, 120], upstreamBaseUrl: [0, 500], upstreamRealm: [0, 120] },
  ],
  [`${tenant}/provisioning-sources/${randomUUID()}/tokens`, { name: 'x' }, { name: [1, 200] }],
  [
    '/api/v1/platform-access-tokens:exchange',
    { token: 'x', audience: 'x' },
    { token: [1, 4000], audience: [1, 120] },
  ],
  ['/api/v1/platform-access-tokens:introspect', { token: 'x' }, { token: [1, 4000] }],
  ['/api/v1/platform-access-tokens:revoke-self', { token: 'x' }, { reason: [0, 200] }],
  [
    '/api/v1/tokens/exchange',
    { clientId: 'x', clientSecret: 'x', audience: 'x' },
    { clientId: [1, 200], clientSecret: [1, 4000], audience: [1, 120] },
  ],
  [
    `${tenant}/federation:start-session`,
    { identityProvider: 'x', token: 'x' },
    { identityProvider: [1, 120], token: [1, 10_000] },
  ],
  [
    `${tenant}/federation:exchange`,
    { identityProvider: 'x', token: 'x', audience: 'x' },
    { identityProvider: [1, 120], token: [1, 10_000], audience: [1, 120] },
  ],
  [
    '/api/v1/browser-sessions:exchange',
    { token: 'x', audience: 'x' },
    { token: [1, 500], audience: [1, 120] },
  ],
  ['/api/v1/browser-sessions:revoke-self', { token: 'x' }, { reason: [0, 200] }],
  [
    '/api/v1/browser-sessions:revoke',
    { token: 'x', browserSessionId: randomUUID() },
    { token: [1, 500], reason: [0, 200] },
  ],
  [
    '/api/v1/oauth-grants:revoke',
    { token: 'x', grantId: randomUUID() },
    { token: [1, 500], reason: [0, 200] },
  ],
  ['/api/v1/browser-sessions:revoke-others', { token: 'x' }, { token: [1, 500], reason: [0, 200] }],
  ['/api/v1/passkeys:rename', { token: 'x', passkeyId: randomUUID(), name: 'x' }, { name: [1, 200] }],
  [
    `${tenant}/invitations`,
    { displayName: 'x' },
    {
      displayName: [1, 200],
      email: [3, 320],
      role: [1, 120],
      invitedBy: [0, 200],
      message: [0, 1000],
    },
  ],
  [`${principal}/recovery-links`, {}, { invitedBy: [0, 200], message: [0, 1000] }],
];
/** Strings that only the maximum body size limits. */
const unbounded = new Set(['token']);

describe('texts are counted in characters, not in bytes or halves of surrogate pairs', () => {
  for (const [path, body, bounds] of texts)
    for (const [field, [min, max]] of Object.entries(bounds))
      test(`${min} to ${max}: ${field} of ${path.replace(/[0-9a-f-]{36}/g, '…')}`, async () => {
        const sized = (length: number) => fits(path, { ...body, [field]: '😀'.repeat(length) }, field);
        assert.ok(await sized(min), 'the shortest');
        assert.ok(await sized(max), 'the longest');
        if (min > 0) assert.ok(!(await sized(min - 1)), 'shorter');
        if (!unbounded.has(field)) assert.ok(!(await sized(max + 1)), 'longer');
      });
});

const workloadRule = {
  key: 'abc',
  principalId: randomUUID(),
  claims: { sub: { equals: 'x' } },
  audiences: ['x'],
};

const integers: readonly [string, object, Bounds][] = [
  [
    `${principal}/platform-access-tokens`,
    { name: 'x', audiences: ['x'] },
    { expiresInSeconds: [60, Number.MAX_SAFE_INTEGER] },
  ],
  [
    `${tenant}/legacy-credentials:import`,
    {
      principalId: randomUUID(),
      name: 'x',
      keyPrefix: 'a'.repeat(12),
      keyHash: 'a'.repeat(64),
      audience: 'x',
    },
    { expiresInSeconds: [60, Number.MAX_SAFE_INTEGER] },
  ],
  [
    `${tenant}/identity-providers`,
    { key: 'abc', issuer: 'https://x', audience: 'x' },
    { jwksCacheTtlSeconds: [0, 86_400], jwksStaleGraceSeconds: [0, 86_400] },
  ],
  [
    `${tenant}/identity-providers/corporate/workload-rules`,
    workloadRule,
    { lifetimeSecondsMax: [60, 86_400] },
  ],
  [
    `${tenant}/provisioning-sources`,
    { key: 'abc', identityProvider: 'x' },
    { staleAfterSeconds: [60, 2_592_000] },
  ],
  [
    `${tenant}/provisioning-sources/${randomUUID()}/tokens`,
    { name: 'x' },
    { expiresInSeconds: [60, 31_536_000] },
  ],
  [`${tenant}/invitations`, { displayName: 'x' }, { expiresInSeconds: [60, 2_592_000] }],
  [`${principal}/recovery-links`, {}, { expiresInSeconds: [60, 2_592_000] }],
];

describe('integers', () => {
  for (const [path, body, bounds] of integers)
    for (const [field, [min, max]] of Object.entries(bounds))
      test(`${min} to ${max}: ${field} of ${path.replace(/[0-9a-f-]{36}/g, '…')}`, async () => {
        const ask = (value: unknown) => fits(path, { ...body, [field]: value }, field);
        for (const value of [min, max]) assert.ok(await ask(value), String(value));
        for (const value of [min - 1, max + 1, min + 0.5, String(min), true, [min]])
          assert.ok(!(await ask(value)), JSON.stringify(value));
      });
});

test('slugs have 3 to 80 characters, keys 3 to 120', async () => {
  for (const [path, field, max, body] of [
    ['/api/v1/tenants', 'slug', 80, { name: 'x' }],
    [`${tenant}/audiences`, 'key', 120, {}],
    [`${tenant}/groups`, 'key', 120, { name: 'x' }],
    [`${tenant}/identity-providers`, 'key', 120, { issuer: 'https://x', audience: 'x' }],
    [`${tenant}/identity-providers/corporate/workload-rules`, 'key', 120, workloadRule],
    [`${tenant}/provisioning-sources`, 'key', 120, { identityProvider: 'x' }],
  ] as const) {
    for (const length of [3, max])
      assert.ok(await fits(path, { ...body, [field]: 'a'.repeat(length) }, field));
    for (const text of ['aa', 'a'.repeat(max + 1), '-ab', 'ab-', 'Abc', 'a b', 'abc\n', 'äbc'])
      assert.ok(!(await fits(path, { ...body, [field]: text }, field)), `${field} ${text}`);
  }
});

test('a reason in the query has at most 200 characters', async () => {
  for (const path of [`${principal}:disable`, `${tenant}/platform-access-tokens/${randomUUID()}:revoke`])
    for (const [length, status] of [
      [0, 404],
      [200, 404],
      [201, 422],
    ] as const) {
      const query = `?reason=${encodeURIComponent('😀'.repeat(length))}`;
      const answer = await identity.request('POST', `${path}${query}`, { headers: adminHeader });
      assert.equal(answer.status, status, `${length} at ${path}`);
    }
});

test('a scope has 1 to 120 characters, and no blank: access tokens separate scopes by blanks', async () => {
  const { body } = await identity.post('/tenants', { slug: 'scopes', name: 'x' });
  const statusOf = async (scope: string) => {
    const wanted = { key: 'abc', allowedScopes: [scope] };
    return (await identity.post(`/tenants/${body.id}/audiences`, wanted)).status;
  };
  assert.deepEqual([await statusOf(''), await statusOf('😀'.repeat(121))], [422, 422]);
  for (const blank of [' ', '\t', '\n', '\u00a0', '\u0085', '\u2028', '\0'])
    assert.equal(await statusOf(`a${blank}b`), 422, JSON.stringify(blank));
  assert.equal(await statusOf('😀'.repeat(120)), 201);
});
