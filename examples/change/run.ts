// node bin/run.mjs examples/change/run.ts: starts a Baton in a folder of its own, publishes change.yaml, and runs one
// change from start to end, as the two agents, the release manager and the release service. It uses only
// the public HTTP API, and its exit code is 1 if a result is not as expected.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, type Baton, type Call, until, withBaton } from './baton.ts';

const entrypoint = 'example.release:release';
const title = 'Invoices for companies';

/** An agent of the registry: its calls, and the revision that its runs record. */
interface Agent {
  readonly call: Call;
  readonly revisionId: string;
}

function say(text: string): void {
  console.log(text);
}

function expect(what: string, found: unknown, wanted: unknown): void {
  const [is, should] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (is !== should) throw new Error(`${what} should be ${should} and is ${is}`);
}

async function addAgent({ admin, enrol }: Baton, key: string, permissions: string[]): Promise<Agent> {
  const { binding, call } = await enrol('agent', key);
  const spec = { displayName: key, identity: { kind: 'agent', permissions } };
  const { revision } = await admin('POST', '/agents', { key, spec });
  await admin('PUT', `/agents/${key}/identity`, binding);
  return { call, revisionId: revision.id };
}

async function addPerson({ admin, enrol }: Baton, displayName: string, slug: string, permissions: string[]) {
  const { binding, call } = await enrol('human', displayName);
  const { id } = await admin('POST', '/principals', { kind: 'human', displayName });
  await admin('POST', `/principals/${id}/iam-bindings`, { ...binding, permissions });
  const role = await admin('POST', '/roles', { slug, name: slug });
  await admin('POST', `/principals/${id}/roles`, { roleId: role.id });
  return { id, call };
}

async function tell(baton: Baton): Promise<void> {
  const { admin } = baton;
  const working = ['sessions.open', 'tasks.claim', 'tasks.read', 'tasks.write'];
  const desk = ['tasks.read', 'tasks.write', 'approvals.read', 'approvals.manage', 'skills.invoke'];
  await addAgent(baton, 'change-desk', [...desk, 'processes.operate']);
  const developer = await addAgent(baton, 'developer', working);
  const reviewer = await addAgent(baton, 'reviewer', working);
  const releaser = await addAgent(baton, 'release-service', ['skills.execute']);
  const petra = await addPerson(baton, 'Petra', 'release-manager', ['approvals.read', 'approvals.decide']);
  const henrik = await addPerson(baton, 'Henrik', 'head-of-delivery', ['events.read', 'processes.read']);
  await admin('POST', '/task-types', { key: 'change', displayName: 'Change' });
  await admin('POST', '/skills', {
    name: 'release',
    version: '1.0.0',
    description: 'Releases a change.',
    sideEffects: 'external_write',
    riskLevel: 'low',
    contract: {
      inputs: { type: 'object', required: ['commit'], properties: { commit: { type: 'string' } } },
      outputs: { type: 'object', required: ['version'], properties: { version: { type: 'string' } } },
      implementation: { protocol: 'local', entrypoint },
    },
  });
  say('There are two agents (developer, reviewer), Petra the release manager, Henrik the head of delivery,');
  say('and a release service that carries out the skill release@1.0.0.');

  const spec = readFileSync(join(import.meta.dirname, 'change.yaml'), 'utf8');
  const definition = await admin('POST', '/process-definitions', { key: 'change', spec });
  say(`The process change, version ${definition.version}, was published from change.yaml.`);

  const started = { process: 'change', key: 'CHG-1', data: { title } };
  const { id } = await admin('POST', '/process-instances', started);
  const look = () => admin('GET', `/process-instances/${id}`);
  say(`start    CHG-1 "${title}" has started. It is due in an hour.`);

  /** The open step, once the process has reached it. */
  const opened = (element: string) =>
    until(`the step ${element}`, async () => {
      const instance = await look();
      if (instance.status !== 'running') throw new Error(`${element}: ${JSON.stringify(instance)}`);
      return instance.openElements.find((open: Answer) => open.id === element);
    });
  /** An event of the journal about this instance. */
  const event = (type: string, by: Call = admin) =>
    until(`an event ${type}`, async () => {
      const { items } = await by('GET', `/events?types=${type}`);
      return items.find(({ payload }: Answer) => payload.instanceId === id);
    });

  await work(developer, 'developer', await opened('build'), { commit: '4f2a9c1' });
  await work(reviewer, 'reviewer', await opened('review'), { verdict: 'good', remarks: 'Has tests.' });

  const approve = await opened('approve');
  const [approvalId] = approve.approvalIds;
  const { comment } = await petra.call('GET', `/approvals/${approvalId}`);
  say(`approve  The approval of Petra is requested: "${comment}" She has four seconds, and is busy.`);
  const warning = await event('process.sla_warning');
  expect('the step that is warned about', warning.payload.element, 'approve');
  say(`approve  Two seconds are left: the warning is in the journal (${warning.type}).`);
  const breach = await event('process.sla_breached');
  say(`approve  The deadline was missed at ${breach.payload.dueAt} (${breach.type}).`);
  const escalation = await event('process.escalated', henrik.call);
  expect('the addressee of the escalation', escalation.payload.addressees, [henrik.id]);
  say(
    `approve  Escalation ${escalation.payload.level}: Henrik is notified (${escalation.type}), and calls Petra.`,
  );
  await petra.call('POST', `/approvals/${approvalId}:approve`, {});
  say('approve  Petra approves. The step was late, and the process continues.');

  const call = await until('the call of the skill', async () => {
    const claim = { protocols: ['local'], localEntrypoints: [entrypoint] };
    const { invocation } = (await releaser.call('POST', '/skill-invocations:claim', claim)) ?? {};
    return invocation ?? undefined;
  });
  expect('the inputs of the skill', call.inputs, { commit: '4f2a9c1' });
  const done = { fencingToken: call.fencingToken, output: { version: '2026.11.1' } };
  await releaser.call('POST', `/skill-invocations/${call.id}:complete`, done);
  say(
    `release  The release service takes the call with ${JSON.stringify(call.inputs)} and returns 2026.11.1.`,
  );

  const ended = await until('the end', async () => {
    const instance = await look();
    return instance.status === 'running' ? undefined : instance;
  });
  expect('how it ended', [ended.status, ended.outcome], ['completed', 'released']);
  expect('what was released', ended.data.release, { version: '2026.11.1' });
  say(`end      CHG-1 is ${ended.status}: ${ended.outcome}, version ${ended.data.release.version}.`);
  await tellJournal(admin, id);
}

