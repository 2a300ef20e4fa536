import { z } from 'zod';
import type { JsonObject } from '@baton/values/wire';
import type { Context } from '../context.ts';
import type { MemoryGateway, MemoryRequest, MemoryResult } from '../gateway/gateway.ts';
import type { ContextRequest, MemoryStatus } from './context-response.ts';
import type { Focus } from './focus.ts';

/** The contribution of the memory service to a context. */
export interface MemoryPart {
  readonly memory: JsonObject | null;
  readonly memoryStatus: MemoryStatus;
  readonly memoryTraceId: string | null;
  readonly warnings: readonly string[];
}

/** Refusals that one of several namespaces may have caused. */
const namespaceRefusals: readonly number[] = [400, 403, 422];
const sectionsMax = 500;

/** The members that this service reads; the response is passed on unchanged. */
const PackAnswer = z.looseObject({
  sections: z.array(z.looseObject({})).max(sectionsMax),
  token_estimate: z.number().nullish().catch(null),
  trace_id: z.string().max(200).nullish().catch(null),
});

export function withoutMemory(memoryStatus: MemoryStatus, warnings: readonly string[] = []): MemoryPart {
  return { memory: null, memoryStatus, memoryTraceId: null, warnings };
}

/** The budget of a request, within the operator's limit. */
export function budgetOf(
  { maxTokens }: Pick<ContextRequest, 'maxTokens'>,
  { settings }: Pick<Context, 'settings'>,
): number {
  const { CP_CONTEXT_DEFAULT_MAX_TOKENS: usual, CP_CONTEXT_MAX_TOKENS_LIMIT: limit } = settings;
  return Math.min(maxTokens ?? usual, limit);
}

/**
 * Requests knowledge for a query from the memory service. If a request with several namespaces is refused, only the
 * first is requested again, in the remaining time. See docs/reference/memory.md#context. Never fails: the status and
 * the warnings describe a failure.
 */
export async function requestMemoryPack(
  memory: MemoryGateway,
  context: Pick<Context, 'tenantId' | 'settings' | 'traceRunId'>,
  request: ContextRequest,
  { focus, namespaces }: { focus: Focus; namespaces: readonly string[] },
): Promise<MemoryPart> {
  const wholeMs = context.settings.CP_CONTEXT_TIMEOUT_SECONDS * 1000;
  const endsAtMs = performance.now() + wholeMs;
  const maxTokens = budgetOf(request, context);
  const send = (names: readonly string[], timeoutMs: number) =>
    memory.send(requestFor(context, request, { focus, namespaces: names, maxTokens, timeoutMs }));
  const result = await send(namespaces, wholeMs);
  const isRefused = result.kind === 'refused' && namespaceRefusals.includes(result.status);
  if (!isRefused || namespaces.length === 1) return partOf(result, maxTokens, []);
  const leftMs = Math.max(1, Math.floor(endsAtMs - performance.now()));
  return partOf(await send(namespaces.slice(0, 1), leftMs), maxTokens, ['memory_namespaces_refused']);
}

function requestFor(
  { tenantId, traceRunId }: Pick<Context, 'tenantId' | 'traceRunId'>,
  { query, anchors, strategy, asOf }: ContextRequest,
  asked: { focus: Focus; namespaces: readonly string[]; maxTokens: number; timeoutMs: number },
): MemoryRequest<JsonObject> {
  const { task, workspaceId } = asked.focus;
  const scopes = [
    ...(task === undefined ? [] : [{ type: 'task', id: task.id }]),
    ...(workspaceId === null ? [] : [{ type: 'workspace', id: workspaceId }]),
  ];
  return {
    tenantId,
    path: '/api/memory/context',
    method: 'POST',
    traceRunId,
    timeoutMs: asked.timeoutMs,
    body: {
      query,
      subject: scopes[0] ?? { type: 'tenant', id: tenantId },
      scopes,
      anchors,
      ephemeral_context: ephemeralOf(asked.focus),
      max_tokens: asked.maxTokens,
      ...(strategy != null && { strategy }),
      ...(asOf != null && { as_of: asOf }),
      scope: {
        namespace: asked.namespaces[0],
        ...(asked.namespaces.length > 1 && { namespaces: asked.namespaces }),
      },
    },
    read: (json) => (PackAnswer.safeParse(json).success ? (json as JsonObject) : undefined),
  };
}

/** The current state of the task, which the memory service may not have received yet. */
function ephemeralOf({ task }: Focus): JsonObject | null {
  if (task === undefined) return null;
  const { id, publicId, title, status, priority, version } = task;
  return { task: { id, publicId, title, status, priority, version } };
}

function partOf(
  result: MemoryResult<JsonObject>,
  maxTokens: number,
  warnings: readonly string[],
): MemoryPart {
  if (result.kind === 'timeout') return withoutMemory('timeout', warnings);
  if (result.kind === 'refused') return withoutMemory('unavailable', [...warnings, 'memory_refused']);
  if (result.kind === 'unavailable')
    return withoutMemory('unavailable', [...warnings, `memory_${result.why}`]);
  const { token_estimate: tokens, trace_id: memoryTraceId = null } = PackAnswer.parse(result.value);
  const isOver = tokens != null && tokens > maxTokens;
  return {
    memory: result.value,
    memoryStatus: 'ok',
    memoryTraceId,
    warnings: isOver ? [...warnings, 'memory_over_budget'] : warnings,
  };
}
