import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, beforeEach, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startWorker } from '../../app/worker.ts';
import {
  type IdentityService,
  startIdentityService,
  usualAnswer,
} from '../../testing/access/identity-service.ts';
import { setAccess } from '../../testing/access/set-access.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { until } from '../../testing/wait-until.ts';

const path = '/identity-administration-tokens';

let baton: TestCoordination;
let identity: IdentityService;
let person: Actor;
before(async () => {
  identity = await startIdentityService();
  baton = await startCoordination(identity.env);
});
after(async () => {
  await baton.close();
  await identity.close();
});
beforeEach(async () => {
  identity.answer(undefined);
  identity.asked.length = 0;
  person = await baton.actor({ kind: 'human' });
});

const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
const credentialId = newId();

/** A token of the person with these claims. */
const tokenWith = (claims: Record<string, unknown>, of = person) =>
  baton.issuer.sign({
    sub: of.iamPrincipalId,
    tenant_id: of.tenantId,
    scope: 'control-plane:admin',
    credential_id: credentialId,
    client_id: 'baton-console',
    auth_time: secondsAgo(10),
    ...claims,
  });
const request = async (claims: Record<string, unknown> = {}, of = person) =>
  baton.request('POST', `/api/v1${path}`, { token: await tokenWith(claims, of) });

async function assertRefused(
  answer: Promise<Awaited<ReturnType<typeof request>>>,
  status: number,
  code: string,
) {
  const { status: got, body } = await answer;
  assert.deepEqual([got, body.error?.code], [status, code], JSON.stringify(body));
  return body.error;
}
const eventsOf = async (type: string) =>
  (
    await baton.pool.rows<{ payload: Record<string, unknown>; entity_id: string }>(
      sql`select payload, entity_id from events where type = ${type} and tenant_id = ${baton.tenantId} order by sequence`,
    )
  ).filter(({ entity_id }) => entity_id === person.principalId);

