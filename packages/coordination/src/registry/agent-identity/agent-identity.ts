import { z } from 'zod';
import { eventText } from '@baton/values/event-text';
import { lockPrincipal } from '../../access/authn/principal-lock.ts';
import { type Identity, IdentityMembers } from '../../access/iam-bindings/iam-binding.ts';
import {
  bindNewIdentity,
  getBindingRow,
  reopenIamBinding,
  requireTrustedIssuer,
  revokeIamBinding,
} from '../../access/iam-bindings/iam-bindings.ts';
import { refuseEscalation } from '../../access/permission-list.ts';
import { createAgentPrincipal } from '../../access/principals/managed-principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { changeAssignments, noAssignments } from '../../organisation/assignments/assignment-sets.ts';
import type { Permission } from '../../service/permissions.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Agent, AgentRow, RevisionRow } from '../agents/agent.ts';
import { getAgentRow, getCurrentRevision, showAgent } from '../agents/agents.ts';
import { requireMayUseAssignments } from '../agents/grant-rules.ts';
import { lockLinkedAgent, permissionsOf } from '../agents/publish-agent.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { agentIdentityReplaced } from './agent-identity.events.ts';
import { updateAgentLink } from './agent-identity.sql.ts';

/** The identity in the identity service with which an agent authenticates. */
export const AgentIdentity = IdentityMembers.meta({ id: 'AgentIdentity' });
export const AgentIdentityReplacement = AgentIdentity.extend({ reason: z.string().min(1).max(500) }).meta({
  id: 'AgentIdentityReplacement',
});
export type AgentIdentityReplacement = z.output<typeof AgentIdentityReplacement>;

/**
 * Links an identity to an agent and turns it into a principal with the rights of its spec. Linking a revoked identity
 * again readmits it; `replaceAgentIdentity` changes the identity.
 * @throws Refusal `iam_issuer_untrusted`, `not_found`, `agent_retired`, `permission_escalation`,
 * `visibility_escalation`, 422 `principal_not_active`, `agent_identity_conflict`
 */
export async function linkAgentIdentity(context: Context, key: string, identity: Identity): Promise<Agent> {
  requireTrustedIssuer(context, identity.issuer);
  const agent = await lockLiveAgent(context, key);
  const revision = await getCurrentRevision(context, agent);
  const permissions = permissionsOf(revision.spec);
  const isOwnWork = context.caller.kind === 'service' && revision.created_by === context.caller.principalId;
  if (!isOwnWork) refuseEscalation(context.caller.permissions, permissions);
  await refuseNarrowSight(context);
  const { principal_id: principalId, binding_id: bindingId } = agent;
  if (principalId === null || bindingId === null) await linkFirst(context, agent, revision, identity);
  else await reopen(context, { principalId, bindingId }, identity, permissions);
  return showAgent(context, await getAgentRow(context, key));
}

async function lockLiveAgent(context: Context, key: string): Promise<AgentRow> {
  const agent = (await lockLinkedAgent(context, key)) ?? fail('not_found', { agent: key });
  if (agent.status === 'retired') fail('agent_retired', { agent: key });
  return agent;
}

/**
 * Agents may see the whole tenant, so the caller must see it too. See docs/reference/README.md#visibility. @throws
 * Refusal `visibility_escalation`
 */
async function refuseNarrowSight(context: Context): Promise<void> {
  if ((await viewerOf(context)) !== null) fail('visibility_escalation');
}

async function linkFirst(
  context: Context,
  agent: AgentRow,
  { spec, grants }: RevisionRow,
  identity: Identity,
): Promise<void> {
  const { id: agentId, kind, display_name: displayName } = agent;
  const principalId = await createAgentPrincipal(context, { agentId, kind, displayName });
  const bindingId = await bind(context, agent, principalId, identity, permissionsOf(spec));
  await context.db.run(updateAgentLink(context.tenantId, agentId, principalId, bindingId));
  await changeAssignments(context, principalId, noAssignments, grants);
}

/** @throws Refusal `agent_identity_conflict` for an identity that is already bound, here or in another tenant */
async function bind(
  context: Context,
  { key }: AgentRow,
  principalId: string,
  identity: Identity,
  permissions: readonly Permission[],
): Promise<string> {
  const grant = { ...identity, principalId, accessRole: null, permissions, visibility: 'tenant' } as const;
  return (await bindNewIdentity(context, grant))?.id ?? fail('agent_identity_conflict', { agent: key });
}

interface Link {
  readonly principalId: string;
  readonly bindingId: string;
}

async function reopen(
  context: Context,
  { principalId, bindingId }: Link,
  identity: Identity,
  permissions: readonly Permission[],
): Promise<void> {
  await requireActivePrincipal(context, principalId);
  if (!(await isBoundBy(context, bindingId, identity))) fail('agent_identity_conflict');
  await reopenIamBinding(context, bindingId, permissions);
}

/** @throws Refusal 422 `principal_not_active` */
async function requireActivePrincipal(context: Context, principalId: string): Promise<void> {
  const { status } = await lockPrincipal(context, principalId);
  if (status !== 'active') fail('principal_not_active', { principalId }, { status: 422 });
}

async function isBoundBy(context: Context, bindingId: string, identity: Identity): Promise<boolean> {
  const {
    issuer,
    iam_tenant_id: tenant,
    iam_principal_id: principal,
  } = await getBindingRow(context, bindingId);
  return (
    issuer === identity.issuer && tenant === identity.iamTenantId && principal === identity.iamPrincipalId
  );
}

/**
 * Replaces the identity of a service agent: from then on the previous identity is refused; the principal stays. Setting
 * the current identity again changes nothing, unless it was revoked.
 * @throws Refusal `not_found`, `agent_retired`, `agent_identity_conflict`, `agent_identity_not_linked`, 422
 * `principal_not_active`, `iam_issuer_untrusted`, `permission_escalation`, `visibility_escalation`
 */
export async function replaceAgentIdentity(
  context: Context,
  key: string,
  { reason, ...identity }: AgentIdentityReplacement,
): Promise<Agent> {
  const agent = await lockLiveAgent(context, key);
  const { id: agentId, principal_id: principalId, binding_id: bindingId, workspace_id: workspaceId } = agent;
  if (agent.kind !== 'service') fail('agent_identity_conflict', { agent: key, kind: agent.kind });
  if (principalId === null || bindingId === null) return fail('agent_identity_not_linked', { agent: key });
  await requireActivePrincipal(context, principalId);
  requireTrustedIssuer(context, identity.issuer);
  const permissions = permissionsOf((await getCurrentRevision(context, agent)).spec);
  refuseEscalation(context.caller.permissions, permissions);
  await requireMayUseAssignments(context, principalId, noAssignments);
  await refuseNarrowSight(context);
  if (await isBoundBy(context, bindingId, identity)) {
    await reopenIamBinding(context, bindingId, permissions);
    return showAgent(context, agent);
  }
  await revokeIamBinding(context, bindingId);
  const newBindingId = await bind(context, agent, principalId, identity, permissions);
  await context.db.run(updateAgentLink(context.tenantId, agentId, principalId, newBindingId));
  const said = { key, principalId, reason: eventText(reason) };
  emit(context, agentIdentityReplaced, { entityId: agentId, workspaceId }, said);
  return showAgent(context, await getAgentRow(context, key));
}
