import { z } from 'zod';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { ProcessProblem, problemsMax } from '@baton/process-engine/language/problems';
import { sizeFault, specBytesMax } from '@baton/process-engine/language/read-definition';
import { Uuid } from '@baton/values/wire';
import type { Context } from '../../context.ts';
import { validateDefinition } from '../../definitions/definition-problems.ts';
import { getDefinitionRow } from '../../definitions/definitions.ts';
import { fail } from '../../errors.ts';
import { type MovedDeadline, predictDeadlines } from './predict-deadlines.ts';
import {
  callMsMax,
  namedRows,
  ReplayedInstance,
  type ReplayResult,
  replayDefinition,
  replayedMax,
} from './replay.ts';

/** The replay of instances with an unpublished definition (docs/reference/processes.md#replay). */

export const ReplayRequest = z
  .strictObject({
    spec: z.unknown().meta({
      'x-maxBytes': specBytesMax,
      description: `The candidate: an object of at most ${specBytesMax} bytes of JSON, or a text of YAML of at most 65536 characters.`,
    }),
    instanceIds: z.array(Uuid).min(1).max(replayedMax).optional().meta({
      description: 'The instances to replay; overrides `limit`.',
    }),
    limit: z
      .int()
      .min(1)
      .max(replayedMax)
      .default(50)
      .meta({ description: 'The number of newest instances to replay.' }),
  })
  .meta({ id: 'ProcessReplayRequest' });
export type ReplayRequest = z.output<typeof ReplayRequest>;

export const ProcessReplay = z
  .strictObject({
    key: z.string(),
    candidateHash: z.string().nullable().meta({
      description: 'The `definitionHash` of the candidate; null if it is malformed.',
    }),
    replayed: z.int().nonnegative(),
    diverged: z.int().nonnegative(),
    problems: z.array(ProcessProblem).max(problemsMax).meta({
      description: 'Problems of the candidate. If one of them is an error, nothing is replayed.',
    }),
    instances: z.array(ReplayedInstance).max(replayedMax),
  })
  .meta({ id: 'ProcessReplay' });
export type ProcessReplay = z.infer<typeof ProcessReplay>;

/** A call takes up to 5 s, half of it on a processor that all tenants share. */
const ofTenant = new ConcurrencyLimit('replays of the tenant', {
  runningMax: 1,
  queuedMax: 4,
  waitMsMax: 10_000,
});
const ofProcess = new ConcurrencyLimit('replays', { runningMax: 2, queuedMax: 20, waitMsMax: 10_000 });

/**
 * Validates a candidate and replays instances with it, when the tenant and the process have a free slot.
 * @throws Refusal `not_found`, `payload_too_large`, 503 `unavailable` if too many requests wait
 */
export async function replayInTurn(
  context: Context,
  key: string,
  request: ReplayRequest,
): Promise<ProcessReplay> {
  const latest = await getDefinitionRow(context, key, null);
  // This check precedes the validation of the candidate, so that an invalid candidate reveals nothing about instances.
  if (request.instanceIds !== undefined) await namedRows(context, key, request.instanceIds);
  const tooLarge = sizeFault(request.spec);
  if (tooLarge !== undefined) fail('payload_too_large', { field: 'spec', ...tooLarge });
  return ofTenant.run(context.tenantId, () =>
    ofProcess.run('', async () => {
      const { spec, hash, problems } = await validateDefinition(context, request.spec, latest);
      const head = { key, candidateHash: hash ?? null, problems };
      const isInvalid = problems.some(({ severity }) => severity === 'error');
      if (spec === undefined || isInvalid) return { ...head, ...nothing };
      const { instanceIds, limit } = request;
      const untilMs = performance.now() + callMsMax;
      return { ...head, ...(await replayDefinition(context, { key, spec, instanceIds, limit, untilMs })) };
    }),
  );
}

/**
 * Replays instances with several valid candidates, when the tenant and the process have a free slot. Together they may
 * take as long as one call; instances that have not been started by then count as not replayed.
 * @returns the result of each, in the same order
 * @throws Refusal 503 `unavailable` if too many requests wait
 */
export function replayAllInTurn(
  context: Context,
  candidates: readonly { readonly key: string; readonly spec: ProcessSpec }[],
  limit: number,
): Promise<ReplayResult[]> {
  if (candidates.length === 0 || limit === 0) return Promise.resolve(candidates.map(() => nothing));
  return ofTenant.run(context.tenantId, () =>
    ofProcess.run('', async () => {
      const untilMs = performance.now() + callMsMax;
      const results: ReplayResult[] = [];
      for (const candidate of candidates)
        results.push(await replayDefinition(context, { ...candidate, limit, untilMs }));
      return results;
    }),
  );
}

/** The maximum time that a call spends on predicting moved deadlines. */
const foreseeingMsMax = 1000;

/**
 * Predicts which deadlines the candidates would move in the instances that migrate to them, when the tenant and the
 * process have a free slot.
 * @returns the deadlines for each candidate, in the given order
 * @throws Refusal 503 `unavailable` if too many requests wait
 */
export function predictDeadlinesInTurn(
  context: Context,
  candidates: readonly {
    readonly key: string;
    readonly spec: ProcessSpec;
    readonly versions: readonly number[];
  }[],
): Promise<MovedDeadline[][]> {
  if (candidates.every(({ versions }) => versions.length === 0))
    return Promise.resolve(candidates.map(() => []));
  return ofTenant.run(context.tenantId, () =>
    ofProcess.run('', async () => {
      const untilMs = performance.now() + foreseeingMsMax;
      const found: MovedDeadline[][] = [];
      for (const candidate of candidates)
        found.push(await predictDeadlines(context, { ...candidate, untilMs }));
      return found;
    }),
  );
}

const nothing: ReplayResult = { replayed: 0, diverged: 0, instances: [] };
