// GENERATED from the OpenAPI documents by: npm run generate

export type AccessRole = {
/** `null` for a built-in role. */
id: Uuid | null;
key: string;
name: string;
description: string;
permissions: string[];
/** What its permissions allow, in words. */
allows: string[];
isBuiltIn: boolean;
version: number;
createdAt: Timestamp | null;
updatedAt: Timestamp | null;
};

export type AccessRoleChange = {
name?: string | null;
description?: string | null;
permissions?: string[] | null;
};

export type AccessRolePage = {
items: AccessRole[];
nextCursor: string | null;
};

export type AccessRoleRequest = {
key: string;
name: string;
description?: string;
permissions: string[];
};

export type ActionCheck = {
action: "approve" | "reject" | "suspend" | "resume" | "cancel" | "request-cancel" | "enable" | "disable" | "update-state";
resourceType: "approval" | "process_instance" | "run" | "rule" | "agent" | "principal";
resourceId: string;
};

export type ActionCheckResult = {
action: "approve" | "reject" | "suspend" | "resume" | "cancel" | "request-cancel" | "enable" | "disable" | "update-state";
resourceType: "approval" | "process_instance" | "run" | "rule" | "agent" | "principal";
resourceId: string;
allowed: boolean;
reason: {
code: string;
message: string;
details: Record<string, unknown>;
} | null;
explanation: ActionExplanation;
};

export type ActionCheckResults = {
results: ActionCheckResult[];
};

export type ActionChecks = {
checks: ActionCheck[];
};

export type ActionExplanation = {
/** The permission that allows the action; if none does, one that would. */
permission: string;
/** Who grants it; null if no one does. */
source: "binding" | "api_key" | "decision_point" | null;
/** The binding or key that authenticated the caller. */
credentialId: Uuid | null;
/** Whether only `admin` covers it. */
byAdmin: boolean;
/** The role that an approval requires; it makes the caller eligible and grants nothing. */
roleId: Uuid | null;
/** `token_scope`: excluded by the token. `decision_point`: denied there. `visibility`: own workspaces only. */
narrowedBy: Array<"token_scope" | "decision_point" | "visibility">;
/** The decision of the decision point, if one was requested. */
decision: {
resource: string;
reasonCode: string;
decisionId: string | null;
} | null;
};

export type ActionUsage = {
inputTokens: number | null;
outputTokens: number | null;
costMicros: number | null;
currency: string | null;
};

export type AdapterRebuild = {
/** The cursor at which the delivery restarts; by default the oldest event that still exists. */
cursor?: string | null;
reason?: string;
};

export type AdapterRedrive = {
reason?: string;
};

export type AdapterState = {
consumer: string;
tenantId: Uuid;
/** Everything up to this position is confirmed; `null` before the first cycle. */
cursor: string | null;
/** Stable events after the cursor, at most 1000. */
lagEvents: number | null;
/** Whether the count was cut off. */
lagCapped: boolean;
parked: boolean;
parkedAt: Timestamp | null;
parkedReason: string | null;
/** The first event that is not confirmed. */
parkedEventId: Uuid | null;
/** Consecutive failed attempts at this position. */
failureCount: number;
nextAttemptAt: Timestamp | null;
updatedAt: Timestamp | null;
/** Events that the memory service confirmed. */
deliveredTotal: number;
/** Confirmed events that it already had. */
duplicatesTotal: number;
failuresTotal: number;
redrivesTotal: number;
lastDeliveryAt: Timestamp | null;
journal: {
journalFloorCursor: string;
archiveFloorCursor: string;
};
};

export type Admission = {
principal: Principal;
binding: IamBinding;
};

export type AdmissionRequest = {
issuer: string;
iamTenantId: Uuid;
iamPrincipalId: Uuid;
displayName: string;
email?: string | null;
/** The key or the id of an access role. */
accessRole: string;
visibility?: "tenant" | "members";
};

export type AdmissionRule = {
id: Uuid;
tenantId: Uuid;
issuer: string;
iamTenantId: Uuid;
identityProvider: string;
accessRole: string;
createdAt: Timestamp;
updatedAt: Timestamp;
};

export type AdmissionRulePage = {
items: AdmissionRule[];
nextCursor: string | null;
};

export type AdmissionRuleRequest = {
/** The key or the id of an access role without `admin`. */
accessRole: string;
};

export type Agent = {
id: Uuid;
tenantId: Uuid;
key: string;
displayName: string;
status: "active" | "retired";
state: "running" | "stopped";
replicas: number;
currentRevision: number;
/** The principal of the agent, set when an identity is linked. */
principalId: Uuid | null;
workspaceId: Uuid | null;
retiredAt: Timestamp | null;
retiredBy: Uuid | null;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
revision: AgentRevision;
};

export type AgentExecutorSpec = {
kind: string;
params: Record<string, unknown>;
/** At most 65536 characters. */
instructions: string;
image?: string;
};

export type AgentExecutorSpecInput = {
kind: string;
params?: Record<string, unknown>;
/** At most 65536 characters. */
instructions?: string;
image?: string;
};

export type AgentIdentity = {
issuer: string;
iamTenantId: Uuid;
iamPrincipalId: Uuid;
};

export type AgentIdentityReplacement = {
issuer: string;
iamTenantId: Uuid;
iamPrincipalId: Uuid;
reason: string;
};

export type AgentIdentitySpec = {
kind: "agent" | "service";
/** Slugs of roles of the tenant. */
roles: string[];
permissions: string[];
/** Names of capabilities. */
capabilities: string[];
/** Scopes that its service account in the identity service may request. */
iam?: {
audiences: string[];
scopeCeiling: string[];
};
};

export type AgentIdentitySpecInput = {
kind: "agent" | "service";
/** Slugs of roles of the tenant. */
roles?: string[];
permissions: string[];
/** Names of capabilities. */
capabilities?: string[];
/** Scopes that its service account in the identity service may request. */
iam?: {
audiences: string[];
scopeCeiling: string[];
};
};

export type AgentPlacementSpec = "none" | {
/** Labels that a node must have. */
requires: string[];
/** Names of secrets of the agent. */
secrets: string[];
resources: {
cpus?: number;
memoryMb?: number;
};
replicas: number;
drainSeconds: number;
};

export type AgentPlacementSpecInput = "none" | {
/** Labels that a node must have. */
requires?: string[];
/** Names of secrets of the agent. */
secrets?: string[];
resources?: {
cpus?: number;
memoryMb?: number;
};
replicas?: number;
drainSeconds?: number;
};

export type AgentReason = {
code: string;
message: string | null;
};

export type AgentRequest = {
key: string;
spec: AgentSpecInput;
/** The package that the spec comes from, recorded in the revision. `/packages:record` links the agent to it. */
package?: PackageName;
};

export type AgentRetirement = {
reason: string;
};

export type AgentRevision = {
id: Uuid;
agentId: Uuid;
agentKey: string;
revision: number;
spec: AgentSpec;
/** Hash of the spec in canonical form, without `state` and `placement.replicas`. */
specHash: string;
createdBy: Uuid;
createdAt: Timestamp;
};

export type AgentRevisionSource = {
kind: "package" | "manual" | "unknown";
package?: PackageName;
};

export type AgentSecret = {
name: string;
updatedAt: Timestamp;
updatedBy: Uuid;
};

export type AgentSecretPage = {
items: AgentSecret[];
nextCursor: string | null;
};

export type AgentSecretRequest = {
value: string;
};

export type AgentSkillsSpec = {
protocols: Array<"mcp" | "http" | "local">;
/** Entrypoints, module:function. */
local: string[];
httpOrigins: string[];
mcpOrigins: string[];
audiences: string[];
concurrency: number;
/** The skills that the agent may request, as name@version. */
invoke: string[];
};

export type AgentSkillsSpecInput = {
protocols?: Array<"mcp" | "http" | "local">;
/** Entrypoints, module:function. */
local?: string[];
httpOrigins?: string[];
mcpOrigins?: string[];
audiences?: string[];
concurrency?: number;
/** The skills that the agent may request, as name@version. */
invoke?: string[];
};

export type AgentSpec = {
/** At most 200 characters. */
displayName: string;
/** At most 2000 characters. */
description?: string;
identity: AgentIdentitySpec;
work?: AgentWorkSpec;
executor?: AgentExecutorSpec;
workingCopy?: Record<string, unknown>;
skills?: AgentSkillsSpec;
connections: string[];
placement?: AgentPlacementSpec;
state: "running" | "stopped";
};

export type AgentSpecInput = {
/** At most 200 characters. */
displayName: string;
/** At most 2000 characters. */
description?: string;
identity: AgentIdentitySpecInput;
work?: AgentWorkSpecInput;
executor?: AgentExecutorSpecInput;
workingCopy?: Record<string, unknown>;
skills?: AgentSkillsSpecInput;
connections?: string[];
placement?: AgentPlacementSpecInput;
state?: "running" | "stopped";
};

export type AgentStateChange = {
state?: "running" | "stopped" | null;
replicas?: number | null;
};

export type AgentStatus = {
/** `unknown` before the first report. */
phase: "unknown" | "pending" | "running" | "waiting_for_node" | "crash_looping" | "node_unavailable" | "stopped";
reason: AgentReason | null;
observedRevision: number | null;
node: string | null;
instances: {
desired: number;
ready: number;
} | null;
observedAt: Timestamp | null;
reportedAt: Timestamp | null;
reportedBy: Uuid | null;
/** Time of the last report, or of the last heartbeat of a session of its principal. */
lastSeenAt: Timestamp | null;
};

export type AgentStatusReport = {
phase: "pending" | "running" | "waiting_for_node" | "crash_looping" | "node_unavailable" | "stopped";
/** The reason for the phase; suspected secrets in the message are not stored. */
reason?: {
code: string;
message?: string;
} | null;
observedRevision?: number | null;
node?: string | null;
instances: {
desired: number;
ready: number;
};
/** A time in the future, by the clock of the service, is stored as now. */
observedAt: Instant;
};

export type AgentValidation = {
key: string;
specHash: string;
currentRevision: number | null;
wouldCreateRevision: boolean;
wouldChangeState: boolean;
};

export type AgentWorkSpec = {
/** An id, or a slug that is unique in the tenant. */
workspace?: Uuid | string;
project?: Uuid;
includeSubprojects: boolean;
onlyAssigned: boolean;
/** Empty for all types. */
taskTypes: string[];
};

export type AgentWorkSpecInput = {
/** An id, or a slug that is unique in the tenant. */
workspace?: Uuid | string;
project?: Uuid;
includeSubprojects?: boolean;
onlyAssigned?: boolean;
/** Empty for all types. */
taskTypes?: string[];
};

export type ApiKey = {
id: Uuid;
principalId: Uuid;
keyPrefix: string;
permissions: string[];
expiresAt: Timestamp | null;
lastUsedAt: Timestamp | null;
revokedAt: Timestamp | null;
createdAt: Timestamp;
};

export type ApiKeyRequest = {
permissions: string[];
expiresAt?: Instant | null;
};

export type AppliedPackage = {
planHash: string;
catalogEtag: string;
applied: Array<{
kind: "TaskType" | "Agent" | "Calendar" | "Process" | "WorkRule" | "View";
key: string;
action: "create" | "update" | "rename" | "restore" | "retire" | "unchanged";
version: number | null;
}>;
};

export type Approval = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid | null;
taskId: Uuid | null;
artifactId: Uuid | null;
requestedByPrincipalId: Uuid;
status: "pending" | "approved" | "rejected" | "cancelled";
gate: boolean;
/** The verification attempt that requests it. */
verificationId: Uuid | null;
/** The check of that attempt. */
checkKey: string | null;
requiredRoleId: Uuid | null;
assignedPrincipalId: Uuid | null;
excludedPrincipals: Uuid[];
decisionByPrincipalId: Uuid | null;
decisionAt: Timestamp | null;
/** The requester's question. */
comment: string;
/** The comment of the principal that decided or cancelled the approval. */
decisionComment: string | null;
/** Progress of the actions that the task's type declares for this decision. */
outcomeStatus: "pending" | "deferred" | "executed" | "failed" | null;
/** The approval that this one replaces, because its subject was changed after the decision. */
supersedesApprovalId: Uuid | null;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
/** The subject as recorded with the request; after the decision, the decided subject. `null` for approvals requested before subjects were recorded. */
subject: ApprovalSubject | null;
/** The subject of the request, if a later one was decided. */
requestedSubject: ApprovalSubject | null;
/** Whether the task, or the outcome of the decision, has changed since the subject was recorded. */
subjectChanged: boolean;
/** Fields of the snapshot that have another value now, such as `customFields`. */
changedFields: string[];
/** The current subject, if it has changed. Also null if it is now larger than 64 KiB. */
current: ApprovalSubject | null;
};

export type ApprovalCancellation = {
comment?: string | null;
};

export type ApprovalDecision = {
comment?: string | null;
/** Digest of the subject shown to the decider. Required if the subject has changed since the request. */
subjectDigest?: string | null;
};

export type ApprovalOutcome = {
approvalId: Uuid;
/** `null` if no outcome is declared. */
outcome: "approved" | "rejected" | null;
outcomeStatus: "pending" | "deferred" | "executed" | "failed" | null;
attempts: number;
lastError: {
code: string;
details: Record<string, unknown>;
} | null;
nextAttemptAt: Timestamp | null;
actions: Array<{
index: number;
action: string;
status: "executed" | "failed" | "skipped" | "not_executed";
attempts: number;
result: Record<string, unknown> | null;
error: {
code: string;
details: Record<string, unknown>;
} | null;
reactsTo: number | null;
when: string | null;
}>;
};

export type ApprovalRequest = {
task?: string | null;
artifactId?: Uuid | null;
workspaceId?: Uuid | null;
requiredRoleId?: Uuid | null;
assignedPrincipalId?: Uuid | null;
comment?: string;
gate?: boolean;
excludedPrincipals?: Uuid[] | null;
};

export type ApprovalSubject = {
taskVersion: number | null;
artifactSha256: string | null;
/** SHA-256 of the snapshot's canonical JSON: `sha256:` and 64 hexadecimal digits. */
digest: string;
snapshot: ApprovalSubjectSnapshot;
};

export type ApprovalSubjectSnapshot = {
task: {
title: string;
description: string;
typeKey: string;
typeVersion: number;
priority: "critical" | "high" | "medium" | "low";
startDate: Timestamp | null;
dueDate: Timestamp | null;
customFields: Record<string, unknown>;
acceptance: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
when?: string[] | null;
addedByPrincipalId: Uuid | null;
}>;
} | null;
artifact: {
type: string;
name: string;
digest: string | null;
} | null;
/** The actions that the task's type declares for the decision, with resolved inputs, and the calls with external effects that later checks of the verification make after it. Expressions of `$.approval` and `$.invocation` remain unresolved until then. Null if nothing is declared. */
outcome: {
approved: Array<Record<string, unknown>>;
rejected: Array<Record<string, unknown>>;
} | null;
};

export type Artifact = {
id: Uuid;
tenantId: Uuid;
createdByPrincipalId: Uuid;
workspaceId: Uuid | null;
taskId: Uuid | null;
runId: Uuid | null;
type: string;
name: string;
uri: string | null;
content: Record<string, unknown> | null;
supersedesArtifactId: Uuid | null;
metadata: Record<string, unknown>;
contentState: "none" | "stored" | "purged";
sizeBytes: number | null;
mediaType: string | null;
/** Digest of the stored bytes, 64 hexadecimal digits. */
sha256: string | null;
/** The version of the registered type against which the record was validated. */
typeVersion: number | null;
createdAt: Timestamp;
};

