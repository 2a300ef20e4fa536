import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, type TestContext, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { assertTookLess } from '@baton/testing/depth';
import { made } from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';
import { type Override, send } from './testing/keycloak.ts';
import {
  newUser,
  type Source,
  setActive,
  startUpstreamFixture,
  type UpstreamFixture,
} from './testing/upstream-fixture.ts';

/**
 * Tests docs/reference/scim.md#upstream-directory: a failure refuses the whole write with 502, and nothing is stored.
 */

let fixture: UpstreamFixture;
before(async () => {
  fixture = await startUpstreamFixture();
});
after(() => fixture.close());
afterEach(() => {
  fixture.keycloak.overrides = {};
});

const answering =
  (status: number, headers?: Record<string, string>): Override =>
  (res) =>
    send(res, { status, ...(headers && { headers }), json: { secret: 'of the directory' } });
const withId =
  (id: unknown): Override =>
  (res, act) =>
    send(res, { ...act(), headers: {}, json: { id } });
const never: Override = () => undefined;
const cutOff: Override = (res) => res.destroy();
const long: Override = (res) => send(res, { status: 201, json: 'x'.repeat(262_144) });
const html: Override = (res) => res.writeHead(201).end('<html>');

async function startFixture(t: TestContext): Promise<UpstreamFixture> {
  const own = await startUpstreamFixture();
  t.after(() => own.close());
  return own;
}

/** Every failure writes one row to the audit log and no other data. */
async function expectRefused(
  { client, tenantId }: Source,
  write: () => Promise<{ status: number; body: { status?: string } }>,
  action: string,
  why: string,
  { identity } = fixture,
): Promise<void> {
  const counts = async () => ({ ...((await storeCounts(identity)) as object), audits: 0 });
  const [before, journal] = [await counts(), await journalOf(identity, tenantId)];
  const users = (await client.get('/Users')).body;
  const { status, body } = await write();
  assert.deepEqual([status, body.status], [502, '502'], why);
  assert.ok(!JSON.stringify(body).includes('of the directory'));
  assert.deepEqual(await counts(), before, why);
  assert.deepEqual(await journalOf(identity, tenantId), journal, why);
  assert.deepEqual((await client.get('/Users')).body, users, why);
  const last = (await auditOf(identity, tenantId)).at(-1);
  assert.deepEqual([last?.action, last?.outcome, last?.reason], [action, 'denied', `upstream:${why}`]);
}

describe('a write that the directory does not take is 502 and leaves nothing', () => {
  const failures: [string, Override][] = [
    ['status_500', answering(500)],
    ['status_503', answering(503)],
    ['status_400', answering(400)],
    ['status_403', answering(403)],
    ['status_302', answering(302, { location: '/auth/elsewhere' })],
    ['status_307', answering(307, { location: '/auth/elsewhere' })],
    ['unreachable', cutOff],
    ['too_large', long],
    ['not_json', html],
    ['bad_id', answering(201)],
    ['bad_id', withId('')],
    ['bad_id', withId('../users/1')],
    ['bad_id', withId('a/b')],
    ['bad_id', withId('a b')],
    ['bad_id', withId('..')],
    ['bad_id', withId(`x${'1'.repeat(255)}`)],
    ['bad_id', withId('urn:iam:scim:entra:1')],
    ['bad_id', withId(7)],
    ['bad_id', answering(201, { location: 'http://upstream/users/a%2Fb' })],
    ['bad_id', answering(201, { location: 'http://upstream/users/%zz' })],
    ['bad_id', answering(201, { location: 'http://upstream/users/' })],
  ];

  test('a creation, whatever the answer is', async () => {
    const source = await fixture.source('admin');
    for (const [why, override] of failures) {
      fixture.keycloak.overrides.admin = override;
      const create = () => source.client.post('/Users', newUser());
      await expectRefused(source, create, 'scim.users.create', `admin:${why}`);
    }
    assert.ok(
      !fixture.keycloak.requests.some((request) => request.includes('elsewhere')),
      'no redirect is followed',
    );
  });

  test('a switch by PATCH, PUT and DELETE', async () => {
    const source = await fixture.source('scim');
    const user = newUser();
    const { id } = await made(source.client.post('/Users', user));
    const path = `/Users/${id}`;
    for (const [why, override] of failures.slice(0, 9)) {
      if (why === 'not_json') continue;
      fixture.keycloak.overrides.scim = override;
      const writes = [
        [() => source.client.patch(path, setActive(false)), 'scim.users.patch'],
        [() => source.client.put(path, { ...user, active: false }), 'scim.users.replace'],
        [() => source.client.delete(path), 'scim.users.delete'],
      ] as const;
      for (const [write, action] of writes) await expectRefused(source, write, action, `scim:${why}`);
    }
    fixture.keycloak.overrides = {};
    assert.equal(fixture.keycloak.accountOf(user.userName)?.active, true);
    assert.equal((await source.client.delete(path)).status, 204);
  });

  test('the account of an unknown user is no success', async () => {
    const source = await fixture.source('scim');
    const user = newUser();
    const { id } = await made(source.client.post('/Users', user));
    fixture.keycloak.accounts.splice(0);
    const switchOff = () => source.client.patch(`/Users/${id}`, setActive(false));
    await expectRefused(source, switchOff, 'scim.users.patch', 'scim:status_404');
  });

  test('the account of another user is no success, and stays as it is', async () => {
    for (const mode of ['scim', 'admin'] as const) {
      const { keycloak } = fixture;
      const source = await fixture.source(mode);
      const user = newUser();
      await made(source.client.post('/Users', user));
      const account = keycloak.accountOf(user.userName);
      // The response of a directory that merges people by their email address.
      keycloak.overrides[mode] = (res) => {
        keycloak.overrides = {};
        send(res, { status: 201, json: { id: account?.id } });
      };
      const create = () => source.client.post('/Users', newUser());
      await expectRefused(source, create, 'scim.users.create', `${mode}:foreign_account`);
      assert.equal(keycloak.accountOf(user.userName)?.active, true);
    }
  });

  test('mode auto falls back to the admin API on any failure, and fails when that does', async () => {
    const { keycloak } = fixture;
    const source = await fixture.source('auto');
    for (const [, override] of failures.filter(([why]) => !why.startsWith('bad_id'))) {
      keycloak.overrides = { scim: override };
      const user = newUser();
      const { id } = await made(source.client.post('/Users', user));
      await made(source.client.patch(`/Users/${id}`, setActive(false)));
      assert.equal(keycloak.accountOf(user.userName)?.active, false);
    }
    keycloak.overrides = { scim: answering(404), admin: answering(500) };
    const create = () => source.client.post('/Users', newUser());
    await expectRefused(source, create, 'scim.users.create', 'scim:status_404 admin:status_500');
  });
});

