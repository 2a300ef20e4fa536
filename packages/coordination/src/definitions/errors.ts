import { invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../organisation/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  invalid_approval_schema: invalid(
    'The gates that the type declares are malformed.',
    'Correct the declaration at `details.path`; `details.reason` names the problem.',
  ),
  invalid_completion_schema: invalid(
    'The actions on completion that the type declares are malformed.',
    'Correct the declaration at `details.path`.',
  ),
  invalid_acceptance: invalid(
    'An acceptance check is malformed.',
    'Correct `details.field`: a check has a key, a kind and a spec, and its key is unique among those of the task and its type.',
    {
      refused:
        'POST /tasks {"title":"Ship it","acceptance":[{"key":"Reviewed!","kind":"human","spec":{"approverRole":"reviewer"}}]}',
      right:
        'POST /tasks {"title":"Ship it","acceptance":[{"key":"reviewed","kind":"human","spec":{"approverRole":"reviewer"}}]}',
    },
  ),
  invalid_acceptance_spec: invalid(
    'The spec of an acceptance check does not fit its kind.',
    'Send the fields of the kind: a skill or an artifact for `deterministic`, an approver or a role for `human` and `llm_judge`. `details.reason` names the problem.',
    {
      refused:
        'POST /tasks {"title":"Ship it","acceptance":[{"key":"tests","kind":"deterministic","spec":{"skill":"run-tests"}}]}',
      right:
        'POST /tasks {"title":"Ship it","acceptance":[{"key":"tests","kind":"deterministic","spec":{"skill":"run-tests@1.0.0"}}]}',
    },
  ),
  duplicate_check_key: invalid(
    'Two acceptance checks have the same key.',
    'Rename or remove one of the checks with the key `details.key`.',
  ),
  invalid_evidence: invalid(
    'A piece of evidence is malformed.',
    'Correct `details.field`: specify an observation, an artifact or a context pack by id, or an external fact by system, id and URL.',
  ),
  duplicate_evidence: invalid(
    'The same fact is given twice as evidence for one check.',
    'Remove the repetition at `details.field`.',
  ),
  unknown_acceptance_check: invalid(
    'Evidence refers to a check that the task does not have.',
    'Send the key of one of the checks of the task or its type, or omit `check`.',
  ),
  invalid_origin: invalid(
    'The origin is malformed.',
    'Correct `details.field`: `parent`, `process` and `external` need a `ref`, and only `rule` has a `ruleId`.',
    {
      refused: 'POST /tasks {"title":"Ship it","origin":{"kind":"external"}}',
      right: 'POST /tasks {"title":"Ship it","origin":{"kind":"external","ref":"jira:ABC-1"}}',
    },
  ),
  invalid_task_execution: invalid(
    'The declared execution of the type is malformed, or its skill cannot be called.',
    'See `details.reason`: correct `details.field`, or register or enable the skill and give it a contract.',
  ),
  invalid_context_schema: invalid(
    'The declared context is malformed.',
    'Correct the value at `details.path`; `details.message` describes the problem. An anchor has the form `type:key`.',
    {
      refused:
        'POST /task-types {"key":"bug","displayName":"Bug","contextSchema":{"anchors":["customFields.service"]}}',
      right:
        'POST /task-types {"key":"bug","displayName":"Bug","contextSchema":{"anchors":["service:{customFields.service}"]}}',
    },
  ),
  invalid_artifact_schema: invalid(
    'The declared inputs or outputs are malformed.',
    'Correct `details.field`.',
  ),
  unknown_artifact_type: invalid(
    'An input or output has an unregistered artifact type.',
    'Register the type at `details.field` with `POST /artifact-types` first.',
  ),
  system_task_type_required: invalid(
    'The built-in type `task` needs at least one active version.',
    'Create a new version of `task` before you deprecate this one.',
  ),
  invalid_artifact_type: invalid(
    'The artifact type is malformed.',
    'Correct `details.field`: a type has a key, a name, 1 to 50 media types, and a `maxBytes` of at least 1.',
    {
      refused: 'POST /artifact-types {"key":"report","displayName":"Report","mediaTypes":[]}',
      right: 'POST /artifact-types {"key":"report","displayName":"Report","mediaTypes":["application/pdf"]}',
    },
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
