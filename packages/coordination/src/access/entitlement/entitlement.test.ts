import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { readCoordinationSettings } from '../../app/settings.ts';
import {
  type LicenceAnswer,
  startLicenceService,
  type TestLicence,
} from '../../testing/access/licence-service.ts';
import { stopClock } from '../../testing/clock.ts';
import {
  type Actor,
  type ActorOptions,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { newKey } from '../authn/key-material.ts';

let licence: TestLicence;
let baton: TestCoordination;
/** A process that queries again after a second and temporarily uses older decisions. */
let patient: { url: string };
/** A process with a timeout of one second. */
let hasty: { url: string };

before(async () => {
  licence = await startLicenceService();
  baton = await startCoordination({
    ...licence.settings,
    CP_ENTITLEMENT_TIMEOUT_SECONDS: '30',
    CP_LEGACY_API_KEYS_ENABLED: 'true',
  });
  patient = await baton.another({
    CP_ENTITLEMENT_CACHE_TTL_SECONDS: '1',
    CP_ENTITLEMENT_DEGRADED_MAX_AGE_SECONDS: '300',
  });
  hasty = await baton.another({ CP_ENTITLEMENT_TIMEOUT_SECONDS: '1' });
});
after(async () => {
  await baton.close();
  await licence.close();
});
beforeEach(() => {
  licence.behave({});
  licence.asked.length = 0;
});

/** A principal that no process has queried yet. */
const somebody = (permissions: ActorOptions['permissions'] = ['tasks.read']) => baton.actor({ permissions });
const unavailable = (actor: Actor, path = '/tasks') =>
  refused(actor.get(path), 503, 'entitlement_unavailable');
const metric = async (name: string, url = baton.url) => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};

describe('the question', () => {
  test('contains product, feature and the identity of the caller, and uses a token of the own account', async () => {
    const actor = await somebody();
    await done(actor.get('/tasks', { 'x-correlation-id': 'corr-1' }));
    const token = `Bearer token-of-the-own-account-${licence.exchanged.length}`;
    assert.deepEqual(licence.asked, [
      {
        body: {
          product: 'control-plane',
          feature: 'tasks',
          subjectId: actor.iamPrincipalId,
          requiredAmount: 1,
          correlationId: 'corr-1',
        },
        token,
      },
    ]);
    const { clientId, audience, scopes } = licence.exchanged.at(-1) as Record<string, unknown>;
    assert.deepEqual(
      [clientId, audience, scopes],
      ['iam_sa_licence', 'entitlement-service', ['entitlement:check-on-behalf']],
    );
  });

  test('the feature is the first segment after /api/v1, up to a colon', async () => {
    const actor = await somebody();
    const before = licence.asked.length;
    await actor.post(`/tasks/${newId()}:claim`, {});
    await actor.post('/work:claim-next', {});
    await actor.post('/authz:check', {});
    await actor.get('/event-types');
    assert.deepEqual(
      licence.asked.slice(before).map(({ body }) => body.feature),
      ['tasks', 'work', 'authz', 'event-types'],
    );
  });

  test('a subject is queried once per lifetime of the cache, and concurrent requests share the query', async () => {
    const actor = await somebody();
    licence.behave({ delayMs: 100 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => actor.get('/tasks')));
    assert.ok(answers.every(({ status }) => status === 200));
    await done(actor.get('/tasks'));
    assert.equal(licence.asked.length, 1);
  });

  test('service endpoints, the bootstrap and emergency keys cause no query', async () => {
    licence.behave({ status: 500 });
    for (const path of ['/health/live', '/health/ready', '/metrics', '/openapi.json'])
      assert.equal((await fetch(`${baton.url}${path}`)).status, 200);
    const again = { tenantSlug: 'third', tenantName: 't', adminDisplayName: 'a' };
    const token = 'bootstrap-secret-of-the-tests';
    const bootstrap = baton.request('POST', '/api/v1/bootstrap', { token, body: again });
    await refused(bootstrap, 409, 'already_bootstrapped');
    const emergency = await keyOf(baton.admin.principalId, 'emergency');
    await done(baton.request('GET', '/api/v1/tasks', { token: emergency }));
    assert.equal(licence.asked.length, 0);
  });

  test('an imported key is queried as its own principal', async () => {
    licence.behave({ body: { allowed: false } });
    const { principalId } = await somebody();
    const token = await keyOf(principalId, 'usual');
    await refused(baton.request('GET', '/api/v1/tasks', { token }), 403, 'not_entitled');
    assert.equal(licence.asked[0]?.body.subjectId, principalId);
  });
});

async function keyOf(principalId: string, kind: 'usual' | 'emergency'): Promise<string> {
  const { key, prefix, hash } = newKey(kind);
  const permissions = kind === 'emergency' ? ['admin'] : ['tasks.read'];
  await baton.pool.run(sql`
    insert into api_keys (id, tenant_id, principal_id, key_prefix, key_hash, permissions, expires_at)
    values (${newId()}, ${baton.tenantId}, ${principalId}, ${prefix}, ${hash}, ${permissions}, now() + interval '1 hour')`);
  return key;
}

