import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { z } from 'zod';
import { sql } from '@baton/kernel/database/sql';
import type { Operation } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import { policyModeOfFile } from '../../testing/access/policy-mode.ts';
import type { ReceivedQuestion, TestPolicy } from '../../testing/access/policy-service.ts';
import type { Actor, Answer, TestCoordination } from '../../testing/coordination.ts';
import { launch } from '../../testing/execution/children.ts';
import { done, makeRun, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeTemplate } from '../../testing/organisation/projects.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { newKey, planDocuments, sourceOf } from '../../testing/packages/package-sources.ts';
import {
  makeProcessAgent,
  publishProcess,
  setStep,
  specOf,
} from '../../testing/processes/process-instances.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';
import { ruleBody } from '../../testing/rules/rules.ts';
import { endpoints } from '../endpoints.ts';

/**
 * CP_AUTHZ_MODE policy: an object that is created in a workspace or moved into one is authorized on that workspace.
 * Every operation that writes is in the tables below, so that each new operation must be classified.
 */

let baton: TestCoordination;
let policy: TestPolicy;
let admin: Actor;
const { grant, askedOf } = policyModeOfFile((mode) => {
  ({ baton, policy } = mode);
  admin = baton.admin;
});

/** The reason why an operation needs no decision on a workspace beyond the one on the object of its path. */
const filesNothing = {
  /**
   * The operation changes, or acts on, the object of its path or body: that object is authorized, with its workspace.
   */
  itsObject: [
    ...[
      'completeTask',
      'makeTaskAvailable',
      'updateTaskComment',
      'createTaskRelation',
      'migrateTaskType',
      'startRun',
      'claimTask',
    ],
    ...[
      'heartbeatClaim',
      'releaseClaim',
      'reclaimTask',
      'claimNextTasks',
      'succeedRun',
      'failRun',
      'cancelRun',
    ],
    ...['createCheckpoint', 'createRunAction', 'finishRunAction', 'suspendRun', 'handOffRun'],
    ...['compileHarnessManifest', 'addManifestRemark', 'sendControlMessage', 'acknowledgeControlMessage'],
    ...[
      'requestRunCancel',
      'revokeChildHandle',
      'revokeChildHandleOfRun',
      'approveApproval',
      'rejectApproval',
    ],
    ...['cancelApproval', 'replayApprovalOutcome', 'purgeArtifactContent', 'configureKnowledgePacks'],
    ...[
      'putExternalReference',
      'putProjectReference',
      'updateRule',
      'enableRule',
      'disableRule',
      'updateGoal',
    ],
    ...['suspendProcessInstance', 'resumeProcessInstance', 'skipProcessElement', 'cancelProcessInstance'],
    ...[
      'updateWorkspace',
      'archiveWorkspace',
      'restoreWorkspace',
      'addWorkspaceMember',
      'removeWorkspaceMember',
    ],
    ...['updateProject', 'transitionProject', 'archiveProject', 'restoreProject', 'createConfigRevision'],
    ...['activateConfigRevision'],
  ],
  /**
   * The operation's rows belong to the tenant or one of its principals, and the catalog declares its permission for the
   * tenant.
   */
  tenants: [
    ...['openSession', 'heartbeatSession', 'closeSession', 'uploadArtifactContent', 'createArtifactType'],
    ...['createTaskType', 'deprecateTaskType', 'migrateTasksOfType', 'registerKnowledgePack'],
    ...['retireProcessDefinition', 'createWorkspaceType', 'updateWorkspaceType', 'archiveWorkspaceType'],
    ...['restoreWorkspaceType', 'publishCalendar', 'retireCalendar', 'createProjectTemplate'],
    ...[
      'deprecateProjectTemplate',
      'redriveContextAdapter',
      'rebuildContextAdapter',
      'redriveUndeliveredEvent',
    ],
    ...[
      'dropUndeliveredEvent',
      'archiveJournal',
      'pruneJournal',
      'createRole',
      'updateRole',
      'createCapability',
    ],
    ...['updateCapability', 'createSkill', 'updateSkill', 'assignRole', 'revokeRole', 'assignCapability'],
    ...['revokeCapability', 'assignSkill', 'revokeSkill', 'invokeSkill', 'claimSkillInvocation'],
    ...[
      'heartbeatSkillInvocation',
      'completeSkillInvocation',
      'failSkillInvocation',
      'cancelSkillInvocation',
    ],
    ...['recordPackage', 'setPackageSettings', 'publishAgent', 'changeAgentState', 'retireAgent'],
    ...[
      'linkAgentIdentity',
      'replaceAgentIdentity',
      'reportAgentStatus',
      'setAgentSecret',
      'createConnection',
    ],
    ...['reportConnectionStatus', 'updateConnection', 'authorizeConnection', 'putConnectionToken'],
    ...[
      'revokeConnection',
      'publishConnectionType',
      'updateConnectionType',
      'putOauthApp',
      'createPrincipal',
      'createIdentityAdministrationToken',
    ],
    ...['updatePrincipal', 'disablePrincipal', 'enablePrincipal', 'createIamBinding', 'revokeIamBinding'],
    ...['createAccessRole', 'updateAccessRole', 'setPrincipalAccess'],
    ...['admitPerson', 'admitSelf', 'setAdmissionRule'],
    ...['createApiKey', 'revokeApiKey', 'createDelegation', 'revokeDelegation', 'bootstrap'],
    ...['putNotificationPreferences', 'putSlackWebhook', 'putSlackChannel', 'unsubscribe'],
    'sendInvitationMail',
  ],
  /** The operation writes nothing, or writes only about objects that it has read. */
  reads: [
    ...['checkClaim', 'getContext', 'recallContext', 'replayContextPack', 'previewSnapshot', 'queryEntities'],
    ...['validateRule', 'dryRunRule', 'replayProcessDefinition', 'computeWithCalendar', 'planPackage'],
    ...['testPackage', 'queryView', 'validateAgent', 'checkActions'],
  ],
} as const;

