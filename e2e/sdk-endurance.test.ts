import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { type BatonClient, BatonError, createClient, fetchTransport, type Transport } from '@baton/sdk';
import { findProcesses, baton as runBaton } from '@baton/testing/baton-process';
import { isLongProof, longTest } from '@baton/testing/depth';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';
import { sdkExamples } from './generated/sdk-examples.ts';
import { withExampleWorld } from './testing/sdk-example-world.ts';

// A program built on the SDK that keeps running while its dependencies stop, restart and change.

let baton: RunningBaton;
let again: ReturnType<typeof runBaton> | undefined;

before(async () => {
  // In the long proof, a test kills the PostgreSQL of this Baton, so this Baton needs its own.
  baton = await startRunningBaton({ PORT: await freePort() }, { hasOwnPostgres: isLongProof });
});
after(async () => {
  again?.child.kill('SIGTERM');
  await again?.ended;
  await baton?.stop();
});

/** Counts the calls of a client, and the exchanges among them. */
function counted(change: (answer: Response) => Promise<Response> = async (answer) => answer) {
  const counts = { calls: 0, exchanges: 0 };
  const transport: Transport = async (request) => {
    const isExchange = request.url.endsWith('platform-access-tokens:exchange');
    counts[isExchange ? 'exchanges' : 'calls'] += 1;
    const answer = await fetchTransport(request);
    return isExchange && answer instanceof Response ? change(answer) : answer;
  };
  return { counts, transport };
}

const clientOf = (token: string | (() => string), transport: Transport): BatonClient =>
  createClient({ url: baton.url, credential: { token }, transport });

async function startAgain(): Promise<void> {
  again = runBaton(['start'], { BATON_HOME: baton.home, PORT: new URL(baton.url).port });
  await again.prints(/Baton is ready at http:\S+/);
}

/** The output of some examples, to verify their effect. */
const printed: Readonly<Record<string, RegExp>> = {
  'baton.ts: createClient': /^TASK-\d+ is \w+/,
  'baton.ts: BatonClient.follow': /Z \w+\.\w+ [\da-f-]{36}/,
  'credentials.ts: AccessToken.get': /^200$/,
  'harness/lease.ts: Lease.askApproval': /^pending suspended$/,
  'harness/lease.ts: Lease.lose': /^true lost$/,
  'harness/lease.ts: Lease.succeed': /^terminal_success$/,
  'idempotency-key.ts: newIdempotencyKey': /^true$/,
  'node/access.ts: findAccess': /\w/,
  'node/file-store.ts: fileStore': /^\w+\.\w+$/,
  'transport.ts: fetchTransport': /POST .*exchange\nGET .*\/api\/v1\/tasks\?limit=1/,
};

test('every example of the doc comments runs', async (context) => {
  const log = context.mock.method(console, 'log', () => undefined);
  for (const [name, example] of Object.entries(sdkExamples)) {
    log.mock.resetCalls();
    await withExampleWorld(baton, example).catch((cause: unknown) => {
      throw new Error(`the example of ${name} fails`, { cause });
    });
    const output = log.mock.calls.map((call) => (call.arguments as unknown[]).join(' ')).join('\n');
    assert.match(output, printed[name] ?? /^/, name);
  }
  assert.deepEqual(
    Object.keys(printed).filter((name) => sdkExamples[name] === undefined),
    [],
  );
});

longTest('work survives the restart of service and database: after SIGTERM, and after SIGKILL', async () => {
  const agent = await baton.participant();
  const { counts, transport } = counted();
  const client = clientOf(agent.token, transport);
  await using harness = await client.harness.open({ name: 'endures', leaseSeconds: 120 });
  const filter = { assigneeId: agent.principalId };
  const titles = ['through a stop', 'through kill -9'];
  for (const title of titles) await baton.admin.tasks.create({ title, ...filter });
  const done: string[] = [];
  for await (const lease of harness.work({ filter, once: true })) {
    await lease.checkpoint('before', {});
    const { node, postgres } = findProcesses(baton.home);
    const ended = again?.ended ?? baton.process.ended;
    if (lease.task.title === 'through a stop') process.kill(node, 'SIGTERM');
    else for (const pid of [node, postgres]) process.kill(pid, 'SIGKILL');
    await ended;
    // The call starts while no service responds, and retries until one does.
    const written = lease.checkpoint('during', {});
    await startAgain();
    await written;
    const { checkpoints } = await lease.context();
    assert.deepEqual(
      checkpoints.map(({ kind }) => kind),
      ['during', 'before'],
    );
    await lease.succeed();
    done.push(lease.task.title);
  }
  assert.deepEqual(done.toSorted(), titles.toSorted());
  assert.ok(counts.exchanges <= 3, `${counts.exchanges} exchanges`);
});

test('access tokens that expire during work are exchanged again, and a rotated token is found', async () => {
  const agent = await baton.participant();
  const { tenantId } = baton.connection;
  const { admin } = baton;
  let token = agent.token;
  // Makes the client treat each access token as expired after a second.
  const { counts, transport } = counted(async (answer) => {
    const issued = (await answer.json()) as object;
    return Response.json({ ...issued, expiresIn: 1 }, { status: answer.status });
  });
  const client = clientOf(() => token, transport);
  await using harness = await client.harness.open({ name: 'rotates', leaseSeconds: 30 });
  const filter = { assigneeId: agent.principalId };
  await admin.tasks.create({ title: 'through a rotation', ...filter });
  for await (const lease of harness.work({ filter, once: true })) {
    await lease.checkpoint('before', {});
    const { exchanges } = counts;
    await sleep(1_100);
    await lease.checkpoint('with a new access token', {});
    assert.ok(counts.exchanges > exchanges);
    const { credentialId } = await admin.identity.platformAccessTokens.introspect({ token });
    const rotated = await admin.identity.platformAccessTokens.rotate(tenantId, credentialId);
    assert.ok(rotated.token);
    await assert.rejects(
      admin.identity.platformAccessTokens.exchange({ token, audience: 'control-plane' }),
      (error: unknown) => error instanceof BatonError && error.status === 401,
    );
    token = rotated.token;
    await sleep(1_100);
    await lease.checkpoint('with a new token', {});
    assert.equal((await lease.succeed()).systemStatusCategory, 'terminal_success');
  }
});

test('at least 95 of 100 calls go with a cached access token', async () => {
  const agent = await baton.participant();
  const { counts, transport } = counted();
  const client = clientOf(agent.token, transport);
  const filter = { assigneeId: agent.principalId };
  for (let n = 0; n < 12; n += 1) await baton.admin.tasks.create({ title: `cached ${n}`, ...filter });
  const harness = await client.harness.open({ name: 'cached' });
  await harness.workParallel(4, { filter, once: true }, async (lease) => {
    await lease.checkpoint('half', {});
    await lease.succeed();
  });
  await harness.close();
  assert.ok(counts.calls >= 40, `${counts.calls} calls`);
  assert.ok(counts.exchanges / (counts.calls + counts.exchanges) <= 0.05, JSON.stringify(counts));
});
