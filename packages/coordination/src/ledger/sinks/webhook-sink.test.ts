import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { makeWebhookSecret, type Receiver, sampleEvent, startReceiver } from '../../testing/ledger/sinks.ts';
import { until } from '../../testing/wait-until.ts';
import { CloudEvent } from './cloud-event.ts';
import { parseWebhookSecret } from './signature.ts';
import { type Sink, SinkAway } from './sink.ts';
import { openWebhookSink } from './webhook-sink.ts';

const secrets = [makeWebhookSecret(), makeWebhookSecret()];
const closing: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));
const never = new AbortController().signal;

async function receiver(...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  const made = await startReceiver(...args);
  closing.push(made.stop);
  return made;
}

function sinkTo(url: string, concurrency = 4): Sink {
  const sink = openWebhookSink({
    name: 'test',
    filter: { tenants: null, typePatterns: null },
    concurrency,
    timeoutMs: 10_000,
    url: new URL(url),
    secrets: secrets.map((text) => parseWebhookSecret(text) as Buffer),
  });
  closing.push(sink.close);
  return sink;
}

test('an event is sent as a CloudEvent in structured mode, with its own id, and each secret verifies it', async () => {
  const { url, received } = await receiver();
  const event = sampleEvent();
  await sinkTo(url).deliver(event, never);
  const [{ headers, body }] = received as [(typeof received)[0]];
  assert.equal(headers['content-type'], 'application/cloudevents+json');
  assert.equal(headers['webhook-id'], event.id);
  const document = CloudEvent.parse(JSON.parse(body));
  assert.deepEqual(document.data, event);
  assert.deepEqual(
    { ...document, data: null },
    {
      specversion: '1.0',
      id: event.id,
      source: `/tenants/${event.tenantId}`,
      type: 'task.claimed',
      subject: `task/${event.entityId}`,
      time: event.occurredAt,
      datacontenttype: 'application/json',
      sequence: '0000000000004711.0000000000000017',
      data: null,
    },
  );
  for (const secret of secrets)
    assert.deepEqual(new Webhook(secret).verify(body, headers as Record<string, string>), document);
  assert.throws(() => new Webhook(makeWebhookSecret()).verify(body, headers as Record<string, string>));
  assert.throws(() =>
    new Webhook(secrets[0] as string).verify(`${body} `, headers as Record<string, string>),
  );
});

for (const status of [200, 202, 299])
  test(`${status} counts as delivered`, async () => {
    const { url } = await receiver(() => ({ status }));
    await sinkTo(url).deliver(sampleEvent(), never);
  });

for (const status of [400, 401, 404, 500])
  test(`${status} counts as a failed attempt of that event`, async () => {
    const { url } = await receiver(() => ({ status }));
    await assert.rejects(sinkTo(url).deliver(sampleEvent(), never), (error: Error) => {
      assert.ok(!(error instanceof SinkAway));
      assert.equal(error.message, `answered ${status}`);
      return true;
    });
  });

for (const status of [301, 302, 307, 308])
  test(`${status} counts as a failed attempt: redirects are not followed`, async () => {
    const other = await receiver();
    const { url } = await receiver(() => ({ status, headers: { location: other.url } }));
    await assert.rejects(sinkTo(url).deliver(sampleEvent(), never), { message: `answered ${status}` });
    assert.equal(other.received.length, 0);
  });

async function awayFrom(url: string, sink = sinkTo(url)): Promise<SinkAway> {
  const error = await sink.deliver(sampleEvent(), never).then(
    () => assert.fail('delivered'),
    (error: unknown) => error,
  );
  assert.ok(error instanceof SinkAway, String(error));
  return error;
}

for (const [status, retryAfter, pauseMs, blame] of [
  [429, '7', 7000, 'sink'],
  [429, undefined, undefined, 'sink'],
  [502, undefined, undefined, 'unclear'],
  [503, '2', 2000, 'unclear'],
  [503, 'soon', undefined, 'unclear'],
  [504, undefined, undefined, 'unclear'],
  [410, undefined, 300_000, 'sink'],
] as const)
  test(`${status} with Retry-After ${retryAfter} pauses the sink and counts no attempt`, async () => {
    const { url } = await receiver(() => ({
      status,
      ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
    }));
    const error = await awayFrom(url);
    assert.deepEqual([error.pauseMs, error.blame], [pauseMs, blame]);
  });

test('a date in Retry-After is respected', async () => {
  const { url } = await receiver(() => ({
    status: 503,
    headers: { 'retry-after': new Date(Date.now() + 60_000).toUTCString() },
  }));
  const { pauseMs = 0 } = await awayFrom(url);
  assert.ok(pauseMs > 50_000 && pauseMs <= 60_000, String(pauseMs));
});

test('a receiver that does not listen is unavailable, regardless of the event', async () => {
  const { url, stop } = await receiver();
  await stop();
  assert.equal((await awayFrom(url)).message, 'ECONNREFUSED');
});

test('a receiver without TLS is unavailable', async () => {
  const { url } = await receiver();
  await awayFrom(url.replace('http:', 'https:'));
});

test('a receiver that accepts the event and never responds fails that event', async () => {
  const { url, received } = await receiver(() => undefined);
  const timeout = new AbortController();
  const failing = sinkTo(url)
    .deliver(sampleEvent(), timeout.signal)
    .catch((error: unknown) => error);
  await until(() => received.length === 1, 'the request');
  timeout.abort(new DOMException('too late', 'TimeoutError'));
  const error = await failing;
  assert.ok(error instanceof Error && !(error instanceof SinkAway), String(error));
});

test('a receiver that switches protocols fails the event immediately', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\n'),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => new Promise((done) => server.close(done)));
  const { port } = server.address() as AddressInfo;
  const error = await sinkTo(`http://127.0.0.1:${port}/`)
    .deliver(sampleEvent(), never)
    .catch((error: unknown) => error);
  assert.ok(error instanceof Error && !(error instanceof SinkAway), String(error));
});

test('a delivery that times out before there is a connection counts no attempt', async () => {
  const { url } = await receiver();
  const error = await sinkTo(url)
    .deliver(sampleEvent(), AbortSignal.abort())
    .catch((error: unknown) => error);
  assert.ok(error instanceof SinkAway, String(error));
  assert.equal(error.message, 'no connection in time');
});

test('a response of any length counts as delivered, and is not read to its end', async () => {
  const { url } = await receiver(() => ({ status: 200, body: 'x'.repeat(50_000_000) }));
  const sink = sinkTo(url, 1);
  await sink.deliver(sampleEvent(), never);
  await sink.deliver(sampleEvent(), never);
});

test('a kept connection that the receiver has closed is replaced without a failure', async () => {
  const made = await receiver();
  const sink = sinkTo(made.url, 1);
  await sink.deliver(sampleEvent(), never);
  await made.stop();
  await made.start();
  await sink.deliver(sampleEvent(), never);
  assert.equal(made.received.length, 2);
});
