import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

export const asOfModes = ['claim', 'now'] as const;

/** The knowledge about some anchors at an instant, in the format of the memory service. */
export const KnownPack = z
  .strictObject({
    entities: z.array(FreeObject),
    facts: z.array(FreeObject),
    snapshots: z.array(FreeObject),
  })
  .meta({ id: 'KnownPack' });
export type KnownPack = { entities: KnownEntity[]; facts: KnownFact[]; snapshots: JsonObject[] };
export type KnownEntity = JsonObject & { key: string };
export type KnownFact = JsonObject & { subject: string; predicate: string };

export function isEmptyPack({ entities, facts, snapshots }: KnownPack): boolean {
  return entities.length + facts.length + snapshots.length === 0;
}

/** The request to the memory service for a pack, without its tenant. */
export interface PackQuestion {
  readonly anchors: readonly string[];
  readonly kinds: readonly string[];
  readonly relations: readonly string[];
  readonly depth: number;
  readonly strategy: string | null;
  readonly namespaces: readonly string[];
}

const count = z.int().nonnegative();

/**
 * The context that an executor got when it claimed a task, recorded once for the claim. See
 * docs/reference/memory.md#recall-and-packs.
 */
export const ContextPack = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    taskId: Uuid,
    claimId: Uuid,
    createdBy: Uuid,
    asOf: Timestamp,
    asOfMode: z.enum(asOfModes),
    budgetTokens: z.int(),
    anchors: z.array(z.string()),
    kinds: z.array(z.string()),
    relations: z.array(z.string()),
    depth: z.int(),
    strategy: z.string().nullable(),
    namespaces: z.array(z.string()),
    entities: count,
    facts: count,
    snapshots: count,
    traceId: z.string().nullable(),
    pack: KnownPack,
    createdAt: Timestamp,
  })
  .meta({ id: 'ContextPack' });
export type ContextPack = z.infer<typeof ContextPack>;

export type ContextPackRow = RowOf<
  Tables['context_packs'],
  { as_of_mode: (typeof asOfModes)[number]; question: PackQuestion; pack: KnownPack }
>;

export const contextPackOf = wireMapper<ContextPackRow>()(ContextPack, {
  anchors: ({ question }) => [...question.anchors],
  kinds: ({ question }) => [...question.kinds],
  relations: ({ question }) => [...question.relations],
  depth: ({ question }) => question.depth,
  strategy: ({ question }) => question.strategy,
  namespaces: ({ question }) => [...question.namespaces],
  entities: ({ pack }) => pack.entities.length,
  facts: ({ pack }) => pack.facts.length,
  snapshots: ({ pack }) => pack.snapshots.length,
});

const keys = z.array(z.string()).meta({ description: 'At most 200.' });

/** The memory service's current response for the same instant, compared with the recorded one. */
export const ReplayedPack = z
  .strictObject({
    contextPack: ContextPack,
    reproduced: z.boolean().meta({ description: 'Whether memory returned the same entities and facts.' }),
    drift: z.strictObject({
      missingEntities: keys,
      extraEntities: keys,
      missingFacts: keys,
      extraFacts: keys,
    }),
    pack: KnownPack,
  })
  .meta({ id: 'ReplayedPack' });
export type ReplayedPack = z.infer<typeof ReplayedPack>;
