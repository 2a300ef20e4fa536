import { type BatonClient, BatonError, type Workspace } from '@baton/sdk';
import { keysOfCompany, knowledgeSource } from './company.ts';

const limit = 200;

/**
 * Retires the objects that the demo of the small company has published for the whole tenant: its rule, task type,
 * project template and calendar, and the shop's knowledge in the memory service. Its projects and workspaces are
 * archived with the demo's workspace. Objects that are already retired are skipped.
 * @param suffix of the demo's workspace
 * @param within that workspace and its descendants
 */
export async function retireCompany(
  baton: BatonClient,
  suffix: string,
  within: readonly Pick<Workspace, 'id' | 'slug'>[],
): Promise<void> {
  const keys = keysOfCompany(suffix);
  const shop = within.find(({ slug }) => slug === keys.shop);
  if (shop !== undefined) await detachKnowledge(baton, shop.id, suffix);
  for (const { id } of (await baton.rules.list({ key: keys.rule, limit })).items)
    await baton.rules.archive(id);
  for (const { id } of (await baton.taskTypes.list({ key: keys.taskType, status: 'active', limit })).items)
    await baton.taskTypes.deprecate(id);
  for (const { id } of (await baton.projectTemplates.list({ key: keys.template, status: 'active', limit }))
    .items)
    await baton.projectTemplates.deprecate(id);
  await baton.calendars.retire(keys.calendar, { reason: 'The demo was removed.' }).catch((error: unknown) => {
    // If the demo was interrupted, it may not have created this object.
    if (!(error instanceof BatonError) || error.code !== 'not_found') throw error;
  });
}

/** Removes the knowledge from the memory service, by a snapshot without entities. A missing service is not an error. */
async function detachKnowledge(
  administrator: BatonClient,
  workspaceId: string,
  suffix: string,
): Promise<void> {
  const snapshotId = `${knowledgeSource}-removed-${suffix}`;
  const observedAt = new Date().toISOString();
  try {
    await administrator.knowledge.reconcileSnapshot({
      workspaceId,
      source: knowledgeSource,
      snapshotId,
      observedAt,
      entities: [],
      relations: [],
    });
  } catch (error) {
    if (!(error instanceof BatonError && error.code.startsWith('memory_'))) throw error;
  }
}
