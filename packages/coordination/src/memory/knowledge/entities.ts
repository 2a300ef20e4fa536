import { z } from 'zod';
import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { FreeObject, type JsonObject, Uuid } from '@baton/values/wire';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { AsOf, Conditions, Direction, findInvalidCondition } from '../gateway/conditions.ts';
import { requireMemory, requireResponse } from '../gateway/require-response.ts';
import { findPlace, requireMayRead } from './place.ts';

const name = z.string().min(1).max(128);
const limitWithRelationsMax = 100;
const answerBytesMax = 4 * 1_048_576;

export const EntitiesQuery = z
  .strictObject({
    workspaceId: Uuid,
    kinds: z.array(name).min(1).max(20),
    where: Conditions.default([]),
    asOf: AsOf.nullish(),
    limit: z.int().min(1).max(500).default(100),
    cursor: z.string().min(1).max(2000).nullish(),
    include: z
      .strictObject({
        relations: z.union([z.literal('*'), z.array(name).max(20)]),
        direction: Direction.default('both'),
        limit: z.int().min(1).max(200).default(20),
      })
      .nullish(),
  })
  .meta({ id: 'EntitiesQuery' });
type EntitiesQuery = z.output<typeof EntitiesQuery>;

/** Entities of the given kinds in memory, in memory's own format. */
export const EntitiesPage = z
  .strictObject({ items: z.array(FreeObject), nextCursor: z.string().nullable() })
  .meta({ id: 'EntitiesPage' });
type EntitiesPage = { items: JsonObject[]; nextCursor: string | null };

const Found = z.looseObject({
  items: z.array(z.looseObject({})).max(500),
  next_cursor: z.string().max(2000).nullish(),
});

/** @throws Refusal `entities_query_invalid` with `field` */
function requireFit({ where, limit, include }: EntitiesQuery): void {
  const wrong = findInvalidCondition(where);
  if (wrong >= 0) fail('entities_query_invalid', { field: `where[${wrong}]` });
  if (include != null && limit > limitWithRelationsMax)
    fail('entities_query_invalid', { field: 'limit', max: limitWithRelationsMax });
}

/**
 * Requests the entities of some kinds in a workspace from memory. See docs/reference/memory.md#knowledge.
 * @throws Refusal `not_found`, `permission_denied` for a person who does not see the whole tree, or if a decision point
 * does not show its namespace, `entities_query_invalid`, `memory_disabled`, `memory_timeout`, `memory_unavailable`
 */
export async function queryEntities(
  query: EntitiesQuery,
  { context, command }: Surroundings<EntitiesPage, Context>,
): Promise<Answer> {
  const place = await findPlace(context, query.workspaceId);
  await requireMayRead(context, place);
  const { namespace, workspaceId } = place;
  requireFit(query);
  const memory = requireMemory(context);
  const { kinds, where, asOf, limit, cursor, include } = query;
  const { tenantId, traceRunId, settings } = context;
  const result = await memory.send({
    tenantId,
    path: '/api/memory/entities:query',
    method: 'POST',
    traceRunId,
    timeoutMs: settings.CP_CONTEXT_TIMEOUT_SECONDS * 1000,
    answerBytesMax,
    body: {
      kinds,
      where,
      limit,
      ...(asOf != null && { as_of: asOf }),
      ...(cursor != null && { cursor }),
      ...(include != null && { include }),
      scopes: [`workspace:${workspaceId}`],
      scope: { namespace },
    },
    read(json): EntitiesPage | undefined {
      const found = Found.safeParse(json);
      if (!found.success || found.data.items.length > limit) return undefined;
      return { items: (json as { items: JsonObject[] }).items, nextCursor: found.data.next_cursor ?? null };
    },
  });
  return command(requireResponse(result, { 400: 'entities_query_invalid' }).value);
}
