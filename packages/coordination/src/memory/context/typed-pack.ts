import { z } from 'zod';
import type { Context } from '../context.ts';
import type { MemoryGateway, MemoryResult } from '../gateway/gateway.ts';
import type { KnownEntity, KnownFact, KnownPack, PackQuestion } from './context-pack.ts';

const text = z.string().min(1).max(1000);
const traceId = z.string().max(200).nullish().catch(null);

/** The lists of a response; each object is passed on unchanged. */
const TypedAnswer = z.looseObject({
  entities: z.array(z.looseObject({ key: text })).max(2000),
  facts: z.array(z.looseObject({ subject: text, predicate: text })).max(5000),
  snapshots: z.array(z.looseObject({})).max(500).default([]),
  anchors: z.array(z.string().max(1000)).max(200).optional().catch(undefined),
  trace_id: traceId,
});

export interface TypedAnswer {
  readonly pack: KnownPack;
  readonly traceId: string | null;
  /** The anchors of the lookup, if the memory service returns them. */
  readonly anchors: string[] | undefined;
}

export interface TypedQuestion extends PackQuestion {
  readonly asOf: string;
  readonly budgetTokens: number;
  /** 1 MiB when absent. */
  readonly answerBytesMax?: number;
  /** The optional parts of a request: text instead of anchors, a limit, a direction, conditions. */
  readonly more?: object;
}

/** Requests knowledge about some anchors. See docs/reference/memory.md#memory-service (`context/typed`). */
export function requestTypedPack(
  memory: MemoryGateway,
  { tenantId, settings, traceRunId }: Pick<Context, 'tenantId' | 'settings' | 'traceRunId'>,
  {
    anchors,
    kinds,
    relations,
    depth,
    strategy,
    namespaces,
    asOf,
    budgetTokens,
    answerBytesMax,
    more,
  }: TypedQuestion,
): Promise<MemoryResult<TypedAnswer>> {
  return memory.send({
    tenantId,
    path: '/api/memory/context/typed',
    method: 'POST',
    traceRunId,
    timeoutMs: settings.CP_CONTEXT_TIMEOUT_SECONDS * 1000,
    ...(answerBytesMax !== undefined && { answerBytesMax }),
    body: {
      anchors,
      kinds,
      relations,
      depth,
      ...(strategy !== null && { strategy }),
      as_of: asOf,
      max_tokens: budgetTokens,
      ...more,
      scope: { namespace: namespaces[0], namespaces },
    },
    read(json) {
      const answer = TypedAnswer.safeParse(json);
      if (!answer.success) return undefined;
      // Unparsed, because a parsed copy would drop a member named __proto__.
      const { entities, facts, snapshots } = json as Pick<KnownPack, 'entities' | 'facts'> &
        Partial<KnownPack>;
      const { trace_id: traceId = null, anchors } = answer.data;
      return { pack: { entities, facts, snapshots: snapshots ?? [] }, traceId, anchors };
    },
  });
}

/** The identity of an entity. */
export function keyOfEntity({ key }: KnownEntity): string {
  return key;
}

/** What identifies a fact: the whole statement. */
export function keyOfFact({ subject, predicate, object = null }: KnownFact): string {
  return `${subject} ${predicate} ${typeof object === 'string' ? object : JSON.stringify(object)}`;
}
