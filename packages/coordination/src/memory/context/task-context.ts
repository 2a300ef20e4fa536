import { newId } from '@baton/values/ids';
import { findLiveClaim } from '../../leases/gate.ts';
import type { ClaimRow } from '../../leases/lease-rows.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { holds } from '../../service/permissions.ts';
import type { Task } from '../../work/tasks/task.ts';
import { lockTaskRow } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import type { MemoryGateway } from '../gateway/gateway.ts';
import { mayReadAll } from '../gateway/visible-namespaces.ts';
import { anchorsFor } from './anchors.ts';
import { contextPackRecorded } from './context.events.ts';
import { type ContextPackRow, isEmptyPack } from './context-pack.ts';
import { findPackOfClaim, insertPack, type NewPack } from './context-packs.sql.ts';
import type { TaskContext } from './context-response.ts';
import { readClock, type TypeOfTaskRow } from './focus.sql.ts';
import { requestTypedPack, type TypedQuestion } from './typed-pack.ts';

/**
 * The context that a type may declare, with the defaults of the schema. See
 * docs/reference/definitions.md#context-schema.
 */
interface Profile {
  readonly anchors?: readonly string[];
  readonly kinds?: readonly string[];
  readonly relations?: readonly string[];
  readonly depth?: number;
  readonly maxTokens?: number;
  readonly strategy?: string;
  readonly asOf?: 'claim' | 'now';
}

const usualTokens = 3000;

/** The parts of the task's own context that are known before the request to the memory service. */
export interface PreparedTaskContext {
  readonly task: Task;
  readonly claim: ClaimRow | undefined;
  readonly recorded: ContextPackRow | undefined;
  /** Whether the caller may read the whole recorded pack. */
  readonly mayReplay: boolean;
  readonly request: TypedQuestion;
  /** The part of the response that doesn't need memory. */
  readonly base: TaskContext;
}

/** A task's own context, and the pack to record for its claim. */
export interface AskedTaskContext {
  readonly answer: TaskContext;
  readonly toRecord: NewPack | undefined;
}

/**
 * Reads the inputs of a task's own context; undefined if its type declares none. The live claim determines the instant:
 * the state of memory at the time of the claim, unless the type requests the current state.
 */
export async function prepareTaskContext(
  context: Context,
  task: Task,
  type: TypeOfTaskRow,
  namespaces: readonly string[],
): Promise<PreparedTaskContext | undefined> {
  const profile = type.context_schema as Profile;
  if (Object.keys(profile).length === 0) return undefined;
  const { db, tenantId } = context;
  const claim = await findLiveClaim(context, task.id);
  const recorded = claim === undefined ? undefined : await db.row(findPackOfClaim(tenantId, claim.id));
  const { anchors, warnings } = anchorsFor(task, profile.anchors ?? []);
  const asOfMode = claim === undefined ? 'now' : (profile.asOf ?? 'claim');
  const { now } = (await db.row(readClock())) as { now: string };
  const asOf = claim !== undefined && asOfMode === 'claim' ? claim.acquired_at : now;
  const budgetTokens = profile.maxTokens ?? usualTokens;
  const { kinds = [], relations = [], depth = 1, strategy = null } = profile;
  return {
    task,
    claim,
    recorded,
    mayReplay: recorded !== undefined && mayReadPack(context, recorded),
    request: { anchors, kinds, relations, depth, strategy, namespaces, asOf, budgetTokens },
    base: {
      status: 'disabled',
      contextPackId: recorded?.id ?? null,
      claimId: claim?.id ?? null,
      asOf,
      asOfMode,
      replayed: false,
      recorded: false,
      budgetTokens,
      anchors,
      warnings,
      pack: null,
    },
  };
}

/**
 * The part of the response that takes the place of a call to the memory service; undefined if the service is called.
 */
export type Asking = { readonly memory: MemoryGateway } | { readonly status: 'disabled' | 'forbidden' };

/**
 * The task's own context. The pack of a live claim is returned as recorded, even while the memory service is
 * unavailable; with `now`, the memory service is called each time. See docs/reference/memory.md#task-context.
 */
