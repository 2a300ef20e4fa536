import { pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { approvalRequested } from '../../work/gates/gates.events.ts';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import { endpoint } from '../context.ts';
import {
  Approval,
  ApprovalCancellation,
  ApprovalDecision,
  ApprovalRequest,
  ListedApproval,
} from './approval.ts';
import { approvalApproved, approvalCancelled, approvalRejected } from './approvals.events.ts';
import { getApproval, listApprovals, requestApproval } from './approvals.ts';
import { cancelApproval, decideApproval } from './decisions.ts';
import { EligibleDeciders } from './eligible-decider.ts';
import { listEligibleDeciders } from './eligible-deciders.ts';

const params = { id: Uuid };
const exampleId = '0190b2c4-0000-7000-8000-000000000001';

const request = endpoint({
  id: 'requestApproval',
  method: 'POST',
  path: '/approvals',
  summary: 'Request approval from a person.',
  description:
    'Requests approval from one principal, or from the holders of a role. A gate holds its task back: no principal can ' +
    'claim or complete the task until the gate is decided or cancelled. The service records what the decider is ' +
    'shown as the subject (at most 64 KiB).',
  permission: 'approvals.manage',
  body: ApprovalRequest,
  returns: { 201: Approval },
  errors: ['invalid_approval', 'not_found', 'payload_too_large'],
  etag: 'approval',
  emits: [approvalRequested],
  example: { assignedPrincipalId: exampleId, comment: 'May this go to production?' },
  handle: ({ body }, context) => requestApproval(context, body),
});

const list = endpoint({
  id: 'listApprovals',
  method: 'GET',
  path: '/approvals',
  summary: 'List approvals, newest first.',
  permission: 'approvals.read',
  query: { status: QueryWord.optional(), taskId: Uuid.optional() },
  paging: true,
  returns: { 200: pageOf(ListedApproval) },
  errors: ['invalid_status', 'invalid_cursor'],
  handle: ({ query, page }, context) => listApprovals(context, query, page),
});

const get = endpoint({
  id: 'getApproval',
  method: 'GET',
  path: '/approvals/{id}',
  summary: 'Read an approval.',
  description:
    'Returns the recorded subject. If it has changed, `current` is the current subject and `changedFields` lists ' +
    'the differences.',
  permission: 'approvals.read',
  params,
  returns: { 200: Approval },
  errors: ['not_found'],
  etag: 'approval',
  handle: (input, context) => getApproval(context, input.params.id),
});

const deciders = endpoint({
  id: 'listTaskDeciders',
  method: 'GET',
  path: '/tasks/{ref}/deciders',
  summary: 'List the possible addressees of an approval request for a task: people and roles.',
  description:
    'People with the permission `approvals.decide` who can see the task, and the roles that they hold there. At most 20 of each. With CP_AUTHZ_MODE=policy, these are only the people whose binding has the permission; `hasMore` is always true.',
  permission: 'approvals.manage',
  params: { ref: TaskRef },
  returns: { 200: EligibleDeciders },
  errors: ['not_found'],
  handle: (input, context) => listEligibleDeciders(context, input.params.ref),
});

const cancelErrors = [
  'not_found',
  'approval_already_decided',
  'separation_of_duties_violation',
  'not_eligible',
] as const;

const decisionErrors = ['not_found', 'version_conflict', ...cancelErrors.slice(1)] as const;

const approvalErrors = [
  ...decisionErrors,
  'approval_subject_changed',
  'payload_too_large',
  'approval_precondition_failed',
] as const;

const tag = { ifMatch: 'approval', ifMatchOptional: true, etag: 'approval' } as const;

const approve = endpoint({
  id: 'approveApproval',
  method: 'POST',
  path: '/approvals/{id}:approve',
  summary: 'Approve.',
  description:
    'For the assigned person, or a person with the required role. Opens a gate. If the subject has changed, the ' +
    'request needs `subjectDigest` with the digest of the current subject.',
  permission: 'approvals.decide',
  params,
  body: ApprovalDecision,
  bodyOptional: true,
  returns: { 200: Approval },
  errors: approvalErrors,
  emits: [approvalApproved],
  ...tag,
  example: { comment: 'Go ahead.' },
  handle: (input, context) => decideApproval(context, input.params.id, 'approved', input.body, input.ifMatch),
});

const reject = endpoint({
  id: 'rejectApproval',
  method: 'POST',
  path: '/approvals/{id}:reject',
  summary: 'Reject.',
  description:
    'For the people who may approve. Also opens a gate; its task stays open, and people decide how to continue.',
  permission: 'approvals.decide',
  params,
  body: ApprovalDecision,
  bodyOptional: true,
  returns: { 200: Approval },
  errors: decisionErrors,
  emits: [approvalRejected],
  ...tag,
  example: { comment: 'Not before the audit.' },
  handle: (input, context) => decideApproval(context, input.params.id, 'rejected', input.body, input.ifMatch),
});

const cancel = endpoint({
  id: 'cancelApproval',
  method: 'POST',
  path: '/approvals/{id}:cancel',
  summary: 'Cancel a request for approval.',
  description:
    'Opens a gate. Only a person who may decide a gate can cancel one that another principal requested. A request ' +
    'that a task type, rule, process or verification declares can be cancelled by such a person, or by a person ' +
    'with `claims.manage`. Cancelling again changes nothing.',
  permission: 'approvals.manage',
  params,
  body: ApprovalCancellation,
  bodyOptional: true,
  returns: { 200: Approval },
  errors: cancelErrors,
  emits: [approvalCancelled],
  etag: 'approval',
  example: { comment: 'No longer needed.' },
  handle: (input, context) => cancelApproval(context, input.params.id, input.body.comment ?? null),
});

export const approvalsApi = [request, list, get, deciders, approve, reject, cancel];
