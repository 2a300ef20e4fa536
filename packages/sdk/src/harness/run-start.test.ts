import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '@baton/coordination/testing/coordination';
import { type BatonClient, BatonError, createClient } from '../index.ts';
import { startStub } from '../testing/stub-service.ts';
import { stubWork } from '../testing/stub-work.ts';
import { fetchTransport, type Transport } from '../transport.ts';

let service: TestCoordination;
let admin: BatonClient;
before(async () => {
  service = await startCoordination();
  admin = clientOf(service.admin.token);
});
after(() => service.close());

function clientOf(accessToken: string, transport: Transport = fetchTransport): BatonClient {
  const credential = { accessToken: async () => ({ accessToken, expiresIn: 300 }) };
  return createClient({ coordinationUrl: service.url, identityUrl: service.url, credential, transport });
}

interface RegisteredAgent {
  readonly key: string;
  readonly principalId: string;
  readonly baton: BatonClient;
  /** The agent's calls about runs and revisions, such as `start-run` and `me`. */
  readonly calls: string[];
}

const specOf = (instructions: string) => ({
  displayName: 'Helper',
  identity: {
    kind: 'agent' as const,
    permissions: ['sessions.open', 'tasks.read', 'tasks.claim', 'task_types.read'],
  },
  executor: { kind: 'llm' as const, instructions },
});

/** An agent registered as in docs/agents.md, with the identity that it acts as. */
async function registerAgent(): Promise<RegisteredAgent> {
  const key = `a${randomUUID()}`;
  await admin.agents.publish({ key, spec: specOf('Count.') });
  const identity = {
    issuer: service.issuer.issuer,
    iamTenantId: service.tenantId,
    iamPrincipalId: randomUUID(),
  };
  const { principalId } = await admin.agents.linkIdentity(key, identity);
  const scope = ['control-plane:read', 'control-plane:write'];
  const token = await service.issuer.sign({
    sub: identity.iamPrincipalId,
    tenant_id: service.tenantId,
    scope,
  });
  const calls: string[] = [];
  const transport: Transport = (request) => {
    const [, call] = /(start-run|\/me)$/.exec(request.url) ?? [];
    if (call !== undefined) calls.push(call.replace('/', ''));
    return fetchTransport(request);
  };
  assert.ok(principalId);
  return { key, principalId, baton: clientOf(token, transport), calls };
}

const revisionOf = async (key: string) => (await admin.agents.get(key)).revision.id;

test('a registered agent works under its revision, and takes up a later one with the next task', async () => {
  const agent = await registerAgent();
  for (const title of ['first', 'second', 'third'])
    await admin.tasks.create({ title, assigneeId: agent.principalId });
  const first = await revisionOf(agent.key);
  const used: (string | null)[] = [];
  await using harness = await agent.baton.harness.open({ name: 'registered' });
  for await (const lease of harness.work({ filter: { assignedToMe: true }, once: true })) {
    used.push(lease.run.agentRevisionId);
    if (used.length === 2) await admin.agents.publish({ key: agent.key, spec: specOf('Count twice.') });
    await lease.succeed();
  }
  assert.deepEqual(used, [first, first, await revisionOf(agent.key)]);
  assert.notEqual(used[1], used[2]);
  // The first rejection reveals that the agent is registered; from then on, each run requires one read.
  assert.deepEqual(agent.calls, ['start-run', 'me', 'start-run', 'me', 'start-run', 'me', 'start-run']);
});

test('a run is started by hand under the revision, too, and one that is given is kept', async () => {
  const agent = await registerAgent();
  const session = await agent.baton.sessions.open({ clientName: 'by hand' });
  const start = async (more: { agentRevisionId?: string } = {}) => {
    const task = await admin.tasks.create({ title: 'by hand', assigneeId: agent.principalId });
    const { id: claimId, fencingToken } = await agent.baton.tasks.claim(task.id, { sessionId: session.id });
    return agent.baton.harness.startRun(task.id, { claimId, fencingToken, ...more });
  };
  const first = await revisionOf(agent.key);
  assert.equal((await start()).agentRevisionId, first);
  await admin.agents.publish({ key: agent.key, spec: specOf('Count backwards.') });
  assert.equal((await start({ agentRevisionId: first })).agentRevisionId, first);
  await assert.rejects(
    start({ agentRevisionId: randomUUID() }),
    (error) => error instanceof BatonError && error.code === 'agent_revision_mismatch',
  );
});