export type ArtifactPage = {
items: Artifact[];
nextCursor: string | null;
};

export type ArtifactType = {
id: Uuid;
tenantId: Uuid;
key: string;
version: number;
displayName: string;
description: string;
metadataSchema: Record<string, unknown>;
mediaTypes: string[];
/** The maximum size of the content; null applies the limit of the service. */
maxBytes: number | null;
createdBy: Uuid;
createdAt: Timestamp;
package: PackageLink | null;
};

export type ArtifactTypePage = {
items: ArtifactType[];
nextCursor: string | null;
};

export type ArtifactUpload = {
/** The value for `contentRef` in artifacts of the same uploader. */
contentRef: string;
sizeBytes: number;
mediaType: string;
sha256: string;
expiresAt: Timestamp;
};

export type Assertion = {
assert: "entity";
entity: {
key: string;
type: string;
title?: string | null;
properties?: Record<string, unknown>;
};
} | {
assert: "fact";
fact: {
subject: string;
predicate: string;
object: string | number | boolean;
confidence?: number | null;
};
};

export type AuthzDifference = {
at: Timestamp;
/** The operation that checked the permission. */
endpoint: string;
principalId: Uuid;
action: string;
/** The object of the check: `task:<id>`. */
resource: string;
/** The decision of this service, which applied. */
local: boolean;
/** The decision of the decision point. */
point: boolean;
reasonCode: string;
decisionId: string | null;
};

export type AuthzDifferences = {
mode: "local" | "shadow" | "policy";
/** The newest first. */
items: AuthzDifference[];
nextCursor: null;
/** The total since this process started, or since the tenant's differences were dropped in favor of other tenants. */
total: number;
};

export type BootstrapRequest = {
tenantSlug: string;
tenantName: string;
adminDisplayName: string;
tenantId?: Uuid;
iamBinding?: {
issuer: string;
iamTenantId: Uuid;
iamPrincipalId: Uuid;
} | null;
};

export type BootstrappedTenant = {
tenant: Tenant;
adminPrincipal: Principal;
apiKey: IssuedApiKey;
iamBinding: IamBinding | null;
};

export type BoundIdentity = {
bindingId: Uuid;
issuer: string;
iamTenantId: Uuid;
iamPrincipalId: Uuid;
status: "active" | "disabled";
lastUsedAt: Timestamp | null;
};

export type Calendar = {
id: Uuid;
tenantId: Uuid;
key: string;
version: number;
latestVersion: number;
/** Hash of the spec in canonical form. */
calendarHash: string;
spec: CalendarSpec;
provisionalYears: number[];
/** Status of the key, which all its versions share. */
status: "active" | "retired";
retired: {
at: Timestamp;
by: Uuid;
reason: string;
} | null;
createdBy: Uuid;
createdAt: Timestamp;
package: PackageLink | null;
};

export type CalendarComputation = {
from: Instant;
addWorkingMinutes: number;
} | {
from: Instant;
to: Instant;
};

export type CalendarComputed = {
to: Timestamp;
} | {
/** Whole minutes; negative when `to` precedes `from`. */
workingMinutes: number;
};

export type CalendarPage = {
items: Calendar[];
nextCursor: string | null;
};

export type CalendarRequest = {
key: string;
/** At most 65536 bytes of JSON. */
spec: CalendarSpecInput;
};

export type CalendarRetirement = {
reason: string;
};

export type CalendarSpec = {
displayName: string;
/** A name of the IANA time zone database. */
timezone: string;
/** Working days of the week, Monday is 1. */
weekend: number[];
/** Without hours, the calendar counts days only. */
workingHours: WorkingHours | null;
years: CalendarYear[];
};

export type CalendarSpecInput = {
displayName: string;
/** A name of the IANA time zone database. */
timezone: string;
/** Working days of the week, Monday is 1. */
weekend?: number[];
/** Without hours, the calendar counts days only. */
workingHours?: WorkingHoursInput | null;
years: CalendarYearInput[];
};

export type CalendarYear = {
year: number;
/** Whether it may still change. */
provisional: boolean;
/** The publication of its days. */
source: string | null;
holidays: string[];
/** Working days that would be days off by their day of the week. */
workdays: string[];
shortDays: string[];
};

export type CalendarYearInput = {
year: number;
/** Whether it may still change. */
provisional?: boolean;
/** The publication of its days. */
source?: string | null;
holidays?: string[];
/** Working days that would be days off by their day of the week. */
workdays?: string[];
shortDays?: string[];
};

export type Capability = {
id: Uuid;
tenantId: Uuid;
name: string;
description: string;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
};

export type CapabilityAssignment = {
id: Uuid;
principalId: Uuid;
createdAt: Timestamp;
capability: Capability;
metadata: Record<string, unknown>;
};

export type CapabilityAssignmentPage = {
items: CapabilityAssignment[];
nextCursor: string | null;
};

export type CapabilityAssignmentRequest = {
capabilityId: Uuid;
metadata?: Record<string, unknown>;
};

export type CapabilityChange = {
name?: string | null;
description?: string | null;
};

export type CapabilityPage = {
items: Capability[];
nextCursor: string | null;
};

export type CapabilityRequest = {
name: string;
description?: string;
};

export type Checkpoint = {
id: Uuid;
tenantId: Uuid;
runId: Uuid;
taskId: Uuid;
createdByPrincipalId: Uuid;
seq: number;
kind: string;
data: Record<string, unknown>;
createdAt: Timestamp;
};

export type CheckpointPage = {
items: Checkpoint[];
nextCursor: string | null;
};

export type CheckpointRequest = {
/** 1 to 100 characters. */
kind: string;
data?: Record<string, unknown>;
};

export type ChildGrant = {
permissions: string[];
capabilities: string[];
skills: string[];
};

/** Omitted kinds are inherited; `[]` grants no rights. */
export type ChildGrantRequest = {
permissions?: string[] | null;
capabilities?: string[] | null;
skills?: string[] | null;
};

export type ChildHandle = {
id: Uuid;
tenantId: Uuid;
parentRunId: Uuid;
parentTaskId: Uuid;
childTaskId: Uuid;
childTaskPublicId: string;
childRunId: Uuid | null;
correlationId: string;
grant: ChildGrant;
cancellationPolicy: "cascade_cooperative" | "detach";
depth: number;
handleVersion: number;
status: "pending" | "running" | "succeeded" | "failed" | "cancelled" | "suspended" | "revoked" | "expired";
expiresAt: Timestamp;
revokedAt: Timestamp | null;
revokeReason: string | null;
createdAt: Timestamp;
result: ChildResult | null;
};

export type ChildHandlePage = {
items: ChildHandle[];
nextCursor: string | null;
hasMore: boolean;
};

export type ChildHandleResult = {
childHandle: ChildHandle;
};

export type ChildHandleRevocation = {
reason?: string;
cancelChild?: boolean;
};

export type ChildResult = {
outcome: "succeeded" | "failed" | "cancelled";
summary: string;
data: Record<string, unknown>;
artifactRefs: Uuid[];
resultHash: string;
recordedAt: Timestamp;
};

export type Claim = {
id: Uuid;
claimId: Uuid;
tenantId: Uuid;
taskId: Uuid;
sessionId: Uuid;
holderId: Uuid;
status: "active" | "released" | "stale";
fencingToken: number;
intent: string;
acquiredAt: Timestamp;
heartbeatAt: Timestamp;
expiresAt: Timestamp;
releasedAt: Timestamp | null;
releaseReason: string | null;
};

export type ClaimCheck = {
live: boolean;
reason: "live" | "released" | "expired" | "superseded" | "session_inactive";
taskId: Uuid;
holderId: Uuid;
expiresAt: Timestamp;
};

export type ClaimCheckRequest = {
fencingToken: number;
};

export type ClaimHeartbeat = {
ttlSeconds?: number | null;
};

export type ClaimNextRequest = {
sessionId: Uuid;
ttlSeconds?: number | null;
intent?: string;
count?: number;
workspaceId?: Uuid | null;
includeDescendants?: boolean | null;
projectId?: Uuid | null;
includeSubprojects?: boolean | null;
assigneeId?: Uuid | null;
/** Overrides assigneeId. */
assignedToMe?: boolean | null;
/** Also claim tasks assigned to others; all are then ordered by priority, then age. */
includeAssigned?: boolean | null;
};

export type ClaimPage = {
items: Claim[];
nextCursor: string | null;
};

export type ClaimReason = {
code: string;
since: Timestamp | null;
remedies: Remedy[];
};

export type ClaimRelease = {
reason?: string;
};

export type ClaimRequest = {
sessionId: Uuid;
ttlSeconds?: number | null;
intent?: string;
};

export type ClaimedSkillInvocation = {
invocation: SkillInvocation;
skill: {
id: Uuid;
name: string;
version: string;
protocol: "mcp" | "http" | "local" | "opencode" | "custom";
sideEffects: "none" | "external_read" | "external_write" | null;
riskLevel: "low" | "medium" | "high" | null;
contract: Record<string, unknown>;
};
};

export type ConfigOrigin = {
source: "template" | "ancestor" | "revision" | "profile";
/** `null` for an ancestor that the caller may not see. */
projectId: Uuid | null;
/** The layer of that project. */
layer: "template" | "revision" | "profile";
/** Set when the layer is a template. */
templateKey: string | null;
templateVersion: number | null;
/** Set when the layer is a revision. */
revision: number | null;
};

export type ConfigRevision = {
id: Uuid;
tenantId: Uuid;
projectId: Uuid;
revision: number;
config: Record<string, unknown>;
/** The context against which the revision was validated. */
validation: {
templateId: Uuid;
templateKey: string;
templateVersion: number;
checkedAt: Timestamp;
governanceCeiling: Record<string, unknown>;
};
comment: string;
createdBy: Uuid;
createdAt: Timestamp;
/** Time of the last activation. */
activatedAt: Timestamp | null;
};

export type ConfigRevisionPage = {
items: ConfigRevision[];
nextCursor: string | null;
};

export type ConfigRevisionRequest = {
config?: Record<string, unknown>;
comment?: string;
};

export type Connection = {
id: Uuid;
key: string;
type: string;
typeVersion: number;
displayName: string;
account: string | null;
auth: "oauth2" | "token" | null;
status: "pending" | "active" | "expired" | "revoked";
statusReason: string | null;
statusMessage: string | null;
settings: Record<string, unknown>;
/** Path of the credential in the secret store; in an external one, below `<mount>/data/`. */
secretRef: string | null;
expiresAt: Timestamp | null;
connectedBy: Uuid | null;
connectedAt: Timestamp | null;
lastCheckedAt: Timestamp | null;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
version: number;
};

export type ConnectionAuthorization = {
/** Where to redirect the person; `null` in a replayed response. */
authorizeUrl: string | null;
expiresAt: Timestamp;
};

export type ConnectionAuthorizationRequest = Record<string, never>;

export type ConnectionChange = {
displayName?: string;
/** Must match the type's settingsSchema; no secrets. */
settings?: Record<string, unknown>;
typeVersion?: number;
};

export type ConnectionPage = {
items: Connection[];
nextCursor: string | null;
};

export type ConnectionReport = {
status: "active" | "expired";
/** Required for `expired`; a code, such as `token_rejected`. */
reason?: string;
/** Suspected secrets in it are not stored. */
message?: string;
/** A time in the future, by the clock of the service, is stored as now. */
checkedAt: Instant;
};

export type ConnectionRequest = {
/** The key of its type; the newest active version is used. */
type: string;
/** Defaults to the type's defaultKey, or to its key. */
key?: string;
displayName?: string;
/** Must match the type's settingsSchema; no secrets. */
settings?: Record<string, unknown>;
};

export type ConnectionRevocation = {
reason?: string;
};

export type ConnectionToken = {
account: string;
/** Stored in the secret store; no operation returns it. */
token: string;
expiresAt?: Instant;
};

export type ConnectionType = {
id: Uuid;
key: string;
version: number;
status: "active" | "deprecated" | "disabled";
spec: ConnectionTypeSpec;
/** Hash of the spec in canonical form. */
specHash: string;
createdBy: Uuid;
createdAt: Timestamp;
rowVersion: number;
package: PackageLink | null;
};

export type ConnectionTypeAccount = {
title: string;
description: string | null;
/** Pattern that the whole account must match; re2 syntax. */
pattern: string | null;
};

export type ConnectionTypeChange = {
status?: "active" | "deprecated" | "disabled" | null;
};

export type ConnectionTypeOauth = {
/** The https address to which a person is redirected. */
authorizeUrl: string;
/** The https address that exchanges the code; `{account}` is replaced by the account. */
tokenUrlTemplate: string;
/** The callback parameter that contains the account. */
accountParam: string | null;
/** How the client sends its secret. */
authStyle: "in_params" | "in_header";
scopes: string[];
};

export type ConnectionTypePage = {
items: ConnectionType[];
nextCursor: string | null;
};

export type ConnectionTypeRequest = {
key: string;
version: number;
/** Same form as the spec of the response; defects in it return 422. */
spec: Record<string, unknown>;
};

export type ConnectionTypeSpec = {
displayName: string;
description: string | null;
auth: Array<"oauth2" | "token">;
oauth2: ConnectionTypeOauth | null;
accountField: ConnectionTypeAccount | null;
/** A JSON Schema (2020-12) of type object; at most 64 KiB. Without one, settings are empty. */
settingsSchema: Record<string, unknown> | null;
/** The key of a connection that is created without one. */
defaultKey: string | null;
};

export type ContextAnswer = {
operational: OperationalContext;
/** The unchanged response of the memory service. */
memory: Record<string, unknown> | null;
memoryStatus: "ok" | "disabled" | "forbidden" | "timeout" | "unavailable";
memoryTraceId: string | null;
freshness: ContextFreshness;
warnings: string[];
instructions?: LayeredInstructions;
taskContext?: TaskContext;
};

export type ContextApproval = {
id: Uuid;
gate: boolean;
requiredRoleId: Uuid | null;
assignedPrincipalId: Uuid | null;
requestedByPrincipalId: Uuid;
comment: string;
createdAt: Timestamp;
};

export type ContextArtifact = {
id: Uuid;
type: string;
name: string;
runId: Uuid | null;
uri: string | null;
contentState: string;
mediaType: string | null;
sizeBytes: number | null;
supersedesArtifactId: Uuid | null;
createdAt: Timestamp;
};

export type ContextCheckpoint = {
id: Uuid;
tenantId: Uuid;
runId: Uuid;
taskId: Uuid;
createdByPrincipalId: Uuid;
seq: number;
kind: string;
data: Record<string, unknown>;
createdAt: Timestamp;
runAttempt: number;
};

export type ContextClaim = {
id: Uuid;
status: "active" | "released" | "stale";
fencingToken: number;
expiresAt: Timestamp;
sessionId: Uuid;
};

export type ContextFocus = {
task: FocusTask;
/** The newest 20; `null` for callers who may not read artifacts. */
artifacts: ContextArtifact[] | null;
inputs: ContextInput[];
};

export type ContextFreshness = {
currentCursor: string;
/** Memory has received the events up to this position. */
memoryCursor: string | null;
/** Events that memory has not received, at most 1000. */
memoryLagEvents: number | null;
/** Whether the count was cut off. */
memoryLagCapped: boolean;
memoryIngest: {
status: "ok" | "parked";
/** Only for callers with `events.read` who see all workspaces; `null` for others. */
lastError: string | null;
lastDeliveryAt: Timestamp | null;
/** As `lastError`. */
parkedEventId: Uuid | null;
nextAttemptAt: Timestamp | null;
};
};

export type ContextInput = {
key: string;
type: string;
from: string;
required: boolean;
artifactId: Uuid | null;
};

