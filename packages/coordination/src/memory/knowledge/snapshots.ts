import { z } from 'zod';
import { type Answer, reply, type Surroundings } from '@baton/kernel/http/service';
import { type JsonObject, Uuid } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { documentBytesMax } from '../../service/documents.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { AsOf } from '../gateway/conditions.ts';
import { requireMemory } from '../gateway/require-response.ts';
import { findWrittenEvent } from './intents.sql.ts';
import { knowledgeChanged, snapshotReconciled } from './knowledge.events.ts';
import { fieldsOfPlace, findOpenPlace, type KnowledgePlace, requireMayRead } from './place.ts';
import { requireFit, runInSteps, serializeRequest } from './serialize-request.ts';
import {
  type AnsweredWrite,
  type KnowledgeKind,
  requireWritten,
  writeAnswerBytesMax,
  writeKnowledge,
} from './write-knowledge.ts';

const itemsMax = 20_000;
const kindCharactersMax = 128;
const keyCharactersMax = 512;
const changesToldMax = 200;
const countersMax = 32;
const counterNameCharactersMax = 64;
const path = '/api/memory/reconcile';

/** Free-form objects, validated by a single check, because per-item schemas would report a problem per item. */
const items = z
  .custom<JsonObject[]>(
    (value) =>
      Array.isArray(value) &&
      value.length <= itemsMax &&
      value.every((item) => typeof item === 'object' && item !== null && !Array.isArray(item)),
    `must be a list of at most ${itemsMax} objects`,
  )
  .meta({ type: 'array', items: { type: 'object', 'x-maxBytes': documentBytesMax }, maxItems: itemsMax });

/** The entities and relations from a source. See docs/reference/memory.md#knowledge. */
export const SnapshotBody = z
  .strictObject({
    workspaceId: Uuid,
    pack: z.string().min(1).max(128).nullish(),
    source: z.string().min(1).max(200),
    scope: z.string().min(1).max(200).nullish(),
    snapshotId: z.string().min(1).max(200),
    observedAt: AsOf,
    entities: items,
    relations: items,
    expectedState: z.string().min(1).max(128).nullish(),
  })
  .refine(
    ({ entities, relations }) => entities.length + relations.length <= itemsMax,
    `must have at most ${itemsMax} entities and relations together`,
  )
  .meta({ id: 'KnowledgeSnapshot' });
type SnapshotBody = z.output<typeof SnapshotBody>;

const things = z
  .array(z.looseObject({ kind: z.string().max(kindCharactersMax), key: z.string().max(keyCharactersMax) }))
  .max(2 * itemsMax)
  .transform((list) => list.map(({ kind, key }) => ({ kind, key })))
  .default([]);

const Reconciled = z.looseObject({
  duplicate: z.boolean().default(false),
  dryRun: z.boolean().nullish(),
  stateToken: z.string().min(1).max(1000).nullish(),
  changes: z.object({ opened: things, changed: things, closed: things }),
  counters: z.record(z.string(), z.unknown()).nullish().catch(null),
});

const thing = z.strictObject({ kind: z.string(), key: z.string() });
const Changes = z.strictObject({ opened: z.array(thing), changed: z.array(thing), closed: z.array(thing) });
type Changes = z.infer<typeof Changes>;

/** The changes that a snapshot made or would make. See docs/reference/memory.md#knowledge. */
export const ReconciledSnapshot = z
  .strictObject({
    duplicate: z.boolean().meta({ description: 'Whether memory already had this snapshot.' }),
    dryRun: z.boolean(),
    stateToken: z.string().nullable(),
    changes: Changes,
    counters: z.record(z.string(), z.number()),
  })
  .meta({ id: 'ReconciledSnapshot' });
export type ReconciledSnapshot = z.infer<typeof ReconciledSnapshot>;

/**
 * @returns undefined if the response has another form or belongs to another request
 */
function readReconciled(json: unknown, isDry: boolean): ReconciledSnapshot | undefined {
  const parsed = Reconciled.safeParse(json);
  if (!parsed.success) return undefined;
  const { duplicate, dryRun, stateToken, changes, counters } = parsed.data;
  if ((dryRun ?? false) !== isDry) return undefined;
  if (isDry && stateToken == null) return undefined;
  const state = { dryRun: isDry, stateToken: stateToken ?? null };
  return { duplicate, ...state, changes, counters: countersOf(changes, counters) };
}

/** The number of changes of each kind, and memory's other counts. */
function countersOf(changes: Changes, result: object | null | undefined): Record<string, number> {
  const counted = Object.entries(changes).map(([name, list]) => [name, list.length] as const);
  const numbers = Object.entries({ ...Object.fromEntries(counted), ...result }).filter(
    (entry): entry is [string, number] =>
      typeof entry[1] === 'number' && entry[0].length <= counterNameCharactersMax,
  );
  return Object.fromEntries(numbers.slice(0, countersMax));
}

/** The part of a snapshot that its events contain. */
type SnapshotFacts = Pick<SnapshotBody, 'snapshotId' | 'source' | 'observedAt' | 'workspaceId'> &
  Pick<KnowledgePlace, 'rootWorkspaceId' | 'namespace'> & {
    readonly pack: string | null;
    readonly entityCount: number;
    readonly relationCount: number;
  };

