import { z } from 'zod';
import type { Surroundings } from '@baton/kernel/http/service';
import { FreeObject, freeObjectOf, type JsonObject, Uuid } from '@baton/values/wire';
import { type Context, endpoint } from '../context.ts';
import {
  DocumentBody,
  type DocumentWriting,
  documentKind,
  StoredDocument,
  storeDocument,
} from './documents.ts';
import { EntitiesPage, EntitiesQuery, queryEntities } from './entities.ts';
import {
  documentStored,
  knowledgeChanged,
  packRegistered,
  packsConfigured,
  snapshotReconciled,
} from './knowledge.events.ts';
import { getPack, type PackWriting, packBytesMax, packKind, RegisteredPack, registerPack } from './packs.ts';
import {
  previewSnapshot,
  ReconciledSnapshot,
  reconcileSnapshot,
  SnapshotBody,
  type SnapshotWriting,
  snapshotKind,
} from './snapshots.ts';
import {
  type ConfigurationWriting,
  configurationKind,
  configurePacks,
  getPacks,
  PacksRequest,
  WorkspacePacks,
} from './workspace-packs.ts';
import { settleWrite } from './write-knowledge.ts';

const snapshotErrors = [
  'not_found',
  'workspace_archived',
  'memory_disabled',
  'snapshot_invalid',
  'snapshot_stale',
  'memory_unavailable',
] as const;

const packExample = { name: 'platform', version: '1.0.0', scope: 'tenant', kinds: { service: {} } };
/** In memory's own form. */
const StoredPack = FreeObject.meta({ id: 'StoredKnowledgePack', examples: [packExample] });

const exampleId = '0190b2c4-0000-7000-8000-000000000001';
const snapshotExample = {
  workspaceId: exampleId,
  source: 'cluster-a',
  snapshotId: 'cluster-a-4711',
  observedAt: '2026-03-02T09:00:00Z',
  entities: [{ kind: 'service', key: 'service:billing', tier: 1 }],
  relations: [],
};