export type ContextPack = {
id: Uuid;
tenantId: Uuid;
taskId: Uuid;
claimId: Uuid;
createdBy: Uuid;
asOf: Timestamp;
asOfMode: "claim" | "now";
budgetTokens: number;
anchors: string[];
kinds: string[];
relations: string[];
depth: number;
strategy: string | null;
namespaces: string[];
entities: number;
facts: number;
snapshots: number;
traceId: string | null;
pack: KnownPack;
createdAt: Timestamp;
};

export type ContextProject = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid;
templateId: Uuid;
templateKey: string;
templateVersion: number;
statusKey: string;
systemStatusCategory: "planned" | "active" | "paused" | "terminal_success" | "terminal_cancelled";
ownerPrincipalId: Uuid | null;
startDate: Timestamp | null;
targetDate: Timestamp | null;
customFields: Record<string, unknown>;
settings: Record<string, unknown>;
activeConfigRevisionId: Uuid | null;
activeConfigRevision: number | null;
/** The project of the nearest ancestor workspace that has one, if the caller may see it. */
parentProjectId: Uuid | null;
status: "active" | "archived";
version: number;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
archivedAt: Timestamp | null;
effectiveConfig: {
settings: Record<string, unknown>;
views: unknown[];
governance: Record<string, unknown>;
memory: Record<string, unknown>;
inheritance: {
inheritableSettings: string[];
lockedSettings: string[];
};
};
configProvenance: {
settings: Record<string, ConfigOrigin>;
memory: Record<string, ConfigOrigin>;
governance: Record<string, ConfigOrigin>;
views: ConfigOrigin | null;
layers: Array<{
projectId: Uuid | null;
templateId: Uuid;
templateKey: string;
templateVersion: number;
revision: number | null;
/** 0 for the topmost project. */
depth: number;
}>;
lockedSettings: string[];
};
/** Its workspaces, its own first, including those of nested projects if these are included; at most 200. */
workspaceScope: Uuid[];
includeSubprojects: boolean;
};

export type ContextRequest = {
query?: string;
task?: string | null;
runId?: Uuid | null;
workspaceId?: Uuid | null;
projectId?: Uuid | null;
includeSubprojects?: boolean;
maxTokens?: number | null;
includeMemory?: boolean;
/** At most 10, of the form `type:key`. */
anchors?: string[];
strategy?: "semantic" | "exact" | "graph" | "hybrid" | "context" | "briefing" | null;
asOf?: string | null;
};

export type ContextRun = {
id: Uuid;
taskId: Uuid;
claimId: Uuid;
status: "running" | "succeeded" | "failed" | "cancelled" | "suspended";
attempt: number;
fencingToken: number;
input: Record<string, unknown> | null;
maxDurationSeconds: number | null;
maxActions: number | null;
cancelRequestedAt: Timestamp | null;
startedAt: Timestamp;
instructionsHash: string | null;
instructionsRefs: string[] | null;
};

export type ContextTask = {
id: Uuid;
publicId: string;
title: string;
description: string;
status: string;
priority: "critical" | "high" | "medium" | "low";
workspaceId: Uuid | null;
version: number;
claimEpoch: number;
};

export type ControlMessage = {
id: Uuid;
tenantId: Uuid;
runId: Uuid;
taskId: Uuid;
seq: number;
operation: "queue" | "steer" | "redirect" | "request_cancel" | "force_cancel";
status: "accepted" | "applied" | "rejected" | "superseded";
causalPosition: string;
directive: string | null;
reason: string;
safeBoundary: string | null;
idempotencyKey: string;
requestedByPrincipalId: Uuid;
acknowledgedByPrincipalId: Uuid | null;
requestId: string;
correlationId: string;
causationId: string | null;
version: number;
acceptedAt: Timestamp;
resolvedAt: Timestamp | null;
};

export type ControlMessageAcknowledgement = {
/** One of applied, rejected, superseded. */
status: string;
claimId: Uuid;
fencingToken: number;
expectedRunVersion: number;
expectedMessageVersion: number;
/** The point in the work at which the message was applied. */
safeBoundary?: string | null;
reason?: string;
};

export type ControlMessagePage = {
items: ControlMessage[];
nextCursor: string;
hasMore: boolean;
};

export type ControlMessageResult = {
controlMessage: ControlMessage;
runVersion: number;
};

export type Delegation = {
id: Uuid;
tenantId: Uuid;
humanPrincipalId: Uuid;
agentPrincipalId: Uuid;
permissions: string[];
startsAt: Timestamp;
expiresAt: Timestamp | null;
revokedAt: Timestamp | null;
createdAt: Timestamp;
};

export type DelegationPage = {
items: Delegation[];
nextCursor: string | null;
};

export type DelegationRequest = {
humanPrincipalId: Uuid;
agentPrincipalId: Uuid;
permissions?: string[];
startsAt?: Instant | null;
expiresAt?: Instant | null;
};

/** Percentiles by nearest rank; null if `count` is 0. */
export type Durations = {
count: number;
p50Seconds: number | null;
p90Seconds: number | null;
};

export type EffectiveConfig = {
projectId: Uuid;
/** Version of the project. */
version: number;
config: {
settings: Record<string, unknown>;
views: unknown[];
governance: Record<string, unknown>;
memory: Record<string, unknown>;
inheritance: {
inheritableSettings: string[];
lockedSettings: string[];
};
};
provenance: {
settings: Record<string, ConfigOrigin>;
memory: Record<string, ConfigOrigin>;
governance: Record<string, ConfigOrigin>;
views: ConfigOrigin | null;
layers: Array<{
projectId: Uuid | null;
templateId: Uuid;
templateKey: string;
templateVersion: number;
revision: number | null;
/** 0 for the topmost project. */
depth: number;
}>;
lockedSettings: string[];
};
};

export type EligibleDeciders = {
/** For `assignedPrincipalId`. The owner of the task comes first, then by name. */
people: Array<{
id: Uuid;
displayName: string;
}>;
/** For `requiredRoleId`: roles that at least one such person holds in the tenant, in the workspace of the task or in an ancestor. Sorted by slug. */
roles: Array<{
id: Uuid;
slug: string;
name: string;
}>;
/** Whether more people or roles exist than listed. */
hasMore: boolean;
};

export type EnabledPrincipal = {
id: Uuid;
tenantId: Uuid;
kind: "human" | "agent" | "service";
displayName: string;
status: "active" | "paused" | "disabled";
metadata: Record<string, unknown>;
profile: {
jobTitle: string | null;
email: string | null;
phone: string | null;
note: string | null;
};
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
liveApiKeys: number;
};

export type EntitiesPage = {
items: Array<Record<string, unknown>>;
nextCursor: string | null;
};

export type EntitiesQuery = {
workspaceId: Uuid;
kinds: string[];
where?: MemoryCondition[];
asOf?: string | null;
limit?: number;
cursor?: string | null;
include?: {
relations: "*" | string[];
direction?: "out" | "in" | "both";
limit?: number;
} | null;
};

export type Error = {
error: {
/** Stable; handle errors by it. */
code: string;
/** Human-readable; do not parse it. */
message: string;
details: Record<string, unknown>;
requestId: string;
/** The page that describes the code, if the operator has configured its address. */
docs?: string;
};
};

export type EventType = {
type: string;
/** Sent as `schemaVersion`; a new version only adds fields. */
version: number;
entityType: string;
/** JSON Schema (2020-12). It allows unknown fields, because fields may be added. */
payloadSchema: Record<string, unknown>;
};

export type EventTypePage = {
items: EventType[];
nextCursor: string | null;
};

export type ExternalReference = {
id: Uuid;
tenantId: Uuid;
entityType: "project" | "task";
entityId: Uuid;
externalSystem: string;
externalType: string;
externalId: string;
metadata: Record<string, unknown>;
version: number;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
};

export type ExternalReferencePage = {
items: ExternalReference[];
nextCursor: string | null;
};

export type ExternalReferenceRequest = {
entityType: string;
/** A UUID; of a task also its public id. */
entityId: string;
externalSystem: string;
externalType: string;
externalId: string;
metadata?: Record<string, unknown>;
};

export type FocusTask = {
id: Uuid;
publicId: string;
title: string;
description: string;
status: string;
priority: "critical" | "high" | "medium" | "low";
workspaceId: Uuid | null;
version: number;
activeClaimId: Uuid | null;
};

export type Goal = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid | null;
title: string;
desiredState: string;
criteria: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
}>;
ownerId: Uuid | null;
status: "active" | "achieved" | "abandoned";
createdFrom: {
kind: "human" | "harness" | "rule" | "parent" | "process" | "external";
ref?: string | null;
ruleId?: string | null;
evidence: Array<{
kind: "observation";
observationId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "artifact";
artifactId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "context_pack";
contextPackId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "external";
externalRef: {
system: string;
id: string;
url?: string | null;
};
check?: string | null;
note?: string | null;
}>;
};
parentGoalId: Uuid | null;
version: number;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
closedAt: Timestamp | null;
};

export type GoalChange = {
title?: string | null;
desiredState?: string | null;
criteria?: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
}> | null;
ownerId?: Uuid | null;
status?: string | null;
parentGoalId?: Uuid | null;
};

export type GoalPage = {
items: Goal[];
nextCursor: string | null;
};

export type GoalRequest = {
title: string;
desiredState?: string;
criteria?: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
}>;
ownerId?: Uuid | null;
workspaceId?: Uuid | null;
parentGoalId?: Uuid | null;
createdFrom?: {
kind: "human" | "harness" | "rule" | "parent" | "process" | "external";
ref?: string | null;
ruleId?: string | null;
evidence?: Array<{
kind: "observation";
observationId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "artifact";
artifactId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "context_pack";
contextPackId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "external";
externalRef: {
system: string;
id: string;
url?: string | null;
};
check?: string | null;
note?: string | null;
}>;
} | null;
};

export type HandedOffRun = {
run: Run;
task: Task;
checkpoint: Checkpoint;
eventCursor: string;
resume: {
taskId: Uuid;
previousRunId: Uuid;
nextAction: "claim_and_start_new_run";
};
};

export type HarnessContext = {
protocol: {
name: string;
supportedVersions: string[];
};
tenant: {
id: Uuid;
slug: string;
name: string;
};
principal: {
id: Uuid;
kind: "human" | "agent" | "service";
displayName: string;
status: "active" | "paused" | "disabled";
};
session: SessionSummary | null;
activeSessions: SessionSummary[];
activeClaims: HeldClaim[];
activeRuns: OwnRun[];
suspendedRuns: OwnRun[];
roles: Array<{
id: Uuid;
slug: string;
name: string;
workspaceId: Uuid | null;
}>;
capabilities: Array<{
id: Uuid;
name: string;
description: string;
}>;
skills: Array<{
id: Uuid;
name: string;
version: string;
protocol: string;
status: string;
executable: boolean;
}>;
pendingApprovals: PendingApproval[];
eventCursor: string;
permissions: string[];
};

export type HarnessManifest = {
runId: Uuid;
version: number;
schemaVersion: number;
reason: "run_started" | "recompile" | "provider_fallback";
/** `sha256:<hex>` of `base` as canonical JSON. */
baseHash: string;
base: Record<string, unknown>;
captured: {
eventCursor: string;
entityVersions: {
task: number;
run: number;
};
/** The context that was recorded for the claim of the run. */
contextPackId: Uuid | null;
};
/** The source of each section of `base`; null for an empty section. */
provenance: Record<string, "server" | "harness_declared">;
ephemeral: ManifestRemark[];
createdAt: Timestamp;
createdBy: Uuid;
};

export type HarnessManifestPage = {
items: HarnessManifest[];
nextCursor: string | null;
};

export type HeldClaim = {
id: Uuid;
taskId: Uuid;
sessionId: Uuid;
fencingToken: number;
expiresAt: Timestamp;
taskPublicId: string;
taskTitle: string;
taskStatus: string;
};

export type Holding = {
claimId: Uuid;
taskId: Uuid;
publicId: string;
title: string;
workspaceId: Uuid | null;
holderId: Uuid;
acquiredAt: Timestamp;
/** Null while the claim is live. */
endedAt: Timestamp | null;
endReason: string | null;
};

export type Holdings = {
from: Timestamp;
to: Timestamp;
items: Holding[];
/** Whether the period has more than 2,000 claims, of which only the newest are returned. */
isTruncated: boolean;
};

/** The database backend whose transaction, open for 1 s or longer, delays the readers of the journal. */
export type HorizonHolder = {
/** Null for a prepared transaction; see pg_prepared_xacts. */
pid: number | null;
ageSeconds: number;
database: string | null;
};

export type IamBinding = {
id: Uuid;
tenantId: Uuid;
principalId: Uuid;
issuer: string;
iamTenantId: Uuid;
iamPrincipalId: Uuid;
/** The key of the access role that the permissions follow; `null` for permissions of its own. */
accessRole: string | null;
permissions: string[];
visibility: "tenant" | "members";
status: "active" | "disabled" | "revoked";
revokedAt: Timestamp | null;
lastUsedAt: Timestamp | null;
createdAt: Timestamp;
updatedAt: Timestamp;
};

export type IamBindingPage = {
items: IamBinding[];
nextCursor: string | null;
};

export type IamBindingRequest = {
issuer: string;
iamTenantId: Uuid;
iamPrincipalId: Uuid;
/** The key or the id of an access role; exactly one of accessRole and permissions. */
accessRole?: string;
permissions?: string[];
visibility?: "tenant" | "members";
};

export type IdentityAdministrationToken = {
id: Uuid;
/** Sent to identity as `Authorization: Bearer`. It is in this response only. */
token: string;
/** The tenant in identity: its administration is below `/tenants/{tenantId}`. */
tenantId: Uuid;
/** At most 300 seconds after the sign-in. */
expiresAt: Timestamp;
};

/** RFC 3339 with any offset; without one, UTC. A date alone means its first moment in UTC. */
export type Instant = string;

export type Instructions = {
layers: Array<{
source: "taskType";
ref: string;
version: number;
text: string;
}>;
hash: string | null;
};

export type InvitationMail = {
id: Uuid;
principalId: Uuid;
email: string;
/** It is no longer sent after this time. */
expiresAt: Timestamp;
};

export type InvitationMailRequest = {
/** The invited person, to whose e-mail address in the profile the link is sent. */
principalId: Uuid;
/** The secret of the link, as identity returned it. */
token: string;
};

export type IssuedApiKey = {
id: Uuid;
principalId: Uuid;
keyPrefix: string;
permissions: string[];
expiresAt: Timestamp | null;
lastUsedAt: Timestamp | null;
revokedAt: Timestamp | null;
createdAt: Timestamp;
key: string | null;
};

export type JournalArchiving = {
/** 0 if consumers have not confirmed any further event. */
archived: number;
/** The end of the archive. */
journalFloorCursor: string;
/** The beginning of the journal: events up to here are deleted. */
archiveFloorCursor: string;
minAgeSeconds: number;
};

/** The journal continued in a new epoch after a failover or a restore within a day, or readers of a lost history have appeared. */
export type JournalEpoch = {
beganAt: Timestamp | null;
/** restart, another_cluster, restored or requested. */
reason: string | null;
/** Refused cursors of another history, since this process started. */
cursorsRefused: number;
};

export type JournalEvent = {
/** Order within a transaction; not a cursor. */
sequence: number;
/** Delivery is at least once: detect repeats by this id. */
id: Uuid;
tenantId: Uuid;
type: string;
schemaVersion: number;
entityType: string;
entityId: Uuid;
workspaceId: Uuid | null;
actorId: Uuid | null;
iamActorId: Uuid | null;
sessionId: Uuid | null;
correlationId: string | null;
causationId: string | null;
requestId: string | null;
traceRunId: string | null;
payload: Record<string, unknown>;
occurredAt: Timestamp;
/** The position of this event; opaque. */
cursor: string;
};

