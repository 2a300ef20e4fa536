import { join } from 'node:path';
import type { Operation } from '@baton/kernel/http/service';
import type { MatrixSetup } from '@baton/kernel/testing/matrix/matrix';
import { collectFixtures } from '@baton/kernel/testing/matrix/matrix-fixtures';
import type { IdentifierFixture, MatrixCaller } from '@baton/kernel/testing/matrix/matrix-service';
import { endpoints } from '../../app/endpoints.ts';
import { permissionNames } from '../../service/permissions.ts';
import { startIdentityService } from '../access/identity-service.ts';
import { bootstrapToken, migrationsDirectory, startCoordination } from '../coordination.ts';
import { startMemoryService } from '../memory/memory-service.ts';
import { smtpSettings } from '../notifications/notifications.ts';
import type { FixtureTenant } from './fixtures.ts';

const [task, workspace, principal] = [
  { object: '/tasks/{ref}' },
  { object: '/workspaces/{id}' },
  { object: '/principals/{id}' },
];
const evidence = (kind: string, field: string) => ({
  fields: (id: string) => ({ evidence: [{ kind, [field]: id }] }),
});
const originEvidence = (kind: string, field: string) => ({
  fields: (id: string) => ({ origin: { kind: 'human', ...evidence(kind, field).fields(id) } }),
});
/** Values for the identifiers in bodies and queries. */
const identifiers: Readonly<Record<string, IdentifierFixture>> = {
  agentPrincipalId: principal,
  // A principal that is not a registry agent has no revisions, so neither its own nor another principal's can be found.
  agentRevisionId: { object: null },
  artifactId: { object: '/artifacts/{id}' },
  approvalId: { object: '/approvals/{id}' },
  assignedPrincipalId: principal,
  assigneeId: principal,
  capabilityId: { object: '/capabilities/{id}' },
  claimId: { object: '/claims/{id}' },
  // The id is only a filter: an unknown principal has no work.
  'claimNextTasks.assigneeId': { ...principal, mayBeAbsent: true },
  'createdFrom.evidence.[].artifactId': {
    object: '/artifacts/{id}',
    fields: (id) => ({ createdFrom: { kind: 'human', ...evidence('artifact', 'artifactId').fields(id) } }),
  },
  'createdFrom.evidence.[].contextPackId': {
    object: '/context-packs/{id}',
    fields: (id) => ({
      createdFrom: { kind: 'human', ...evidence('context_pack', 'contextPackId').fields(id) },
    }),
  },
  'createdFrom.evidence.[].observationId': {
    object: '/observations/{id}',
    fields: (id) => ({
      createdFrom: { kind: 'human', ...evidence('observation', 'observationId').fields(id) },
    }),
  },
  actorId: principal,
  entityId: task,
  'evidence.[].artifactId': { object: '/artifacts/{id}', ...evidence('artifact', 'artifactId') },
  'evidence.[].contextPackId': {
    object: '/context-packs/{id}',
    ...evidence('context_pack', 'contextPackId'),
  },
  'evidence.[].observationId': { object: '/observations/{id}', ...evidence('observation', 'observationId') },
  'excludedPrincipals.[]': principal,
  forTask: task,
  // The id is only a filter: an unknown principal held nothing.
  'getHoldings.principalId': { ...principal, mayBeAbsent: true },
  goalId: { object: '/goals/{id}' },
  humanPrincipalId: principal,
  // The ids are names in the identity service.
  iamPrincipalId: { object: null },
  iamTenantId: { object: null },
  'iamBinding.iamPrincipalId': { object: null },
  'iamBinding.iamTenantId': { object: null },
  'instanceIds.[]': {
    object: '/process-instances/{id}',
    fields: (id) => ({ instanceIds: [id] }),
  },
  // An unknown invocation can't be claimed.
  invocationId: { object: '/skill-invocations/{id}', mayBeAbsent: true },
  newParentId: workspace,
  onBehalfOf: principal,
  'origin.evidence.[].artifactId': {
    object: '/artifacts/{id}',
    ...originEvidence('artifact', 'artifactId'),
  },
  'origin.evidence.[].contextPackId': {
    object: '/context-packs/{id}',
    ...originEvidence('context_pack', 'contextPackId'),
  },
  'origin.evidence.[].observationId': {
    object: '/observations/{id}',
    ...originEvidence('observation', 'observationId'),
  },
  ownerId: principal,
  parentGoalId: { object: '/goals/{id}' },
  parentId: workspace,
  parentTask: task,
  principalId: principal,
  ownerPrincipalId: principal,
  parentWorkspaceId: workspace,
  projectId: { object: '/projects/{id}' },
  requiredRoleId: {
    object: '/roles/{id}',
    fields: (id) => ({ requiredRoleId: id, assignedPrincipalId: null }),
  },
  'revokeRole.workspaceId': { ...workspace, mayBeAbsent: true },
  roleId: { object: '/roles/{id}' },
  rootId: workspace,
  runId: { object: '/runs/{id}' },
  sessionId: { object: '/sessions/{id}' },
  skillId: { object: '/skills/{ref}' },
  supersedes: { object: '/observation-events/{id}' },
  supersedesArtifactId: { object: '/artifacts/{id}' },
  'spec.work.project': { object: '/projects/{id}' },
  'spec.work.workspace': workspace,
  task,
  taskId: task,
  // The caller of the very first call chooses this id.
  tenantId: { object: null },
  templateId: { object: '/project-templates/{id}' },
  toTask: task,
  'createTask.typeId': { object: '/task-types/{id}' },
  typeId: { object: '/workspace-types/{id}' },
  waitingForApprovalId: { object: '/approvals/{id}' },
  workspaceId: workspace,
};

