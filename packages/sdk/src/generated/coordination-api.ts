// GENERATED from the OpenAPI documents by: npm run generate

import type { CallOptions, Matched, Paged, RawAnswer, RawBody } from '../call.ts';
import type {
AccessRole,
AccessRoleChange,
AccessRolePage,
AccessRoleRequest,
ActionCheckResults,
ActionChecks,
AdapterRebuild,
AdapterRedrive,
AdapterState,
Admission,
AdmissionRequest,
AdmissionRule,
AdmissionRulePage,
AdmissionRuleRequest,
Agent,
AgentIdentity,
AgentIdentityReplacement,
AgentRequest,
AgentRetirement,
AgentSecret,
AgentSecretPage,
AgentSecretRequest,
AgentStateChange,
AgentStatus,
AgentStatusReport,
AgentValidation,
ApiKey,
ApiKeyRequest,
AppliedPackage,
Approval,
ApprovalCancellation,
ApprovalDecision,
ApprovalOutcome,
ApprovalRequest,
Artifact,
ArtifactPage,
ArtifactType,
ArtifactTypePage,
ArtifactUpload,
AuthzDifference,
AuthzDifferences,
BootstrapRequest,
BootstrappedTenant,
Calendar,
CalendarComputation,
CalendarComputed,
CalendarPage,
CalendarRequest,
CalendarRetirement,
Capability,
CapabilityAssignment,
CapabilityAssignmentPage,
CapabilityAssignmentRequest,
CapabilityChange,
CapabilityPage,
CapabilityRequest,
Checkpoint,
CheckpointPage,
CheckpointRequest,
ChildHandle,
ChildHandlePage,
ChildHandleResult,
ChildHandleRevocation,
Claim,
ClaimCheck,
ClaimCheckRequest,
ClaimHeartbeat,
ClaimNextRequest,
ClaimPage,
ClaimRelease,
ClaimRequest,
ClaimedSkillInvocation,
ConfigRevision,
ConfigRevisionPage,
ConfigRevisionRequest,
Connection,
ConnectionAuthorization,
ConnectionAuthorizationRequest,
ConnectionChange,
ConnectionPage,
ConnectionReport,
ConnectionRequest,
ConnectionRevocation,
ConnectionToken,
ConnectionType,
ConnectionTypeChange,
ConnectionTypePage,
ConnectionTypeRequest,
ContextAnswer,
ContextPack,
ContextRequest,
ControlMessage,
ControlMessageAcknowledgement,
ControlMessagePage,
ControlMessageResult,
Delegation,
DelegationPage,
DelegationRequest,
EffectiveConfig,
EligibleDeciders,
EnabledPrincipal,
EntitiesPage,
EntitiesQuery,
EventType,
EventTypePage,
ExternalReference,
ExternalReferencePage,
ExternalReferenceRequest,
Goal,
GoalChange,
GoalPage,
GoalRequest,
HandedOffRun,
HarnessContext,
HarnessManifest,
HarnessManifestPage,
Holdings,
IamBinding,
IamBindingPage,
IamBindingRequest,
IdentityAdministrationToken,
Instant,
InvitationMail,
InvitationMailRequest,
IssuedApiKey,
JournalArchiving,
JournalEvent,
JournalEventPage,
JournalPruning,
JournalRetention,
KnowledgeDocument,
KnowledgePack,
KnowledgePacksRequest,
KnowledgeSnapshot,
LaunchedChild,
LeaseStatistics,
ListedAgent,
ListedAgentPage,
ListedAgentRevision,
ListedAgentRevisionPage,
ListedApproval,
ListedApprovalPage,
ListedView,
ListedViewPage,
ManifestCompilation,
ManifestRemark,
ManifestRemarkRequest,
MoveAnswer,
NewArtifact,
NewArtifactType,
NewChild,
NewControlMessage,
NewObservation,
NewProjectTemplate,
NewTask,
NewTaskComment,
NewTaskType,
NextWork,
NotificationPreferences,
NotificationPreferencesChange,
OauthApp,
OauthAppRequest,
OutboxDrop,
OutboxRedrive,
OwnAgent,
OwnConnections,
PackageApplication,
PackagePlan,
PackagePlanRequest,
PackageRecord,
PackageSettings,
PackageSettingsChange,
PackageSettingsItem,
PackageSettingsItemPage,
PackageSettingsVersion,
PackageSettingsVersionPage,
PackageTestReport,
PackageTestRequest,
Participant,
ParticipantPage,
Permission,
PermissionPage,
Person,
PersonPage,
Principal,
PrincipalAccess,
PrincipalAccessRequest,
PrincipalChange,
PrincipalPage,
PrincipalRequest,
PrincipalStatusReason,
ProcessCancellation,
ProcessDefinition,
ProcessDefinitionPage,
ProcessDefinitionRequest,
ProcessInstance,
ProcessInstancePage,
ProcessInstanceRequest,
ProcessJournalEntry,
ProcessJournalEntryPage,
ProcessReplay,
ProcessReplayRequest,
ProcessResumption,
ProcessRetirement,
ProcessSkip,
ProcessSuspension,
Project,
ProjectChange,
ProjectDependencies,
ProjectPage,
ProjectReferenceRequest,
ProjectRequest,
ProjectTemplate,
ProjectTemplatePage,
ProjectTransition,
PurgeRequest,
RecallRequest,
RecalledPack,
ReconciledSnapshot,
RecordedObservation,
RecordedPackage,
RegisteredPack,
ReplayedPack,
RetiredProcess,
Role,
RoleAssignment,
RoleAssignmentPage,
RoleAssignmentRequest,
RoleChange,
RoleHolder,
RoleHolderPage,
RolePage,
RoleRequest,
RoleRevocation,
Rule,
RuleChange,
RuleDryRun,
RuleDryRunResults,
RuleEvaluation,
RuleEvaluationPage,
RulePage,
RuleRequest,
RuleValidation,
Run,
RunAction,
RunActionPage,
RunActionRequest,
RunActionResult,
RunCancelRequest,
RunCancellation,
RunContext,
RunFailure,
RunHandoff,
RunPage,
RunRequest,
RunSuccess,
RunSuspension,
SelfAdmissionRequest,
Session,
SessionClose,
SessionHeartbeat,
SessionPage,
SessionRequest,
Skill,
SkillAssignment,
SkillAssignmentPage,
SkillAssignmentRequest,
SkillChange,
SkillInvocation,
SkillInvocationCancel,
SkillInvocationClaim,
SkillInvocationFailure,
SkillInvocationHeartbeat,
SkillInvocationRequest,
SkillInvocationResult,
SkillPage,
SkillRequest,
SlackChannel,
SlackChannelRequest,
SlackWebhook,
SlackWebhookRequest,
StoredDocument,
StoredKnowledgePack,
SucceededRun,
SuspendedRun,
Task,
TaskChange,
TaskClaimability,
TaskComment,
TaskCommentChange,
TaskCommentPage,
TaskCommentRevision,
TaskCommentRevisionPage,
TaskCompletion,
TaskForm,
TaskPage,
TaskRelation,
TaskRelationPage,
TaskRelationRequest,
TaskRequirements,
TaskTransitions,
TaskType,
TaskTypeExecutor,
TaskTypeExecutorPage,
TaskTypePage,
TaskVerification,
TaskVerificationPage,
Tool,
ToolDetail,
ToolPage,
TypeMigration,
TypeMigrationBatch,
TypeMigrationReport,
UndeliveredEvent,
UndeliveredEventPage,
Usage,
UsageStatistics,
UsedConnection,
Uuid,
View,
ViewQuery,
ViewRows,
WaitStatistics,
WorkStatistics,
Workspace,
WorkspaceChange,
WorkspaceDetail,
WorkspaceKnowledgePacks,
WorkspaceMember,
WorkspaceMemberPage,
WorkspaceMemberRequest,
WorkspaceMove,
WorkspacePage,
WorkspaceRequest,
WorkspaceTree,
WorkspaceType,
WorkspaceTypeChange,
WorkspaceTypePage,
WorkspaceTypeRequest,
WrittenRule
} from './coordination-types.ts';