export type JournalEventPage = {
items: JournalEvent[];
/** The start of the next page; never null. */
nextCursor: string;
hasMore: boolean;
/** For `before`, in requests for older events; null at the beginning. */
prevCursor?: string | null;
};

export type JournalPruning = {
pruned: number;
/** The beginning of the journal: events up to here are deleted. */
archiveFloorCursor: string;
};

export type JournalRetention = {
/** The minimum age of events; CP_JOURNAL_RETENTION_MIN_AGE_SECONDS by default. */
beforeSeconds?: number;
/** The maximum number of events, oldest first. */
maxEvents?: number;
};

export type KnowledgeDocument = {
workspaceId: Uuid;
naturalKey: string;
title: string;
type?: string;
chunks: Array<{
text: string;
heading?: string | null;
order?: number | null;
}>;
links?: Array<{
kind: string;
key: string;
rel: string;
}>;
meta?: Record<string, unknown> | null;
};

export type KnowledgePack = Record<string, unknown>;

export type KnowledgePacksRequest = {
packs: string[];
strict?: boolean;
};

export type KnowledgeSnapshot = {
workspaceId: Uuid;
pack?: string | null;
source: string;
scope?: string | null;
snapshotId: string;
/** RFC 3339 with an offset. */
observedAt: string;
entities: Array<Record<string, unknown>>;
relations: Array<Record<string, unknown>>;
expectedState?: string | null;
};

export type KnownPack = {
entities: Array<Record<string, unknown>>;
facts: Array<Record<string, unknown>>;
snapshots: Array<Record<string, unknown>>;
};

export type LaunchedChild = {
childHandle: ChildHandle;
childTask: Task;
handleToken: string | null;
};

export type LayeredInstructions = {
layers: Array<{
source: "platform" | "project" | "taskType";
ref: string;
version: number;
text: string;
}>;
/** `sha256:<hex>` of the texts; null without instructions. */
hash: string | null;
};

export type LeaseStatistics = {
from: string;
to: string;
timeZone: string;
/** Claims that ended because their lease, or that of their session, expired. */
lost: number;
/** Writes refused with `stale_claim` or `run_not_active` for a claim or run of the writer itself. */
refusedWrites: number;
days: Array<{
date: string;
lost: number;
refusedWrites: number;
}>;
/** The 100 principals with the most lost leases, then refused writes. */
holders: Array<{
principalId: Uuid;
lost: number;
refusedWrites: number;
}>;
};

export type ListedAgent = {
id: Uuid;
tenantId: Uuid;
key: string;
displayName: string;
status: "active" | "retired";
state: "running" | "stopped";
replicas: number;
currentRevision: number;
/** The principal of the agent, set when an identity is linked. */
principalId: Uuid | null;
workspaceId: Uuid | null;
retiredAt: Timestamp | null;
retiredBy: Uuid | null;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
observedStatus?: AgentStatus;
};

export type ListedAgentPage = {
items: ListedAgent[];
nextCursor: string | null;
};

export type ListedAgentRevision = {
id: Uuid;
agentId: Uuid;
agentKey: string;
revision: number;
spec: AgentSpec;
/** Hash of the spec in canonical form, without `state` and `placement.replicas`. */
specHash: string;
createdBy: Uuid;
createdAt: Timestamp;
/** Origin of the revision; unknown for the oldest ones. */
source: AgentRevisionSource;
/** Whether it is the current one. */
active: boolean;
/** Fields that differ from the previous revision, such as `identity.permissions`; `null` for the first. */
changedFields: string[] | null;
};

export type ListedAgentRevisionPage = {
items: ListedAgentRevision[];
nextCursor: string | null;
};

export type ListedApproval = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid | null;
taskId: Uuid | null;
artifactId: Uuid | null;
requestedByPrincipalId: Uuid;
status: "pending" | "approved" | "rejected" | "cancelled";
gate: boolean;
/** The verification attempt that requests it. */
verificationId: Uuid | null;
/** The check of that attempt. */
checkKey: string | null;
requiredRoleId: Uuid | null;
assignedPrincipalId: Uuid | null;
excludedPrincipals: Uuid[];
decisionByPrincipalId: Uuid | null;
decisionAt: Timestamp | null;
/** The requester's question. */
comment: string;
/** The comment of the principal that decided or cancelled the approval. */
decisionComment: string | null;
/** Progress of the actions that the task's type declares for this decision. */
outcomeStatus: "pending" | "deferred" | "executed" | "failed" | null;
/** The approval that this one replaces, because its subject was changed after the decision. */
supersedesApprovalId: Uuid | null;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
subject: {
/** SHA-256 of the snapshot's canonical JSON: `sha256:` and 64 hexadecimal digits. */
digest: string;
} | null;
/** Whether the task, or the outcome of the decision, has changed since the subject was recorded. */
subjectChanged: boolean;
};

export type ListedApprovalPage = {
items: ListedApproval[];
nextCursor: string | null;
};

export type ListedView = {
id: Uuid;
tenantId: Uuid;
key: string;
title: string;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
};

export type ListedViewPage = {
items: ListedView[];
nextCursor: string | null;
};

export type Liveness = {
status: "alive";
};

export type ManifestCompilation = {
claimId: Uuid;
fencingToken: number;
reason?: "recompile" | "provider_fallback";
workerProfile?: Record<string, unknown>;
executionBackend?: Record<string, unknown>;
model?: {
provider: string;
name: string;
attempt: number;
} | null;
redaction?: Record<string, unknown>;
};

export type ManifestRemark = {
kind: "steering" | "warning" | "budget_warning" | "note";
summary: string;
data: Record<string, unknown>;
createdAt: Timestamp;
createdBy: Uuid;
};

export type ManifestRemarkRequest = {
kind: "steering" | "warning" | "budget_warning" | "note";
summary: string;
data?: Record<string, unknown>;
};

export type MemoryCondition = {
attr: string;
op: "eq" | "in" | "prefix" | "lte" | "gte" | "exists";
value?: string | number | boolean | null | Array<string | number | boolean | null>;
};

/** The number of tenants for which the memory service has failed repeatedly and is not called at the moment. Their contexts lack memory; nothing else depends on it. */
export type MemoryRest = {
circuitsOpen: number;
};

export type MoveAnswer = WorkspaceDetail | MoveViolations;

export type MoveViolations = {
violations: Array<{
code: string;
details: Record<string, unknown>;
}>;
};

export type NewArtifact = {
/** 1 to 200 characters. */
type: string;
/** 1 to 500 characters. */
name: string;
task?: string | null;
runId?: Uuid | null;
workspaceId?: Uuid | null;
uri?: string | null;
content?: Record<string, unknown> | null;
/** Reference to uploaded bytes. */
contentRef?: string | null;
metadata?: Record<string, unknown>;
supersedesArtifactId?: Uuid | null;
};

export type NewArtifactType = {
key: string;
displayName: string;
description?: string;
metadataSchema?: Record<string, unknown>;
/** From 1 to 50, each like text/plain, image/* or * /*. */
mediaTypes: string[];
/** The maximum size of the content, at least 1. */
maxBytes?: number | null;
};

export type NewChild = {
/** Unique within the run: a repeated launch returns the first child. */
correlationId: string;
title: string;
description?: string;
priority?: string;
workspaceId?: Uuid | null;
ownerId?: Uuid | null;
assigneeId?: Uuid | string | null;
grant?: ChildGrantRequest | null;
cancellationPolicy?: string;
expiresInSeconds?: number;
};

export type NewControlMessage = {
/** One of queue, steer, redirect, request_cancel, force_cancel. */
operation: string;
/** The state of the run that the sender has seen: a cursor, a checkpoint, a step. */
causalPosition: string;
directive?: string | null;
reason?: string;
expectedRunVersion: number;
};

export type NewObservation = {
/** Lower case letters, digits, dots, underscores and hyphens, at most 128. */
kind: string;
/** 1 to 65536 characters. */
content: string;
/** At most 100 keys. */
data?: Record<string, unknown>;
/** At most 200, of 65536 bytes. */
assertions?: Array<Assertion | {
assert: string;
}>;
task?: string | null;
runId?: Uuid | null;
workspaceId?: Uuid | null;
/** A session of the caller. */
sessionId?: Uuid | null;
/** Required with dedupKey and externalRef. */
source?: string | null;
/** Recording it again with the same author, source and key writes nothing. */
dedupKey?: string | null;
/** RFC 3339 with an offset. */
observedAt?: string | null;
/** The event id of an earlier observation. */
supersedes?: Uuid | null;
externalRef?: {
system: string;
id: string;
url?: string | null;
} | null;
};

export type NewProjectTemplate = {
key: string;
displayName: string;
description?: string;
fieldSchema?: Record<string, unknown>;
lifecycleSchema?: Record<string, unknown>;
defaultConfig?: Record<string, unknown>;
/** At most 50. */
defaultViews?: unknown[];
/** Governance values that apply unless defaultConfig sets its own. */
governanceSchema?: Record<string, unknown>;
memoryDefaults?: Record<string, unknown>;
};

export type NewTask = {
title: string;
description?: string;
priority?: string;
status?: string | null;
typeId?: Uuid | null;
typeKey?: string | null;
typeVersion?: number | null;
ownerId?: Uuid | null;
assigneeId?: Uuid | string | null;
workspaceId?: Uuid | null;
customFields?: Record<string, unknown>;
startDate?: Instant | null;
dueDate?: Instant | null;
parentTask?: string | null;
requirements?: {
roles?: string[];
capabilities?: string[];
skills?: string[];
} | null;
goalId?: Uuid | null;
origin?: {
kind: "human" | "harness" | "rule" | "parent" | "process" | "external";
ref?: string | null;
ruleId?: string | null;
evidence?: Array<{
kind: "observation";
observationId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "artifact";
artifactId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "context_pack";
contextPackId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "external";
externalRef: {
system: string;
id: string;
url?: string | null;
};
check?: string | null;
note?: string | null;
}>;
} | null;
acceptance?: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
when?: string[] | null;
/** Ignored: the service sets it. */
addedByPrincipalId?: string | null;
}>;
evidence?: Array<{
kind: "observation";
observationId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "artifact";
artifactId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "context_pack";
contextPackId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "external";
externalRef: {
system: string;
id: string;
url?: string | null;
};
check?: string | null;
note?: string | null;
}>;
};

export type NewTaskComment = {
/** 1 to 10000 characters. Leading and trailing blanks are trimmed and not counted. */
body: string;
runId?: Uuid | null;
artifactId?: Uuid | null;
};

export type NewTaskType = {
key: string;
displayName: string;
description?: string;
fieldSchema?: Record<string, unknown>;
lifecycleSchema?: {
statuses: Array<{
key: string;
category: "backlog" | "active" | "blocked" | "terminal_success" | "terminal_cancelled";
displayName?: string;
}>;
initialStatus: string;
transitions?: Array<{
from: string;
to: string[];
}>;
claimStatus?: string | null;
releaseStatus?: string | null;
/** Statuses of category `blocked` in which a task is available and can be claimed. In any other blocked status, it is on hold. */
claimFrom?: string[] | null;
completionStatus?: string | null;
};
execution?: {
skill?: string | null;
version?: string | null;
inputs?: string | Record<string, string> | null;
/** A run without progress for a longer time is reported once by run.stalled. */
progressTimeoutSeconds?: number | null;
retry?: {
/** After this many consecutive failed attempts, the task moves to a blocked status. Unlimited by default. */
maxAttempts?: number | null;
/** The pause after a failed attempt. It doubles with each further consecutive failure. */
backoffSeconds?: number;
maxBackoffSeconds?: number;
/** The codes of failure reasons that are retried; any other one ends the attempts. An expired lease is always retried. */
retryOn?: string[] | null;
} | null;
/** Whether tasks are only available and claimable from `startDate` on; true by default. */
startDateHolds?: boolean | null;
};
approvalSchema?: Record<string, unknown>;
contextSchema?: {
anchors?: string[];
kinds?: string[];
relations?: string[];
depth?: number;
maxTokens?: number;
strategy?: string;
asOf?: "claim" | "now";
};
completionSchema?: Record<string, unknown>;
artifactSchema?: {
inputs?: Array<{
key: string;
type: string;
from: "depends_on" | "spawned_by" | "parent";
required?: boolean;
}>;
outputs?: Array<{
key: string;
type: string;
required?: boolean;
mediaTypes?: string[];
content?: "required" | "optional";
}>;
};
/** Markdown for the executor of a task; at most 16384 bytes. */
instructions?: string;
acceptance?: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
when?: string[] | null;
}>;
};

export type NextWork = {
items: Array<{
task: Task;
claim: Claim;
}>;
};

export type NotReady = {
status: "unavailable";
reason: "database_unreachable" | "migrations_pending";
dbRevision?: number;
headRevision?: number;
};

export type NotificationChannelStatus = {
available: boolean;
/** Why nothing is sent by this channel; null while it is available. */
reason: "smtp_not_configured" | "slack_not_enabled" | null;
};

export type NotificationModes = {
/** `digest` collects notifications into one e-mail. */
mail: "off" | "immediate" | "digest";
/** For the own webhook. */
slack: "off" | "immediate";
};

export type NotificationPreferences = {
email: {
/** Null if there is no usable address. */
address: string | null;
source: "own" | "profile" | null;
};
/** By kind. There may be more kinds later. */
kinds: Record<string, NotificationModes>;
/** How long notifications are collected for a digest, from the first one on. */
digestIntervalSeconds: number;
/** The own webhook. Its address is never returned. */
slackWebhook: {
host: string;
updatedAt: Timestamp;
} | null;
channels: {
mail: NotificationChannelStatus;
slack: NotificationChannelStatus;
};
/** 0 for preferences that were never stored. */
version: number;
};

export type NotificationPreferencesChange = {
/** The address of the notifications; null for that of the principal's profile. */
email?: string | null;
kinds?: Record<string, {
/** `digest` collects notifications into one e-mail. */
mail?: "off" | "immediate" | "digest";
/** For the own webhook. */
slack?: "off" | "immediate";
}>;
/** How long notifications are collected for a digest, from the first one on. */
digestIntervalSeconds?: number;
};

export type OauthApp = {
type: string;
configured: boolean;
clientId: string | null;
updatedAt: Timestamp | null;
};

export type OauthAppRequest = {
clientId: string;
/** Stored in the secret store; no operation returns it. */
clientSecret: string;
/** The version of the type to whose token address the secret may be sent (default: the newest). For versions whose token address has another scheme, host or port, enter the secret again. */
typeVersion?: number;
};

export type OperationalContext = {
protocol: {
name: string;
supportedVersions: string[];
};
tenant: {
id: Uuid;
slug: string;
name: string;
};
principal: {
id: Uuid;
kind: "human" | "agent" | "service";
displayName: string;
status: "active" | "paused" | "disabled";
};
session: SessionSummary | null;
activeSessions: SessionSummary[];
activeClaims: HeldClaim[];
activeRuns: OwnRun[];
suspendedRuns: OwnRun[];
roles: Array<{
id: Uuid;
slug: string;
name: string;
workspaceId: Uuid | null;
}>;
capabilities: Array<{
id: Uuid;
name: string;
description: string;
}>;
skills: Array<{
id: Uuid;
name: string;
version: string;
protocol: string;
status: string;
executable: boolean;
}>;
pendingApprovals: PendingApproval[];
eventCursor: string;
permissions: string[];
focus: ContextFocus | null;
project: ContextProject | null;
};