// These tests run in parallel, because three of them wait for 5 s. Each has its own service and directory.
describe('a write that the directory does not take is 502 and leaves nothing', { concurrency: true }, () => {
  test('one that takes longer than 5 seconds, or whose directory is down', async (t) => {
    const tooLate = async () => {
      const at = await startFixture(t);
      const source = await at.source('scim');
      at.keycloak.overrides.scim = never;
      const began = performance.now();
      const create = () => source.client.post('/Users', newUser());
      await expectRefused(source, create, 'scim.users.create', 'scim:too_late', at);
      assertTookLess(began, 10_000);
    };
    const tokenTooLate = async () => {
      const at = await startFixture(t);
      const source = await at.source('scim');
      const { id } = await made(source.client.post('/Users', newUser()));
      at.keycloak.overrides.token = never;
      at.keycloak.revokeTokens();
      const switchOff = () => source.client.patch(`/Users/${id}`, setActive(false));
      await expectRefused(source, switchOff, 'scim.users.patch', 'scim:token_too_late', at);
    };
    const down = async () => {
      const nobody = 'http://127.0.0.1:1';
      const at = await startFixture(t);
      const line = (sourceId: string) => `${sourceId} ${nobody} a:b`;
      const { client, tenantId } = await at.source('auto', { upstreamBaseUrl: nobody }, line);
      assert.equal((await client.post('/Users', newUser())).status, 502);
      const reason = 'upstream:scim:token_unreachable admin:token_unreachable';
      assert.equal((await auditOf(at.identity, tenantId)).at(-1)?.reason, reason);
    };
    await Promise.all([tooLate(), tokenTooLate(), down()]);
  });

  test('mode auto has 5 seconds for each protocol', async (t) => {
    const { source, keycloak } = await startFixture(t);
    const { client } = await source('auto');
    keycloak.overrides.scim = never;
    const user = newUser();
    assert.equal((await client.post('/Users', user)).status, 201);
    assert.equal(keycloak.accounts.filter(({ userName }) => userName === user.userName).length, 1);
  });
});