export interface TasksApi {
/** Create a task. A `parentTask` with 1,000 relations accepts no more: `invalid_relation`. Needs tasks.write. `POST /api/v1/tasks` */
create(body: NewTask, options?: CallOptions): Promise<Task>;
/** List tasks, newest first, or by a date with the nearest first and undated last. Needs tasks.read. `GET /api/v1/tasks` */
list(query?: {
status?: string;
systemStatusCategory?: string;
typeKey?: string;
priority?: string;
ownerId?: Uuid;
assigneeId?: Uuid;
workspaceId?: Uuid;
includeDescendants?: boolean;
projectId?: Uuid;
includeSubprojects?: boolean;
goalId?: Uuid;
startFrom?: Instant;
startTo?: Instant;
dueFrom?: Instant;
dueTo?: Instant;
/** startDate or dueDate; newest first by default. */
sort?: string;
/** Words that each occur in the title, the description or the public id; 200 characters, 10 words. */
q?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskPage, Task>;
/** Read a task. Needs tasks.read. `GET /api/v1/tasks/{ref}` */
get(ref: string, options?: CallOptions): Promise<Task>;
/** Change a task. The holder of the live claim presents claimId and fencingToken. Unchanged values have no effect. A change to title, description or acceptance, or to a custom field that the outcome of an approved gate reads renews the approval request, unless the caller may decide it. Only the author of a check or a requirement, or a person, can remove or change it or clear a field that its condition reads; a principal that worked on the task never can. Needs tasks.write. `PATCH /api/v1/tasks/{ref}` */
update(ref: string, body: TaskChange, options: CallOptions & Matched): Promise<Task>;
/** Complete a task. A task with checks keeps its status until a verification attempt has passed; a second call returns the task unchanged. A task of a process step with a form can only be completed while its custom fields satisfy the form (`/tasks/{ref}/form`). Needs tasks.write. `POST /api/v1/tasks/{ref}:complete` */
complete(ref: string, body: TaskCompletion, options: CallOptions & Matched): Promise<Task>;
/** Get the form of the process step that a task belongs to. The answers are custom fields of the task. A completion with answers that don't match the form is refused with `custom_fields_invalid`. For a task that was not created by a process, `process` and `form` are null. Needs tasks.read. `GET /api/v1/tasks/{ref}/form` */
getForm(ref: string, options?: CallOptions): Promise<TaskForm>;
/** List the transitions of a task from its status, with the call for each. Needs tasks.read. `GET /api/v1/tasks/{ref}/transitions` */
listTransitions(ref: string, options?: CallOptions): Promise<TaskTransitions>;
/** Check whether a task can be claimed now, and list all obstacles. For prerequisites in workspaces that the caller can’t see, `blockedOutOfSight` gives only the number. Needs tasks.read. `GET /api/v1/tasks/{ref}/claimability` */
getClaimability(ref: string, options?: CallOptions): Promise<TaskClaimability>;
/** List the roles, capabilities and skills that an executor of the task must have. Needs tasks.read. `GET /api/v1/tasks/{ref}/requirements` */
getRequirements(ref: string, options?: CallOptions): Promise<TaskRequirements>;
/** End the pause of a task after failed attempts. Also resets the count of consecutive failed attempts. A future `startDate` and a blocked status still apply: change them with PATCH. Without a pause, nothing changes. Needs tasks.write. `POST /api/v1/tasks/{ref}:make-available` */
makeAvailable(ref: string, options?: CallOptions): Promise<Task>;
/** List the verification attempts of a task, newest first. Needs tasks.read. `GET /api/v1/tasks/{ref}/verifications` */
listVerifications(ref: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskVerificationPage, TaskVerification>;
/** Take an exclusive, expiring lease on a task. Needs tasks.claim. `POST /api/v1/tasks/{ref}:claim` */
claim(ref: string, body: ClaimRequest, options?: CallOptions): Promise<Claim>;
/** Start an attempt to execute a claimed task. Needs tasks.claim. `POST /api/v1/tasks/{ref}:start-run` */
startRun(ref: string, body: RunRequest, options?: CallOptions): Promise<Run>;
/** Read the usage of all attempts at a task: tokens, and costs by currency. With `includeDescendants`, includes the usage of its subtasks and spawned tasks. Needs tasks.read. `GET /api/v1/tasks/{ref}/usage` */
getUsage(ref: string, query?: {
includeDescendants?: boolean;
}, options?: CallOptions): Promise<Usage>;
/** List the possible addressees of an approval request for a task: people and roles. People with the permission `approvals.decide` who can see the task, and the roles that they hold there. At most 20 of each. With CP_AUTHZ_MODE=policy, these are only the people whose binding has the permission; `hasMore` is always true. Needs approvals.manage. `GET /api/v1/tasks/{ref}/deciders` */
listDeciders(ref: string, options?: CallOptions): Promise<EligibleDeciders>;
/** Add a comment to a task. It may refer to a run or an artifact of the task. Closed tasks accept comments too. Needs tasks.write. `POST /api/v1/tasks/{ref}/comments` */
createComment(ref: string, body: NewTaskComment, options?: CallOptions): Promise<TaskComment>;
/** List the comments of a task, oldest first. Needs tasks.read. `GET /api/v1/tasks/{ref}/comments` */
listComments(ref: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskCommentPage, TaskComment>;
/** Read a comment. Needs tasks.read. `GET /api/v1/tasks/{ref}/comments/{id}` */
getComment(ref: string, id: string, options?: CallOptions): Promise<TaskComment>;
/** Replace the text of your own comment. An identical text changes nothing. Needs tasks.write. `PATCH /api/v1/tasks/{ref}/comments/{id}` */
updateComment(ref: string, id: string, body: TaskCommentChange, options: CallOptions & Matched): Promise<TaskComment>;
/** List the earlier texts of a comment, oldest first. Needs tasks.read. `GET /api/v1/tasks/{ref}/comments/{id}/revisions` */
listCommentRevisions(ref: string, id: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskCommentRevisionPage, TaskCommentRevision>;
/** Migrate a task to another version of its type. By default, the target is the newest active version. No principal may be working on the task, not even the caller. Migrating to the current version changes nothing. Approvals of the task are requested again, unless the caller may decide them. Only the publisher of the current version, or a person, may migrate to a version without its checks or required outputs; a principal that had a run of the task never may. Needs task_types.manage. `POST /api/v1/tasks/{ref}:migrate-type` */
migrateType(ref: string, body: TypeMigration, options: CallOptions & Matched): Promise<Task>;
/** Add a relation between two tasks. parent: this is a child of the other. blocks: this must end before the other. depends_on: this waits for the other. spawned_by: this originates from the other; $.spawnedBy reads the first such relation. related_to: for information only. A task has at most 1,000 relations in both directions together; a further one at either end is refused with `invalid_relation` and `maxRelations`. Needs tasks.write. `POST /api/v1/tasks/{ref}/relations` */
createRelation(ref: string, body: TaskRelationRequest, options?: CallOptions): Promise<TaskRelation>;
/** List the relations of a task in both directions, oldest first. Returns the whole list, without pages: a task has at most 1,000. Relations to tasks that the caller can’t see are excluded. Needs tasks.read. `GET /api/v1/tasks/{ref}/relations` */
listRelations(ref: string, options?: CallOptions): Paged<TaskRelationPage, TaskRelation>;
/** Remove a relation of a task, in either direction. spawned_by requires task_types.manage, because checks depend on it. blocks and depends_on can be removed by their author or by a person, but never by a principal that works on the waiting task or had a run of it. Needs tasks.write. `DELETE /api/v1/tasks/{ref}/relations/{id}` */
deleteRelation(ref: string, id: string, options?: CallOptions): Promise<undefined>;
}

export interface SessionsApi {
/** Open a session: the lease under which a harness claims tasks. Needs sessions.open. `POST /api/v1/sessions` */
open(body: SessionRequest, options?: CallOptions): Promise<Session>;
/** List sessions, newest first. A person with the visibility `members` sees only their own sessions, and sessions whose claims (at most 1,000) and registered agent are all in visible workspaces. Needs sessions.manage. `GET /api/v1/sessions` */
list(query?: {
status?: string;
principalId?: Uuid;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<SessionPage, Session>;
/** Read a session. For its owner, or with `sessions.manage`. `GET /api/v1/sessions/{id}` */
get(id: string, options?: CallOptions): Promise<Session>;
/** Extend the lease of a session. For its owner, or with `sessions.manage`. Send a heartbeat every third of the lease. Without `ttlSeconds`, it is renewed for its original length. If the lease has already expired, the expiry is recorded, the claims of the session are released, and the response is `session_expired`. Needs sessions.open or sessions.manage. `POST /api/v1/sessions/{id}:heartbeat` */
heartbeat(id: string, body?: SessionHeartbeat, options?: CallOptions): Promise<Session>;
/** Close a session and release its claims. For its owner, or with `sessions.manage`. Closing a closed session has no effect. Needs sessions.open or sessions.manage. `POST /api/v1/sessions/{id}:close` */
close(id: string, body?: SessionClose, options?: CallOptions): Promise<Session>;
}

export interface HarnessApi {
/** Read the caller's claims, runs and journal cursor, for example after a restart. A running run without a live claim among `activeClaims` is orphaned: end it with `:fail` and the reason `restart_recovery`. `GET /api/v1/harness/context` */
getContext(query?: {
sessionId?: Uuid;
}, options?: CallOptions): Promise<HarnessContext>;
}

export interface WorkApi {
/** List the tasks that the caller can claim now: those assigned to the caller first, then by priority and age. Tasks assigned to the caller are first, then unassigned ones, each ordered by priority, then age. Those of others are included only if includeAssigned is true. Tasks on hold, in a blocked status, or before their `availableAt` are excluded. The list is advisory: :claim decides whether a task is granted. Needs tasks.read. `GET /api/v1/work/available` */
listAvailable(query?: {
workspaceId?: Uuid;
includeDescendants?: boolean;
projectId?: Uuid;
includeSubprojects?: boolean;
assigneeId?: Uuid;
/** Overrides assigneeId. */
assignedToMe?: boolean;
/** With `true`, includes tasks assigned to others: all by priority, then age. */
includeAssigned?: boolean;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskPage, Task>;
/** Claim the next available tasks: those assigned to the caller first, then by priority and age. Tasks assigned to the caller are claimed first, then unassigned ones, and those of others only with includeAssigned. Concurrent callers never wait for each other and never claim the same task. Children of one parent are spaced one second apart, so that one parent can't fill the queue. The list is empty when no task is available. Needs tasks.claim. `POST /api/v1/work:claim-next` */
claimNext(body: ClaimNextRequest, options?: CallOptions): Promise<NextWork>;
}

export interface ClaimsApi {
/** List claims, newest first. Needs tasks.read. `GET /api/v1/claims` */
list(query?: {
taskId?: Uuid;
sessionId?: Uuid;
status?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ClaimPage, Claim>;
/** Read a claim. Needs tasks.read. `GET /api/v1/claims/{id}` */
get(id: string, options?: CallOptions): Promise<Claim>;
/** Extend or shorten the lease of a claim. For its holder, or with `claims.manage`. Send a heartbeat every third of the lease. Without `ttlSeconds`, the lease is renewed for its original length. Needs tasks.claim or claims.manage. `POST /api/v1/claims/{id}:heartbeat` */
heartbeat(id: string, body?: ClaimHeartbeat, options?: CallOptions): Promise<Claim>;
/** Check whether a claim and its fencing token currently protect the task. For external gateways (Git, deployments) that must reject a stale holder. `superseded` if the token is not that of the latest claim of the task. Needs tasks.read. `POST /api/v1/claims/{id}:check` */
check(id: string, body: ClaimCheckRequest, options?: CallOptions): Promise<ClaimCheck>;
/** Release a claim. For its holder, or with `claims.manage`. A claim that has already ended doesn't change. Needs tasks.claim or claims.manage. `POST /api/v1/claims/{id}:release` */
release(id: string, body?: ClaimRelease, options?: CallOptions): Promise<Claim>;
/** Take over the task of a dead claim. Needs tasks.claim or claims.manage. `POST /api/v1/claims/{id}:reclaim` */
reclaim(id: string, body: ClaimRequest, options?: CallOptions): Promise<Claim>;
}

export interface RunsApi {
/** List runs, newest first. Needs tasks.read. `GET /api/v1/runs` */
list(query?: {
taskId?: Uuid;
claimId?: Uuid;
principalId?: Uuid;
agentKey?: string;
status?: string;
/** With `true`, only running runs without progress for longer than the `progressTimeoutSeconds` of their task type. */
stalled?: boolean;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RunPage, Run>;
/** Read a run. Needs tasks.read. `GET /api/v1/runs/{id}` */
get(id: string, options?: CallOptions): Promise<Run>;
/** End a run as succeeded, and complete its task. With `completeTask` false, the task stays claimed. Requires the live claim of the run. Needs tasks.claim. `POST /api/v1/runs/{id}:succeed` */
succeed(id: string, body?: RunSuccess, options?: CallOptions): Promise<SucceededRun>;
/** End a run as failed. For its principal, or with `claims.manage`. It requires no live claim and doesn't change the claim. If its claim is the task's latest, the failure counts: the task is paused as its type's `execution.retry` specifies, for at least `retryAfterSeconds`. After the last attempt, the task moves to a blocked status. To return a task without counting a failure, cancel the run. Needs tasks.claim or claims.manage. `POST /api/v1/runs/{id}:fail` */
fail(id: string, body?: RunFailure, options?: CallOptions): Promise<Run>;
/** End a run as cancelled. For its principal, or with `claims.manage`. It requires no live claim and doesn't change the claim or the task. Needs tasks.claim or claims.manage. `POST /api/v1/runs/{id}:cancel` */
cancel(id: string, body?: RunCancellation, options?: CallOptions): Promise<Run>;
/** Save a checkpoint of a run for the next executor. Requires the live claim of the run. `seq` counts from 1 without gaps. Needs tasks.claim. `POST /api/v1/runs/{id}/checkpoints` */
createCheckpoint(id: string, body: CheckpointRequest, options?: CallOptions): Promise<Checkpoint>;
/** List the checkpoints of a run, oldest first. Without `limit` and `cursor`, returns the whole list. If it exceeds 10,000 entries or 4 MiB, returns its beginning and a cursor for the rest. Needs tasks.read or tasks.claim. `GET /api/v1/runs/{id}/checkpoints` */
listCheckpoints(id: string, query?: {
/** Maximum number of items, 1 to 200. Without it and without a cursor, the whole list is returned. */
limit?: number;
/** The `nextCursor` of the previous page. */
cursor?: string;
}, options?: CallOptions): Paged<CheckpointPage, Checkpoint>;
/** Record an action of a run and its usage. Requires the live claim of the run. `seq` counts from 1 without gaps. `metadata.capabilityMismatch` is set by the service: the protocol of the action's skill, if its session listed other protocols as `skills.protocol.*`. Needs tasks.claim. `POST /api/v1/runs/{id}/actions` */
createAction(id: string, body: RunActionRequest, options?: CallOptions): Promise<RunAction>;
/** List the actions of a run, oldest first. Without `limit` and `cursor`, returns the whole list. If it exceeds 10,000 entries or 4 MiB, returns its beginning and a cursor for the rest. Needs tasks.read or tasks.claim. `GET /api/v1/runs/{id}/actions` */
listActions(id: string, query?: {
/** Maximum number of items, 1 to 200. Without it and without a cursor, the whole list is returned. */
limit?: number;
/** The `nextCursor` of the previous page. */
cursor?: string;
}, options?: CallOptions): Paged<RunActionPage, RunAction>;
/** Finish a started action. Requires the live claim of the run. Metadata and usage are added to the action's own. Needs tasks.claim. `POST /api/v1/runs/{id}/actions/{aid}:finish` */
finishAction(id: string, aid: string, body: RunActionResult, options?: CallOptions): Promise<RunAction>;
/** Read the full context of a run, for its executor or its successor. Includes the newest 50 artifacts, pending approvals, child handles and checkpoints (of all attempts at the task, up to 1 MiB), and the open control messages. Read the journal from `eventCursor` on for later changes. Needs tasks.read. `GET /api/v1/runs/{id}/context` */
getContext(id: string, options?: CallOptions): Promise<RunContext>;
/** Suspend a run and release its task. Requires the live claim of the run. To continue, claim the task again and start a new run; a suspended run can't be resumed. Needs tasks.claim. `POST /api/v1/runs/{id}:suspend` */
suspend(id: string, body?: RunSuspension, options?: CallOptions): Promise<SuspendedRun>;
/** Hand over a run: save a last checkpoint and release its task. Requires the live claim of the run. An Idempotency-Key is recommended. Needs tasks.claim. `POST /api/v1/runs/{id}:handoff` */
handOff(id: string, body: RunHandoff, options?: CallOptions): Promise<HandedOffRun>;
/** Read the configuration of a run. The newest version by default. Runs that started before manifests were introduced have none. Needs tasks.read. `GET /api/v1/runs/{id}/harness-manifest` */
getHarnessManifest(id: string, query?: {
version?: number;
}, options?: CallOptions): Promise<HarnessManifest>;
/** List the versions of the manifest of a run, oldest first. Without `limit` and `cursor`, returns the whole list. If it exceeds 4 MiB, returns its beginning and a cursor for the rest. Needs tasks.read. `GET /api/v1/runs/{id}/harness-manifests` */
listHarnessManifests(id: string, query?: {
/** Maximum number of items, 1 to 200. Without it and without a cursor, the whole list is returned. */
limit?: number;
/** The `nextCursor` of the previous page. */
cursor?: string;
}, options?: CallOptions): Paged<HarnessManifestPage, HarnessManifest>;
/** Compile the manifest of a run again, with the declarations of its harness. Requires the live claim of the run. Omitted sections are unchanged. From the first compilation on, `projectPolicy` contains the policy of the projects above the task. Returns 201 for a new version, 200 if nothing changed. Unknown fields are ignored. An Idempotency-Key is recommended. Needs tasks.claim. `POST /api/v1/runs/{id}/harness-manifest:compile` */
compileHarnessManifest(id: string, body: ManifestCompilation, options?: CallOptions): Promise<HarnessManifest>;
/** Add a remark to the manifest of a run. Requires the live claim of the run. The remarks of one version are limited to 256 KiB in total. Needs tasks.claim. `POST /api/v1/runs/{id}/harness-manifest/ephemeral` */
addManifestRemark(id: string, body: ManifestRemarkRequest, options?: CallOptions): Promise<ManifestRemark>;
/** Send a control message to a running run. For its principal, or with `claims.manage`. Its executor handles `queue`, `steer`, `redirect` and `request_cancel` messages in order; `force_cancel` ends the run immediately, and every run below it: those that it launched, and with `claims.manage` also those whose tasks are only related by `spawned_by`. The worker ends those that are locked. Needs claims.manage or tasks.claim. `POST /api/v1/runs/{id}/control-messages` */
sendControlMessage(id: string, body: NewControlMessage, options?: CallOptions): Promise<ControlMessageResult>;
/** List the control messages of a run, oldest first. The cursor of the last page can be reused to read later messages. Needs tasks.read. `GET /api/v1/runs/{id}/control-messages` */
listControlMessages(id: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ControlMessagePage, ControlMessage>;
/** Acknowledge the next control message of a run. For the principal of the run, under its live claim. Needs tasks.claim. `POST /api/v1/runs/{id}/control-messages/{messageId}:acknowledge` */
acknowledgeControlMessage(id: string, messageId: string, body: ControlMessageAcknowledgement, options?: CallOptions): Promise<ControlMessageResult>;
/** Request that a running run stop by itself. For its principal, or with `claims.manage`. Repeating the call has no effect. Needs claims.manage or tasks.claim. `POST /api/v1/runs/{id}:request-cancel` */
requestCancel(id: string, body?: RunCancelRequest, options?: CallOptions): Promise<Run>;
/** Launch a child of a run: a task, and a handle to track it. For the principal of the run, under its live claim. A correlation id that the run has already used returns its child. Omitted rights of the grant are inherited; none can be added. A task with 1,000 relations accepts no more: `invalid_relation`. Needs tasks.claim. `POST /api/v1/runs/{id}/child-handles` */
launchChild(id: string, body: NewChild, options?: CallOptions): Promise<LaunchedChild>;
/** List the children that a run launched, oldest first. With `active` true, lists only pending, running and suspended children; with false, only the others. Needs tasks.read. `GET /api/v1/runs/{id}/child-handles` */
listChildHandles(id: string, query?: {
active?: boolean;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ChildHandlePage, ChildHandle>;
/** Revoke a launch made by a run. The same as POST /child-handles/{id}:revoke, for a handle of this run. Needs tasks.claim or claims.manage. `POST /api/v1/runs/{id}/child-handles/{handleId}:revoke` */
revokeChildHandle(id: string, handleId: string, body?: ChildHandleRevocation, options?: CallOptions): Promise<ChildHandleResult>;
}

export interface ChildHandlesApi {
/** Read a child handle by its id or its token. Needs tasks.read. `GET /api/v1/child-handles/{idOrToken}` */
get(idOrToken: string, options?: CallOptions): Promise<ChildHandleResult>;
/** Revoke a launch. For the principal of the run that launched it, or with `claims.manage`. No further run of the child can start; with `cancelChild`, its active run gets a cancel request. Repeating the call has no effect. Needs tasks.claim or claims.manage. `POST /api/v1/child-handles/{id}:revoke` */
revoke(id: string, body?: ChildHandleRevocation, options?: CallOptions): Promise<ChildHandleResult>;
}

export interface ApprovalsApi {
/** Request approval from a person. Requests approval from one principal, or from the holders of a role. A gate holds its task back: no principal can claim or complete the task until the gate is decided or cancelled. The service records what the decider is shown as the subject (at most 64 KiB). Needs approvals.manage. `POST /api/v1/approvals` */
request(body?: ApprovalRequest, options?: CallOptions): Promise<Approval>;
/** List approvals, newest first. Needs approvals.read. `GET /api/v1/approvals` */
list(query?: {
status?: string;
taskId?: Uuid;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ListedApprovalPage, ListedApproval>;
/** Read an approval. Returns the recorded subject. If it has changed, `current` is the current subject and `changedFields` lists the differences. Needs approvals.read. `GET /api/v1/approvals/{id}` */
get(id: string, options?: CallOptions): Promise<Approval>;
/** Approve. For the assigned person, or a person with the required role. Opens a gate. If the subject has changed, the request needs `subjectDigest` with the digest of the current subject. Needs approvals.decide. `POST /api/v1/approvals/{id}:approve` */
approve(id: string, body?: ApprovalDecision, options?: CallOptions & Partial<Matched>): Promise<Approval>;
/** Reject. For the people who may approve. Also opens a gate; its task stays open, and people decide how to continue. Needs approvals.decide. `POST /api/v1/approvals/{id}:reject` */
reject(id: string, body?: ApprovalDecision, options?: CallOptions & Partial<Matched>): Promise<Approval>;
/** Cancel a request for approval. Opens a gate. Only a person who may decide a gate can cancel one that another principal requested. A request that a task type, rule, process or verification declares can be cancelled by such a person, or by a person with `claims.manage`. Cancelling again changes nothing. Needs approvals.manage. `POST /api/v1/approvals/{id}:cancel` */
cancel(id: string, body?: ApprovalCancellation, options?: CallOptions): Promise<Approval>;
/** Read the outcome of a decision and its progress. The task's type declares the outcome. A worker executes it on behalf of the decider; it waits while a task that it changes is claimed or held back. Needs approvals.read. `GET /api/v1/approvals/{id}/outcome` */
getOutcome(id: string, options?: CallOptions): Promise<ApprovalOutcome>;
/** Retry the outcome of a decision. For the decider, or an administrator, once the outcome has failed or is stuck. Completed actions are not repeated; a worker retries the others. Needs approvals.decide. `POST /api/v1/approvals/{id}:replay-outcome` */
replayOutcome(id: string, options?: CallOptions): Promise<ApprovalOutcome>;
}

export interface ArtifactsApi {
/** Record a result; a revision is a new record that supersedes the older one. The types `verification` and `skill_result` are refused with `invalid_type`: only the service itself records them. Needs artifacts.write. `POST /api/v1/artifacts` */
create(body: NewArtifact, options?: CallOptions): Promise<Artifact>;
/** List artifacts, newest first. Needs artifacts.read. `GET /api/v1/artifacts` */
list(query?: {
taskId?: Uuid;
runId?: Uuid;
workspaceId?: Uuid;
type?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ArtifactPage, Artifact>;
/** Read an artifact. With `forTask`, tasks.read is sufficient for an input of that task. Needs artifacts.read or tasks.read. `GET /api/v1/artifacts/{id}` */
get(id: string, query?: {
/** The id of the task, or its public id such as TASK-000042. */
forTask?: string;
}, options?: CallOptions): Promise<Artifact>;
/** Read the bytes of an artifact; the read is recorded. With `forTask`, tasks.read is sufficient for an input of that task. Needs artifacts.read or tasks.read. `GET /api/v1/artifacts/{id}/content` */
getContent(id: string, query?: {
/** The id of the task, or its public id such as TASK-000042. */
forTask?: string;
}, options?: CallOptions): Promise<RawAnswer>;
/** Delete the bytes of an artifact permanently; its record remains. Needs admin. `POST /api/v1/artifacts/{id}:purge-content` */
purgeContent(id: string, body: PurgeRequest, options?: CallOptions): Promise<Artifact>;
}

export interface ArtifactContentsApi {
/** Upload bytes that an artifact can then reference with `contentRef`. The body is stored unchanged, with its Content-Type. Bytes that no artifact references are deleted some time after `expiresAt`. Needs artifacts.write. `PUT /api/v1/artifact-contents` */
upload(body: RawBody, options?: CallOptions): Promise<ArtifactUpload>;
}

export interface ArtifactTypesApi {
/** Create the next version of an artifact type. Versions never change. Artifacts of an unregistered type are not validated. Needs artifact_types.manage. `POST /api/v1/artifact-types` */
create(body: NewArtifactType, options?: CallOptions): Promise<ArtifactType>;
/** List artifact types, all versions, newest first. Needs artifact_types.read. `GET /api/v1/artifact-types` */
list(query?: {
key?: string;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ArtifactTypePage, ArtifactType>;
/** Read an artifact type. Needs artifact_types.read. `GET /api/v1/artifact-types/{ref}` */
get(ref: string, options?: CallOptions): Promise<ArtifactType>;
}

export interface EventsApi {
/** Read the journal in order, in pages. Only stable events are delivered, so a cursor never skips events that commit later. Delivery is at least once. The same events are streamed by WebSocket at /events/ws. Needs events.read. `GET /api/v1/events` */
list(query?: {
/** For older consumers: a sequence. `cursor` takes precedence. */
after?: string;
/** The page that ends just before this cursor. */
before?: string;
/** The order of the items within the page. */
order?: "asc" | "desc";
/** The newest events, at most this many. */
tail?: number;
entityType?: string;
entityId?: Uuid;
/** Only events caused by this principal. */
actorId?: Uuid;
/** Prefixes of event types, 20 at most, repeated or separated by commas. */
types?: string | string[];
workspaceId?: Uuid;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<JournalEventPage, JournalEvent>;
}

export interface EventTypesApi {
/** List the types of events, each with the schema of its payload. The ETag `"event-types-<sha256>"` changes only with the catalog; a request with it in If-None-Match gets 304. The same catalog is in `/asyncapi.json`. Needs events.read. `GET /api/v1/event-types` */
list(options?: CallOptions): Paged<EventTypePage, EventType>;
}

export interface TaskTypesApi {
/** Create the next version of a task type. Versions never change. Without a lifecycle, the type gets that of the built-in type `task`. A skill in `execution` that can't be used is refused with `invalid_task_execution` and a `reason`: not_found, disabled or no_contract. No skill can be called yet. Needs task_types.manage. `POST /api/v1/task-types` */
create(body: NewTaskType, options?: CallOptions): Promise<TaskType>;
/** List task types, newest first. Needs task_types.read. `GET /api/v1/task-types` */
list(query?: {
key?: string;
status?: string;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskTypePage, TaskType>;
/** Read a task type. Needs task_types.read. `GET /api/v1/task-types/{id}` */
get(id: string, options?: CallOptions): Promise<TaskType>;
/** Deprecate a version of a task type: new tasks only use it if they specify it. Needs task_types.manage. `POST /api/v1/task-types/{id}:deprecate` */
deprecate(id: string, options?: CallOptions): Promise<TaskType>;
/** Migrate the tasks of one version of a type to another version, in batches. A task that cannot be migrated is skipped, with the reason. A batch may have fewer tasks than requested; continue with `nextCursor` until it is null. Needs task_types.manage. `POST /api/v1/task-types/{id}:migrate-tasks` */
migrateTasks(id: string, body?: TypeMigrationBatch, options?: CallOptions): Promise<TypeMigrationReport>;
/** List the principals that can be assigned tasks of a type in a workspace, newest first. These are the active members of the workspace, and the running registered agents that are linked to an identity and whose `work` covers the workspace and the type. In `work`, a workspace covers only itself; a project covers its workspaces, with `includeSubprojects` also those of projects below; without either, it covers the whole tenant. Needs workspaces.read. `GET /api/v1/task-types/{id}/executors` */
listExecutors(id: string, query: {
workspaceId: Uuid;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskTypeExecutorPage, TaskTypeExecutor>;
}

export interface ObservationsApi {
/** Publish a fact in the journal. Observations are read through the journal. A reference to a task or a run also requires tasks.read. Publishing the same `source` and `dedupKey` again as the same author returns 200 and writes nothing. Needs observations.write. `POST /api/v1/observations` */
record(body: NewObservation, options?: CallOptions): Promise<RecordedObservation>;
}

export interface ContextApi {
/** Read the context for a principal that is about to act. The operational part is always returned; the part from memory only if the memory service responds within CP_CONTEXT_TIMEOUT_SECONDS, otherwise `memoryStatus` gives the reason. For the holder of a task's claim, the context that the task's type declares is recorded once and then returned unchanged. `POST /api/v1/context` */
get(body?: ContextRequest, options?: CallOptions): Promise<ContextAnswer>;
/** Look up knowledge about one entity, or by a text. A lookup for a task also requires tasks.read. Needs events.read. `POST /api/v1/context/recall` */
recall(body?: RecallRequest, options?: CallOptions): Promise<RecalledPack>;
}

export interface ContextPacksApi {
/** Read the recorded context of a claim. Needs tasks.read. `GET /api/v1/context-packs/{id}` */
get(id: string, options?: CallOptions): Promise<ContextPack>;
/** Repeat the request of a recorded context as of the same instant and list the differences. Needs tasks.read. `POST /api/v1/context-packs/{id}:replay` */
replay(id: string, options?: CallOptions): Promise<ReplayedPack>;
}

export interface KnowledgeApi {
/** Store a snapshot of the entities of a source in memory. Memory compares the snapshot with the previous one of the source and returns what is new, changed or removed. The body may have up to 8 MiB; repeating a snapshotId changes nothing. Needs observations.write. `POST /api/v1/knowledge/snapshots` */
reconcileSnapshot(body: KnowledgeSnapshot, options?: CallOptions): Promise<ReconciledSnapshot>;
/** Preview the changes that a snapshot would make. `stateToken` identifies the state that the snapshot was compared with: send it as `expectedState`. The response contains knowledge from memory, so it is only for callers who see the whole tree of the workspace and, with a decision point, may read its namespace. Needs observations.write. `POST /api/v1/knowledge/snapshots:preview` */
previewSnapshot(body: KnowledgeSnapshot, options?: CallOptions): Promise<ReconciledSnapshot>;
/** Store a document in memory, replacing the one with the same natural key. Needs observations.write. `POST /api/v1/knowledge/documents` */
storeDocument(body: KnowledgeDocument, options?: CallOptions): Promise<StoredDocument>;
/** Query the entities of some kinds in a workspace. Needs events.read. `POST /api/v1/knowledge/entities:query` */
queryEntities(body: EntitiesQuery, options?: CallOptions): Paged<EntitiesPage, Record<string, unknown>>;
/** Register a pack of kinds and rules for knowledge. `scope: tenant` requires `knowledge.packs.manage`; only the principals in CP_KNOWLEDGE_PACK_ADMINS can register a pack for all tenants. The memory service defines the rest of the document. `POST /api/v1/knowledge/packs` */
registerPack(body?: KnowledgePack, options?: CallOptions): Promise<RegisteredPack>;
/** Read a pack of the tenant, or one for all tenants, by `name` or `name@version`. Needs events.read. `GET /api/v1/knowledge/packs/{ref}` */
getPack(ref: string, options?: CallOptions): Promise<StoredKnowledgePack>;
}

export interface WorkspacesApi {
/** Set the packs that apply to the knowledge of a tree of workspaces. Needs workspaces.manage. `PUT /api/v1/workspaces/{id}/knowledge-packs` */
configureKnowledgePacks(id: string, body: KnowledgePacksRequest, options?: CallOptions): Promise<WorkspaceKnowledgePacks>;
/** Read the packs that apply to the knowledge of a workspace. Needs workspaces.read. `GET /api/v1/workspaces/{id}/knowledge-packs` */
getKnowledgePacks(id: string, options?: CallOptions): Promise<WorkspaceKnowledgePacks>;
/** Create a workspace, as a root or below another workspace. Needs workspaces.manage. `POST /api/v1/workspaces` */
create(body: WorkspaceRequest, options?: CallOptions): Promise<WorkspaceDetail>;
/** List workspaces, newest first. Needs workspaces.read. `GET /api/v1/workspaces` */
list(query?: {
/** Only direct children of this workspace; overrides rootsOnly. */
parentId?: Uuid;
rootsOnly?: boolean;
status?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<WorkspacePage, Workspace>;
/** Read the tree of workspaces, or a subtree. Siblings are sorted by slug. The tree has at most 1,000 nodes: the deepest levels beyond that are omitted, and `truncated` is true. Needs workspaces.read. `GET /api/v1/workspaces/tree` */
getTree(query?: {
rootId?: Uuid;
/** Number of levels below the roots; 0 returns only the roots. */
depth?: number;
includeArchived?: boolean;
/** `false` omits `project` from the nodes. */
includeProjects?: boolean;
/** Maximum number of roots, 1 to 200; all when absent. */
limit?: number;
/** The `nextCursor` of the previous page. */
cursor?: string;
}, options?: CallOptions): Promise<WorkspaceTree>;
/** Read a workspace. Needs workspaces.read. `GET /api/v1/workspaces/{id}` */
get(id: string, options?: CallOptions): Promise<WorkspaceDetail>;
/** Change a workspace, even an archived one. Values equal to the stored ones change nothing. taskTypes `null` inherits those of the parent. Needs workspaces.manage. `PATCH /api/v1/workspaces/{id}` */
update(id: string, body: WorkspaceChange, options: CallOptions & Matched): Promise<WorkspaceDetail>;
/** Archive a workspace that has no active children and no active project. The workspace keeps its slug and its tasks. Archiving it again changes nothing. Needs workspaces.manage. `POST /api/v1/workspaces/{id}:archive` */
archive(id: string, options?: CallOptions): Promise<WorkspaceDetail>;
/** Restore an archived workspace. Restoring an active workspace changes nothing. Needs workspaces.manage. `POST /api/v1/workspaces/{id}:restore` */
restore(id: string, options?: CallOptions): Promise<WorkspaceDetail>;
/** Move a workspace and its descendants below another workspace, or to the roots. With dryRun nothing is written: the response lists the reasons to refuse the move. Needs workspaces.manage. `POST /api/v1/workspaces/{id}:move` */
move(id: string, body: WorkspaceMove, options?: CallOptions & Partial<Matched> & { query?: {
dryRun?: boolean;
} }): Promise<MoveAnswer>;
/** Add a principal to the members of a workspace. Adding a member again returns the existing membership. Needs workspaces.manage. `POST /api/v1/workspaces/{id}/members` */
addMember(id: string, body: WorkspaceMemberRequest, options?: CallOptions): Promise<WorkspaceMember>;
/** List the members of a workspace, newest first. Needs workspaces.read. `GET /api/v1/workspaces/{id}/members` */
listMembers(id: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<WorkspaceMemberPage, WorkspaceMember>;
/** Remove a principal from the members of a workspace. Removing a principal that is not a member changes nothing. Needs workspaces.manage. `POST /api/v1/workspaces/{id}/members/{principalId}:remove` */
removeMember(id: string, principalId: string, options?: CallOptions): Promise<undefined>;
/** List the participants of a workspace: its members, and principals with a role in it. Needs workspaces.read. `GET /api/v1/workspaces/{id}/participants` */
listParticipants(id: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ParticipantPage, Participant>;
}

export interface ExternalReferencesApi {
/** Set an external name of a task or a project. Repeating the name replaces the metadata: 201 for a new name, otherwise 200. A task needs tasks.write, a project projects.manage. Needs tasks.write or projects.manage. `POST /api/v1/external-references` */
put(body: ExternalReferenceRequest, options?: CallOptions): Promise<ExternalReference>;
/** List the external names of an object, or find the object with a name. Either entityType and entityId, or externalSystem, externalType and externalId. Needs tasks.read or projects.read. `GET /api/v1/external-references` */
list(query?: {
entityType?: string;
entityId?: string;
externalSystem?: string;
externalType?: string;
externalId?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ExternalReferencePage, ExternalReference>;
/** Remove an external name. Needs tasks.write or projects.manage. `DELETE /api/v1/external-references/{id}` */
delete(id: string, options?: CallOptions): Promise<undefined>;
}

export interface ProjectsApi {
/** Set an external name of a project. Repeating the name replaces the metadata: 201 for a new name, otherwise 200. Needs projects.manage. `POST /api/v1/projects/{id}/external-references` */
putReference(id: string, body: ProjectReferenceRequest, options?: CallOptions): Promise<ExternalReference>;
/** List the external names of a project. Needs projects.read. `GET /api/v1/projects/{id}/external-references` */
listReferences(id: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ExternalReferencePage, ExternalReference>;
/** Create a project for a workspace from a template; also creates the workspace if a slug is sent. A workspace has at most one project. Creating the workspace also requires workspaces.manage. Needs projects.manage. `POST /api/v1/projects` */
create(body?: ProjectRequest, options?: CallOptions): Promise<Project>;
/** List projects, newest first. Needs projects.read. `GET /api/v1/projects` */
list(query?: {
/** Only the project of exactly this workspace. */
workspaceId?: Uuid;
status?: string;
statusKey?: string;
systemStatusCategory?: string;
templateKey?: string;
/** With externalId: the external system that uses this id. */
externalSystem?: string;
externalType?: string;
externalId?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProjectPage, Project>;
/** Read a project. Needs projects.read. `GET /api/v1/projects/{id}` */
get(id: string, options?: CallOptions): Promise<Project>;
/** Change a project. Values equal to the stored ones change nothing. `null` clears a date, clearOwner the owner. Needs projects.manage. `PATCH /api/v1/projects/{id}` */
update(id: string, body: ProjectChange, options: CallOptions & Matched): Promise<Project>;
/** Move a project to another status of its lifecycle. Needs projects.manage. `POST /api/v1/projects/{id}:transition` */
transition(id: string, body: ProjectTransition, options: CallOptions & Matched): Promise<Project>;
/** Archive a project; its work is no longer available. Tasks, workspace, history and nested projects remain. Archiving it again changes nothing. Needs projects.manage. `POST /api/v1/projects/{id}:archive` */
archive(id: string, options?: CallOptions): Promise<Project>;
/** Restore an archived project. Its work becomes available again: the first 1,000 tasks immediately, the others by a worker. Restoring an active project changes nothing. Needs projects.manage. `POST /api/v1/projects/{id}:restore` */
restore(id: string, options?: CallOptions): Promise<Project>;
/** List the tasks of a project that depend on each other, with the critical path. Also needs tasks.read. Needs projects.read. `GET /api/v1/projects/{id}/dependencies` */
getDependencies(id: string, query?: {
includeSubprojects?: boolean;
}, options?: CallOptions): Promise<ProjectDependencies>;
/** Read the effective configuration of a project and the origin of each value. Later layers override earlier ones: template, ancestors, active revision, settings of the project. Governance can only narrow, and a locked setting keeps the value of the project that locked it. An If-None-Match that matches the ETag returns 304. Needs projects.read. `GET /api/v1/projects/{id}/effective-config` */
getEffectiveConfig(id: string, options?: CallOptions): Promise<EffectiveConfig>;
/** List the configurations of a project, newest first. Needs projects.read. `GET /api/v1/projects/{id}/config-revisions` */
listConfigRevisions(id: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ConfigRevisionPage, ConfigRevision>;
/** Record the next configuration of a project; it takes effect when activated. Needs projects.manage. `POST /api/v1/projects/{id}/config-revisions` */
createConfigRevision(id: string, body?: ConfigRevisionRequest, options?: CallOptions): Promise<ConfigRevision>;
/** Activate a configuration. An earlier revision may be activated again. Activating the active one changes nothing. Needs projects.manage. `POST /api/v1/projects/{id}/config-revisions/{n}:activate` */
activateConfigRevision(id: string, n: string, options: CallOptions & Matched): Promise<Project>;
}

export interface GoalsApi {
/** Create a goal. Needs goals.write. `POST /api/v1/goals` */
create(body: GoalRequest, options?: CallOptions): Promise<Goal>;
/** List goals, newest first. Needs goals.read. `GET /api/v1/goals` */
list(query?: {
status?: string;
workspaceId?: Uuid;
ownerId?: Uuid;
parentGoalId?: Uuid;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<GoalPage, Goal>;
/** Read a goal. Needs goals.read. `GET /api/v1/goals/{id}` */
get(id: string, options?: CallOptions): Promise<Goal>;
/** Change, close or reopen a goal. Unchanged values have no effect. The workspace and the origin can't be changed. Needs goals.write. `PATCH /api/v1/goals/{id}` */
update(id: string, body: GoalChange, options: CallOptions & Matched): Promise<Goal>;
/** List the tasks of a goal, newest first. Also needs tasks.read. Needs goals.read. `GET /api/v1/goals/{id}/work` */
listWork(id: string, query?: {
includeSubgoals?: boolean;
systemStatusCategory?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskPage, Task>;
}

export interface RulesApi {
/** Create a work rule. An enabled rule acts on future events with the permissions of the principal who last enabled or wrote it, and never with more permissions than that principal has at that time. With `identity`, the rule acts as that registry agent with its current permissions; a principal who enables or writes the rule must hold all of them. A launched run cannot create, change or enable rules. `warnings` lists the parts of the rule that can never work. Needs rules.write. `POST /api/v1/rules` */
create(body: RuleRequest, options?: CallOptions): Promise<WrittenRule>;
/** List work rules, newest first. Without `status`, archived rules are omitted. Needs rules.read. `GET /api/v1/rules` */
list(query?: {
status?: string;
workspaceId?: Uuid;
key?: string;
triggerKind?: string;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RulePage, Rule>;
/** Check a work rule without creating it. Needs rules.write. `POST /api/v1/rules:validate` */
validate(body: RuleRequest, options?: CallOptions): Promise<RuleValidation>;
/** Read a work rule. Needs rules.read. `GET /api/v1/rules/{id}` */
get(id: string, options?: CallOptions): Promise<Rule>;
/** Write the next version of a work rule. A request that changes no value writes no version. An enabled rule acts on behalf of its last writer. Pending evaluations end as skipped. Needs rules.write. `PATCH /api/v1/rules/{id}` */
update(id: string, body: RuleChange, options: CallOptions & Matched): Promise<WrittenRule>;
/** Archive a work rule and free its key. Needs rules.write. `DELETE /api/v1/rules/{id}` */
archive(id: string, options?: CallOptions): Promise<undefined>;
/** List the versions of a work rule, newest first. Needs rules.read. `GET /api/v1/rules/{id}/versions` */
listVersions(id: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RulePage, Rule>;
/** Enable a work rule with the caller's permissions. Needs rules.write. `POST /api/v1/rules/{id}:enable` */
enable(id: string, options?: CallOptions): Promise<Rule>;
/** Disable a work rule. Needs rules.write. `POST /api/v1/rules/{id}:disable` */
disable(id: string, options?: CallOptions): Promise<Rule>;
/** List the evaluations of a work rule, newest first. Needs rules.read. `GET /api/v1/rules/{id}/evaluations` */
listEvaluations(id: string, query?: {
status?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RuleEvaluationPage, RuleEvaluation>;
/** Simulate a work rule on past events. Evaluates the rule for the newest events that would have triggered it, among at most 2,000 of its type, with the current tasks and goals. After a second, the remaining events are omitted. A tenant runs two simulations at a time; ten more wait for at most 5 s. Nothing is written. Needs rules.write. `POST /api/v1/rules:dry-run` */
dryRun(body: RuleDryRun, options?: CallOptions): Promise<RuleDryRunResults>;
}

export interface RuleEvaluationsApi {
/** Read one evaluation of a work rule. Needs rules.read. `GET /api/v1/rule-evaluations/{id}` */
get(id: string, options?: CallOptions): Promise<RuleEvaluation>;
}

export interface ProcessDefinitionsApi {
/** Publish the next version of a process. Versions are immutable. Returns 200 if this version already exists with the same content, otherwise 201; a new version reactivates a retired process. `invalid_process` lists every problem with its path; `warnings` lists less serious findings. The process acts as its agent, so the caller must hold all permissions of the agent. Instances continue with the version that they started with, unless `migrations` has `migrate` for that version: then the worker migrates them, except those that a step called as `key@version`. Elements are matched by id, or by the id that `map` gives them (null: removed). An open step keeps its task, approvals or call; a removed step is closed, and its list continues after the completed steps. Steps that the new version adds before that point are not run, a stage before one that has started is skipped, and deadlines that the new version defines differently are computed again. A step that has moved to another list of steps is a problem, unless `map` removes it. Needs processes.write. `POST /api/v1/process-definitions` */
publish(body: ProcessDefinitionRequest, options?: CallOptions): Promise<ProcessDefinition>;
/** List processes, each by its latest version, newest first. A page has at most 4 MiB; use the cursor to read the rest. Needs processes.read. `GET /api/v1/process-definitions` */
list(query?: {
key?: string;
workspaceId?: Uuid;
governedBy?: string;
status?: string;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProcessDefinitionPage, ProcessDefinition>;
/** Read a version of a process. Needs processes.read. `GET /api/v1/process-definitions/{key}` */
get(key: string, options?: CallOptions): Promise<ProcessDefinition>;
/** List the versions of a process, newest first. A page has at most 4 MiB; use the cursor to read the rest. Needs processes.read. `GET /api/v1/process-definitions/{key}/versions` */
listVersions(key: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProcessDefinitionPage, ProcessDefinition>;
/** Retire a process. No new instances start; running instances continue. Retiring a retired process changes nothing, and publishing a new version reactivates it. With `dryRun` nothing is written. Needs processes.write. `POST /api/v1/process-definitions/{key}:retire` */
retire(key: string, body: ProcessRetirement, options?: CallOptions & { query?: {
dryRun?: boolean;
} }): Promise<RetiredProcess>;
/** Replay instances with another definition. The candidate processes the recorded inputs of instances again, in the original order and at the original times, and the result is compared with the journals of the instances. The version number of the candidate is ignored. Results that only the candidate would wait for never arrive. Calendars are used in their current state. Instances whose inputs were not recorded, because they are older than that feature, are `incomplete`. Inputs before a migration are processed by the version of that time. Nothing is written. At most one call runs at a time per tenant, and two per server process; up to four calls per tenant wait for at most 10 s. Needs packages.test. `POST /api/v1/process-definitions/{key}:replay` */
replay(key: string, body: ProcessReplayRequest, options?: CallOptions): Promise<ProcessReplay>;
}

export interface ProcessInstancesApi {
/** Start an instance of a process. Starts an instance of the newest version. It acts as the agent of the definition. The key of an ended instance may be reused. Needs processes.operate. `POST /api/v1/process-instances` */
create(body: ProcessInstanceRequest, options?: CallOptions): Promise<ProcessInstance>;
/** List instances of processes, newest first. Needs processes.read. `GET /api/v1/process-instances` */
list(query?: {
definitionKey?: string;
instanceKey?: string;
status?: string;
workspaceId?: Uuid;
slaState?: "breached" | "warning";
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProcessInstancePage, ProcessInstance>;
/** Read an instance of a process. Needs processes.read. `GET /api/v1/process-instances/{id}` */
get(id: string, options?: CallOptions): Promise<ProcessInstance>;
/** List the journal of an instance, oldest first. Needs processes.read. `GET /api/v1/process-instances/{id}/journal` */
listJournal(id: string, query?: {
kind?: "decision" | "intent" | "input" | "settings" | "data" | "timer" | "state";
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProcessJournalEntryPage, ProcessJournalEntry>;
/** Suspend an instance: its timers stop, and events are stored. Needs processes.operate. `POST /api/v1/process-instances/{id}:suspend` */
suspend(id: string, body: ProcessSuspension, options?: CallOptions): Promise<ProcessInstance>;
/** Resume a suspended instance and retry the input that failed. If `suspension` has the code `migration_failed`, the migration to the later version of the definition is retried; if it fails again, the instance stays suspended. Needs processes.operate. `POST /api/v1/process-instances/{id}:resume` */
resume(id: string, body?: ProcessResumption, options?: CallOptions): Promise<ProcessInstance>;
/** Skip the step that failed. Needs processes.operate. `POST /api/v1/process-instances/{id}:skip` */
skip(id: string, body: ProcessSkip, options?: CallOptions): Promise<ProcessInstance>;
/** Cancel an instance; it is compensated first, unless `compensate` is false. If a compensation step fails, the instance is suspended with the reason in `suspension`: `:resume` and a second `:cancel` retry that step, `:skip` skips it, and `:cancel` with `compensate` false ends the instance as it is. Needs processes.operate. `POST /api/v1/process-instances/{id}:cancel` */
cancel(id: string, body: ProcessCancellation, options?: CallOptions): Promise<ProcessInstance>;
}

export interface StatisticsApi {
/** Count created and completed tasks by day, with their lead and cycle times. Needs tasks.read. `GET /api/v1/statistics/work` */
getWork(query?: {
/** The first day; by default, 29 days before `to`. */
from?: string;
/** The last day, inclusive; by default, today. */
to?: string;
/** The IANA time zone in which the days begin, for instance Europe/Berlin; UTC by default. */
timeZone?: string;
workspaceId?: Uuid;
includeDescendants?: boolean;
projectId?: Uuid;
includeSubprojects?: boolean;
}, options?: CallOptions): Promise<WorkStatistics>;
/** Sum the time for which requests for a decision waited for people, by day. Also needs tasks.read. Needs approvals.read. `GET /api/v1/statistics/waits` */
getWaits(query?: {
/** The first day; by default, 29 days before `to`. */
from?: string;
/** The last day, inclusive; by default, today. */
to?: string;
/** The IANA time zone in which the days begin, for instance Europe/Berlin; UTC by default. */
timeZone?: string;
workspaceId?: Uuid;
includeDescendants?: boolean;
projectId?: Uuid;
includeSubprojects?: boolean;
}, options?: CallOptions): Promise<WaitStatistics>;
/** Count lost leases and refused late writes, by day and by holder. Needs tasks.read. `GET /api/v1/statistics/leases` */
getLeases(query?: {
/** The first day; by default, 29 days before `to`. */
from?: string;
/** The last day, inclusive; by default, today. */
to?: string;
/** The IANA time zone in which the days begin, for instance Europe/Berlin; UTC by default. */
timeZone?: string;
workspaceId?: Uuid;
includeDescendants?: boolean;
projectId?: Uuid;
includeSubprojects?: boolean;
}, options?: CallOptions): Promise<LeaseStatistics>;
/** Sum tokens and money by principal, workspace or week. Needs tasks.read. `GET /api/v1/statistics/usage` */
getUsage(query?: {
/** The first day; by default, 29 days before `to`. */
from?: string;
/** The last day, inclusive; by default, today. */
to?: string;
/** The IANA time zone in which the days begin, for instance Europe/Berlin; UTC by default. */
timeZone?: string;
workspaceId?: Uuid;
includeDescendants?: boolean;
projectId?: Uuid;
includeSubprojects?: boolean;
/** `principal` by default. */
groupBy?: "principal" | "workspace" | "week";
}, options?: CallOptions): Promise<UsageStatistics>;
/** List what each principal held within a period of up to 7 days, newest claims first. Needs tasks.read. `GET /api/v1/statistics/holdings` */
getHoldings(query?: {
workspaceId?: Uuid;
includeDescendants?: boolean;
projectId?: Uuid;
includeSubprojects?: boolean;
/** By default, a day before `to`. */
from?: Instant;
/** By default, now. */
to?: Instant;
principalId?: Uuid;
}, options?: CallOptions): Promise<Holdings>;
}

export interface WorkspaceTypesApi {
/** Create a workspace type. Needs workspaces.manage. `POST /api/v1/workspace-types` */
create(body: WorkspaceTypeRequest, options?: CallOptions): Promise<WorkspaceType>;
/** List workspace types, newest first. Needs workspaces.read. `GET /api/v1/workspace-types` */
list(query?: {
status?: string;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<WorkspaceTypePage, WorkspaceType>;
/** Read a workspace type. Needs workspaces.read. `GET /api/v1/workspace-types/{id}` */
get(id: string, options?: CallOptions): Promise<WorkspaceType>;
/** Change a workspace type. Existing workspaces are not validated again. Values equal to the stored ones change nothing. Needs workspaces.manage. `PATCH /api/v1/workspace-types/{id}` */
update(id: string, body: WorkspaceTypeChange, options: CallOptions & Matched): Promise<WorkspaceType>;
/** Archive a workspace type that no active workspace uses. The type keeps its key. Archiving it again changes nothing. Needs workspaces.manage. `POST /api/v1/workspace-types/{id}:archive` */
archive(id: string, options?: CallOptions): Promise<WorkspaceType>;
/** Restore an archived workspace type. Restoring an active type changes nothing. Needs workspaces.manage. `POST /api/v1/workspace-types/{id}:restore` */
restore(id: string, options?: CallOptions): Promise<WorkspaceType>;
}

export interface CalendarsApi {
/** Publish the next version of a production calendar. Versions never change. Returns 200 when the newest version has the same content, else 201; both reactivate a retired calendar. The `code` of `invalid_calendar` names the defect: unknown_timezone, duplicate_calendar_year, calendar_date_outside_year, calendar_day_conflict or invalid_working_hours. Needs calendars.write. `POST /api/v1/calendars` */
publish(body: CalendarRequest, options?: CallOptions): Promise<Calendar>;
/** List the newest version of each calendar, newest first. A page has up to 4 MiB; use the cursor for the remaining items. `GET /api/v1/calendars` */
list(query?: {
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<CalendarPage, Calendar>;
/** Read a version of a calendar. `GET /api/v1/calendars/{key}` */
get(key: string, options?: CallOptions): Promise<Calendar>;
/** Retire a calendar. A retired calendar can still be used for computations. Retiring it again changes nothing, and publishing reactivates it. With `dryRun` nothing is written. Needs calendars.write. `POST /api/v1/calendars/{key}:retire` */
retire(key: string, body: CalendarRetirement, options?: CallOptions & { query?: {
dryRun?: boolean;
} }): Promise<Calendar>;
/** Add working minutes to an instant, or count the working minutes between two instants. Follows the clocks in its time zone: a skipped hour does not count, and a repeated hour counts twice. The `code` of `invalid_calendar` names the reason: calendar_without_hours, or calendar_scan_limit beyond 50 years. `POST /api/v1/calendars/{key}:compute` */
compute(key: string, body: CalendarComputation, options?: CallOptions): Promise<CalendarComputed>;
}

export interface ProjectTemplatesApi {
/** Create the next version of a project template. Versions never change. A template without a lifecycle gets the statuses planned, active, paused, completed and cancelled. Needs project_templates.manage. `POST /api/v1/project-templates` */
create(body: NewProjectTemplate, options?: CallOptions): Promise<ProjectTemplate>;
/** List project templates, all versions, newest first. Needs project_templates.read. `GET /api/v1/project-templates` */
list(query?: {
key?: string;
status?: string;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProjectTemplatePage, ProjectTemplate>;
/** Read a version of a project template. Needs project_templates.read. `GET /api/v1/project-templates/{id}` */
get(id: string, options?: CallOptions): Promise<ProjectTemplate>;
/** Deprecate a version of a project template; new projects can no longer use it. Deprecating it again changes nothing. Needs project_templates.manage. `POST /api/v1/project-templates/{id}:deprecate` */
deprecate(id: string, options?: CallOptions): Promise<ProjectTemplate>;
}

export interface OperationsApi {
/** Read the progress of the delivery of the tenant's journal to the memory service. If a tenant's events could not be delivered, only that tenant is on hold, and the delivery is retried automatically; `Retry-After` then gives the delay in seconds. Needs operations.read or operations.manage. `GET /api/v1/operations/context-adapter` */
getContextAdapter(options?: CallOptions): Promise<AdapterState>;
/** Immediately retry the event at which the tenant is on hold. The cursor does not move. Returns 404 before the first cycle, when no event can be retried. Needs operations.manage. `POST /api/v1/operations/context-adapter/{tenantId}:redrive` */
redriveContextAdapter(tenantId: string, body?: AdapterRedrive, options?: CallOptions): Promise<AdapterState>;
/** Deliver the tenant's journal again from an earlier position. Without a cursor, delivery restarts at the oldest existing event. The memory service recognizes events that it already has. A running delivery no longer moves the cursor. Needs operations.manage. `POST /api/v1/operations/context-adapter/{tenantId}:rebuild` */
rebuildContextAdapter(tenantId: string, body?: AdapterRebuild, options?: CallOptions): Promise<AdapterState>;
/** List undelivered events and dead letters. Newest first. An event is listed once per sink, after a worker has distributed it, which takes about a second. Needs operations.read or operations.manage. `GET /api/v1/operations/outbox` */
listUndeliveredEvents(query?: {
/** Both if absent. */
status?: "pending" | "dead";
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<UndeliveredEventPage, UndeliveredEvent>;
/** Redrive a dead letter: deliver the event again. Its attempts start at zero. An event that is still pending is left unchanged. Needs operations.manage. `POST /api/v1/operations/outbox/{id}:redrive` */
redriveUndeliveredEvent(id: string, body?: OutboxRedrive, options?: CallOptions): Promise<UndeliveredEvent>;
/** Drop the delivery of an event to a sink. The event remains in the journal and no longer blocks its archiving. Needs operations.manage. `POST /api/v1/operations/outbox/{id}:drop` */
dropUndeliveredEvent(id: string, body: OutboxDrop, options?: CallOptions): Promise<UndeliveredEvent>;
/** Move confirmed history to the archive, oldest first. Readers notice no difference. It ends before the first event that is too young, not confirmed by a consumer, or not yet delivered. Needs operations.manage. `POST /api/v1/operations/journal:archive` */
archiveJournal(body?: JournalRetention, options?: CallOptions): Promise<JournalArchiving>;
/** Delete history from the archive, oldest first. The only operation that loses data: export it first. Cursors below the deleted history are refused afterwards. Needs operations.manage. `POST /api/v1/operations/journal:prune` */
pruneJournal(body?: JournalRetention, options?: CallOptions): Promise<JournalPruning>;
/** List local decisions that differ from the decision point's. For CP_AUTHZ_MODE `shadow`: the newest 1,000 differences, and the total, in the process that serves the request. Other modes return none. Needs operations.read or operations.manage. `GET /api/v1/operations/authz-differences` */
listAuthzDifferences(options?: CallOptions): Paged<AuthzDifferences, AuthzDifference>;
}

export interface RolesApi {
/** Create a role of the tenant or of a workspace. A role grants no permission; tasks and approvals may require it. Needs org.manage. `POST /api/v1/roles` */
create(body: RoleRequest, options?: CallOptions): Promise<Role>;
/** List roles, newest first. Needs org.read. `GET /api/v1/roles` */
list(query?: {
workspaceId?: Uuid;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RolePage, Role>;
/** Read a role. Needs org.read. `GET /api/v1/roles/{id}` */
get(id: string, options?: CallOptions): Promise<Role>;
/** Change a role. Tasks that require the role still require it under its new slug. Needs org.manage. `PATCH /api/v1/roles/{id}` */
update(id: string, body: RoleChange, options: CallOptions & Matched): Promise<Role>;
/** List the principals that have a role, newest first. With a workspace: principals with the role in it, in an ancestor, or in the whole tenant. Needs org.read or principals.read. `GET /api/v1/roles/{id}/principals` */
listPrincipals(id: string, query?: {
workspaceId?: Uuid;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RoleHolderPage, RoleHolder>;
}

export interface CapabilitiesApi {
/** Create a capability. A capability grants no permission; tasks may require it. Needs org.manage. `POST /api/v1/capabilities` */
create(body: CapabilityRequest, options?: CallOptions): Promise<Capability>;
/** List capabilities, newest first. Needs org.read. `GET /api/v1/capabilities` */
list(query?: {
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<CapabilityPage, Capability>;
/** Read a capability. Needs org.read. `GET /api/v1/capabilities/{id}` */
get(id: string, options?: CallOptions): Promise<Capability>;
/** Change a capability. Tasks that require the capability still require it under its new name. Needs org.manage. `PATCH /api/v1/capabilities/{id}` */
update(id: string, body: CapabilityChange, options: CallOptions & Matched): Promise<Capability>;
}

export interface SkillsApi {
/** Record a version of a skill. A skill can be assigned, and tasks may require it. With a contract it can be called, and tools read `contract.inputs`; `sideEffects` and `riskLevel` are then required, and `inputSchema` and `outputSchema` stay null. Needs org.manage. `POST /api/v1/skills` */
create(body: SkillRequest, options?: CallOptions): Promise<Skill>;
/** List skills, newest first. Needs org.read. `GET /api/v1/skills` */
list(query?: {
name?: string;
status?: string;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<SkillPage, Skill>;
/** Read a skill. A name alone selects the newest active version, or, if none is active, the newest that is not disabled. Needs org.read or skills.invoke or skills.execute. `GET /api/v1/skills/{ref}` */
get(ref: string, options?: CallOptions): Promise<Skill>;
/** Change the description, status or endpoint of a skill. An active version may become deprecated or disabled, a deprecated one disabled. The behaviour of a version never changes, but the `endpoint` of its contract may move. Pending calls are executed at the new endpoint. Calls to a disabled version are withdrawn. Needs org.manage. `PATCH /api/v1/skills/{ref}` */
update(ref: string, body: SkillChange, options: CallOptions & Matched): Promise<Skill>;
/** Request a call to a skill. An executor claims the call from its queue. `idempotencyKey` identifies one of the caller's calls: repeating the request with the same inputs returns that call with 200, even if the skill has changed. A run calls the skills that its principal has, and a launched run those that its handle grants. A skill with `external_write` needs an approved gate of the task (`approvalId`, once for each version) without an outcome of its own, or a run of a task whose type's `execution` pins this version (once in a run). `requestedBy.kind` is then `principal` or `run`. Returns 429 `rate_limited` while too many calls of the tenant are pending. Needs skills.invoke. `POST /api/v1/skills/{ref}:invoke` */
invoke(ref: string, body?: SkillInvocationRequest, options?: CallOptions): Promise<SkillInvocation>;
}

export interface PrincipalsApi {
/** Assign a role to a principal, in the whole tenant or in a workspace and its descendants. Repeating the request returns the existing assignment. Needs org.manage. `POST /api/v1/principals/{id}/roles` */
assignRole(id: string, body: RoleAssignmentRequest, options?: CallOptions): Promise<RoleAssignment>;
/** List the roles of a principal, newest first. Needs org.read or principals.read. `GET /api/v1/principals/{id}/roles` */
listRoles(id: string, query?: {
/** Maximum number of items, 1 to 200. Without it and without a cursor, the whole list is returned. */
limit?: number;
/** The `nextCursor` of the previous page. */
cursor?: string;
}, options?: CallOptions): Paged<RoleAssignmentPage, RoleAssignment>;
/** Revoke a role from a principal, in the tenant or workspace of its assignment. Revoking an unassigned role changes nothing. Needs org.manage. `POST /api/v1/principals/{id}/roles/{roleId}:revoke` */
revokeRole(id: string, roleId: string, body?: RoleRevocation, options?: CallOptions): Promise<undefined>;
/** Assign a capability to a principal. Repeating the request returns the existing assignment. Needs org.manage. `POST /api/v1/principals/{id}/capabilities` */
assignCapability(id: string, body: CapabilityAssignmentRequest, options?: CallOptions): Promise<CapabilityAssignment>;
/** List the capabilities of a principal, newest first. Needs org.read or principals.read. `GET /api/v1/principals/{id}/capabilities` */
listCapabilities(id: string, query?: {
/** Maximum number of items, 1 to 200. Without it and without a cursor, the whole list is returned. */
limit?: number;
/** The `nextCursor` of the previous page. */
cursor?: string;
}, options?: CallOptions): Paged<CapabilityAssignmentPage, CapabilityAssignment>;
/** Revoke a capability from a principal. Revoking an unassigned capability changes nothing. Needs org.manage. `POST /api/v1/principals/{id}/capabilities/{capabilityId}:revoke` */
revokeCapability(id: string, capabilityId: string, options?: CallOptions): Promise<undefined>;
/** Assign a version of a skill to a principal. Repeating the request returns the existing assignment. Needs org.manage. `POST /api/v1/principals/{id}/skills` */
assignSkill(id: string, body: SkillAssignmentRequest, options?: CallOptions): Promise<SkillAssignment>;
/** List the skills of a principal, newest first. Needs org.read or principals.read. `GET /api/v1/principals/{id}/skills` */
listSkills(id: string, query?: {
/** Maximum number of items, 1 to 200. Without it and without a cursor, the whole list is returned. */
limit?: number;
/** The `nextCursor` of the previous page. */
cursor?: string;
}, options?: CallOptions): Paged<SkillAssignmentPage, SkillAssignment>;
/** Revoke a version of a skill from a principal. Revoking an unassigned skill changes nothing. Needs org.manage. `POST /api/v1/principals/{id}/skills/{skillId}:revoke` */
revokeSkill(id: string, skillId: string, options?: CallOptions): Promise<undefined>;
/** Create a principal. It can act once an identity is bound to it, or with an API key of its own. Needs principals.write. `POST /api/v1/principals` */
create(body: PrincipalRequest, options?: CallOptions): Promise<Principal>;
/** List principals, newest first. Needs principals.read. `GET /api/v1/principals` */
list(query?: {
kind?: string;
/** Words, case-insensitive; each must be a prefix of a word in the display name or e-mail address. At most 200 characters and 10 words. Blank: all. */
q?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<PrincipalPage, Principal>;
/** Read a principal. Needs principals.read. `GET /api/v1/principals/{id}` */
get(id: string, options?: CallOptions): Promise<Principal>;
/** Change the display name and profile of a principal. The profile is replaced as a whole. Unchanged values have no effect. Needs principals.write. `PATCH /api/v1/principals/{id}` */
update(id: string, body: PrincipalChange, options: CallOptions & Matched): Promise<Principal>;
/** Disable a principal and end everything that belongs to it. Its bindings and delegations are revoked, its sessions closed, its claims released and their runs failed. Disabling a disabled principal changes nothing. Needs principals.write. `POST /api/v1/principals/{id}:disable` */
disable(id: string, body?: PrincipalStatusReason, options?: CallOptions): Promise<Principal>;
/** Enable a principal. Only the status is restored; `liveApiKeys` is the number of keys that are accepted again. Enabling an active principal changes nothing. Needs principals.write. `POST /api/v1/principals/{id}:enable` */
enable(id: string, body?: PrincipalStatusReason, options?: CallOptions): Promise<EnabledPrincipal>;
/** Read what a principal is allowed to do, also in words. Needs principals.read. `GET /api/v1/principals/{id}/access` */
getAccess(id: string, options?: CallOptions): Promise<PrincipalAccess>;
/** Change what a principal is allowed to do. All bindings that are not revoked get exactly one of an access role and permissions, in one transaction. API keys keep theirs. Needs principals.write. `PUT /api/v1/principals/{id}/access` */
setAccess(id: string, body: PrincipalAccessRequest, options: CallOptions & Matched): Promise<PrincipalAccess>;
/** List the identities bound to a principal, newest first, including revoked bindings. Needs principals.read. `GET /api/v1/principals/{id}/iam-bindings` */
listIamBindings(id: string, options?: CallOptions): Paged<IamBindingPage, IamBinding>;
/** Bind an identity to a principal. The binding gets exactly one of an access role and permissions. If the tenant has already bound the identity, the binding is moved to this principal: its permissions are replaced, and it is active again. 201 for a new binding, else 200. Needs principals.write. `POST /api/v1/principals/{id}/iam-bindings` */
createIamBinding(id: string, body: IamBindingRequest, options?: CallOptions): Promise<IamBinding>;
/** Create an API key for a principal. The key is shown in this response only; a repeated response has null. Keys are accepted while CP_LEGACY_API_KEYS_ENABLED is set. Needs principals.write. `POST /api/v1/principals/{id}/api-keys` */
createApiKey(id: string, body: ApiKeyRequest, options?: CallOptions): Promise<IssuedApiKey>;
}

export interface ToolsApi {
/** List the tools that the caller has, newest first. Tools are the skills that are assigned to the caller and not disabled. `query` has up to 8 words, which name or description must all contain. A tool that the session cannot call has `visible` false. The ETag changes with the catalog and with the permitted tools; a matching If-None-Match returns 304. Needs tasks.read. `GET /api/v1/tools` */
list(query?: {
query?: string;
/** A run of the caller: limits the tools to those that its projects and its handle allow. */
runId?: Uuid;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ToolPage, Tool>;
/** Read a tool with the schema of its inputs. A name alone selects the newest active version, or, if none is active, the newest. Properties of the schema that are named like a secret are omitted, and listed. Needs tasks.read. `GET /api/v1/tools/{ref}` */
get(ref: string, query?: {
/** A run of the caller: limits the tools to those that its projects and its handle allow. */
runId?: Uuid;
}, options?: CallOptions): Promise<ToolDetail>;
}

export interface SkillInvocationsApi {
/** Claim the oldest pending call that the executor can execute. Returns 204 when no call matches. The lease is `leaseSeconds`, or by default the timeout of the contract plus 30 s, from 10 s to 3600 s. A queue never delays executors of other queues. A call that has lost its basis is cancelled instead of returned. A person whose bindings grant `members` only gets calls of visible workspaces and of the tenant itself. A call that verifies a task is not offered to principals that worked on the task, nor to an agent or service that requested its completion; claiming it by id returns 403 `not_eligible`. Needs skills.execute. `POST /api/v1/skill-invocations:claim` */
claim(body: SkillInvocationClaim, options?: CallOptions): Promise<ClaimedSkillInvocation>;
/** Read a call; for its requester, its executor, and all who execute skills. Needs skills.invoke or skills.execute. `GET /api/v1/skill-invocations/{id}` */
get(id: string, options?: CallOptions): Promise<SkillInvocation>;
/** Extend a call's lease. The lease ends at most twice the timeout of the contract plus 30 s after the start of the attempt. Needs skills.execute. `POST /api/v1/skill-invocations/{id}:heartbeat` */
heartbeat(id: string, body: SkillInvocationHeartbeat, options?: CallOptions): Promise<SkillInvocation>;
/** Complete a call with its output. An output that violates the contract also returns 200: the call has then failed with `output_contract_violation`, and `error.details` contains `rejectedOutput` up to 64 KiB, otherwise `rejectedOutputBytes`. The result of a call for a task is recorded as an artifact of type `skill_result`. Needs skills.execute. `POST /api/v1/skill-invocations/{id}:complete` */
complete(id: string, body: SkillInvocationResult, options?: CallOptions): Promise<SkillInvocation>;
/** Report that an attempt at a call failed. A retryable failure is retried after the contract's delay, up to its maximum number of attempts. Needs skills.execute. `POST /api/v1/skill-invocations/{id}:fail` */
fail(id: string, body: SkillInvocationFailure, options?: CallOptions): Promise<SkillInvocation>;
/** Cancel a call; for its requester, and with org.manage. `POST /api/v1/skill-invocations/{id}:cancel` */
cancel(id: string, body?: SkillInvocationCancel, options?: CallOptions): Promise<SkillInvocation>;
}

export interface PackagesApi {
/** Record the package that installed objects belong to. The caller also needs the permission for each kind. The link applies to all versions of an object, later ones included. An object of another package is transferred to this one. Needs packages.plan. `POST /api/v1/packages:record` */
record(body: PackageRecord, options?: CallOptions): Promise<RecordedPackage>;
/** Plan the changes that a package version would make. Nothing is written. Removing a document retires its object. A field that a person has changed since the last apply is preserved, unless `overwriteConsole` is true. `renames` gives objects new keys: a rule keeps its history; an object of another kind is created again with the changes that people made to it, and the old one is retired; agents cannot be renamed. Instances of a process continue with the version that they started with, unless the `migrations` of the new version have `migrate`: then `deadlines` lists the deadlines that would move, among the 200 newest instances of each process, for a caller with processes.read. `behaviour` counts the newest instances of a process that would take another path, for a caller with processes.read and a package without errors. A version changes at most 100 objects. At most one plan or apply runs at a time per tenant, and two per server process; up to 16 calls per tenant wait for at most 10 s. Needs packages.plan. `POST /api/v1/packages:plan` */
plan(body: PackagePlanRequest, options?: CallOptions): Promise<PackagePlan>;
/** Apply the plan of a package in one transaction. The caller also needs the permission for each kind of object that the package changes. `plan_stale` means that the package, or an object that it changes, has changed since the plan: plan again. Other refusals have the codes of the operations for each kind, or are listed among the problems of `invalid_package`. Needs packages.plan. `POST /api/v1/packages:apply` */
apply(body: PackageApplication, options?: CallOptions): Promise<AppliedPackage>;
/** Check a package and run its tests. The tests are the documents of kind `Test` in its files and in `tests`. They run processes, rules and task types without effects and with their own clock. Nothing is written. A test has 2 s of engine time, and a call 10 s: tests that have not started by then end as `error`, and so do tests that use a feature that is not simulated. At most one call runs at a time per tenant, and two per server process; up to four calls per tenant wait for at most 10 s. Needs packages.test. `POST /api/v1/packages:test` */
test(body: PackageTestRequest, options?: CallOptions & { query?: {
checkOnly?: boolean;
} }): Promise<PackageTestReport>;
/** Read the settings of a package, their schema and the effective values. Needs packages.settings.read. `GET /api/v1/packages/{key}/settings` */
getSettings(key: string, options?: CallOptions): Promise<PackageSettings>;
/** Replace the settings of a package. The values must match the schema of the package. A string whose schema has `x-ref` refers to an object of the tenant: a principal, workspace or project by its id, a role by its slug, a capability or skill by its name, a taskType, artifactType or calendar by its key. Values equal to the current ones create no version. Needs packages.settings.manage. `PUT /api/v1/packages/{key}/settings` */
setSettings(key: string, body: PackageSettingsChange, options: CallOptions & Matched): Promise<PackageSettings>;
/** List the versions of the settings of a package, newest first. Needs packages.settings.read. `GET /api/v1/packages/{key}/settings/versions` */
listSettingsVersions(key: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<PackageSettingsVersionPage, PackageSettingsVersion>;
}

export interface PackageSettingsApi {
/** List the packages that have settings, sorted by key. Returns the whole list. Needs packages.settings.read. `GET /api/v1/package-settings` */
list(query?: {
/** Has no effect: settings have a single title. */
locale?: string;
}, options?: CallOptions): Paged<PackageSettingsItemPage, PackageSettingsItem>;
}

export interface ViewsApi {
/** List the views that packages have published, by their keys. The list is complete: a tenant has at most 1,000 views. `GET /api/v1/views` */
list(query?: {
/** The language of the titles, such as `de`. */
locale?: string;
/** Only objects that this package installed. */
package?: string;
}, options?: CallOptions): Paged<ListedViewPage, ListedView>;
/** Read a view: its blocks, and the filters and sorts of each. `GET /api/v1/views/{key}` */
get(key: string, options?: CallOptions): Promise<View>;
/** Read the rows of a block of a view. The caller needs the permission for the list of the source: `tasks.read` for tasks, runs and claims, `skills.execute` for invocations, otherwise that of the same name; the rows are those that the list would show. At most 20,000 rows are scanned, those that a filter with `eq` or `in` finds by an index, or the newest until the page is full; a query that would scan more is refused. Rows without a value come last. A value of another type, a missing parameter and a parameter that the block does not declare return 422 `validation_error`. With external authorization per row, a page may be short and still have a cursor; after 4,000 consecutive hidden rows, the query is refused. `POST /api/v1/views/{key}:query` */
query(key: string, body: ViewQuery, options?: CallOptions): Paged<ViewRows, Record<string, string | number | boolean | null>>;
}

export interface AgentsApi {
/** Publish a revision of an agent. The first revision of a key creates the agent. Returns 201 for a new revision, or 200 when the current one is equal apart from `state` and `placement.replicas`, which are applied in both cases. The binding and the roles of a linked agent are updated in the same transaction. A caller can only grant an agent rights that it has: roles, capabilities and skills need org.manage, connections need connections.manage. For an existing agent the caller also needs the permissions that the agent keeps regardless of the revision: the permissions of its API keys, org.manage if roles, capabilities or skills were assigned to it directly, and agents.secrets.manage if the revision names stored secrets. A caller that sees only its own workspaces cannot add permissions to a linked agent. Needs agents.manage. `POST /api/v1/agents` */
publish(body: AgentRequest, options?: CallOptions): Promise<Agent>;
/** List agents, newest first. Needs agents.read. `GET /api/v1/agents` */
list(query?: {
status?: string;
state?: string;
workspaceId?: Uuid;
/** Adds the reported status of each agent. */
include?: "status";
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ListedAgentPage, ListedAgent>;
/** Preview what publishing would change, without writing anything. Needs agents.manage. `POST /api/v1/agents:validate` */
validate(body: AgentRequest, options?: CallOptions): Promise<AgentValidation>;
/** Read the calling agent. Its runs start with `revision.id` as their `agentRevisionId`. Requires no permission; returns 404 for a caller that is not an agent of the registry, whose runs have no `agentRevisionId`. `GET /api/v1/agents/me` */
getOwn(options?: CallOptions): Promise<OwnAgent>;
/** Read an agent with its current or another revision. Needs agents.read. `GET /api/v1/agents/{key}` */
get(key: string, options?: CallOptions): Promise<Agent>;
/** List the revisions of an agent, newest first. A page ends early once its specs reach 4 MiB; `nextCursor` continues it. `changedFields` lists the differences from the previous revision. Needs agents.read. `GET /api/v1/agents/{key}/revisions` */
listRevisions(key: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ListedAgentRevisionPage, ListedAgentRevision>;
/** Set whether an agent runs, and its number of replicas. Values equal to the stored ones write nothing. An agent without a placement has no replicas. Needs agents.manage. `PATCH /api/v1/agents/{key}/state` */
changeState(key: string, body?: AgentStateChange, options?: CallOptions): Promise<Agent>;
/** Retire an agent permanently. Disables its principal, revokes its bindings, closes its sessions, releases its live claims and deletes its secrets. Its key is never reused. Retiring it again changes nothing. Needs agents.manage. `POST /api/v1/agents/{key}:retire` */
retire(key: string, body: AgentRetirement, options?: CallOptions): Promise<Agent>;
/** Link an identity to an agent. Turns the agent into a principal with the permissions of its spec. Linking the same identity again changes nothing, except that it readmits a revoked one. The caller must hold the permissions of the agent, or be the service that published its current revision. Needs agents.status.write. `PUT /api/v1/agents/{key}/identity` */
linkIdentity(key: string, body: AgentIdentity, options?: CallOptions): Promise<Agent>;
/** Replace the identity of a service agent. Its principal does not change; the previous identity is no longer admitted. Needs agents.manage. `POST /api/v1/agents/{key}/identity:replace` */
replaceIdentity(key: string, body: AgentIdentityReplacement, options?: CallOptions): Promise<Agent>;
/** Report the status of an agent. Reports may arrive in any order; one that was observed before the stored report is refused. `agent.status_changed` is written when the phase, reason, node or revision has changed. Needs agents.status.write. `PUT /api/v1/agents/{key}/status` */
reportStatus(key: string, body: AgentStatusReport, options?: CallOptions): Promise<AgentStatus>;
/** Read the status of an agent, and the time of its last sign of life. Needs agents.read. `GET /api/v1/agents/{key}/status` */
getStatus(key: string, options?: CallOptions): Promise<AgentStatus>;
/** Set an agent's secret. The value goes to the secret store and is never returned. Returns 201 for a new name, otherwise 200; with `If-None-Match: *` an existing name is refused. An agent has at most 100 secrets. Needs agents.secrets.manage. `PUT /api/v1/agents/{key}/secrets/{name}` */
setSecret(key: string, name: string, body: AgentSecretRequest, options?: CallOptions): Promise<AgentSecret>;
/** Delete an agent's secret. An external store deletes the value immediately or, while it is unavailable, as soon as it is available again. A retired agent has no secrets: retiring it deletes them all. Needs agents.secrets.manage. `DELETE /api/v1/agents/{key}/secrets/{name}` */
deleteSecret(key: string, name: string, options?: CallOptions): Promise<undefined>;
/** List the names of an agent's secrets, never their values. Needs agents.read. `GET /api/v1/agents/{key}/secrets` */
listSecrets(key: string, query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<AgentSecretPage, AgentSecret>;
/** List the connections in the spec of the calling agent, by key. `GET /api/v1/agents/me/connections` */
listOwnConnections(options?: CallOptions): Promise<OwnConnections>;
/** Read a connection in the spec of the calling agent. `GET /api/v1/agents/me/connections/{key}` */
getOwnConnection(key: string, options?: CallOptions): Promise<Connection>;
}

export interface IdentityAdministrationTokensApi {
/** Get a token for identity's administration of your tenant. For a person who is an administrator and has signed in with a passkey, or through a provider that states the time of the sign-in, within the last 300 seconds. The token lives until 300 seconds after that sign-in, and ends at once when the person signs out, is disabled or is no longer an administrator. Everything that is done with it is audited in identity under the person. Needs admin. `POST /api/v1/identity-administration-tokens` */
create(options?: CallOptions): Promise<IdentityAdministrationToken>;
}

export interface ConnectionsApi {
/** Create a connection, which is pending until a credential is set. Needs connections.manage. `POST /api/v1/connections` */
create(body: ConnectionRequest, options?: CallOptions): Promise<Connection>;
/** List connections, newest first. Needs connections.read. `GET /api/v1/connections` */
list(query?: {
type?: string;
status?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ConnectionPage, Connection>;
/** Read a connection. Needs connections.read. `GET /api/v1/connections/{key}` */
get(key: string, options?: CallOptions): Promise<UsedConnection>;
/** Change a connection. Settings are validated against the version of the type that the connection then has. Needs connections.manage. `PATCH /api/v1/connections/{key}` */
update(key: string, body: ConnectionChange, options: CallOptions & Matched): Promise<Connection>;
/** Report whether the other system still accepts a connection. Only for agents whose spec contains the connection; all others get `connection_not_assigned`. A report that was checked before the last one, or before the credential was set, is refused. `connection.status_changed` is written when the connection has expired. Needs connections.status.write. `PUT /api/v1/connections/{key}/status` */
reportStatus(key: string, body: ConnectionReport, options?: CallOptions): Promise<Connection>;
/** Create the URL at which a person authorizes a connection with OAuth. The address works once, until `expiresAt`; requesting another one voids it. Providers call back at CP_OAUTH_REDIRECT_URI. Needs connections.manage. `POST /api/v1/connections/{key}:authorize` */
authorize(key: string, body?: ConnectionAuthorizationRequest, options?: CallOptions): Promise<ConnectionAuthorization>;
/** Connect with a token. Needs connections.manage. `PUT /api/v1/connections/{key}/token` */
putToken(key: string, body: ConnectionToken, options?: CallOptions): Promise<Connection>;
/** Revoke a connection and delete its credential. The credential is deleted first. Revoking it again changes nothing. A revoked connection may be connected again. Needs connections.manage. `POST /api/v1/connections/{key}:revoke` */
revoke(key: string, body?: ConnectionRevocation, options?: CallOptions): Promise<Connection>;
}

export interface ConnectionTypesApi {
/** Publish a version of a connection type. A connection type describes how to connect to a family of systems. Versions never change: returns 200 when this version already has the same content, otherwise 201. `invalid_connection_type` contains the field. Needs connections.manage. `POST /api/v1/connection-types` */
publish(body: ConnectionTypeRequest, options?: CallOptions): Promise<ConnectionType>;
/** List versions of connection types, newest first. Needs connections.read. `GET /api/v1/connection-types` */
list(query?: {
key?: string;
status?: string;
/** Only objects that this package installed. */
package?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ConnectionTypePage, ConnectionType>;
/** Read a version of a connection type. Needs connections.read. `GET /api/v1/connection-types/{key}` */
get(key: string, options?: CallOptions): Promise<ConnectionType>;
/** Deprecate or disable a version of a connection type. A deprecated version serves its existing connections but accepts no new ones. A disabled version no longer allows a connection with OAuth. Needs connections.manage. `PATCH /api/v1/connection-types/{key}` */
update(key: string, body: ConnectionTypeChange, options: CallOptions & Matched): Promise<ConnectionType>;
/** Set the client application of a connection type at its provider. The secret is sent only to the scheme, host and port of the token address for which it was entered. Needs connections.manage. `PUT /api/v1/connection-types/{key}/oauth-app` */
putOauthApp(key: string, body: OauthAppRequest, options?: CallOptions): Promise<OauthApp>;
/** Read the client application of a connection type, never its secret. Needs connections.read. `GET /api/v1/connection-types/{key}/oauth-app` */
getOauthApp(key: string, options?: CallOptions): Promise<OauthApp>;
}

export interface NotificationsApi {
/** Read how you are notified, and through which channels this installation sends. `GET /api/v1/notifications/preferences` */
getPreferences(options?: CallOptions): Promise<NotificationPreferences>;
/** Replace how you are notified. Anything missing gets its default. Sending the same preferences again changes nothing. `PUT /api/v1/notifications/preferences` */
putPreferences(body: NotificationPreferencesChange, options: CallOptions & Matched): Promise<NotificationPreferences>;
/** Send the link of an invitation by e-mail to the invited person. The worker sends it within a day or not at all; until then the link is stored encrypted. The link leads to the console at CP_PUBLIC_URL. A newer link replaces one that has not been sent yet. Needs principals.write. `POST /api/v1/notifications/invitation-mails` */
sendInvitationMail(body: InvitationMailRequest, options?: CallOptions): Promise<InvitationMail>;
/** Set the incoming webhook of Slack through which you are notified. It replaces the previous one. The address is stored in the secret store and never returned. `PUT /api/v1/notifications/slack-webhook` */
putSlackWebhook(body: SlackWebhookRequest, options?: CallOptions): Promise<SlackWebhook>;
/** Remove the webhook through which you are notified. If there is none, nothing changes. `DELETE /api/v1/notifications/slack-webhook` */
removeSlackWebhook(options?: CallOptions): Promise<undefined>;
/** Read which notifications the tenant's Slack channel gets. Needs connections.read. `GET /api/v1/notifications/slack-channel` */
getSlackChannel(options?: CallOptions): Promise<SlackChannel>;
/** Set the incoming webhook of the tenant's Slack channel. The channel gets the titles of all tasks and decisions of these kinds, including those that its readers cannot see here. Needs connections.manage. `PUT /api/v1/notifications/slack-channel` */
putSlackChannel(body: SlackChannelRequest, options?: CallOptions): Promise<SlackChannel>;
/** Remove the webhook of the tenant's Slack channel. If there is none, nothing changes. Needs connections.manage. `DELETE /api/v1/notifications/slack-channel` */
removeSlackChannel(options?: CallOptions): Promise<undefined>;
/** Show the page that unsubscribes from the e-mails of one kind. Needs no credential, and changes nothing, because programs also open links in e-mails. `GET /api/v1/notifications/unsubscribe` */
showUnsubscribe(query?: {
/** From the link in an e-mail. */
token?: string;
}, options?: CallOptions): Promise<string>;
/** Unsubscribe from the e-mails of one kind, through the link in an e-mail (RFC 8058). Needs no credential: the token is signed. The body is ignored, in whatever form a program sends it. `POST /api/v1/notifications/unsubscribe` */
unsubscribe(body: RawBody, options?: CallOptions & { query?: {
/** From the link in an e-mail. */
token?: string;
} }): Promise<string>;
}

export interface PeopleApi {
/** List people, agents and services with their access and their identities, newest first. Needs principals.read. `GET /api/v1/people` */
list(query?: {
kind?: string;
/** Words, case-insensitive; each must be a prefix of a word in the display name or e-mail address. At most 200 characters and 10 words. Blank: all. */
q?: string;
/** The key of an access role that one of their identities has. */
accessRole?: string;
/** Ids of principals in identity, separated by commas, at most 100: those to whom one of these is or was bound. */
iamPrincipalIds?: string;
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<PersonPage, Person>;
/** Read a person, an agent or a service with its access and its identities. Needs principals.read. `GET /api/v1/people/{id}` */
get(id: string, options?: CallOptions): Promise<Person>;
}

export interface PermissionsApi {
/** List all permissions, with what each allows in words. Needs principals.read. `GET /api/v1/permissions` */
list(options?: CallOptions): Paged<PermissionPage, Permission>;
}

export interface AccessRolesApi {
/** List access roles, built-in ones first, with what each allows in words. Needs principals.read. `GET /api/v1/access-roles` */
list(options?: CallOptions): Paged<AccessRolePage, AccessRole>;
/** Create an access role. A tenant has at most 100 of its own. Nobody can grant permissions that they lack. Needs principals.write. `POST /api/v1/access-roles` */
create(body: AccessRoleRequest, options?: CallOptions): Promise<AccessRole>;
/** Read an access role. Needs principals.read. `GET /api/v1/access-roles/{id}` */
get(id: string, options?: CallOptions): Promise<AccessRole>;
/** Change an access role, and with it everybody who has it. The bindings that name it get its permissions in the same transaction. The caller needs its current and its new permissions. Needs principals.write. `PATCH /api/v1/access-roles/{id}` */
update(id: string, body: AccessRoleChange, options: CallOptions & Matched): Promise<AccessRole>;
/** Delete an access role that nobody has. Needs principals.write. `DELETE /api/v1/access-roles/{id}` */
delete(id: string, options?: CallOptions): Promise<undefined>;
}

export interface AdmissionsApi {
/** Admit a person: create their principal and bind their identity with an access role, or do neither. For somebody with a sign-in request in identity, before `…/sign-in-requests/{id}:admit` there. Nobody can grant permissions that they lack. 201 for a new one; for an identity that already has the same role, 200. Needs principals.write. `POST /api/v1/admissions` */
admitPerson(body: AdmissionRequest, options?: CallOptions): Promise<Admission>;
/** Be admitted through a statement from identity, if a rule of the tenant allows it. Needs no credential: the statement is signed, and bound to one person and tenant. It admits an identity once; 201 for a new one, 200 for one that is already admitted. `POST /api/v1/admissions:self` */
admitSelf(body: SelfAdmissionRequest, options?: CallOptions): Promise<Admission>;
}

export interface AdmissionRulesApi {
/** List the identity providers that may admit people automatically, with their roles. Needs principals.read. `GET /api/v1/admission-rules` */
list(options?: CallOptions): Paged<AdmissionRulePage, AdmissionRule>;
/** Allow an identity provider to admit unknown people automatically, with an access role. The rule is for the provider of the caller's tenant in identity, where `admit` selects the people and names the same role. A tenant has at most 50 rules. Needs principals.write. `PUT /api/v1/admission-rules/{identityProvider}` */
set(identityProvider: string, body: AdmissionRuleRequest, options?: CallOptions): Promise<AdmissionRule>;
/** Stop allowing an identity provider to admit people automatically. People whom it admitted keep their access. If there is no rule, nothing changes. Needs principals.write. `DELETE /api/v1/admission-rules/{identityProvider}` */
remove(identityProvider: string, options?: CallOptions): Promise<undefined>;
}

export interface IamBindingsApi {
/** Revoke the binding of an identity. Revoking a revoked binding changes nothing. Binding the identity again reactivates it. Needs principals.write. `POST /api/v1/iam-bindings/{id}:revoke` */
revoke(id: string, options?: CallOptions): Promise<IamBinding>;
}

export interface ApiKeysApi {
/** Revoke a key. Revoking a revoked key changes nothing. Needs principals.write. `POST /api/v1/api-keys/{id}:revoke` */
revoke(id: string, options?: CallOptions): Promise<ApiKey>;
}

export interface DelegationsApi {
/** Create a delegation from a human to an agent. Only the delegating human and humans with `admin` may do this. Other callers get 403 `permission_denied`, even with `delegations.manage`. Needs delegations.manage. `POST /api/v1/delegations` */
create(body: DelegationRequest, options?: CallOptions): Promise<Delegation>;
/** List delegations, newest first. Needs delegations.manage. `GET /api/v1/delegations` */
list(query?: {
/** The maximum number of items. */
limit?: number;
/** The `nextCursor` of the previous page; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<DelegationPage, Delegation>;
/** Revoke a delegation. Its sessions end at their next use. Revoking a revoked delegation changes nothing. Needs delegations.manage. `POST /api/v1/delegations/{id}:revoke` */
revoke(id: string, options?: CallOptions): Promise<Delegation>;
}

export interface AuthzApi {
/** Check which actions the caller may perform. Checks the caller's own rights; nothing is written. The results are in the order of the checks. Each contains the permission, who grants it and what narrows it. `POST /api/v1/authz:check` */
check(body: ActionChecks, options?: CallOptions): Promise<ActionCheckResults>;
}

export interface BootstrapApi {
/** Create the installation: its tenant, its administrator and a first key. Works once, with the bootstrap secret. Concurrent requests create one tenant. `POST /api/v1/bootstrap` */
bootstrap(body: BootstrapRequest, options?: CallOptions): Promise<BootstrappedTenant>;
}

/** Every operation of coordination, by its subject. */
export interface CoordinationApi {
readonly tasks: TasksApi;
readonly sessions: SessionsApi;
readonly harness: HarnessApi;
readonly work: WorkApi;
readonly claims: ClaimsApi;
readonly runs: RunsApi;
readonly childHandles: ChildHandlesApi;
readonly approvals: ApprovalsApi;
readonly artifacts: ArtifactsApi;
readonly artifactContents: ArtifactContentsApi;
readonly artifactTypes: ArtifactTypesApi;
readonly events: EventsApi;
readonly eventTypes: EventTypesApi;
readonly taskTypes: TaskTypesApi;
readonly observations: ObservationsApi;
readonly context: ContextApi;
readonly contextPacks: ContextPacksApi;
readonly knowledge: KnowledgeApi;
readonly workspaces: WorkspacesApi;
readonly externalReferences: ExternalReferencesApi;
readonly projects: ProjectsApi;
readonly goals: GoalsApi;
readonly rules: RulesApi;
readonly ruleEvaluations: RuleEvaluationsApi;
readonly processDefinitions: ProcessDefinitionsApi;
readonly processInstances: ProcessInstancesApi;
readonly statistics: StatisticsApi;
readonly workspaceTypes: WorkspaceTypesApi;
readonly calendars: CalendarsApi;
readonly projectTemplates: ProjectTemplatesApi;
readonly operations: OperationsApi;
readonly roles: RolesApi;
readonly capabilities: CapabilitiesApi;
readonly skills: SkillsApi;
readonly principals: PrincipalsApi;
readonly tools: ToolsApi;
readonly skillInvocations: SkillInvocationsApi;
readonly packages: PackagesApi;
readonly packageSettings: PackageSettingsApi;
readonly views: ViewsApi;
readonly agents: AgentsApi;
readonly identityAdministrationTokens: IdentityAdministrationTokensApi;
readonly connections: ConnectionsApi;
readonly connectionTypes: ConnectionTypesApi;
readonly notifications: NotificationsApi;
readonly people: PeopleApi;
readonly permissions: PermissionsApi;
readonly accessRoles: AccessRolesApi;
readonly admissions: AdmissionsApi;
readonly admissionRules: AdmissionRulesApi;
readonly iamBindings: IamBindingsApi;
readonly apiKeys: ApiKeysApi;
readonly delegations: DelegationsApi;
readonly authz: AuthzApi;
readonly bootstrap: BootstrapApi;
}