export type OutboxDrop = {
/** The reason, for the journal. */
reason: string;
};

export type OutboxRedrive = {
/** The reason, for the journal. */
reason?: string;
};

export type OwnAgent = {
id: Uuid;
tenantId: Uuid;
key: string;
displayName: string;
status: "active" | "retired";
state: "running" | "stopped";
replicas: number;
currentRevision: number;
/** The principal of the agent, set when an identity is linked. */
principalId: Uuid | null;
workspaceId: Uuid | null;
retiredAt: Timestamp | null;
retiredBy: Uuid | null;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
revision: AgentRevision;
/** Settings of the package that installed the agent. */
packageSettings: SettingsForAgent | null;
};

export type OwnConnections = {
items: Connection[];
};

export type OwnRun = {
id: Uuid;
taskId: Uuid;
claimId: Uuid;
sessionId: Uuid;
attempt: number;
fencingToken: number;
startedAt: Timestamp;
finishedAt: Timestamp | null;
cancelRequestedAt: Timestamp | null;
status: "running" | "suspended";
};

export type PackageApplication = {
package: PackageSource;
/** The hash of the plan to apply. */
planHash: string;
workspaceId?: Uuid | null;
overwriteConsole?: boolean;
};

export type PackageCoverage = {
covered: number;
total: number;
/** Elements that were not reached, at most 100. */
missing: string[];
};

export type PackageFile = {
/** A relative path without `..`, unique among the files. */
path: string;
/** YAML 1.2 of at most 65536 characters, or JSON; one document, of at most 262144 bytes as JSON. */
content: string;
};

export type PackageLink = {
key: string;
version: string | null;
installHash: string | null;
installedAt: Timestamp;
};

export type PackageName = {
key: string;
version: string;
};

export type PackageObject = {
kind: "ArtifactType" | "TaskType" | "ProjectTemplate" | "WorkspaceType" | "Role" | "Capability" | "ConnectionType" | "Skill" | "WorkRule" | "Agent";
/** The slug of a role of the tenant, the name of a capability, the name or name@version of a skill. */
key: string;
};

export type PackagePlan = {
planHash: string;
catalogEtag: string;
/** Null if package.yaml cannot be read. */
package: PackageName | null;
changes: PlannedChange[];
/** Objects of the package that do not change. */
outside: Array<{
kind: string;
key: string;
appliedBy: "installer" | "notification-service";
}>;
processes: PlannedProcess[];
regulationCoverage: Array<{
document: string;
processes: string[];
}>;
settings: PlannedSettings | null;
problems: PackageProblem[];
createdAt: Timestamp;
};

export type PackagePlanRequest = {
package: PackageSource;
/** The default workspace of processes and rules. */
workspaceId?: Uuid | null;
replayLimit?: number;
/** Also overwrite changes that people made since the last apply. */
overwriteConsole?: boolean;
};

export type PackageProblem = {
code: string;
severity: "error" | "warning";
/** A JSON pointer into the document. */
path: string;
file?: string;
/** The line in the YAML text. */
line?: number;
message: string;
hint?: string;
};

export type PackageProcessCoverage = {
key: string;
elements: PackageCoverage;
transitions: PackageCoverage;
decisionRows: PackageCoverage;
handlers: PackageCoverage;
};

export type PackageRecord = {
package: PackageName;
installHash?: string | null;
objects: PackageObject[];
};

export type PackageRuleCoverage = {
key: string;
outcomes: PackageCoverage;
};

export type PackageSettings = {
package: string;
title: string;
packageVersion: string;
/** 0 until the settings are set. */
version: number;
updatedBy: Uuid | null;
updatedAt: Timestamp | null;
schema: Record<string, unknown>;
uischema: Record<string, unknown> | null;
/** The values that were set. */
values: Record<string, unknown>;
/** The values merged over the defaults of the schema. */
effective: Record<string, unknown>;
schemaHash: string;
/** Whether the caller may set them. */
canManage: boolean;
};

export type PackageSettingsChange = {
/** The full set of values; omitted ones have their default. */
values: Record<string, unknown>;
};

export type PackageSettingsItem = {
package: string;
title: string;
packageVersion: string;
/** 0 until the settings are set. */
version: number;
updatedBy: Uuid | null;
updatedAt: Timestamp | null;
};

export type PackageSettingsItemPage = {
items: PackageSettingsItem[];
nextCursor: string | null;
};

export type PackageSettingsVersion = {
version: number;
values: Record<string, unknown>;
schemaRevision: number;
schemaHash: string;
changedPaths: string[];
createdBy: Uuid;
createdAt: Timestamp;
};

export type PackageSettingsVersionPage = {
items: PackageSettingsVersion[];
nextCursor: string | null;
};

export type PackageSource = {
files: PackageFile[];
};

export type PackageTaskTypeCoverage = {
key: string;
statuses: PackageCoverage;
transitions: PackageCoverage;
};

export type PackageTest = {
file: string;
name: string;
subject: "process" | "rule" | "taskType";
object: string;
/** For a test of a process, its key. */
process?: string;
/** `error`: it could not be run, because it uses a feature that is not simulated or takes too long. */
status: "passed" | "failed" | "error";
durationMs: number;
failures: Array<{
/** The number of the step, from 1; 0 for the test as a whole. */
step: number;
message: string;
expected: unknown;
actual: unknown;
}>;
};

export type PackageTestReport = {
status: "passed" | "failed" | "invalid";
checkOnly: boolean;
problems: PackageProblem[];
tests: PackageTest[];
coverage: PackageProcessCoverage[];
ruleCoverage: PackageRuleCoverage[];
taskTypeCoverage: PackageTaskTypeCoverage[];
durationMs: number;
};

export type PackageTestRequest = {
package: PackageSource;
/** Files of documents of kind Test that are not part of the package. */
tests?: PackageFile[];
workspaceId?: Uuid | null;
};

export type Participant = {
principalId: Uuid;
kind: "human" | "agent" | "service";
displayName: string;
status: "active" | "paused" | "disabled";
member: boolean;
roles: Array<{
roleId: Uuid;
slug: string;
name: string;
roleWorkspaceId: Uuid | null;
assignmentWorkspaceId: Uuid | null;
}>;
};

export type ParticipantPage = {
items: Participant[];
nextCursor: string | null;
};

export type PendingApproval = {
id: Uuid;
taskId: Uuid | null;
artifactId: Uuid | null;
requestedBy: Uuid;
gate: boolean;
comment: string;
createdAt: Timestamp;
};

export type Permission = {
name: string;
/** What it allows, in words. */
allows: string;
/** Whether agents and services never have it. */
peopleOnly: boolean;
};

export type PermissionPage = {
items: Permission[];
nextCursor: string | null;
};

export type Person = {
id: Uuid;
kind: "human" | "agent" | "service";
displayName: string;
status: "active" | "paused" | "disabled";
email: string | null;
/** The key of its agent in the registry. */
agent: string | null;
/** The access role of all its identities; `null` if they have none or not the same one. */
accessRole: string | null;
/** The effective permissions of its identities. */
permissions: string[];
/** The bound identities that are not revoked, newest first: at most 20, and before them those in `iamPrincipalIds`. */
identities: BoundIdentity[];
/** The ids at identity of revoked bindings, newest first: at most 20, and before them those in `iamPrincipalIds`. */
formerIamPrincipalIds: Uuid[];
liveApiKeys: number;
/** When an identity or an API key was last used. */
lastUsedAt: Timestamp | null;
createdAt: Timestamp;
};

export type PersonPage = {
items: Person[];
nextCursor: string | null;
};

export type PlannedChange = {
kind: "TaskType" | "Agent" | "Calendar" | "Process" | "WorkRule" | "View";
key: string;
action: "create" | "update" | "rename" | "restore" | "retire" | "unchanged";
renamedFrom: string | null;
fields: PlannedField[];
/** For a task type: the versions that are deprecated. */
deprecates: number[];
};

/** A field of the document. A value of more than 2048 bytes, or after the first 1 MiB of all values, is shown as its `sha256` and `bytes`. */
export type PlannedField = {
path: string;
before: unknown;
after: unknown;
/** The source of the last change. */
owner: "package" | "console";
applies: boolean;
};

export type PlannedProcess = {
key: string;
fromVersion: number | null;
/** Null for a retired object. */
toVersion: number | null;
/** The number of instances replayed with the new version, and those that took another path. */
behaviour: {
replayed: number;
diverged: number;
instanceIds: Uuid[];
};
instances: Array<{
version: number;
open: number;
fate: "pin" | "migrate" | "unaffected";
migrationRequired: boolean;
}>;
deadlines: Array<{
instanceId: Uuid;
dueAt: Timestamp;
}>;
deadlinesTotal: number;
};

export type PlannedSettings = {
action: "create" | "update" | "retire" | "unchanged";
title: string | null;
schemaHash: string | null;
previousSchemaHash: string | null;
};

export type Principal = {
id: Uuid;
tenantId: Uuid;
kind: "human" | "agent" | "service";
displayName: string;
status: "active" | "paused" | "disabled";
metadata: Record<string, unknown>;
profile: {
jobTitle: string | null;
email: string | null;
phone: string | null;
note: string | null;
};
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
};

export type PrincipalAccess = {
principalId: Uuid;
/** The access role of all live bindings; `null` if they have none or not the same one. */
accessRole: string | null;
/** The effective permissions of all live bindings, with those of its role. */
permissions: string[];
/** What they allow, in words. */
allows: string[];
/** The bindings that are not revoked, newest first. */
bindings: IamBinding[];
/** Derived from role, permissions and status of these bindings: another number after any change of them. */
version: number;
};

export type PrincipalAccessRequest = {
/** The key or the id of an access role; exactly one of accessRole and permissions. */
accessRole?: string;
permissions?: string[];
};

export type PrincipalChange = {
displayName?: string | null;
profile?: {
jobTitle?: string | null;
email?: string | null;
phone?: string | null;
note?: string | null;
} | null;
metadata?: Record<string, unknown> | null;
};

export type PrincipalPage = {
items: Principal[];
nextCursor: string | null;
};

export type PrincipalRequest = {
kind: string;
displayName: string;
status?: string;
metadata?: Record<string, unknown>;
};

export type PrincipalStatusReason = {
reason?: string;
};

export type ProcessCancellation = {
reason: string;
compensate?: boolean;
};

/** While the instance is suspended, `remainingSeconds` has the remaining time. */
export type ProcessDeadline = {
dueAt: Timestamp | null;
warnAt: Timestamp | null;
provisional: boolean;
remainingSeconds: number | null;
remainingUnit: "wall" | "working_seconds" | "workdays";
};

export type ProcessDefinition = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid | null;
key: string;
version: number;
latestVersion: number;
displayName: string;
/** The hash of the definition in canonical form, defaults included. */
definitionHash: string;
/** The agent that the process acts as. */
identityAgent: string;
owner: Array<{
principal?: Uuid;
role?: string;
agent?: string;
expr?: string;
}> | null;
expressionProfile: string;
engineRevision: number;
/** The definition, with defaults for omitted members. */
spec: Record<string, unknown>;
warnings: ProcessProblem[];
/** The status of the key, which all versions share. */
status: "active" | "retired";
retired: {
at: Timestamp;
by: Uuid;
reason: string;
} | null;
createdBy: Uuid;
createdAt: Timestamp;
package: PackageLink | null;
};

export type ProcessDefinitionPage = {
items: ProcessDefinition[];
nextCursor: string | null;
};

export type ProcessDefinitionRequest = {
key: string;
/** The definition: an object of at most 262144 bytes of JSON, or a text of YAML of at most 65536 characters. */
spec: unknown;
};

export type ProcessInstance = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid | null;
definitionKey: string;
definitionVersion: number;
instanceKey: string;
status: "running" | "suspended" | "completed" | "failed" | "cancelled";
outcome: string | null;
data: Record<string, unknown>;
stages: Array<{
id: string;
state: "available" | "active" | "completed" | "terminated";
}>;
openElements: Array<{
id: string;
kind: string;
since: Timestamp;
taskId: Uuid | null;
approvalIds: Uuid[];
attempt: number;
due: ProcessDeadline | null;
slaState: "ok" | "warning" | "breached" | "paused" | "unknown" | "none";
overdueSeconds: number | null;
}>;
/** Timers with the same due time fire in this order: the warning, the breach, escalations by level, all others. */
timers: Array<{
id: Uuid;
element: string;
dueAt: Timestamp | null;
state: "pending" | "frozen" | "fired" | "cancelled";
provisional: boolean;
remainingSeconds: number | null;
}>;
sla: ProcessDeadline | null;
slaState: "ok" | "warning" | "breached" | "paused" | "unknown" | "none";
/** The reason why the instance cannot continue until it is resumed or the step is skipped. */
suspension: {
element: string | null;
code: string;
reason: string;
} | null;
/** Inputs that are pending until the instance continues, and those that this suspension skipped because too many were pending. */
kept: {
inputs: number;
passedOver: number;
};
/** Objects that an ended step could not close: the close was refused with `code`. The close is retried, with at most an hour between attempts, until it succeeds. */
leftOpen: Array<{
element: string;
kind: "task" | "approval" | "call" | "instance";
id: Uuid;
code: string;
attempts: number;
nextAttemptAt: Timestamp;
}>;
startedAt: Timestamp;
updatedAt: Timestamp;
completedAt: Timestamp | null;
};

export type ProcessInstancePage = {
items: ProcessInstance[];
nextCursor: string | null;
};

export type ProcessInstanceRequest = {
/** The key of a definition; the newest version is used. */
process: string;
key: string;
data?: Record<string, unknown>;
workspaceId?: Uuid | null;
};

export type ProcessJournalEntry = {
seq: number;
at: Timestamp;
kind: "decision" | "intent" | "input" | "settings" | "data" | "timer" | "state";
element: string | null;
reason: string | null;
actorId: Uuid | null;
eventId: Uuid | null;
data: Record<string, unknown>;
};

export type ProcessJournalEntryPage = {
items: ProcessJournalEntry[];
nextCursor: string | null;
};

export type ProcessProblem = {
code: "schema_violation" | "invalid_yaml" | "invalid_document" | "unresolved_install_variable" | "unresolved_data_ref" | "expression_syntax_error" | "expression_type_error" | "expression_too_complex" | "unknown_data_field" | "data_type_mismatch" | "unknown_skill" | "unknown_task_type" | "unknown_agent" | "unknown_calendar" | "unknown_decision_table" | "skill_input_missing" | "duplicate_element_id" | "element_kind_changed" | "unreachable_step" | "unreachable_stage" | "dead_end" | "invalid_table_cell" | "table_overlap" | "sla_calendar_missing" | "sla_calendar_without_hours" | "calendar_retired" | "table_gap" | "table_rule_unreachable" | "process_owner_missing" | "element_removed" | "unwritten_data_field" | "unreachable_milestone" | "governed_by_unknown_document" | "governed_by_unchecked";
severity: "error" | "warning";
/** A JSON pointer into the definition. */
path: string;
/** The line in the YAML text. */
line?: number;
message: string;
};

export type ProcessReplay = {
key: string;
/** The `definitionHash` of the candidate; null if it is malformed. */
candidateHash: string | null;
replayed: number;
diverged: number;
/** Problems of the candidate. If one of them is an error, nothing is replayed. */
problems: ProcessProblem[];
instances: ReplayedInstance[];
};

export type ProcessReplayRequest = {
/** The candidate: an object of at most 262144 bytes of JSON, or a text of YAML of at most 65536 characters. */
spec: unknown;
/** The instances to replay; overrides `limit`. */
instanceIds?: Uuid[];
/** The number of newest instances to replay. */
limit?: number;
};

