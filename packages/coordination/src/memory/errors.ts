import { badGateway, conflict, invalid, unavailable } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../results/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  invalid_context_request: invalid(
    'An anchor is malformed, the request has too many anchors, or the run does not belong to the task.',
    'Correct `details.field`. An anchor has the form `type:key`.',
    {
      refused: 'POST /context {"query":"deploy","anchors":["billing"]}',
      right: 'POST /context {"query":"deploy","anchors":["service:billing"]}',
    },
  ),
  invalid_recall_request: invalid(
    'A recall needs either an anchor or a query, and either a task or a workspace.',
    'Correct `details.field`.',
    {
      refused: 'POST /context/recall {"anchor":"service:billing","query":"deploy"}',
      right: 'POST /context/recall {"anchor":"service:billing"}',
    },
  ),
  memory_disabled: unavailable(
    'No memory service is set up.',
    "Work without memory: tasks, runs and artifacts don't need it. The operator can set `CP_CONTEXT_BASE_URL`.",
  ),
  memory_timeout: unavailable(
    'The memory service did not respond in time.',
    'Retry later, or request less: fewer anchors, a smaller depth, a smaller budget of tokens.',
  ),
  memory_unavailable: badGateway(
    'The memory service failed or rejected the request.',
    'Retry if `details.retryable` is true; otherwise report `details.memoryStatus` to the operator.',
  ),
  snapshot_invalid: invalid(
    'The memory service rejects the form of the snapshot, or a value in it is out of range.',
    'Correct `details.field`; `POST /knowledge/snapshots:preview` checks a snapshot without storing it.',
  ),
  snapshot_stale: conflict(
    'Memory has a later snapshot of the source, or its state is not `expectedState`.',
    'Read the source again, and send a snapshot with a later `observedAt` and the current state.',
  ),
  document_invalid: invalid(
    'The memory service rejects the form of the document, or its `meta` are too large.',
    'Correct the field in `details`: chunks need text and order, and values in `meta` must be small.',
  ),
  entities_query_invalid: invalid(
    'A condition, the limit or the cursor of the query is not valid.',
    'Correct `details.field`; a query with relations has a smaller limit, `details.max`.',
  ),
  pack_invalid: invalid(
    'The pack is not a document that the memory service accepts, or is too large.',
    'Correct `details.field`.',
  ),
  pack_version_conflict: conflict(
    'This version of the pack is registered with different content.',
    'Register the change under the next version.',
  ),
  invalid_pack_ref: invalid(
    'The reference to the pack is not of the form `name` or `name@version`.',
    'Send the name of the pack, optionally with its version.',
    { refused: 'GET /knowledge/packs/devops:2', right: 'GET /knowledge/packs/devops@2' },
  ),
  workspace_not_root: invalid(
    'Packs belong to the root of a tree of workspaces.',
    'Set the packs of the root, `details.rootWorkspaceId`.',
  ),
  pack_version_required: invalid(
    'A pack of a workspace was sent without a version.',
    'Send each pack as `name@version`.',
    {
      refused: 'PUT /workspaces/{id}/knowledge-packs {"packs":["devops"]}',
      right: 'PUT /workspaces/{id}/knowledge-packs {"packs":["devops@2"]}',
    },
  ),
  pack_not_found: invalid(
    'Memory has no such pack, neither for the tenant nor for all tenants.',
    'Register it with `POST /knowledge/packs`, or correct its name and version.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