describe('the order', () => {
  test('after identity and binding: a caller without either is refused first, without a query', async () => {
    const refusedFirst = { token: 'a.b.c' };
    await refused(baton.request('GET', '/api/v1/tasks', refusedFirst), 401, 'invalid_credentials');
    const unbound = await baton.issuer.sign({ sub: newId(), tenant_id: baton.tenantId, scope: [] });
    await refused(baton.request('GET', '/api/v1/tasks', { token: unbound }), 401, 'invalid_credentials');
    assert.equal(licence.asked.length, 0);
  });

  test('before the form of the request and before permissions', async () => {
    licence.behave({ body: { allowed: false } });
    const actor = await somebody([]);
    const details = await refused(actor.get('/tasks?nonsense=1'), 403, 'not_entitled');
    assert.deepEqual(details, { product: 'control-plane', feature: 'tasks' });
    const other = await somebody([]);
    licence.behave({});
    await refused(other.get('/tasks'), 403, 'permission_denied');
  });

  test('a stream uses the feature events, and is closed with the code of its refusal', async () => {
    const actor = await somebody(['events.read']);
    licence.behave({ body: { allowed: false } });
    const closed = await openStream(baton.url, { token: actor.token }).ended;
    assert.deepEqual(closed, { code: 4403, reason: 'not_entitled' });
    assert.deepEqual(
      licence.asked.map(({ body }) => [body.feature, body.subjectId]),
      [['events', actor.iamPrincipalId]],
    );
    const another = await somebody(['events.read']);
    licence.behave({ status: 500 });
    const away = await openStream(baton.url, { token: another.token }).ended;
    assert.deepEqual(away, { code: 4503, reason: 'entitlement_unavailable' });
  });
});

describe('without a decision the response is 503 entitlement_unavailable with Retry-After', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const past = new Date(Date.now() - 1000).toISOString();
  const tooLate: LicenceAnswer = { delayMs: 60_000 };
  const answers: Record<string, LicenceAnswer> = {
    'a 400': { status: 400 },
    'a 404': { status: 404 },
    'a 429': { status: 429 },
    'a 500': { status: 500 },
    'a redirect': { status: 302, headers: { location: 'http://127.0.0.1:9/' } },
    'a 200 without JSON': { body: '<html>' },
    'an empty 200': { body: '' },
    null: { body: 'null' },
    'a list': { body: '[true]' },
    'a deeply nested document': { body: deep },
    'a response of 100 KB': { body: { reason: 'x'.repeat(100_000) } },
    'a string instead of true': { body: { allowed: 'true' } },
    'a number instead of true': { body: { allowed: 1 } },
    'a response about another feature': { body: { feature: 'other' } },
    'a response about another product': { body: { product: 'other' } },
    'an expiry that is not a time': { body: { validUntil: 'tomorrow' } },
    'an expiry in the past': { body: { validUntil: past } },
    'a closed connection': { hangsUp: true },
    'a late response': tooLate,
  };
  for (const [what, answer] of Object.entries(answers))
    test(what, async () => {
      licence.behave(answer);
      const { token } = await somebody();
      const { url } = answer === tooLate ? hasty : baton;
      const { status, body, headers } = await sendRequest(`${url}/api/v1/tasks`, 'GET', { token });
      assert.deepEqual([status, body.error.code], [503, 'entitlement_unavailable']);
      assert.deepEqual(body.error.details, {});
      assert.ok(Number(headers.get('retry-after')) > 0);
    });

  test('a failed service is not queried again within a second, but is queried afterwards', async (t) => {
    const passTime = stopClock(t);
    const actor = await somebody();
    licence.behave({ status: 500 });
    for (let n = 0; n < 5; n += 1) await unavailable(actor);
    assert.equal(licence.asked.length, 1);
    licence.behave({});
    passTime(1100);
    await done(actor.get('/tasks'));
    assert.equal(await metric('entitlement_available'), 1);
  });

  test('a rejected token is replaced only once', async () => {
    await done((await somebody()).get('/tasks'));
    const refusedToken = licence.asked[0]?.token;
    licence.asked.length = 0;
    const given = licence.exchanged.length;
    const actor = await somebody();
    licence.behave(({ token }) => ({ status: token === refusedToken ? 401 : 200 }));
    await done(actor.get('/tasks'));
    assert.equal(licence.exchanged.length, given + 1);
    licence.behave({ status: 401 });
    const other = await somebody();
    await unavailable(other);
    assert.equal(licence.asked.length, 4);
  });
});