export type ProcessResumption = {
reason?: string | null;
};

export type ProcessRetirement = {
reason: string;
};

export type ProcessSkip = {
element: string;
reason: string;
};

export type ProcessSuspension = {
reason: string;
};

export type Project = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid;
templateId: Uuid;
templateKey: string;
templateVersion: number;
statusKey: string;
systemStatusCategory: "planned" | "active" | "paused" | "terminal_success" | "terminal_cancelled";
ownerPrincipalId: Uuid | null;
startDate: Timestamp | null;
targetDate: Timestamp | null;
customFields: Record<string, unknown>;
settings: Record<string, unknown>;
activeConfigRevisionId: Uuid | null;
activeConfigRevision: number | null;
/** The project of the nearest ancestor workspace that has one, if the caller may see it. */
parentProjectId: Uuid | null;
status: "active" | "archived";
version: number;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
archivedAt: Timestamp | null;
};

export type ProjectChange = {
ownerPrincipalId?: Uuid | null;
clearOwner?: boolean | null;
startDate?: Instant | null;
targetDate?: Instant | null;
customFields?: Record<string, unknown>;
settings?: Record<string, unknown>;
templateId?: Uuid | null;
templateKey?: string | null;
templateVersion?: number | null;
};

export type ProjectDependencies = {
projectId: Uuid;
tasks: Array<{
id: Uuid;
publicId: string;
title: string;
status: string;
systemStatusCategory: "backlog" | "active" | "blocked" | "terminal_success" | "terminal_cancelled";
assigneeId: Uuid | null;
dueDate: Timestamp | null;
workspaceId: Uuid | null;
}>;
dependencies: Array<{
relationId: Uuid;
prerequisiteTaskId: Uuid;
waitingTaskId: Uuid;
}>;
/** The longest chain of tasks that are not done, each of which waits for the one before it. */
criticalPath: Uuid[];
/** Whether the project has more than 2,000 dependencies, of which only the newest are returned. */
isTruncated: boolean;
};

export type ProjectLifecycle = {
initialStatus: string;
statuses: Array<{
key: string;
category: "planned" | "active" | "paused" | "terminal_success" | "terminal_cancelled";
displayName: string;
}>;
transitions: Array<{
from: string;
to: string[];
}>;
};

export type ProjectPage = {
items: Project[];
nextCursor: string | null;
};

export type ProjectReferenceRequest = {
externalSystem: string;
externalType: string;
externalId: string;
metadata?: Record<string, unknown>;
};

export type ProjectRequest = {
workspaceId?: Uuid | null;
/** Also creates a workspace with this slug. */
workspaceSlug?: string | null;
workspaceName?: string | null;
parentWorkspaceId?: Uuid | null;
workspaceTypeKey?: string | null;
templateId?: Uuid | null;
templateKey?: string | null;
templateVersion?: number | null;
statusKey?: string | null;
ownerPrincipalId?: Uuid | null;
startDate?: Instant | null;
targetDate?: Instant | null;
customFields?: Record<string, unknown>;
settings?: Record<string, unknown>;
};

export type ProjectTemplate = {
id: Uuid;
tenantId: Uuid;
key: string;
version: number;
displayName: string;
description: string;
fieldSchema: Record<string, unknown>;
lifecycleSchema: ProjectLifecycle;
defaultConfig: Record<string, unknown>;
defaultViews: unknown[];
governanceSchema: Record<string, unknown>;
memoryDefaults: Record<string, unknown>;
status: "active" | "deprecated";
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
};

export type ProjectTemplatePage = {
items: ProjectTemplate[];
nextCursor: string | null;
};

export type ProjectTransition = {
statusKey: string;
comment?: string;
};

export type PurgeRequest = {
reason: string;
};

export type Ready = {
status: "ready";
/** The newest migration applied to the database. */
revision: number;
detail?: {
horizonHolder?: HorizonHolder;
journalEpoch?: JournalEpoch;
memory?: MemoryRest;
};
};

/** By `anchor` or by `query`, for a task or a workspace. */
export type RecallRequest = {
anchor?: string | null;
query?: string | null;
kind?: string | null;
kinds?: string[];
relations?: string[];
direction?: "out" | "in" | "both";
depth?: number;
limit?: number;
asOf?: string | null;
task?: string | null;
workspaceId?: Uuid | null;
budgetTokens?: number;
where?: MemoryCondition[];
};

export type RecalledPack = {
/** The anchors of the lookup. */
anchors: string[];
/** Whether the lookup was by a text. */
semantic: boolean;
asOf: Timestamp;
namespaces: string[];
warnings: string[];
pack: KnownPack;
};

export type ReconciledSnapshot = {
/** Whether memory already had this snapshot. */
duplicate: boolean;
dryRun: boolean;
stateToken: string | null;
changes: {
opened: Array<{
kind: string;
key: string;
}>;
changed: Array<{
kind: string;
key: string;
}>;
closed: Array<{
kind: string;
key: string;
}>;
};
counters: Record<string, number>;
};

export type RecordedObservation = {
id: Uuid;
eventId: Uuid;
kind: string;
recordedAt: Timestamp;
/** Whether the observation already existed; then nothing was written. */
deduplicated: boolean;
};

export type RecordedPackage = {
package: PackageName;
installHash: string | null;
/** The objects of the request, each once. */
objects: PackageObject[];
};

export type RegisteredPack = {
name: string;
version: string;
status: string;
scope: "tenant" | "global";
};

export type Remedy = {
act: string;
method: "GET" | "POST" | "PATCH" | "DELETE";
/** Relative to the base path; {id} is a placeholder for a principal of your choice. */
path: string;
permission: string;
allowed: boolean;
};

export type ReplayedInstance = {
id: Uuid;
instanceKey: string;
version: number;
status: "running" | "suspended" | "completed" | "failed" | "cancelled";
result: "same" | "diverged" | "incomplete";
/** The reason for an incomplete replay: the journal does not contain its inputs, or has more than 2,000 lines or 2 MiB; an input took longer than 60 ms, or the call longer than 5 s. */
reason: "not_recorded" | "too_long" | "too_slow" | "time_over" | null;
replayedStatus: "running" | "suspended" | "completed" | "failed" | "cancelled" | null;
divergences: Array<{
/** A line of its journal; if only the replay has the line, the line of the input. */
journalSeq: number;
kind: "decision" | "intent" | "input" | "settings" | "data" | "timer" | "state";
element: string | null;
recorded: Record<string, unknown> | null;
replayed: Record<string, unknown> | null;
}>;
divergencesTotal: number;
};

export type ReplayedPack = {
contextPack: ContextPack;
/** Whether memory returned the same entities and facts. */
reproduced: boolean;
drift: {
/** At most 200. */
missingEntities: string[];
/** At most 200. */
extraEntities: string[];
/** At most 200. */
missingFacts: string[];
/** At most 200. */
extraFacts: string[];
};
pack: KnownPack;
};

export type RetiredProcess = {
key: string;
status: "active" | "retired";
retired: {
at: Timestamp;
by: Uuid;
reason: string;
} | null;
openInstances: number;
byVersion: Array<{
version: number;
openInstances: number;
}>;
};

export type Role = {
id: Uuid;
tenantId: Uuid;
/** `null` for a role of the whole tenant. */
workspaceId: Uuid | null;
slug: string;
name: string;
description: string;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
};

export type RoleAssignment = {
id: Uuid;
principalId: Uuid;
createdAt: Timestamp;
role: Role;
/** `null` when the role applies to the whole tenant. */
workspaceId: Uuid | null;
};

export type RoleAssignmentPage = {
items: RoleAssignment[];
nextCursor: string | null;
};

export type RoleAssignmentRequest = {
roleId: Uuid;
workspaceId?: Uuid | null;
};

export type RoleChange = {
name?: string | null;
description?: string | null;
slug?: string | null;
};

export type RoleHolder = {
id: Uuid;
kind: "human" | "agent" | "service";
displayName: string;
status: "active" | "paused" | "disabled";
};

export type RoleHolderPage = {
items: RoleHolder[];
nextCursor: string | null;
};

export type RolePage = {
items: Role[];
nextCursor: string | null;
};

export type RoleRequest = {
slug: string;
name: string;
description?: string;
workspaceId?: Uuid | null;
};

export type RoleRevocation = {
workspaceId?: Uuid | null;
};

export type Rule = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid | null;
goalId: Uuid | null;
key: string;
description: string;
version: number;
status: "enabled" | "disabled" | "archived";
trigger: RuleTrigger;
condition: unknown;
interpretation: RuleInterpretation | null;
action: RuleAction;
identity: RuleIdentity | null;
/** The principal who last enabled or wrote the rule. The rule acts on their behalf, or as the agent of `identity` with their visibility. */
authorityPrincipalId: Uuid | null;
enabledAt: Timestamp | null;
nextRunAt: Timestamp | null;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
};

export type RuleAction = {
kind: "ensure_work" | "update_work" | "cancel_work" | "complete_work" | "request_decision";
taskType?: string;
taskTypes?: string[];
/** The template of the key; each key has at most one open task. Without a template, each cause and each item of a forEach gets a unique key. */
dedupKeyTemplate?: string;
fields?: {
title?: string;
description?: string;
priority?: string;
/** A UUID, `agent:<key>`, or `role:<slug>` for the holders of a role. */
assignee?: string;
/** The principal that decides. */
approver?: string;
/** The role, by id or slug, whose holders decide. */
approverRole?: string;
workspaceId?: string;
customFields?: Record<string, unknown>;
relations?: {
spawnedBy?: string;
dependsOn?: string | string[];
};
};
acceptance?: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
when?: string[] | null;
}>;
/** The check for which the cause is evidence; `rule-evidence` when absent. */
check?: string;
target?: "dedup" | "task";
/** The path of a list; the action runs once per item. */
forEach?: string;
/** A condition that selects items. */
where?: unknown;
};

export type RuleChange = {
description?: string | null;
trigger?: RuleTrigger;
/** true, false or an object of one operator; null is true. */
condition?: unknown;
interpretation?: RuleInterpretationInput;
action?: RuleAction;
goalId?: Uuid | null;
identity?: RuleIdentity;
};

export type RuleDryRun = {
key: string;
trigger: RuleTrigger;
action: RuleAction;
/** true, false or an object of one operator; null is true. */
condition?: unknown;
interpretation?: RuleInterpretationInput;
description?: string;
workspaceId?: Uuid | null;
goalId?: Uuid | null;
status?: string;
identity?: RuleIdentity;
since?: Instant | null;
limit?: number;
};

export type RuleDryRunResults = {
results: Array<{
triggerRef: string;
status: "waiting" | "matched" | "not_matched" | "failed" | "skipped";
reason?: string;
would?: {
action: string;
items: number;
work: Array<{
dedupKey: string | null;
taskId: string | null;
taskType: string | null;
title: string | null;
priority: string | null;
refused: string | null;
}>;
};
}>;
};

export type RuleEvaluation = {
id: Uuid;
ruleId: Uuid;
ruleVersion: number;
triggerRef: string;
triggerEventId: Uuid | null;
status: "waiting" | "matched" | "not_matched" | "failed" | "skipped";
result: {
conditionMatched?: boolean;
/** turn: the next turns process the remaining items of a long list. */
waitingFor?: "skill" | "claim" | "turn";
work?: RuleWorkItem[];
reason?: string;
};
evidence: Array<{
kind: "observation";
observationId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "artifact";
artifactId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "context_pack";
contextPackId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "external";
externalRef: {
system: string;
id: string;
url?: string | null;
};
check?: string | null;
note?: string | null;
}>;
skillInvocationId: Uuid | null;
createdTaskIds: Uuid[];
error: {
code: string;
message: string;
details: Record<string, unknown>;
} | null;
nextCheckAt: Timestamp | null;
createdAt: Timestamp;
updatedAt: Timestamp;
};

export type RuleEvaluationPage = {
items: RuleEvaluation[];
nextCursor: string | null;
};

export type RuleIdentity = {
agent: string;
};

export type RuleInterpretation = {
/** As `name@version`. */
skill: string;
inputs: Record<string, unknown>;
};

export type RuleInterpretationInput = {
/** As `name@version`. */
skill: string;
inputs?: Record<string, unknown>;
};

export type RulePage = {
items: Rule[];
nextCursor: string | null;
};

export type RuleRequest = {
key: string;
trigger: RuleTrigger;
action: RuleAction;
/** true, false or an object of one operator; null is true. */
condition?: unknown;
interpretation?: RuleInterpretationInput;
description?: string;
workspaceId?: Uuid | null;
goalId?: Uuid | null;
status?: string;
identity?: RuleIdentity;
};

export type RuleTrigger = {
kind: "observation";
/** The kind of the observation. */
type: string;
source?: string;
/** Only observations of this agent. */
agent?: string;
/** Only observations of this principal. */
actorId?: Uuid;
} | {
kind: "event";
/** The full type of an event, such as `task.completed`. */
type: string;
} | {
kind: "schedule";
type: "interval";
everySeconds: number;
};

export type RuleValidation = {
warnings: RuleWarning[];
};

export type RuleWarning = {
field: string;
code: "unknown_event_type" | "unknown_path" | "type_mismatch";
message: string;
};

export type RuleWorkItem = {
dedupKey: string | null;
taskId: Uuid | null;
created: boolean;
/** No change was needed; `reason` has the cause. */
skipped: boolean;
/** The item was refused; `refused` has the error code. */
failed: boolean;
reason: string | null;
refused: string | null;
};

export type Run = {
id: Uuid;
tenantId: Uuid;
taskId: Uuid;
claimId: Uuid;
principalId: Uuid;
sessionId: Uuid;
fencingToken: number;
attempt: number;
status: "running" | "succeeded" | "failed" | "cancelled" | "suspended";
startedAt: Timestamp;
finishedAt: Timestamp | null;
input: Record<string, unknown> | null;
output: Record<string, unknown> | null;
failureReason: string | null;
cancelRequestedAt: Timestamp | null;
cancelRequestedBy: Uuid | null;
maxDurationSeconds: number | null;
maxActions: number | null;
maxTokens: number | null;
maxCostMicros: number | null;
currency: string | null;
usage: Usage;
lastProgressAt: Timestamp;
orphaned: boolean;
metadata: Record<string, unknown>;
instructionsHash: string | null;
instructionsRefs: string[] | null;
agentRevisionId: Uuid | null;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
};

export type RunAction = {
id: Uuid;
tenantId: Uuid;
runId: Uuid;
taskId: Uuid;
principalId: Uuid;
sessionId: Uuid | null;
skillId: Uuid | null;
seq: number;
action: string;
status: "started" | "completed" | "failed";
externalReference: string | null;
metadata: Record<string, unknown>;
usage: ActionUsage;
startedAt: Timestamp;
finishedAt: Timestamp | null;
createdAt: Timestamp;
};

export type RunActionPage = {
items: RunAction[];
nextCursor: string | null;
};

export type RunActionRequest = {
/** 1 to 200 characters. */
action: string;
/** started, completed or failed. */
status?: string;
skill?: string | null;
externalReference?: string | null;
metadata?: Record<string, unknown>;
usage?: UsageInput | null;
};

export type RunActionResult = {
/** completed or failed. */
status: string;
externalReference?: string | null;
metadata?: Record<string, unknown>;
usage?: UsageInput | null;
};

export type RunCancelRequest = {
reason?: string;
};

export type RunCancellation = {
reason?: string;
};

