// Needs its own process: it compares heap sizes.
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { everyRoute, makeRealm, newSubject, signInBy } from '../../sign-in/federation/testing/sign-in.ts';
import { startUpstream } from '../../sign-in/federation/testing/upstream.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeBearer, makeServiceAccount } from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { auditOf } from '../../testing/records.ts';
import { scimClient } from '../../testing/scim-client.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const audience = 'control-plane';
const unknownToken = 'iam_pat_0123456789ab_unknown';

/**
 * Each route that takes a secret, with a valid request, a wrong secret for a known credential, and a wrong secret for
 * an unknown one.
 */
async function makeRoutes(service: TestIdentity) {
  const { tenantId, token } = await makeBearer(service);
  const { clientId, clientSecret } = await makeServiceAccount(service, tenantId);
  const patRoute = (verb: string, more: object) => ({
    path: `platform-access-tokens:${verb}`,
    refusal: 'invalid_token',
    right: { token, ...more },
    wrong: { token: `${token}x`, ...more },
    unknown: { token: unknownToken, ...more },
  });
  const client = { clientId, clientSecret, audience };
  return [
    {
      path: 'tokens/exchange',
      refusal: 'invalid_client',
      right: client,
      wrong: { ...client, clientSecret: 'wrong' },
      unknown: { ...client, clientId: 'iam_sa_unknown' },
    },
    patRoute('exchange', { audience }),
    patRoute('introspect', {}),
    patRoute('revoke-self', {}),
  ];
}

function present(service: TestIdentity, path: string, body: object) {
  return service.request('POST', `/api/v1/${path}`, { body });
}

async function outcomes(service: TestIdentity, path: string, body: object, times: number): Promise<string[]> {
  const found: string[] = [];
  for (let time = 0; time < times; time += 1) found.push((await present(service, path, body)).body.detail);
  return found;
}

/** Advances the clock of the limits by the length of a window. */
function endWindows(t: TestContext, seconds = 60): void {
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + seconds * 1_000);
}

describe('limits of failures', () => {
  test('are off by default', async () => {
    const all = await outcomes(identity, 'platform-access-tokens:introspect', { token: unknownToken }, 50);
    assert.deepEqual(new Set(all), new Set(['invalid_token']));
  });

  test('failures with the longest requests take no memory', async () => {
    const limited = await identity.another({ IAM_FAILURES_PER_CREDENTIAL_MAX: '3' });
    // Bodies of 14 KB each, which would add up to 14 MB if the counters stored them.
    const long = 'x'.repeat(4000);
    const scope = 'x'.repeat(9900);
    // Sent by `fetch` directly, because the leak test would record what `request` sends.
    const guess = async (client: object) => {
      const body = new URLSearchParams({ grant_type: 'client_credentials', audience, scope, ...client });
      assert.equal((await fetch(`${limited.url}/oauth2/token`, { method: 'POST', body })).status, 401);
    };
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const usedBytes = () => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    await guess({ client_id: 'a', client_secret: long });
    const before = usedBytes();
    for (let n = 0; n < 500; n += 1) {
      await guess({ client_id: `a-client-that-nobody-knows-${n}`, client_secret: long });
      await guess({ client_id: `${n}`.padEnd(200, 'x'), client_secret: 'x' });
    }
    const growthMegabytes = (usedBytes() - before) / 1_000_000;
    assert.ok(growthMegabytes < 7, `${growthMegabytes} MB`);
  });

  test('per credential: known and unknown ones answer 429 with Retry-After alike, the right secret always passes', async () => {
    for (const index of [0, 1, 2, 3]) {
      const limited = await identity.another({ IAM_FAILURES_PER_CREDENTIAL_MAX: '3' });
      const route = (await makeRoutes(limited))[index];
      assert.ok(route);
      const { path, refusal, right, wrong, unknown } = route;
      for (const guess of [wrong, unknown]) {
        assert.deepEqual(await outcomes(limited, path, guess, 5), [
          ...Array(3).fill(refusal),
          ...Array(2).fill('rate_limited'),
        ]);
        const { status, headers } = await present(limited, path, guess);
        assert.equal(status, 429);
        assert.match(headers.get('retry-after') ?? '', /^([1-9]|[1-5]\d|60)$/);
      }
      assert.ok((await present(limited, path, right)).status < 300, path);
    }
  });

  test('/oauth2/token shares the count of its client', async () => {
    const limited = await identity.another({ IAM_FAILURES_PER_CREDENTIAL_MAX: '1' });
    const [route] = await makeRoutes(limited);
    assert.ok(route && 'clientId' in route.wrong);
    assert.equal((await present(limited, route.path, route.wrong)).status, 401);
    const { clientId: client_id, clientSecret: client_secret } = route.wrong;
    const form = { grant_type: 'client_credentials', client_id, client_secret, audience };
    const { status, body, headers } = await limited.request('POST', '/oauth2/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
    assert.deepEqual([status, body], [429, { error: 'temporarily_unavailable' }]);
    assert.notEqual(headers.get('retry-after'), null);
  });

  test('only wrong or dead credentials count as failures, not other refusals', async () => {
    const limited = await identity.another({
      IAM_FAILURES_PER_CREDENTIAL_MAX: '2',
      IAM_FAILURES_PER_ADDRESS_MAX: '2',
    });
    const { token } = await makeBearer(limited);
    const path = 'platform-access-tokens:exchange';
    for (let time = 0; time < 4; time += 1) {
      assert.equal((await present(limited, path, { token, audience })).status, 200);
      assert.equal((await present(limited, path, { token, audience: 'unknown' })).status, 403);
      assert.equal((await present(limited, path, { token, scope: 'unknown' })).status, 422);
    }
  });

  test('per address: whatever it presents is 429 until its window ends', async (t) => {
    const limited = await identity.another({
      IAM_FAILURES_PER_ADDRESS_MAX: '2',
      IAM_FAILURE_WINDOW_SECONDS: '30',
    });
    const { tenantId, token } = await makeBearer(limited);
    const path = 'platform-access-tokens:exchange';
    // Any well-formed but wrong token fails; failures with different tokens are counted for the same address.
    for (const wrong of ['no token', unknownToken])
      assert.equal((await present(limited, path, { token: wrong, audience })).status, 401);
    const rows = (await auditOf(limited, tenantId)).length;
    const { status, body, headers } = await present(limited, path, { token, audience });
    assert.deepEqual([status, body], [429, { detail: 'rate_limited' }]);
    assert.match(headers.get('retry-after') ?? '', /^([1-9]|[12]\d|30)$/);
    assert.equal((await auditOf(limited, tenantId)).length, rows);
    // The administrator's request isn't limited, because it presents none of these secrets.
    assert.equal((await limited.get('/events')).status, 200);
    endWindows(t, 30);
    assert.equal((await present(limited, path, { token, audience })).status, 200);
  });
});

describe('limits of failed sign-ins', () => {
  test('go by address alone: every route answers 429, and other addresses would sign in', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const outbound = { IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]' };
    const limited = await identity.another({
      ...outbound,
      IAM_FAILURES_PER_CREDENTIAL_MAX: '1',
      IAM_FAILURES_PER_ADDRESS_MAX: '6',
    });
    const realm = await makeRealm(limited, upstream);
    const right = await upstream.sign({ sub: newSubject() });
    // A token is valid even if a rule then rejects its caller, so such a rejection isn't counted as a failure.
    const unentitled = { audience: 'unknown' };
    for (let time = 0; time < 7; time += 1)
      assert.equal((await signInBy(limited, realm, right, 'exchange', unentitled)).status, 403);
    for (const route of [...everyRoute, ...everyRoute])
      assert.equal((await signInBy(limited, realm, 'a.b.c', route)).status, 401);
    const rows = (await auditOf(limited, realm.tenantId)).length;
    for (const route of everyRoute) {
      const { status, body, headers } = await signInBy(limited, realm, right, route);
      assert.deepEqual([status, body], [429, { detail: 'rate_limited' }]);
      assert.match(headers.get('retry-after') ?? '', /^([1-9]|[1-5]\d|60)$/);
    }
    assert.equal((await auditOf(limited, realm.tenantId)).length, rows);
    const elsewhere = await identity.another(outbound);
    assert.equal((await signInBy(elsewhere, realm, right, 'authenticate')).status, 200);
    endWindows(t);
    assert.equal((await signInBy(limited, realm, right, 'authenticate')).status, 200);
  });
});

