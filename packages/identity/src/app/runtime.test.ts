import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import {
  adminHeader,
  adminSecret,
  startIdentity,
  type TestIdentity,
  testSigningKey,
} from '../testing/identity.ts';
import { makeTenant } from '../testing/objects.ts';
import { describeApi } from './describe.ts';
import { endpoints } from './endpoints.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const createTenant = (headers: Record<string, string>, body: unknown = { slug: 'abc', name: 'x' }) =>
  identity.request('POST', '/api/v1/tenants', { headers, body });

describe('the admin header', () => {
  test('missing, empty, wrong or sent as a bearer is 401 unauthorized, whatever else is wrong', async () => {
    for (const headers of [
      {},
      { 'x-iam-bootstrap-token': '' },
      { 'x-iam-bootstrap-token': 'wrong' },
      { 'x-iam-bootstrap-token': `${adminSecret}x` },
      { 'x-iam-bootstrap-token': `Bearer ${adminSecret}` },
      { authorization: `Bearer ${adminSecret}` },
    ] as Record<string, string>[]) {
      for (const body of [{ slug: 'abc', name: 'x' }, '{"broken', 'x'.repeat(2_000_000)]) {
        const answer = await createTenant(headers, body);
        assert.deepEqual([answer.status, answer.body], [401, { detail: 'unauthorized' }]);
      }
      const malformed = await identity.request('GET', '/api/v1/tenants/x/principals/y?z=1', { headers });
      assert.deepEqual([malformed.status, malformed.body], [401, { detail: 'unauthorized' }]);
    }
  });

  test('is closed everywhere while no secret is configured', async () => {
    const closed = await identity.another({ IAM_BOOTSTRAP_TOKEN: '' });
    assert.ok(closed.logged.some((line) => line.includes('every admin endpoint is closed')));
    for (const headers of [{}, { 'x-iam-bootstrap-token': '' }, adminHeader] as Record<string, string>[]) {
      const { status, body } = await closed.request('GET', '/api/v1/events', { headers });
      assert.deepEqual([status, body], [401, { detail: 'unauthorized' }]);
    }
  });

  test('with letters beyond ASCII is compared by the bytes sent', async () => {
    const secret = 'geheimnis-größer';
    const other = await identity.another({ IAM_BOOTSTRAP_TOKEN: secret });
    const headers = { 'x-iam-bootstrap-token': Buffer.from(secret).toString('latin1') };
    assert.equal((await other.request('GET', '/api/v1/events', { headers })).status, 200);
  });
});

describe('bodies', () => {
  test('of more than 1 MiB are 413, after the admin header; also when their length is not declared', async () => {
    const large = JSON.stringify({ slug: 'abc', name: 'x'.repeat(1_048_576) });
    const declared = await createTenant(adminHeader, large);
    assert.deepEqual([declared.status, declared.body], [413, { detail: 'request_too_large' }]);
    const path = '/api/v1/platform-access-tokens:exchange';
    assert.equal((await identity.request('POST', path, { body: large })).status, 413);
    const chunked = await fetch(`${identity.url}/api/v1/tenants`, {
      method: 'POST',
      headers: adminHeader,
      body: new Blob([large]).stream(),
      duplex: 'half',
    });
    assert.deepEqual([chunked.status, await chunked.json()], [413, { detail: 'request_too_large' }]);
  });

  test('that are missing, broken or not an object are 422 with a list', async () => {
    for (const body of [undefined, '', '{"slug"', '[]', '"x"', 'null', 'x']) {
      const answer = await identity.request('POST', '/api/v1/tenants', { headers: adminHeader, body });
      assert.equal(answer.status, 422, String(body));
      for (const problem of answer.body.detail)
        assert.deepEqual(Object.keys(problem), ['type', 'loc', 'msg']);
    }
  });

  test('with text that cannot be stored are 422 with a list', async () => {
    for (const name of ['a\0b', 'half \ud800']) {
      const { status, body } = await createTenant(adminHeader, { slug: 'abc', name });
      assert.equal(status, 422);
      assert.deepEqual(body.detail[0].loc, ['body', 'name']);
    }
    const tenantId = await makeTenant(identity);
    const path = `/tenants/${tenantId}/principals/${randomUUID()}:disable?reason=a%00b`;
    const { status, body } = await identity.post(path);
    assert.deepEqual([status, body.detail[0].loc], [422, ['query', 'reason']]);
  });

  test('with snake_case names are 422: those are unknown fields', async () => {
    const tenantId = await makeTenant(identity);
    const { status, body } = await identity.post(`/tenants/${tenantId}/principals`, {
      kind: 'agent',
      displayName: 'x',
      display_name: 'x',
    });
    assert.deepEqual([status, body.detail[0].type], [422, 'extra_forbidden']);
  });
});

