import type { Recalled, RecallQuestion } from '@baton/process-engine/engine/inputs';
import type { JsonObject } from '@baton/values/wire';
import type { KnownPack } from '../../../memory/context/context-pack.ts';
import { requestTypedPack } from '../../../memory/context/typed-pack.ts';
import type { MemoryGateway } from '../../../memory/gateway/gateway.ts';
import { canonicalHash } from '../../../service/durable-text/canonical.ts';
import type { Context } from '../../context.ts';

/** Sends the memory queries of steps, and selects the results to store. */

const answerBytesMax = 262_144;
/**
 * The maximum size of a step's result as JSON: it must fit into the instance's data together with the existing members.
 */
const resultCharactersMax = 49_152;
/** The average number of characters per token. */
const tokenCharacters = 4;
const itemsMax = 200;

export type Asked =
  | { readonly kind: 'answered'; readonly recalled: Recalled }
  /** The same query would fail in the same way again. */
  | { readonly kind: 'refused'; readonly reason: 'memory_refused' | 'memory_unreadable' }
  | { readonly kind: 'later' };

/** Sends a query outside any transaction; never throws for errors of the memory service. */
export async function sendRecall(
  memory: MemoryGateway,
  context: Pick<Context, 'tenantId' | 'settings' | 'traceRunId'>,
  { anchors, kinds, relations, depth, maxTokens, asOf }: RecallQuestion,
  namespaces: readonly string[],
): Promise<Asked> {
  const result = await requestTypedPack(memory, context, {
    anchors,
    kinds,
    relations,
    depth,
    strategy: null,
    namespaces,
    asOf,
    budgetTokens: maxTokens,
    answerBytesMax,
    more: { direction: 'both', limit: itemsMax },
  });
  if (result.kind === 'ok')
    return { kind: 'answered', recalled: takenOf(result.value.pack, asOf, maxTokens) };
  if (result.kind === 'refused') return { kind: 'refused', reason: 'memory_refused' };
  const isUnreadable = result.kind === 'unavailable' && result.why === 'unreadable';
  return isUnreadable ? { kind: 'refused', reason: 'memory_unreadable' } : { kind: 'later' };
}

/** The first results that fit: entities, then facts about them, then snapshots. */
function takenOf({ entities, facts, snapshots }: KnownPack, asOf: string, maxTokens: number): Recalled {
  let left = Math.min(resultCharactersMax, maxTokens * tokenCharacters);
  let truncated = false;
  const fitting = (items: readonly JsonObject[]) =>
    items.filter((item) => {
      const characters = truncated ? 0 : JSON.stringify(item).length + 1;
      truncated ||= characters > left;
      left -= characters;
      return !truncated;
    });
  const pack = { entities: fitting(entities), facts: fitting(facts), snapshots: fitting(snapshots) };
  return {
    asOf,
    nodeCount: pack.entities.length,
    edgeCount: pack.facts.length,
    truncated,
    resultHash: canonicalHash(pack, { fractions: 'allowed' }),
    result: { ...pack, asOf, truncated },
  };
}
