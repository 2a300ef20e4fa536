import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertTookLess } from '@baton/testing/depth';
import { BatonError, createClient, etagOf } from './index.ts';
import { type Received, type StubAnswer, startStub } from './testing/stub-service.ts';

const refusal = (code: string) => ({
  error: { code, message: `it is ${code}`, details: { a: 1 }, requestId: 'r-1' },
});

/** Calls a service with the given responses. */
async function withClient(
  answer: (request: Received) => StubAnswer,
  work: (baton: ReturnType<typeof createClient>, calls: () => Received[]) => Promise<void>,
  options: Partial<Parameters<typeof createClient>[0]> = {},
): Promise<void> {
  const stub = await startStub(answer);
  const baton = createClient({ url: stub.url, credential: { token: 'pat' }, ...options });
  try {
    await work(baton, () => stub.received.filter(({ url }) => !url.includes('exchange')));
  } finally {
    await stub.close();
  }
}

test('a change is tried again under the key of its first attempt', async () => {
  let calls = 0;
  const answers: StubAnswer[] = [
    'hang up',
    { status: 503, body: refusal('unavailable') },
    { status: 409, body: refusal('idempotency_in_flight') },
  ];
  await withClient(
    () => answers[calls++] ?? { status: 201, body: { id: 't' } },
    async (baton, received) => {
      assert.deepEqual(await baton.tasks.create({ title: 'x' }), { id: 't' });
      assert.equal(received().length, 4);
      const keys = new Set(received().map(({ headers }) => String(headers['idempotency-key'])));
      assert.equal(keys.size, 1);
      assert.match([...keys][0] ?? '', /^[0-9a-f-]{32,36}$/);
    },
  );
});

test('a key of the caller is sent as it is', async () => {
  await withClient(
    () => ({ status: 201, body: {} }),
    async (baton, received) => {
      await baton.tasks.create({ title: 'x' }, { idempotencyKey: 'mine' });
      assert.equal(received()[0]?.headers['idempotency-key'], 'mine');
    },
  );
});

test('identity, its SCIM side and OAuth report errors in forms of their own', async () => {
  const problem = { type: 'missing', loc: ['body', 'name'], msg: 'is required' };
  for (const [body, code, message] of [
    [{ detail: 'credential_invalid' }, 'credential_invalid', 'credential invalid'],
    [{ detail: [problem] }, 'invalid_request', 'body.name: is required'],
    [{ schemas: ['x'], scimType: 'uniqueness', detail: 'Taken.', status: '409' }, 'uniqueness', 'Taken.'],
    [{ error: 'invalid_client', error_description: 'Who?' }, 'invalid_client', 'Who?'],
  ] as const)
    await withClient(
      () => ({ status: 422, body }),
      async (baton) => {
        const error = await baton.identity.tenants.get('t').catch((caught: unknown) => caught);
        assert.ok(error instanceof BatonError);
        assert.deepEqual([error.code, error.message], [code, message]);
      },
      { adminSecret: 's' },
    );
});

test('an error of identity may name the refused field', async () => {
  await withClient(
    () => ({ status: 403, body: { detail: 'outside_administration', field: 'keySet' } }),
    async (baton) => {
      const error = await baton.identity.tenants.get('t').catch((caught: unknown) => caught);
      assert.ok(error instanceof BatonError);
      assert.deepEqual([error.code, error.details], ['outside_administration', { field: 'keySet' }]);
    },
    { adminSecret: 's' },
  );
});

test('a refusal is one error with code, status, request and details, and is not tried again', async () => {
  await withClient(
    () => ({ status: 409, body: refusal('task_already_claimed') }),
    async (baton, received) => {
      const error = await baton.tasks.claim('TASK-1', { sessionId: 's' }).catch((caught: unknown) => caught);
      assert.ok(error instanceof BatonError);
      const { code, status, requestId, details, retryable, message } = error;
      assert.deepEqual(
        { code, status, requestId, details, retryable, message },
        {
          code: 'task_already_claimed',
          status: 409,
          requestId: 'r-1',
          details: { a: 1 },
          retryable: false,
          message: 'it is task_already_claimed',
        },
      );
      assert.equal(received().length, 1);
      assert.equal(received()[0]?.url, '/api/v1/tasks/TASK-1:claim');
    },
  );
});

