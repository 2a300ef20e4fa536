import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { type StartedBaton, startBaton } from '../testing/console.ts';

// Responses of the console's server and the MCP endpoint to clients other than browsers.

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: { code?: string; accessToken?: string; error?: { code: string; requestId: string } };
}

describe('signing in to the console', () => {
  let baton: StartedBaton;
  let port: string;
  let adminToken: string;
  const pageKey = 'p'.repeat(43);

  before(async () => {
    baton = await startBaton({ IAM_FAILURES_PER_ADDRESS_MAX: '3' });
    port = new URL(baton.url).port;
    adminToken = baton.adminToken;
  });
  after(() => baton?.stop());

  /** @param from the client's address, any of 127.0.0.0/8 */
  function post(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
    from = '127.0.0.1',
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port,
          path,
          method: 'POST',
          localAddress: from,
          headers: { 'content-type': 'application/json', 'baton-console-key': pageKey, ...headers },
        },
        (answer) => {
          let text = '';
          answer.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          answer.on('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              body: (text.startsWith('{') ? JSON.parse(text) : {}) as Answer['body'],
            }),
          );
        },
      );
      sent.on('error', reject);
      sent.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  }
  const outcome = ({ status, body }: Answer) => [status, body.error?.code];

  test('a token opens a session, whose cookie only yields access tokens, until the sign-out', async () => {
    const signedIn = await post('/console/sign-in', { token: adminToken });
    assert.equal(signedIn.status, 200);
    const [cookie = ''] = signedIn.headers['set-cookie'] as string[];
    assert.match(cookie, /^baton_console=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict$/);
    const own = { cookie: cookie.split(';')[0] as string };
    const issued = await post('/console/token', {}, own);
    assert.equal(issued.body.accessToken?.split('.').length, 3);
    assert.equal(issued.headers['cache-control'], 'no-store');
    assert.deepEqual(outcome(await post('/console/codes', {}, own)), [400, 'invalid_request']);
    assert.equal((await post('/console/sign-out', {}, own)).status, 200);
    assert.deepEqual(outcome(await post('/console/token', {}, own)), [401, 'signed_out']);
    assert.deepEqual(outcome(await post('/console/token', {})), [401, 'signed_out']);
  });

  test("without the key of the page that signed in, its cookie can't open, change or end a session", async () => {
    const own = await signIn();
    const calls = [
      'token',
      'sign-out',
      'demo',
      'sign-in',
      'provider-sign-in',
      'provider-test',
      'passkey-sign-in',
      'invitation',
      'account',
      'passkeys',
      'first-passkey',
      'sessions',
    ];
    for (const key of ['', 'short', 'p'.repeat(44)])
      for (const call of calls) {
        const body =
          {
            demo: { act: 'state' },
            'sign-in': { token: adminToken },
            passkeys: { act: 'options' },
            sessions: { act: 'end-others' },
          }[call] ?? {};
        const answer = await post(`/console/${call}`, body, { ...own, 'baton-console-key': key });
        // This Baton has no identity providers, so this call fails with an error of its own.
        const expected =
          call === 'provider-sign-in' ? [404, 'identity_provider_not_found'] : [400, 'invalid_request'];
        assert.deepEqual(outcome(answer), expected, `${call} ${key}`);
        assert.equal(answer.headers['set-cookie'], undefined);
      }
    const other = { ...own, 'baton-console-key': 'q'.repeat(43) };
    assert.deepEqual(outcome(await post('/console/token', {}, other)), [401, 'signed_out']);
    assert.deepEqual(outcome(await post('/console/demo', { act: 'state' }, other)), [401, 'signed_out']);
    for (const body of [{}, { everywhere: 'yes' }])
      assert.equal((await post('/console/sign-out', body, other)).status, 200);
    assert.equal((await post('/console/token', {}, own)).status, 200);
  });

  test('a sign-in by a token has no passkeys and no sessions, and accepts no other acts', async () => {
    const own = await signIn();
    assert.deepEqual((await post('/console/account', {}, own)).body, {
      signedInBy: 'token',
      mayAddPasskey: false,
    });
    for (const [path, body, status, code] of [
      ['passkeys', { act: 'options' }, 409, 'browser_session_required'],
      ['passkeys', { act: 'remove', id: 'x' }, 409, 'browser_session_required'],
      ['sessions', { act: 'end-others' }, 409, 'browser_session_required'],
      ['passkeys', { act: 'toString' }, 400, 'invalid_request'],
      ['passkeys', {}, 400, 'invalid_request'],
      ['sessions', { act: 'list' }, 400, 'invalid_request'],
      ['first-passkey', {}, 409, 'browser_session_required'],
      ['provider-test', {}, 404, 'provider_test_not_found'],
      ['provider-sign-in', { provider: 'corp', test: 'yes' }, 404, 'identity_provider_not_found'],
      ['passkey-sign-in', { state: 'x' }, 400, 'invalid_request'],
      ['passkey-sign-in', { state: 'x', credential: '[]' }, 400, 'invalid_request'],
      ['passkey-sign-in', { credential: '{}' }, 400, 'invalid_request'],
      ['passkey-sign-in', { state: 'x', credential: '{}', more: 'x' }, 400, 'invalid_request'],
      ['invitation', { invitation: 'x', state: 'x', credential: '{}' }, 400, 'invalid_request'],
    ] as const)
      assert.deepEqual(outcome(await post(`/console/${path}`, body, own)), [status, code], path);
    for (const [path, body] of [
      ['account', {}],
      ['passkeys', { act: 'options' }],
      ['sessions', { act: 'end-others' }],
      ['first-passkey', {}],
      ['provider-test', {}],
      ['provider-sign-in', { provider: 'corp', test: 'yes' }],
      ['passkey-sign-in', { state: 'x', credential: '{}', confirm: 'yes' }],
    ] as const)
      assert.deepEqual(outcome(await post(`/console/${path}`, body)), [401, 'signed_out'], path);
    // Identity rejects a credential that only has the form of a passkey.
    const credential = JSON.stringify({
      id: 'AAAA',
      rawId: 'AAAA',
      type: 'public-key',
      response: { clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'AAAA' },
    });
    const wrong = await post('/console/passkey-sign-in', { state: 'x', credential }, own);
    assert.deepEqual(outcome(wrong), [401, 'invalid_passkey']);
    assert.equal(wrong.headers['set-cookie'], undefined);
    assert.equal((await post('/console/token', {}, own)).status, 200, 'the session stays');
  });

  test('cookies that another port has planted hide no session', async () => {
    const { cookie } = await signIn();
    const foreign = cookieIn(
      await post('/console/sign-in', { token: adminToken }, { 'baton-console-key': 'q'.repeat(43) }),
    );
    for (const cookies of [`${foreign}; ${cookie}`, `baton_console=x; ${foreign}; ${cookie}; ${foreign}`])
      assert.equal((await post('/console/token', {}, { cookie: cookies })).status, 200, cookies);
    const many = Array.from({ length: 20 }, () => foreign).join('; ');
    assert.deepEqual(outcome(await post('/console/token', {}, { cookie: `${many}; ${cookie}` })), [
      401,
      'signed_out',
    ]);
  });

  const cookieIn = ({ headers }: Answer) => (headers['set-cookie']?.[0] ?? '').split(';')[0] as string;
  const signIn = async (headers: Record<string, string> = {}) => ({
    cookie: cookieIn(await post('/console/sign-in', { token: adminToken }, headers)),
  });

  test('a sign-in sets a new cookie and ends the previous session; one action ends those of every browser', async () => {
    const planted = { cookie: `baton_console=${'A'.repeat(43)}` };
    const first = await signIn(planted);
    assert.notEqual(first.cookie, planted.cookie);
    assert.deepEqual(outcome(await post('/console/token', {}, planted)), [401, 'signed_out']);
    const second = await signIn(first);
    assert.deepEqual(outcome(await post('/console/token', {}, first)), [401, 'signed_out']);
    const elsewhere = await signIn();
    assert.equal((await post('/console/sign-out', { everywhere: 'yes' }, second)).status, 200);
    for (const own of [second, elsewhere])
      assert.deepEqual(outcome(await post('/console/token', {}, own)), [401, 'signed_out']);
  });

  test('a code for a browser is given to the owner of a token, and works once', async () => {
    const { status, body } = await post('/console/codes', { token: adminToken });
    assert.equal(status, 201);
    assert.equal((await post('/console/sign-in', { code: body.code })).status, 200);
    assert.deepEqual(outcome(await post('/console/sign-in', { code: body.code })), [401, 'code_invalid']);
  });

  test('other bodies and other sites are rejected', async () => {
    const refused = [
      [{ code: 1 }, {}, 400],
      [{ password: 'x' }, {}, 400],
      [{}, {}, 400],
      [{ code: 'x', token: 'x' }, {}, 400],
      ['[]', {}, 400],
      ['null', {}, 400],
      ['{', {}, 400],
      [{ token: adminToken }, { 'content-type': 'text/plain' }, 400],
      [{ token: adminToken }, { 'sec-fetch-site': 'cross-site' }, 403],
      [{ token: adminToken }, { 'sec-fetch-site': 'same-site' }, 403],
      [{ token: adminToken }, { origin: 'https://evil.example' }, 403],
      [{ token: adminToken }, { host: 'evil.example' }, 421],
      [{ token: 'x'.repeat(9000) }, {}, 413],
    ] as const;
    for (const [body, headers, status] of refused)
      assert.equal((await post('/console/sign-in', body, headers)).status, status, JSON.stringify(headers));
  });

  test('an address that guesses tokens is limited without affecting others', async () => {
    const guess = () => post('/console/sign-in', { token: 'bat_guessed' }, {}, '127.0.0.9');
    const signedIn = await post('/console/sign-in', { token: adminToken });
    const cookie = (signedIn.headers['set-cookie']?.[0] ?? '').split(';')[0] as string;
    for (let n = 0; n < 3; n += 1) assert.equal((await guess()).status, 401);
    assert.deepEqual(outcome(await guess()), [429, 'rate_limited']);
    assert.equal((await post('/console/token', {}, { cookie })).status, 200);
    assert.equal((await post('/console/sign-in', { token: adminToken })).status, 200);
  });

  test("an address that guesses tokens at /mcp doesn't limit others", async () => {
    const call = (token: string, from: string) =>
      post(
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' },
        from,
      );
    for (let n = 0; n < 3; n += 1) assert.equal((await call(`guessed-${n}`, '127.0.0.10')).status, 401);
    assert.equal((await call('guessed-3', '127.0.0.10')).status, 503);
    assert.equal((await call('guessed-4', '127.0.0.11')).status, 401);
    assert.notEqual((await call(adminToken, '127.0.0.1')).status, 503);
  });
});