describe('every answer', () => {
  test('refuses an unknown path with not_found and an unknown method with method_not_allowed and Allow', async () => {
    for (const path of ['/nowhere', '/api/v1/nowhere', '/api/v1/tenants/x:explode', '/api/v2/tenants']) {
      const { status, body } = await identity.request('GET', path);
      assert.deepEqual([status, body], [404, { detail: 'not_found' }], path);
    }
    const { status, body, headers } = await identity.request('DELETE', '/api/v1/tenants');
    assert.deepEqual(
      [status, body, headers.get('allow')],
      [405, { detail: 'method_not_allowed' }, 'POST, GET, HEAD'],
    );
  });

  test('has the media type of its envelope, also at a path that cannot be decoded', async () => {
    for (const path of ['/scim/v2/Users/%zz', '/scim/v2/nowhere']) {
      const { status, body, headers } = await identity.request('GET', path);
      const received = typeof body === 'string' ? JSON.parse(body) : body;
      assert.deepEqual([status, received.status], [404, '404'], path);
      assert.equal(headers.get('content-type'), 'application/scim+json', path);
    }
  });

  test('finds a path whose colon is escaped, behind a name as behind an id', async () => {
    const path = '/api/v1/platform-access-tokens';
    for (const colon of [':', '%3A', '%3a'])
      assert.equal((await identity.request('POST', `${path}${colon}exchange`, { body: {} })).status, 422);
    assert.equal((await identity.request('POST', `${path}%253Aexchange`, { body: {} })).status, 404);
  });

  test('carries the request id that was sent, or one of ours', async () => {
    const sent = await identity.request('GET', '/healthz', { headers: { 'x-request-id': 'mine-1' } });
    assert.equal(sent.headers.get('x-request-id'), 'mine-1');
    const refused = await createTenant({ 'x-request-id': 'mine-2' });
    assert.equal(refused.headers.get('x-request-id'), 'mine-2');
    for (const bad of ['', 'a b', 'x'.repeat(129)]) {
      const made = await identity.request('GET', '/healthz', { headers: { 'x-request-id': bad } });
      assert.match(made.headers.get('x-request-id') ?? '', /^req_/);
    }
  });
});

describe('health', () => {
  test('/healthz responds without the database, /readyz lists what is missing', async () => {
    const ready = await identity.request('GET', '/readyz');
    assert.deepEqual(
      [ready.status, ready.body],
      [200, { status: 'ready', database: true, signingKey: true }],
    );
    const keyless = await identity.another({ IAM_SIGNING_PRIVATE_KEY: '' });
    const unready = await keyless.request('GET', '/readyz');
    assert.deepEqual(
      [unready.status, unready.body],
      [503, { detail: 'unavailable', database: true, signingKey: false }],
    );
  });

  test('a database that goes away is 503 with Retry-After everywhere but /healthz, and comes back', async () => {
    const proxy = await startDatabaseProxy(identity.databaseUrl);
    const lonely = await identity.another({ IAM_DATABASE_URL: proxy.url });
    await lonely.get('/events');
    await proxy.cut();
    assert.deepEqual((await lonely.request('GET', '/healthz')).body, { status: 'ok' });
    assert.equal((await lonely.request('GET', '/.well-known/jwks.json')).status, 200);
    const unready = await lonely.request('GET', '/readyz');
    assert.deepEqual(
      [unready.status, unready.body],
      [503, { detail: 'unavailable', database: false, signingKey: true }],
    );
    const token = `iam_pat_0123456789ab_${'x'.repeat(43)}`;
    for (const answer of [
      await lonely.get('/events'),
      await lonely.post('/tenants', { slug: 'abc', name: 'x' }),
      await lonely.request('POST', '/api/v1/platform-access-tokens:exchange', {
        body: { token, audience: 'a' },
      }),
    ]) {
      assert.deepEqual([answer.status, answer.body], [503, { detail: 'unavailable' }]);
      assert.equal(answer.headers.get('retry-after'), '1');
    }
    await proxy.mend();
    assert.equal((await lonely.get('/events')).status, 200);
    await lonely.close();
    await proxy.cut();
  });
});

