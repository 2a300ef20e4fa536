import { useQuery } from '@tanstack/react-query';
import type { Workspace } from '@baton/sdk';
import { baton } from '../client.ts';
import { meQuery } from '../queries.ts';
import { serverNow } from '../server-clock.ts';

/** The demo's agents stop after waiting this long for an answer. */
export const demoMinutesMax = 30;
/** How long the demo may take to start: the workspace exists before its agents have opened their sessions. */
const startMsMax = 60_000;
/** A limit above the number of tasks in the demo. */
const tasksMax = 100;
const membersMax = 50;
const sessionsMax = 200;
/** The page polls, because the sessions of a process that dies expire without an event. */
const pollMs = 20_000;

/** The state of the demo: its agents are working, all tasks are done, or the agents have stopped with tasks open. */
export interface DemoState {
  readonly stage: 'at work' | 'done' | 'left';
  /** The number of the agents' questions that are pending for this person. */
  readonly questions: number;
}

/** Undefined while it is loading. */
export function useDemoState(demo: Workspace | undefined): DemoState | undefined {
  const me = useQuery(meQuery).data;
  const id = demo?.id ?? '';
  const tasks = useQuery({
    queryKey: ['tasks', 'demo', id],
    queryFn: ({ signal }) =>
      baton.tasks.list({ workspaceId: id, limit: tasksMax }, { signal }).then(({ items }) => items),
    enabled: demo !== undefined,
  }).data;
  const isAtWork = useQuery({
    queryKey: ['people', 'demo', id],
    queryFn: async ({ signal }) => {
      const [members, sessions] = await Promise.all([
        baton.workspaces.listMembers(id, { limit: membersMax }, { signal }),
        baton.sessions.list({ status: 'active', limit: sessionsMax }, { signal }),
      ]);
      const agents = new Set(members.items.map(({ principalId }) => principalId));
      return sessions.items.some(({ principalId }) => agents.has(principalId));
    },
    enabled: demo !== undefined && (me?.permissions.includes('sessions.manage') ?? false),
    refetchInterval: pollMs,
  }).data;
  if (demo === undefined || tasks === undefined) return undefined;
  const ids = new Set(tasks.map((task) => task.id));
  const questions =
    me?.pendingApprovals.filter(({ taskId }) => taskId !== null && ids.has(taskId)).length ?? 0;
  const isDone =
    tasks.length > 0 &&
    tasks.every(({ systemStatusCategory }) => systemStatusCategory.startsWith('terminal'));
  const ageMs = serverNow() - Date.parse(demo.createdAt);
  const hasLeft = ageMs > demoMinutesMax * 60_000 || (isAtWork === false && ageMs > startMsMax);
  return { stage: isDone ? 'done' : hasLeft ? 'left' : 'at work', questions };
}
