import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../testing/identity.ts';
import { storeCounts } from '../testing/records.ts';
import { endpoints } from './endpoints.ts';

/**
 * Tests the longest body of each route that requires no credential in a header (see
 * docs/reference/directory.md#body-sizes).
 */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const bounds: Record<string, { bytesMax: number; headers?: Record<string, string> }> = {
  'POST /api/v1/browser-sessions:exchange': { bytesMax: 16_384 },
  'POST /api/v1/browser-sessions:list': { bytesMax: 16_384 },
  'POST /api/v1/browser-sessions:revoke': { bytesMax: 16_384 },
  'POST /api/v1/browser-sessions:revoke-others': { bytesMax: 16_384 },
  'POST /api/v1/browser-sessions:revoke-self': { bytesMax: 16_384 },
  'POST /api/v1/invitations:accept': { bytesMax: 65_536 },
  'POST /api/v1/invitations:read': { bytesMax: 16_384 },
  'POST /api/v1/invitations:registration-options': { bytesMax: 16_384 },
  'POST /api/v1/oauth-grants:list': { bytesMax: 16_384 },
  'POST /api/v1/oauth-grants:revoke': { bytesMax: 16_384 },
  'POST /api/v1/oauth-requests:decide': { bytesMax: 16_384 },
  'POST /api/v1/oauth-requests:read': { bytesMax: 16_384 },
  'POST /api/v1/passkeys:list': { bytesMax: 16_384 },
  'POST /api/v1/passkeys:register': { bytesMax: 16_384 },
  'POST /api/v1/passkeys:registration-options': { bytesMax: 16_384 },
  'POST /api/v1/passkeys:remove': { bytesMax: 16_384 },
  'POST /api/v1/passkeys:rename': { bytesMax: 16_384 },
  'POST /api/v1/passkeys:sign-in': { bytesMax: 16_384 },
  'POST /api/v1/platform-access-tokens:exchange': { bytesMax: 16_384 },
  'POST /api/v1/platform-access-tokens:introspect': { bytesMax: 16_384 },
  'POST /api/v1/platform-access-tokens:revoke-self': { bytesMax: 16_384 },
  'POST /api/v1/tokens/exchange': { bytesMax: 16_384 },
  'POST /oauth2/device-authorization': { bytesMax: 16_384, headers: form },
  'POST /oauth2/introspect': { bytesMax: 16_384, headers: form },
  'POST /oauth2/revoke': { bytesMax: 16_384, headers: form },
  'POST /oauth2/token': { bytesMax: 16_384, headers: form },
  'POST /api/v1/tenants/{tenantId}/federation:authenticate': { bytesMax: 65_536 },
  'POST /api/v1/tenants/{tenantId}/federation:exchange': { bytesMax: 65_536 },
  'POST /api/v1/tenants/{tenantId}/federation:start-session': { bytesMax: 65_536 },
};

/** A body of exactly this size with an invalid schema: it is parsed only if its size is allowed. */
const bodyOf = (bytes: number, headers: Record<string, string>) =>
  headers === form ? `grant_type=${'x'.repeat(bytes - 11)}` : `{"x":"${'x'.repeat(bytes - 8)}"}`;

test('the list is complete: every route without a credential in a header that takes a body', () => {
  const strangers = endpoints.filter(
    ({ auth, body }) => auth !== undefined && !['provisioning', 'delegation'].includes(auth) && body,
  );
  const names = strangers.map(({ method, path, root }) => `${method} ${root ? '' : '/api/v1'}${path}`);
  assert.deepEqual(names.toSorted(), Object.keys(bounds).toSorted());
});

for (const [route, { bytesMax, headers = json }] of Object.entries(bounds))
  test(`${route} reads ${bytesMax} bytes and refuses one more, whether or not its length is declared`, async () => {
    const path = (route.split(' ')[1] as string).replace('{tenantId}', randomUUID());
    const before = await storeCounts(identity);
    const send = async (bytes: number, isDeclared: boolean) => {
      const text = bodyOf(bytes, headers);
      const response = await fetch(`${identity.url}${path}`, {
        method: 'POST',
        headers,
        ...(isDeclared ? { body: text } : { body: new Blob([text]).stream(), duplex: 'half' }),
      });
      return [response.status, JSON.stringify(await response.json())];
    };
    for (const isDeclared of [true, false]) {
      const [status, answer] = await send(bytesMax, isDeclared);
      assert.ok(status === 422 || status === 400, `${status} ${answer}`);
      const refused = await send(bytesMax + 1, isDeclared);
      const codes = headers === form ? { error: 'invalid_request' } : { detail: 'request_too_large' };
      assert.deepEqual([refused[0], JSON.parse(refused[1] as string)], [413, codes]);
    }
    assert.deepEqual(await storeCounts(identity), before);
  });
