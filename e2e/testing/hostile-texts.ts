import assert from 'node:assert/strict';
import { createClient } from '@baton/sdk';
import type { RunningConsole } from './console.ts';

/** Texts that would run if a page interpreted them; each sets `window.__xss`. */
const attacks = [
  '<img src=x onerror="window.__xss=1">',
  '"><svg onload="window.__xss=1">',
  "';window.__xss=1;//",
  '<script>window.__xss=1</script>',
  '</title></textarea><iframe srcdoc="<script>parent.__xss=1</script>"></iframe>',
  '[a](javascript:window.__xss=1)',
  // Template expressions in texts.
  '$' + '{window.__xss=1} {{constructor.constructor("window.__xss=1")()}} <%= 7*7 %>',
];

/** How every hostile text begins. */
export const mark = '<img src=x onerror="window.__xss=1">';

/** A control character that reverses the text after it. */
const rightToLeft = '\u202E';
const longWord = 'W'.repeat(120);

/** All attacks, a text that runs from right to left and a word that is longer than a line. */
export const hostile = [...attacks, `${rightToLeft}gnp.exe`, longWord].join(' ');

const address = 'javascript:window.__xss=1//';

/** The first characters of the hostile text, as many as the field allows. */
const short = (charactersMax: number) => hostile.slice(0, charactersMax);

/** The created objects, for pages about a single one. */
export interface HostileWorld {
  readonly taskId: string;
  readonly publicId: string;
}

/** Writes hostile texts into every field that others read. */
export async function writeHostileTexts(world: RunningConsole): Promise<HostileWorld> {
  const { baton, me, tenantId, adminSecret } = world;
  const { identity } = createClient({ url: world.url, adminSecret });
  await identity.tenants.update(tenantId, { name: short(200) });
  await identity.groups.create(tenantId, { key: 'hostile', name: short(200) });
  const agent = await world.participant(short(200), ['tasks.read', 'tasks.claim', 'sessions.open']);
  const role = await baton.roles.create({ slug: 'hostile', name: short(200), description: hostile });
  await baton.capabilities.create({ name: short(100), description: hostile });
  await baton.skills.create({
    name: short(150),
    description: hostile,
    protocol: 'local',
    inputSchema: {
      type: 'object',
      properties: { [short(60)]: { type: 'string', description: hostile, default: address } },
    },
  });
  const workspace = await baton.workspaces.create({
    slug: 'hostile',
    name: short(200),
    description: hostile,
    customFields: { [short(60)]: hostile, link: address },
  });
  await baton.projectTemplates.create({ key: 'hostile', displayName: short(200), description: hostile });
  await baton.projects.create({
    templateKey: 'hostile',
    workspaceId: workspace.id,
    customFields: { [short(60)]: hostile, link: address },
  });
  await baton.goals.create({ title: short(200), desiredState: hostile, workspaceId: workspace.id });
  await baton.agents.publish({
    key: 'hostile',
    spec: {
      displayName: short(200),
      description: hostile,
      identity: { kind: 'agent', permissions: ['tasks.read'] },
    },
  });
  await baton.processDefinitions.publish({
    key: 'hostile',
    spec: {
      version: 1,
      displayName: short(200),
      identity: { agent: 'hostile' },
      owner: [{ agent: 'hostile' }],
      data: { type: 'object' },
      start: { on: { observation: 'hostile' }, key: 'event.payload.data.order' },
      stages: [{ id: 'one', steps: [{ id: 'end', complete: { outcome: 'done' } }] }],
    },
  });
  await baton.taskTypes.create({ key: 'hostile', displayName: short(200), description: hostile });
  await baton.observations.record({
    kind: 'hostile',
    content: hostile,
    data: { order: short(100), [short(60)]: hostile, link: address },
    workspaceId: workspace.id,
  });
  const task = await baton.tasks.create({
    title: short(500),
    description: `${hostile}\n${address}`,
    priority: 'critical',
    assigneeId: agent.id,
    customFields: { [short(60)]: hostile, link: address },
  });
  await baton.tasks.createComment(task.id, { body: `${hostile} ${address}` });
  const child = await baton.tasks.create({ title: short(500), parentTask: task.id, assigneeId: me });
  await baton.approvals.request({ task: child.id, comment: hostile, assignedPrincipalId: me, gate: true });
  await baton.approvals.request({ task: task.id, comment: hostile, requiredRoleId: role.id });
  await baton.externalReferences.put({
    entityType: 'task',
    entityId: task.id,
    externalSystem: 'tracker',
    externalType: 'issue',
    externalId: short(200),
    metadata: { url: address, title: hostile },
  });
  const session = await agent.baton.sessions.open({
    clientName: short(200),
    clientVersion: short(100),
    harness: { type: 'hostile', hostname: short(200), version: short(100) },
  });
  // One run failed with a hostile text, and another is still running.
  for (const isLast of [false, true]) {
    const claim = await agent.baton.tasks.claim(task.id, { sessionId: session.id, intent: hostile });
    const fence = { claimId: claim.id, fencingToken: claim.fencingToken };
    const run = await agent.baton.tasks.startRun(task.id, fence);
    await agent.baton.runs.createCheckpoint(run.id, { kind: short(100), data: { [short(60)]: hostile } });
    await baton.artifacts.create({
      type: 'note',
      name: short(500),
      task: task.id,
      runId: run.id,
      content: { [short(60)]: hostile },
      metadata: { link: address },
    });
    if (isLast) break;
    await agent.baton.runs.fail(run.id, { failureReason: hostile });
    await agent.baton.claims.release(claim.id, {});
    await baton.tasks.makeAvailable(task.id);
  }
  assert.equal(task.title.startsWith(mark), true);
  return { taskId: task.id, publicId: task.publicId };
}