test('Retry-After is obeyed', async () => {
  let calls = 0;
  await withClient(
    () =>
      calls++ === 0
        ? { status: 429, body: refusal('rate_limited'), headers: { 'retry-after': '1' } }
        : { status: 200, body: {} },
    async (baton) => {
      const began = performance.now();
      await baton.tasks.get('TASK-1');
      assert.ok(performance.now() - began >= 990);
    },
  );
});

test('a call ends with its deadline, however long the service is silent', async () => {
  await withClient(
    () => 'silence',
    async (baton) => {
      const began = performance.now();
      await assert.rejects(baton.tasks.get('TASK-1', { deadlineMs: 300 }), {
        code: 'deadline_exceeded',
        status: 0,
      });
      assertTookLess(began, 5_000);
    },
  );
});

test('an aborted call ends with the reason of the signal', async () => {
  await withClient(
    () => 'silence',
    async (baton) => {
      const controller = new AbortController();
      const call = baton.tasks.get('TASK-1', { signal: controller.signal });
      setTimeout(() => controller.abort(new Error('enough')), 20);
      await assert.rejects(call, /enough/);
    },
  );
});

test('calls at once share one exchange, and later calls its token', async () => {
  await withClient(
    () => ({ status: 200, body: {} }),
    async (baton, received) => {
      await Promise.all(Array.from({ length: 20 }, () => baton.tasks.get('TASK-1')));
      await baton.tasks.get('TASK-1');
      assert.equal(baton.accessToken?.exchanges, 1);
      assert.deepEqual(
        [...new Set(received().map(({ headers }) => headers.authorization))],
        ['Bearer token-1'],
      );
    },
  );
});

test('after a 401 one new token is requested, and a second 401 is the result', async () => {
  await withClient(
    ({ headers }) =>
      headers.authorization === 'Bearer token-2'
        ? { status: 200, body: {} }
        : { status: 401, body: refusal('invalid_credentials') },
    async (baton) => {
      await Promise.all(Array.from({ length: 8 }, () => baton.tasks.get('TASK-1')));
      assert.equal(
        baton.accessToken?.exchanges,
        2,
        'those that were refused together share the second exchange',
      );
    },
  );
  await withClient(
    () => ({ status: 401, body: refusal('invalid_credentials') }),
    async (baton, received) => {
      await assert.rejects(baton.tasks.get('TASK-1'), { code: 'invalid_credentials', status: 401 });
      assert.equal(received().length, 2);
    },
  );
});

test('a list gives a page when awaited, and all items when iterated', async () => {
  const page = (url: string) =>
    url.includes('cursor=b') ? { items: [3], nextCursor: null } : { items: [1, 2], nextCursor: 'b' };
  await withClient(
    ({ url }) => ({ status: 200, body: page(url) }),
    async (baton, received) => {
      assert.deepEqual((await baton.tasks.list({ status: 'ready', limit: 2 })).items, [1, 2]);
      assert.equal(received()[0]?.url, '/api/v1/tasks?status=ready&limit=2');
      const items: unknown[] = [];
      for await (const task of baton.tasks.list({ status: 'ready' })) items.push(task);
      assert.deepEqual(items, [1, 2, 3]);
    },
  );
});

test('the ETag of an answer is sent as If-Match', async () => {
  await withClient(
    () => ({ status: 200, body: { id: 'w' }, headers: { etag: '"workspace-3"' } }),
    async (baton, received) => {
      const workspace = await baton.workspaces.get('w');
      await baton.workspaces.update('w', { name: 'New' }, { ifMatch: etagOf(workspace) });
      assert.equal(received()[1]?.headers['if-match'], '"workspace-3"');
    },
  );
});

test('a response of another server is an error that names it as such', async () => {
  await withClient(
    () => ({ status: 404, body: 'nothing here' }),
    async (baton) => {
      await assert.rejects(baton.tasks.get('TASK-1'), { code: 'unreadable_answer', status: 404 });
    },
  );
});

