import { setTimeout as sleep } from 'node:timers/promises';
import type { BatonClient } from '@baton/sdk';
import type { Connection } from '@baton/sdk/node';
import { visible } from '@baton/sdk/node';
import { invocation } from '../../../../bin/invocation.mjs';
import { DemoFailed } from '../demo-failed.ts';
import { removeDemo } from '../demo-removal.ts';
import { createDemoWorkspace, type DemoWorkspace, findDemoWorkspaces } from '../demo-workspace.ts';
import { type Access, type HttpTransport, openAccess } from '../participants.ts';
import { liveBacklog, stalledTaskKey } from './backlog.ts';
import { runLiveAgent } from './live-agent.ts';
import { createLiveTasks } from './live-tasks.ts';
import { runStalledAgent } from './stalled-agent.ts';

export interface LiveDemoOptions {
  /** The duration of one step of an agent, in milliseconds. */
  readonly stepMs: number;
  /** The time that the agents wait for the visitor's decisions, in milliseconds. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Called after the setup, before the agents start. */
  ready(workspaceId: string): void;
  say(line: string): void;
}

export interface LiveDemoResult {
  readonly workspaceId: string;
  readonly slug: string;
  readonly tasks: number;
  readonly done: number;
  /** Error codes of late writes. */
  readonly refused: readonly string[];
  /** Whether approvals of the visitor are still pending. */
  readonly waits: boolean;
}

const agentNames = ['Ada', 'Grace', 'Linus'];
const standingAgentName = 'Robin';
const agentPermissions = [
  'tasks.read',
  'tasks.write',
  'tasks.claim',
  'task_types.read',
  'sessions.open',
  'artifacts.write',
  'approvals.read',
  'approvals.manage',
];
const pollMs = 1_000;
/** How much later the other agents start, so that the stalled agent has taken its task by then. */
const headStartMs = 700;

/**
 * Lets agents complete the backlog of the live demo in its own workspace, slowly enough for a person to follow.
 * @throws DemoFailed if a demo already exists
 */
export async function runLiveDemo(
  connection: Connection,
  http: HttpTransport,
  options: LiveDemoOptions,
): Promise<LiveDemoResult> {
  const access = openAccess(connection, http);
  const { baton } = access;
  try {
    const [before] = await findDemoWorkspaces(baton, 'live');
    if (before !== undefined)
      throw new DemoFailed(
        `A demo already exists (${before.slug}). Remove it first with ${invocation()} demo remove.`,
      );
    const { principal: visitor } = await baton.harness.getContext();
    const workspace = await createDemoWorkspace(baton, 'live');
    try {
      return await perform(access, workspace, visitor.id, options);
    } catch (error) {
      if (await isBeingRemoved(baton, workspace.id)) throw new DemoFailed('The demo was removed.');
      // Removes an incomplete demo.
      await removeDemo(baton, workspace, connection.tenantId);
      throw error;
    }
  } finally {
    access.close();
  }
}

async function perform(
  access: Access,
  workspace: DemoWorkspace,
  visitorId: string,
  { stepMs, waitMs, signal, ready, say }: LiveDemoOptions,
): Promise<LiveDemoResult> {
  const { baton } = access;
  const { id: workspaceId, slug } = workspace;
  const join = async (name: string) => {
    const agent = await access.create(name, 'agent', agentPermissions, workspace);
    await baton.workspaces.addMember(workspaceId, { principalId: agent.principalId });
    return agent;
  };
  const agents = await Promise.all(agentNames.map(join));
  const standing = await join(standingAgentName);
  const ids = await createLiveTasks(baton, workspaceId);
  const script = new Map(liveBacklog.map((task) => [ids.get(task.key) ?? '', task]));
  ready(workspaceId);

  const end = new AbortController();
  const stopped = AbortSignal.any([signal, end.signal]);
  const sayAs = (name: string) => (what: string) => say(visible(`${name} ${what}`));
  const refused: string[] = [];
  // The stalled agent starts first, so that it gets the task on which it stalls.
  const taskId = ids.get(stalledTaskKey) ?? '';
  const standStill = runStalledAgent({
    baton: standing.baton,
    taskId,
    signal: stopped,
    say: sayAs(standingAgentName),
  }).then((code) => void refused.push(code));
  const work = async ({ name, baton: own }: { name: string; baton: BatonClient }) => {
    await sleep(headStartMs, undefined, { signal: stopped });
    await runLiveAgent({
      name,
      baton: own,
      workspaceId,
      script,
      visitorId,
      stepMs,
      signal: stopped,
      say: sayAs(name),
    });
  };
  const isOver = Promise.all([untilDone(baton, workspaceId, waitMs, stopped), standStill]).then(() =>
    end.abort(),
  );
  await together([isOver, ...agents.map(work)], stopped, end);
  const open = await countOpen(baton, workspaceId);
  return { workspaceId, slug, tasks: ids.size, done: ids.size - open, refused, waits: open > 0 };
}

/** A removal in progress is recognized by a disabled agent, because a removal disables the agents first. */
async function isBeingRemoved(baton: BatonClient, workspaceId: string): Promise<boolean> {
  const { items } = await baton.workspaces.listMembers(workspaceId, { limit: 1 });
  const [member] = items;
  return member !== undefined && (await baton.principals.get(member.principalId)).status === 'disabled';
}

/** Waits for all agents; the first failure ends the others. An agent that was stopped has not failed. */
async function together(parts: readonly Promise<unknown>[], stopped: AbortSignal, end: AbortController) {
  const outcomes = await Promise.allSettled(
    parts.map((part) =>
      part.catch((error: unknown) => {
        if (stopped.aborted) return;
        end.abort();
        throw error;
      }),
    ),
  );
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** Waits until no task is open, or until the timeout. */
async function untilDone(baton: BatonClient, workspaceId: string, waitMs: number, stopped: AbortSignal) {
  const deadlineMs = performance.now() + waitMs;
  while (performance.now() < deadlineMs && (await countOpen(baton, workspaceId)) > 0)
    await sleep(pollMs, undefined, { signal: stopped });
}

/** The tasks of a demo fit on one page. */
async function countOpen(baton: BatonClient, workspaceId: string): Promise<number> {
  const { items } = await baton.tasks.list({ workspaceId, limit: 100 });
  return items.filter(({ systemStatusCategory }) => !systemStatusCategory.startsWith('terminal')).length;
}
