import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../results/errors.ts';
import { conflict, invalid, retryLater, row } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  invalid_context_request: invalid(
    'An anchor is malformed, there are too many, or the run is not of the task.',
  ),
  invalid_recall_request: invalid('A recall is by one anchor or one query, of a task or a workspace.'),
  memory_disabled: row(503, 'Do without memory.')('No memory service is set up.'),
  memory_timeout: row(503, retryLater)('The memory service did not answer in time.'),
  memory_unavailable: row(
    502,
    'Retry where the details say retryable.',
  )('The memory service did not handle the request; the details say with which status.'),
  snapshot_invalid: invalid(
    'Memory refuses the form of the snapshot, or a thing in it is out of its bounds.',
  ),
  snapshot_stale: conflict(
    'Memory has a later snapshot of the source, or is in another state than `expectedState`.',
  ),
  document_invalid: invalid(
    'Memory refuses the form of the document, or its `meta` are out of their bounds.',
  ),
  entities_query_invalid: invalid('A condition, the limit or the cursor does not fit.'),
  pack_invalid: invalid('The pack is no document that memory takes, or is out of its bounds.'),
  pack_version_conflict: conflict('The version of the pack is registered with another content.'),
  invalid_pack_ref: invalid('A pack is named `name` or `name@version`.'),
  workspace_not_root: invalid('Packs belong to the root of a tree of workspaces; the details name it.'),
  pack_version_required: invalid('The packs of a workspace are named `name@version`.'),
  pack_not_found: invalid('Memory has no such pack, of the tenant or of all.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
