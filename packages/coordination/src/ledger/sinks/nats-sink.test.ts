import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { describeLong } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startWorker } from '../../app/worker.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { type NatsServer, natsMissing, startNats } from '../../testing/ledger/nats.ts';
import { sampleEvent } from '../../testing/ledger/sinks.ts';
import { until as untilIn } from '../../testing/wait-until.ts';
import { type NatsTarget, openNatsSink } from './nats-sink.ts';
import { type Sink, SinkAway } from './sink.ts';

const never = new AbortController().signal;
const until = (holds: () => Promise<boolean>, what?: string) => untilIn(holds, what, 60_000);
const log = createLog({ name: 'worker', level: 'silent' });

test('an address with tls: sends no credentials to a server that offers no encryption', async () => {
  const token = `token-of-the-tests-${newId()}`;
  keepSecret('NATS token', token);
  let received = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (part) => {
      received += String(part);
      socket.destroy();
    });
    socket.write(
      'INFO {"server_id":"a","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}\r\n',
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const deliverBy = async (protocol: string) => {
    const sink = openNatsSink({
      name: 'bus',
      filter: { tenants: null, typePatterns: null },
      concurrency: 1,
      timeoutMs: 2000,
      servers: [`${protocol}//127.0.0.1:${port}`],
      subjectPrefix: 'one',
      token,
    });
    await assert.rejects(sink.deliver(sampleEvent(), never), SinkAway);
    await sink.close();
  };
  await deliverBy('tls:');
  assert.equal(received, '');
  await deliverBy('nats:');
  assert.ok(received.includes(token), 'without it they are sent');
});

describe("Debian's NATS server", { skip: natsMissing() ?? false }, () => {
  let server: NatsServer;
  const token = `token-of-the-tests-${newId()}`;
  const closing: (() => Promise<unknown>)[] = [];
  before(async () => {
    keepSecret('NATS token', token);
    server = await startNats(['--auth', token]);
  });
  after(() => server.close());
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  function sinkTo(more: Partial<NatsTarget> = {}): Sink {
    const sink = openNatsSink({
      name: 'bus',
      filter: { tenants: null, typePatterns: null },
      concurrency: 10,
      timeoutMs: 2000,
      servers: [server.url],
      subjectPrefix: 'one',
      token,
      ...more,
    });
    closing.push(sink.close);
    return sink;
  }
  const awayFrom = (sink: Sink) =>
    sink.deliver(sampleEvent(), never).then(
      () => assert.fail('delivered'),
      (error: unknown) => {
        assert.ok(error instanceof SinkAway, String(error));
        return error;
      },
    );

  test('an event is stored under its tenant and type, and its repeat is dropped by its id', async () => {
    await server.makeStream('ONE', 'one.>', token);
    const event = sampleEvent();
    const sink = sinkTo();
    await sink.deliver(event, never);
    await sink.deliver(event, never);
    const [message, ...others] = await server.messages('ONE', token);
    assert.deepEqual(others, []);
    assert.equal(message?.subject, `one.${event.tenantId}.task.claimed`);
    assert.equal(message?.id, event.id);
    assert.equal(message?.contentType, 'application/cloudevents+json');
    assert.deepEqual((message?.body as { data: object }).data, event);
  });

  test('if no stream takes the subject, the sink is reported not to accept the type', async () => {
    const { message, blame } = await awayFrom(sinkTo({ subjectPrefix: 'nobody' }));
    assert.deepEqual([message, blame], ['no stream takes the subject', 'type']);
  });

  test('with a wrong token, or without a server, the sink is unavailable', async () => {
    for (const target of [{ token: 'wrong' }, { servers: ['nats://127.0.0.1:1'] }]) {
      const { message, blame } = await awayFrom(sinkTo(target));
      // Tenants can read the message, so it must not contain the address.
      assert.match(message, /^no connection to NATS: \w+$/);
      assert.equal(blame, 'sink');
    }
  });

  test('an event that is larger than the server accepts is a failed attempt of that event', async () => {
    const large = sampleEvent({ payload: { text: 'x'.repeat(1_100_000) } });
    await assert.rejects(sinkTo().deliver(large, never), (error) => !(error instanceof SinkAway));
  });

  describeLong('with a worker', () => {
    let baton: TestCoordination;
    before(async () => {
      baton = await startCoordination({
        CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
        CP_OUTBOX_BACKOFF_MAX_SECONDS: '1',
        CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '4',
      });
    });
    after(() => baton.close());

    test('events without a stream become dead letters, and those that have one are delivered meanwhile', async () => {
      await server.makeStream('THREE', 'three.*.session.opened', token);
      const env = { ...baton.env, CP_OUTBOX_MAX_ATTEMPTS: '2' };
      const worker = await startWorker({ env, log, sinks: [sinkTo({ subjectPrefix: 'three' })] });
      closing.push(() => worker.close());
      const write = (type: string) =>
        writeEvents(
          baton.pool,
          baton.tenantId,
          Array.from({ length: 5 }, () => ({ type })),
        );
      await write('session.closed');
      const dead = async () =>
        (
          await baton.pool.row<{ n: number }>(
            sql`select count(*) as n from outbox_deliveries where dead_at is not null`,
          )
        )?.n;
      const ids = new Set<string>();
      await until(async () => {
        for (const id of await write('session.opened')) ids.add(id);
        await new Promise((done) => setTimeout(done, 200));
        return (await dead()) === 5;
      }, 'the dead letters');
      await until(async () => (await server.messages('THREE', token)).length === ids.size, 'the others');
      await baton.pool.run(sql`delete from outbox_deliveries`);
      await baton.pool.run(sql`delete from outbox_sinks`);
    });

    test('a server that is killed and restarted has every event once in its stream', async () => {
      await server.makeStream('TWO', 'two.>', token);
      const worker = await startWorker({ env: baton.env, log, sinks: [sinkTo({ subjectPrefix: 'two' })] });
      closing.push(() => worker.close());
      const ids: string[] = [];
      const write = async () =>
        void ids.push(
          ...(await writeEvents(
            baton.pool,
            baton.tenantId,
            Array.from({ length: 100 }, () => ({})),
          )),
        );
      for (let kills = 0; kills < 2; kills += 1) {
        await write();
        await until(async () => ((await server.messages('TWO', token)).length ?? 0) > 0);
        await write();
        await server.kill();
        await write();
        await server.start();
      }
      await until(async () => {
        const row = await baton.pool.row<{ n: number }>(
          sql`select count(*) + (select count(*) from outbox) as n from outbox_deliveries`,
        );
        return row?.n === 0;
      }, 'every delivery');
      const stored = (await server.messages('TWO', token)).map(({ id }) => id);
      assert.deepEqual(stored.toSorted(), ids.toSorted());
    });
  });
});
