import { type Facts, say, type Teller } from './sentence.ts';

/** `${actor} created the role ${name}`, with the verb and the noun. */
const does: (verb: string, noun?: string) => Teller = (verb, noun) => (f) =>
  noun === undefined ? say`${f.by} ${verb} ${f.it}` : say`${f.by} ${verb} ${f.the(noun)}`;
const changes: (noun: string) => Teller = (noun) => (f) =>
  say`${f.by} changed the ${f.names('changes') || 'settings'} of ${f.the(noun)}`;
const published: (noun: string) => Teller = (noun) => (f) =>
  say`${f.by} published version ${f.number('version')} of ${f.the(noun)}`;
const person = (f: Facts) => ({ is: 'person', id: f.id }) as const;
const reference: (verb: string, preposition: string) => Teller = (verb, preposition) => (f) =>
  say`${f.by} ${verb} the ${f.code('externalSystem')} reference ${f.code('externalId')} ${preposition} ${f.it}`;

/** People, agents, roles, workspaces and projects. */
export const ofOrganisation: Readonly<Record<string, Teller>> = {
  'principal.created': (f) => say`${f.by} added the ${f.words('kind')} ${person(f)}`,
  'principal.updated': (f) => say`${f.by} changed the ${f.names('changes') || 'profile'} of ${person(f)}`,
  'principal.enabled': (f) => say`${f.by} enabled ${person(f)}${f.tail('reason')}`,
  'principal.disabled': (f) => say`${f.by} disabled ${person(f)}${f.tail('reason')}`,
  'principal.self_admitted': (f) => say`${person(f)} joined through ${f.code('identityProvider')}`,
  'role.created': does('created', 'role'),
  'role.updated': changes('role'),
  'role.assigned': (f) => say`${f.by} gave ${person(f)} the role ${f.object('role', 'roleId')}`,
  'role.revoked': (f) => say`${f.by} removed the role ${f.object('role', 'roleId')} from ${person(f)}`,
  'capability.created': does('created', 'capability'),
  'capability.updated': changes('capability'),
  'capability.assigned': (f) =>
    say`${f.by} gave ${person(f)} the capability ${f.object('capability', 'capabilityId')}`,
  'capability.revoked': (f) =>
    say`${f.by} removed the capability ${f.object('capability', 'capabilityId')} from ${person(f)}`,
  'skill.registered': (f) => say`${f.by} registered version ${f.code('version')} of ${f.the('skill')}`,
  'skill.updated': (f) =>
    say`${f.by} changed the ${f.names('changedFields') || 'settings'} of ${f.the('skill')}`,
  'skill.assigned': (f) => say`${f.by} gave ${person(f)} the skill ${f.object('skill', 'skillId')}`,
  'skill.revoked': (f) => say`${f.by} removed the skill ${f.object('skill', 'skillId')} from ${person(f)}`,
  'workspace.created': does('created', 'workspace'),
  'workspace.updated': changes('workspace'),
  'workspace.archived': does('archived', 'workspace'),
  'workspace.restored': does('restored', 'workspace'),
  'workspace.moved': (f) =>
    say`${f.by} moved ${f.the('workspace')} to ${f.object('workspace', 'toParentId', 'the top level')}`,
  'workspace.member_added': (f) => say`${f.by} added ${f.person('principalId')} to ${f.the('workspace')}`,
  'workspace.member_removed': (f) =>
    say`${f.by} removed ${f.person('principalId')} from ${f.the('workspace')}`,
  'workspace_type.created': does('created', 'workspace type'),
  'workspace_type.updated': changes('workspace type'),
  'workspace_type.archived': does('archived', 'workspace type'),
  'workspace_type.restored': does('restored', 'workspace type'),
  'project.created': does('created', 'project'),
  'project.updated': changes('project'),
  'project.archived': does('archived', 'project'),
  'project.restored': does('restored', 'project'),
  'project.status_changed': (f) =>
    say`${f.by} moved ${f.the('project')} to ${f.words('statusKey')}${f.tail('comment')}`,
  'project.config_revision_created': (f) =>
    say`${f.by} saved revision ${f.number('revision')} of the settings of ${f.it}${f.tail('comment')}`,
  'project.config_revision_activated': (f) =>
    say`${f.by} activated revision ${f.number('revision')} of the settings of ${f.it}`,
  'project.external_reference_added': reference('added', 'to'),
  'project.external_reference_updated': reference('changed', 'on'),
  'project.external_reference_removed': reference('removed', 'from'),
  'project_template.created': published('project template'),
  'project_template.deprecated': does('deprecated', 'project template'),
  'task_type.created': published('task type'),
  'task_type.deprecated': does('deprecated', 'task type'),
  'calendar.published': published('calendar'),
  'calendar.retired': (f) => say`${f.by} retired ${f.the('calendar')}${f.tail('reason')}`,
  'calendar.restored': does('restored', 'calendar'),
  'agent.revision_published': (f) =>
    say`${f.by} published revision ${f.number('revision')} of ${f.the('agent')}`,
  'agent.retired': (f) => say`${f.by} retired ${f.the('agent')}${f.tail('reason')}`,
  'agent.identity_replaced': (f) =>
    say`${f.by} replaced the identity of ${f.the('agent')}${f.tail('reason')}`,
  'agent.secret_set': (f) => say`${f.by} set the secret ${f.code('name')} of the agent ${f.code('agentKey')}`,
  'agent.secret_deleted': (f) =>
    say`${f.by} deleted the secret ${f.code('name')} of the agent ${f.code('agentKey')}`,
  'agent.state_changed': (f) =>
    f.text('state') === f.text('previousState')
      ? say`${f.by} scaled ${f.the('agent')} to ${f.count('replicas', 'replica')}`
      : say`${f.by} ${f.text('state') === 'running' ? 'started' : 'stopped'} ${f.the('agent')}`,
  'agent.status_changed': (f) =>
    say`${f.the('agent')} is ${f.words('phase')}${f.tailIn('reason', 'message')}`,
  'view.published': published('view'),
  'view.retired': does('retired', 'view'),
};