export async function requestTaskContext(
  context: Context,
  { task, claim, recorded, mayReplay, request, base }: PreparedTaskContext,
  asking: Asking,
): Promise<AskedTaskContext> {
  const only = (answer: Partial<TaskContext>) => ({ answer: { ...base, ...answer }, toRecord: undefined });
  if (!('memory' in asking) && asking.status === 'forbidden') return only({ status: 'forbidden' });
  if (recorded !== undefined && base.asOfMode === 'claim') {
    if (mayReplay) return only(replayOf(recorded));
    return only({ status: 'memory' in asking ? 'forbidden' : asking.status });
  }
  if (!('memory' in asking)) return only({ status: asking.status });
  // All anchors of the type were dropped, so there is nothing to request.
  if (request.anchors.length === 0 && base.warnings.length > 0) return only({ status: 'empty' });
  const result = await requestTypedPack(asking.memory, context, request);
  if (result.kind === 'timeout') return only({ status: 'timeout' });
  if (result.kind !== 'ok') {
    const why = result.kind === 'refused' ? 'memory_refused' : `memory_${result.why}`;
    return only({ status: 'unavailable', warnings: [...base.warnings, why] });
  }
  const { pack, traceId } = result.value;
  const { asOf, budgetTokens, more: _, ...asked } = request;
  const mayRecord = claim?.holder_id === context.caller.principalId && recorded === undefined;
  return {
    answer: { ...base, status: isEmptyPack(pack) ? 'empty' : 'ok', pack },
    toRecord:
      claim === undefined || !mayRecord
        ? undefined
        : {
            id: newId(),
            tenant_id: context.tenantId,
            task_id: task.id,
            claim_id: claim.id,
            created_by: context.caller.principalId,
            as_of: asOf,
            as_of_mode: base.asOfMode,
            budget_tokens: budgetTokens,
            question: asked,
            pack,
            trace_id: traceId,
          },
  };
}

/**
 * A response from memory may be read by callers who may read the journal and each of the response's namespaces.
 * @throws NeedsDecision
 */
function mayReadPack(context: Context, { question }: ContextPackRow): boolean {
  return holds(context.caller.permissions, 'events.read') && mayReadAll(context, question.namespaces);
}

function replayOf(recorded: ContextPackRow): Partial<TaskContext> {
  const { id, pack, as_of: asOf, as_of_mode: asOfMode, budget_tokens: budgetTokens, question } = recorded;
  return {
    status: isEmptyPack(pack) ? 'empty' : 'ok',
    contextPackId: id,
    asOf,
    asOfMode,
    budgetTokens,
    anchors: [...question.anchors],
    replayed: true,
    pack,
  };
}

/**
 * Records the context of the holder of a live claim, once per claim. Of two concurrent requests, the later one gets the
 * pack of the earlier one; if the claim has ended in the meantime, nothing is recorded.
 * @returns the task's context for the response
 * @throws Refusal `not_found` if the caller may no longer see the task
 */
export async function recordPack(
  context: Context,
  { answer, toRecord }: { answer: TaskContext; toRecord: NewPack },
): Promise<TaskContext> {
  const task = await lockTaskRow(context, { id: toRecord.task_id, number: null });
  const claim = await findLiveClaim(context, task.id);
  if (claim?.id !== toRecord.claim_id || claim.holder_id !== context.caller.principalId)
    return { ...answer, claimId: claim?.id ?? null, warnings: [...answer.warnings, 'claim_ended'] };
  const row = await context.db.row(insertPack(toRecord));
  if (row === undefined) {
    const earlier = await context.db.row(findPackOfClaim(context.tenantId, claim.id));
    return { ...answer, ...replayOf(earlier as ContextPackRow) };
  }
  const { pack } = row;
  emit(
    context,
    contextPackRecorded,
    { entityId: task.id, workspaceId: task.workspace_id, sessionId: claim.session_id },
    {
      publicId: task.public_id,
      contextPackId: row.id,
      claimId: claim.id,
      asOf: row.as_of,
      asOfMode: row.as_of_mode,
      entities: pack.entities.length,
      facts: pack.facts.length,
      snapshots: pack.snapshots.length,
    },
  );
  return { ...answer, contextPackId: row.id, recorded: true };
}