/** Operations of these tables whose body specifies a workspace, and the reason why nothing is filed there. */
const namesAPlace: Readonly<Record<string, string>> = {
  claimNextTasks: 'which tasks are claimed: each is authorized separately',
  createRole: 'the catalog declares org.manage for the tenant',
  assignRole: 'the catalog declares org.manage for the tenant',
  revokeRole: 'the catalog declares org.manage for the tenant',
  invokeSkill: 'the catalog declares skills.invoke for the tenant',
  updateRule:
    'the workspace in which its action files objects: authorized on behalf of the rule, whenever it acts',
};

interface Places {
  /** The workspace of the new object; null is the tenant itself. */
  readonly to: string | null;
  /** The former workspace; for a new object, the same as `to`. */
  readonly from: string | null;
}
type Prepared = (actor: Actor) => Promise<Answer>;
interface Filing {
  readonly name: string;
  /** The ids of the operations that it calls. */
  readonly of: string;
  /** Whether it moves an object out of another workspace. */
  readonly moves?: true;
  /** Whether the object isn't filed in any workspace. */
  readonly inTenant?: true;
  /** Creates the objects that the request needs, while everything is granted. */
  prepare(places: Places, actor: Actor): Promise<Prepared>;
  /** The response if the permission is granted. */
  readonly answers?: readonly [status: number, code?: string];
  /** Other permissions that the actor needs, in any workspace. */
  readonly also?: readonly string[];
}

/** A workspace in a body; absent for none. */
const at = (workspaceId: string | null) => (workspaceId === null ? {} : { workspaceId });
const posts =
  (path: string, body: object | (() => object)): Prepared =>
  (actor) =>
    actor.post(path, typeof body === 'function' ? body() : body, { 'idempotency-key': newId() });

/** The same request with a workspace and without one. */
function inAndOut(of: string, path: string, body: () => object): Filing[] {
  const prepare = ({ to }: Places) => Promise.resolve(posts(path, () => ({ ...body(), ...at(to) })));
  return [
    { name: 'in a workspace', of, prepare },
    { name: 'in none', of, inTenant: true, prepare },
  ];
}

let agentKey: string | undefined;
const agent = async () => (agentKey ??= (await makeProcessAgent(baton)).key);
const process = async (workspaceId: string | null) =>
  publishProcess(admin, specOf(await agent(), [setStep('s', { x: '1' })], { workspaceId }));
async function runIn(workspaceId: string | null, actor: Actor) {
  const worker = { actor, sessionId: await openSession(actor) };
  const { run } = await makeRun(baton, worker, { task: at(workspaceId) });
  return { worker, runId: run.id as string };
}
const taskIn = (workspaceId: string | null) => makeTask(baton, at(workspaceId));
const snapshot = (workspaceId: string) => ({
  workspaceId,
  source: 'cluster-a',
  snapshotId: newId(),
  observedAt: '2026-03-02T09:00:00Z',
  entities: [],
  relations: [],
});
const withoutMemory = [503, 'memory_disabled'] as const;
const move = (name: string, more: Partial<Filing> & Pick<Filing, 'of' | 'prepare'>): Filing => ({
  name,
  moves: true,
  ...more,
});