test('a service that is not there is a network error', async () => {
  const baton = createClient({
    url: 'http://127.0.0.1:9',
    credential: { accessToken: async () => ({ accessToken: 'x', expiresIn: 300 }) },
    attempts: 2,
  });
  await assert.rejects(baton.tasks.get('TASK-1'), { code: 'network_error', status: 0, retryable: true });
});

test('a call without the credential that it needs names the credential', async () => {
  const baton = createClient({ url: 'http://127.0.0.1:9' });
  await assert.rejects(baton.tasks.get('TASK-1'), /needs the credential/);
  await assert.rejects(baton.identity.tenants.list(), /needs the admin secret/);
});

test('wrong fields do not compile', () => {
  const baton = createClient({ url: 'http://127.0.0.1:9' });
  const calls = () => [
    // @ts-expect-error: a task has a title
    baton.tasks.create({ name: 'x' }),
    // @ts-expect-error: a claim needs a session
    baton.tasks.claim('TASK-1', {}),
    // @ts-expect-error: no such filter
    baton.tasks.list({ colour: 'red' }),
    // @ts-expect-error: changing a workspace requires the ETag that was read
    baton.workspaces.update('w', { name: 'New' }),
    // @ts-expect-error: no such code
    (error: BatonError) => error.code === 'no_such_code',
  ];
  assert.equal(typeof calls, 'function');
});

test('a query in the path of a request and one beside it are sent as one, and the latter replaces names of the former', async () => {
  await withClient(
    () => ({ status: 200, body: { items: [], nextCursor: null } }),
    async (baton, calls) => {
      const sent = async (path: string, query?: Readonly<Record<string, unknown>>) => {
        await baton.request('GET', path, query && { query });
        return calls().at(-1)?.url;
      };
      const tasks = '/api/v1/tasks';
      assert.equal(await sent(`${tasks}?q=the`), `${tasks}?q=the`);
      assert.equal(await sent(`${tasks}?q=the+end&limit=50`, {}), `${tasks}?q=the+end&limit=50`);
      assert.equal(await sent(`${tasks}?q=the`, { cursor: 'c2' }), `${tasks}?q=the&cursor=c2`);
      // The pages after the first one keep the path's parameters and replace its cursor.
      assert.equal(await sent(`${tasks}?cursor=c1&q=a%26b`, { cursor: 'c2' }), `${tasks}?cursor=c2&q=a%26b`);
      assert.equal(await sent(`${tasks}?label=a&label=b`, { q: 'x' }), `${tasks}?label=a&label=b&q=x`);
      assert.equal(await sent(`${tasks}?label=a&label=b`, { label: ['c'] }), `${tasks}?label=c`);
      assert.equal(await sent(`${tasks}?`, { q: 'x' }), `${tasks}?q=x`);
      assert.equal(await sent(`${tasks}?q=x#top`), `${tasks}?q=x`);
    },
  );
});

test('a path of a request can not name another host, which would get the token', async () => {
  const sent: string[] = [];
  const baton = createClient({
    url: 'http://127.0.0.1:1',
    credential: { token: 'pat' },
    transport: async ({ url }) => {
      sent.push(url);
      throw new Error('nothing is sent here');
    },
  });
  for (const path of ['@baton.example/api/v1/tasks', '.baton.example/api/v1/tasks', '8/api/v1/tasks', ''])
    await assert.rejects(baton.request('GET', path), /^TypeError: a path begins with a slash/, path);
  assert.deepEqual(sent, []);
});

test('a redirect is refused once, with where it leads, and the token goes nowhere else', async (t) => {
  const foreign = await startStub(() => ({ status: 200, body: {} }));
  t.after(() => foreign.close());
  for (const status of [301, 302, 307, 308])
    await withClient(
      () => ({ status, headers: { location: `${foreign.url}/api/v1/tasks/TASK-1` } }),
      async (baton, calls) => {
        await assert.rejects(baton.tasks.get('TASK-1'), (error) => {
          assert.ok(error instanceof BatonError);
          assert.deepEqual([error.code, error.status, error.retryable], ['unreadable_answer', status, false]);
          assert.match(
            error.message,
            /^http:\/\/127\.0\.0\.1:\d+ redirects to http:\/\/127\.0\.0\.1:\d+, which is not followed/,
          );
          return true;
        });
        assert.equal(calls().length, 1);
      },
    );
  assert.deepEqual(foreign.received, []);
});

