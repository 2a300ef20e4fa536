import { conflict, forbidden, invalid } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../definitions/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  task_already_claimed: conflict(
    'Another principal holds an active claim on the task.',
    'Take other work with `POST /work:claim-next`, or wait until the claim ends.',
  ),
  task_not_due: conflict(
    'The task is not offered before `availableAt`: it has a later start date, or is paused after a failed attempt.',
    'Wait until `details.availableAt`. `POST /tasks/{ref}:make-available` ends a pause early.',
  ),
  task_not_ready: conflict(
    'Tasks that this one depends on are not done.',
    'Finish them, or remove the relation if the dependency is obsolete. `GET /tasks/{ref}/claimability` lists them.',
  ),
  verification_pending: conflict(
    'The completed work is being verified.',
    'Wait for the result; `GET /tasks/{ref}/verifications` shows it.',
  ),
  approval_required: conflict(
    'A person has to decide on an approval gate of the task first.',
    'Have one of `details.pendingApprovals` decided, then retry. `GET /tasks/{ref}/deciders` lists the possible deciders.',
  ),
  run_in_progress: conflict(
    'A run of the presented claim is still running.',
    'End the run `details.runId` first, or complete the task together with it: `POST /runs/{id}:succeed` with `completeTask`.',
    {
      refused: 'POST /tasks/{ref}:complete {"claimId":"<claimId>","fencingToken":7}\nIf-Match: "task-5"',
      right: 'POST /runs/{id}:succeed {"completeTask":true}',
    },
  ),
  task_already_completed: conflict(
    'The task is already completed.',
    'No action is needed if you completed it. Otherwise read the delivered artifacts before you discard your own work.',
  ),
  input_missing: conflict(
    'An artifact that the task needs as input does not exist.',
    'Add the missing artifact to the task that must produce it; `GET /tasks/{ref}/claimability` returns it.',
  ),
  acceptance_protected: forbidden(
    'Checks, requirements and relations that hold a task back can be removed or changed only by their author or by a person, and never by a principal that worked on the task.',
    'Have the author of `details.keys`, or a person who did not work on the task, make the change.',
  ),
  not_eligible: forbidden(
    'The principal does not meet a requirement of this object.',
    'Use a principal with the required role, capability or skill, or have an administrator assign it. For a task, `GET /tasks/{ref}/requirements` lists the requirements.',
  ),
  relation_exists: conflict(
    'The relation already exists.',
    'No action is needed: `details.relationId` is the existing relation.',
  ),
  invalid_sort: invalid(
    'The sort key is unknown.',
    'Send `startDate` or `dueDate`, or leave `sort` out for the newest first.',
    { refused: 'GET /tasks?sort=priority', right: 'GET /tasks?sort=dueDate' },
  ),
  invalid_search: invalid(
    '`q` has more than 200 characters or 10 words.',
    'Search for fewer words: a task matches only if it contains each of them.',
  ),
  invalid_priority: invalid('The priority is unknown.', 'Send `critical`, `high`, `medium` or `low`.', {
    refused: 'POST /tasks {"title":"Ship it","priority":"asap"}',
    right: 'POST /tasks {"title":"Ship it","priority":"critical"}',
  }),
  invalid_requirement: invalid(
    'A requirement is malformed.',
    'Send names in the list `details.field`; a skill may have a version.',
    {
      refused: 'POST /tasks {"title":"Review","requirements":{"roles":[" "]}}',
      right: 'POST /tasks {"title":"Review","requirements":{"roles":["reviewer"],"skills":["lint@1.0.0"]}}',
    },
  ),
  unknown_requirement: invalid(
    'A required role, capability or skill does not exist.',
    'Create it first, or correct the name in `details`. `GET /roles`, `/capabilities` and `/skills` list those that exist.',
  ),
  unknown_agent: invalid(
    'The agent does not exist in the registry, is retired, or is not linked to an identity.',
    'Check the key with `GET /agents`, and link the agent with `PUT /agents/{key}/identity`.',
    {
      refused: 'POST /tasks {"title":"Triage","assigneeId":"agent:triager-old"}',
      right: 'POST /tasks {"title":"Triage","assigneeId":"agent:triager"}',
    },
  ),
  invalid_title: invalid('The title is blank.', 'Send a title with at least one visible character.', {
    refused: 'POST /tasks {"title":" "}',
    right: 'POST /tasks {"title":"Ship it"}',
  }),
  task_type_not_allowed: invalid(
    'The workspace accepts no tasks of this type.',
    'Use one of the `taskTypes` of the workspace, another workspace, or have its administrator add the type.',
  ),
  invalid_entity_type: invalid(
    'Objects of this type cannot have external names.',
    'Send `task` or `project` as `entityType`.',
    {
      refused:
        'POST /external-references {"entityType":"run","entityId":"<runId>","externalSystem":"jira","externalType":"issue","externalId":"ABC-1"}',
      right:
        'POST /external-references {"entityType":"task","entityId":"<taskId>","externalSystem":"jira","externalType":"issue","externalId":"ABC-1"}',
    },
  ),
  invalid_entity_reference: invalid(
    'The id does not identify an object of this type.',
    'Send the UUID of the object, or for a task its public id.',
  ),
  invalid_external_reference: invalid(
    'A part of the external name is blank or longer than 512 characters.',
    'Send `externalSystem`, `externalType` and `externalId`, each with 1 to 512 characters; `details.field` is the invalid one.',
    {
      refused:
        'POST /projects/{id}/external-references {"externalSystem":"jira","externalType":"","externalId":"ABC"}',
      right:
        'POST /projects/{id}/external-references {"externalSystem":"jira","externalType":"project","externalId":"ABC"}',
    },
  ),
  external_reference_conflict: conflict(
    'Another object has this external name.',
    'Look up the object with `GET /external-references` and use it instead of creating a second one.',
  ),
  invalid_desired_state: invalid(
    'The desired state is longer than 10,000 characters.',
    'Shorten it, and keep details in the criteria or in tasks of the goal.',
  ),
  invalid_goal_status: invalid(
    'The status of the goal is unknown.',
    'Send `active`, `achieved` or `abandoned`.',
    {
      refused: 'PATCH /goals/{id} {"status":"done"}\nIf-Match: "goal-2"',
      right: 'PATCH /goals/{id} {"status":"achieved"}\nIf-Match: "goal-2"',
    },
  ),
  goal_cycle: invalid(
    'The goal would be below itself or one of its own subgoals.',
    'Choose a parent that is not below the goal, or move that subgoal first.',
  ),
  goal_too_deep: invalid(
    'Goals would be nested more than 32 levels deep.',
    'Choose a parent closer to the root.',
  ),
  goal_abandoned: invalid(
    'The goal is abandoned, so it accepts no work.',
    'Choose another goal, or set the status of this one to `active` again.',
  ),
  goal_workspace_mismatch: invalid(
    'The goal belongs to another workspace.',
    'Choose a goal of the workspace, or one without a workspace. To move a task, send the new `goalId` or null in the same request.',
  ),
  invalid_planned_dates: invalid(
    'The due date is before the start date.',
    'Swap the dates. If you sent only one of them, it is compared with the stored one: send both.',
    {
      refused: 'POST /tasks {"title":"Ship it","startDate":"2026-12-10","dueDate":"2026-12-01"}',
      right: 'POST /tasks {"title":"Ship it","startDate":"2026-12-01","dueDate":"2026-12-10"}',
    },
  ),
  invalid_relation: invalid(
    'The relation is from a task to itself, or one of the tasks already has 1,000 relations.',
    'Check `toTask`. Remove relations that are no longer needed, or group the tasks below a new parent.',
  ),
  invalid_relation_type: invalid(
    'The relation type is unknown.',
    'Send `parent`, `blocks`, `depends_on`, `spawned_by` or `related_to`.',
    {
      refused: 'POST /tasks/{ref}/relations {"toTask":"<taskId>","type":"blocked_by"}',
      right: 'POST /tasks/{ref}/relations {"toTask":"<taskId>","type":"depends_on"}',
    },
  ),
  dependency_cycle: invalid(
    'The relation would close a cycle.',
    'Check the direction: `depends_on` is from the waiting task, `blocks` from the one to do first. Otherwise remove a relation of the cycle.',
  ),
  task_not_claimable: invalid(
    'The task has ended, or has a blocked status that allows no claims.',
    'Take other work, or move the task to a status that allows claims; `details.status` is the current one.',
  ),
  not_comment_author: forbidden('Only its author may change a comment.', 'Add a comment of your own.'),
  invalid_comment_body: invalid('The comment is blank.', 'Send a text with at least one visible character.', {
    refused: 'POST /tasks/{ref}/comments {"body":"  "}',
    right: 'POST /tasks/{ref}/comments {"body":"Tests pass on main."}',
  }),
  comment_mismatch: invalid(
    'The run or the artifact belongs to another task.',
    'Comment on that task, or leave `runId` and `artifactId` out.',
  ),
  task_cancelled: invalid(
    'The task was cancelled.',
    'Stop the work on it. A task that is needed after all has to be created again.',
  ),
  task_terminal: conflict(
    'The task is in a terminal status.',
    'Leave the task as it is, and create a new one for further work.',
  ),
  approval_pending: conflict(
    'Approvals of the task are not decided yet.',
    'Have `details.pendingApprovals` decided or cancelled, then retry.',
  ),
  incompatible_status: conflict(
    'The current status of the task is not an open status of the other version.',
    'Map it with `statusMap` to one of `details.known`.',
    {
      refused: 'POST /tasks/{ref}:migrate-type {"typeVersion":2}\nIf-Match: "task-4"',
      right:
        'POST /tasks/{ref}:migrate-type {"typeVersion":2,"statusMap":{"in_review":"review"}}\nIf-Match: "task-4"',
    },
  ),
  invalid_migration_target: invalid(
    'The target version of the type does not exist or is not active.',
    'Choose an active version other than the current one; `GET /task-types` lists them.',
  ),
  invalid_status_map: invalid(
    'A mapped status is not a status of the old version, or its target is not an open status of the new one.',
    'Map statuses of the old version to those in `details.known`.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