const files: readonly Filing[] = [
  ...inAndOut('createTask', '/tasks', () => ({ title: 'filed' })),
  move('to another workspace', {
    of: 'updateTask',
    async prepare({ from, to }) {
      const { id } = await taskIn(from);
      return (actor) => actor.patch(`/tasks/${id}`, { workspaceId: to }, { 'if-match': 'task-1' });
    },
  }),
  {
    name: 'out of all workspaces',
    of: 'updateTask',
    moves: true,
    inTenant: true,
    async prepare({ from }) {
      const { id } = await taskIn(from);
      return (actor) => actor.patch(`/tasks/${id}`, { workspaceId: null }, { 'if-match': 'task-1' });
    },
  },
  {
    name: 'next to its parent',
    of: 'launchChild',
    async prepare({ to }, actor) {
      const { worker, runId } = await runIn(to, actor);
      return () => launch(worker, runId);
    },
  },
  move('in another workspace than its parent', {
    of: 'launchChild',
    async prepare({ from, to }, actor) {
      const { worker, runId } = await runIn(from, actor);
      return () => launch(worker, runId, at(to));
    },
  }),
  ...inAndOut('requestApproval', '/approvals', () => ({ assignedPrincipalId: admin.principalId })),
  ...(['gate', 'question'] as const).map((kind) => ({
    name: `as a ${kind} of a task in a workspace`,
    of: 'requestApproval',
    async prepare({ to }: Places) {
      const { id: task } = await taskIn(to);
      const assignedPrincipalId = admin.principalId;
      return posts('/approvals', { task, assignedPrincipalId, gate: kind === 'gate' });
    },
  })),
  ...inAndOut('createArtifact', '/artifacts', () => ({ type: 'note', name: 'filed' })),
  {
    name: 'of a task in a workspace',
    of: 'createArtifact',
    async prepare({ to }) {
      const { id: task } = await taskIn(to);
      return posts('/artifacts', { type: 'note', name: 'filed', task });
    },
  },
  {
    name: 'on a task in a workspace',
    of: 'createTaskComment',
    async prepare({ to }) {
      const { id } = await taskIn(to);
      return posts(`/tasks/${id}/comments`, { body: 'filed' });
    },
  },
  ...inAndOut('recordObservation', '/observations', () => ({ kind: 'k', content: 'filed' })),
  {
    name: 'about a task in a workspace',
    of: 'recordObservation',
    also: ['tasks.read'],
    async prepare({ to }) {
      const { id: task } = await taskIn(to);
      return posts('/observations', { kind: 'k', content: 'filed', task });
    },
  },
  move('about a task, in another workspace', {
    of: 'recordObservation',
    also: ['tasks.read'],
    async prepare({ from, to }) {
      const { id: task } = await taskIn(from);
      return posts('/observations', { kind: 'k', content: 'filed', task, ...at(to) });
    },
  }),
  ...inAndOut('createGoal', '/goals', () => ({ title: 'filed' })),
  ...inAndOut('createRule', '/rules', () => ruleBody()),
  {
    name: 'in the workspace of its body',
    of: 'createProcessInstance',
    async prepare({ to }) {
      return posts('/process-instances', { process: await process(null), key: newId(), data: {}, ...at(to) });
    },
  },
  {
    name: 'in the workspace of its process',
    of: 'createProcessInstance',
    async prepare({ to }) {
      return posts('/process-instances', { process: await process(to), key: newId(), data: {} });
    },
  },
  {
    name: 'in none',
    of: 'createProcessInstance',
    inTenant: true,
    async prepare() {
      return posts('/process-instances', { process: await process(null), key: newId(), data: {} });
    },
  },
  {
    name: 'in a workspace',
    of: 'publishProcessDefinition',
    async prepare({ to }) {
      const spec = specOf(await agent(), [setStep('s', { x: '1' })], { workspaceId: to });
      return posts('/process-definitions', { key: newKey('p'), spec });
    },
  },
  move('as a version that leaves its workspace', {
    of: 'publishProcessDefinition',
    async prepare({ from, to }) {
      const key = await process(from);
      const spec = specOf(await agent(), [setStep('s', { x: '2' })], { workspaceId: to, version: 2 });
      return posts('/process-definitions', { key, spec });
    },
  }),
  {
    name: 'below another',
    of: 'createWorkspace',
    prepare: ({ to }) =>
      Promise.resolve(posts('/workspaces', { slug: `w${newId()}`, name: 'filed', parentId: to })),
  },
  {
    name: 'at the top',
    of: 'createWorkspace',
    inTenant: true,
    prepare: () => Promise.resolve(posts('/workspaces', { slug: `w${newId()}`, name: 'filed' })),
  },
  move('below another', {
    of: 'moveWorkspace',
    async prepare({ from, to }) {
      const { id } = await makeWorkspace(baton, { parentId: from });
      return posts(`/workspaces/${id}:move`, { newParentId: to });
    },
  }),
  move('below another, as a trial', {
    of: 'moveWorkspace',
    async prepare({ from, to }) {
      const { id } = await makeWorkspace(baton, { parentId: from });
      return posts(`/workspaces/${id}:move?dryRun=true`, { newParentId: to });
    },
  }),
  {
    name: 'to the top',
    of: 'moveWorkspace',
    moves: true,
    inTenant: true,
    async prepare({ from }) {
      const { id } = await makeWorkspace(baton, { parentId: from });
      return posts(`/workspaces/${id}:move`, { newParentId: null });
    },
  },
  {
    name: 'of a workspace',
    of: 'createProject',
    async prepare({ to }) {
      return posts('/projects', { workspaceId: to, templateId: (await makeTemplate(baton)).id });
    },
  },
  {
    name: 'with a workspace of its own below another',
    of: 'createProject',
    async prepare({ to }) {
      const templateId = (await makeTemplate(baton)).id;
      return posts('/projects', { workspaceSlug: `p${newId()}`, parentWorkspaceId: to, templateId });
    },
  },
  {
    name: 'with a workspace of its own at the top',
    of: 'createProject',
    inTenant: true,
    async prepare() {
      return posts('/projects', { workspaceSlug: `p${newId()}`, templateId: (await makeTemplate(baton)).id });
    },
  },
  {
    name: 'of a workspace',
    of: 'reconcileSnapshot',
    answers: withoutMemory,
    prepare: ({ to }) => Promise.resolve(posts('/knowledge/snapshots', snapshot(to as string))),
  },
  {
    name: 'of a workspace',
    of: 'storeDocument',
    answers: withoutMemory,
    prepare: ({ to }) =>
      Promise.resolve(
        posts('/knowledge/documents', {
          workspaceId: to,
          naturalKey: 'wiki/filed',
          title: 'filed',
          chunks: [{ text: 'filed' }],
        }),
      ),
  },
  ...(['of the request', 'of the document'] as const).map((named) => ({
    name: `with a rule, in a workspace ${named}`,
    of: 'applyPackage',
    // The workspaces of the rules are known only after the rules are read, so the kind as a whole is authorized on the
    // tenant first.
    also: named === 'of the document' ? ['packages.plan', 'rules.write tenant'] : ['packages.plan'],
    async prepare({ to }: Places) {
      const { key, ...spec } = ruleBody() as { key: string };
      const isDocuments = named === 'of the document';
      const documents = [{ kind: 'WorkRule', key, spec: { ...spec, ...(isDocuments && at(to)) } }];
      const about = { key: newKey('p') };
      const more = isDocuments ? {} : at(to);
      const { planHash } = await planDocuments(admin, about, documents, more);
      return posts('/packages:apply', { package: sourceOf(about, documents), planHash, ...more });
    },
  })),
];

