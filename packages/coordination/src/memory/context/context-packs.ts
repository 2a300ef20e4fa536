import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { requireSightOfTask } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { requireMemory, requireResponse } from '../gateway/require-response.ts';
import { mayReadAll, refuseMemory } from '../gateway/visible-namespaces.ts';
import {
  type ContextPack,
  type ContextPackRow,
  contextPackOf,
  type KnownPack,
  type ReplayedPack,
} from './context-pack.ts';
import { findPack } from './context-packs.sql.ts';
import { keyOfEntity, keyOfFact, requestTypedPack } from './typed-pack.ts';

const driftMax = 200;
const shownCharactersMax = 500;

/** @throws Refusal `not_found`, `permission_denied` if a decision point does not show all its namespaces */
export async function getContextPack(context: Context, id: string): Promise<ContextPack> {
  return contextPackOf(await getPackRow(context, id));
}

async function getPackRow(context: Context, id: string): Promise<ContextPackRow> {
  const details = { contextPackId: id };
  const row = (await context.db.row(findPack(context.tenantId, id))) ?? fail('not_found', details);
  await requireSightOfTask(context, row.task_id, details);
  if (!mayReadAll(context, row.question.namespaces)) refuseMemory(context);
  return row;
}

/**
 * Repeats the request for a pack as of the same instant and returns the differences.
 * @throws Refusal `not_found`, `memory_disabled`, `memory_timeout`, `memory_unavailable`
 */
export async function replayContextPack(
  id: string,
  { context, command }: Surroundings<ReplayedPack, Context>,
): Promise<Answer> {
  const row = await getPackRow(context, id);
  const memory = requireMemory(context);
  const result = await requestTypedPack(memory, context, {
    ...row.question,
    asOf: row.as_of,
    budgetTokens: row.budget_tokens,
  });
  const { pack } = requireResponse(result).value;
  const drift = driftBetween(row.pack, pack);
  const reproduced = Object.values(drift).every((keys) => keys.length === 0);
  return command({ contextPack: contextPackOf(row), reproduced, drift, pack });
}

function driftBetween(then: KnownPack, now: KnownPack): ReplayedPack['drift'] {
  const [entitiesThen, entitiesNow] = [then, now].map(({ entities }) => entities.map(keyOfEntity));
  const [factsThen, factsNow] = [then, now].map(({ facts }) => facts.map(keyOfFact));
  return {
    missingEntities: onlyIn(entitiesThen, entitiesNow),
    extraEntities: onlyIn(entitiesNow, entitiesThen),
    missingFacts: onlyIn(factsThen, factsNow),
    extraFacts: onlyIn(factsNow, factsThen),
  };
}

function onlyIn(keys: readonly string[] = [], others: readonly string[] = []): string[] {
  const known = new Set(others);
  return [...new Set(keys)]
    .filter((key) => !known.has(key))
    .slice(0, driftMax)
    .map((key) => key.slice(0, shownCharactersMax).toWellFormed());
}