describe('POST /identity-administration-tokens', () => {
  test('returns a token that identity issues for the sign-in, once, and records it without the token', async () => {
    const { status, body, headers } = await request();
    assert.deepEqual([status, headers.get('cache-control')], [201, 'no-store']);
    assert.deepEqual(Object.keys(body), ['id', 'token', 'tenantId', 'expiresAt']);
    const [asked, ...more] = identity.asked;
    assert.deepEqual(more, []);
    assert.deepEqual(asked, {
      path: `/iam/api/v1/tenants/${person.tenantId}/administration-tokens`,
      authorization: `Bearer ${identity.credential}`,
      body: { principalId: person.iamPrincipalId, credentialId },
    });
    assert.match(body.token, /^iam_adm_/);
    assert.equal(body.tenantId, person.tenantId);
    const [event] = await eventsOf('identity_administration.granted');
    assert.deepEqual(event?.payload, { tokenId: body.id, expiresAt: body.expiresAt });
  });

  test('requires a sign-in within 300 seconds, before identity is requested to issue', async () => {
    for (const claims of [
      { auth_time: secondsAgo(301) },
      { auth_time: Math.floor(Date.now() / 1000) - 301 },
      { auth_time: undefined },
      { auth_time: 'yesterday' },
      { auth_time: null },
      { credential_id: undefined },
    ]) {
      const { details } = await assertRefused(request(claims), 403, 'fresh_sign_in_required');
      assert.deepEqual(details, { maxAgeSeconds: 300 });
    }
    assert.deepEqual(identity.asked, []);
    assert.equal((await request({ auth_time: secondsAgo(290) })).status, 201);
    assert.equal((await request({ auth_time: Math.floor(Date.now() / 1000) - 290 })).status, 201);
  });

  test('has the same refusal where only identity has the reason: a personal access token, an ended session', async () => {
    identity.answer(() => ({ status: 403, body: { detail: 'fresh_sign_in_required' } }));
    await assertRefused(request(), 403, 'fresh_sign_in_required');
    assert.deepEqual(await eventsOf('identity_administration.granted'), []);
  });

  test('is for people who are administrators, with a token that covers it', async () => {
    const all = await done(baton.admin.get(`/principals/${person.principalId}/access`));
    const permissions = all.permissions.filter((name: string) => name !== 'admin');
    const other = await baton.actor({ kind: 'human', permissions });
    await assertRefused(request({}, other), 403, 'permission_denied');
    await assertRefused(
      request({ scope: 'control-plane:read control-plane:write' }),
      403,
      'permission_denied',
    );
    const agent = await baton.actor({ kind: 'agent', permissions: ['admin'] });
    await assertRefused(request({}, agent), 403, 'not_a_person');
    assert.deepEqual(identity.asked, []);
  });

  test('accepts no API key', async () => {
    const keyed = await baton.another({ CP_LEGACY_API_KEYS_ENABLED: 'true' });
    const permissions = ['admin'];
    const { key } = await done(
      baton.admin.post(`/principals/${person.principalId}/api-keys`, { permissions }),
      201,
    );
    const answer = await fetch(`${keyed.url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    assert.deepEqual(
      [answer.status, ((await answer.json()) as { error: { code: string } }).error.code],
      [403, 'fresh_sign_in_required'],
    );
    await keyed.close();
    assert.deepEqual(identity.asked, []);
  });

  test('ignores an Idempotency-Key: each call returns a new token', async () => {
    const token = await tokenWith({});
    const send = () =>
      baton.request('POST', `/api/v1${path}`, { token, headers: { 'idempotency-key': 'the-same' } });
    const [first, second] = [await done(send(), 201), await done(send(), 201)];
    assert.notEqual(first.token, second.token);
  });

  test('refuses without the setting', async () => {
    const without = await baton.another({ CP_IDENTITY_ADMIN_CREDENTIAL_FILE: '' });
    const headers = { authorization: `Bearer ${await tokenWith({})}` };
    const answer = await fetch(`${without.url}/api/v1${path}`, { method: 'POST', headers });
    assert.deepEqual(
      [answer.status, ((await answer.json()) as { error: { code: string } }).error.code],
      [409, 'identity_administration_not_configured'],
    );
    await without.close();
  });
});

describe('identity', () => {
  test('that fails is reported as unavailable, whatever it answers', async () => {
    for (const answer of [
      { status: 401, body: { detail: 'unauthorized' } },
      { status: 500 },
      { status: 302 },
      { status: 200, body: usualAnswer({ path: '', authorization: '', body: {} })?.body },
      { status: 201, body: { id: newId(), token: 'something else', expiresAt: secondsAgo(0) } },
      { status: 201, body: { token: 'x'.repeat(100_000) } },
    ]) {
      identity.answer(() => answer);
      const { status, headers, body } = await request();
      assert.deepEqual(
        [status, body.error.code, headers.get('retry-after')],
        [503, 'identity_administration_unavailable', '5'],
      );
      assert.ok(!JSON.stringify(body).includes(identity.credential));
    }
  });

  test('that does not answer holds no row and no connection, and the call ends after the timeout', async () => {
    const slow = await baton.another({
      CP_IAM_REQUEST_TIMEOUT_SECONDS: '1',
      CP_DATABASE_CONNECTIONS_MAX: '2',
    });
    identity.answer(() => undefined);
    const headers = { authorization: `Bearer ${await tokenWith({})}` };
    const hanging = Array.from({ length: 4 }, () =>
      fetch(`${slow.url}/api/v1${path}`, { method: 'POST', headers }),
    );
    await until(() => identity.asked.length === 2, 'two requests at identity: the most of one tenant');
    const { rows } = (await baton.pool.row<{ rows: number }>(sql`
      select count(*)::int as rows from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`)) ?? { rows: -1 };
    assert.equal(rows, 0);
    const disabled = baton.admin.post(`/principals/${person.principalId}:disable`);
    assert.equal((await disabled).status, 200, 'the person can be disabled meanwhile');
    for (const answer of await Promise.all(hanging)) {
      assert.equal(answer.status, 503);
      await answer.body?.cancel();
    }
    await slow.close();
  });

  test('sees a rotated credential without a restart; a faulty file is unavailable, and stops a start', async () => {
    const next = `rotated-credential-${newId()}`;
    try {
      await writeFile(identity.credentialFile, `${next}\n`);
      await done(request(), 201);
      assert.equal(identity.asked.at(-1)?.authorization, `Bearer ${next}`);
      await writeFile(identity.credentialFile, 'short\n');
      await assertRefused(request(), 503, 'identity_administration_unavailable');
      await assert.rejects(baton.another(), /CP_IDENTITY_ADMIN_CREDENTIAL_FILE/);
      await assert.rejects(
        baton.another({ CP_IDENTITY_ADMIN_CREDENTIAL_FILE: '/nowhere/at/all' }),
        /CP_IDENTITY_ADMIN_CREDENTIAL_FILE refers to a file that cannot be read/,
      );
      await assert.rejects(baton.another({ CP_IAM_BASE_URL: 'identity:8010' }), /CP_IAM_BASE_URL/);
    } finally {
      await writeFile(identity.credentialFile, `${identity.credential}\n`);
    }
  });
});

test('a person has at most 20 live tokens, also by parallel requests; a further one is revoked', async () => {
  const other = await baton.actor({ kind: 'human' });
  for (let times = 0; times < 19; times += 1) await done(request(), 201);
  identity.asked.length = 0;
  const answers = await Promise.all([request(), request(), request()]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 429, 429]);
  const refused = answers.find(({ status }) => status === 429);
  assert.equal(refused?.body.error.code, 'rate_limited');
  const seconds = Number(refused?.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 300, String(seconds));
  assert.equal(identity.asked.filter(({ path: asked }) => asked.endsWith(':revoke')).length, 2);
  await done(request({}, other), 201);
  await baton.pool.run(
    sql`update identity_administrations set expires_at = now() - interval '1 ms' where principal_id = ${person.principalId}`,
  );
  await done(request(), 201);
});

describe('who loses the right', () => {
  const access = (of: Actor, to: object) => setAccess(baton.admin, of.principalId, to);

  test('while identity issues the token gets none, and identity revokes it', async () => {
    identity.answer(async (asked) => {
      if (!asked.path.endsWith(':revoke')) await done(access(person, { accessRole: 'member' }));
      return usualAnswer(asked);
    });
    await assertRefused(request(), 403, 'permission_denied');
    assert.match(identity.asked.at(-1)?.path ?? '', /\/administration-tokens\/[0-9a-f-]{36}:revoke$/);
    assert.deepEqual(await eventsOf('identity_administration.granted'), []);
  });

  const losses: readonly [string, () => Promise<unknown>][] = [
    ['by a demotion', () => done(access(person, { accessRole: 'member' }))],
    ['by a disable', () => done(baton.admin.post(`/principals/${person.principalId}:disable`))],
    [
      'by the end of their binding',
      async () => {
        const { items } = await done(baton.admin.get(`/principals/${person.principalId}/iam-bindings`));
        await done(baton.admin.post(`/iam-bindings/${items[0].id}:revoke`));
      },
    ],
  ];
  for (const [how, lose] of losses)
    test(`${how} loses the token at once`, async () => {
      const { id } = await done(request(), 201);
      const kept = await done(request({}, await baton.actor({ kind: 'human' })), 201);
      identity.asked.length = 0;
      const worker = await startWorker({ env: baton.env });
      try {
        await lose();
        await until(() => identity.asked.length > 0, 'a revocation');
        assert.deepEqual(
          identity.asked.map(({ path, authorization }) => [path, authorization]),
          [
            [
              `/iam/api/v1/tenants/${person.tenantId}/administration-tokens/${id}:revoke`,
              `Bearer ${identity.credential}`,
            ],
          ],
        );
        await until(async () => (await eventsOf('identity_administration.revoked')).length === 1);
        const [event] = await eventsOf('identity_administration.revoked');
        assert.deepEqual(event?.payload, { tokenId: id });
        const left = await baton.pool.rows<{ token_id: string }>(sql`
          select token_id from identity_administrations where token_id = any (${[id, kept.id]}::uuid[])`);
        assert.deepEqual(left, [{ token_id: kept.id }]);
      } finally {
        await worker.close();
      }
    });

  test('loses the token also if identity fails at first', async () => {
    const { id } = await done(request(), 201);
    identity.asked.length = 0;
    let failures = 2;
    identity.answer((asked) => {
      failures -= 1;
      return failures >= 0 ? { status: 503 } : usualAnswer(asked);
    });
    const worker = await startWorker({ env: baton.env });
    try {
      await done(access(person, { accessRole: 'member' }));
      await until(
        async () => (await eventsOf('identity_administration.revoked')).length === 1,
        'the event',
        20_000,
      );
      assert.equal(identity.asked.filter(({ path }) => path.includes(id)).length, 3);
    } finally {
      await worker.close();
    }
  });

  test('and expired tokens leave no rows', async () => {
    await done(request(), 201);
    await baton.pool.run(sql`update identity_administrations set expires_at = now() - interval '1 ms'`);
    const worker = await startWorker({ env: baton.env });
    try {
      const count = sql<{ n: number }>`select count(*)::int as n from identity_administrations`;
      await until(async () => (await baton.pool.row(count))?.n === 0);
    } finally {
      await worker.close();
    }
  });
});