export const knowledgeApi = [
  endpoint({
    id: 'reconcileSnapshot',
    method: 'POST',
    path: '/knowledge/snapshots',
    summary: 'Store a snapshot of the entities of a source in memory.',
    description:
      'Memory compares the snapshot with the previous one of the source and returns what is new, changed or ' +
      'removed. The body may have up to 8 MiB; repeating a snapshotId changes nothing.',
    permission: 'observations.write',
    body: SnapshotBody,
    largeBody: true,
    returns: { 200: ReconciledSnapshot },
    errors: snapshotErrors,
    emits: [snapshotReconciled, knowledgeChanged],
    example: snapshotExample,
    around: ({ body }, surroundings: SnapshotWriting) => reconcileSnapshot(body, surroundings),
    handle: ({ prepared }, context) => settleWrite(snapshotKind, context, prepared),
  }),
  endpoint({
    id: 'previewSnapshot',
    method: 'POST',
    path: '/knowledge/snapshots:preview',
    summary: 'Preview the changes that a snapshot would make.',
    description:
      '`stateToken` identifies the state that the snapshot was compared with: send it as `expectedState`. The ' +
      'response contains knowledge from memory, so it is only for callers who see the whole tree of the ' +
      'workspace and, with a decision point, may read its namespace.',
    idempotency: 'ignored',
    transaction: 'none',
    permission: 'observations.write',
    body: SnapshotBody,
    largeBody: true,
    returns: { 200: ReconciledSnapshot },
    errors: snapshotErrors,
    example: snapshotExample,
    around: ({ body }, surroundings: Surroundings<ReconciledSnapshot, Context>) =>
      previewSnapshot(body, surroundings),
    handle: ({ prepared }) => prepared,
  }),
  endpoint({
    id: 'storeDocument',
    method: 'POST',
    path: '/knowledge/documents',
    summary: 'Store a document in memory, replacing the one with the same natural key.',
    permission: 'observations.write',
    body: DocumentBody,
    largeBody: true,
    returns: { 200: StoredDocument },
    errors: ['not_found', 'workspace_archived', 'memory_disabled', 'document_invalid', 'memory_unavailable'],
    emits: [documentStored],
    example: {
      workspaceId: exampleId,
      naturalKey: 'wiki/billing',
      title: 'How billing works',
      chunks: [{ text: 'Invoices are created at night.' }],
      links: [{ kind: 'service', key: 'service:billing', rel: 'describes' }],
    },
    around: ({ body }, surroundings: DocumentWriting) => storeDocument(body, surroundings),
    handle: ({ prepared }, context) => settleWrite(documentKind, context, prepared),
  }),
  endpoint({
    id: 'queryEntities',
    method: 'POST',
    path: '/knowledge/entities:query',
    summary: 'Query the entities of some kinds in a workspace.',
    idempotency: 'ignored',
    transaction: 'none',
    permission: 'events.read',
    body: EntitiesQuery,
    returns: { 200: EntitiesPage },
    errors: [
      'not_found',
      'entities_query_invalid',
      'memory_disabled',
      'memory_timeout',
      'memory_unavailable',
    ],
    example: { workspaceId: exampleId, kinds: ['service'], where: [{ attr: 'tier', op: 'eq', value: 1 }] },
    around: (
      { body },
      surroundings: Surroundings<{ items: JsonObject[]; nextCursor: string | null }, Context>,
    ) => queryEntities(body, surroundings),
    handle: ({ prepared }) => prepared,
  }),
  endpoint({
    id: 'registerKnowledgePack',
    method: 'POST',
    path: '/knowledge/packs',
    summary: 'Register a pack of kinds and rules for knowledge.',
    description:
      '`scope: tenant` requires `knowledge.packs.manage`; only the principals in CP_KNOWLEDGE_PACK_ADMINS ' +
      'can register a pack for all tenants. The memory service defines the rest of the document.',
    body: freeObjectOf(packBytesMax).meta({ id: 'KnowledgePack' }),
    returns: { 200: RegisteredPack, 201: RegisteredPack },
    errors: [
      'permission_denied',
      'memory_disabled',
      'pack_invalid',
      'pack_version_conflict',
      'memory_unavailable',
    ],
    emits: [packRegistered],
    example: packExample,
    around: ({ body }, surroundings: PackWriting) => registerPack(body, surroundings),
    handle: ({ prepared }, context) => settleWrite(packKind, context, prepared),
  }),
  endpoint({
    id: 'getKnowledgePack',
    method: 'GET',
    path: '/knowledge/packs/{ref}',
    summary: 'Read a pack of the tenant, or one for all tenants, by `name` or `name@version`.',
    permission: 'events.read',
    params: { ref: z.string().min(1).max(400) },
    returns: { 200: StoredPack },
    errors: ['invalid_pack_ref', 'memory_disabled', 'not_found', 'memory_timeout', 'memory_unavailable'],
    around: ({ params }, surroundings: Surroundings<JsonObject, Context>) =>
      getPack(params.ref, surroundings),
    handle: ({ prepared }) => prepared,
  }),
  endpoint({
    id: 'configureKnowledgePacks',
    method: 'PUT',
    path: '/workspaces/{id}/knowledge-packs',
    summary: 'Set the packs that apply to the knowledge of a tree of workspaces.',
    permission: 'workspaces.manage',
    params: { id: Uuid },
    body: PacksRequest,
    returns: { 200: WorkspacePacks },
    errors: [
      'not_found',
      'workspace_not_root',
      'pack_version_required',
      'memory_disabled',
      'pack_not_found',
      'memory_unavailable',
    ],
    emits: [packsConfigured],
    example: { packs: [], strict: false },
    around: ({ params, body }, surroundings: ConfigurationWriting) =>
      configurePacks(params.id, body, surroundings),
    handle: ({ prepared }, context) => settleWrite(configurationKind, context, prepared),
  }),
  endpoint({
    id: 'getKnowledgePacks',
    method: 'GET',
    path: '/workspaces/{id}/knowledge-packs',
    summary: 'Read the packs that apply to the knowledge of a workspace.',
    permission: 'workspaces.read',
    params: { id: Uuid },
    returns: { 200: WorkspacePacks },
    errors: ['not_found'],
    handle: ({ params }, context) => getPacks(context, params.id),
  }),
];
