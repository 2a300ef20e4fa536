import type { Endpoint } from '@baton/kernel/http/service';
import type { Section } from '@baton/kernel/openapi/openapi';
import { accessRolesApi } from '../access/access-roles/access-roles.api.ts';
import { apiKeysApi } from '../access/api-keys/api-keys.api.ts';
import { delegationsApi } from '../access/delegations/delegations.api.ts';
import { iamBindingsApi } from '../access/iam-bindings/iam-bindings.api.ts';
import { principalAccessApi } from '../access/iam-bindings/principal-access.api.ts';
import { identityAdministrationTokensApi } from '../access/identity-administration-tokens/administration-tokens.api.ts';
import { differencesApi } from '../access/policy/differences.api.ts';
import { admissionRulesApi } from '../access/principals/admissions/admission-rules.api.ts';
import { admissionsApi } from '../access/principals/admissions/admissions.api.ts';
import { peopleApi } from '../access/principals/people.api.ts';
import { principalsApi } from '../access/principals/principals.api.ts';
import { artifactTypesApi } from '../definitions/artifact-types/artifact-types.api.ts';
import { executorsApi } from '../definitions/executors/executors.api.ts';
import { taskTypesApi } from '../definitions/task-types/task-types.api.ts';
import { actionsApi } from '../execution/actions/actions.api.ts';
import { checkpointsApi } from '../execution/checkpoints/checkpoints.api.ts';
import { childHandlesApi } from '../execution/child-handles/child-handles.api.ts';
import { claimsApi } from '../execution/claims/claims.api.ts';
import { controlMessagesApi } from '../execution/control-messages/control-messages.api.ts';
import { handoverApi } from '../execution/handover/handover.api.ts';
import { harnessApi } from '../execution/harness/harness.api.ts';
import { manifestsApi } from '../execution/harness/manifests.api.ts';
import { runsApi } from '../execution/runs/runs.api.ts';
import { sessionsApi } from '../execution/sessions/sessions.api.ts';
import { usageApi } from '../execution/usage/usage.api.ts';
import { eventsApi } from '../ledger/journal/events.api.ts';
import { outboxApi } from '../ledger/outbox/outbox.api.ts';
import { retentionApi } from '../ledger/retention/retention.api.ts';
import { contextAdapterApi } from '../memory/adapter/context-adapter.api.ts';
import { contextApi } from '../memory/context/context.api.ts';
import { knowledgeApi } from '../memory/knowledge/knowledge.api.ts';
import { invitationMailsApi } from '../notifications/invitation-mails/invitation-mails.api.ts';
import { preferencesApi } from '../notifications/preferences/preferences.api.ts';
import { slackWebhooksApi } from '../notifications/slack-webhooks/slack-webhooks.api.ts';
import { unsubscribeApi } from '../notifications/unsubscribe/unsubscribe.api.ts';
import { assignmentsApi } from '../organisation/assignments/assignments.api.ts';
import { calendarsApi } from '../organisation/calendars/calendars.api.ts';
import { capabilitiesApi } from '../organisation/capabilities/capabilities.api.ts';
import { membersApi } from '../organisation/members/members.api.ts';
import { projectTemplatesApi } from '../organisation/project-templates/project-templates.api.ts';
import { configRevisionsApi } from '../organisation/projects/config-revisions.api.ts';
import { projectsApi } from '../organisation/projects/projects.api.ts';
import { rolesApi } from '../organisation/roles/roles.api.ts';
import { skillsApi } from '../organisation/skills/skills.api.ts';
import { workspaceTypesApi } from '../organisation/workspace-types/workspace-types.api.ts';
import { workspacesApi } from '../organisation/workspaces/workspaces.api.ts';
import { packageApplyingApi } from '../packages/applications/apply-package.api.ts';
import { packagesApi } from '../packages/catalog/packages.api.ts';
import { packageTrialsApi } from '../packages/trials/trials.api.ts';
import { viewsApi } from '../packages/views/views.api.ts';
import { processDefinitionsApi } from '../processes/definitions/definitions.api.ts';
import { processInstancesApi } from '../processes/instances/instances.api.ts';
import { processReplayApi } from '../processes/instances/replay/replay.api.ts';
import { agentIdentityApi } from '../registry/agent-identity/agent-identity.api.ts';
import { agentRetirementApi } from '../registry/agent-retirement/agent-retirement.api.ts';
import { agentStatusApi } from '../registry/agent-status/agent-status.api.ts';
import { agentsApi } from '../registry/agents/agents.api.ts';
import { agentSecretsApi } from '../registry/agents/secrets/agent-secrets.api.ts';
import { connectionTypesApi } from '../registry/connection-types/connection-types.api.ts';
import { connectionsApi } from '../registry/connections/connections.api.ts';
import { packageSettingsApi } from '../registry/package-settings/package-settings.api.ts';
import { toolsApi } from '../registry/tools/tools.api.ts';
import { approvalsApi } from '../results/approvals/approvals.api.ts';
import { artifactsApi } from '../results/artifacts/artifacts.api.ts';
import { contentsApi } from '../results/contents/contents.api.ts';
import { invocationsApi } from '../results/invocations/invocations.api.ts';
import { observationsApi } from '../results/observations/observations.api.ts';
import { outcomesApi } from '../results/outcomes/outcomes.api.ts';
import { statisticsApi } from '../results/statistics/statistics.api.ts';
import { verificationsApi } from '../results/verification/verifications.api.ts';
import { rulesApi } from '../rules/catalog/rules.api.ts';
import { evaluationsApi } from '../rules/evaluations/evaluations.api.ts';
import { workApi } from '../work/available/available.api.ts';
import { makeAvailableApi } from '../work/available/make-available.api.ts';
import { commentsApi } from '../work/comments/comments.api.ts';
import { completionApi } from '../work/completion/completion.api.ts';
import { goalsApi } from '../work/goals/goals.api.ts';
import { readinessApi } from '../work/readiness/readiness.api.ts';
import { externalReferencesApi } from '../work/relations/external-references/external-references.api.ts';
import { projectDependenciesApi } from '../work/relations/project-dependencies.api.ts';
import { taskRelationsApi } from '../work/relations/task-relations.api.ts';
import { goalWorkApi } from '../work/task-list/goal-work.api.ts';
import { taskListApi } from '../work/task-list/task-list.api.ts';
import { tasksApi } from '../work/tasks/tasks.api.ts';
import { typeMigrationApi } from '../work/type-migration/type-migration.api.ts';
import { authzApi } from './authz/authz.api.ts';
import { bootstrapApi } from './bootstrap/bootstrap.api.ts';
import type { Context } from './context.ts';
import { eventTypesApi } from './event-types/event-types.api.ts';
import { healthApi } from './health/health.api.ts';
import { limitToVisible } from './within-sight.ts';