/** Tests every endpoint of coordination against the general rules of docs/reference/README.md. */
export const matrixSetup: MatrixSetup<FixtureTenant> = {
  service: 'coordination',
  basePath: '/api/v1',
  endpoints,
  rulesOf: () => ({
    unauthenticated: { status: 401, code: 'invalid_credentials' },
    denied: { status: 403, code: 'permission_denied' },
    scopeless: { status: 403, code: 'scope_not_granted' },
    invalid: { status: 400, code: 'invalid_request' },
    unstorable: { status: 422, code: 'validation_error' },
    tooLarge: { status: 413, code: 'request_too_large' },
    wrongMethod: { status: 405, code: 'method_not_allowed' },
    keyRequired: { status: 422, code: 'idempotency_key_required' },
    keyTooLong: { status: 422, code: 'invalid_idempotency_key' },
    keyReused: { status: 409, code: 'idempotency_key_reused' },
    ifMatchRequired: { status: 428, code: 'if_match_required' },
    ifMatchInvalid: { status: 400, code: 'invalid_if_match' },
  }),
  codeOf(body) {
    const { error, ...rest } = (body ?? {}) as { error?: Record<string, unknown> };
    const keys = Object.keys(error ?? {}).join();
    return keys === 'code,message,details,requestId' && Object.keys(rest).length === 0
      ? String(error?.['code'])
      : undefined;
  },
  keyRequired: ({ idempotency }) => idempotency === 'required',
  bodyBytesMax: ({ bytes, largeBody, bodyBytesMax }) =>
    bodyBytesMax ?? (bytes ? 104_857_600 : largeBody ? 8_388_608 : 1_048_576),
  sizeBeforeCredential: () => true,
  ignoresUnknownFields: ({ id }) => id === 'compileHarnessManifest' || id === 'registerKnowledgePack',
  fixtures: await collectFixtures<FixtureTenant>(join(import.meta.dirname, '../..')),
  migrationsDirectory,
  identifiers,
  // The credential check writes last_used_at whenever its cache has expired.
  ignoredChanges: ['idempotency_keys', 'iam_bindings.last_used_at', 'artifact_contents'],
  start,
};

async function start() {
  const memory = await startMemoryService();
  const identity = await startIdentityService();
  const baton = await startCoordination({
    CP_CONTEXT_PROVIDER: 'http',
    CP_CONTEXT_BASE_URL: memory.url,
    ...identity.env,
    CP_OAUTH_REDIRECT_URI: 'http://localhost:8000/api/v1/connections:callback',
    CP_CONNECTIONS_RETURN_URL: 'http://localhost:8000/connections',
    CP_SLACK_ENABLED: 'true',
    // No worker connects to this server.
    ...smtpSettings({ port: 25 }),
    CP_PUBLIC_URL: 'http://localhost:8000',
  });
  // A person, because some permissions are for people only.
  const allowed = await baton.actor({ kind: 'human' });
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const narrowed = (...scope: string[]) =>
    baton.issuer.sign({ sub: allowed.iamPrincipalId, tenant_id: baton.tenantId, scope });
  const [readOnly, writeOnly, scopeless] = [
    await narrowed('control-plane:read'),
    await narrowed('control-plane:write'),
    await narrowed('another-service:read'),
  ];
  const writer = await baton.actor({
    permissions: permissionNames.filter((name) => /tasks\.claim|\.write$/.test(name)),
  });
  const writerReading = await baton.issuer.sign({
    sub: writer.iamPrincipalId,
    tenant_id: baton.tenantId,
    scope: ['control-plane:read'],
  });
  const second = await baton.actor({ kind: 'human' });
  const powerless = await baton.actor({ permissions: [] });
  function headersOf({ auth, permission }: Operation, caller: MatrixCaller) {
    if (auth === 'none' || auth === 'metrics') return undefined;
    if (caller === 'anonymous') return {};
    if (auth === 'bootstrap') return caller === 'allowed' ? bearer(bootstrapToken) : undefined;
    const isRead = permission.some((name) => name.endsWith('.read'));
    const isWrite = permission.some((name) => !name.endsWith('.read'));
    switch (caller) {
      case 'allowed':
        return bearer(allowed.token);
      case 'second':
        return bearer(second.token);
      case 'powerless':
        return bearer(powerless.token);
      case 'narrow':
        // If either the read or the write permission suffices, each scope restricts the caller to one of them.
        if (isRead && isWrite) return bearer(writerReading);
        return bearer(isRead ? writeOnly : readOnly);
      default:
        return bearer(scopeless);
    }
  }

  return {
    url: baton.url,
    databaseUrl: baton.databaseUrl,
    env: baton.env,
    tenant: { baton, actor: allowed },
    otherTenant: { baton, actor: baton.otherAdmin },
    headersOf,
    async close() {
      await baton.close();
      await memory.close();
      await identity.close();
    },
  };
}
