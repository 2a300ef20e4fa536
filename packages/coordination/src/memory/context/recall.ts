import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { isAnchor } from '@baton/process-engine/engine/anchor';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findInvalidCondition } from '../gateway/conditions.ts';
import { requireMemory, requireResponse } from '../gateway/require-response.ts';
import { refuseMemory, visibleNamespaces } from '../gateway/visible-namespaces.ts';
import { readClock } from './focus.sql.ts';
import { requireRight, rootOf } from './focus.ts';
import type { RecalledPack, RecallRequest } from './recall-request.ts';
import { requestTypedPack } from './typed-pack.ts';

/** @throws Refusal `invalid_recall_request` with `field` */
export function requireOneQuestion({
  anchor,
  query,
  kind,
  kinds,
  task,
  workspaceId,
  where,
}: RecallRequest): void {
  if ((anchor == null) === (query == null)) fail('invalid_recall_request', { field: 'anchor' });
  if (anchor != null && !isAnchor(anchor)) fail('invalid_recall_request', { field: 'anchor' });
  if (kind != null && kinds.length > 0) fail('invalid_recall_request', { field: 'kind' });
  if (task != null && workspaceId != null) fail('invalid_recall_request', { field: 'task' });
  const wrong = findInvalidCondition(where);
  if (wrong >= 0) fail('invalid_recall_request', { field: `where[${wrong}]` });
}

/**
 * Looks up knowledge about one entity, or by text. No database connection is held during the request.
 * @throws Refusal `permission_denied`, `not_found`, `memory_disabled`, `memory_timeout`, `memory_unavailable`
 */
export async function recallKnowledge(
  request: RecallRequest,
  { context, command }: Surroundings<RecalledPack, Context>,
): Promise<Answer> {
  const { anchor, query, kind, kinds, relations, direction, depth, limit, where, budgetTokens } = request;
  const namespaces = await namespacesOf(context, request);
  const memory = requireMemory(context);
  const asOf = request.asOf ?? ((await context.db.row(readClock())) as { now: string }).now;
  const anchors = anchor == null ? [] : [anchor];
  const result = await requestTypedPack(memory, context, {
    anchors,
    kinds: kind == null ? kinds : [kind],
    relations,
    depth,
    strategy: null,
    namespaces,
    asOf,
    budgetTokens,
    more: { ...(query != null && { query }), direction, limit, where },
  });
  const { value } = requireResponse(result, { 400: 'invalid_recall_request', 422: 'invalid_recall_request' });
  return command({
    anchors: value.anchors ?? anchors,
    semantic: query != null,
    asOf,
    namespaces: [...namespaces],
    warnings: [],
    pack: value.pack,
  });
}

async function namespacesOf(
  context: Context,
  { task, workspaceId }: RecallRequest,
): Promise<readonly string[]> {
  if (task != null) requireRight(context, 'tasks.read');
  const place =
    task != null
      ? (await getTask(context, task)).workspaceId
      : workspaceId == null
        ? null
        : (await getWorkspaceRow(context, workspaceId)).id;
  const namespaces = await visibleNamespaces(context, await rootOf(context, place));
  if (namespaces.length === 0) refuseMemory(context);
  return namespaces;
}
