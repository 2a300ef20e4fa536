import { say, type Teller } from './sentence.ts';

const does: (verb: string, noun: string) => Teller = (verb, noun) => (f) =>
  say`${f.by} ${verb} ${f.the(noun)}`;

/** Access, connections, notifications, deliveries and the journal itself. */
export const ofAdministration: Readonly<Record<string, Teller>> = {
  'access_role.created': does('created', 'access role'),
  'access_role.deleted': does('deleted', 'access role'),
  'access_role.updated': (f) =>
    say`${f.by} changed the ${f.names('changes') || 'permissions'} of ${f.the('access role')}`,
  'admission_rule.set': (f) =>
    say`${f.by} allowed people from ${f.code('identityProvider')} to join with the access role ${f.code('accessRole')}`,
  'admission_rule.removed': (f) =>
    say`${f.by} stopped automatic admission of people from ${f.code('identityProvider')}`,
  'api_key.created': (f) =>
    say`${f.by} created the API key ${f.code('keyPrefix')} for ${f.person('principalId')}`,
  'api_key.revoked': (f) => say`${f.by} revoked the API key ${f.code('keyPrefix')}`,
  'api_key.break_glass_issued': (f) =>
    say`${f.code('issuedBy') || f.by} issued the emergency key ${f.code('keyPrefix')} for ${f.person('principalId')}${f.tail('reason')}`,
  'delegation.created': (f) =>
    say`${f.by} allowed ${f.person('agentPrincipalId')} to act for ${f.person('humanPrincipalId')}`,
  'delegation.revoked': (f) => say`${f.by} revoked a delegation${f.tail('reason')}`,
  'iam_binding.created': (f) => say`${f.by} gave ${f.person('principalId')} sign-in access`,
  'iam_binding.updated': (f) => say`${f.by} changed the access of ${f.person('principalId')}`,
  'iam_binding.revoked': (f) => say`${f.by} revoked the access of ${f.person('principalId')}`,
  'identity_administration.granted': (f) =>
    say`${f.by} received an identity administration token (expiry: ${f.time('expiresAt')})`,
  'identity_administration.revoked': (f) => say`${f.by} revoked an identity administration token`,
  'connection.created': does('created', 'connection'),
  'connection.updated': (f) =>
    say`${f.by} changed the ${f.names('changes') || 'settings'} of ${f.the('connection')}`,
  'connection.authorized': (f) => say`${f.person('connectedBy', f.by)} authorized ${f.the('connection')}`,
  'connection.authorization_failed': (f) =>
    say`The authorization of ${f.the('connection')} failed: ${f.words('reason')}`,
  'connection.revoked': does('revoked', 'connection'),
  'connection.status_changed': (f) =>
    say`${f.the('connection')} changed from ${f.words('from')} to ${f.words('to')}`,
  'connection_type.published': (f) =>
    say`${f.by} published version ${f.number('version')} of ${f.the('connection type')}`,
  'connection_type.status_changed': (f) =>
    say`${f.by} marked ${f.the('connection type')} as ${f.words('to')}`,
  'connection_type.oauth_app_set': (f) =>
    say`${f.by} set the OAuth app of the connection type ${f.code('type')}`,
  'context_adapter.rebuilt': (f) =>
    say`${f.by} rebuilt the consumer ${f.code('consumer')}${f.tail('reason')}`,
  'context_adapter.redriven': (f) =>
    say`${f.by} resumed the consumer ${f.code('consumer')}${f.tail('reason')}`,
  'event_journal.archived': (f) => say`Baton archived ${f.count('archived', 'event')}`,
  'event_journal.pruned': (f) => say`Baton deleted ${f.count('pruned', 'archived event')}`,
  'outbox.dropped': (f) => say`${f.by} discarded a delivery to ${f.code('sink')}${f.tail('reason')}`,
  'outbox.redriven': (f) => say`${f.by} retried a delivery to ${f.code('sink')}${f.tail('reason')}`,
  'package.settings_changed': (f) =>
    say`${f.by} changed the settings of the package ${f.code('package')}${f.names('changedPaths') && `: ${f.names('changedPaths')}`}`,
  'notification.digest_due': (f) =>
    say`A digest of ${f.count('items', 'item')} for ${f.person('principalId')} is due`,
  'notification.invitation_mail_requested': (f) => say`${f.by} invited ${f.person('principalId')} by email`,
  'notification.preferences_updated': (f) =>
    say`${f.by} changed the notification settings of ${f.person('principalId')}`,
  'notification.slack_webhook_set': (f) => say`${f.by} connected notifications to ${f.code('host')}`,
  'notification.slack_webhook_removed': (f) => say`${f.by} disconnected notifications from Slack`,
  'tenant.bootstrapped': (f) => say`${f.by} set up the tenant ${f.code('slug')}`,
};
