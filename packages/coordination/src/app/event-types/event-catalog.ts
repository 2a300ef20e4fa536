import type { EventDeclaration } from '@baton/kernel/http/service';
import * as accessRoles from '../../access/access-roles/access-roles.events.ts';
import * as apiKeys from '../../access/api-keys/api-keys.events.ts';
import * as delegations from '../../access/delegations/delegations.events.ts';
import * as iamBindings from '../../access/iam-bindings/iam-bindings.events.ts';
import * as identityAdministrationTokens from '../../access/identity-administration-tokens/administration-tokens.events.ts';
import * as admissions from '../../access/principals/admissions/admissions.events.ts';
import * as principals from '../../access/principals/principals.events.ts';
import * as artifactTypes from '../../definitions/artifact-types/artifact-types.events.ts';
import * as taskTypes from '../../definitions/task-types/task-types.events.ts';
import * as checkpoints from '../../execution/checkpoints/checkpoints.events.ts';
import * as childHandles from '../../execution/child-handles/child-handles.events.ts';
import * as claims from '../../execution/claims/claims.events.ts';
import * as controlMessages from '../../execution/control-messages/control-messages.events.ts';
import * as handover from '../../execution/handover/handover.events.ts';
import * as retries from '../../execution/retries/retries.events.ts';
import * as runs from '../../execution/runs/runs.events.ts';
import * as sessions from '../../execution/sessions/sessions.events.ts';
import * as children from '../../leases/children/children.events.ts';
import * as cancelledInvocations from '../../leases/invocations/invocations.events.ts';
import * as leases from '../../leases/leases.events.ts';
import * as outbox from '../../ledger/outbox/outbox.events.ts';
import * as retention from '../../ledger/retention/retention.events.ts';
import * as contextAdapter from '../../memory/adapter/context-adapter.events.ts';
import * as context from '../../memory/context/context.events.ts';
import * as knowledge from '../../memory/knowledge/knowledge.events.ts';
import * as digests from '../../notifications/digests/digests.events.ts';
import * as invitationMails from '../../notifications/invitation-mails/invitation-mails.events.ts';
import * as notificationPreferences from '../../notifications/preferences/preferences.events.ts';
import * as slackWebhooks from '../../notifications/slack-webhooks/slack-webhooks.events.ts';
import * as assignments from '../../organisation/assignments/assignments.events.ts';
import * as calendars from '../../organisation/calendars/calendars.events.ts';
import * as capabilities from '../../organisation/capabilities/capabilities.events.ts';
import * as members from '../../organisation/members/members.events.ts';
import * as projectTemplates from '../../organisation/project-templates/project-templates.events.ts';
import * as projects from '../../organisation/projects/projects.events.ts';
import * as roles from '../../organisation/roles/roles.events.ts';
import * as skills from '../../organisation/skills/skills.events.ts';
import * as workspaceTypes from '../../organisation/workspace-types/workspace-types.events.ts';
import * as workspaces from '../../organisation/workspaces/workspaces.events.ts';
import * as views from '../../packages/views/publication/views.events.ts';
import * as processDefinitions from '../../processes/definitions/definitions.events.ts';
import { processEvents } from '../../processes/instances/instances.events.ts';
import * as agentIdentity from '../../registry/agent-identity/agent-identity.events.ts';
import * as agentStatus from '../../registry/agent-status/agent-status.events.ts';
import * as agents from '../../registry/agents/agents.events.ts';
import * as agentSecrets from '../../registry/agents/secrets/agent-secrets.events.ts';
import * as connectionTypes from '../../registry/connection-types/connection-types.events.ts';
import * as connections from '../../registry/connections/connections.events.ts';
import * as packageSettings from '../../registry/package-settings/package-settings.events.ts';
import * as approvals from '../../results/approvals/approvals.events.ts';
import * as artifactContents from '../../results/artifacts/artifact-contents.events.ts';
import * as artifacts from '../../results/artifacts/artifacts.events.ts';
import * as invocations from '../../results/invocations/invocations.events.ts';
import * as observations from '../../results/observations/observations.events.ts';
import * as outcomes from '../../results/outcomes/outcomes.events.ts';
import * as verification from '../../results/verification/verification.events.ts';
import * as ruleActs from '../../rules/acts/acts.events.ts';
import * as rules from '../../rules/catalog/rules.events.ts';
import * as ruleEvaluations from '../../rules/evaluations/evaluations.events.ts';
import * as makeAvailable from '../../work/available/make-available.events.ts';
import * as comments from '../../work/comments/comments.events.ts';
import * as completion from '../../work/completion/completion.events.ts';
import * as gates from '../../work/gates/gates.events.ts';
import * as goals from '../../work/goals/goals.events.ts';
import * as externalReferences from '../../work/relations/external-references/external-references.events.ts';
import * as taskRelations from '../../work/relations/task-relations.events.ts';
import * as mentions from '../../work/tasks/mentions/mentions.events.ts';
import * as tasks from '../../work/tasks/tasks.events.ts';
import * as typeMigration from '../../work/type-migration/type-migration.events.ts';
import * as attempts from '../../work/verifications/attempts.events.ts';
import * as bootstrap from '../bootstrap/bootstrap.events.ts';

const declarations: readonly object[] = [
  accessRoles,
  apiKeys,
  delegations,
  iamBindings,
  principals,
  bootstrap,
  artifactTypes,
  taskTypes,
  checkpoints,
  childHandles,
  claims,
  controlMessages,
  handover,
  retries,
  runs,
  sessions,
  children,
  leases,
  cancelledInvocations,
  outbox,
  retention,
  admissions,
  assignments,
  calendars,
  capabilities,
  members,
  projectTemplates,
  projects,
  roles,
  skills,
  workspaceTypes,
  workspaces,
  packageSettings,
  agents,
  agentIdentity,
  identityAdministrationTokens,
  agentSecrets,
  agentStatus,
  approvals,
  artifactContents,
  artifacts,
  context,
  contextAdapter,
  knowledge,
  observations,
  outcomes,
  verification,
  invocations,
  comments,
  makeAvailable,
  completion,
  gates,
  goals,
  processEvents,
  rules,
  ruleEvaluations,
  ruleActs,
  processDefinitions,
  externalReferences,
  taskRelations,
  tasks,
  mentions,
  typeMigration,
  attempts,
  connectionTypes,
  connections,
  views,
  digests,
  notificationPreferences,
  invitationMails,
  slackWebhooks,
];

/**
 * The catalog of events that the journal may contain, by type, in the order of the types. `emit` refuses events that
 * aren't listed here; add new `*.events.ts` files above. See docs/reference/journal.md#events.
 */
export const eventCatalog: ReadonlyMap<string, EventDeclaration> = new Map(
  declarations
    .flatMap((module) => Object.values(module))
    .filter(isEvent)
    .sort((left, right) => (left.type < right.type ? -1 : 1))
    .map((event) => [event.type, event]),
);

function isEvent(value: unknown): value is EventDeclaration {
  return typeof value === 'object' && value !== null && 'type' in value && 'payload' in value;
}
