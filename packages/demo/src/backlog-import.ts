import { type BatonClient, etagOf } from '@baton/sdk';
import { forEachConcurrently } from '@baton/values/concurrently';
import type { BacklogPlan, PlannedTask } from './backlog-plan.ts';
import type { Participants } from './participants.ts';
import { isFeature } from './specialties.ts';

export interface ImportedBacklog {
  readonly openTaskIds: ReadonlySet<string>;
  /** The numbers of created tasks that are features, that are bugs, and that need a person's approval. */
  readonly featureIds: ReadonlySet<string>;
  readonly bugIds: ReadonlySet<string>;
  readonly gatedIds: ReadonlySet<string>;
  /** The number of `depends_on` relations between open tasks. */
  readonly waits: readonly { readonly taskId: string; readonly blockerId: string }[];
}

const concurrencyMax = 16;

/**
 * Creates the planned tasks and their relations as the operator. Done tasks are completed and deleted ones cancelled at
 * once, before the agents start.
 * @param onStep called after each task and each relation
 */
export async function importBacklog(
  operator: BatonClient,
  plan: BacklogPlan,
  { workspace, featureTypeId, reviewer }: Pick<Participants, 'workspace' | 'featureTypeId' | 'reviewer'>,
  onStep: () => void,
): Promise<ImportedBacklog> {
  const taskIds = new Map<string, string>();
  await forEachConcurrently(plan.tasks, concurrencyMax, async (planned) => {
    const taskId = await importTask(operator, planned, { workspaceId: workspace.id, featureTypeId });
    taskIds.set(planned.issueId, taskId);
    if (planned.isGated)
      await operator.approvals.request({
        task: taskId,
        assignedPrincipalId: reviewer.principalId,
        gate: true,
      });
    onStep();
  });
  const idOf = (issueId: string) => taskIds.get(issueId) as string;
  await forEachConcurrently(plan.relations, concurrencyMax, async ({ from, to, type }) => {
    await operator.tasks.createRelation(idOf(from), { toTask: idOf(to), type });
    onStep();
  });
  const open = plan.tasks.filter(({ fate }) => fate === 'open');
  const idsOf = (isWanted: (task: PlannedTask) => boolean) =>
    new Set(open.filter(isWanted).map(({ issueId }) => idOf(issueId)));
  const openTaskIds = idsOf(() => true);
  const waits = plan.relations
    .filter(({ type }) => type === 'depends_on')
    .map(({ from, to }) => ({ taskId: idOf(from), blockerId: idOf(to) }))
    .filter(({ taskId }) => openTaskIds.has(taskId));
  return {
    openTaskIds,
    featureIds: idsOf(({ issueType }) => isFeature(issueType)),
    bugIds: idsOf(({ issueType }) => issueType === 'bug'),
    gatedIds: idsOf(({ isGated }) => isGated),
    waits,
  };
}

async function importTask(
  operator: BatonClient,
  planned: PlannedTask,
  { workspaceId, featureTypeId }: { readonly workspaceId: string; readonly featureTypeId: string },
): Promise<string> {
  const { typeKey, ...body } = planned.body;
  const type = typeKey === undefined ? {} : { typeId: featureTypeId };
  const created = await operator.tasks.create({ ...body, ...type, workspaceId });
  if (planned.fate === 'open') return created.id;
  const ifMatch = etagOf(await operator.tasks.get(created.id));
  if (planned.fate === 'done') await operator.tasks.complete(created.id, {}, { ifMatch });
  else {
    const status = isFeature(planned.issueType) ? 'dropped' : 'cancelled';
    await operator.tasks.update(created.id, { status }, { ifMatch });
  }
  return created.id;
}
