import { pageOf, QueryWord, Uuid } from '@baton/kernel/wire';
import { approvalRequested } from '../../work/gates/gates.events.ts';
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

const params = { id: Uuid };
const exampleId = '0190b2c4-0000-7000-8000-000000000001';

const request = endpoint({
  id: 'requestApproval',
  method: 'POST',
  path: '/approvals',
  summary: 'Ask a person to approve.',
  description:
    'Of one principal, or of whoever holds a role. A gate holds its task back: nobody claims or completes it until the gate was decided or cancelled. What the decider is shown is recorded as the subject, of at most 64 KiB.',
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
    'With the subject as it was recorded, and as it is now where that differs: `changedFields` names what a decider should look at again.',
  permission: 'approvals.read',
  params,
  returns: { 200: Approval },
  errors: ['not_found'],
  etag: 'approval',
  handle: (input, context) => getApproval(context, input.params.id),
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
    'For the assigned person, or a person who holds the required role. A gate opens. Where the subject has changed since it was recorded, `subjectDigest` says that the present one is approved.',
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
    'For whoever may approve it. A gate opens all the same, and its task stays open: what follows is for people to say.',
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
  summary: 'Take a request for approval back.',
  description:
    'A gate opens. The gate of somebody else is cancelled only by a person who may decide it. So is a request that a task type, a rule, a process or a verification declares, or by a person with `claims.manage`. What is cancelled stays as it is.',
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

export const approvalsApi = [request, list, get, approve, reject, cancel];
