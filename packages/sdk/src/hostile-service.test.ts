import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { AccessToken } from './credentials.ts';
import { type BatonClient, BatonError, createClient } from './index.ts';
import { type Received, type StubAnswer, startStub } from './testing/stub-service.ts';

// Services and proxies that respond late, incorrectly, with too much data or not at all.

interface Setting {
  readonly exchange?: (tokens: number) => StubAnswer;
  readonly options?: Partial<Parameters<typeof createClient>[0]>;
}

async function withService(
  answer: (request: Received) => StubAnswer,
  work: (baton: BatonClient, calls: () => Received[]) => Promise<void>,
  { exchange, options }: Setting = {},
): Promise<void> {
  const stub = await startStub(answer, exchange);
  const baton = createClient({ url: stub.url, credential: { token: 'pat' }, ...options });
  try {
    await work(baton, () => stub.received.filter(({ url }) => !url.includes('exchange')));
  } finally {
    await stub.close();
  }
}

const unavailable = (retryAfter: string): StubAnswer => ({
  status: 503,
  body: { error: { code: 'unavailable', message: 'later' } },
  headers: { 'retry-after': retryAfter },
});

test('a wait beyond the deadline is not started: the error states its length', async () => {
  const inAYear = new Date(Date.now() + 365 * 86_400_000).toUTCString();
  for (const [retryAfter, atLeastMs] of [
    ['31536000', 31_536_000_000],
    [inAYear, 31_000_000_000],
  ] as const)
    await withService(
      () => unavailable(retryAfter),
      async (baton, calls) => {
        const beganMs = performance.now();
        const error = await baton.tasks.get('TASK-1').catch((caught: unknown) => caught);
        assert.ok(error instanceof BatonError && error.retryable);
        assert.ok((error.retryAfterMs ?? 0) >= atLeastMs, String(error.retryAfterMs));
        assertTookLess(beganMs, 5_000);
        assert.equal(calls().length, 1);
      },
    );
});

test('a wait without end is no loop without pause', async () => {
  await withService(
    () => unavailable('99999999999'),
    async (baton, calls) => {
      const call = baton.tasks.get('TASK-1', {
        deadlineMs: Number.POSITIVE_INFINITY,
        signal: AbortSignal.timeout(300),
      });
      await assert.rejects(call, { name: 'TimeoutError' });
      assert.equal(calls().length, 1);
    },
  );
});

test('a response of a gigabyte is rejected, with or without a stated length', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 32);
  for (const isTold of [true, false]) {
    let sent = 0;
    const endless: StubAnswer = (response) => {
      response.writeHead(200, {
        'content-type': 'application/json',
        ...(isTold && { 'content-length': 2 ** 30 }),
      });
      const more = () => {
        while (sent < 1024 && !response.destroyed) {
          sent += 1;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
      };
      more();
    };
    await withService(
      () => endless,
      async (baton) => {
        await assert.rejects(baton.tasks.get('TASK-1'), { code: 'unreadable_answer', retryable: false });
        assert.ok(sent < 200, `${sent} MiB were sent`);
      },
    );
  }
});

test('a truncated response is requested again', async () => {
  let calls = 0;
  const cut: StubAnswer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    response.write('{"id":');
    setTimeout(() => response.destroy(), 20);
  };
  await withService(
    () => (calls++ === 0 ? cut : { status: 200, body: { id: 't' } }),
    async (baton) => {
      assert.deepEqual(await baton.tasks.get('TASK-1'), { id: 't' });
      assert.equal(calls, 2);
    },
  );
});

test('bytes that are read slowly are cut off by the deadline of the call, not by that of an attempt', async () => {
  const bytes =
    (isEnded: boolean): StubAnswer =>
    (response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.write('first ');
      if (isEnded) setTimeout(() => response.end('second'), 600);
    };
  await withService(
    ({ url }) => bytes(url.includes('slow')),
    async (baton) => {
      const slow = async () => (await baton.artifacts.getContent('slow')).text();
      // The headers must arrive in time even on a slow machine; otherwise this doesn't test the transfer of the bytes.
      const never = async () => {
        const cut = await baton.artifacts.getContent('never', {}, { deadlineMs: byDepth(4_000, 1_000) });
        await assert.rejects(cut.text());
      };
      const [text] = await Promise.all([slow(), never()]);
      assert.equal(text, 'first second');
    },
    { options: { attemptMs: 500 } },
  );
});