/**
 * The table of contents of the API: every operation of coordination, in the order in which a new user needs them. Only
 * operations in this list are served.
 */
export const sections: readonly Section<Endpoint<Context>>[] = [
  {
    tag: 'Tasks',
    about: 'Units of work: their status, their requirements, and the evidence of their completion.',
    endpoints: [
      ...tasksApi,
      ...taskListApi,
      ...completionApi,
      ...readinessApi,
      ...makeAvailableApi,
      ...verificationsApi,
    ],
  },
  {
    tag: 'Sessions',
    about: 'The presence of a program: its claims last only while its session is open.',
    endpoints: [...sessionsApi, ...harnessApi],
  },
  {
    tag: 'Claims',
    about: 'Find a task, hold it exclusively for a limited time, and release it.',
    endpoints: [...workApi, ...claimsApi],
  },
  {
    tag: 'Runs',
    about: 'One attempt at a claimed task, from its start to its success, failure or cancellation.',
    endpoints: [
      ...runsApi,
      ...checkpointsApi,
      ...actionsApi,
      ...handoverApi,
      ...usageApi,
      ...manifestsApi,
      ...controlMessagesApi,
      ...childHandlesApi,
    ],
  },
  {
    tag: 'Approvals',
    about: 'Decisions that a person has to make, and gates that block a task until then.',
    endpoints: [...approvalsApi, ...outcomesApi],
  },
  {
    tag: 'Artifacts',
    about: 'Results of runs: records, their content, and the requirements of each type.',
    endpoints: [...artifactsApi, ...contentsApi, ...artifactTypesApi],
  },
  {
    tag: 'Comments',
    about: 'Comments of people and programs on a task.',
    endpoints: commentsApi,
  },
  {
    tag: 'Events',
    about: 'The ordered journal of every change.',
    endpoints: [...eventsApi, ...eventTypesApi],
  },
  {
    tag: 'Task types',
    about: 'The kinds of tasks, with their fields, their statuses and the transitions between them.',
    endpoints: [...taskTypesApi, ...typeMigrationApi, ...executorsApi],
  },
  {
    tag: 'Task relations',
    about: 'Relations between tasks: parts, dependencies, origins.',
    endpoints: taskRelationsApi,
  },
  {
    tag: 'Observations',
    about: 'Facts published in the journal for services that remember them.',
    endpoints: observationsApi,
  },
  {
    tag: 'Context',
    about: 'Context for a program that is about to act: the state of the work, and related memory.',
    endpoints: contextApi,
  },
  {
    tag: 'Knowledge',
    about: 'The data sent to the memory service, and the packs for reading it.',
    endpoints: knowledgeApi,
  },
  {
    tag: 'External references',
    about: 'The names of tasks and projects in other systems.',
    endpoints: externalReferencesApi,
  },
  {
    tag: 'Goals',
    about: 'Desired states, how their achievement is observed, and the work towards them.',
    endpoints: [...goalsApi, ...goalWorkApi],
  },
  {
    tag: 'Work rules',
    about: 'Rules that create work from events, the identities on whose behalf they act, and their results.',
    endpoints: [...rulesApi, ...evaluationsApi],
  },
  {
    tag: 'Processes',
    about: 'Processes with steps, assignees and deadlines: definitions in immutable versions, and instances.',
    endpoints: [...processDefinitionsApi, ...processReplayApi, ...processInstancesApi],
  },
  {
    tag: 'Statistics',
    about:
      'Figures of the work in a range of days: completed tasks, waits, lost leases, usage, and who held what.',
    endpoints: statisticsApi,
  },
  {
    tag: 'Workspaces',
    about: 'The tree in which work is filed, its types, and its members.',
    endpoints: [...workspacesApi, ...membersApi, ...workspaceTypesApi],
  },
  {
    tag: 'Calendars',
    about: 'Working days and hours, and the deadlines that result from them.',
    endpoints: calendarsApi,
  },
  {
    tag: 'Projects',
    about: 'The context of work: templates, projects and their states, and their configuration.',
    endpoints: [...projectsApi, ...projectDependenciesApi, ...configRevisionsApi, ...projectTemplatesApi],
  },
  {
    tag: 'Operations',
    about: 'Operations: delivery state, and archiving and pruning of the journal.',
    endpoints: [...contextAdapterApi, ...outboxApi, ...retentionApi, ...differencesApi],
  },
  {
    tag: 'Roles and skills',
    about:
      'Roles, capabilities and skills, and their holders: they decide eligibility for work and grant no permission.',
    endpoints: [...rolesApi, ...capabilitiesApi, ...skillsApi, ...assignmentsApi],
  },
  {
    tag: 'Tools',
    about: 'The skills that a program may use now, searchable, with their input schemas.',
    endpoints: toolsApi,
  },
  {
    tag: 'Skill calls',
    about:
      'Invocations of skills: requested by programs, people and the core itself, executed by executors under leases.',
    endpoints: invocationsApi,
  },
  {
    tag: 'Packages',
    about: 'Catalog objects that are installed together: the installed packages and their contents.',
    endpoints: [...packagesApi, ...packageApplyingApi, ...packageTrialsApi, ...packageSettingsApi],
  },
  {
    tag: 'Views',
    about: "Views of the work from packages: lists and sums of a tenant's data, in declared columns.",
    endpoints: viewsApi,
  },
  {
    tag: 'Agents',
    about:
      'The registry of agents: the configuration of each in revisions, its principal, its state and its secrets.',
    endpoints: [
      ...agentsApi,
      ...agentRetirementApi,
      ...agentIdentityApi,
      ...agentStatusApi,
      ...agentSecretsApi,
    ],
  },
  {
    tag: 'Identity administration',
    about: "Tokens with which administrators use identity's administration without its admin secret.",
    endpoints: identityAdministrationTokensApi,
  },
  {
    tag: 'Connections',
    about: 'Access to accounts in other systems: how each type is connected, and the existing connections.',
    endpoints: [...connectionsApi, ...connectionTypesApi],
  },
  {
    tag: 'Notifications',
    about: 'How people are notified of what waits for them, by e-mail and Slack.',
    endpoints: [...preferencesApi, ...invitationMailsApi, ...slackWebhooksApi, ...unsubscribeApi],
  },
  {
    tag: 'Principals',
    about: 'The people, agents and services that act here.',
    endpoints: [...principalsApi, ...peopleApi],
  },
  {
    tag: 'Access',
    about: 'Access roles and permissions: what people, agents and services are allowed to do, also in words.',
    endpoints: [...accessRolesApi, ...principalAccessApi],
  },
  {
    tag: 'Admissions',
    about: 'How people who signed in through an identity provider get a principal and a role.',
    endpoints: [...admissionsApi, ...admissionRulesApi],
  },
  {
    tag: 'IAM bindings',
    about: 'Identities of the identity service, the principals that they act as, and their permissions.',
    endpoints: iamBindingsApi,
  },
  {
    tag: 'API keys',
    about: 'Credentials of this service itself, for clients that cannot get an access token.',
    endpoints: apiKeysApi,
  },
  {
    tag: 'Delegations',
    about: 'Delegations that let an agent act on behalf of a person.',
    endpoints: delegationsApi,
  },
  {
    tag: 'Authorization',
    about: "Checks of the caller's permitted actions, in advance.",
    endpoints: authzApi,
  },
  {
    tag: 'Bootstrap',
    about: 'The first call of a new installation.',
    endpoints: bootstrapApi,
  },
  {
    tag: 'Health',
    about: 'Liveness, readiness and metrics of the service.',
    endpoints: healthApi,
  },
];

export const endpoints: readonly Endpoint<Context>[] = sections
  .flatMap((section) => section.endpoints)
  .map(limitToVisible);