export type RunContext = {
run: ContextRun;
instructions: Instructions;
task: ContextTask;
workspace: {
id: Uuid;
slug: string;
name: string;
} | null;
claim: ContextClaim | null;
requirements: TaskRequirements;
relations: TaskRelation[];
inputs: ContextInput[];
artifacts: ContextArtifact[];
approvals: ContextApproval[];
checkpoints: ContextCheckpoint[];
childHandles: {
items: ChildHandle[];
hasMore: boolean;
};
pendingControlMessages: ControlMessage[];
availableSkills: Array<{
id: Uuid;
name: string;
version: string;
protocol: string;
}>;
eventCursor: string;
};

export type RunFailure = {
/** The text before the first colon is the code that `execution.retry.retryOn` lists. */
failureReason?: string;
output?: Record<string, unknown> | null;
/** The task is unavailable and can't be claimed during this time; 7 days at most. */
retryAfterSeconds?: number | null;
};

export type RunHandoff = {
reason?: string;
/** `{kind = "handoff", data: {summary, nextSteps, evidenceRefs}}`: a summary of 1 to 10,000 characters, and two lists of at most 100 texts of 1 to 2,000 characters. */
checkpoint: Record<string, unknown>;
};

export type RunPage = {
items: Run[];
nextCursor: string | null;
};

export type RunRequest = {
claimId: Uuid;
fencingToken: number;
input?: Record<string, unknown> | null;
metadata?: Record<string, unknown>;
maxDurationSeconds?: number | null;
maxActions?: number | null;
maxTokens?: number | null;
maxCostMicros?: number | null;
currency?: string | null;
agentRevisionId?: Uuid | null;
};

export type RunSuccess = {
output?: Record<string, unknown> | null;
completeTask?: boolean;
};

export type RunSuspension = {
reason?: string;
waitingForApprovalId?: Uuid | null;
};

export type SchemaRedaction = {
/** A JSON pointer into the schema. */
path: string;
reason: "secret_material";
};

export type SelfAdmissionRequest = {
/** The `admissionStatement` of `federation:exchange` of identity. */
statement: string;
};

export type Session = {
id: Uuid;
tenantId: Uuid;
principalId: Uuid;
onBehalfOf: Uuid | null;
onBehalfOfId: Uuid | null;
delegationId: Uuid | null;
status: "active" | "stale" | "closed";
clientName: string;
clientVersion: string;
controlLevel: "human_operated" | "connected";
harnessType: string | null;
harnessVersion: string | null;
protocolVersion: string | null;
hostname: string | null;
harnessCapabilities: string[] | null;
environment: Record<string, unknown> | null;
metadata: Record<string, unknown>;
startedAt: Timestamp;
heartbeatAt: Timestamp;
expiresAt: Timestamp;
endedAt: Timestamp | null;
};

export type SessionClose = Record<string, never>;

export type SessionHeartbeat = {
ttlSeconds?: number | null;
};

export type SessionPage = {
items: Session[];
nextCursor: string | null;
};

export type SessionRequest = {
clientName: string;
clientVersion?: string;
metadata?: Record<string, unknown>;
onBehalfOf?: Uuid | null;
ttlSeconds?: number | null;
harness?: {
type: string;
version?: string;
protocolVersion?: string;
capabilities?: string[];
hostname?: string | null;
environment?: Record<string, unknown>;
} | null;
};

export type SessionSummary = {
id: Uuid;
status: "active" | "stale" | "closed";
clientName: string;
clientVersion: string;
harnessType: string | null;
harnessVersion: string | null;
controlLevel: "human_operated" | "connected";
protocolVersion: string | null;
harnessCapabilities: string[] | null;
startedAt: Timestamp;
expiresAt: Timestamp;
};

export type SettingsForAgent = {
package: string;
/** 0 until the settings are set. */
version: number;
schemaRevision: number;
/** The values that were set. */
values: Record<string, unknown>;
};

export type Skill = {
id: Uuid;
tenantId: Uuid;
name: string;
version: string;
description: string;
protocol: "mcp" | "http" | "local" | "opencode" | "custom";
/** Empty for readers without org.read. */
config: Record<string, unknown>;
inputSchema: Record<string, unknown> | null;
outputSchema: Record<string, unknown> | null;
sideEffects: "none" | "external_read" | "external_write" | null;
riskLevel: "low" | "medium" | "high" | null;
contract: Record<string, unknown> | null;
status: "active" | "deprecated" | "disabled";
rowVersion: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
};

export type SkillAssignment = {
id: Uuid;
principalId: Uuid;
createdAt: Timestamp;
skill: Skill;
metadata: Record<string, unknown>;
};

export type SkillAssignmentPage = {
items: SkillAssignment[];
nextCursor: string | null;
};

export type SkillAssignmentRequest = {
skillId: Uuid;
metadata?: Record<string, unknown>;
};

export type SkillChange = {
description?: string | null;
status?: string | null;
endpoint?: string | null;
config?: Record<string, unknown>;
inputSchema?: Record<string, unknown> | null;
outputSchema?: Record<string, unknown> | null;
};

export type SkillInvocation = {
id: Uuid;
tenantId: Uuid;
skillId: Uuid;
inputs: Record<string, unknown>;
authorityPrincipalId: Uuid;
/** The basis of a call of a skill with external effects. */
authorizationBasis: {
kind: "approval";
approvalId: Uuid;
} | {
kind: "execution";
runId: Uuid;
} | {
kind: "process_step";
instanceId: Uuid;
element: string;
} | null;
idempotencyKey: string | null;
status: "pending" | "running" | "succeeded" | "failed" | "cancelled";
/** The number of times that an executor has claimed the call. */
attempt: number;
maxAttempts: number;
availableAt: Timestamp;
output: Record<string, unknown> | null;
/** Error of the last failed attempt, or of the call. */
error: {
code: string;
message: string;
details?: Record<string, unknown>;
} | null;
cost: {
unit: string;
amount: number;
} | null;
fencingToken: number;
executorPrincipalId: Uuid | null;
executorSessionId: Uuid | null;
leaseExpiresAt: Timestamp | null;
heartbeatAt: Timestamp | null;
taskId: Uuid | null;
runId: Uuid | null;
artifactId: Uuid | null;
createdAt: Timestamp;
updatedAt: Timestamp;
/** Start of the last attempt. */
startedAt: Timestamp | null;
finishedAt: Timestamp | null;
requestedBy: {
kind: "principal" | "run" | "rule" | "approval" | "verification" | "process";
ref: string;
};
};

export type SkillInvocationCancel = {
reason?: string;
};

export type SkillInvocationClaim = {
protocols: string[];
localEntrypoints?: string[] | null;
httpOrigins?: string[] | null;
/** Origins of MCP servers. */
mcpEndpoints?: string[] | null;
audiences?: string[] | null;
sessionId?: Uuid | null;
leaseSeconds?: number | null;
/** Claims only this call. */
invocationId?: Uuid | null;
};

export type SkillInvocationFailure = {
fencingToken: number;
error: {
code: string;
message: string;
retryable?: boolean;
details?: Record<string, unknown> | null;
};
sessionId?: Uuid | null;
};

export type SkillInvocationHeartbeat = {
fencingToken: number;
leaseSeconds?: number | null;
sessionId?: Uuid | null;
};

export type SkillInvocationRequest = {
inputs?: Record<string, unknown>;
/** Identifies one call of the caller, for as long as the call is stored. */
idempotencyKey?: string | null;
taskId?: Uuid | null;
runId?: Uuid | null;
approvalId?: Uuid | null;
};

export type SkillInvocationResult = {
fencingToken: number;
output: Record<string, unknown>;
cost?: {
unit: string;
amount: number;
} | null;
sessionId?: Uuid | null;
};

export type SkillPage = {
items: Skill[];
nextCursor: string | null;
};

export type SkillRequest = {
name: string;
version?: string;
description?: string;
protocol?: string | null;
config?: Record<string, unknown>;
inputSchema?: Record<string, unknown> | null;
outputSchema?: Record<string, unknown> | null;
sideEffects?: "none" | "external_read" | "external_write" | null;
riskLevel?: "low" | "medium" | "high" | null;
contract?: Record<string, unknown> | null;
};

export type SlackChannel = {
host: string;
kinds: string[];
updatedAt: Timestamp;
};

export type SlackChannelRequest = {
/** A secret: it is stored in the secret store. */
url: string;
/** What the channel gets; by default decisions only. */
kinds?: string[];
};

export type SlackWebhook = {
host: string;
updatedAt: Timestamp;
};

export type SlackWebhookRequest = {
/** A secret: it is stored in the secret store. */
url: string;
};

export type StoredDocument = {
naturalKey: string;
type: string;
chunkCount: number;
linkCount: number;
/** Id of the document in the memory service. */
documentId: string | null;
};

export type StoredKnowledgePack = Record<string, unknown>;

export type SucceededRun = {
run: Run;
task: Task;
};

export type SuspendedRun = {
run: Run;
task: Task;
};

export type Task = {
id: Uuid;
tenantId: Uuid;
publicId: string;
workspaceId: Uuid | null;
projectId: Uuid | null;
typeId: Uuid;
typeKey: string;
typeVersion: number;
title: string;
description: string;
status: string;
systemStatusCategory: "backlog" | "active" | "blocked" | "terminal_success" | "terminal_cancelled";
priority: "critical" | "high" | "medium" | "low";
ownerId: Uuid | null;
assigneeId: Uuid | null;
customFields: Record<string, unknown>;
startDate: Timestamp | null;
dueDate: Timestamp | null;
goalId: Uuid | null;
origin: {
kind: "human" | "harness" | "rule" | "parent" | "process" | "external";
ref?: string | null;
ruleId?: string | null;
evidence: Array<{
kind: "observation";
observationId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "artifact";
artifactId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "context_pack";
contextPackId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "external";
externalRef: {
system: string;
id: string;
url?: string | null;
};
check?: string | null;
note?: string | null;
}>;
};
acceptance: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
when?: string[] | null;
addedByPrincipalId: Uuid | null;
}>;
acceptanceChecks: number;
evidence: Array<{
kind: "observation";
observationId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "artifact";
artifactId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "context_pack";
contextPackId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "external";
externalRef: {
system: string;
id: string;
url?: string | null;
};
check?: string | null;
note?: string | null;
}>;
version: number;
claimEpoch: number;
activeClaimId: Uuid | null;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
completedAt: Timestamp | null;
/** The task can't be claimed before this time, which is its start or the end of its pause after failed attempts. */
availableAt: Timestamp | null;
verification: {
id: Uuid;
status: "running" | "waiting_human" | "waiting_external" | "passed" | "failed" | "cancelled";
attempt: number;
updatedAt: Timestamp;
} | null;
};

export type TaskChange = {
title?: string | null;
description?: string | null;
priority?: string | null;
status?: string | null;
ownerId?: Uuid | null;
assigneeId?: Uuid | string | null;
workspaceId?: Uuid | null;
customFields?: Record<string, unknown>;
startDate?: Instant | null;
dueDate?: Instant | null;
requirements?: {
roles?: string[];
capabilities?: string[];
skills?: string[];
} | null;
goalId?: Uuid | null;
acceptance?: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
spec?: Record<string, unknown> | null;
when?: string[] | null;
/** Ignored: the service sets it. */
addedByPrincipalId?: string | null;
}> | null;
evidence?: Array<{
kind: "observation";
observationId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "artifact";
artifactId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "context_pack";
contextPackId: Uuid;
check?: string | null;
note?: string | null;
} | {
kind: "external";
externalRef: {
system: string;
id: string;
url?: string | null;
};
check?: string | null;
note?: string | null;
}> | null;
claimId?: Uuid | null;
fencingToken?: number | null;
};

export type TaskClaimability = {
taskId: Uuid;
publicId: string;
claimable: boolean;
reasons: ClaimReason[];
};

export type TaskComment = {
id: Uuid;
tenantId: Uuid;
taskId: Uuid;
authorPrincipalId: Uuid;
body: string;
runId: Uuid | null;
artifactId: Uuid | null;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
editedAt: Timestamp | null;
};

export type TaskCommentChange = {
/** 1 to 10000 characters. Leading and trailing blanks are trimmed and not counted. */
body: string;
};

export type TaskCommentPage = {
items: TaskComment[];
nextCursor: string | null;
};

export type TaskCommentRevision = {
id: Uuid;
tenantId: Uuid;
commentId: Uuid;
taskId: Uuid;
version: number;
body: string;
authorPrincipalId: Uuid;
createdAt: Timestamp;
supersededAt: Timestamp;
supersededBy: Uuid;
};

export type TaskCommentRevisionPage = {
items: TaskCommentRevision[];
nextCursor: string | null;
};

export type TaskCompletion = {
claimId?: Uuid | null;
fencingToken?: number | null;
};

export type TaskContext = {
status: "ok" | "empty" | "unavailable" | "timeout" | "disabled" | "forbidden";
/** The pack recorded for the live claim. */
contextPackId: Uuid | null;
/** The live claim of the task. */
claimId: Uuid | null;
asOf: Timestamp;
asOfMode: "claim" | "now";
/** Whether `pack` is the recorded one. */
replayed: boolean;
/** Whether this call recorded it. */
recorded: boolean;
budgetTokens: number;
anchors: string[];
warnings: string[];
pack: KnownPack | null;
};

export type TaskForm = {
taskId: Uuid;
publicId: string;
/** The process instance that created the task; null for any other task. */
process: {
instanceId: Uuid;
/** The step; null for the task that reviews an ended instance. */
element: string | null;
} | null;
/** A JSON Schema of the result; null if the completion validates none. */
form: Record<string, unknown> | null;
/** The data that the step passes to its task. */
context: Record<string, unknown>;
/** The custom fields of the task that make up the result: those in the form. */
values: Record<string, unknown>;
/** The reasons for which a completion with these values would be refused, at most 20. */
errors: Array<{
path: string;
message: string;
}>;
};

export type TaskPage = {
items: Task[];
nextCursor: string | null;
};

export type TaskRelation = {
id: Uuid;
fromTaskId: Uuid;
toTaskId: Uuid;
type: "parent" | "blocks" | "depends_on" | "spawned_by" | "related_to";
createdByPrincipalId: Uuid;
createdAt: Timestamp;
};

export type TaskRelationPage = {
items: TaskRelation[];
nextCursor: string | null;
};

export type TaskRelationRequest = {
/** The id of the task, or its public id such as TASK-000042. */
toTask: string;
type: string;
};

export type TaskRequirements = {
roles: Array<{
id: Uuid;
slug: string;
}>;
capabilities: Array<{
id: Uuid;
name: string;
}>;
skills: Array<{
id: Uuid;
name: string;
version: string;
/** Whether any enabled version is sufficient. */
anyVersion: boolean;
}>;
};

export type TaskTransitions = {
publicId: string;
typeId: Uuid;
typeKey: string;
typeVersion: number;
status: string;
systemStatusCategory: "backlog" | "active" | "blocked" | "terminal_success" | "terminal_cancelled";
taskId: Uuid;
targets: Array<{
status: string;
displayName: string;
systemStatusCategory: "backlog" | "active" | "blocked" | "terminal_success" | "terminal_cancelled";
route: "update" | "complete";
}>;
};

export type TaskType = {
id: Uuid;
tenantId: Uuid;
key: string;
version: number;
displayName: string;
description: string;
fieldSchema: Record<string, unknown>;
lifecycleSchema: {
statuses: Array<{
key: string;
category: "backlog" | "active" | "blocked" | "terminal_success" | "terminal_cancelled";
displayName: string;
}>;
initialStatus: string;
transitions: Array<{
from: string;
to: string[];
}>;
claimStatus?: string;
releaseStatus?: string;
claimFrom?: string[];
completionStatus: string;
};
execution: Record<string, unknown> | null;
approvalSchema: Record<string, unknown>;
contextSchema: Record<string, unknown>;
completionSchema: Record<string, unknown>;
artifactSchema: Record<string, unknown>;
instructions: string;
acceptance: Array<Record<string, unknown>>;
status: "active" | "deprecated";
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
};