/** Whether a question is about a workspace or about an object in it; null if it is about the tenant itself. */
function isAbout({ resource }: ReceivedQuestion, place: string | null): boolean {
  return resource === (place === null ? `tenant:${baton.tenantId}` : `workspace:${place}`);
}
function isWithin(question: ReceivedQuestion, place: string | null): boolean {
  if (isAbout(question, place)) return true;
  return place !== null && question.tuples.some(({ subject }) => subject === `workspace:${place}`);
}

const eventCount = async () =>
  (await baton.pool.row(sql<{ n: number }>`select count(*)::int as n from events`))?.n ?? 0;

for (const filing of files) {
  const { name, of, moves, inTenant, prepare, answers = [], also = [] } = filing;
  test(`${of} ${name}: the new workspace is authorized${moves === true ? ', and so is the old one' : ''}`, async () => {
    const [closed, open] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const to = inTenant === true ? null : closed.id;
    const from = moves === true ? open.id : to;
    const actor = await baton.actor({ kind: 'human' });
    const prepared = () => {
      grant(() => true);
      return prepare({ from, to }, actor);
    };
    const isElse = ({ action, resource }: ReceivedQuestion) =>
      also.includes(action) || also.includes(`${action} ${resource.split(':')[0]}`);
    const act = await prepared();
    for (const shut of new Set([to, from])) {
      grant((question) => isElse(question) || !isWithin(question, shut));
      const before = await eventCount();
      policy.asked.length = 0;
      const { resource } = await refused(act(actor), 403, 'permission_denied');
      assert.ok(policy.asked.some((question) => question.resource === resource && isWithin(question, shut)));
      assert.equal(await eventCount(), before, 'nothing was written');
    }

    const actAgain = await prepared();
    grant((question) => isElse(question) || isWithin(question, to) || isWithin(question, from));
    const { status, body } = await actAgain(actor);
    const [refusedStatus = status, code] = answers;
    assert.deepEqual([status, body.error?.code], [refusedStatus, code], JSON.stringify(body));
    const hangsOnTask = ['createTaskComment', 'createArtifact'].includes(of);
    assert.ok(
      askedOf(actor).some((question) => (hangsOnTask ? isWithin : isAbout)(question, to)),
      'checked on the workspace itself',
    );
  });
}

