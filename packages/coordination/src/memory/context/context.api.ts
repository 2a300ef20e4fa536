import type { Surroundings } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { type Context, endpoint } from '../context.ts';
import { contextPackRecorded } from './context.events.ts';
import { ContextPack, ReplayedPack } from './context-pack.ts';
import { getContextPack, replayContextPack } from './context-packs.ts';
import { ContextAnswer, ContextRequest } from './context-response.ts';
import { finishContext, getContext, type ReadContext, requireAnchors } from './get-context.ts';
import { recallKnowledge, requireOneQuestion } from './recall.ts';
import { RecalledPack, RecallRequest } from './recall-request.ts';

const params = { id: Uuid };
/** The operation only records the returned context, so no response needs to be stored under an idempotency key. */
const reads = { idempotency: 'ignored' } as const;

export const contextApi = [
  endpoint({
    id: 'getContext',
    method: 'POST',
    path: '/context',
    summary: 'Read the context for a principal that is about to act.',
    description:
      'The operational part is always returned; the part from memory only if the memory service responds within ' +
      "CP_CONTEXT_TIMEOUT_SECONDS, otherwise `memoryStatus` gives the reason. For the holder of a task's claim, the " +
      "context that the task's type declares is recorded once and then returned unchanged.",
    ...reads,
    transaction: 'statement',
    body: ContextRequest,
    returns: { 200: ContextAnswer },
    errors: ['invalid_context_request', 'permission_denied', 'not_found'],
    emits: [contextPackRecorded],
    example: { query: 'What was decided about the release?' },
    precheck: ({ body }) => requireAnchors(body),
    around: ({ body }, surroundings: Surroundings<ReadContext, Context>) => getContext(body, surroundings),
    handle: ({ prepared }, context) => finishContext(context, prepared),
  }),
  endpoint({
    id: 'recallContext',
    method: 'POST',
    path: '/context/recall',
    summary: 'Look up knowledge about one entity, or by a text.',
    description: 'A lookup for a task also requires tasks.read.',
    ...reads,
    transaction: 'none',
    permission: 'events.read',
    body: RecallRequest,
    returns: { 200: RecalledPack },
    errors: [
      'invalid_recall_request',
      'not_found',
      'memory_disabled',
      'memory_timeout',
      'memory_unavailable',
    ],
    example: { anchor: 'service:billing', depth: 2 },
    precheck: ({ body }) => requireOneQuestion(body),
    around: ({ body }, surroundings: Surroundings<RecalledPack, Context>) =>
      recallKnowledge(body, surroundings),
    handle: ({ prepared }) => prepared,
  }),
  endpoint({
    id: 'getContextPack',
    method: 'GET',
    path: '/context-packs/{id}',
    summary: 'Read the recorded context of a claim.',
    permission: 'tasks.read',
    alsoOneOf: ['events.read'],
    params,
    returns: { 200: ContextPack },
    errors: ['not_found'],
    handle: (input, context) => getContextPack(context, input.params.id),
  }),
  endpoint({
    id: 'replayContextPack',
    method: 'POST',
    path: '/context-packs/{id}:replay',
    summary: 'Repeat the request of a recorded context as of the same instant and list the differences.',
    ...reads,
    transaction: 'none',
    permission: 'tasks.read',
    alsoOneOf: ['events.read'],
    params,
    returns: { 200: ReplayedPack },
    errors: ['not_found', 'memory_disabled', 'memory_timeout', 'memory_unavailable'],
    around: (input, surroundings: Surroundings<ReplayedPack, Context>) =>
      replayContextPack(input.params.id, surroundings),
    handle: ({ prepared }) => prepared,
  }),
];