export type SnapshotWriting = Surroundings<AnsweredWrite<ReconciledSnapshot, SnapshotFacts>, Context>;

export const snapshotKind: KnowledgeKind<ReconciledSnapshot, SnapshotFacts, ReconciledSnapshot> = {
  kind: 'snapshot',
  method: 'POST',
  timeoutSeconds: (settings) => settings.CP_CONTEXT_RECONCILE_TIMEOUT_SECONDS,
  refusals: { 400: 'snapshot_invalid', 409: 'snapshot_stale' },
  read: (json) => readReconciled(json, false),
  async record(context, { entityCount, relationCount, ...about }, { value }) {
    const { changes, counters } = value;
    const duplicate = value.duplicate && (await isTold(context, about));
    const entity = { entityId: about.workspaceId, workspaceId: about.workspaceId };
    emit(context, snapshotReconciled, entity, { ...about, entityCount, relationCount, duplicate, counters });
    const all = (['opened', 'changed', 'closed'] as const).flatMap((change) =>
      changes[change].slice(0, changesToldMax).map((one) => ({ ...one, change })),
    );
    if (duplicate || all.length === 0) return;
    const count = changes.opened.length + changes.changed.length + changes.closed.length;
    const result = all.slice(0, changesToldMax);
    emit(context, knowledgeChanged, entity, {
      ...about,
      changes: result,
      truncated: count > changesToldMax,
      counters,
    });
  },
  replyOf: (_context, _facts, { value }) => Promise.resolve(reply(200, value)),
};

/**
 * Whether the journal has the event of a snapshot that memory has. If not, the response to its first write was lost or
 * the process crashed, and this write counts as the first.
 */
async function isTold(
  { db, tenantId }: Context,
  { workspaceId, snapshotId, namespace }: Pick<SnapshotFacts, 'workspaceId' | 'snapshotId' | 'namespace'>,
): Promise<boolean> {
  const about = { snapshotId, namespace };
  return (
    (await db.row(findWrittenEvent(tenantId, workspaceId, snapshotReconciled.type, about)))?.written === true
  );
}

/**
 * Stores a snapshot of a source's entities in memory, which compares it with its state. See
 * docs/reference/memory.md#knowledge.
 * @throws Refusal `not_found`, `workspace_archived`, `memory_disabled`, `snapshot_invalid`, `snapshot_stale`,
 * `memory_unavailable`, those of `writeKnowledge`
 */
export async function reconcileSnapshot(body: SnapshotBody, surroundings: SnapshotWriting): Promise<Answer> {
  const { place, text } = await openSnapshot(surroundings.context, body, false);
  const { workspaceId, rootWorkspaceId, namespace } = place;
  const { pack = null, source, scope = null, snapshotId, observedAt, entities, relations } = body;
  return writeKnowledge(
    snapshotKind,
    {
      subject: [namespace, pack ?? '', source, scope ?? ''],
      path,
      body: text,
      facts: {
        snapshotId,
        pack,
        source,
        observedAt,
        workspaceId,
        rootWorkspaceId,
        namespace,
        entityCount: entities.length,
        relationCount: relations.length,
      },
    },
    surroundings,
  );
}

/**
 * Previews a snapshot: returns the changes that it would make, and the state that it was compared with. The response
 * lists entities in memory that the snapshot doesn't contain, so the caller must be allowed to read them.
 * @throws as `reconcileSnapshot`, `permission_denied`
 */
export async function previewSnapshot(
  body: SnapshotBody,
  { context, command }: Surroundings<ReconciledSnapshot, Context>,
): Promise<Answer> {
  const { text } = await openSnapshot(context, body, true);
  const { tenantId, traceRunId, settings } = context;
  const result = await requireMemory(context).send({
    tenantId,
    path,
    method: 'POST',
    text,
    traceRunId,
    timeoutMs: snapshotKind.timeoutSeconds(settings) * 1000,
    answerBytesMax: writeAnswerBytesMax,
    read: (json) => readReconciled(json, true),
  });
  return command(requireWritten(result, snapshotKind.refusals).value);
}

/** Validates a snapshot before the request to memory, and builds that request. */
async function openSnapshot(
  context: Context,
  { workspaceId, entities, relations, ...fields }: SnapshotBody,
  dryRun: boolean,
): Promise<{ place: KnowledgePlace; text: string }> {
  const place = await findOpenPlace(context, workspaceId);
  if (dryRun) await requireMayRead(context, place);
  requireMemory(context);
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
  const sent = { ...given, ...fieldsOfPlace(place), dryRun };
  const text = await runInSteps(
    context.tenantId,
    serializeRequest(sent, { entities, relations }, requireFitItem),
  );
  return { place, text };
}

/** Events contain the names of entities, so the names are bounded. @throws Refusal `snapshot_invalid` */
function requireFitItem(item: object, field: string): void {
  requireFit(item, field, 'snapshot_invalid');
  const { kind, key } = item as Readonly<Record<string, unknown>>;
  for (const [name, value, max] of [
    ['kind', kind, kindCharactersMax],
    ['key', key, keyCharactersMax],
  ] as const)
    if (typeof value === 'string' && value.length > max)
      fail('snapshot_invalid', { field: `${field}.${name}`, maxLength: max });
}