test('every operation that writes is in one of the tables', () => {
  const known = [...Object.values(filesNothing).flat(), ...new Set(files.map(({ of }) => of))];
  assert.deepEqual(
    known.filter((id, index) => known.indexOf(id) !== index),
    [],
    'in one of them only',
  );
  const writing = endpoints
    .filter(({ method }) => ['POST', 'PUT', 'PATCH'].includes(method))
    .map(({ id }) => id);
  assert.deepEqual([...known].sort(), writing.sort());
});

test('every operation whose body specifies a workspace and that files nothing has a reason', () => {
  const filing = new Set([...files.map(({ of }) => of), ...filesNothing.reads]);
  const places = [
    'workspaceId',
    'parentId',
    'newParentId',
    'parentWorkspaceId',
    'projectId',
    'task',
    'taskId',
    'runId',
  ];
  const naming = endpoints
    .filter(({ method, id }) => ['POST', 'PUT', 'PATCH'].includes(method) && !filing.has(id))
    .filter((endpoint) => fieldsOf(endpoint).some((field) => places.includes(field)));
  const unexplained = naming.map(({ id }) => id).filter((id) => namesAPlace[id] === undefined);
  assert.deepEqual(unexplained, []);
});

/** The fields of a body and of its nested objects. */
function fieldsOf({ body }: Pick<Operation, 'body'>): string[] {
  if (body === undefined) return [];
  const found: string[] = [];
  JSON.stringify(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }), (name, value) => {
    if (name === 'properties') found.push(...Object.keys(value));
    return value;
  });
  return found;
}

test('the consequences of a decision are filed only where its decider may file now', async () => {
  const person = await baton.actor({ kind: 'human', permissions: ['approvals.decide', 'tasks.write'] });
  const outcomes = outcomeTester(baton, person);
  after(() => outcomes.close());
  const [closed, open] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  for (const workspace of [closed, open]) {
    const task = await taskIn(workspace.id);
    const actions = [
      { ensureWork: { key: newId(), type: 'task', title: 'filed', workspace: workspace.id } },
      { comment: { task: task.id, body: 'filed' } },
    ];
    for (const action of actions) {
      const { id } = await outcomes.gate({ approved: [action] });
      grant((question) => !isWithin(question, closed.id));
      await outcomes.decide(id);
      await outcomes.work();
      const { outcomeStatus, lastError } = await outcomes.outcome(id);
      const isOpen = workspace === open;
      assert.equal(outcomeStatus, isOpen ? 'executed' : 'failed', JSON.stringify(lastError));
      assert.equal(lastError?.code, isOpen ? undefined : 'permission_denied');
    }
    const { items: comments } = await done(admin.get(`/tasks/${task.id}/comments`));
    const tasks = await baton.pool.rows(sql`select id from tasks where workspace_id = ${workspace.id}`);
    assert.deepEqual([comments.length, tasks.length], workspace === open ? [1, 2] : [0, 1]);
  }
});

test('the point is queried again about a workspace that is moved during the query', async () => {
  const [closed, inner] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const task = await taskIn(null);
  const actor = await baton.actor();
  let moved: Promise<unknown> | undefined;
  grant((question) => !isWithin(question, closed.id));
  policy.behave((_path, { principalId, resource }: { principalId: string; resource?: { id: string } }) => {
    if (principalId === actor.iamPrincipalId && resource?.id === inner.id && moved === undefined)
      moved = baton.pool.run(sql`
        update workspaces set parent_id = ${closed.id}, path = array[${closed.id}, ${inner.id}]::uuid[] where id = ${inner.id}`);
    return moved?.then(() => undefined);
  });
  const sent = actor.patch(`/tasks/${task.id}`, { workspaceId: inner.id }, { 'if-match': 'task-1' });
  const { resource } = await refused(sent, 403, 'permission_denied');
  assert.ok(moved !== undefined);
  assert.equal(resource, `workspace:${inner.id}`);
});