describe('limits of failures of SCIM', () => {
  test('per provisioning token: 429 in the form of RFC 7644, the right secret always passes', async () => {
    const limited = await identity.another({ IAM_FAILURES_PER_CREDENTIAL_MAX: '2' });
    const { token } = await makeProvisioning(limited);
    for (const guess of [`${token}x`, 'iam_scim_0123456789ab_unknown']) {
      const answers = [];
      for (let time = 0; time < 3; time += 1) answers.push(await scimClient(limited, guess).get('/Users'));
      assert.deepEqual(
        answers.map(({ status }) => status),
        [401, 401, 429],
      );
      const { body, headers } = answers[2] ?? assert.fail();
      assert.equal(headers.get('content-type'), 'application/scim+json');
      assert.match(headers.get('retry-after') ?? '', /^([1-9]|[1-5]\d|60)$/);
      assert.deepEqual([body.schemas, body.status], [['urn:ietf:params:scim:api:messages:2.0:Error'], '429']);
    }
    assert.equal((await scimClient(limited, token).get('/Users')).status, 200);
  });

  test("per address: access tokens count too, and then nothing is checked; a missing token doesn't count", async () => {
    const limited = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '2' });
    const { token } = await makeProvisioning(limited);
    for (let time = 0; time < 3; time += 1)
      assert.equal((await limited.request('GET', '/scim/v2/Users')).status, 401);
    for (const guess of ['a.b.c', 'iam_scim_'])
      assert.equal((await scimClient(limited, guess).get('/Users')).status, 401);
    assert.equal((await scimClient(limited, token).get('/Users')).status, 429);
  });
});

describe('limits of wrong admin secrets', () => {
  test('per address: only the wrong ones answer 429, so nobody locks the operator out', async () => {
    const limited = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '2' });
    const asked = (secret?: string) =>
      limited.request('GET', '/api/v1/events', {
        headers: secret === undefined ? {} : { 'x-iam-bootstrap-token': secret },
      });
    for (let time = 0; time < 5; time += 1) assert.equal((await asked()).status, 401);
    assert.deepEqual([(await asked('guess-1')).status, (await asked('guess-2')).status], [401, 401]);
    const { status, body, headers } = await asked('guess-3');
    assert.deepEqual([status, body], [429, { detail: 'rate_limited' }]);
    assert.notEqual(headers.get('retry-after'), null);
    assert.equal((await limited.get('/events')).status, 200);
    assert.equal((await asked()).status, 401);
    assert.ok(limited.logged.some((line) => line.includes('wrong admin secret')));
    assert.ok(!limited.logged.some((line) => line.includes('guess-')));
  });
});