test('a stream is sent once: after a 401 the refusal is the answer', async () => {
  await withService(
    () => ({ status: 401, body: { error: { code: 'invalid_token', message: 'no' } } }),
    async (baton, calls) => {
      const body = new Blob(['bytes']).stream() as ReadableStream<Uint8Array<ArrayBuffer>>;
      await assert.rejects(baton.artifactContents.upload(body), { code: 'invalid_token', status: 401 });
      assert.equal(calls().length, 1);
    },
  );
});

test('a service that answers the same page for ever is found out, whether or not it holds something', async () => {
  for (const items of [[], [{ id: 'task-1' }]])
    await withService(
      () => ({ status: 200, body: { items, nextCursor: 'again' } }),
      async (baton, calls) => {
        let read = 0;
        const all = async () => {
          for await (const _ of baton.tasks.list()) if (++read > 10) return;
        };
        await assert.rejects(all(), { code: 'unreadable_answer' });
        assert.deepEqual([read, calls().length], [items.length, 2]);
      },
    );
});

test('a waiting caller of an exchange may abort, and the others get its token', async () => {
  let answered = false;
  const slow: StubAnswer = (response) => {
    setTimeout(() => {
      answered = true;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ accessToken: 'late', expiresIn: 300 }));
    }, 400);
  };
  await withService(
    () => ({ status: 200, body: { id: 't' } }),
    async (baton, calls) => {
      const stop = new AbortController();
      const stopped = baton.tasks.get('TASK-1', { signal: stop.signal });
      const hurried = baton.tasks.get('TASK-1', { deadlineMs: 100 });
      const patient = baton.tasks.get('TASK-1');
      setTimeout(() => stop.abort(new Error('enough')), 20);
      await assert.rejects(stopped, /enough/);
      await assert.rejects(hurried, { code: 'deadline_exceeded' });
      assert.equal(answered, false);
      await patient;
      assert.deepEqual([baton.accessToken?.exchanges, calls().length], [1, 1]);
    },
    { exchange: () => slow },
  );
});

test('an exchange that fails for a moment is tried again, even for a call that may be sent once only', async () => {
  await withService(
    () => ({ status: 200, body: {} }),
    async (baton, calls) => {
      await baton.artifactContents.upload(
        new Blob(['x']).stream() as ReadableStream<Uint8Array<ArrayBuffer>>,
      );
      assert.deepEqual([baton.accessToken?.exchanges, calls().length], [3, 1]);
    },
    {
      exchange: (tokens) =>
        tokens < 3 ? 'hang up' : { status: 200, body: { accessToken: 'x', expiresIn: 9 } },
    },
  );
});

test('a token is used for 80 of 100 parts of its lifetime; one without a lifetime once', async () => {
  let nowMs = 1_000;
  const clock = mock.method(performance, 'now', () => nowMs);
  try {
    const lifetimes = [100, Number.NaN, 100];
    const token = new AccessToken(async () => ({
      accessToken: `t${lifetimes.length}`,
      expiresIn: lifetimes.shift() ?? 0,
    }));
    assert.equal(await token.get(), 't3');
    nowMs += 79_999;
    assert.equal(await token.get(), 't3');
    nowMs += 1;
    assert.equal(await token.get(), 't2');
    assert.equal(await token.get(), 't1');
    assert.equal(token.exchanges, 3);
  } finally {
    clock.mock.restore();
  }
});

test('the check before each attempt may end the call, and nothing is sent', async () => {
  let asked = 0;
  await withService(
    () => 'hang up',
    async (baton, calls) => {
      const call = baton.tasks.create(
        { title: 'x' },
        {
          beforeAttempt: () => {
            asked += 1;
            if (asked === 2) throw new Error('not any more');
          },
        },
      );
      await assert.rejects(call, /not any more/);
      assert.equal(calls().length, 1);
    },
  );
});