test('a caller that is not a registered agent reads no revision', async () => {
  const actor = await service.actor({ kind: 'agent' });
  await admin.tasks.create({ title: 'plain', assigneeId: actor.principalId });
  const urls: string[] = [];
  const plain = clientOf(actor.token, (request) => {
    urls.push(request.url);
    return fetchTransport(request);
  });
  await using harness = await plain.harness.open({ name: 'plain' });
  for await (const lease of harness.work({ filter: { assignedToMe: true }, once: true })) {
    assert.equal(lease.run.agentRevisionId, null);
    await lease.succeed();
  }
  assert.deepEqual(
    urls.filter((url) => url.endsWith('/me')),
    [],
  );
});

/**
 * A service that requires runs to have the revision `wanted`, and returns the revisions in `own` in turn, with a 404
 * for undefined.
 */
async function withRevisions(
  { wanted, own }: { wanted: () => string | undefined; own: (string | undefined)[] },
  work: (baton: BatonClient, calls: readonly string[]) => Promise<void>,
): Promise<void> {
  const refusal = (status: number, code: string) => ({ status, body: { error: { code, message: code } } });
  const stub = stubWork(9, {
    me: () => {
      const id = own.shift();
      return id === undefined ? refusal(404, 'not_found') : { status: 200, body: { revision: { id } } };
    },
    'start-run': ({ body }) => {
      const { agentRevisionId } = body as { agentRevisionId?: string };
      if (agentRevisionId === wanted()) return undefined;
      return refusal(
        422,
        agentRevisionId === undefined ? 'agent_revision_required' : 'agent_revision_mismatch',
      );
    },
  });
  const { url, close } = await startStub(stub.answer);
  try {
    await work(createClient({ url, credential: { token: 'stub' }, attempts: 1 }), stub.calls);
  } finally {
    await close();
  }
}

const request = { claimId: 'claim-1', fencingToken: 1 };
const looks = (calls: readonly string[]) => calls.filter((call) => ['me', 'start-run'].includes(call));

test('after a mismatch the revision is read once more, and the run is tried once more', async () => {
  let wanted: string | undefined = 'r1';
  await withRevisions({ wanted: () => wanted, own: ['r1', 'r1', 'r2'] }, async (baton, calls) => {
    await baton.harness.startRun('task-1', request);
    wanted = 'r2';
    await baton.harness.startRun('task-2', request);
    assert.deepEqual(looks(calls), ['start-run', 'me', 'start-run', 'me', 'start-run', 'me', 'start-run']);
  });
});

test('an agent whose registration has ended names none from then on', async () => {
  let wanted: string | undefined = 'r1';
  await withRevisions({ wanted: () => wanted, own: ['r1', 'r1', undefined] }, async (baton, calls) => {
    await baton.harness.startRun('task-1', request);
    wanted = undefined;
    await baton.harness.startRun('task-2', request);
    await baton.harness.startRun('task-3', request);
    assert.deepEqual(looks(calls).slice(3), ['me', 'start-run', 'me', 'start-run', 'start-run']);
  });
});

test('a revision that is refused again is a failure, not a loop', async () => {
  await withRevisions({ wanted: () => 'another', own: ['r1', 'r1', 'r1'] }, async (baton, calls) => {
    await assert.rejects(
      baton.harness.startRun('task-1', request),
      ({ code }: BatonError) => code === 'agent_revision_mismatch',
    );
    assert.deepEqual(looks(calls), ['start-run', 'me', 'start-run']);
  });
});