export type TaskTypeExecutor = {
principalId: Uuid;
kind: "human" | "agent" | "service";
displayName: string;
roles: Array<{
roleId: Uuid;
slug: string;
name: string;
roleWorkspaceId: Uuid | null;
assignmentWorkspaceId: Uuid | null;
}>;
/** `agent_task_types`, `agent_any`: a running registered agent whose spec covers the workspace and lists this type, or accepts every type. `any`: any other member of the workspace. */
reason: "any" | "agent_task_types" | "agent_any";
};

export type TaskTypeExecutorPage = {
items: TaskTypeExecutor[];
nextCursor: string | null;
};

export type TaskTypePage = {
items: TaskType[];
nextCursor: string | null;
};

export type TaskVerification = {
id: Uuid;
tenantId: Uuid;
taskId: Uuid;
authorityPrincipalId: Uuid;
attempt: number;
status: "running" | "waiting_human" | "waiting_external" | "passed" | "failed" | "cancelled";
trigger: "complete" | "run" | "approval" | "rule";
triggerRef: string | null;
checks: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
description: string;
source: "output" | "type" | "task";
}>;
results: Array<{
key: string;
kind: "deterministic" | "external_state" | "human" | "llm_judge";
source: "output" | "type" | "task";
status: "passed" | "skipped" | "failed" | "cancelled" | "waiting";
evidence: string[];
reason: string | null;
message?: string;
details?: Record<string, unknown>;
}>;
cursor: number;
skillInvocationId: Uuid | null;
approvalId: Uuid | null;
nextCheckAt: Timestamp | null;
finishedAt: Timestamp | null;
startedAt: Timestamp;
updatedAt: Timestamp;
};

export type TaskVerificationPage = {
items: TaskVerification[];
nextCursor: string | null;
};

export type Tenant = {
id: Uuid;
slug: string;
name: string;
createdAt: Timestamp;
updatedAt: Timestamp;
};

/** RFC 3339, UTC, milliseconds. */
export type Timestamp = string;

export type Tool = {
id: Uuid;
name: string;
version: string;
protocol: "mcp" | "http" | "local" | "opencode" | "custom";
status: "active" | "deprecated" | "disabled";
/** The first 200 characters of the description. */
summary: string;
/** Whether the caller can call it now. */
visible: boolean;
reason: "assigned_and_protocol_supported" | "not_assigned" | "skill_disabled" | "protocol_not_allowed_by_governance" | "not_granted_by_child_handle" | "protocol_not_supported_by_harness";
};

export type ToolDetail = {
id: Uuid;
name: string;
version: string;
protocol: "mcp" | "http" | "local" | "opencode" | "custom";
status: "active" | "deprecated" | "disabled";
/** The first 200 characters of the description. */
summary: string;
/** Whether the caller can call it now. */
visible: boolean;
reason: "assigned_and_protocol_supported" | "not_assigned" | "skill_disabled" | "protocol_not_allowed_by_governance" | "not_granted_by_child_handle" | "protocol_not_supported_by_harness";
/** Its first 4000 characters. */
description: string;
/** The JSON Schema of the inputs, with the keywords of the draft except default and examples; `null` without inputs. */
inputSchema: Record<string, unknown> | null;
schemaRedactions: SchemaRedaction[];
};

export type ToolPage = {
items: Tool[];
nextCursor: string | null;
view: ToolView;
};

export type ToolView = {
/** Changes with every skill of the tenant. */
catalogRevision: string;
/** Changes with the tools that the caller may use. */
policyRevision: string;
/** Hash of both revisions, the query, the limit and the cursor: the ETag. */
viewHash: string;
mode: "eager" | "search";
returned: number;
hasMore: boolean;
};

export type TypeMigration = {
typeVersion?: number | null;
statusMap?: Record<string, string> | null;
};

export type TypeMigrationBatch = {
toVersion?: number | null;
statusMap?: Record<string, string> | null;
/** The number of tasks to process: 1 to 500; 100 by default. */
limit?: number | null;
cursor?: string | null;
};

export type TypeMigrationReport = {
typeKey: string;
fromTypeVersion: number;
typeVersion: number;
typeId: Uuid;
migrated: Array<{
taskId: Uuid;
publicId: string;
fromStatus: string;
status: string;
version: number;
}>;
skipped: Array<{
taskId: Uuid;
code: string;
message: string;
details: Record<string, unknown>;
}>;
nextCursor: string | null;
};

export type UndeliveredEvent = {
/** The id of this delivery: an event has one delivery per sink. */
id: Uuid;
eventId: Uuid;
type: string;
sink: string;
/** Attempts that may have reached the sink. */
attempts: number;
lastError: string | null;
/** Null for dead letters and dropped deliveries. */
nextAttemptAt: Timestamp | null;
};

export type UndeliveredEventPage = {
items: UndeliveredEvent[];
nextCursor: string | null;
};

export type Usage = {
inputTokens: number;
outputTokens: number;
costs: Array<{
currency: string;
costMicros: number;
}>;
};

export type UsageInput = {
inputTokens?: number | null;
outputTokens?: number | null;
costMicros?: number | null;
currency?: string | null;
};

export type UsageStatistics = {
from: string;
to: string;
timeZone: string;
groupBy: "principal" | "workspace" | "week";
total: Usage;
groups: Array<{
/** Set if grouped by principal. */
principalId: Uuid | null;
/** Set if grouped by workspace; null there for tasks without a workspace. */
workspaceId: Uuid | null;
/** The Monday of the week, if grouped by week. */
week: string | null;
runs: number;
usage: Usage;
}>;
/** The groups beyond the 200 with the highest costs; null if there are none. */
rest: {
groups: number;
runs: number;
usage: Usage;
} | null;
};

export type UsedConnection = {
id: Uuid;
key: string;
type: string;
typeVersion: number;
displayName: string;
account: string | null;
auth: "oauth2" | "token" | null;
status: "pending" | "active" | "expired" | "revoked";
statusReason: string | null;
statusMessage: string | null;
settings: Record<string, unknown>;
/** Path of the credential in the secret store; in an external one, below `<mount>/data/`. */
secretRef: string | null;
expiresAt: Timestamp | null;
connectedBy: Uuid | null;
connectedAt: Timestamp | null;
lastCheckedAt: Timestamp | null;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
version: number;
/** The keys of the first 200 agents whose specs contain it. */
agents: string[];
};

export type Uuid = string;

export type View = {
id: Uuid;
tenantId: Uuid;
key: string;
title: string;
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
/** By language. */
titles: Record<string, string>;
blocks: ViewBlock[];
};

export type ViewBlock = {
title: string;
source: "tasks" | "runs" | "claims" | "approvals" | "projects" | "goals" | "processes" | "agents" | "connections" | "invocations" | "knowledge";
columns: ViewColumn[];
filters: ViewFilter[];
/** The sort orders of queries; the first one is the default. */
sorts: ViewSort[];
groupBy?: string;
aggregate?: {
fn: "count" | "sum" | "avg" | "min" | "max";
field?: string;
};
params: ViewParameter[];
};

/** In a block with an aggregate: `groupBy`, or `value`. */
export type ViewColumn = {
field: string;
title?: string;
};

export type ViewFilter = {
field: string;
op: "eq" | "in" | "gte" | "lte" | "prefix";
/** With a value or a parameter, the filter always applies; without one, a query may set it. */
value?: string | number | boolean | null | Array<string | number | boolean | null> | {
param: string;
};
};

export type ViewParameter = {
name: string;
type: "text" | "number" | "boolean" | "time" | "id" | "workspace";
/** Without a default, each query must set a value. */
default?: string | number | boolean | null;
};

export type ViewQuery = {
block: number;
params?: Record<string, string | number | boolean | null>;
filter?: Array<{
field: string;
op?: "eq" | "in" | "gte" | "lte" | "prefix";
/** A value of the field's type; a list for `in`; null with `eq` matches missing values. */
value: string | number | boolean | null | Array<string | number | boolean | null>;
}>;
/** Defaults to the first sort of the block, or newest first if it has none. */
sort?: Array<{
field: string;
direction?: "asc" | "desc";
}>;
limit?: number;
cursor?: string | null;
/** Only rows of this workspace or its descendants; connections belong to the tenant. */
workspaceId?: Uuid | null;
};

export type ViewRows = {
view: string;
version: number;
block: number;
source: "tasks" | "runs" | "claims" | "approvals" | "projects" | "goals" | "processes" | "agents" | "connections" | "invocations" | "knowledge";
columns: Array<{
field: string;
title: string | null;
type: "text" | "number" | "boolean" | "time" | "id";
}>;
/** One object per row, with the fields of the columns. */
items: Array<Record<string, string | number | boolean | null>>;
nextCursor: string | null;
};

export type ViewSort = {
field: string;
direction: "asc" | "desc";
};

export type WaitStatistics = {
from: string;
to: string;
timeZone: string;
/** The sum of the times within the range for which requests for a decision were pending. */
waitingSeconds: number;
requested: number;
decided: number;
/** Requests that are pending now, whenever they were made. */
pending: number;
/** From a request to its decision, by the day of the decision. */
decisionTime: Durations;
days: Array<{
date: string;
waitingSeconds: number;
requested: number;
decided: number;
decisionTime: Durations;
}>;
};

export type WorkStatistics = {
from: string;
to: string;
timeZone: string;
created: number;
completed: number;
/** From the creation of a task to its completion. */
leadTime: Durations;
/** From the first claim of a task to its completion; tasks without a claim are not counted. */
cycleTime: Durations;
days: Array<{
date: string;
created: number;
completed: number;
leadTime: Durations;
cycleTime: Durations;
}>;
};

export type WorkingHours = {
intervals: WorkingInterval[];
/** Days of the week with different hours. */
weekdays: {
"1"?: WorkingInterval[];
"2"?: WorkingInterval[];
"3"?: WorkingInterval[];
"4"?: WorkingInterval[];
"5"?: WorkingInterval[];
"6"?: WorkingInterval[];
"7"?: WorkingInterval[];
};
/** How much earlier a short day ends, as an ISO 8601 duration in minutes: PT60M. */
shortDayReduction: string;
};

export type WorkingHoursInput = {
intervals: WorkingInterval[];
/** Days of the week with different hours. */
weekdays?: {
"1"?: WorkingInterval[];
"2"?: WorkingInterval[];
"3"?: WorkingInterval[];
"4"?: WorkingInterval[];
"5"?: WorkingInterval[];
"6"?: WorkingInterval[];
"7"?: WorkingInterval[];
};
/** How much earlier a short day ends, as an ISO 8601 duration in minutes: PT60M. */
shortDayReduction?: string;
};

/** From HH:MM, to HH:MM, at most 24:00. */
export type WorkingInterval = {
from: string;
to: string;
};

export type Workspace = {
id: Uuid;
tenantId: Uuid;
parentId: Uuid | null;
typeId: Uuid;
slug: string;
name: string;
description: string;
customFields: Record<string, unknown>;
/** Keys of the allowed task types; `null` inherits those of the parent. */
taskTypes: string[] | null;
/** The calendar whose time zone determines when the dates of tasks begin; `null` inherits that of the parent, else UTC. */
calendarKey: string | null;
status: "active" | "archived";
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
};

export type WorkspaceChange = {
name?: string | null;
description?: string | null;
slug?: string | null;
typeId?: Uuid | null;
typeKey?: string | null;
customFields?: Record<string, unknown>;
taskTypes?: string[] | null;
calendarKey?: string | null;
};

export type WorkspaceDetail = {
id: Uuid;
tenantId: Uuid;
parentId: Uuid | null;
typeId: Uuid;
slug: string;
name: string;
description: string;
customFields: Record<string, unknown>;
/** Keys of the allowed task types; `null` inherits those of the parent. */
taskTypes: string[] | null;
/** The calendar whose time zone determines when the dates of tasks begin; `null` inherits that of the parent, else UTC. */
calendarKey: string | null;
status: "active" | "archived";
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
effectiveTaskTypes: string[] | null;
};

export type WorkspaceKnowledgePacks = {
workspaceId: Uuid;
rootWorkspaceId: Uuid;
configured: boolean;
/** Packs of the workspace itself; only a root has any. */
packs: string[];
strict: boolean;
/** Packs of the root. */
effective: string[];
updatedAt: Timestamp | null;
};

export type WorkspaceMember = {
id: Uuid;
workspaceId: Uuid;
principalId: Uuid;
createdAt: Timestamp;
};

export type WorkspaceMemberPage = {
items: WorkspaceMember[];
nextCursor: string | null;
};

export type WorkspaceMemberRequest = {
principalId: Uuid;
};

/** `null` makes the workspace a root. */
export type WorkspaceMove = {
newParentId: Uuid | null;
};

export type WorkspacePage = {
items: Workspace[];
nextCursor: string | null;
};

export type WorkspaceRequest = {
slug: string;
name: string;
description?: string;
parentId?: Uuid | null;
typeId?: Uuid | null;
typeKey?: string | null;
customFields?: Record<string, unknown>;
calendarKey?: string | null;
};

export type WorkspaceTree = {
roots: WorkspaceTreeNode[];
/** `true` when levels were omitted to limit the tree to 1,000 nodes. */
truncated: boolean;
nextCursor: string | null;
};

export type WorkspaceTreeNode = {
id: Uuid;
parentId: Uuid | null;
/** 0 for a root of the response. */
depth: number;
slug: string;
name: string;
status: "active" | "archived";
version: number;
typeId: Uuid;
typeKey: string;
project?: WorkspaceTreeProject | null;
children: WorkspaceTreeNode[];
};

export type WorkspaceTreeProject = {
id: Uuid;
statusKey: string;
systemStatusCategory: string;
status: "active" | "archived";
templateKey: string;
templateVersion: number;
};

export type WorkspaceType = {
id: Uuid;
tenantId: Uuid;
key: string;
displayName: string;
description: string;
fieldSchema: Record<string, unknown>;
allowedChildTypes: string[];
isSystem: boolean;
status: "active" | "archived";
version: number;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
};

export type WorkspaceTypeChange = {
displayName?: string | null;
description?: string | null;
fieldSchema?: Record<string, unknown>;
allowedChildTypes?: string[] | null;
};

export type WorkspaceTypePage = {
items: WorkspaceType[];
nextCursor: string | null;
};

export type WorkspaceTypeRequest = {
key: string;
displayName: string;
description?: string;
fieldSchema?: Record<string, unknown>;
/** Keys of workspace types, or * for any; at most 100. */
allowedChildTypes?: string[];
};

export type WrittenRule = {
id: Uuid;
tenantId: Uuid;
workspaceId: Uuid | null;
goalId: Uuid | null;
key: string;
description: string;
version: number;
status: "enabled" | "disabled" | "archived";
trigger: RuleTrigger;
condition: unknown;
interpretation: RuleInterpretation | null;
action: RuleAction;
identity: RuleIdentity | null;
/** The principal who last enabled or wrote the rule. The rule acts on their behalf, or as the agent of `identity` with their visibility. */
authorityPrincipalId: Uuid | null;
enabledAt: Timestamp | null;
nextRunAt: Timestamp | null;
createdBy: Uuid;
createdAt: Timestamp;
updatedAt: Timestamp;
package: PackageLink | null;
warnings: RuleWarning[];
};