describe('credentials', () => {
  test('get one access token, renewed before it expires and after the directory refuses it', async () => {
    const { keycloak } = fixture;
    const source = await fixture.source('scim');
    const create = () => source.client.post('/Users', newUser());
    await Promise.all([1, 2, 3, 4].map(create));
    const count = (what: string) => keycloak.requests.filter((request) => request === what).length;
    assert.deepEqual([count('POST token'), count('POST scim')], [1, 4]);
    keycloak.revokeTokens();
    keycloak.requests.splice(0);
    await made(create());
    assert.deepEqual(keycloak.requests, ['POST scim', 'POST token', 'POST scim']);
    // A token that expires within 30 seconds is used only once.
    keycloak.revokeTokens();
    keycloak.expiresIn = 30;
    await made(create());
    keycloak.requests.splice(0);
    await made(create());
    assert.deepEqual(keycloak.requests, ['POST token', 'POST scim']);
    keycloak.expiresIn = 60;
    // The request is not sent again if a fresh token is refused too.
    keycloak.overrides.scim = answering(401);
    keycloak.requests.splice(0);
    await expectRefused(source, create, 'scim.users.create', 'scim:status_401');
    assert.equal(count('POST scim'), 2);
  });

  test('may be a fixed token', async () => {
    const { keycloak } = fixture;
    const token = `given.${randomUUID()}`;
    keepSecret('upstream access token', token);
    keycloak.otherTokens.add(token);
    const line = (sourceId: string) => `${sourceId.toUpperCase()} ${keycloak.address}/ bearer ${token}`;
    const source = await fixture.source('admin', {}, line);
    await made(source.client.post('/Users', newUser()));
    assert.deepEqual(keycloak.requests, ['POST admin']);
    keycloak.otherTokens.clear();
    keycloak.requests.splice(0);
    const create = () => source.client.post('/Users', newUser());
    await expectRefused(source, create, 'scim.users.create', 'admin:status_401');
    assert.deepEqual(keycloak.requests, ['POST admin']);
  });

  test('that are wrong, or get an unusable token, are a failure', async () => {
    const { keycloak } = fixture;
    const create = (source: Source) => () => source.client.post('/Users', newUser());
    const wrong = await fixture.source('scim', {}, (id) => `${id} ${keycloak.address} baton:wrong-secret`);
    await expectRefused(wrong, create(wrong), 'scim.users.create', 'scim:token_status_401');
    const source = await fixture.source('scim');
    const giving =
      (json: unknown): Override =>
      (res) =>
        send(res, { status: 200, json });
    for (const [why, override] of [
      ['token_status_302', answering(302)],
      ['token_status_500', answering(500)],
      ['token_too_large', long],
      ['token_malformed', giving({})],
      ['token_malformed', giving({ access_token: 'a\r\nb: c', expires_in: 60 })],
      ['token_malformed', giving({ access_token: 'abc', expires_in: 'soon' })],
    ] as const) {
      keycloak.overrides.token = override;
      await expectRefused(source, create(source), 'scim.users.create', `scim:${why}`);
    }
    assert.ok(!keycloak.requests.includes('POST scim'));
  });

  test('without them nothing is sent, and the log names what to configure', async () => {
    const { identity, keycloak } = fixture;
    const line = (address: string) => (id: string) => `${id} ${address} a:b`;
    const theirs = 'https://login.example.com';
    const cases: [string, object, (id: string) => string | undefined][] = [
      ['no_credentials', {}, () => undefined],
      // The right to change a source must not be a way to get its credentials.
      ['other_base_url', { upstreamBaseUrl: theirs }, line(keycloak.address)],
      ['other_base_url', { upstreamBaseUrl: `${keycloak.address}@x` }, line(keycloak.address)],
      ['no_realm', { upstreamRealm: '' }, line(keycloak.address)],
      ['no_realm', { upstreamRealm: '..' }, line(keycloak.address)],
    ];
    for (const [why, changes, lineOf] of cases) {
      const source = await fixture.source('auto', changes, lineOf);
      const logged = identity.logged.length;
      const create = () => source.client.post('/Users', newUser());
      await expectRefused(source, create, 'scim.users.create', why);
      const said = identity.logged.slice(logged).join('');
      assert.equal(said.includes('IAM_UPSTREAM_CREDENTIALS_FILE'), why !== 'no_realm', why);
    }
    assert.deepEqual(keycloak.requests, []);
  });

  test('go to public hosts over https only, unless the setting names the host', async () => {
    const { keycloak } = fixture;
    const other = await startUpstreamFixture({ IAM_OUTBOUND_ALLOWED_HOSTS: '[]' });
    try {
      for (const [upstreamBaseUrl, why] of [
        [keycloak.address, 'not_https'],
        [`https://${keycloak.host}`, 'not_public'],
        ['https://169.254.169.254', 'not_public'],
      ] as const) {
        const lineOf = (id: string) => `${id} ${upstreamBaseUrl} a:b`;
        const { client, tenantId } = await other.source('scim', { upstreamBaseUrl }, lineOf);
        assert.equal((await client.post('/Users', newUser())).status, 502);
        assert.equal((await auditOf(other.identity, tenantId)).at(-1)?.reason, `upstream:scim:token_${why}`);
      }
    } finally {
      await other.close();
    }
  });

  test('are in no log, answer, table or event', async () => {
    const { identity, keycloak } = fixture;
    const secrets = [keycloak.clientSecret, ...keycloak.tokens];
    assert.ok(keycloak.tokens.length > 3);
    const kept = await identity.pool.rows(sql<{ text: string }>`
      select a::text as text from audit_records a union all select e::text from events e
      union all select u::text from upstream_accounts u union all select s::text from provisioning_sources s`);
    const text = JSON.stringify([identity.logged, kept]);
    for (const secret of secrets) {
      assert.ok(!text.includes(secret) && !text.includes(encodeURIComponent(secret)));
      assert.ok(!text.includes(createHash('sha256').update(secret).digest('hex')));
    }
    const names = keycloak.accounts.map(({ userName }) => userName);
    assert.ok(!names.some((name) => text.includes(name)), 'nor is a user name');
  });
});
