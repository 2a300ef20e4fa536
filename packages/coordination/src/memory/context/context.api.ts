import type { Surroundings } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { type Context, endpoint } from '../context.ts';
import { finishContext, getContext, type ReadContext, requireAnchors } from './asking.ts';
import { contextPackRecorded } from './context.events.ts';
import { ContextAnswer, ContextRequest } from './context-answer.ts';
import { ContextPack, ReplayedPack } from './context-pack.ts';
import { getContextPack, replayContextPack } from './context-packs.ts';
import { recall, requireOneQuestion } from './recall.ts';
import { RecalledPack, RecallRequest } from './recall-request.ts';

const params = { id: Uuid };
/** Nothing is changed but a record of what was told, so there is no answer to keep under a key. */
const reads = { idempotency: 'ignored' } as const;

export const contextApi = [
  endpoint({
    id: 'getContext',
    method: 'POST',
    path: '/context',
    summary: 'Ask what somebody who is about to act should know.',
    description:
      "The operational part comes always; what memory knows comes where the memory service says it within CP_CONTEXT_TIMEOUT_SECONDS, else `memoryStatus` says why not. The holder of a task's claim is told once what the type of the task asks memory for: it is recorded, and repeated as it was.",
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
    summary: 'Look up what memory knows of one thing, or of a text.',
    description: 'Whoever names a task needs tasks.read too.',
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
    around: ({ body }, surroundings: Surroundings<RecalledPack, Context>) => recall(body, surroundings),
    handle: ({ prepared }) => prepared,
  }),
  endpoint({
    id: 'getContextPack',
    method: 'GET',
    path: '/context-packs/{id}',
    summary: 'Read what an executor was told from memory when it took a task.',
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
    summary: 'Ask memory the same again, as of the same instant, and say what differs.',
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
