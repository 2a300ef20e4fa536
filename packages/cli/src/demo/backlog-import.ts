import type { CoordinationClient } from '../coordination-client.ts';
import type { Task } from '../wire.ts';
import { forEachConcurrently } from './concurrently.ts';
import type { ImportPlan, PlannedTask } from './import-plan.ts';

export interface ImportedBacklog {
  readonly openTaskIds: ReadonlySet<string>;
  /** The `depends_on` relations of open tasks. */
  readonly waits: readonly { readonly taskId: string; readonly blockerId: string }[];
}

const concurrencyMax = 16;

/**
 * Creates the planned tasks and their relations as the operator. Done tasks are completed and deleted ones cancelled at
 * once, before the agents start.
 * @param queueId the principal to which every task is assigned
 * @param onStep called after each task and each relation
 */
export async function importBacklog(
  operator: CoordinationClient,
  plan: ImportPlan,
  queueId: string,
  onStep: () => void,
): Promise<ImportedBacklog> {
  const taskIds = new Map<string, string>();
  await forEachConcurrently(plan.tasks, concurrencyMax, async (planned) => {
    taskIds.set(planned.issueId, await importTask(operator, planned, queueId));
    onStep();
  });
  const idOf = (issueId: string) => taskIds.get(issueId) as string;
  await forEachConcurrently(plan.relations, concurrencyMax, async ({ from, to, type }) => {
    await operator.call('POST', `/tasks/${idOf(from)}/relations`, { toTask: idOf(to), type });
    onStep();
  });
  const open = plan.tasks.filter(({ fate }) => fate === 'open').map(({ issueId }) => idOf(issueId));
  const openTaskIds = new Set(open);
  const waits = plan.relations
    .filter(({ type }) => type === 'depends_on')
    .map(({ from, to }) => ({ taskId: idOf(from), blockerId: idOf(to) }))
    .filter(({ taskId }) => openTaskIds.has(taskId));
  return { openTaskIds, waits };
}

async function importTask(
  operator: CoordinationClient,
  planned: PlannedTask,
  queueId: string,
): Promise<string> {
  const created = await operator.call<Task>('POST', '/tasks', { ...planned.body, assigneeId: queueId });
  const headers = { 'if-match': `"task-${created.version}"` };
  if (planned.fate === 'done') await operator.call('POST', `/tasks/${created.id}:complete`, {}, { headers });
  if (planned.fate === 'deleted')
    await operator.call('PATCH', `/tasks/${created.id}`, { status: 'cancelled' }, { headers });
  return created.id;
}