/** An agent takes the task of a step, works under a run, and returns its result. */
async function work({ call, revisionId }: Agent, name: string, open: Answer, output: object): Promise<void> {
  const { taskId, id } = open;
  const { publicId, title: what } = await call('GET', `/tasks/${taskId}`);
  const { id: sessionId } = await call('POST', '/sessions', { clientName: 'example' });
  const { id: claimId, fencingToken } = await call('POST', `/tasks/${taskId}:claim`, { sessionId });
  const holding = { claimId, fencingToken, agentRevisionId: revisionId };
  const run = await call('POST', `/tasks/${taskId}:start-run`, holding);
  await call('POST', `/runs/${run.id}:succeed`, { output });
  say(`${id.padEnd(8)} The ${name} takes ${publicId} "${what}" and returns ${JSON.stringify(output)}.`);
}

/** Prints the process's own events of the change, in order. */
async function tellJournal(admin: Call, instanceId: string): Promise<void> {
  const types = [
    'process.started',
    'process.stage_entered',
    'process.step_entered',
    'process.step_exited',
    'process.sla_warning',
    'process.sla_breached',
    'process.escalated',
    'process.completed',
  ];
  const { items } = await admin('GET', `/events?types=${types.join(',')}&limit=200`);
  const own = items.filter(({ payload }: Answer) => payload.instanceId === instanceId);
  say(`The journal holds ${own.length} events of it:`);
  for (const { occurredAt, type, payload } of own)
    say(
      `  ${occurredAt}  ${type.padEnd(22)} ${payload.element ?? payload.stage ?? payload.outcome ?? ''}`.trimEnd(),
    );
  const [first, last] = [own[0]?.type, own.at(-1)?.type];
  expect('the first and the last event', [first, last], ['process.started', 'process.completed']);
}

await withBaton(tell);
