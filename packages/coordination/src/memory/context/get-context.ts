import { NeedsTransaction } from '@baton/kernel/http/command';
import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { isAnchor } from '@baton/process-engine/engine/anchor';
import { getHarnessContext } from '../../execution/harness/harness.ts';
import { holds } from '../../service/permissions.ts';
import { getFreshness } from '../adapter/adapter-operations.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { visibleNamespaces } from '../gateway/visible-namespaces.ts';
import type { NewPack } from './context-packs.sql.ts';
import { anchorsMax, type ContextAnswer, type ContextRequest } from './context-response.ts';
import { type Focus, findFocus, readFocus, readInstructions, readProject } from './focus.ts';
import { type MemoryPart, requestMemoryPack, withoutMemory } from './memory-pack.ts';
import {
  type AskedTaskContext,
  type Asking,
  prepareTaskContext,
  recordPack,
  requestTaskContext,
} from './task-context.ts';

/** A context that was read, and the pack to record. */
export interface ReadContext {
  readonly answer: ContextAnswer;
  readonly toRecord: NewPack | undefined;
}

/** @throws Refusal `invalid_context_request` */
export function requireAnchors({ anchors }: Pick<ContextRequest, 'anchors'>): void {
  const wrong = anchors.findIndex((anchor) => !isAnchor(anchor));
  if (anchors.length > anchorsMax) fail('invalid_context_request', { field: 'anchors', max: anchorsMax });
  if (wrong >= 0) fail('invalid_context_request', { field: `anchors[${wrong}]` });
}

/**
 * Returns the context for a principal that is about to act: always the operational part, and the part from memory if
 * the memory service responds in time. The request to it runs in parallel with the operational part, and no database
 * connection is held during the request. See docs/reference/memory.md#context.
 * @throws Refusal those of `findFocus`
 */
export async function getContext(
  request: ContextRequest,
  { context, command }: Surroundings<ReadContext, Context>,
): Promise<Answer> {
  const began = performance.now();
  const answer = await command(await readContext(context, request));
  const { contextRequests, contextRequestDuration } = context.counters;
  contextRequests.inc();
  contextRequestDuration.observe((performance.now() - began) / 1000);
  return answer;
}

/** The final step of `getContext`: records the pack of a claim in a separate transaction. */
export async function finishContext(
  context: Context,
  { answer, toRecord }: ReadContext,
): Promise<ContextAnswer> {
  const { taskContext } = answer;
  if (toRecord === undefined || taskContext === undefined) return answer;
  if (!context.transactional) throw new NeedsTransaction();
  return { ...answer, taskContext: await recordPack(context, { answer: taskContext, toRecord }) };
}

async function readContext(context: Context, request: ContextRequest): Promise<ReadContext> {
  const focus = await findFocus(context, request);
  askRights(context);
  const { asking, namespaces } = await mayAsk(context, request, focus);
  const { task, type } = focus;
  const [prepared, instructions] =
    task === undefined || type === undefined
      ? []
      : [
          await prepareTaskContext(context, task, type, namespaces),
          await readInstructions(context, task, type),
        ];
  const [operational, part, taskPart] = await Promise.all([
    readOperational(context, focus, request),
    'memory' in asking
      ? requestMemoryPack(asking.memory, context, request, { focus, namespaces })
      : withoutMemory(asking.status),
    prepared && requestTaskContext(context, prepared, asking),
  ]);
  if (isDegraded(part, taskPart)) context.counters.contextDegraded.inc();
  return {
    answer: {
      ...operational,
      ...part,
      warnings: [...part.warnings],
      ...(instructions !== undefined && { instructions }),
      ...(taskPart !== undefined && { taskContext: taskPart.answer }),
    },
    toRecord: taskPart?.toRecord,
  };
}

/** Resolves external authorization first, because it may restart the call, and memory must be requested only once. */
function askRights({ caller }: Context): void {
  for (const right of ['events.read', 'artifacts.read'] as const) holds(caller.permissions, right);
  if (caller.kind === 'human') holds(caller.permissions, 'approvals.decide');
}

/** A disabled memory service takes precedence over a missing right. See docs/reference/memory.md#context. */
async function mayAsk(
  context: Context,
  { includeMemory }: Pick<ContextRequest, 'includeMemory'>,
  { rootWorkspaceId }: Focus,
): Promise<{ asking: Asking; namespaces: readonly string[] }> {
  const { memory, caller } = context;
  if (memory === undefined || !includeMemory) return { asking: { status: 'disabled' }, namespaces: [] };
  const mayRead = holds(caller.permissions, 'events.read');
  const namespaces = mayRead ? await visibleNamespaces(context, rootWorkspaceId) : [];
  return { asking: namespaces.length > 0 ? { memory } : { status: 'forbidden' }, namespaces };
}

async function readOperational(
  context: Context,
  { task, project }: Focus,
  { includeSubprojects }: Pick<ContextRequest, 'includeSubprojects'>,
): Promise<Pick<ContextAnswer, 'operational' | 'freshness'>> {
  const harness = await getHarnessContext(context);
  const focus = task === undefined ? null : await readFocus(context, task);
  const about = project === undefined ? null : await readProject(context, project, includeSubprojects);
  const result = await getFreshness(context);
  return {
    operational: { ...harness, focus, project: about },
    freshness: { currentCursor: harness.eventCursor, ...result },
  };
}

function isDegraded(part: MemoryPart, taskPart: AskedTaskContext | undefined): boolean {
  const statuses: (string | undefined)[] = [part.memoryStatus, taskPart?.answer.status];
  return statuses.includes('timeout') || statuses.includes('unavailable');
}
