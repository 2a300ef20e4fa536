// GENERATED from the OpenAPI documents by: npm run generate

import type { CallOptions, Matched, Paged, RawAnswer, RawBody } from '../call.ts';
import type {
ActionCheckResults,
ActionChecks,
AdapterRebuild,
AdapterRedrive,
AdapterState,
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
IamBinding,
IamBindingPage,
IamBindingRequest,
Instant,
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
Principal,
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
UsedConnection,
Uuid,
View,
ViewQuery,
ViewRows,
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
/** Make a task. A `parentTask` with 1,000 relations takes no more: `invalid_relation`. Needs tasks.write. `POST /api/v1/tasks` */
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
/** startDate or dueDate; without it the newest come first. */
sort?: string;
/** Words that each occur in the title, the description or the public id; 200 characters, 10 words. */
q?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskPage, Task>;
/** Read a task. Needs tasks.read. `GET /api/v1/tasks/{ref}` */
get(ref: string, options?: CallOptions): Promise<Task>;
/** Change a task. Whoever holds the live claim presents claimId and fencingToken. Values that are stored already change nothing. A change of title, description, acceptance, or of a custom field that the outcome of an approved gate reads requests the approval again, unless the caller may decide it. Only whoever added a check or a requirement, or a person, removes or changes it or empties a field that its condition reads; nobody who worked on the task does. Needs tasks.write. `PATCH /api/v1/tasks/{ref}` */
update(ref: string, body: TaskChange, options: CallOptions & Matched): Promise<Task>;
/** Complete a task. A task with checks keeps its status until a verification attempt has passed; a second call answers the task as it is. A task of a process step with a form is completed only while its custom fields satisfy the form (`/tasks/{ref}/form`). Needs tasks.write. `POST /api/v1/tasks/{ref}:complete` */
complete(ref: string, body: TaskCompletion, options: CallOptions & Matched): Promise<Task>;
/** Get the form of the process step that a task belongs to. The answers are custom fields of the task. A completion whose answers do not satisfy the form is refused with `custom_fields_invalid`. For a task that no process filed, `process` and `form` are null. Needs tasks.read. `GET /api/v1/tasks/{ref}/form` */
getForm(ref: string, options?: CallOptions): Promise<TaskForm>;
/** Where a task can go from its status, and by which call. Needs tasks.read. `GET /api/v1/tasks/{ref}/transitions` */
listTransitions(ref: string, options?: CallOptions): Promise<TaskTransitions>;
/** Whether a task can be claimed now, and everything that stands in the way. Of prerequisites in workspaces out of the caller’s sight, `blockedOutOfSight` says only how many there are. Needs tasks.read. `GET /api/v1/tasks/{ref}/claimability` */
getClaimability(ref: string, options?: CallOptions): Promise<TaskClaimability>;
/** The roles, capabilities and skills that an executor of the task must have. Needs tasks.read. `GET /api/v1/tasks/{ref}/requirements` */
getRequirements(ref: string, options?: CallOptions): Promise<TaskRequirements>;
/** End the pause of a task after failed attempts. Ends the count of failed attempts in a row, too. A `startDate` in the future and a blocked status still hold the task back: change those by PATCH. Without a pause it changes nothing. Needs tasks.write. `POST /api/v1/tasks/{ref}:make-available` */
makeAvailable(ref: string, options?: CallOptions): Promise<Task>;
/** List the attempts to verify that a task is done, newest first. Needs tasks.read. `GET /api/v1/tasks/{ref}/verifications` */
listVerifications(ref: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskVerificationPage, TaskVerification>;
/** Take an exclusive, expiring lease on a task. Needs tasks.claim. `POST /api/v1/tasks/{ref}:claim` */
claim(ref: string, body: ClaimRequest, options?: CallOptions): Promise<Claim>;
/** Start an attempt to execute a claimed task. Needs tasks.claim. `POST /api/v1/tasks/{ref}:start-run` */
startRun(ref: string, body: RunRequest, options?: CallOptions): Promise<Run>;
/** What all attempts at a task have used: tokens, and money by currency. With `includeDescendants` also those at its subtasks and at the tasks spawned by it. Needs tasks.read. `GET /api/v1/tasks/{ref}/usage` */
getUsage(ref: string, query?: {
includeDescendants?: boolean;
}, options?: CallOptions): Promise<Usage>;
/** Whom a request for approval of a task can be addressed to. People with the permission `approvals.decide` who can see the task, and the roles that they hold there. At most 20 of each. With CP_AUTHZ_MODE=policy, these are only the people whose binding has the permission; `hasMore` is always true. Needs approvals.manage. `GET /api/v1/tasks/{ref}/deciders` */
listDeciders(ref: string, options?: CallOptions): Promise<EligibleDeciders>;
/** Say something about a task. It may be about one run or one artifact of the task. Closed tasks take comments too. Needs tasks.write. `POST /api/v1/tasks/{ref}/comments` */
createComment(ref: string, body: NewTaskComment, options?: CallOptions): Promise<TaskComment>;
/** List the comments of a task, oldest first. Needs tasks.read. `GET /api/v1/tasks/{ref}/comments` */
listComments(ref: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskCommentPage, TaskComment>;
/** Read a comment. Needs tasks.read. `GET /api/v1/tasks/{ref}/comments/{id}` */
getComment(ref: string, id: string, options?: CallOptions): Promise<TaskComment>;
/** Replace the text of your own comment. The text that it has already changes nothing. Needs tasks.write. `PATCH /api/v1/tasks/{ref}/comments/{id}` */
updateComment(ref: string, id: string, body: TaskCommentChange, options: CallOptions & Matched): Promise<TaskComment>;
/** List the texts that edits of a comment replaced, oldest first. Needs tasks.read. `GET /api/v1/tasks/{ref}/comments/{id}/revisions` */
listCommentRevisions(ref: string, id: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskCommentRevisionPage, TaskCommentRevision>;
/** Give a task another version of its type. Without a version the newest active one is meant. Nobody may be at work on the task, not even the caller. The version that it has already changes nothing. Approvals of the task are requested again, unless the caller may decide them. Only the publisher of the present version, or a person, may migrate to a version without its checks or required outputs; nobody who had a run of the task may. Needs task_types.manage. `POST /api/v1/tasks/{ref}:migrate-type` */
migrateType(ref: string, body: TypeMigration, options: CallOptions & Matched): Promise<Task>;
/** Relate a task to another. parent: this is a child of the other. blocks: this must end before the other. depends_on: this waits for the other. spawned_by: this came from the other; the first such relation is what $.spawnedBy reads. related_to: for people to know. A task has at most 1,000 relations, both directions together; one more at either end is refused by `invalid_relation` with `maxRelations`. Needs tasks.write. `POST /api/v1/tasks/{ref}/relations` */
createRelation(ref: string, body: TaskRelationRequest, options?: CallOptions): Promise<TaskRelation>;
/** List the relations of a task in both directions, oldest first. All of them, not in pages: a task has at most 1,000. Those to tasks out of the caller’s sight are left out. Needs tasks.read. `GET /api/v1/tasks/{ref}/relations` */
listRelations(ref: string, options?: CallOptions): Paged<TaskRelationPage, TaskRelation>;
/** Remove a relation of a task, in either direction. spawned_by is removed by holders of task_types.manage only, because checks depend on it. blocks and depends_on are removed by whoever added them or by a person, and never by whoever works on the task that waits or had a run of it. Needs tasks.write. `DELETE /api/v1/tasks/{ref}/relations/{id}` */
deleteRelation(ref: string, id: string, options?: CallOptions): Promise<undefined>;
}

export interface SessionsApi {
/** Open a session: the lease under which a harness claims tasks. Needs sessions.open. `POST /api/v1/sessions` */
open(body: SessionRequest, options?: CallOptions): Promise<Session>;
/** List sessions, newest first. A person whose bindings show `members` only sees their own sessions, and those whose claims (at most 1,000) and registered agent are all in visible workspaces. Needs sessions.manage. `GET /api/v1/sessions` */
list(query?: {
status?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<SessionPage, Session>;
/** Read a session. For its owner, or with `sessions.manage`. `GET /api/v1/sessions/{id}` */
get(id: string, options?: CallOptions): Promise<Session>;
/** Extend the lease of a session. For its owner, or with `sessions.manage`. Beat every third of the lease. Without `ttlSeconds` it is renewed by the length it was opened for. A lease found to be over is recorded, its claims are released, and the answer is `session_expired`. Needs sessions.open or sessions.manage. `POST /api/v1/sessions/{id}:heartbeat` */
heartbeat(id: string, body?: SessionHeartbeat, options?: CallOptions): Promise<Session>;
/** Close a session and release its claims. For its owner, or with `sessions.manage`. Closing a closed one changes nothing. Needs sessions.open or sessions.manage. `POST /api/v1/sessions/{id}:close` */
close(id: string, body?: SessionClose, options?: CallOptions): Promise<Session>;
}

export interface HarnessApi {
/** Find again, after a restart, what the caller holds and where its journal goes on. A running run without a live claim among `activeClaims` is an orphan: end it with `:fail` and the reason `restart_recovery`. `GET /api/v1/harness/context` */
getContext(query?: {
sessionId?: Uuid;
}, options?: CallOptions): Promise<HarnessContext>;
}

export interface WorkApi {
/** List the tasks that the caller could claim now: its own first, then by priority and age. Tasks that are assigned to the caller come first, then those that are unassigned, each the most urgent first, then the oldest. Those of others are left out unless includeAssigned is true. Tasks on hold, in a blocked status, and those before their `availableAt` are left out. Advisory: whether a task is granted is decided by :claim. Needs tasks.read. `GET /api/v1/work/available` */
listAvailable(query?: {
workspaceId?: Uuid;
includeDescendants?: boolean;
projectId?: Uuid;
includeSubprojects?: boolean;
assigneeId?: Uuid;
/** Overrides assigneeId. */
assignedToMe?: boolean;
/** With `true`, also tasks that are assigned to others: all by priority, then age. */
includeAssigned?: boolean;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskPage, Task>;
/** Claim the next tasks that the caller may do: its own first, then by priority and age. Tasks that are assigned to the caller come first, then those that are unassigned; those of others only with includeAssigned. Rivals share the work: nobody waits for another, and nobody gets what another has. Children of one parent have their turn a second apart, so none takes all while others wait. Empty when there is nothing to do. Needs tasks.claim. `POST /api/v1/work:claim-next` */
claimNext(body: ClaimNextRequest, options?: CallOptions): Promise<NextWork>;
}

export interface ClaimsApi {
/** List claims, newest first. Needs tasks.read. `GET /api/v1/claims` */
list(query?: {
taskId?: Uuid;
sessionId?: Uuid;
status?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ClaimPage, Claim>;
/** Read a claim. Needs tasks.read. `GET /api/v1/claims/{id}` */
get(id: string, options?: CallOptions): Promise<Claim>;
/** Extend or shorten the lease of a claim. For its holder, or with `claims.manage`. Beat every third of the lease. Without `ttlSeconds` it is renewed by the length it was taken for. Needs tasks.claim or claims.manage. `POST /api/v1/claims/{id}:heartbeat` */
heartbeat(id: string, body?: ClaimHeartbeat, options?: CallOptions): Promise<Claim>;
/** Whether a claim and its fencing token protect the task now. For gateways outside (git, deployments) that must refuse a stale holder. `superseded` when the token is not that of the last claim of the task. Needs tasks.read. `POST /api/v1/claims/{id}:check` */
check(id: string, body: ClaimCheckRequest, options?: CallOptions): Promise<ClaimCheck>;
/** Give a task back. For its holder, or with `claims.manage`. A claim that ended before stays as it is. Needs tasks.claim or claims.manage. `POST /api/v1/claims/{id}:release` */
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
/** With `true`, only running ones that were silent for longer than `progressTimeoutSeconds` of their task type. */
stalled?: boolean;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RunPage, Run>;
/** Read a run. Needs tasks.read. `GET /api/v1/runs/{id}` */
get(id: string, options?: CallOptions): Promise<Run>;
/** End a run well, and complete its task. With `completeTask` false the task stays claimed. Only under the live claim of the run. Needs tasks.claim. `POST /api/v1/runs/{id}:succeed` */
succeed(id: string, body?: RunSuccess, options?: CallOptions): Promise<SucceededRun>;
/** End a run as failed. For its principal, or with `claims.manage`; it needs no live claim, and leaves the claim alone. While its claim is the last one of the task, the failure counts: the task is paused as `execution.retry` of its type says, and at least for `retryAfterSeconds`. After the last attempt it moves to a blocked status. A run that is given back without a failure is cancelled. Needs tasks.claim or claims.manage. `POST /api/v1/runs/{id}:fail` */
fail(id: string, body?: RunFailure, options?: CallOptions): Promise<Run>;
/** End a run as cancelled. For its principal, or with `claims.manage`; it needs no live claim, and leaves claim and task alone. Needs tasks.claim or claims.manage. `POST /api/v1/runs/{id}:cancel` */
cancel(id: string, body?: RunCancellation, options?: CallOptions): Promise<Run>;
/** Note how far a run has come, for whoever goes on after it. Only under the live claim of the run. `seq` counts from 1 without gaps. Needs tasks.claim. `POST /api/v1/runs/{id}/checkpoints` */
createCheckpoint(id: string, body: CheckpointRequest, options?: CallOptions): Promise<Checkpoint>;
/** List the checkpoints of a run, oldest first. Without `limit` and `cursor` the list comes whole, up to 10,000 entries and 4 MiB; what is beyond has a cursor. Needs tasks.read or tasks.claim. `GET /api/v1/runs/{id}/checkpoints` */
listCheckpoints(id: string, query?: {
/** How many items at most, 1 to 200. Without it and without a cursor the list comes whole. */
limit?: number;
/** The `nextCursor` of the page before. */
cursor?: string;
}, options?: CallOptions): Paged<CheckpointPage, Checkpoint>;
/** Record what the executor of a run did, and what it used. Only under the live claim of the run. `seq` counts from 1 without gaps. `metadata.capabilityMismatch` is the service's own: the protocol of the action's skill, where its session named others as `skills.protocol.*`. Needs tasks.claim. `POST /api/v1/runs/{id}/actions` */
createAction(id: string, body: RunActionRequest, options?: CallOptions): Promise<RunAction>;
/** List the actions of a run, oldest first. Without `limit` and `cursor` the list comes whole, up to 10,000 entries and 4 MiB; what is beyond has a cursor. Needs tasks.read or tasks.claim. `GET /api/v1/runs/{id}/actions` */
listActions(id: string, query?: {
/** How many items at most, 1 to 200. Without it and without a cursor the list comes whole. */
limit?: number;
/** The `nextCursor` of the page before. */
cursor?: string;
}, options?: CallOptions): Paged<RunActionPage, RunAction>;
/** Finish an action that was recorded as started. Only under the live claim of the run. Metadata and usage are added to what the action has. Needs tasks.claim. `POST /api/v1/runs/{id}/actions/{aid}:finish` */
finishAction(id: string, aid: string, body: RunActionResult, options?: CallOptions): Promise<RunAction>;
/** Read all that whoever works on a run, or goes on after it, needs to know. With the newest 50 artifacts, pending approvals, child handles and checkpoints (over all attempts at the task, up to 1 MiB), and the control messages that wait. Read the journal from `eventCursor` on to stay informed. Needs tasks.read. `GET /api/v1/runs/{id}/context` */
getContext(id: string, options?: CallOptions): Promise<RunContext>;
/** End a run for now, and free its task. Only under the live claim of the run. To go on, claim the task again and start a new run; a suspended one is over. Needs tasks.claim. `POST /api/v1/runs/{id}:suspend` */
suspend(id: string, body?: RunSuspension, options?: CallOptions): Promise<SuspendedRun>;
/** Leave a run to somebody else: a last checkpoint, and its task free. Only under the live claim of the run. An Idempotency-Key is recommended. Needs tasks.claim. `POST /api/v1/runs/{id}:handoff` */
handOff(id: string, body: RunHandoff, options?: CallOptions): Promise<HandedOffRun>;
/** Read the configuration that a run works under. The newest version unless said otherwise. Runs from before manifests were kept have none. Needs tasks.read. `GET /api/v1/runs/{id}/harness-manifest` */
getHarnessManifest(id: string, query?: {
version?: number;
}, options?: CallOptions): Promise<HarnessManifest>;
/** List the versions of the manifest of a run, oldest first. Without `limit` and `cursor` the list comes whole, up to 4 MiB; what is beyond has a cursor. Needs tasks.read. `GET /api/v1/runs/{id}/harness-manifests` */
listHarnessManifests(id: string, query?: {
/** How many items at most, 1 to 200. Without it and without a cursor the list comes whole. */
limit?: number;
/** The `nextCursor` of the page before. */
cursor?: string;
}, options?: CallOptions): Paged<HarnessManifestPage, HarnessManifest>;
/** Compile the manifest of a run again, with what the harness declares. Only under the live claim of the run. A section that is left out stays as it was; `projectPolicy` says what the projects above the task allow, from the first compilation on. 201 for a new version, 200 when nothing changed. Unknown fields are ignored. An Idempotency-Key is recommended. Needs tasks.claim. `POST /api/v1/runs/{id}/harness-manifest:compile` */
compileHarnessManifest(id: string, body: ManifestCompilation, options?: CallOptions): Promise<HarnessManifest>;
/** Add a remark to the manifest of a run. Only under the live claim of the run. The remarks of one version come to 256 KiB at most. Needs tasks.claim. `POST /api/v1/runs/{id}/harness-manifest/ephemeral` */
addManifestRemark(id: string, body: ManifestRemarkRequest, options?: CallOptions): Promise<ManifestRemark>;
/** Say something to a running run. For its principal, or with `claims.manage`. Its executor takes queue, steer, redirect and request_cancel in their order; force_cancel ends the run at once, and every run below it: those that it launched, and with `claims.manage` also those whose tasks were only related by `spawned_by`. The worker ends what is locked at that moment. Needs claims.manage or tasks.claim. `POST /api/v1/runs/{id}/control-messages` */
sendControlMessage(id: string, body: NewControlMessage, options?: CallOptions): Promise<ControlMessageResult>;
/** List what was said to a run, oldest first. The cursor of the last page can be used again: later messages follow it. Needs tasks.read. `GET /api/v1/runs/{id}/control-messages` */
listControlMessages(id: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ControlMessagePage, ControlMessage>;
/** Say what became of the next control message of a run. For the principal of the run, under its live claim. Needs tasks.claim. `POST /api/v1/runs/{id}/control-messages/{messageId}:acknowledge` */
acknowledgeControlMessage(id: string, messageId: string, body: ControlMessageAcknowledgement, options?: CallOptions): Promise<ControlMessageResult>;
/** Ask a running run to stop by itself. For its principal, or with `claims.manage`. Repeated, it changes nothing. Needs claims.manage or tasks.claim. `POST /api/v1/runs/{id}:request-cancel` */
requestCancel(id: string, body?: RunCancelRequest, options?: CallOptions): Promise<Run>;
/** Launch a child of a run: a task, and the handle to follow it by. For the principal of the run, under its live claim. A correlation id that the run used before is answered with its child. Rights that are left out of the grant are inherited; none can be added. A task with 1,000 relations takes no more: `invalid_relation`. Needs tasks.claim. `POST /api/v1/runs/{id}/child-handles` */
launchChild(id: string, body: NewChild, options?: CallOptions): Promise<LaunchedChild>;
/** List the children that a run launched, oldest first. With `active` those that are pending, running or suspended, or, if false, the others. Needs tasks.read. `GET /api/v1/runs/{id}/child-handles` */
listChildHandles(id: string, query?: {
active?: boolean;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ChildHandlePage, ChildHandle>;
/** Revoke a launch of a run. The same as POST /child-handles/{id}:revoke, for a handle of this run. Needs tasks.claim or claims.manage. `POST /api/v1/runs/{id}/child-handles/{handleId}:revoke` */
revokeChildHandle(id: string, handleId: string, body?: ChildHandleRevocation, options?: CallOptions): Promise<ChildHandleResult>;
}

export interface ChildHandlesApi {
/** Read a child handle, by its id or its token. Needs tasks.read. `GET /api/v1/child-handles/{idOrToken}` */
get(idOrToken: string, options?: CallOptions): Promise<ChildHandleResult>;
/** Revoke a launch. For the principal of the run that launched it, or with `claims.manage`. No run of the child starts any more; with `cancelChild` the one that runs is asked to stop. Repeated, it changes nothing. Needs tasks.claim or claims.manage. `POST /api/v1/child-handles/{id}:revoke` */
revoke(id: string, body?: ChildHandleRevocation, options?: CallOptions): Promise<ChildHandleResult>;
}

export interface ApprovalsApi {
/** Ask a person to approve. Asks one principal, or the holders of a role. A gate holds its task back: nobody can claim or complete it until the gate is decided or cancelled. The service records what the decider is shown as the subject (at most 64 KiB). Needs approvals.manage. `POST /api/v1/approvals` */
request(body?: ApprovalRequest, options?: CallOptions): Promise<Approval>;
/** List approvals, newest first. Needs approvals.read. `GET /api/v1/approvals` */
list(query?: {
status?: string;
taskId?: Uuid;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ListedApprovalPage, ListedApproval>;
/** Read an approval. Returns the recorded subject. If it has changed, `current` is the present subject and `changedFields` names what differs. Needs approvals.read. `GET /api/v1/approvals/{id}` */
get(id: string, options?: CallOptions): Promise<Approval>;
/** Approve. For the assigned person, or a person with the required role. A gate opens. If the subject has changed, the request needs `subjectDigest` with the digest of the present subject. Needs approvals.decide. `POST /api/v1/approvals/{id}:approve` */
approve(id: string, body?: ApprovalDecision, options?: CallOptions & Partial<Matched>): Promise<Approval>;
/** Reject. For whoever may approve it. A gate opens all the same, and its task stays open: what follows is for people to say. Needs approvals.decide. `POST /api/v1/approvals/{id}:reject` */
reject(id: string, body?: ApprovalDecision, options?: CallOptions & Partial<Matched>): Promise<Approval>;
/** Take a request for approval back. A gate opens. Somebody else's gate can be cancelled only by a person who may decide it. A request that a task type, rule, process or verification declares can be cancelled by such a person, or by a person with `claims.manage`. Cancelling twice changes nothing. Needs approvals.manage. `POST /api/v1/approvals/{id}:cancel` */
cancel(id: string, body?: ApprovalCancellation, options?: CallOptions): Promise<Approval>;
/** What a decision leads to, and how far that is. The task's type declares it. The worker does it in the name of the decider; while a task that it changes is claimed or held back, it waits. Needs approvals.read. `GET /api/v1/approvals/{id}/outcome` */
getOutcome(id: string, options?: CallOptions): Promise<ApprovalOutcome>;
/** Have what a decision leads to tried again. For the decider, or an administrator, once it has failed or hangs. What was done before stays done; the worker tries the rest. Needs approvals.decide. `POST /api/v1/approvals/{id}:replay-outcome` */
replayOutcome(id: string, options?: CallOptions): Promise<ApprovalOutcome>;
}

export interface ArtifactsApi {
/** Record a result; a revision is a new record that supersedes the older one. The types `verification` and `skill_result` are refused with `invalid_type`: they prove what the core found, and it alone records them. Needs artifacts.write. `POST /api/v1/artifacts` */
create(body: NewArtifact, options?: CallOptions): Promise<Artifact>;
/** List artifacts, newest first. Needs artifacts.read. `GET /api/v1/artifacts` */
list(query?: {
taskId?: Uuid;
runId?: Uuid;
workspaceId?: Uuid;
type?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ArtifactPage, Artifact>;
/** Read an artifact. With `forTask`, tasks.read suffices for an input of that task. Needs artifacts.read or tasks.read. `GET /api/v1/artifacts/{id}` */
get(id: string, query?: {
/** The id of the task, or its public id such as TASK-000042. */
forTask?: string;
}, options?: CallOptions): Promise<Artifact>;
/** Read the bytes of an artifact; the read is recorded. With `forTask`, tasks.read suffices for an input of that task. Needs artifacts.read or tasks.read. `GET /api/v1/artifacts/{id}/content` */
getContent(id: string, query?: {
/** The id of the task, or its public id such as TASK-000042. */
forTask?: string;
}, options?: CallOptions): Promise<RawAnswer>;
/** Delete the bytes of an artifact for good; its record stays. Needs admin. `POST /api/v1/artifacts/{id}:purge-content` */
purgeContent(id: string, body: PurgeRequest, options?: CallOptions): Promise<Artifact>;
}

export interface ArtifactContentsApi {
/** Upload the bytes of an artifact; name them in it by `contentRef`. The body is stored as it is, with its Content-Type. Without an artifact that names them, the bytes are deleted some time after `expiresAt`. Needs artifacts.write. `PUT /api/v1/artifact-contents` */
upload(body: RawBody, options?: CallOptions): Promise<ArtifactUpload>;
}

export interface ArtifactTypesApi {
/** Make the next version of an artifact type. Versions never change. Artifacts of a type that nobody has registered are not checked. Needs artifact_types.manage. `POST /api/v1/artifact-types` */
create(body: NewArtifactType, options?: CallOptions): Promise<ArtifactType>;
/** List artifact types, all versions, newest first. Needs artifact_types.read. `GET /api/v1/artifact-types` */
list(query?: {
key?: string;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ArtifactTypePage, ArtifactType>;
/** Read an artifact type. Needs artifact_types.read. `GET /api/v1/artifact-types/{ref}` */
get(ref: string, options?: CallOptions): Promise<ArtifactType>;
}

export interface EventsApi {
/** Read the journal by pages, in its order. Only stable events are delivered, so a cursor never skips what commits later. Delivery is at least once. The same events come as they happen by WebSocket at /events/ws. Needs events.read. `GET /api/v1/events` */
list(query?: {
/** Older consumers: a sequence. `cursor` goes before it. */
after?: string;
/** The page that ends just before this cursor. */
before?: string;
/** Of the items of the page only. */
order?: "asc" | "desc";
/** The newest events, this many at most. */
tail?: number;
entityType?: string;
entityId?: Uuid;
/** Only what this principal has done. */
actorId?: Uuid;
/** Prefixes of event types, 20 at most, repeated or separated by commas. */
types?: string | string[];
workspaceId?: Uuid;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<JournalEventPage, JournalEvent>;
}

export interface EventTypesApi {
/** Read which events the journal may hold, each with the schema of its payload. The ETag `"event-types-<sha256>"` changes only with the catalog; an If-None-Match that names it is answered with 304. The same catalog stands in `/asyncapi.json`. Needs events.read. `GET /api/v1/event-types` */
list(options?: CallOptions): Paged<EventTypePage, EventType>;
}

export interface TaskTypesApi {
/** Make the next version of a task type. Versions never change. Without a lifecycle the type has that of the built-in type `task`. A skill in `execution` is refused by `invalid_task_execution`, whose `reason` is not_found, disabled or no_contract: no skill can be called yet. Needs task_types.manage. `POST /api/v1/task-types` */
create(body: NewTaskType, options?: CallOptions): Promise<TaskType>;
/** List task types, newest first. Needs task_types.read. `GET /api/v1/task-types` */
list(query?: {
key?: string;
status?: string;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskTypePage, TaskType>;
/** Read a task type. Needs task_types.read. `GET /api/v1/task-types/{id}` */
get(id: string, options?: CallOptions): Promise<TaskType>;
/** Deprecate a version of a task type: new tasks get it only where they name it. Needs task_types.manage. `POST /api/v1/task-types/{id}:deprecate` */
deprecate(id: string, options?: CallOptions): Promise<TaskType>;
/** Give the tasks of one version of a type another version, a batch at a time. A task that cannot be migrated is skipped with the reason. A batch may have fewer tasks than asked for; go on with `nextCursor` until it is null. Needs task_types.manage. `POST /api/v1/task-types/{id}:migrate-tasks` */
migrateTasks(id: string, body?: TypeMigrationBatch, options?: CallOptions): Promise<TypeMigrationReport>;
/** List who may be given tasks of a type in a workspace, newest first. These are the active members of the workspace, and running agents of the registry that are linked to an identity and whose `work` covers the workspace and the type. A workspace there is that one alone; a project is its workspaces, with `includeSubprojects` also those of projects below; neither is the whole tenant. Needs workspaces.read. `GET /api/v1/task-types/{id}/executors` */
listExecutors(id: string, query: {
workspaceId: Uuid;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskTypeExecutorPage, TaskTypeExecutor>;
}

export interface ObservationsApi {
/** Publish a fact in the journal. Observations are read through the journal. Whoever names a task or a run needs tasks.read too. The same source and dedupKey of the same author answer 200 and write nothing. Needs observations.write. `POST /api/v1/observations` */
record(body: NewObservation, options?: CallOptions): Promise<RecordedObservation>;
}

export interface ContextApi {
/** Ask what somebody who is about to act should know. The operational part comes always; what memory knows comes where the memory service says it within CP_CONTEXT_TIMEOUT_SECONDS, else `memoryStatus` says why not. The holder of a task's claim is told once what the type of the task asks memory for: it is recorded, and repeated as it was. `POST /api/v1/context` */
get(body?: ContextRequest, options?: CallOptions): Promise<ContextAnswer>;
/** Look up what memory knows of one thing, or of a text. Whoever names a task needs tasks.read too. Needs events.read. `POST /api/v1/context/recall` */
recall(body?: RecallRequest, options?: CallOptions): Promise<RecalledPack>;
}

export interface ContextPacksApi {
/** Read what an executor was told from memory when it took a task. Needs tasks.read. `GET /api/v1/context-packs/{id}` */
get(id: string, options?: CallOptions): Promise<ContextPack>;
/** Ask memory the same again, as of the same instant, and say what differs. Needs tasks.read. `POST /api/v1/context-packs/{id}:replay` */
replay(id: string, options?: CallOptions): Promise<ReplayedPack>;
}

export interface KnowledgeApi {
/** Tell memory what a source sees of a part of the world. Memory compares it with what the source saw before, and says what is new, changed or gone. A body of up to 8 MiB; the same snapshotId again changes nothing. Needs observations.write. `POST /api/v1/knowledge/snapshots` */
reconcileSnapshot(body: KnowledgeSnapshot, options?: CallOptions): Promise<ReconciledSnapshot>;
/** Ask what a snapshot would change. `stateToken` names the state that it was compared with: send it as `expectedState`. The response names what memory knows, so it is for callers who see the whole tree of the workspace and, where a decision point decides, may read its namespace. Needs observations.write. `POST /api/v1/knowledge/snapshots:preview` */
previewSnapshot(body: KnowledgeSnapshot, options?: CallOptions): Promise<ReconciledSnapshot>;
/** Put a document into memory, in place of the one with the same natural key. Needs observations.write. `POST /api/v1/knowledge/documents` */
storeDocument(body: KnowledgeDocument, options?: CallOptions): Promise<StoredDocument>;
/** Ask memory for the things of some kinds in a workspace. Needs events.read. `POST /api/v1/knowledge/entities:query` */
queryEntities(body: EntitiesQuery, options?: CallOptions): Paged<EntitiesPage, Record<string, unknown>>;
/** Register a pack of kinds by which memory reads knowledge. `scope` tenant needs knowledge.packs.manage; a pack for all tenants is registered by principals that CP_KNOWLEDGE_PACK_ADMINS names. The rest of the document is for the memory service. `POST /api/v1/knowledge/packs` */
registerPack(body?: KnowledgePack, options?: CallOptions): Promise<RegisteredPack>;
/** Read a pack, of the tenant or of all, by `name` or `name@version`. Needs events.read. `GET /api/v1/knowledge/packs/{ref}` */
getPack(ref: string, options?: CallOptions): Promise<StoredKnowledgePack>;
}

export interface WorkspacesApi {
/** Say which packs the knowledge of a tree of workspaces goes by. Needs workspaces.manage. `PUT /api/v1/workspaces/{id}/knowledge-packs` */
configureKnowledgePacks(id: string, body: KnowledgePacksRequest, options?: CallOptions): Promise<WorkspaceKnowledgePacks>;
/** Read which packs the knowledge of a workspace goes by. Needs workspaces.read. `GET /api/v1/workspaces/{id}/knowledge-packs` */
getKnowledgePacks(id: string, options?: CallOptions): Promise<WorkspaceKnowledgePacks>;
/** Make a workspace, as a root or below another one. Needs workspaces.manage. `POST /api/v1/workspaces` */
create(body: WorkspaceRequest, options?: CallOptions): Promise<WorkspaceDetail>;
/** List workspaces, newest first. Needs workspaces.read. `GET /api/v1/workspaces` */
list(query?: {
/** Only those directly below it; wins over rootsOnly. */
parentId?: Uuid;
rootsOnly?: boolean;
status?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<WorkspacePage, Workspace>;
/** Read the tree of workspaces, or the part below one. Siblings come by slug. It has at most 1,000 nodes: the deepest levels that would make it longer are left out, then `truncated` is true. Needs workspaces.read. `GET /api/v1/workspaces/tree` */
getTree(query?: {
rootId?: Uuid;
/** How many levels below the roots; 0: the roots alone. */
depth?: number;
includeArchived?: boolean;
/** false leaves `project` out of the nodes. */
includeProjects?: boolean;
/** How many roots at most, 1 to 200; all when absent. */
limit?: number;
/** The `nextCursor` of the page before. */
cursor?: string;
}, options?: CallOptions): Promise<WorkspaceTree>;
/** Read a workspace. Needs workspaces.read. `GET /api/v1/workspaces/{id}` */
get(id: string, options?: CallOptions): Promise<WorkspaceDetail>;
/** Change a workspace, also an archived one. Values that are stored already change nothing. taskTypes null takes those of the workspace above. Needs workspaces.manage. `PATCH /api/v1/workspaces/{id}` */
update(id: string, body: WorkspaceChange, options: CallOptions & Matched): Promise<WorkspaceDetail>;
/** Archive a workspace that has no active one below it, and no active project. It keeps its slug, and its tasks stay. Archiving an archived one changes nothing. Needs workspaces.manage. `POST /api/v1/workspaces/{id}:archive` */
archive(id: string, options?: CallOptions): Promise<WorkspaceDetail>;
/** Take an archived workspace into use again. Restoring an active one changes nothing. Needs workspaces.manage. `POST /api/v1/workspaces/{id}:restore` */
restore(id: string, options?: CallOptions): Promise<WorkspaceDetail>;
/** Move a workspace below another one, or among the roots, with all that stands below it. With dryRun nothing is written: the answer says what would refuse the move. Needs workspaces.manage. `POST /api/v1/workspaces/{id}:move` */
move(id: string, body: WorkspaceMove, options?: CallOptions & Partial<Matched> & { query?: {
dryRun?: boolean;
} }): Promise<MoveAnswer>;
/** Make a principal a member of a workspace. Adding a member again answers the same membership. Needs workspaces.manage. `POST /api/v1/workspaces/{id}/members` */
addMember(id: string, body: WorkspaceMemberRequest, options?: CallOptions): Promise<WorkspaceMember>;
/** List the members of a workspace, newest first. Needs workspaces.read. `GET /api/v1/workspaces/{id}/members` */
listMembers(id: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<WorkspaceMemberPage, WorkspaceMember>;
/** Take a principal out of the members of a workspace. Removing somebody who is no member changes nothing. Needs workspaces.manage. `POST /api/v1/workspaces/{id}/members/{principalId}:remove` */
removeMember(id: string, principalId: string, options?: CallOptions): Promise<undefined>;
/** List who takes part in a workspace: its members, and those with a role there. Needs workspaces.read. `GET /api/v1/workspaces/{id}/participants` */
listParticipants(id: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ParticipantPage, Participant>;
}

export interface ExternalReferencesApi {
/** Give a task or a project a name of another system. The same name again replaces the metadata: 201 when it is new, else 200. A task needs tasks.write, a project projects.manage. Needs tasks.write or projects.manage. `POST /api/v1/external-references` */
put(body: ExternalReferenceRequest, options?: CallOptions): Promise<ExternalReference>;
/** List the external names of an object, or find what has a name. Either entityType and entityId, or externalSystem, externalType and externalId. Needs tasks.read or projects.read. `GET /api/v1/external-references` */
list(query?: {
entityType?: string;
entityId?: string;
externalSystem?: string;
externalType?: string;
externalId?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ExternalReferencePage, ExternalReference>;
/** Take an external name away. Needs tasks.write or projects.manage. `DELETE /api/v1/external-references/{id}` */
delete(id: string, options?: CallOptions): Promise<undefined>;
}

export interface ProjectsApi {
/** Give a project a name of another system. The same name again replaces the metadata: 201 when it is new, else 200. Needs projects.manage. `POST /api/v1/projects/{id}/external-references` */
putReference(id: string, body: ProjectReferenceRequest, options?: CallOptions): Promise<ExternalReference>;
/** List the external names of a project. Needs projects.read. `GET /api/v1/projects/{id}/external-references` */
listReferences(id: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ExternalReferencePage, ExternalReference>;
/** Make the project of a workspace by a template, and the workspace too where it is named by a slug. A workspace has one project at most. To make the workspace takes workspaces.manage besides. Needs projects.manage. `POST /api/v1/projects` */
create(body?: ProjectRequest, options?: CallOptions): Promise<Project>;
/** List projects, newest first. Needs projects.read. `GET /api/v1/projects` */
list(query?: {
/** Only the project of this workspace itself. */
workspaceId?: Uuid;
status?: string;
statusKey?: string;
systemStatusCategory?: string;
templateKey?: string;
/** With externalId: what has this name there. */
externalSystem?: string;
externalType?: string;
externalId?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProjectPage, Project>;
/** Read a project. Needs projects.read. `GET /api/v1/projects/{id}` */
get(id: string, options?: CallOptions): Promise<Project>;
/** Change a project. Values that are stored already change nothing. null clears a date, clearOwner the owner. Needs projects.manage. `PATCH /api/v1/projects/{id}` */
update(id: string, body: ProjectChange, options: CallOptions & Matched): Promise<Project>;
/** Move a project to another status of its lifecycle. Needs projects.manage. `POST /api/v1/projects/{id}:transition` */
transition(id: string, body: ProjectTransition, options: CallOptions & Matched): Promise<Project>;
/** Archive a project: its work is not offered any more. Tasks, workspace and history stay, and so does a project below it. Archiving an archived one changes nothing. Needs projects.manage. `POST /api/v1/projects/{id}:archive` */
archive(id: string, options?: CallOptions): Promise<Project>;
/** Take an archived project into use again. Its work is offered again: the first 1,000 tasks at once, the others by the worker. Restoring an active one changes nothing. Needs projects.manage. `POST /api/v1/projects/{id}:restore` */
restore(id: string, options?: CallOptions): Promise<Project>;
/** Read what counts for a project, and which value comes from where. Template, what stands above, active revision, settings of the project: the later wins, but governance only narrows, and a locked setting is that of the project that locked it. An If-None-Match that names the ETag is answered with 304. Needs projects.read. `GET /api/v1/projects/{id}/effective-config` */
getEffectiveConfig(id: string, options?: CallOptions): Promise<EffectiveConfig>;
/** List the configurations of a project, newest first. Needs projects.read. `GET /api/v1/projects/{id}/config-revisions` */
listConfigRevisions(id: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ConfigRevisionPage, ConfigRevision>;
/** Record the next configuration of a project; it counts once it is activated. Needs projects.manage. `POST /api/v1/projects/{id}/config-revisions` */
createConfigRevision(id: string, body?: ConfigRevisionRequest, options?: CallOptions): Promise<ConfigRevision>;
/** Make a configuration the one that counts. An earlier one may be activated again. Activating the one that counts changes nothing. Needs projects.manage. `POST /api/v1/projects/{id}/config-revisions/{n}:activate` */
activateConfigRevision(id: string, n: string, options: CallOptions & Matched): Promise<Project>;
}

export interface GoalsApi {
/** Make a goal. Needs goals.write. `POST /api/v1/goals` */
create(body: GoalRequest, options?: CallOptions): Promise<Goal>;
/** List goals, newest first. Needs goals.read. `GET /api/v1/goals` */
list(query?: {
status?: string;
workspaceId?: Uuid;
ownerId?: Uuid;
parentGoalId?: Uuid;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<GoalPage, Goal>;
/** Read a goal. Needs goals.read. `GET /api/v1/goals/{id}` */
get(id: string, options?: CallOptions): Promise<Goal>;
/** Change a goal, close it or open it again. Values that are stored already change nothing. Its workspace and its origin stay. Needs goals.write. `PATCH /api/v1/goals/{id}` */
update(id: string, body: GoalChange, options: CallOptions & Matched): Promise<Goal>;
/** List the tasks of a goal, newest first. Needs tasks.read, too. Needs goals.read. `GET /api/v1/goals/{id}/work` */
listWork(id: string, query?: {
includeSubgoals?: boolean;
systemStatusCategory?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<TaskPage, Task>;
}

export interface RulesApi {
/** Make a work rule. An enabled rule acts on what happens from now on, with the rights of whoever enabled it or wrote it last, and never with more than they have at that time. With `identity` it acts as that agent of the registry, with the rights that the agent has when it acts; whoever enables or writes the rule must hold all of them. Inside of a run that was launched, no rule is made, changed or enabled. `warnings` names what of it can never work. Needs rules.write. `POST /api/v1/rules` */
create(body: RuleRequest, options?: CallOptions): Promise<WrittenRule>;
/** List work rules, newest first. Without `status`, archived ones are left out. Needs rules.read. `GET /api/v1/rules` */
list(query?: {
status?: string;
workspaceId?: Uuid;
key?: string;
triggerKind?: string;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RulePage, Rule>;
/** Check a work rule without making it. Needs rules.write. `POST /api/v1/rules:validate` */
validate(body: RuleRequest, options?: CallOptions): Promise<RuleValidation>;
/** Read a work rule. Needs rules.read. `GET /api/v1/rules/{id}` */
get(id: string, options?: CallOptions): Promise<Rule>;
/** Write the next version of a work rule. Values that are stored already change nothing. An enabled rule acts in the name of its last writer. Evaluations that wait end as skipped. Needs rules.write. `PATCH /api/v1/rules/{id}` */
update(id: string, body: RuleChange, options: CallOptions & Matched): Promise<WrittenRule>;
/** Archive a work rule; its key becomes free. Needs rules.write. `DELETE /api/v1/rules/{id}` */
archive(id: string, options?: CallOptions): Promise<undefined>;
/** List the versions of a work rule, newest first. Needs rules.read. `GET /api/v1/rules/{id}/versions` */
listVersions(id: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RulePage, Rule>;
/** Let a work rule act, with the rights of the caller. Needs rules.write. `POST /api/v1/rules/{id}:enable` */
enable(id: string, options?: CallOptions): Promise<Rule>;
/** Stop a work rule. Needs rules.write. `POST /api/v1/rules/{id}:disable` */
disable(id: string, options?: CallOptions): Promise<Rule>;
/** List what came of a work rule, newest first. Needs rules.read. `GET /api/v1/rules/{id}/evaluations` */
listEvaluations(id: string, query?: {
status?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RuleEvaluationPage, RuleEvaluation>;
/** See what a work rule would have done. At the newest events that would have caused it, 2,000 of its type at most, with tasks and goals as they are now. After a second, those that were not looked at yet are left out. Two of a tenant run at a time, ten wait for 5 s at most. Nothing is written. Needs rules.write. `POST /api/v1/rules:dry-run` */
dryRun(body: RuleDryRun, options?: CallOptions): Promise<RuleDryRunResults>;
}

export interface RuleEvaluationsApi {
/** Read what came of one cause. Needs rules.read. `GET /api/v1/rule-evaluations/{id}` */
get(id: string, options?: CallOptions): Promise<RuleEvaluation>;
}

export interface ProcessDefinitionsApi {
/** Publish the next version of a process. Versions never change. 200 when this version is there with the same content, else 201; a new version takes a retired process into use again. `invalid_process` lists every problem with its place; what only deserves a look stands in `warnings`. The process acts in the name of its agent, so the caller must hold what the agent may do. Instances go on by the version that they began with, unless `migrations` say `migrate` of that: then the worker takes them along, except those that a step called as `key@version`. Elements are found by their ids, or by those that `map` gives them (null: gone). An open step keeps its task, approvals or call; one that is gone is closed, and its list goes on behind the steps that were done before. What the new version has before that place is not done, a stage before one that has begun is passed over, and deadlines that it counts otherwise are counted anew. A step that stands in another list of steps than before is a problem, unless `map` gives it up. Needs processes.write. `POST /api/v1/process-definitions` */
publish(body: ProcessDefinitionRequest, options?: CallOptions): Promise<ProcessDefinition>;
/** List processes, each by its latest version, newest first. A page has up to 4 MiB; what is beyond has a cursor. Needs processes.read. `GET /api/v1/process-definitions` */
list(query?: {
key?: string;
workspaceId?: Uuid;
governedBy?: string;
status?: string;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProcessDefinitionPage, ProcessDefinition>;
/** Read a version of a process. Needs processes.read. `GET /api/v1/process-definitions/{key}` */
get(key: string, options?: CallOptions): Promise<ProcessDefinition>;
/** List the versions of a process, newest first. A page has up to 4 MiB; what is beyond has a cursor. Needs processes.read. `GET /api/v1/process-definitions/{key}/versions` */
listVersions(key: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProcessDefinitionPage, ProcessDefinition>;
/** Retire a process. Nothing starts by it any more; instances that run go on. Retiring a retired one changes nothing, and publishing a new version takes it into use again. With `dryRun` nothing is written. Needs processes.write. `POST /api/v1/process-definitions/{key}:retire` */
retire(key: string, body: ProcessRetirement, options?: CallOptions & { query?: {
dryRun?: boolean;
} }): Promise<RetiredProcess>;
/** See what instances would have done by another definition. What instances took, in its order and at its times, is taken once more by the candidate, whose version does not count; what it leads to is compared with their journals. Answers that only the candidate would wait for never come. Calendars count as they are now. Instances from before Baton kept what they took are `incomplete`. What an instance took before it went on by a later version is taken by the versions of then. Nothing is written. One call of a tenant runs at a time and two of a process; four of a tenant wait for 10 s at most. Needs packages.test. `POST /api/v1/process-definitions/{key}:replay` */
replay(key: string, body: ProcessReplayRequest, options?: CallOptions): Promise<ProcessReplay>;
}

export interface ProcessInstancesApi {
/** Start an instance of a process. Of the newest version. It acts in the name of the agent that the definition names. The key of an instance that has ended may start again. Needs processes.operate. `POST /api/v1/process-instances` */
create(body: ProcessInstanceRequest, options?: CallOptions): Promise<ProcessInstance>;
/** List instances of processes, newest first. Needs processes.read. `GET /api/v1/process-instances` */
list(query?: {
definitionKey?: string;
instanceKey?: string;
status?: string;
workspaceId?: Uuid;
slaState?: "breached" | "warning";
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProcessInstancePage, ProcessInstance>;
/** Read an instance of a process. Needs processes.read. `GET /api/v1/process-instances/{id}` */
get(id: string, options?: CallOptions): Promise<ProcessInstance>;
/** List what happened to an instance and what it led to, the oldest first. Needs processes.read. `GET /api/v1/process-instances/{id}/journal` */
listJournal(id: string, query?: {
kind?: "decision" | "intent" | "input" | "settings" | "data" | "timer" | "state";
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProcessJournalEntryPage, ProcessJournalEntry>;
/** Suspend an instance: its timers stop, and events wait. Needs processes.operate. `POST /api/v1/process-instances/{id}:suspend` */
suspend(id: string, body: ProcessSuspension, options?: CallOptions): Promise<ProcessInstance>;
/** Let a suspended instance go on: what it could not do is tried again. Of an instance whose `suspension` has the code `migration_failed` this is to go on by the later version of its definition; where it still can not, it stays suspended. Needs processes.operate. `POST /api/v1/process-instances/{id}:resume` */
resume(id: string, body?: ProcessResumption, options?: CallOptions): Promise<ProcessInstance>;
/** Go past the step that an instance can not do. Needs processes.operate. `POST /api/v1/process-instances/{id}:skip` */
skip(id: string, body: ProcessSkip, options?: CallOptions): Promise<ProcessInstance>;
/** End an instance; what it did is undone first, unless `compensate` is false. Where a step that undoes fails, the instance is suspended and says why in `suspension`: `:resume` tries that step again, as a second `:cancel` does, `:skip` goes past it, and `:cancel` with `compensate` false ends the instance as it is. Needs processes.operate. `POST /api/v1/process-instances/{id}:cancel` */
cancel(id: string, body: ProcessCancellation, options?: CallOptions): Promise<ProcessInstance>;
}

export interface WorkspaceTypesApi {
/** Make a workspace type. Needs workspaces.manage. `POST /api/v1/workspace-types` */
create(body: WorkspaceTypeRequest, options?: CallOptions): Promise<WorkspaceType>;
/** List workspace types, newest first. Needs workspaces.read. `GET /api/v1/workspace-types` */
list(query?: {
status?: string;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<WorkspaceTypePage, WorkspaceType>;
/** Read a workspace type. Needs workspaces.read. `GET /api/v1/workspace-types/{id}` */
get(id: string, options?: CallOptions): Promise<WorkspaceType>;
/** Change a workspace type. What stands already is not judged again. Values that are stored already change nothing. Needs workspaces.manage. `PATCH /api/v1/workspace-types/{id}` */
update(id: string, body: WorkspaceTypeChange, options: CallOptions & Matched): Promise<WorkspaceType>;
/** Archive a workspace type that no active workspace has. It keeps its key. Archiving an archived one changes nothing. Needs workspaces.manage. `POST /api/v1/workspace-types/{id}:archive` */
archive(id: string, options?: CallOptions): Promise<WorkspaceType>;
/** Take an archived workspace type into use again. Restoring an active one changes nothing. Needs workspaces.manage. `POST /api/v1/workspace-types/{id}:restore` */
restore(id: string, options?: CallOptions): Promise<WorkspaceType>;
}

export interface CalendarsApi {
/** Publish the next version of a production calendar. Versions never change. 200 when the newest version says the same already, else 201; either takes a retired calendar into use again. `invalid_calendar` names in `code` what is wrong: unknown_timezone, duplicate_calendar_year, calendar_date_outside_year, calendar_day_conflict or invalid_working_hours. Needs calendars.write. `POST /api/v1/calendars` */
publish(body: CalendarRequest, options?: CallOptions): Promise<Calendar>;
/** List calendars, each by its newest version, newest first. A page has up to 4 MiB; what is beyond has a cursor. `GET /api/v1/calendars` */
list(query?: {
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<CalendarPage, Calendar>;
/** Read a version of a calendar. `GET /api/v1/calendars/{key}` */
get(key: string, options?: CallOptions): Promise<Calendar>;
/** Retire a calendar. It still computes. Retiring a retired one changes nothing, and publishing takes it into use again. With `dryRun` nothing is written. Needs calendars.write. `POST /api/v1/calendars/{key}:retire` */
retire(key: string, body: CalendarRetirement, options?: CallOptions & { query?: {
dryRun?: boolean;
} }): Promise<Calendar>;
/** Add working minutes to an instant, or count those between two. By the clocks of its time zone: an hour that they skip is none, one that they show twice counts twice. `invalid_calendar` names in `code` why not: calendar_without_hours, or calendar_scan_limit beyond 50 years. `POST /api/v1/calendars/{key}:compute` */
compute(key: string, body: CalendarComputation, options?: CallOptions): Promise<CalendarComputed>;
}

export interface ProjectTemplatesApi {
/** Make the next version of a project template. Versions never change. Without a lifecycle its projects are planned, active, paused, completed or cancelled. Needs project_templates.manage. `POST /api/v1/project-templates` */
create(body: NewProjectTemplate, options?: CallOptions): Promise<ProjectTemplate>;
/** List project templates, all versions, newest first. Needs project_templates.read. `GET /api/v1/project-templates` */
list(query?: {
key?: string;
status?: string;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ProjectTemplatePage, ProjectTemplate>;
/** Read a version of a project template. Needs project_templates.read. `GET /api/v1/project-templates/{id}` */
get(id: string, options?: CallOptions): Promise<ProjectTemplate>;
/** Deprecate a version of a project template: no project is made with it any more. Deprecating a deprecated one changes nothing. Needs project_templates.manage. `POST /api/v1/project-templates/{id}:deprecate` */
deprecate(id: string, options?: CallOptions): Promise<ProjectTemplate>;
}

export interface OperationsApi {
/** How far the delivery to the memory service has come in the tenant's journal. A tenant whose events could not be delivered is parked alone and tried again by itself; `Retry-After` then says in how many seconds. Needs operations.read or operations.manage. `GET /api/v1/operations/context-adapter` */
getContextAdapter(options?: CallOptions): Promise<AdapterState>;
/** Have the event at which the tenant is parked tried again at once. The cursor does not move. There is nothing to be tried before the first cycle: 404. Needs operations.manage. `POST /api/v1/operations/context-adapter/{tenantId}:redrive` */
redriveContextAdapter(tenantId: string, body?: AdapterRedrive, options?: CallOptions): Promise<AdapterState>;
/** Deliver the tenant's journal again from an earlier place. Without a cursor, from the beginning of what still exists. The memory service recognises what it has. A delivery that is under way moves the cursor no more. Needs operations.manage. `POST /api/v1/operations/context-adapter/{tenantId}:rebuild` */
rebuildContextAdapter(tenantId: string, body?: AdapterRebuild, options?: CallOptions): Promise<AdapterState>;
/** List what waits for a sink, or was set aside after its last attempt. The newest first. An event is listed for each sink, once a worker has handed it over, which takes about a second. Needs operations.read or operations.manage. `GET /api/v1/operations/outbox` */
listUndeliveredEvents(query?: {
/** Without it both. */
status?: "pending" | "dead";
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<UndeliveredEventPage, UndeliveredEvent>;
/** Have an event that was set aside delivered again. Its attempts begin anew. One that waits for its next attempt stays as it is. Needs operations.manage. `POST /api/v1/operations/outbox/{id}:redrive` */
redriveUndeliveredEvent(id: string, body?: OutboxRedrive, options?: CallOptions): Promise<UndeliveredEvent>;
/** Give up the delivery of an event to a sink. The event stays in the journal, and no longer holds back its archiving. Needs operations.manage. `POST /api/v1/operations/outbox/{id}:drop` */
dropUndeliveredEvent(id: string, body: OutboxDrop, options?: CallOptions): Promise<UndeliveredEvent>;
/** Move confirmed history to the archive, the oldest first. Readers see no difference. It ends before the first event that is too young, that a consumer has not confirmed, or whose delivery is not done. Needs operations.manage. `POST /api/v1/operations/journal:archive` */
archiveJournal(body?: JournalRetention, options?: CallOptions): Promise<JournalArchiving>;
/** Delete history from the archive, the oldest first. The only operation that loses data: export it before. Cursors below what is deleted are refused from then on. Needs operations.manage. `POST /api/v1/operations/journal:prune` */
pruneJournal(body?: JournalRetention, options?: CallOptions): Promise<JournalPruning>;
/** List what a decision point would have decided otherwise. With CP_AUTHZ_MODE `shadow`, of the process that answers: the newest 1,000, and how many there were. Other modes have none. Needs operations.read or operations.manage. `GET /api/v1/operations/authz-differences` */
listAuthzDifferences(options?: CallOptions): Paged<AuthzDifferences, AuthzDifference>;
}

export interface RolesApi {
/** Make a role, of the tenant or of a workspace. It gives no permission: tasks and approvals may ask for it. Needs org.manage. `POST /api/v1/roles` */
create(body: RoleRequest, options?: CallOptions): Promise<Role>;
/** List roles, newest first. Needs org.read. `GET /api/v1/roles` */
list(query?: {
workspaceId?: Uuid;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RolePage, Role>;
/** Read a role. Needs org.read. `GET /api/v1/roles/{id}` */
get(id: string, options?: CallOptions): Promise<Role>;
/** Change a role. Tasks that ask for it keep asking for it under its new slug. Needs org.manage. `PATCH /api/v1/roles/{id}` */
update(id: string, body: RoleChange, options: CallOptions & Matched): Promise<Role>;
/** List who has a role, newest principals first. With a workspace: who has it there, in one above it, or in the whole tenant. Needs org.read or principals.read. `GET /api/v1/roles/{id}/principals` */
listPrincipals(id: string, query?: {
workspaceId?: Uuid;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<RoleHolderPage, RoleHolder>;
}

export interface CapabilitiesApi {
/** Make a capability. It gives no permission: tasks may ask for it. Needs org.manage. `POST /api/v1/capabilities` */
create(body: CapabilityRequest, options?: CallOptions): Promise<Capability>;
/** List capabilities, newest first. Needs org.read. `GET /api/v1/capabilities` */
list(query?: {
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<CapabilityPage, Capability>;
/** Read a capability. Needs org.read. `GET /api/v1/capabilities/{id}` */
get(id: string, options?: CallOptions): Promise<Capability>;
/** Change a capability. Tasks that ask for it keep asking for it under its new name. Needs org.manage. `PATCH /api/v1/capabilities/{id}` */
update(id: string, body: CapabilityChange, options: CallOptions & Matched): Promise<Capability>;
}

export interface SkillsApi {
/** Record a version of a skill. It can be assigned, and tasks may ask for it. With a contract it can be called, and tools read `contract.inputs`; `sideEffects` and `riskLevel` are then required, and `inputSchema` and `outputSchema` stay null. Needs org.manage. `POST /api/v1/skills` */
create(body: SkillRequest, options?: CallOptions): Promise<Skill>;
/** List skills, newest first. Needs org.read. `GET /api/v1/skills` */
list(query?: {
name?: string;
status?: string;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<SkillPage, Skill>;
/** Read a skill. A name alone is its newest active version, else the newest that is not disabled. Needs org.read or skills.invoke or skills.execute. `GET /api/v1/skills/{ref}` */
get(ref: string, options?: CallOptions): Promise<Skill>;
/** Change the description of a skill, or take it out of use. active may become deprecated or disabled, deprecated disabled; what a version does never changes, but the `endpoint` of its contract may move. Calls that wait are executed at the new one. Those of a disabled version are withdrawn. Needs org.manage. `PATCH /api/v1/skills/{ref}` */
update(ref: string, body: SkillChange, options: CallOptions & Matched): Promise<Skill>;
/** Ask for a call of a skill. An executor takes the call from its queue. `idempotencyKey` names one call of the caller: asked for again with the same inputs it is answered with 200, whatever became of the skill. A run calls the skills that its principal has, and one that was launched those that its handle grants. A skill with `external_write` needs an approved gate of the task (`approvalId`, once for each version) that doesn't say itself what follows from it, or a run of a task whose type's `execution` pins this version (once in a run). `requestedBy.kind` is then `principal` or `run`. While too many calls of the tenant wait, 429 `rate_limited`. Needs skills.invoke. `POST /api/v1/skills/{ref}:invoke` */
invoke(ref: string, body?: SkillInvocationRequest, options?: CallOptions): Promise<SkillInvocation>;
}

export interface PrincipalsApi {
/** Give a principal a role, in the whole tenant or in a workspace and below it. Repeated, it answers the assignment that stands. Needs org.manage. `POST /api/v1/principals/{id}/roles` */
assignRole(id: string, body: RoleAssignmentRequest, options?: CallOptions): Promise<RoleAssignment>;
/** List the roles of a principal, newest first. Needs org.read or principals.read. `GET /api/v1/principals/{id}/roles` */
listRoles(id: string, query?: {
/** How many items at most, 1 to 200. Without it and without a cursor the list comes whole. */
limit?: number;
/** The `nextCursor` of the page before. */
cursor?: string;
}, options?: CallOptions): Paged<RoleAssignmentPage, RoleAssignment>;
/** Take a role from a principal where it was given. Revoking what is not assigned changes nothing. Needs org.manage. `POST /api/v1/principals/{id}/roles/{roleId}:revoke` */
revokeRole(id: string, roleId: string, body?: RoleRevocation, options?: CallOptions): Promise<undefined>;
/** Give a principal a capability. Repeated, it answers the assignment that stands. Needs org.manage. `POST /api/v1/principals/{id}/capabilities` */
assignCapability(id: string, body: CapabilityAssignmentRequest, options?: CallOptions): Promise<CapabilityAssignment>;
/** List the capabilities of a principal, newest first. Needs org.read or principals.read. `GET /api/v1/principals/{id}/capabilities` */
listCapabilities(id: string, query?: {
/** How many items at most, 1 to 200. Without it and without a cursor the list comes whole. */
limit?: number;
/** The `nextCursor` of the page before. */
cursor?: string;
}, options?: CallOptions): Paged<CapabilityAssignmentPage, CapabilityAssignment>;
/** Take a capability from a principal. Revoking what is not assigned changes nothing. Needs org.manage. `POST /api/v1/principals/{id}/capabilities/{capabilityId}:revoke` */
revokeCapability(id: string, capabilityId: string, options?: CallOptions): Promise<undefined>;
/** Give a principal a version of a skill. Repeated, it answers the assignment that stands. Needs org.manage. `POST /api/v1/principals/{id}/skills` */
assignSkill(id: string, body: SkillAssignmentRequest, options?: CallOptions): Promise<SkillAssignment>;
/** List the skills of a principal, newest first. Needs org.read or principals.read. `GET /api/v1/principals/{id}/skills` */
listSkills(id: string, query?: {
/** How many items at most, 1 to 200. Without it and without a cursor the list comes whole. */
limit?: number;
/** The `nextCursor` of the page before. */
cursor?: string;
}, options?: CallOptions): Paged<SkillAssignmentPage, SkillAssignment>;
/** Take a version of a skill from a principal. Revoking what is not assigned changes nothing. Needs org.manage. `POST /api/v1/principals/{id}/skills/{skillId}:revoke` */
revokeSkill(id: string, skillId: string, options?: CallOptions): Promise<undefined>;
/** Make a principal. It enters once an identity is bound to it, or with a key of its own. Needs principals.write. `POST /api/v1/principals` */
create(body: PrincipalRequest, options?: CallOptions): Promise<Principal>;
/** List principals, newest first. Needs principals.read. `GET /api/v1/principals` */
list(query?: {
kind?: string;
/** Words, in any case, of which each is the beginning of a word of the display name or the e-mail address; 200 characters, 10 words. Blank: all. */
q?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<PrincipalPage, Principal>;
/** Read a principal. Needs principals.read. `GET /api/v1/principals/{id}` */
get(id: string, options?: CallOptions): Promise<Principal>;
/** Change what is known about a principal. The profile is replaced as a whole. Values that are stored already change nothing. Needs principals.write. `PATCH /api/v1/principals/{id}` */
update(id: string, body: PrincipalChange, options: CallOptions & Matched): Promise<Principal>;
/** Disable a principal and end everything it has. Its bindings and delegations are revoked, its sessions closed, its claims released and their runs failed. Disabling a disabled one changes nothing. Needs principals.write. `POST /api/v1/principals/{id}:disable` */
disable(id: string, body?: PrincipalStatusReason, options?: CallOptions): Promise<Principal>;
/** Let a principal act again. Only the status comes back; `liveApiKeys` says how many keys enter again with it. Enabling an active one changes nothing. Needs principals.write. `POST /api/v1/principals/{id}:enable` */
enable(id: string, body?: PrincipalStatusReason, options?: CallOptions): Promise<EnabledPrincipal>;
/** List the identities bound to a principal, newest first, revoked ones too. Needs principals.read. `GET /api/v1/principals/{id}/iam-bindings` */
listIamBindings(id: string, options?: CallOptions): Paged<IamBindingPage, IamBinding>;
/** Bind an identity to a principal. An identity that the tenant has bound is re-pointed: permissions replaced, admitted again. 201 when it is new, else 200. Needs principals.write. `POST /api/v1/principals/{id}/iam-bindings` */
createIamBinding(id: string, body: IamBindingRequest, options?: CallOptions): Promise<IamBinding>;
/** Give a principal a key of its own. The key is shown in this answer only; a repeated answer has null. It enters while CP_LEGACY_API_KEYS_ENABLED. Needs principals.write. `POST /api/v1/principals/{id}/api-keys` */
createApiKey(id: string, body: ApiKeyRequest, options?: CallOptions): Promise<IssuedApiKey>;
}

export interface ToolsApi {
/** List the tools that the caller has, newest first. Tools are the skills that are assigned to the caller and not disabled. `query` has up to 8 words, which name or description must all have. One that the session can not call is listed with `visible` false. The ETag changes with the catalogue and with what the caller may use; an If-None-Match that names it is answered with 304. Needs tasks.read. `GET /api/v1/tools` */
list(query?: {
query?: string;
/** A run of the caller: what its projects and its handle leave. */
runId?: Uuid;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ToolPage, Tool>;
/** Read a tool with the schema of its inputs. A name alone is its newest active version, else its newest one. Properties of the schema that are named like a secret are left out, and listed. Needs tasks.read. `GET /api/v1/tools/{ref}` */
get(ref: string, query?: {
/** A run of the caller: what its projects and its handle leave. */
runId?: Uuid;
}, options?: CallOptions): Promise<ToolDetail>;
}

export interface SkillInvocationsApi {
/** Take the oldest call that waits and that the executor can execute. 204 when there is none. The lease is `leaseSeconds`, else what the contract allows and 30 s, from 10 s to 3600 s. A queue never delays executors of another. A call that has lost its basis is cancelled instead of returned. A person whose bindings show `members` only gets calls of visible workspaces and of the tenant itself. A call that verifies a task is not offered to anybody who worked on the task, nor to an agent or service that requested its completion; naming it returns 403 `not_eligible`. Needs skills.execute. `POST /api/v1/skill-invocations:claim` */
claim(body: SkillInvocationClaim, options?: CallOptions): Promise<ClaimedSkillInvocation>;
/** Read a call: for whoever asked for it, its executor, and all who execute skills. Needs skills.invoke or skills.execute. `GET /api/v1/skill-invocations/{id}` */
get(id: string, options?: CallOptions): Promise<SkillInvocation>;
/** Let the lease of a call go on. Never past twice the time that the contract allows, and 30 s, after the start of the attempt. Needs skills.execute. `POST /api/v1/skill-invocations/{id}:heartbeat` */
heartbeat(id: string, body: SkillInvocationHeartbeat, options?: CallOptions): Promise<SkillInvocation>;
/** End a call with its output. An output that breaks the contract is answered with 200 too: the call has then failed with `output_contract_violation`, and `error.details` holds `rejectedOutput` up to 64 KiB, else `rejectedOutputBytes`. The result of a call for a task is recorded as an artifact of type `skill_result`. Needs skills.execute. `POST /api/v1/skill-invocations/{id}:complete` */
complete(id: string, body: SkillInvocationResult, options?: CallOptions): Promise<SkillInvocation>;
/** Say that an attempt of a call failed. A retryable one is tried again after the pause of the contract, as often as the contract allows. Needs skills.execute. `POST /api/v1/skill-invocations/{id}:fail` */
fail(id: string, body: SkillInvocationFailure, options?: CallOptions): Promise<SkillInvocation>;
/** Take a call back: for whoever asked for it, and for org.manage. `POST /api/v1/skill-invocations/{id}:cancel` */
cancel(id: string, body?: SkillInvocationCancel, options?: CallOptions): Promise<SkillInvocation>;
}

export interface PackagesApi {
/** Say of which package objects are that were made one by one. It takes the right of each kind besides. All versions of an object have its link, those that are made later too. What was linked to another package is linked to this one from then on. Needs packages.plan. `POST /api/v1/packages:record` */
record(body: PackageRecord, options?: CallOptions): Promise<RecordedPackage>;
/** Say what applying a package would change. Nothing is written. A document that the package leaves out retires its object. A field that a person changed since the package was applied last stays as it is, unless `overwriteConsole` says otherwise. A key in `renames` is given to what had the old one: a rule keeps all it has, an object of another kind begins anew with what people changed of it, and the old one is retired; an agent keeps its key. Instances of a process go on by the version that they began with, unless the `migrations` of the new one say `migrate`: then `deadlines` says where deadlines would lie that move, of the 200 newest instances of each process, for a caller with processes.read. `behaviour` says how many of the newest instances of a process would go another way, for a caller with processes.read and a package without errors. One version changes 100 objects at most. One plan or apply of a tenant runs at a time and two of a process; 16 of a tenant wait for 10 s at most. Needs packages.plan. `POST /api/v1/packages:plan` */
plan(body: PackagePlanRequest, options?: CallOptions): Promise<PackagePlan>;
/** Carry out the plan of a package, all of it or nothing. It takes the right of each kind that the package touches besides. `plan_stale` says that the package, or what it changes, is not what it was when the plan was made: plan again. What the writers of the objects refuse is told as they tell it, or among the problems of `invalid_package`. Needs packages.plan. `POST /api/v1/packages:apply` */
apply(body: PackageApplication, options?: CallOptions): Promise<AppliedPackage>;
/** Check a package and run its tests. Its processes, rules and task types run without effects and with a clock of their own, by the documents of kind `Test` in its files and in `tests`. Nothing is written. A test has 2 s of the engine, and a call 10 s: tests that were not begun by then end as `error`, as those do that ask for what is not simulated. One call of a tenant runs at a time and two of a process; four of a tenant wait for 10 s at most. Needs packages.test. `POST /api/v1/packages:test` */
test(body: PackageTestRequest, options?: CallOptions & { query?: {
checkOnly?: boolean;
} }): Promise<PackageTestReport>;
/** Read the settings of a package, with their schema and with what counts. Needs packages.settings.read. `GET /api/v1/packages/{key}/settings` */
getSettings(key: string, options?: CallOptions): Promise<PackageSettings>;
/** Set the settings of a package, all of them. They must fit the schema of the package. A text whose schema has `x-ref` names an object of the tenant: a principal, workspace or project by its id, a role by its slug, a capability or skill by its name, a taskType, artifactType or calendar by its key. What is set already makes no version. Needs packages.settings.manage. `PUT /api/v1/packages/{key}/settings` */
setSettings(key: string, body: PackageSettingsChange, options: CallOptions & Matched): Promise<PackageSettings>;
/** List what the settings of a package were, newest first. Needs packages.settings.read. `GET /api/v1/packages/{key}/settings/versions` */
listSettingsVersions(key: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<PackageSettingsVersionPage, PackageSettingsVersion>;
}

export interface PackageSettingsApi {
/** List the packages that have settings, by their keys. The list comes whole. Needs packages.settings.read. `GET /api/v1/package-settings` */
list(query?: {
/** Settings have one title: it changes nothing. */
locale?: string;
}, options?: CallOptions): Paged<PackageSettingsItemPage, PackageSettingsItem>;
}

export interface ViewsApi {
/** List the views that packages have published, by their keys. The list comes whole: a tenant has 1,000 at most. `GET /api/v1/views` */
list(query?: {
/** The language of the titles, such as `de`. */
locale?: string;
/** Only what this package has installed. */
package?: string;
}, options?: CallOptions): Paged<ListedViewPage, ListedView>;
/** Read a view: its blocks, and what each may be asked. `GET /api/v1/views/{key}` */
get(key: string, options?: CallOptions): Promise<View>;
/** Read the rows of a block of a view. It takes the right to read the list of its source: `tasks.read` of tasks, runs and claims, `skills.execute` of invocations, else that of the same name; and shows what that list would. Up to 20,000 rows are looked at, those that a filter with `eq` or `in` finds by an index, or the newest until the page is full; a query that would look at more is refused. Rows without a value come last. A value of another type, a parameter that is missing and one that the block does not declare are 422 `validation_error`. Where a decision point judges each row, a page may be short and lead on; after 4,000 hidden rows in a row a query is refused. `POST /api/v1/views/{key}:query` */
query(key: string, body: ViewQuery, options?: CallOptions): Paged<ViewRows, Record<string, string | number | boolean | null>>;
}

export interface AgentsApi {
/** Publish what an agent is to be. The first revision of a key makes the agent. 201 for a new revision; 200 when the current one says the same, apart from `state` and `placement.replicas`, which are taken all the same. The binding and the roles of a linked agent follow at once. Nobody gives an agent what they lack: roles, capabilities and skills need org.manage, connections need connections.manage. For an existing agent the caller also needs what the agent keeps regardless of the revision: the permissions of its API keys, org.manage if it was assigned roles, capabilities or skills directly, and agents.secrets.manage if the revision names stored secrets. Needs agents.manage. `POST /api/v1/agents` */
publish(body: AgentRequest, options?: CallOptions): Promise<Agent>;
/** List agents, newest first. Needs agents.read. `GET /api/v1/agents` */
list(query?: {
status?: string;
state?: string;
workspaceId?: Uuid;
/** Adds what was reported of each. */
include?: "status";
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ListedAgentPage, ListedAgent>;
/** Say what publishing would do, and write nothing. Needs agents.manage. `POST /api/v1/agents:validate` */
validate(body: AgentRequest, options?: CallOptions): Promise<AgentValidation>;
/** Read the agent that the caller is. Its runs start with `revision.id` as their `agentRevisionId`. Needs no permission; 404 for a caller that is no agent of the registry, which sends none. `GET /api/v1/agents/me` */
getOwn(options?: CallOptions): Promise<OwnAgent>;
/** Read an agent with its current revision, or with another one. Needs agents.read. `GET /api/v1/agents/{key}` */
get(key: string, options?: CallOptions): Promise<Agent>;
/** List the revisions of an agent, newest first. A page ends early once its specs come to 4 MiB; `nextCursor` leads on. `changedFields` says what differs from the revision before. Needs agents.read. `GET /api/v1/agents/{key}/revisions` */
listRevisions(key: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ListedAgentRevisionPage, ListedAgentRevision>;
/** Say whether an agent is to run, and as how many. What stands already writes nothing. An agent without a placement has no replicas. Needs agents.manage. `PATCH /api/v1/agents/{key}/state` */
changeState(key: string, body?: AgentStateChange, options?: CallOptions): Promise<Agent>;
/** Retire an agent for good. Its principal is disabled, its bindings are revoked, its sessions closed, its live claims released, and its secrets deleted. Its key is never given again. Retiring a retired one changes nothing. Needs agents.manage. `POST /api/v1/agents/{key}:retire` */
retire(key: string, body: AgentRetirement, options?: CallOptions): Promise<Agent>;
/** Link an identity to an agent. From then on the agent is a principal with what its spec grants. The same identity again changes nothing, and admits a revoked one again. The caller holds the permissions of the agent, or is the service that published its current revision. Needs agents.status.write. `PUT /api/v1/agents/{key}/identity` */
linkIdentity(key: string, body: AgentIdentity, options?: CallOptions): Promise<Agent>;
/** Give a service agent another identity. Its principal stays as it is; the identity before is not admitted any more. Needs agents.manage. `POST /api/v1/agents/{key}/identity:replace` */
replaceIdentity(key: string, body: AgentIdentityReplacement, options?: CallOptions): Promise<Agent>;
/** Report how an agent fares. A report that was observed before the stored one is refused: reports may come in any order. `agent.status_changed` is written where phase, reason, node or revision moved. Needs agents.status.write. `PUT /api/v1/agents/{key}/status` */
reportStatus(key: string, body: AgentStatusReport, options?: CallOptions): Promise<AgentStatus>;
/** Read how an agent fares, and when it was last seen. Needs agents.read. `GET /api/v1/agents/{key}/status` */
getStatus(key: string, options?: CallOptions): Promise<AgentStatus>;
/** Give an agent a secret, or a new value of it. The value goes to the store of secrets and is never answered. 201 for a new name, else 200; with `If-None-Match: *` a name that is there is refused. An agent has 100 secrets at most. Needs agents.secrets.manage. `PUT /api/v1/agents/{key}/secrets/{name}` */
setSecret(key: string, name: string, body: AgentSecretRequest, options?: CallOptions): Promise<AgentSecret>;
/** Delete a secret of an agent. An outside store loses the value at once or, while it is away, as soon as it is back. A retired agent has none: retiring it deletes all. Needs agents.secrets.manage. `DELETE /api/v1/agents/{key}/secrets/{name}` */
deleteSecret(key: string, name: string, options?: CallOptions): Promise<undefined>;
/** List the names of the secrets of an agent, never their values. Needs agents.read. `GET /api/v1/agents/{key}/secrets` */
listSecrets(key: string, query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<AgentSecretPage, AgentSecret>;
/** List the connections that the spec of the calling agent names, by key. `GET /api/v1/agents/me/connections` */
listOwnConnections(options?: CallOptions): Promise<OwnConnections>;
/** Read a connection that the spec of the calling agent names. `GET /api/v1/agents/me/connections/{key}` */
getOwnConnection(key: string, options?: CallOptions): Promise<Connection>;
}

export interface ConnectionsApi {
/** Make a connection, which is pending until somebody connects it. Needs connections.manage. `POST /api/v1/connections` */
create(body: ConnectionRequest, options?: CallOptions): Promise<Connection>;
/** List connections, newest first. Needs connections.read. `GET /api/v1/connections` */
list(query?: {
type?: string;
status?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ConnectionPage, Connection>;
/** Read a connection. Needs connections.read. `GET /api/v1/connections/{key}` */
get(key: string, options?: CallOptions): Promise<UsedConnection>;
/** Change a connection. Settings are checked by the version of the type that the connection then has. Needs connections.manage. `PATCH /api/v1/connections/{key}` */
update(key: string, body: ConnectionChange, options: CallOptions & Matched): Promise<Connection>;
/** Report whether the other system still takes a connection. By an agent whose spec names it; to all others each key is `connection_not_assigned`. A report that was checked before the last one, or before the credential was given, is refused. `connection.status_changed` is written where it has expired. Needs connections.status.write. `PUT /api/v1/connections/{key}/status` */
reportStatus(key: string, body: ConnectionReport, options?: CallOptions): Promise<Connection>;
/** Get the address at which a person agrees to connect by OAuth. It serves once, until `expiresAt`; asking again voids the one before. The address that providers call back is CP_OAUTH_REDIRECT_URI. Needs connections.manage. `POST /api/v1/connections/{key}:authorize` */
authorize(key: string, body?: ConnectionAuthorizationRequest, options?: CallOptions): Promise<ConnectionAuthorization>;
/** Connect by a token. Needs connections.manage. `PUT /api/v1/connections/{key}/token` */
putToken(key: string, body: ConnectionToken, options?: CallOptions): Promise<Connection>;
/** Revoke a connection: its credential is deleted first. Revoking a revoked one changes nothing. It may be connected again. Needs connections.manage. `POST /api/v1/connections/{key}:revoke` */
revoke(key: string, body?: ConnectionRevocation, options?: CallOptions): Promise<Connection>;
}

export interface ConnectionTypesApi {
/** Publish a version of a connection type. It says how members of a family of systems are connected. Versions never change: 200 when this one says the same already, else 201. `invalid_connection_type` names the field. Needs connections.manage. `POST /api/v1/connection-types` */
publish(body: ConnectionTypeRequest, options?: CallOptions): Promise<ConnectionType>;
/** List versions of connection types, newest first. Needs connections.read. `GET /api/v1/connection-types` */
list(query?: {
key?: string;
status?: string;
/** Only what this package has installed. */
package?: string;
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<ConnectionTypePage, ConnectionType>;
/** Read a version of a connection type. Needs connections.read. `GET /api/v1/connection-types/{key}` */
get(key: string, options?: CallOptions): Promise<ConnectionType>;
/** Deprecate or disable a version of a connection type. A deprecated one serves the connections that it has, and no new ones; by a disabled one nobody connects by OAuth any more. Needs connections.manage. `PATCH /api/v1/connection-types/{key}` */
update(key: string, body: ConnectionTypeChange, options: CallOptions & Matched): Promise<ConnectionType>;
/** Set the application with which a type is known to its provider. The secret is sent to the scheme, host and port of the token address for which it was entered, and to no other. Needs connections.manage. `PUT /api/v1/connection-types/{key}/oauth-app` */
putOauthApp(key: string, body: OauthAppRequest, options?: CallOptions): Promise<OauthApp>;
/** Read whether a type has an application, never its secret. Needs connections.read. `GET /api/v1/connection-types/{key}/oauth-app` */
getOauthApp(key: string, options?: CallOptions): Promise<OauthApp>;
}

export interface IamBindingsApi {
/** Close the login of an identity. Revoking a revoked one changes nothing; binding the identity again admits it again. Needs principals.write. `POST /api/v1/iam-bindings/{id}:revoke` */
revoke(id: string, options?: CallOptions): Promise<IamBinding>;
}

export interface ApiKeysApi {
/** Revoke a key. Revoking a revoked one changes nothing. Needs principals.write. `POST /api/v1/api-keys/{id}:revoke` */
revoke(id: string, options?: CallOptions): Promise<ApiKey>;
}

export interface DelegationsApi {
/** Let an agent act for a human. Can be called by the human who delegates, or by a human with `admin`. Anybody else gets 403 `permission_denied`, also with `delegations.manage`. Needs delegations.manage. `POST /api/v1/delegations` */
create(body: DelegationRequest, options?: CallOptions): Promise<Delegation>;
/** List delegations, newest first. Needs delegations.manage. `GET /api/v1/delegations` */
list(query?: {
/** How many items at most. */
limit?: number;
/** The `nextCursor` of the page before; absent for the first page. */
cursor?: string;
}, options?: CallOptions): Paged<DelegationPage, Delegation>;
/** Revoke a delegation. Its sessions end at their next touch. Revoking a revoked one changes nothing. Needs delegations.manage. `POST /api/v1/delegations/{id}:revoke` */
revoke(id: string, options?: CallOptions): Promise<Delegation>;
}

export interface AuthzApi {
/** Ask which actions the caller may do. About the caller itself; nothing is written. The results are in the order of the checks. Each says by which permission, who grants it, and what narrows it. `POST /api/v1/authz:check` */
check(body: ActionChecks, options?: CallOptions): Promise<ActionCheckResults>;
}

export interface BootstrapApi {
/** Found the installation: its tenant, its administrator and a first key. Once only, with the bootstrap secret. Two at once give one tenant. `POST /api/v1/bootstrap` */
bootstrap(body: BootstrapRequest, options?: CallOptions): Promise<BootstrappedTenant>;
}

/** Every operation of coordination, by what it is about. */
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
readonly connections: ConnectionsApi;
readonly connectionTypes: ConnectionTypesApi;
readonly iamBindings: IamBindingsApi;
readonly apiKeys: ApiKeysApi;
readonly delegations: DelegationsApi;
readonly authz: AuthzApi;
readonly bootstrap: BootstrapApi;
}