describe('an older decision, if an operator allows it', () => {
  const get = (actor: Actor) => sendRequest(`${patient.url}/api/v1/tasks`, 'GET', { token: actor.token });
  const staleMs = 1100;

  test('is used while the service is unavailable, also for refusals, and /metrics counts it', async (t) => {
    const passTime = stopClock(t);
    const [licensed, refusedOne] = [await somebody(), await somebody()];
    await done(get(licensed));
    licence.behave({ body: { allowed: false } });
    await refused(get(refusedOne), 403, 'not_entitled');
    licence.behave({ hangsUp: true });
    passTime(staleMs);
    const before = await metric('entitlement_degraded_total', patient.url);
    for (let n = 0; n < 3; n += 1) await done(get(licensed));
    await refused(get(refusedOne), 403, 'not_entitled');
    assert.equal(await metric('entitlement_degraded_total', patient.url), before + 4);
    assert.equal(await metric('entitlement_available', patient.url), 0);
    assert.ok((await metric('entitlement_answers_remembered', patient.url)) >= 2);
    assert.ok((await metric('entitlement_failures_total', patient.url)) >= 2);
    assert.ok((await metric('entitlement_refusals_total', patient.url)) >= 2);
    assert.ok((await metric('entitlement_answers_total', patient.url)) >= 2);
    await refused(get(await somebody()), 503, 'entitlement_unavailable');
  });

  test('never after its own expiry', async (t) => {
    const passTime = stopClock(t);
    const actor = await somebody();
    licence.behave({ body: { validUntil: new Date(Date.now() + 800).toISOString() } });
    await done(get(actor));
    licence.behave({ status: 500 });
    passTime(900);
    await refused(get(actor), 503, 'entitlement_unavailable');
  });

  test('not after a 4xx, which counts as a response', async (t) => {
    const passTime = stopClock(t);
    const actor = await somebody();
    await done(get(actor));
    passTime(staleMs);
    licence.behave({ status: 403 });
    await refused(get(actor), 503, 'entitlement_unavailable');
    licence.behave({ status: 500 });
    passTime(staleMs);
    await refused(get(actor), 503, 'entitlement_unavailable');
  });

  test('not at all by default', async (t) => {
    const passTime = stopClock(t);
    const strict = await baton.another({ CP_ENTITLEMENT_CACHE_TTL_SECONDS: '1' });
    const actor = await somebody();
    const ask = () => sendRequest(`${strict.url}/api/v1/tasks`, 'GET', { token: actor.token });
    await done(ask());
    licence.behave({ status: 500 });
    passTime(staleMs);
    await refused(ask(), 503, 'entitlement_unavailable');
    await strict.close();
  });
});

describe('the settings', () => {
  const account = { CP_IAM_CLIENT_ID: 'iam_sa', CP_IAM_CLIENT_SECRET: 'secret' };
  const on = { CP_ENTITLEMENT_ENABLED: 'true', ...account };

  test('a disabled check sends no query and has no metrics', async () => {
    const off = await baton.another({ CP_ENTITLEMENT_ENABLED: 'false' });
    await done(sendRequest(`${off.url}/api/v1/tasks`, 'GET', { token: (await somebody()).token }));
    assert.equal(licence.asked.length, 0);
    assert.doesNotMatch(await (await fetch(`${off.url}/metrics`)).text(), /entitlement/);
    await off.close();
  });

  test('incomplete settings stop the start with one sentence', () => {
    for (const [env, sentence] of [
      [{ CP_ENTITLEMENT_ENABLED: 'true' }, /CP_ENTITLEMENT_ENABLED needs CP_IAM_CLIENT_ID/],
      [{ ...on, CP_IAM_CLIENT_SECRET: undefined }, /CP_IAM_CLIENT_SECRET/],
      [
        { ...on, CP_ENTITLEMENT_BASE_URL: 'licence' },
        /CP_ENTITLEMENT_BASE_URL must be an http or https address/,
      ],
      [{ ...on, CP_ENTITLEMENT_BASE_URL: 'https://u:p@host' }, /CP_ENTITLEMENT_BASE_URL/],
      [{ ...on, CP_IAM_BASE_URL: 'ftp://host' }, /CP_IAM_BASE_URL/],
      [{ ...on, CP_ENTITLEMENT_PRODUCT: ' ' }, /CP_ENTITLEMENT_PRODUCT is required/],
      [{ ...on, CP_ENTITLEMENT_AUDIENCE: ' ' }, /CP_ENTITLEMENT_AUDIENCE is required/],
      [{ ...on, CP_ENTITLEMENT_DEFAULT_FEATURE: ' ' }, /CP_ENTITLEMENT_DEFAULT_FEATURE is required/],
    ] as const)
      assert.throws(() => readCoordinationSettings(env), sentence);
    const { CP_ENTITLEMENT_DEGRADED_MAX_AGE_SECONDS: grace, ...values } = readCoordinationSettings(on);
    assert.equal(grace, 0);
    assert.deepEqual(
      [values.CP_ENTITLEMENT_CACHE_TTL_SECONDS, values.CP_ENTITLEMENT_TIMEOUT_SECONDS],
      [30, 3],
    );
    readCoordinationSettings({ CP_ENTITLEMENT_BASE_URL: 'nothing' });
  });
});