test('a redirect that a browser hides is refused, too', async () => {
  const hidden = {
    status: 0,
    headers: new Headers(),
    body: null,
    text: async () => '',
    arrayBuffer: async () => new ArrayBuffer(),
  };
  await withClient(
    () => ({ status: 200, body: {} }),
    async (baton) => {
      await assert.rejects(baton.tasks.get('TASK-1'), /redirects, which is not followed/);
    },
    {
      transport: async () => hidden,
      credential: { accessToken: async () => ({ accessToken: 'a', expiresIn: 60 }) },
    },
  );
});

test('requests are made as Cloudflare Workers take them', async () => {
  const { fetch: own } = globalThis;
  // The fetch of Cloudflare Workers rejects unknown options.
  globalThis.fetch = async (input, init) => {
    if (init?.redirect === 'error')
      throw new TypeError('Invalid redirect value, must be one of "follow" or "manual"');
    for (const name of ['mode', 'credentials', 'cache', 'keepalive'] as const)
      if (init?.[name] !== undefined)
        throw new Error(`The '${name}' field on 'RequestInitializerDict' is not implemented.`);
    return own(input, init);
  };
  try {
    await withClient(
      () => ({ status: 200, body: { id: 't' } }),
      async (baton) => assert.deepEqual(await baton.tasks.get('TASK-1'), { id: 't' }),
      { attempts: 1 },
    );
  } finally {
    globalThis.fetch = own;
  }
});

test('a certificate that is not accepted is reported, and the call is not retried', async () => {
  for (const code of ['SELF_SIGNED_CERT_IN_CHAIN', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID']) {
    let calls = 0;
    const transport = async () => {
      calls += 1;
      // The error has the form that Node's fetch throws.
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code }) });
    };
    const credential = { accessToken: async () => ({ accessToken: 'a', expiresIn: 60 }) };
    const baton = createClient({ url: 'https://baton.test', credential, transport });
    await assert.rejects(baton.tasks.get('TASK-1'), (error) => {
      assert.ok(error instanceof BatonError);
      assert.deepEqual([error.code, error.retryable], ['network_error', false]);
      assert.equal(error.message, `the certificate of https://baton.test is not accepted (${code})`);
      return true;
    });
    assert.equal(calls, 1);
  }
});

test("identity's administration is called with an administration token, requested once and renewed when it is rejected", async () => {
  let issued = 0;
  const administrationToken = async () => {
    issued += 1;
    return { accessToken: `adm-${issued}`, expiresIn: 100 };
  };
  await withClient(
    ({ headers }) =>
      headers['authorization'] === 'Bearer adm-1' && issued === 1 && rejects.next
        ? { status: 401, body: { detail: 'unauthorized' } }
        : { status: 200, body: {} },
    async (baton, received) => {
      await baton.identity.tenants.get('t');
      await baton.identity.principals.create('t', { kind: 'agent', displayName: 'x' });
      assert.equal(issued, 1);
      rejects.next = true;
      await baton.identity.tenants.get('t');
      assert.deepEqual(
        received().map(({ headers }) => headers['authorization']),
        ['Bearer adm-1', 'Bearer adm-1', 'Bearer adm-1', 'Bearer adm-2'],
      );
      assert.ok(received().every(({ headers }) => headers['x-iam-bootstrap-token'] === undefined));
    },
    { administrationToken },
  );
});
const rejects = { next: false };

test('the admin secret is sent alone where a client has both, and a client with neither is an error of the program', async () => {
  const administrationToken = () => Promise.reject(new Error('not needed'));
  await withClient(
    () => ({ status: 200, body: {} }),
    async (baton, received) => {
      await baton.identity.tenants.get('t');
      const [{ headers } = { headers: {} as Record<string, unknown> }] = received();
      assert.deepEqual([headers['x-iam-bootstrap-token'], headers['authorization']], ['s', undefined]);
    },
    { adminSecret: 's', administrationToken },
  );
  await withClient(
    () => ({ status: 200, body: {} }),
    (baton) => assert.rejects(baton.identity.tenants.get('t'), /needs the admin secret/),
  );
});
