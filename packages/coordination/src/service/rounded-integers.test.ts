import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker, type Worker } from '../testing/leases.ts';

let baton: TestCoordination;
let worker: Worker;

before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

/** Sends the body unchanged, because `JSON.stringify` can't write an integer that parsing rounds. */
async function send(
  method: string,
  path: string,
  body: string,
  token = baton.admin.token,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${baton.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body,
  });
  // biome-ignore lint/suspicious/noExplicitAny: the tests are about the form of a response
  return { status: response.status, body: (await response.json()) as any };
}

const customFields = (document: string) =>
  send('POST', '/tasks', `{"title":"numbers","customFields":${document}}`);

test('an integer that a double cannot hold exactly is refused with its path, never rounded', async () => {
  for (const [document, path] of [
    ['{"a":9007199254740993}', '/a'],
    ['{"a":-9007199254740993}', '/a'],
    ['{"steps":[1,{"n":12345678901234567890}]}', '/steps/1/n'],
    ['{"a":9007199254740993.000}', '/a'],
    ['{"a":1e23}', '/a'],
    ['{"a":9007199254740.993e3}', '/a'],
    ['{"\\u0061\\"":[[],{},"9007199254740993",[90071992547409930e-1]]}', '/a"/3/0'],
    ['{"a":{"b":1},"a":{"b":9007199254740993}}', '/a/b'],
    ['{"__proto__":{"a":9007199254740993}}', '/__proto__/a'],
  ] as const) {
    const { status, body } = await customFields(document);
    assert.deepEqual([status, body.error?.code], [422, 'invalid_document'], document);
    assert.deepEqual(body.error.details, { field: 'customFields', path });
  }
});

test('a number that a double holds exactly is kept, and so is a fraction', async () => {
  for (const document of [
    '{"a":9007199254740992,"b":-9007199254740991,"c":1152921504606846976,"d":1e22,"e":0.1234567890123456789}',
    '{"a":"9007199254740993","b":"\\"9007199254740993","9007199254740993":1,"c":1000000000000000000000}',
    '{"a":9007199254740993,"a":1,"b":0e99,"c":1.5e-300,"d":0,"e":0.00000000000000000001}',
  ]) {
    const { status, body } = await customFields(document);
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(body.customFields, JSON.parse(document));
  }
});

test('every free document is validated', async () => {
  const rounded = '{"a":[9007199254740993]}';
  const task = await makeTask(baton);
  const claim = await claimTask(worker, task.id);
  const keys = `"claimId":"${claim.id}","fencingToken":${claim.fencingToken}`;
  const start = `/tasks/${task.id}:start-run`;
  const { token } = worker.actor;
  const harness = `"type":"test","version":"1","protocolVersion":"1","capabilities":[]`;
  const calls: [method: string, path: string, body: string, field: string][] = [
    ['POST', start, `{${keys},"input":${rounded}}`, 'input'],
    ['POST', start, `{${keys},"metadata":${rounded}}`, 'metadata'],
    ['POST', '/sessions', `{"clientName":"x","metadata":${rounded}}`, 'metadata'],
    [
      'POST',
      '/sessions',
      `{"clientName":"x","harness":{${harness},"environment":${rounded}}}`,
      'harness.environment',
    ],
  ];
  for (const [method, path, body, field] of calls) {
    const answer = await send(method, path, body, token);
    assert.deepEqual(
      [answer.status, answer.body.error?.details],
      [422, { field, path: '/a/0' }],
      `${path} ${JSON.stringify(answer.body)}`,
    );
  }
  const run = await done(
    worker.actor.post(start, { claimId: claim.id, fencingToken: claim.fencingToken }),
    201,
  );
  for (const [verb, more] of [
    ['succeed', ''],
    ['fail', '"failureReason":"x",'],
  ])
    assert.equal(
      (await send('POST', `/runs/${run.id}:${verb}`, `{${more}"output":${rounded}}`, token)).body.error?.code,
      'invalid_document',
    );
  const principal = await send(
    'POST',
    '/principals',
    `{"kind":"agent","displayName":"${newId()}","metadata":${rounded}}`,
  );
  assert.equal(principal.body.error?.code, 'invalid_document', JSON.stringify(principal.body));

  const { principalId } = await baton.actor();
  const { headers } = await baton.admin.get(`/principals/${principalId}`);
  const change = await send('PATCH', `/principals/${principalId}`, `{"metadata":${rounded}}`, undefined, {
    'if-match': headers.get('etag') ?? '',
  });
  assert.equal(change.body.error?.code, 'invalid_document', JSON.stringify(change.body));
});

test('1 MiB of numbers takes less than 2 s of processor time', async () => {
  for (const part of ['9007199254740993,', '1,', '[],', '1e22,', '1e23,', `${'7'.repeat(300)},`]) {
    const items = part.repeat(Math.floor(1_000_000 / part.length));
    const began = computedMs();
    const { status } = await customFields(`{"a":[${items}9007199254740993]}`);
    assert.equal(status, 422);
    assert.ok(computedMs() - began < 2000, `${part.slice(0, 20)} ${computedMs() - began} ms`);
  }
  const deep = `${'['.repeat(200_000)}${'[9007199254740993],'.repeat(25_000)}0${']'.repeat(200_000)}`;
  const began = computedMs();
  assert.equal((await customFields(`{"a":${deep}}`)).status, 422);
  assert.ok(computedMs() - began < 2000, `deep ${computedMs() - began} ms`);
});

/** CPU time of this thread, in which the service runs, too; time spent waiting on a busy machine doesn't count. */
function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