describe('the address of the page of error codes', () => {
  test('gives each error a link to its code, and is absent without the setting', async () => {
    const linked = await identity.another({ IAM_DOCS_BASE_URL: 'https://docs.example.com/errors/' });
    const form = new URLSearchParams({ grant_type: 'password' }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const [method, path, options, code] of [
      ['GET', '/api/v1/tenants', {}, 'unauthorized'],
      ['GET', '/nowhere', {}, 'not_found'],
      ['POST', '/api/v1/tenants', { headers: adminHeader, body: {} }, 'invalid_request'],
    ] as const) {
      const docs = `https://docs.example.com/errors/#${code}`;
      const [withLink, plain] = [
        await linked.request(method, path, options),
        await identity.request(method, path, options),
      ];
      assert.deepEqual(withLink.body, { ...plain.body, docs });
      assert.deepEqual(Object.keys(plain.body), ['detail']);
    }
    const oauth = await linked.request('POST', '/oauth2/token', { headers, body: form });
    assert.equal(oauth.body.error, 'unsupported_grant_type');
    assert.equal(oauth.body.error_uri, 'https://docs.example.com/errors/#unsupported_grant_type');
    const scim = await linked.request('GET', '/scim/v2/Users');
    assert.deepEqual(Object.keys(scim.body), ['schemas', 'status', 'detail']);
    await linked.close();
  });

  test('must be an http or https address without a fragment', async () => {
    for (const address of ['docs/errors.md', 'ftp://docs.example.com/', 'https://docs.example.com/#errors'])
      await assert.rejects(
        identity.another({ IAM_DOCS_BASE_URL: address }),
        /^SettingError: IAM_DOCS_BASE_URL must be/,
      );
  });
});

describe('the description', () => {
  test('names every operation with its codes and events, in the form in which they are answered', async () => {
    const { status, body } = await identity.request('GET', '/openapi.json');
    assert.equal(status, 200);
    assert.deepEqual([body.info.title, body.info.version], ['IAM Service', '0.2.0']);
    assert.deepEqual(body, JSON.parse(JSON.stringify(describeApi())));
    const operations = Object.values(body.paths).flatMap((methods) => Object.values(methods as object));
    assert.equal(operations.length, endpoints.length);
    const issue =
      body.paths['/api/v1/tenants/{tenantId}/principals/{principalId}/platform-access-tokens'].post;
    assert.ok(issue['x-errors'].includes('authentication_context_expired'));
    assert.deepEqual(issue['x-events'], [{ type: 'platform_access_token.issued', version: 1 }]);
    const answerAt = (path: string, method: string, answered: string) => {
      const answer = body.paths[path][method].responses[answered];
      return answer?.$ref === undefined ? answer : body.components.responses[answer.$ref.split('/').at(-1)];
    };
    const formOf = ({ content }: { content: Record<string, { schema: { $ref: string } }> }) =>
      Object.entries(content).map(([type, { schema }]) => [type, schema.$ref.split('/').at(-1)]);
    const users = '/scim/v2/Users';
    assert.deepEqual(formOf(answerAt(users, 'post', '400')), [['application/scim+json', 'ScimError']]);
    assert.equal(answerAt(users, 'post', '422'), undefined);
    assert.notEqual(answerAt(users, 'post', '415'), undefined);
    assert.equal(answerAt(users, 'get', '415'), undefined);
    const standard = '/oauth2/token';
    assert.deepEqual(formOf(answerAt(standard, 'post', '400')), [['application/json', 'OauthError']]);
    assert.equal(answerAt(standard, 'post', '403'), undefined);
    assert.equal(answerAt(standard, 'post', '422'), undefined);
    const signIn = '/api/v1/tenants/{tenantId}/federation:authenticate';
    assert.match(answerAt(signIn, 'post', '401').description, /`invalid_issuer`/);
    assert.doesNotMatch(answerAt(signIn, 'post', '422').description, /`invalid_issuer`/);
    assert.deepEqual(formOf(answerAt(signIn, 'post', '401')), [['application/json', 'Error']]);
    const page = await identity.request('GET', '/docs');
    assert.ok(page.status === 200 && String(page.body).includes('<html'));
  });
});

test('text that is not HTTP closes its connection, not the service', async () => {
  const { port } = new URL(identity.url);
  await new Promise<void>((done) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write('nonsense\r\n\r\n'));
    socket.on('close', () => done());
    socket.resume();
  });
  assert.equal((await identity.request('GET', '/healthz')).status, 200);
});
