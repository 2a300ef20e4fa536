import {
  badRequest,
  conflict,
  forbidden,
  gone,
  invalid,
  notFound,
  unavailable,
} from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../execution/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  invalid_type: invalid(
    'The type of the artifact is blank, longer than 200 characters, or reserved for the service.',
    'Send a different type; `details.reserved` lists the types that only the service records.',
    {
      refused:
        'POST /artifacts {"type":"verification","name":"Test report","uri":"https://ci.example.com/7"}',
      right: 'POST /artifacts {"type":"test-report","name":"Test report","uri":"https://ci.example.com/7"}',
    },
  ),
  invalid_name: invalid(
    'The name of the artifact is blank or longer than 500 characters.',
    'Send a name with 1 to 500 characters; put longer texts in `metadata` or in the content.',
  ),
  invalid_artifact_content: invalid(
    '`contentRef` cannot be combined with `uri` or `content`.',
    'Send only one of the three.',
    {
      refused:
        'POST /artifacts {"type":"log","name":"Build log","contentRef":"<contentRef>","uri":"https://ci.example.com/7"}',
      right: 'POST /artifacts {"type":"log","name":"Build log","contentRef":"<contentRef>"}',
    },
  ),
  artifact_mismatch: invalid(
    'The task, run, workspace and superseded artifact do not match.',
    'Correct `details.field`, or leave it out: a run implies its task, and a task its workspace.',
  ),
  content_ref_not_found: invalid(
    'The caller has no upload with this reference, or it has expired.',
    'Upload the content again with `PUT /artifact-contents`, as the same principal, and use the new reference before it expires.',
  ),
  invalid_artifact_metadata: invalid(
    'The metadata does not match the schema of the artifact type.',
    'Correct each entry of `details.errors`; `GET /artifact-types/{ref}` returns the schema.',
  ),
  media_type_not_allowed: invalid(
    'The artifact type does not allow content of this media type.',
    'Upload the content with one of `details.allowed` as its Content-Type.',
  ),
  artifact_too_large: invalid(
    'The content is larger than the artifact type allows.',
    'Shrink or split the content to `details.maxBytes` per artifact.',
  ),
  invalid_range: invalid(
    'The range ends before it begins, has more than 92 days, or is outside of the years 1970 to 9998.',
    'Send `from` and `to` as dates like 2026-12-24, at most 92 days including both; `details.maxDays` is the maximum.',
    {
      refused: 'GET /statistics/work?from=2026-01-01&to=2026-12-31',
      right: 'GET /statistics/work?from=2026-10-01&to=2026-12-31',
    },
  ),
  invalid_time_zone: invalid(
    '`timeZone` is not a zone of the IANA database.',
    'Send a name like `Europe/Berlin`. Offsets like `+01:00` are not accepted, because they do not follow clock changes.',
    {
      refused: 'GET /statistics/work?timeZone=CEST',
      right: 'GET /statistics/work?timeZone=Europe/Berlin',
    },
  ),
  invalid_period: invalid(
    'The period ends before it begins, or is longer than 7 days.',
    'Send `from` and `to` as instants at most 7 days apart; `details.maxDays` is the maximum.',
  ),
  observation_invalid: invalid('A value of the observation is out of range.', 'Correct `details.field`.', {
    refused: 'POST /observations {"kind":"","content":"Build 7 failed"}',
    right: 'POST /observations {"kind":"build","content":"Build 7 failed"}',
  }),
  content_not_found: notFound(
    'The artifact has no stored content.',
    'Use `uri` or `content` of the artifact itself; only artifacts with `contentRef` have stored content.',
  ),
  content_purged: gone(
    'The content of the artifact was deleted.',
    'Continue without it: the record remains, but the content cannot be restored.',
  ),
  content_not_stored: conflict(
    'The artifact has no stored content to purge.',
    'No action is needed: the artifact has no content to delete.',
  ),
  content_store_unavailable: unavailable(
    'The content store is not set up, cannot be reached, or has lost the object.',
    'Retry later. If this persists, have the operator check `CP_ARTIFACT_FOLDER` and the log.',
  ),
  approval_already_decided: conflict(
    'The approval is already decided or cancelled.',
    'Read the decision in `details.status`. Request a new approval if another decision is needed.',
  ),
  approval_subject_changed: conflict(
    'The subject has changed since the approval was requested. Read it again, show it to the decider, and send its digest as `subjectDigest`.',
    'Show the decider `details.changedFields`, then decide with `details.currentDigest`.',
    {
      refused: 'POST /approvals/{id}:approve {}\nIf-Match: "approval-1"',
      right: 'POST /approvals/{id}:approve {"subjectDigest":"sha256:…"}\nIf-Match: "approval-1"',
    },
  ),
  approval_precondition_failed: conflict(
    'A precondition of the approval is not met.',
    'Make each condition in `details.failed` true, or reject the approval.',
  ),
  outcome_not_replayable: conflict(
    'The outcome of the decision was executed, is in progress, or is empty.',
    'Only a failed outcome can be replayed; `GET /approvals/{id}/outcome` shows its state.',
  ),
  separation_of_duties_violation: forbidden(
    'The approval excludes this principal from deciding it.',
    'Have it decided by a person who neither requested the approval nor worked on the task; `GET /tasks/{ref}/deciders` lists them.',
  ),
  invalid_approval: invalid(
    'The fields of the approval contradict each other, or do not match its task.',
    'See `details.field` and `details.reason`: send exactly one decider (a role or a person), and a task for a gate.',
    {
      refused: 'POST /approvals {"gate":true,"requiredRoleId":"<roleId>"}',
      right: 'POST /approvals {"gate":true,"requiredRoleId":"<roleId>","task":"<taskId>"}',
    },
  ),
  idempotency_key_reuse: conflict(
    'The key was already used for another skill call.',
    'Send a new `idempotencyKey` for each call, and the same one only to retry it.',
  ),
  invalid_skill_inputs: badRequest(
    'The inputs do not match the contract of the skill.',
    'Correct each entry of `details.errors`; `GET /tools/{ref}` returns the input schema.',
    {
      refused: 'POST /skills/{ref}:invoke {"inputs":{"branch":7}}',
      right: 'POST /skills/{ref}:invoke {"inputs":{"branch":"main"}}',
    },
  ),
  invocation_mismatch: invalid(
    'The run belongs to another task.',
    'Send the `taskId` of the run, or leave it out.',
  ),
  invocation_terminal: conflict(
    'The call has ended.',
    'Read its result with `GET /skill-invocations/{id}`; an ended call cannot be cancelled.',
  ),
  stale_invocation_lease: conflict(
    "The fencing token is no longer that of the call's lease.",
    'Stop working on the call and discard its result: another executor may have claimed it.',
  ),
  invalid_executor_endpoint: invalid(
    "An executor's `httpOrigins` contains a value that is not an origin.",
    'Send scheme, host and port only.',
    {
      refused:
        'POST /skill-invocations:claim {"protocols":["http"],"httpOrigins":["https://tools.example.com/lint"]}',
      right:
        'POST /skill-invocations:claim {"protocols":["http"],"httpOrigins":["https://tools.example.com"]}',
    },
  ),
  run_owner_mismatch: forbidden(
    'The run belongs to another principal.',
    'Call the skill from one of your own runs, or leave `runId` out.',
  ),
  run_id_required: forbidden(
    'A caller with a launched run must send its `runId` in each skill call.',
    'Send the `runId` of that run: `details.runId`.',
    {
      refused: 'POST /skills/{ref}:invoke {"inputs":{}}',
      right: 'POST /skills/{ref}:invoke {"inputs":{},"runId":"<runId>"}',
    },
  ),
  skill_permission_denied: forbidden(
    'The caller lacks permissions that the contract of the skill requires.',
    'Have an administrator grant `details.missing` to the principal.',
  ),
  skill_side_effect_not_authorized: forbidden(
    'The external effects of the skill are not authorized.',
    'Request an approval with a gate on the task, and send its `approvalId` once it is approved.',
  ),
  approval_already_used: conflict(
    'The approval has already allowed a call of this skill version.',
    'Request a new approval for another call.',
  ),
  execution_already_invoked: conflict(
    'The run has already called the skill that executes its task.',
    'Read the result of that call; a retry needs a new run.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
