import { z } from 'zod';
import { type Answer, reply, type Surroundings } from '@baton/kernel/http/service';
import { eventText } from '@baton/values/event-text';
import { freeObjectOf, Uuid } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { documentBytesMax } from '../../service/documents.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { requireMemory } from '../gateway/require-response.ts';
import { findSeenDocuments, putDocument } from './documents.sql.ts';
import { documentStored } from './knowledge.events.ts';
import { fieldsOfPlace, findOpenPlace, type KnowledgePlace } from './place.ts';
import { requireFit, runInSteps, serializeRequest } from './serialize-request.ts';
import { type AnsweredWrite, type KnowledgeKind, writeKnowledge } from './write-knowledge.ts';

/** The limit in the schema; the body as a whole has its own, lower limit. */
const chunkCharactersMax = 8_388_608;
const chunk = z.strictObject({
  text: z.string().max(chunkCharactersMax),
  heading: z.string().max(500).nullish(),
  order: z.int().nullish(),
});
const link = z.strictObject({
  kind: z.string().min(1).max(128),
  key: z.string().min(1).max(512),
  rel: z.string().min(1).max(128),
});

/** A document for memory. See docs/reference/memory.md#knowledge. */
export const DocumentBody = z
  .strictObject({
    workspaceId: Uuid,
    naturalKey: z.string().min(1).max(512),
    title: z.string().min(1).max(500),
    type: z.string().min(1).max(128).default('document'),
    chunks: boundedList(chunk, 500).refine((chunks) => chunks.length > 0, 'must have at least one chunk'),
    links: boundedList(link, 200).default([]),
    meta: freeObjectOf(documentBytesMax).nullish(),
  })
  .meta({ id: 'KnowledgeDocument' });
type DocumentBody = z.output<typeof DocumentBody>;

/** A list whose members are validated only if it isn't too long: 8 MiB may contain a million invalid members. */
function boundedList<Item extends z.ZodType>(item: Item, itemsMax: number) {
  const list = z.array(item);
  const { $schema: _, ...described } = z.toJSONSchema(list, { io: 'input' });
  return z
    .custom<z.input<Item>[]>(
      (value) => Array.isArray(value) && value.length <= itemsMax,
      `must be a list of at most ${itemsMax}`,
    )
    .pipe(list)
    .meta({ ...described, maxItems: itemsMax });
}

const Stored = z.looseObject({ id: z.string().max(500).nullish().catch(null) });
interface Stored {
  readonly documentId: string | null;
}

/** A document in memory's own format. */
export const StoredDocument = z
  .strictObject({
    naturalKey: z.string(),
    type: z.string(),
    chunkCount: z.int(),
    linkCount: z.int(),
    documentId: z.string().nullable().meta({ description: 'Id of the document in the memory service.' }),
  })
  .meta({ id: 'StoredDocument' });

type DocumentFacts = Pick<DocumentBody, 'naturalKey' | 'title' | 'type'> &
  Pick<KnowledgePlace, 'workspaceId' | 'rootWorkspaceId' | 'namespace'> & {
    readonly chunkCount: number;
    readonly linkCount: number;
  };

export type DocumentWriting = Surroundings<AnsweredWrite<Stored, DocumentFacts>, Context>;

export const documentKind: KnowledgeKind<Stored, DocumentFacts, z.infer<typeof StoredDocument>> = {
  kind: 'document',
  method: 'POST',
  timeoutSeconds: (settings) => settings.CP_CONTEXT_INGEST_TIMEOUT_SECONDS,
  refusals: { 400: 'document_invalid' },
  read(json) {
    const stored = Stored.safeParse(json);
    return stored.success ? { documentId: stored.data.id ?? null } : undefined;
  },
  async record(context, facts) {
    const { workspaceId, naturalKey } = facts;
    await context.db.run(putDocument(context.tenantId, naturalKey, facts));
    const result = { ...facts, title: eventText(facts.title) };
    emit(context, documentStored, { entityId: workspaceId, workspaceId }, result);
  },
  replyOf(_context, { naturalKey, type, chunkCount, linkCount }, { value }) {
    return Promise.resolve(reply(200, { naturalKey, type, chunkCount, linkCount, ...value }));
  },
};

/**
 * Stores a document in memory, replacing the one with the same natural key.
 * @throws Refusal `not_found`, `workspace_archived`, `memory_disabled`, `document_invalid`, `memory_unavailable`, those
 * of `writeKnowledge`
 */
export async function storeDocument(
  { workspaceId, chunks, links, meta, ...fields }: DocumentBody,
  surroundings: DocumentWriting,
): Promise<Answer> {
  const { context } = surroundings;
  const place = await findOpenPlace(context, workspaceId);
  requireMemory(context);
  if (meta != null) requireFit(meta, 'meta', 'document_invalid');
  const sent = { ...fields, ...(meta != null && { meta }), ...fieldsOfPlace(place) };
  const text = await runInSteps(
    context.tenantId,
    serializeRequest(sent, { chunks: chunks.map(withoutNulls), links }, () => undefined),
  );
  const { rootWorkspaceId, namespace } = place;
  const counts = { chunkCount: chunks.length, linkCount: links.length };
  return writeKnowledge(
    documentKind,
    {
      subject: [namespace, fields.naturalKey],
      path: '/api/brain/documents',
      body: text,
      facts: { ...fields, ...counts, workspaceId: place.workspaceId, rootWorkspaceId, namespace },
    },
    surroundings,
  );
}

function withoutNulls(item: object): object {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value != null));
}

/**
 * @param naturalKeys keys of documents in a request @returns the keys stored through this service for a workspace that
 * the caller sees; undefined without a memory service, because they can't be verified
 */
export async function findKnownDocuments(
  context: Context,
  naturalKeys: readonly string[],
): Promise<ReadonlySet<string> | undefined> {
  if (context.memory === undefined) return undefined;
  if (naturalKeys.length === 0) return new Set();
  const viewer = await viewerOf(context);
  const rows = await context.db.rows(findSeenDocuments(context.tenantId, viewer, naturalKeys));
  return new Set(rows.map(({ natural_key }) => natural_key));
}
