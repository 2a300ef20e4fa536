import { z } from 'zod';
import { type Answer, reply, type Surroundings } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { packsConfigured } from './knowledge.events.ts';
import { isPackRef } from './packs.ts';
import { findPlace, type KnowledgePlace } from './place.ts';
import { findWorkspacePacks, putWorkspacePacks } from './workspace-packs.sql.ts';
import { type AnsweredWrite, type KnowledgeKind, writeKnowledge } from './write-knowledge.ts';

export const PacksRequest = z
  .strictObject({ packs: z.array(z.string().min(1).max(200)).max(64), strict: z.boolean().default(false) })
  .meta({ id: 'KnowledgePacksRequest' });
type PacksRequest = z.output<typeof PacksRequest>;

/** The packs that apply to the knowledge of a workspace: those of the root of its tree. */
export const WorkspacePacks = z
  .strictObject({
    workspaceId: Uuid,
    rootWorkspaceId: Uuid,
    configured: z.boolean(),
    packs: z.array(z.string()).meta({ description: 'Packs of the workspace itself; only a root has any.' }),
    strict: z.boolean(),
    effective: z.array(z.string()).meta({ description: 'Packs of the root.' }),
    updatedAt: Timestamp.nullable(),
  })
  .meta({ id: 'WorkspaceKnowledgePacks' });
type WorkspacePacks = z.infer<typeof WorkspacePacks>;

type ConfigurationFacts = PacksRequest & Pick<KnowledgePlace, 'workspaceId' | 'namespace'>;

export type ConfigurationWriting = Surroundings<AnsweredWrite<true, ConfigurationFacts>, Context>;

export const configurationKind: KnowledgeKind<true, ConfigurationFacts, WorkspacePacks> = {
  kind: 'configuration',
  method: 'PUT',
  timeoutSeconds: (settings) => settings.CP_CONTEXT_INGEST_TIMEOUT_SECONDS,
  refusals: { 404: 'pack_not_found' },
  // Nothing in the response is used.
  read: () => true,
  async record(context, { workspaceId, packs, strict, namespace }) {
    const { db, tenantId } = context;
    const changed = await db.row(putWorkspacePacks(tenantId, workspaceId, packs, strict));
    if (changed === undefined) return;
    emit(
      context,
      packsConfigured,
      { entityId: workspaceId, workspaceId },
      { workspaceId, namespace, packs, strict },
    );
  },
  async replyOf(context, { workspaceId }) {
    return reply(200, await showPacks(context, { workspaceId, rootWorkspaceId: workspaceId }));
  },
};

/**
 * Sets the packs that apply to the knowledge of a tree.
 * @throws Refusal `not_found`, `workspace_not_root`, `pack_version_required`, `memory_disabled`, `pack_not_found`,
 * `memory_unavailable`, those of `writeKnowledge`
 */
export async function configurePacks(
  workspaceId: string,
  { packs, strict }: PacksRequest,
  surroundings: ConfigurationWriting,
): Promise<Answer> {
  const { rootWorkspaceId, namespace } = await findPlace(surroundings.context, workspaceId);
  if (rootWorkspaceId !== workspaceId) fail('workspace_not_root', { workspaceId, rootWorkspaceId });
  const loose = packs.find((ref) => !isPackRef(ref, { versioned: true }));
  if (loose !== undefined) fail('pack_version_required', { pack: loose });
  return writeKnowledge(
    configurationKind,
    {
      subject: [namespace],
      path: `/api/memory/namespaces/${encodeURIComponent(namespace)}/kinds`,
      body: JSON.stringify({ packages: packs, strict }),
      facts: { workspaceId, namespace, packs, strict },
    },
    surroundings,
  );
}

/** @throws Refusal `not_found` */
export async function getPacks(context: Context, workspaceId: string): Promise<WorkspacePacks> {
  return showPacks(context, await findPlace(context, workspaceId));
}

async function showPacks(
  { db, tenantId }: Context,
  { workspaceId, rootWorkspaceId }: Pick<KnowledgePlace, 'workspaceId' | 'rootWorkspaceId'>,
): Promise<WorkspacePacks> {
  const row = await db.row(findWorkspacePacks(tenantId, rootWorkspaceId));
  const effective = row?.packs ?? [];
  return {
    workspaceId,
    rootWorkspaceId,
    configured: row !== undefined,
    packs: workspaceId === rootWorkspaceId ? effective : [],
    strict: row?.strict ?? false,
    effective,
    updatedAt: row?.updated_at ?? null,
  };
}
